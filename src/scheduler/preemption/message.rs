//! PostFilter's part of the FailedScheduling message.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPostFilterPlugins`; preemption/preemption.go, `Preempt`;
//! plugins/dynamicresources/dynamicresources.go, `PostFilter`, v1.36.

use std::collections::BTreeMap;

use super::dry_run::NodeStatus;
use crate::scheduler::schedule_one::nodes_are_available;

/// DynamicResources' PostFilter when it has no state of the pod.
pub const NO_STATE: &str = "not found";
/// Why nodes are not looked at.
pub const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// Why a node whose pods are all as important as the pod gives nothing.
pub const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// DynamicResources' word for a pod without claims, then that of preemption.
fn after_claims(text: &str) -> String {
    format!("no new claims to deallocate, preemption: {text}")
}

/// The text for a pod that may not preempt.
pub fn not_eligible(reason: &str) -> String {
    after_claims(reason)
}

/// The text when no node of `nodes` would do; all that have no status were not looked at.
pub fn no_candidates(nodes: usize, statuses: &[NodeStatus]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in statuses.iter().flat_map(|status| &status.status.reasons) {
        *counts.entry(reason).or_default() += 1;
    }
    if nodes > statuses.len() {
        counts.insert(NOT_HELPFUL, nodes - statuses.len());
    }
    after_claims(&nodes_are_available(nodes, counts))
}
