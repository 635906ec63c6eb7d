//! What was found out about nodes for earlier pods and still holds: verdicts of filters and raw scores.
//!
//! Most plugins say of a node what follows from the pod and from that node alone ([`DependsOn`]). For pods that are alike in what
//! such a plugin reads, its answer is kept in a `Table` together with the node's generation, and only nodes that changed
//! since are asked again: after a pod was placed, one. There are two sorts of tables, since pods that are all different
//! still are mostly alike in what they want of node objects. What needs the whole cluster is asked each time.
//!
//! [`super::schedule_one::schedule_pod`] does the same without a memo; a test holds that both decide alike.

use std::rc::Rc;

use super::cache::{Generation, NodeIndex, Snapshot};
use super::filters::{Listed, Rejection};
use super::framework::interface::{DependsOn, Score};
use super::framework::{PodInfo, Requests, Status};
use crate::model::{Name, PodSpec};

/// Tables of each sort, at most; each takes about 40 bytes a node and plugin.
const TABLES: usize = 32;

/// What is remembered, for pods of one profile.
#[derive(Clone, Debug, Default)]
pub struct Memo {
    asked: u64,
    by_wishes: Vec<Table<Wishes>>,
    by_shape: Vec<Table<Shape>>,
    stale: Vec<NodeIndex>,
}

/// What of a pod a plugin reads that depends on the node object alone.
#[derive(Clone, Debug)]
struct Wishes {
    spec: Rc<PodSpec>,
    node_name: Name,
}

/// What of a pod a plugin reads that depends on the node and its pods.
#[derive(Clone, Debug)]
struct Shape {
    spec: Rc<PodSpec>,
    node_name: Name,
    requests: Requests,
}

trait Key {
    fn of(pod: &PodInfo) -> Self;
    fn is_of(&self, pod: &PodInfo) -> bool;
}

impl Key for Wishes {
    fn of(pod: &PodInfo) -> Wishes {
        Wishes { spec: pod.pod.spec.clone(), node_name: pod.pod.node_name.clone() }
    }

    fn is_of(&self, pod: &PodInfo) -> bool {
        let (own, other) = (&*self.spec, &*pod.pod.spec);
        self.node_name == pod.pod.node_name
            && (std::ptr::eq(own, other)
                || own.scheduler_name == other.scheduler_name
                    && own.node_selector == other.node_selector
                    && own.tolerations == other.tolerations
                    && own.node_affinity == other.node_affinity)
    }
}

impl Key for Shape {
    fn of(pod: &PodInfo) -> Shape {
        let (spec, node_name) = (pod.pod.spec.clone(), pod.pod.node_name.clone());
        Shape { spec, node_name, requests: pod.requests.clone() }
    }

    fn is_of(&self, pod: &PodInfo) -> bool {
        self.requests == pod.requests
            && self.node_name == pod.pod.node_name
            && (Rc::ptr_eq(&self.spec, &pod.pod.spec) || self.spec == pod.pod.spec)
    }
}

/// Answers about nodes for pods that are alike.
#[derive(Clone, Debug)]
struct Table<K> {
    key: K,
    asked: u64,
    answers: Answers,
}

/// Answers by [`NodeIndex`].
#[derive(Clone, Debug, Default)]
struct Answers {
    /// The generation of the node when it was filtered.
    filtered: Vec<Generation>,
    /// 0: it passed; else one more than the index of its rejection.
    verdicts: Vec<u16>,
    /// The different rejections, with the plugin's place in the profile.
    rejections: Vec<(usize, Rejection)>,
    /// The generation of the node when it was scored.
    scored: Vec<Generation>,
    /// Raw scores, by the plugin's place in the profile.
    scores: Vec<(usize, Vec<i64>)>,
}

impl Answers {
    fn clear(&mut self) {
        self.filtered.clear();
        self.scored.clear();
        self.rejections.clear();
        self.scores.clear();
    }

