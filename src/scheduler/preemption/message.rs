//! PostFilter's part of the FailedScheduling message.
//!
//! Upstream: pkg/scheduler/framework/runtime/framework.go, `RunPostFilterPlugins`; preemption/preemption.go, `Preempt`;
//! plugins/dynamicresources/dynamicresources.go, `PostFilter`, v1.36.

use std::collections::BTreeMap;

use super::dry_run::NodeStatus;
use crate::scheduler::schedule_one::nodes_are_available;

/// DynamicResources' PostFilter when it has no state of the pod.
pub const NO_STATE: &str = "not found";
/// Its word for a pod without claims.
pub const NO_CLAIMS: &str = "no new claims to deallocate";
/// Why nodes are not looked at.
pub const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
/// Why a node whose pods are all as important as the pod gives nothing.
pub const NO_VICTIMS: &str = "No preemption victims found for incoming pod";

/// The text for a pod that may not preempt.
pub fn not_eligible(reason: &str) -> String {
    format!("preemption: {reason}")
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
    format!("preemption: {}", nodes_are_available(nodes, counts))
}
