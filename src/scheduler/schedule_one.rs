//! One scheduling attempt, pure: a pod and a snapshot in, a node or the reasons why not out.
//!
//! Upstream: pkg/scheduler/schedule_one.go, `schedulePod`, `findNodesThatFitPod`, `prioritizeNodes`, v1.36.
//! Not modelled: extenders.

use std::collections::BTreeMap;

use super::cache::{NodeIndex, Snapshot};
use super::filters::{Filters, Narrowed, Round};
use super::framework::{PodInfo, Profile, Status};
use super::memo::{Memo, Recalled, Scoring};
use super::preemption::{Nomination, PostFilter, post_filter};
use super::queue::Nominator;
use super::ties::{Tie, choose};
use crate::model::Name;

/// Below this many nodes all are looked at; above, at least this many feasible ones are searched for.
const MIN_FEASIBLE_NODES_TO_FIND: usize = 100;
/// The adaptive percentage never falls below this.
const MIN_FEASIBLE_NODES_PERCENTAGE: usize = 5;

/// Where the next attempt begins to look, and how far it looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Search {
    /// `nextStartNodeIndex`.
    pub next_start_node_index: usize,
    /// `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: u32,
}

/// A node for the pod.
#[derive(Clone, Debug)]
pub struct ScheduleResult {
    /// The node.
    pub node: Name,
    /// Nodes that filters looked at.
    pub evaluated: usize,
    /// Nodes that passed.
    pub feasible: usize,
    /// Scores; `None` when only one node was feasible.
    pub scores: Option<Scores>,
    /// Why other nodes are not.
    pub diagnosis: Diagnosis,
}