    /// Makes the verdicts of these nodes good.
    fn filter(
        &mut self,
        filters: &[Listed<'_>],
        depends_on: DependsOn,
        snapshot: &Snapshot<'_>,
        nodes: &[NodeIndex],
        stale: &mut Vec<NodeIndex>,
    ) {
        let generations = generations(snapshot, depends_on);
        self.filtered.resize(generations.len(), 0);
        self.verdicts.resize(generations.len(), 0);
        stale.clear();
        let seen = &self.filtered[..];
        stale.extend(nodes.iter().filter(|node| seen[node.0 as usize] != generations[node.0 as usize]));
        for node in stale.iter() {
            self.filtered[node.0 as usize] = generations[node.0 as usize];
            self.verdicts[node.0 as usize] = 0;
        }
        for listed in filters.iter().filter(|listed| listed.depends_on == depends_on) {
            if stale.is_empty() {
                return;
            }
            let Answers { verdicts, rejections, .. } = self;
            listed.filter.filter_slice(snapshot, stale, &mut |node, status| {
                verdicts[node.0 as usize] = number(rejections, listed.position, listed.plugin, status);
            });
        }
    }

    /// Makes the raw scores of these nodes good.
    fn score(&mut self, scores: &[Scoring<'_>], depends_on: DependsOn, snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) {
        let generations = generations(snapshot, depends_on);
        self.scored.resize(generations.len(), 0);
        let seen = &self.scored[..];
        let is_stale = |node: &&NodeIndex| seen[node.0 as usize] != generations[node.0 as usize];
        let stale: Vec<NodeIndex> = nodes.iter().filter(is_stale).copied().collect();
        if stale.is_empty() {
            return;
        }
        let mut raw = vec![0; stale.len()];
        for scoring in scores.iter().filter(|scoring| scoring.depends_on == depends_on) {
            scoring.score.score(snapshot, &stale, &mut raw);
            let kept = self.scores_of(scoring.position);
            kept.resize(generations.len(), 0);
            for (node, score) in stale.iter().zip(&raw) {
                kept[node.0 as usize] = *score;
            }
        }
        for node in &stale {
            self.scored[node.0 as usize] = generations[node.0 as usize];
        }
    }

    fn scores_of(&mut self, position: usize) -> &mut Vec<i64> {
        let at = match self.scores.iter().position(|(other, _)| *other == position) {
            Some(at) => at,
            None => {
                self.scores.push((position, Vec::new()));
                self.scores.len() - 1
            }
        };
        &mut self.scores[at].1
    }
}

/// The number of a rejection, which is noted if it is new.
fn number(rejections: &mut Vec<(usize, Rejection)>, position: usize, plugin: &'static str, status: Status) -> u16 {
    let known = rejections.iter().position(|(other, rejection)| *other == position && rejection.1 == status);
    let at = known.unwrap_or_else(|| {
        rejections.push((position, (plugin, status)));
        rejections.len() - 1
    });
    u16::try_from(at + 1).expect("a pod lacks few combinations of resources")
}

fn generations<'a>(snapshot: &Snapshot<'a>, depends_on: DependsOn) -> &'a [Generation] {
    match depends_on {
        DependsOn::NodeObject => snapshot.generations().objects(),
        DependsOn::NodeAndPods | DependsOn::Cluster => snapshot.generations().nodes(),
    }
}

/// A plugin that scores, with its place in the profile.
pub struct Scoring<'a> {
    /// Its place in the profile.
    pub position: usize,
    /// What its raw scores follow from.
    pub depends_on: DependsOn,
    /// Its Score for the pod.
    pub score: Box<dyn Score + 'a>,
}

/// The tables for one pod.
pub struct Recalled<'a> {
    wishes: &'a mut Answers,
    shape: &'a mut Answers,
    stale: &'a mut Vec<NodeIndex>,
}

impl Memo {
    /// The tables for this pod: those of pods like it, or empty ones.
    pub fn recall(&mut self, pod: &PodInfo) -> Recalled<'_> {
        self.asked += 1;
        let wishes = table(&mut self.by_wishes, self.asked, pod);
        let shape = table(&mut self.by_shape, self.asked, pod);
        Recalled { wishes, shape, stale: &mut self.stale }
    }
}

/// The table for pods like this; a new one takes the place of what was asked for longest ago.
fn table<'a, K: Key>(tables: &'a mut Vec<Table<K>>, asked: u64, pod: &PodInfo) -> &'a mut Answers {
    let at = match tables.iter().position(|table| table.key.is_of(pod)) {
        Some(at) => at,
        None if tables.len() < TABLES => {
            tables.push(Table { key: K::of(pod), asked, answers: Answers::default() });
            tables.len() - 1
        }
        None => {
            let oldest = tables.iter().enumerate().min_by_key(|(_, table)| table.asked).expect("they are many").0;
            tables[oldest].key = K::of(pod);
            tables[oldest].answers.clear();
            oldest
        }
    };
    tables[at].asked = asked;
    &mut tables[at].answers
}

