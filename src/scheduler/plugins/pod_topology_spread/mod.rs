//! PodTopologySpread: pods should be spread over the values of a node label, as the pod's constraints say; without own
//! constraints the pods of one Service or owner, as the profile's defaults ask: over nodes and zones unless it has others.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring,plugin}.go, v1.35 and v1.36.

pub mod common;
pub mod filtering;
pub mod scoring;

use common::{Defaults, constraints, has_all_keys, selects};

use crate::model::{Name, Node, Pod};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::config::DefaultConstraint;
use crate::scheduler::framework::{ClusterEvent, Plugin, PodInfo, PreFilterResult, Score, Version, names};
use crate::scheduler::plugins::counts_as_placed;

/// The plugin.
pub struct PodTopologySpread {
    /// Whose hints hold.
    pub version: Version,
    /// The constraints of pods without own ones.
    pub defaults: Defaults,
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        names::POD_TOPOLOGY_SPREAD
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match filtering::Spread::of(&pod.pod, &self.defaults, snapshot) {
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
        let score = scoring::Spread::of(&pod.pod, &self.defaults, snapshot, nodes)?;
        Some(Box::new(score))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let pod = &*pod.pod;
        if pod.spec.topology_spread_constraints.is_empty() {
            return self.defaults_may_let_in(pod, event);
        }
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

impl PodTopologySpread {
    /// The hint for a pod that the profile's hard constraints rejected.
    ///
    /// DIVERGES: a hint knows no Services and owners, so that here every pod of the namespace counts as selected.
    fn defaults_may_let_in(&self, pod: &Pod, event: &ClusterEvent) -> bool {
        let is_sibling =
            |other: &Pod| counts_as_placed(other, self.version) && other.meta.namespace == pod.meta.namespace;
        let domain = |node: &Node| -> Option<Vec<Name>> {
            let of = |constraint: &DefaultConstraint| node.meta.labels.get_str(&constraint.topology_key).cloned();
            self.defaults.of_sort(true).map(of).collect()
        };
        match event {
            ClusterEvent::AssignedPodAdded(other) | ClusterEvent::AssignedPodDeleted(other) => is_sibling(other),
            ClusterEvent::AssignedPodRelabelled { new, .. } => is_sibling(new),
            ClusterEvent::PodUpdated { old, new } => old.meta.labels != new.meta.labels,
            ClusterEvent::NodeAdded(node) | ClusterEvent::NodeDeleted(node) => domain(node).is_some(),
            ClusterEvent::NodeUpdated { old, new } => match (domain(old), domain(new)) {
                (Some(before), Some(after)) => before != after || old.taints != new.taints,
                (before, after) => before.is_some() != after.is_some(),
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
