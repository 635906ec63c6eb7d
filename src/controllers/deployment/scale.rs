//! How many pods each ReplicaSet gets when the Deployment is scaled, and the one write that scales a ReplicaSet.
//!
//! Upstream: pkg/controller/deployment/sync.go (`scale`, `scaleReplicaSet`), util/deployment_util.go
//! (`NewRSNewReplicas`, `GetReplicaSetProportion`), v1.36.

use std::cmp::Reverse;
use std::rc::Rc;

use super::journal::Stop;
use super::sync::{ReplicaSets, Sync};
use super::util;
use crate::model::{Deployment, DeploymentStrategy, EventType, ReplicaSet};

/// The size of the newest ReplicaSet (now `current`) when all ReplicaSets together should have `total` pods.
pub fn new_replicas(deployment: &Deployment, total: i32, current: i32) -> i32 {
    let desired = deployment.spec.replicas;
    match &deployment.spec.strategy {
        DeploymentStrategy::Recreate => desired,
        DeploymentStrategy::RollingUpdate { max_surge, .. } => {
            let room = desired + max_surge.scaled_up(desired) - total;
            if room <= 0 { current } else { current + room.min(desired - current) }
        }
    }
}

/// Scales ReplicaSets after a change of `spec.replicas` without hurrying the rollout.
pub fn scale(sync: &mut Sync<'_, '_>, sets: &ReplicaSets) -> Result<(), Stop> {
    let desired = sync.deployment.spec.replicas;
    if let Some(only) = active_or_latest(sets) {
        return scale_replica_set_if_needed(sync, &only, desired).map(|_| ());
    }
    if sets.new.as_ref().is_some_and(|new| is_saturated(&sync.deployment, new)) {
        // Newest first: upstream has just sorted them that way.
        for old in util::active(&sets.old).into_iter().rev() {
            scale_replica_set_if_needed(sync, &old, 0)?;
        }
        return Ok(());
    }
    if sync.deployment.spec.strategy == DeploymentStrategy::Recreate {
        return Ok(());
    }
    for (set, size) in proportional_sizes(&sync.deployment, util::active(&sets.all())) {
        scale_replica_set(sync, &set, size)?;
    }
    Ok(())
}

/// The only ReplicaSet with pods; if none has any the newest. `None` when several have or there is none.
fn active_or_latest(sets: &ReplicaSets) -> Option<Rc<ReplicaSet>> {
    let mut active = util::active(&sets.all());
    match active.len() {
        0 => sets.new.as_ref().or(sets.old.last()).cloned(),
        1 => active.pop(),
        _ => None,
    }
}

/// Whether the newest ReplicaSet alone makes up the Deployment.
fn is_saturated(deployment: &Deployment, new: &ReplicaSet) -> bool {
    let desired = deployment.spec.replicas;
    util::int_annotation(&new.meta, util::DESIRED_REPLICAS) == Some(desired)
        && new.spec.replicas == desired
        && new.status.available_replicas == desired
}

/// The new sizes of ReplicaSets that all have pods, in the order of the writes: the largest first.
pub fn proportional_sizes(deployment: &Deployment, mut active: Vec<Rc<ReplicaSet>>) -> Vec<(Rc<ReplicaSet>, i32)> {
    let desired = deployment.spec.replicas;
    let allowed = if desired > 0 { desired + util::max_surge(deployment) } else { 0 };
    let to_add = allowed - util::sum(&active, util::spec_replicas);
    util::sort_by_creation(&mut active);
    if to_add > 0 {
        active.reverse();
    }
    if to_add != 0 {
        // Stable: of equal ones the newer first when adding, the older when removing.
        active.sort_by_key(|set| Reverse(set.spec.replicas));
    }
    let mut added = 0;
    let mut sizes: Vec<(Rc<ReplicaSet>, i32)> = active
        .into_iter()
        .map(|set| {
            let share = proportion(deployment, &set, to_add, added);
            added += share;
            let size = set.spec.replicas + share;
            (set, size)
        })
        .collect();
    if to_add != 0
        && let Some((_, size)) = sizes.first_mut()
    {
        *size = (*size + to_add - added).max(0);
    }
    sizes
}

/// What one ReplicaSet gets of the pods to add (or to remove, if negative), of which `added` are already given.
fn proportion(deployment: &Deployment, set: &ReplicaSet, to_add: i32, added: i32) -> i32 {
    if set.spec.replicas == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    let fraction = fraction(deployment, set);
    let left = to_add - added;
    if to_add > 0 { fraction.min(left) } else { fraction.max(left) }
}

/// The change that keeps the ReplicaSet's share of the Deployment.
fn fraction(deployment: &Deployment, set: &ReplicaSet) -> i32 {
    let replicas = set.spec.replicas;
    if deployment.spec.replicas == 0 {
        return -replicas;
    }
    let recorded = util::int_annotation(&set.meta, util::MAX_REPLICAS).filter(|recorded| *recorded != 0);
    let before = recorded.unwrap_or(deployment.status.replicas);
    if before == 0 {
        return 0;
    }
    let after = deployment.spec.replicas + util::max_surge(deployment);
    let size = f64::from(replicas.wrapping_mul(after)) / f64::from(before);
    // Half away from zero, as upstream's RoundToInt32.
    let rounded = if size < 0.0 { (size - 0.5) as i32 } else { (size + 0.5) as i32 };
    rounded - replicas
}

/// What came of scaling a ReplicaSet.
#[derive(Clone, Debug)]
pub struct Scaled {
    /// Whether its size changed.
    pub has_changed: bool,
    /// The ReplicaSet after it.
    pub set: Rc<ReplicaSet>,
}

/// Scales a ReplicaSet unless it has the size.
pub fn scale_replica_set_if_needed(sync: &mut Sync<'_, '_>, set: &Rc<ReplicaSet>, size: i32) -> Result<Scaled, Stop> {
    if set.spec.replicas == size {
        return Ok(Scaled { has_changed: false, set: set.clone() });
    }
    scale_replica_set(sync, set, size)
}

/// Gives a ReplicaSet its size and the annotations that record the Deployment's.
fn scale_replica_set(sync: &mut Sync<'_, '_>, set: &Rc<ReplicaSet>, size: i32) -> Result<Scaled, Stop> {
    let annotations = util::with_replicas_annotations(&sync.deployment, &set.meta.annotations);
    let old_size = set.spec.replicas;
    if size == old_size && annotations == set.meta.annotations {
        return Ok(Scaled { has_changed: false, set: set.clone() });
    }
    let mut changed = (**set).clone();
    changed.spec.replicas = size;
    changed.meta.annotations = annotations;
    let updated = sync.update_replica_set(changed)?;
    if size != old_size {
        let direction = if size > old_size { "up" } else { "down" };
        let message = format!("Scaled {direction} replica set {} from {old_size} to {size}", updated.meta.name);
        sync.journal.event(EventType::Normal, "ScalingReplicaSet", message);
    }
    Ok(Scaled { has_changed: size != old_size, set: updated })
}
