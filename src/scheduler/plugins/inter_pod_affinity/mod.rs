//! InterPodAffinity: pods that should be near other pods, or should not.
//!
//! Upstream: pkg/scheduler/framework/plugins/interpodaffinity/{filtering,scoring,plugin}.go, v1.35 and v1.36
//! (kubernetes#135325, #135394 and #135392: hints).

pub mod filtering;
pub mod places;
pub mod scoring;

use crate::model::{Labels, Name, Node, Pod, PodAffinityTerm, Selector};
use crate::scheduler::cache::{NodeIndex, Selectors, Snapshot};
use crate::scheduler::framework::config::AffinityArgs;
use crate::scheduler::framework::{ClusterEvent, Plugin, PodInfo, PreFilterResult, Score, Version, names};
use crate::scheduler::plugins::counts_as_placed;

/// The plugin.
pub struct InterPodAffinity {
    /// Whose hints hold.
    pub version: Version,
    /// Arguments.
    pub args: AffinityArgs,
}

impl Plugin for InterPodAffinity {
    fn name(&self) -> &'static str {
        names::INTER_POD_AFFINITY
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match filtering::Rules::of(&pod.pod, snapshot) {
            None => PreFilterResult::Skip,
            Some(filter) => PreFilterResult::Filter(Box::new(filter)),
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let score = scoring::Preferences::of(&pod.pod, self.args, snapshot)?;
        Some(Box::new(score))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let pod = &*pod.pod;
        let (near, apart) = (&pod.spec.pod_affinity.required, &pod.spec.pod_anti_affinity.required);
        let is_near = |other: &Pod| all_match_for_hints(near, pod, other);
        let is_apart = |other: &Pod| all_match_for_hints(apart, pod, other);
        let is_newer = self.version >= Version::V1_36;
        match event {
            ClusterEvent::AssignedPodAdded(other) => counts_as_placed(other, self.version) && is_near(other),
            ClusterEvent::AssignedPodDeleted(other) => {
                let repels = || all_match_for_hints(&other.spec.pod_anti_affinity.required, other, pod);
                counts_as_placed(other, self.version) && (is_apart(other) || is_newer && repels())
            }
            ClusterEvent::AssignedPodRelabelled { old, new } => {
                counts_as_placed(new, self.version)
                    && (!is_near(old) && is_near(new) || is_apart(old) && !is_apart(new))
            }
            ClusterEvent::PodUpdated { old, new } => {
                old.meta.labels != new.meta.labels
                    && (is_newer || !is_near(old) && is_near(new) || is_apart(old) && !is_apart(new))
            }
            ClusterEvent::NodeAdded(node) => !apart.is_empty() || near.iter().any(|term| value(node, term).is_some()),
            ClusterEvent::NodeUpdated { old, new } => {
                let moved = |term: &PodAffinityTerm| match (value(old, term), value(new, term)) {
                    (Some(before), Some(after)) => before != after,
                    _ => false,
                };
                let appeared = |term: &PodAffinityTerm| value(old, term).is_none() && value(new, term).is_some();
                let vanished = |term: &PodAffinityTerm| value(old, term).is_some() && value(new, term).is_none();
                near.iter().any(|term| appeared(term) || moved(term))
                    || apart.iter().any(|term| vanished(term) || moved(term))
            }
            _ => false,
        }
    }
}

/// The node's place as the term sees it.
fn value<'a>(node: &'a Node, term: &PodAffinityTerm) -> Option<&'a Name> {
    node.meta.labels.get(&term.topology_key)
}

/// Whether the term of `owner` means `other`; `selects` judges the other's namespace by the term's namespace selector.
fn term_matches(term: &PodAffinityTerm, owner: &Pod, other: &Pod, selects: impl FnOnce(&Selector) -> bool) -> bool {
    let namespace = &other.meta.namespace;
    let is_listed = match (term.namespaces.as_slice(), &term.namespace_selector) {
        ([], None) => owner.meta.namespace == *namespace,
        (names, _) => names.contains(namespace),
    };
    (is_listed || term.namespace_selector.as_ref().is_some_and(selects))
        && term.selector.as_ref().is_some_and(|selector| selector.matches(&other.meta.labels))
}

/// Whether a term of the pod that is to be placed means a pod of the cluster: its namespace selector stands for the
/// namespaces that are known now.
pub fn own_term_matches(term: &PodAffinityTerm, pod: &Pod, other: &Pod, selectors: &Selectors) -> bool {
    term_matches(term, pod, other, |selector| {
        selector.requirements.is_empty()
            || selectors.namespace(&other.meta.namespace).is_some_and(|labels| selector.matches(labels))
    })
}

/// Whether the pod is meant by all terms; not by none.
fn all_own_match(terms: &[PodAffinityTerm], pod: &Pod, other: &Pod, selectors: &Selectors) -> bool {
    !terms.is_empty() && terms.iter().all(|term| own_term_matches(term, pod, other, selectors))
}

/// Whether a term of a pod of the cluster means the pod that is to be placed, whose namespace has these labels.
pub fn others_term_matches(term: &PodAffinityTerm, other: &Pod, pod: &Pod, namespace: &Labels) -> bool {
    term_matches(term, other, pod, |selector| selector.matches(namespace))
}

/// Whether all terms of `owner` mean `other`, as hints see it: they know no namespace's labels.
fn all_match_for_hints(terms: &[PodAffinityTerm], owner: &Pod, other: &Pod) -> bool {
    let matches = |term| term_matches(term, owner, other, |selector| selector.matches(&Labels::NONE));
    !terms.is_empty() && terms.iter().all(matches)
}

#[cfg(test)]
mod tests;
