//! PodTopologySpread: pods should be spread over the values of a node label, as the pod's constraints say; without own
//! constraints the pods of one Service or owner over nodes and zones, as the built-in defaults ask.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring,plugin}.go, v1.35 and v1.36.
//! Not modelled: default constraints of a configuration.

pub mod common;
pub mod filtering;
pub mod scoring;

use common::{constraints, has_all_keys, selects};

use crate::model::{Node, Pod};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{ClusterEvent, Plugin, PodInfo, PreFilterResult, Score, Version, names};
use crate::scheduler::plugins::counts_as_placed;

/// The plugin.
pub struct PodTopologySpread {
    /// Whose hints hold.
    pub version: Version,
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        names::POD_TOPOLOGY_SPREAD
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match filtering::Spread::of(&pod.pod, snapshot) {
            None => PreFilterResult::Skip,
            Some(filter) => PreFilterResult::Filter(Box::new(filter)),
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let score = scoring::Spread::of(&pod.pod, snapshot, nodes)?;
        Some(Box::new(score))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let pod = &*pod.pod;
        let counts = |other: &Pod| counts_as_placed(other, self.version);
        let is_selected =
            |other: &Pod| constraints(pod, true).any(|constraint| selects(constraint, &other.meta.labels));
        let is_sibling = |other: &Pod| other.meta.namespace == pod.meta.namespace;
        let has_keys = |node: &Node| has_all_keys(&node.meta.labels, constraints(pod, true));
        match event {
            ClusterEvent::AssignedPodAdded(other) | ClusterEvent::AssignedPodDeleted(other) => {
                counts(other) && is_sibling(other) && is_selected(other)
            }
            ClusterEvent::AssignedPodRelabelled { old, new } => {
                counts(new) && is_sibling(new) && is_selected(old) != is_selected(new)
            }
            ClusterEvent::PodUpdated { old, new } => {
                let honors_taints = constraints(pod, true).any(|constraint| constraint.honors_node_taints);
                is_selected(old) != is_selected(new) || honors_taints && old.spec.tolerations != new.spec.tolerations
            }
            ClusterEvent::NodeAdded(node) | ClusterEvent::NodeDeleted(node) => has_keys(node),
            ClusterEvent::NodeUpdated { old, new } => match (has_keys(old), has_keys(new)) {
                (true, true) => has_moved(pod, old, new) || old.taints != new.taints,
                (before, after) => before != after,
            },
            _ => false,
        }
    }
}

/// Whether the node is in another domain than before.
fn has_moved(pod: &Pod, old: &Node, new: &Node) -> bool {
    let domain = |node: &Node| {
        constraints(pod, true)
            .map(|constraint| node.meta.labels.get(&constraint.topology_key).cloned())
            .collect::<Vec<_>>()
    };
    domain(old) != domain(new)
}

#[cfg(test)]
mod tests;