/// Scores of feasible nodes.
#[derive(Clone, PartialEq, Debug)]
pub struct Scores {
    /// The nodes.
    pub nodes: Vec<NodeIndex>,
    /// For each plugin that did not skip the pod: name, weight, normalized score a node.
    pub plugins: Vec<(&'static str, i64, Vec<i64>)>,
    /// Weighted sums a node.
    pub totals: Vec<i64>,
}

/// What the filters found.
#[derive(Clone, Debug, Default)]
pub struct Feasibility {
    /// Nodes that passed, in the order they were looked at.
    pub feasible: Vec<NodeIndex>,
    /// Nodes that filters looked at.
    pub evaluated: usize,
    /// The others.
    pub diagnosis: Diagnosis,
}

/// Why nodes are not feasible.
#[derive(Clone, Debug, Default)]
pub struct Diagnosis {
    /// Nodes a filter rejected, with the first plugin that did.
    pub rejected: Vec<(NodeIndex, &'static str, Status)>,
    /// Plugins whose PreFilter named the only possible nodes.
    pub narrowed_by: Vec<&'static str>,
    /// Nodes of the snapshot that are not among the named ones.
    pub excluded: usize,
    /// A PreFilter that rejected the pod for all nodes.
    pub pre_filter: Option<(&'static str, Status)>,
    /// Plugins that rejected something: whose hints are asked later.
    pub unschedulable_plugins: Vec<&'static str>,
}

/// No node can take the pod.
#[derive(Clone, Debug)]
pub struct FitError {
    /// Why.
    pub diagnosis: Diagnosis,
    /// Nodes that filters looked at.
    pub evaluated: usize,
    /// The text of the FailedScheduling event and of the condition.
    pub message: String,
    /// What PostFilter did about it.
    pub post_filter: PostFilter,
}

/// Why an attempt found no node.
#[derive(Clone, Debug)]
pub enum ScheduleError {
    /// There are no nodes at all.
    NoNodes,
    /// No node fits.
    Fit(Box<FitError>),
}

impl ScheduleError {
    /// The text of the FailedScheduling event and of the condition.
    pub fn message(&self) -> &str {
        match self {
            ScheduleError::NoNodes => "no nodes available to schedule pods",
            ScheduleError::Fit(fit) => &fit.message,
        }
    }

    /// Nodes that filters looked at.
    pub fn evaluated(&self) -> usize {
        match self {
            ScheduleError::NoNodes => 0,
            ScheduleError::Fit(fit) => fit.evaluated,
        }
    }

    /// What PostFilter did. Without nodes it is not asked, and a nomination ends.
    pub fn post_filter(&self) -> PostFilter {
        match self {
            ScheduleError::NoNodes => PostFilter { nomination: Nomination::Clear, ..PostFilter::default() },
            ScheduleError::Fit(fit) => fit.post_filter.clone(),
        }
    }

    /// Whether DefaultPreemption was asked for room.
    pub fn preemption_was_tried(&self) -> bool {
        match self {
            ScheduleError::NoNodes => false,
            ScheduleError::Fit(fit) => fit.post_filter.was_asked,
        }
    }

    /// Plugins whose hints may wake the pod; empty when no plugin rejected it.
    pub fn unschedulable_plugins(&self) -> &[&'static str] {
        match self {
            ScheduleError::NoNodes => &[],
            ScheduleError::Fit(fit) => &fit.diagnosis.unschedulable_plugins,
        }
    }
}

/// Chooses a node for the pod.
///
/// Nodes are examined one after the other, which is one legal run of upstream's parallel search.
/// Of several nodes with the highest total the smallest name is taken; [`attempt`] can draw one of them instead.
///
/// # Errors
/// When no node can take it.
pub fn schedule_pod(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    search: &mut Search,
) -> Result<ScheduleResult, ScheduleError> {
    attempt(profile, pod, snapshot, nominated, search, Tie::ByName, None)
}

/// The same decision with what is remembered of nodes from earlier pods. A result has no scores by plugin, and why other nodes
/// are not feasible is said only when none is.
///
/// # Errors
/// When no node can take it.
pub fn schedule_pod_remembering(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    search: &mut Search,
    memo: &mut Memo,
) -> Result<ScheduleResult, ScheduleError> {
    attempt(profile, pod, snapshot, nominated, search, Tie::ByName, Some(memo))
}

/// Both of these, with any way to break a tie.
///
/// # Errors
/// When no node can take it.
pub fn attempt(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    search: &mut Search,
    tie: Tie,
    memo: Option<&mut Memo>,
) -> Result<ScheduleResult, ScheduleError> {
    if snapshot.nodes().is_empty() {
        return Err(ScheduleError::NoNodes);
    }
    let mut recalled = memo.map(|memo| memo.recall(pod));
    let Feasibility { feasible, evaluated, diagnosis } =
        find_nodes(profile, pod, snapshot, nominated, search, recalled.as_mut());
    let result = |node: NodeIndex, feasible, scores, diagnosis| {
        Ok(ScheduleResult { node: snapshot.name(node).clone(), evaluated, feasible, scores, diagnosis })
    };
    match feasible[..] {
        [] => {
            let offset = search.next_start_node_index;
            let post_filter = post_filter(profile, pod, snapshot, nominated, &diagnosis, offset);
            let message = fit_error_message(snapshot, &diagnosis, post_filter.message.as_deref());
            Err(ScheduleError::Fit(Box::new(FitError { diagnosis, evaluated, message, post_filter })))
        }
        [only] => result(only, 1, None, diagnosis),
        _ => {
            let count = feasible.len();
            let scores = match &mut recalled {
                None => prioritize_nodes(profile, pod, snapshot, feasible),
                Some(recalled) => prioritize_remembering(profile, pod, snapshot, feasible, recalled),
            };
            result(choose(&scores, snapshot, tie), count, Some(scores), diagnosis)
        }
    }
}

/// Filters nodes until enough are feasible.
///
/// `nominated` are the pods that were promised a node: who is not more important than they must leave them their room.
pub fn find_nodes_that_fit(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    search: &mut Search,
) -> Feasibility {
    find_nodes(profile, pod, snapshot, nominated, search, None)
}

fn find_nodes(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nominated: &Nominator,
    search: &mut Search,
    recalled: Option<&mut Recalled<'_>>,
) -> Feasibility {
    let mut diagnosis = Diagnosis::default();
    let Some(Narrowed { filters, names }) = Filters::of(profile, pod, snapshot, &mut diagnosis) else {
        return Feasibility { diagnosis, ..Feasibility::default() };
    };
    if let Some(promised) = snapshot.find(&pod.pod.status.nominated_node_name) {
        // A nominated node that passes is taken without a look at the others.
        let (feasible, _) = filters.search(snapshot, nominated, &[promised], 0, 1, &mut Diagnosis::default());
        if !feasible.is_empty() {
            return Feasibility { feasible, evaluated: 1, diagnosis };
        }
    }
    let named: Vec<NodeIndex>;
    let nodes = match &names {
        None => snapshot.nodes(),
        Some(names) => {
            named = names.iter().filter_map(|name| snapshot.find(name)).collect();
            &named
        }
    };
    diagnosis.excluded = snapshot.nodes().len() - nodes.len();
    let want = num_feasible_nodes_to_find(search.percentage_of_nodes_to_score, nodes.len());
    let start = search.next_start_node_index;
    let (feasible, evaluated) = match recalled {
        None => filters.search(snapshot, nominated, nodes, start, want, &mut diagnosis),
        Some(recalled) => {
            filters.search_remembering(snapshot, nominated, Round { nodes, start, want }, recalled, &mut diagnosis)
        }
    };
    search.next_start_node_index = (start + evaluated) % snapshot.nodes().len().max(1);
    Feasibility { feasible, evaluated, diagnosis }
}

/// How many feasible nodes end the search.
fn num_feasible_nodes_to_find(percentage: u32, nodes: usize) -> usize {
    if nodes < MIN_FEASIBLE_NODES_TO_FIND {
        return nodes;
    }
    let percentage = match percentage {
        0 => 50_usize.saturating_sub(nodes / 125).max(MIN_FEASIBLE_NODES_PERCENTAGE),
        percentage => percentage.min(100) as usize,
    };
    (nodes * percentage / 100).max(MIN_FEASIBLE_NODES_TO_FIND)
}

/// Scores nodes: PreScore, Score, NormalizeScore, weights, sum.
pub fn prioritize_nodes(profile: &Profile, pod: &PodInfo, snapshot: &Snapshot<'_>, nodes: Vec<NodeIndex>) -> Scores {
    let mut totals = vec![0; nodes.len()];
    let mut plugins = Vec::new();
    for registered in &profile.plugins {
        let Some(score) = registered.plugin.pre_score(pod, snapshot, &nodes) else { continue };
        let mut scores = vec![0; nodes.len()];
        score.score(snapshot, &nodes, &mut scores);
        score.normalize_score(&mut scores);
        for (total, score) in totals.iter_mut().zip(&scores) {
            *total += registered.weight * score;
        }
        plugins.push((registered.plugin.name(), registered.weight, scores));
    }
    Scores { nodes, plugins, totals }
}

/// The same sums with what is remembered, without the scores by plugin.
fn prioritize_remembering(
    profile: &Profile,
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    nodes: Vec<NodeIndex>,
    recalled: &mut Recalled<'_>,
) -> Scores {
    let mut scoring = Vec::with_capacity(profile.plugins.len());
    for (position, registered) in profile.plugins.iter().enumerate() {
        if let Some(score) = registered.plugin.pre_score(pod, snapshot, &nodes) {
            scoring.push(Scoring { position, depends_on: registered.plugin.depends_on(), score });
        }
    }
    recalled.score(&scoring, snapshot, &nodes);
    let (mut totals, mut scores) = (vec![0; nodes.len()], vec![0; nodes.len()]);
    for scoring in &scoring {
        recalled.raw_scores(scoring, snapshot, &nodes, &mut scores);
        scoring.score.normalize_score(&mut scores);
        let weight = profile.plugins[scoring.position].weight;
        for (total, score) in totals.iter_mut().zip(&scores) {
            *total += weight * score;
        }
    }
    Scores { nodes, plugins: Vec::new(), totals }
}

/// `0/5 nodes are available: ...`, with what PostFilter has to say.
fn fit_error_message(snapshot: &Snapshot<'_>, diagnosis: &Diagnosis, post_filter: Option<&str>) -> String {
    let nodes = snapshot.nodes().len();
    let mut message = match &diagnosis.pre_filter {
        Some((_, status)) => format!("0/{nodes} nodes are available: {}.", status.message()),
        None => {
            let excluded = format!("node(s) didn't satisfy plugin(s) [{}]", diagnosis.narrowed_by.join(" "));
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            if diagnosis.excluded > 0 {
                counts.insert(&excluded, diagnosis.excluded);
            }
            for reason in diagnosis.rejected.iter().flat_map(|(_, _, status)| &status.reasons) {
                *counts.entry(reason).or_default() += 1;
            }
            nodes_are_available(nodes, counts)
        }
    };
    if let Some(post_filter) = post_filter {
        message.push(' ');
        message.push_str(post_filter);
    }
    message
}

/// `0/N nodes are available: 1 a, 2 b.`: counts sorted as text. Without reasons only the colon is left.
///
/// Upstream: pkg/scheduler/framework/types.go, `FitError.Error`, v1.36.
pub fn nodes_are_available<'a>(nodes: usize, counts: impl IntoIterator<Item = (&'a str, usize)>) -> String {
    let mut texts: Vec<String> = counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    texts.sort();
    let mut message = format!("0/{nodes} nodes are available:");
    if !texts.is_empty() {
        message.push(' ');
        message.push_str(&texts.join(", "));
        message.push('.');
    }
    message
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{Node, Pod, TaintEffect};
    use crate::scheduler::cache::Cache;
    use crate::scheduler::cache::testing::{bound, cluster, node, pod_with, sized_node, taint, toleration};
    use crate::scheduler::framework::Version;

    const GIB: i64 = 1 << 30;

    fn attempt(pod: Pod, cache: &mut Cache) -> Result<ScheduleResult, ScheduleError> {
        let profile = Profile::default_profile(Version::V1_36);
        let nominated = Nominator::default();
        schedule_pod(&profile, &PodInfo::new(Rc::new(pod)), &cache.snapshot(), &nominated, &mut Search::default())
    }

    fn message(pod: Pod, cache: &mut Cache) -> String {
        attempt(pod, cache).expect_err("no node fits").message().to_string()
    }

    fn gpu_node(name: &str, cpu_milli: i64) -> Node {
        let mut node = sized_node(name, cpu_milli, 64 * GIB);
        node.meta.labels = [("accelerator".into(), "gpu".into())].into_iter().collect();
        node.taints = Rc::new([taint("gpu", "true", TaintEffect::NoSchedule)]);
        node
    }

    /// The textbook example: 4 CPU and 16 GiB on a node with GPU, which is tainted.
    fn ml_training() -> Pod {
        let mut pod = pod_with("ml-training", 4_000, 16 * GIB);
        let spec = Rc::make_mut(&mut pod.spec);
        spec.node_selector = [("accelerator".into(), "gpu".into())].into_iter().collect();
        spec.tolerations = vec![toleration("gpu", "true", Some(TaintEffect::NoSchedule))];
        pod
    }

    fn ml_cluster() -> Cache {
        let mut not_ready = gpu_node("node-5", 16_000);
        let down = |effect| taint("node.kubernetes.io/not-ready", "", effect);
        not_ready.taints =
            Rc::new([not_ready.taints[0].clone(), down(TaintEffect::NoSchedule), down(TaintEffect::NoExecute)]);
        cluster(
            [
                gpu_node("node-1", 2_000),
                sized_node("node-2", 16_000, 64 * GIB),
                gpu_node("node-3", 16_000),
                gpu_node("node-4", 16_000),
                not_ready,
            ],
            [bound("busy-3", "node-3", 4_000, 48_103_633_715), bound("busy-4", "node-4", 4_000, 20_615_843_020)],
        )
    }

    #[test]
    fn ml_training_goes_to_the_node_with_free_memory() {
        let result = attempt(ml_training(), &mut ml_cluster()).expect("two nodes fit");
        assert_eq!((result.node.as_str(), result.evaluated, result.feasible), ("node-4", 5, 2));
        let scores = result.scores.expect("two nodes were scored");
        // Memory 64 GiB = 68719476736, 16 GiB = 17179869184. CPU (16-8)*100/16 = 50 on both.
        // node-3: 68719476736 - 48103633715 - 17179869184 = 3435973837: 4; (50+4)/2 = 27. node-4: 30923764532: 44; 47.
        // Balance: the pod adds 1/4 to both shares: 75. Taints: none soft: 100.
        let by_plugin: Vec<_> =
            scores.plugins.iter().map(|(name, weight, scores)| (*name, *weight, &scores[..])).collect();
        assert_eq!(
            by_plugin,
            [
                ("TaintToleration", 3, &[100, 100][..]),
                ("NodeResourcesFit", 1, &[27, 47]),
                ("NodeResourcesBalancedAllocation", 1, &[75, 75]),
                ("ImageLocality", 1, &[0, 0]),
            ]
        );
        // 3*100 + 27 + 75 = 402 and 422.
        assert_eq!(scores.totals, [402, 422]);
    }

    #[test]
    fn messages_count_reasons_over_nodes_and_sort_them_as_text() {
        let mut cache = ml_cluster();
        let mut intolerant = ml_training();
        Rc::make_mut(&mut intolerant.spec).tolerations.clear();
        assert_eq!(
            message(intolerant, &mut cache),
            "0/5 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 4 node(s) had untolerated \
             taint(s). no new claims to deallocate, preemption: 0/5 nodes are available: 5 Preemption is not helpful \
             for scheduling."
        );
        // 60 GiB would fit the empty nodes 3 and 4: code Unschedulable, but nobody there has a lower priority.
        let mut big = ml_training();
        Rc::make_mut(&mut big.spec).containers[0].requests.memory_bytes = Some(60 * GIB);
        assert_eq!(
            message(big.clone(), &mut cache),
            "0/5 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, \
             1 node(s) had untolerated taint(s), 2 Insufficient memory. no new claims to deallocate, preemption: \
             0/5 nodes are available: 2 No preemption victims found for incoming pod, 3 Preemption is not helpful for \
             scheduling."
        );
        // With a higher priority upstream would preempt and name a node: no PostFilter text.
        Rc::make_mut(&mut big.spec).priority = 1;
        assert!(message(big, &mut cache).ends_with(" 2 Insufficient memory."));
        assert_eq!(message(ml_training(), &mut cluster([], [])), "no nodes available to schedule pods");
        // Ten before two: text, not number.
        assert_eq!(nodes_are_available(12, [("b", 2), ("a", 10)]), "0/12 nodes are available: 10 a, 2 b.");
    }

    #[test]
    fn equal_totals_go_to_the_smallest_name() {
        let result =
            attempt(pod_with("p", 100, 0), &mut cluster([node("b"), node("a"), node("c")], [])).expect("all fit");
        assert_eq!(result.node, "a");
    }

    #[test]
    fn a_feasible_nominated_node_is_taken_without_looking_further() {
        let mut nominated = pod_with("p", 100, 0);
        nominated.status.nominated_node_name = "c".into();
        let mut cache = cluster([node("b"), node("a"), node("c")], []);
        let result = attempt(nominated.clone(), &mut cache).expect("all fit");
        assert_eq!((result.node.as_str(), result.evaluated), ("c", 1));
        nominated.status.nominated_node_name = "gone".into();
        assert_eq!(attempt(nominated, &mut cache).expect("all fit").node, "a");
    }

    #[test]
    fn the_search_ends_early_in_large_clusters() {
        for (percentage, nodes, want) in [
            (0, 99, 99),
            // 50 - 100/125 = 50: 50 nodes, but at least 100.
            (0, 100, 100),
            // 50 - 8 = 42 %: 420. 50 - 40 = 10 %: 500. 50 - 48 = 2, at least 5 %: 300.
            (0, 1_000, 420),
            (0, 5_000, 500),
            (0, 6_000, 300),
            (100, 5_000, 5_000),
            (3, 5_000, 150),
        ] {
            assert_eq!(num_feasible_nodes_to_find(percentage, nodes), want, "{percentage} % of {nodes}");
        }
    }

    #[test]
    fn the_next_search_begins_where_the_last_ended() {
        // 150 nodes, every third cordoned; adaptive: max(100, 150*49/100) = 100 wanted.
        let nodes = (0..150).map(|n| Node { unschedulable: n % 3 == 0, ..node(&format!("n{n:03}")) });
        let mut cache = cluster(nodes, []);
        let profile = Profile::default_profile(Version::V1_36);
        let info = PodInfo::new(Rc::new(pod_with("p", 100, 0)));
        let snapshot = cache.snapshot();
        let mut search = Search { next_start_node_index: 10, percentage_of_nodes_to_score: 40 };
        let found = find_nodes_that_fit(&profile, &info, &snapshot, &Nominator::default(), &mut search);
        // Only 100 of 150 are open; the last to be looked at would be 9, which is cordoned: 149 are enough, 10 + 149 = 9 mod 150.
        assert_eq!((found.feasible.len(), found.evaluated, search.next_start_node_index), (100, 149, 9));
        assert_eq!(snapshot.name(found.feasible[0]).as_str(), "n010");
        // Without cordoned nodes the search ends after 100: 9 + 100 = 109, then 109 + 100 - 150 = 59.
        let mut cache = cluster((0..150).map(|n| node(&format!("n{n:03}"))), []);
        for next in [109, 59] {
            let found = find_nodes_that_fit(&profile, &info, &cache.snapshot(), &Nominator::default(), &mut search);
            assert_eq!((found.feasible.len(), found.evaluated, search.next_start_node_index), (100, 100, next));
        }
    }
}