/// A rejected node: the plugin's place in the profile, one more than it, 0 for the room of nominated pods.
pub struct Rejected {
    /// What comes first among the rejections of nodes that were looked at together.
    pub order: usize,
    /// The node.
    pub node: NodeIndex,
    why: Why,
}

enum Why {
    Wishes(u16),
    Shape(u16),
    Own(Rejection),
}

impl Rejected {
    /// A rejection that is in no table.
    pub fn own(order: usize, node: NodeIndex, rejection: Rejection) -> Rejected {
        Rejected { order, node, why: Why::Own(rejection) }
    }
}

impl Recalled<'_> {
    /// Keeps the nodes that pass all filters, in order, and notes the others.
    pub fn filter(
        &mut self,
        filters: &[Listed<'_>],
        snapshot: &Snapshot<'_>,
        nodes: &mut Vec<NodeIndex>,
        rejected: &mut Vec<Rejected>,
    ) {
        self.wishes.filter(filters, DependsOn::NodeObject, snapshot, nodes, self.stale);
        self.shape.filter(filters, DependsOn::NodeAndPods, snapshot, nodes, self.stale);
        for listed in filters.iter().filter(|listed| listed.depends_on == DependsOn::Cluster) {
            self.keep_passing(listed.position, nodes, rejected);
            listed.filter.filter_slice(snapshot, nodes, &mut |node, status| {
                rejected.push(Rejected::own(listed.position + 1, node, (listed.plugin, status)));
            });
        }
        self.keep_passing(usize::MAX, nodes, rejected);
    }

    /// Keeps the nodes that no plugin before this place in the profile rejects.
    fn keep_passing(&self, before: usize, nodes: &mut Vec<NodeIndex>, rejected: &mut Vec<Rejected>) {
        let (wishes, shape) = (&self.wishes.verdicts[..], &self.shape.verdicts[..]);
        nodes.retain(|node| {
            let at = node.0 as usize;
            let (by_wishes, by_shape) = (wishes[at], shape[at]);
            if by_wishes | by_shape == 0 {
                return true;
            }
            let position = |answers: &Answers, verdict: u16| match verdict {
                0 => usize::MAX,
                verdict => answers.rejections[usize::from(verdict) - 1].0,
            };
            let (first, second) = (position(self.wishes, by_wishes), position(self.shape, by_shape));
            if first.min(second) >= before {
                return true;
            }
            let why = if first < second { Why::Wishes(by_wishes) } else { Why::Shape(by_shape) };
            rejected.push(Rejected { order: first.min(second) + 1, node: *node, why });
            false
        });
    }

    /// A rejection in words.
    pub fn rejection(&self, rejected: Rejected) -> Rejection {
        match rejected.why {
            Why::Wishes(verdict) => self.wishes.rejections[usize::from(verdict) - 1].1.clone(),
            Why::Shape(verdict) => self.shape.rejections[usize::from(verdict) - 1].1.clone(),
            Why::Own(rejection) => rejection,
        }
    }

    /// Makes the raw scores of these nodes good.
    pub fn score(&mut self, scores: &[Scoring<'_>], snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) {
        self.wishes.score(scores, DependsOn::NodeObject, snapshot, nodes);
        self.shape.score(scores, DependsOn::NodeAndPods, snapshot, nodes);
    }

    /// Writes the raw scores of `nodes[i]` into `scores[i]`.
    pub fn raw_scores(&mut self, of: &Scoring<'_>, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        let kept = match of.depends_on {
            DependsOn::Cluster => return of.score.score(snapshot, nodes, scores),
            DependsOn::NodeObject => self.wishes.scores_of(of.position),
            DependsOn::NodeAndPods => self.shape.scores_of(of.position),
        };
        for (node, score) in nodes.iter().zip(scores) {
            *score = kept[node.0 as usize];
        }
    }
}

#[cfg(test)]
#[path = "memo_tests.rs"]
mod tests;
