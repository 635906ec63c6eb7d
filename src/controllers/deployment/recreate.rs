//! The Recreate strategy: all old pods end before new ones are made.
//!
//! Upstream: pkg/controller/deployment/recreate.go, v1.36.

use super::journal::Stop;
use super::scale::scale_replica_set_if_needed;
use super::sync::{ReplicaSets, Snapshot, Sync};
use super::util;
use crate::model::{PodPhase, Span, Uid};

/// One step of the rollout.
pub fn roll_out(sync: &mut Sync<'_, '_>) -> Result<Option<Span>, Stop> {
    let mut sets = sync.replica_sets(false)?;
    let mut scaled_down = false;
    for old in util::active(&sets.old) {
        scaled_down |= scale_replica_set_if_needed(sync, &old, 0)?.has_changed;
    }
    if scaled_down || are_old_pods_running(&sets, sync.snapshot) {
        return sync.write_rollout_status(&sets);
    }
    if sets.new.is_none() {
        sets = sync.replica_sets(true)?;
    }
    let new = sets.new.clone().expect("it was created if there was none");
    let desired = sync.deployment.spec.replicas;
    scale_replica_set_if_needed(sync, &new, desired)?;
    if util::is_complete(&sync.deployment, &sync.deployment.status) {
        sync.clean_up(&sets.old)?;
    }
    sync.write_rollout_status(&sets)
}

/// Whether any pod of an old ReplicaSet may still run. A pod being deleted counts until it has ended.
pub fn are_old_pods_running(sets: &ReplicaSets, snapshot: &Snapshot) -> bool {
    if util::sum(&sets.old, |set| set.status.replicas) > 0 {
        return true;
    }
    let is_old = |uid: &Uid| sets.old.iter().any(|set| set.meta.uid == *uid);
    let may_run = |phase| matches!(phase, PodPhase::Pending | PodPhase::Running);
    snapshot.pods.iter().any(|(owner, phase)| is_old(owner) && may_run(*phase))
}
