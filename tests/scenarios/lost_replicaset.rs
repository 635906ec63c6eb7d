//! lost-replicaset.yaml: one lost event stops a rollout, and only a list repairs it.

use super::common::plan;
use super::failures;
use kubesim::sim::plan::FaultAction;

#[test]
fn lost_replicaset_fails_without_the_loss_without_the_restart_and_without_the_edit() {
    for variant in ["base", "resyncs"] {
        let mut without = plan("lost-replicaset", variant);
        without.faults.retain(|fault| !matches!(fault.action, FaultAction::DropWatchEvents { .. }));
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the loss");
        let mut without = plan("lost-replicaset", variant);
        without.faults.retain(|fault| matches!(fault.action, FaultAction::DropWatchEvents { .. }));
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the restart");
    }
    let mut without = plan("lost-replicaset", "base");
    without.timeline.pop();
    assert!(!failures(without).is_empty(), "nothing expects the edit");
}

#[test]
fn lost_replicaset_is_repaired_by_a_relist_alone() {
    let mut replaying = plan("lost-replicaset", "relist");
    replaying.model = plan("lost-replicaset", "resyncs").model;
    assert!(!failures(replaying).is_empty(), "nothing expects the relist");
}
