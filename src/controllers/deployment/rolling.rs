//! The rolling update: each sync scales the newest ReplicaSet up, or else old ones down.
//!
//! Upstream: pkg/controller/deployment/rolling.go, v1.36.

use std::rc::Rc;

use super::journal::Stop;
use super::scale::{new_replicas, scale_replica_set_if_needed};
use super::sync::{ReplicaSets, Sync};
use super::util;
use crate::model::{Deployment, ReplicaSet, Span};

/// One step of the rollout.
pub fn roll_out(sync: &mut Sync<'_, '_>) -> Result<Option<Span>, Stop> {
    let sets = sync.replica_sets(true)?;
    let new = sets.new.clone().expect("it was created if there was none");
    let size = new_size(&sync.deployment, &sets.all(), &new);
    if scale_replica_set_if_needed(sync, &new, size)?.has_changed {
        return sync.write_rollout_status(&sets);
    }
    // Upstream swallows a failure to scale old ReplicaSets down and goes on to the status.
    let scaled_down = match scale_down_old(sync, &sets, &new) {
        Err(Stop::Failed(_)) => false,
        other => other?,
    };
    if !scaled_down && util::is_complete(&sync.deployment, &sync.deployment.status) {
        sync.clean_up(&sets.old)?;
    }
    sync.write_rollout_status(&sets)
}

fn new_size(deployment: &Deployment, all: &[Rc<ReplicaSet>], new: &ReplicaSet) -> i32 {
    let (current, desired) = (new.spec.replicas, deployment.spec.replicas);
    if current >= desired { desired } else { new_replicas(deployment, util::sum(all, util::spec_replicas), current) }
}

/// Scales old ReplicaSets down: first by their unhealthy pods, then by what availability allows.
fn scale_down_old(sync: &mut Sync<'_, '_>, sets: &ReplicaSets, new: &ReplicaSet) -> Result<bool, Stop> {
    let mut old = util::active(&sets.old);
    let limit = max_scaled_down(&sync.deployment, &sets.all(), new);
    if old.is_empty() || limit <= 0 {
        return Ok(false);
    }
    let mut has_changed = false;
    for (index, size) in unhealthy_cleanup(&old, limit) {
        if size > old[index].spec.replicas {
            return Ok(false);
        }
        let scaled = scale_replica_set_if_needed(sync, &old[index].clone(), size)?;
        has_changed |= scaled.has_changed;
        // What follows goes by the new size, and writes with the version that this write made.
        old[index] = scaled.set;
    }
    let available = util::sum(&old, util::available_replicas) + new.status.available_replicas;
    for (index, size) in available_scale_down(&sync.deployment, &old, available) {
        has_changed |= scale_replica_set_if_needed(sync, &old[index].clone(), size)?.has_changed;
    }
    Ok(has_changed)
}

/// How many pods of old ReplicaSets may go without endangering availability, whether or not they are available.
pub fn max_scaled_down(deployment: &Deployment, all: &[Rc<ReplicaSet>], new: &ReplicaSet) -> i32 {
    let min_available = deployment.spec.replicas - util::max_unavailable(deployment);
    let new_unavailable = new.spec.replicas - new.status.available_replicas;
    util::sum(all, util::spec_replicas) - min_available - new_unavailable
}

/// New sizes of old ReplicaSets (by index, in order of creation) without up to `limit` pods that are not available.
///
/// A ReplicaSet with more available pods than it should have (its scale-down is under way) ends the list with a size
/// above its own: upstream calls that an error, and does nothing further.
pub fn unhealthy_cleanup(old: &[Rc<ReplicaSet>], limit: i32) -> Vec<(usize, i32)> {
    let mut sizes = Vec::new();
    let mut removed = 0;
    for (index, set) in old.iter().enumerate() {
        let (replicas, available) = (set.spec.replicas, set.status.available_replicas);
        if removed >= limit {
            break;
        }
        if replicas == 0 || replicas == available {
            continue;
        }
        let count = (limit - removed).min(replicas - available);
        sizes.push((index, replicas - count));
        if count < 0 {
            break;
        }
        removed += count;
    }
    sizes
}

/// New sizes of old ReplicaSets (by index, in order of creation) without the pods that are available beyond need.
pub fn available_scale_down(deployment: &Deployment, old: &[Rc<ReplicaSet>], available: i32) -> Vec<(usize, i32)> {
    let surplus = available - (deployment.spec.replicas - util::max_unavailable(deployment));
    let mut sizes = Vec::new();
    let mut removed = 0;
    for (index, set) in old.iter().enumerate().filter(|(_, set)| set.spec.replicas > 0) {
        if removed >= surplus {
            break;
        }
        let count = set.spec.replicas.min(surplus - removed);
        removed += count;
        sizes.push((index, set.spec.replicas - count));
    }
    sizes
}
