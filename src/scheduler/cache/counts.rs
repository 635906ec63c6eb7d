//! How many pods of a set are on each node.

use super::generations::Generation;
use super::{NodeIndex, Snapshot};
use crate::model::{Name, Pod, Selector};

/// Pods that a selector matches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodSet {
    /// Their namespaces; `None` for all.
    pub namespaces: Option<Vec<Name>>,
    /// On their labels.
    pub selector: Selector,
    /// Whether pods on their way out are among them.
    pub with_leaving: bool,
}

impl PodSet {
    /// Whether the pod is one of them.
    pub fn contains(&self, pod: &Pod) -> bool {
        (self.with_leaving || !pod.meta.is_deleting())
            && self.namespaces.as_ref().is_none_or(|names| names.contains(&pod.meta.namespace))
            && self.selector.matches(&pod.meta.labels)
    }
}

/// How many pods that are in several sets at once are on each node.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    sets: Vec<PodSet>,
    pods: Vec<u32>,
    seen: Vec<Generation>,
    as_of: Generation,
}

impl Counts {
    pub(super) fn new(sets: &[PodSet]) -> Counts {
        Counts { sets: sets.to_vec(), ..Counts::default() }
    }

    /// The sets.
    pub fn sets(&self) -> &[PodSet] {
        &self.sets
    }

    /// On this node.
    pub fn on(&self, node: NodeIndex) -> i64 {
        i64::from(self.pods[node.0 as usize])
    }

    pub(super) fn is_fresh(&self, snapshot: &Snapshot<'_>) -> bool {
        self.as_of == snapshot.generations().last()
    }

    pub(super) fn refresh(&mut self, snapshot: &Snapshot<'_>) {
        let generations = snapshot.generations().nodes();
        self.pods.resize(generations.len(), 0);
        self.seen.resize(generations.len(), 0);
        for node in snapshot.nodes() {
            let at = node.0 as usize;
            if self.seen[at] != generations[at] {
                self.seen[at] = generations[at];
                let is_in_all = |pod: &Pod| self.sets.iter().all(|set| set.contains(pod));
                self.pods[at] = snapshot.pods(*node).iter().filter(|info| is_in_all(&info.pod)).count() as u32;
            }
        }
        self.as_of = snapshot.generations().last();
    }
}
