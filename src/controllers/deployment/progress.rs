//! The Deployment's status: sums, availability, progress and its deadline.
//!
//! Upstream: pkg/controller/deployment/progress.go, sync.go (`calculateStatus`, `syncDeploymentStatus`), v1.36, with the
//! gate `DeploymentReplicaSetTerminatingReplicas`.

use std::rc::Rc;

use super::journal::Stop;
use super::sync::{ReplicaSets, Sync};
use super::util::{self, condition};
use crate::model::{
    Condition, ConditionStatus, Deployment, DeploymentStatus, ReplicaSet, Request, Span, Time, find_condition,
};

impl Sync<'_, '_> {
    /// Writes the status if it changed, without judging progress.
    pub fn write_plain_status(&mut self, sets: &ReplicaSets) -> Result<Option<Span>, Stop> {
        let status = new_status(&self.deployment, &sets.all(), sets.new.as_deref(), self.journal.now());
        self.write_if_changed(status)?;
        Ok(None)
    }

    /// Judges progress and writes the status if it changed; if it did not, says when to look again for the deadline.
    pub fn write_rollout_status(&mut self, sets: &ReplicaSets) -> Result<Option<Span>, Stop> {
        let now = self.journal.now();
        let status = rollout_status(&self.deployment, sets, now);
        if self.write_if_changed(status)? {
            return Ok(None);
        }
        Ok(progress_check_after(&self.deployment, now))
    }

    /// A write is the last thing a sync does.
    fn write_if_changed(&mut self, status: DeploymentStatus) -> Result<bool, Stop> {
        if status == self.deployment.status {
            return Ok(false);
        }
        self.deployment.status = status;
        let deployment = &self.deployment;
        self.journal.last_with(|| Request::UpdateStatus(deployment.clone().into()))?;
        Ok(true)
    }
}

/// The status of a Deployment with these ReplicaSets.
pub fn new_status(
    deployment: &Deployment,
    all: &[Rc<ReplicaSet>],
    new: Option<&ReplicaSet>,
    now: Time,
) -> DeploymentStatus {
    let available = util::sum(all, util::available_replicas);
    let wanted = util::sum(all, util::spec_replicas);
    let mut conditions = deployment.status.conditions.clone();
    let (status, reason, message) = if available >= deployment.spec.replicas - util::max_unavailable(deployment) {
        (ConditionStatus::True, condition::MINIMUM_AVAILABLE, "Deployment has minimum availability.")
    } else {
        (ConditionStatus::False, condition::MINIMUM_UNAVAILABLE, "Deployment does not have minimum availability.")
    };
    if !util::has_condition(&conditions, condition::AVAILABLE, status, reason) {
        util::set_condition(&mut conditions, util::new_condition(condition::AVAILABLE, status, reason, message, now));
    }
    DeploymentStatus {
        observed_generation: deployment.meta.generation,
        replicas: util::sum(all, |set| set.status.replicas),
        updated_replicas: new.map_or(0, |set| set.status.replicas),
        ready_replicas: util::sum(all, |set| set.status.ready_replicas),
        available_replicas: available,
        unavailable_replicas: (wanted - available).max(0),
        terminating_replicas: terminating_replicas(all),
        collision_count: deployment.status.collision_count,
        conditions,
    }
}

/// How many pods are being deleted; unknown as long as a ReplicaSet that its controller has seen does not say.
///
/// Upstream: pkg/controller/deployment/util/deployment_util.go, `GetTerminatingReplicaCountForReplicaSets`, v1.36.
fn terminating_replicas(all: &[Rc<ReplicaSet>]) -> Option<i32> {
    let count = |set: &Rc<ReplicaSet>| match set.status.terminating_replicas {
        None if set.status.observed_generation == 0 => Some(0),
        count => count,
    };
    all.iter().map(count).sum()
}

/// The status during a rollout, with what it says of progress and of failures.
pub fn rollout_status(deployment: &Deployment, sets: &ReplicaSets, now: Time) -> DeploymentStatus {
    let all = sets.all();
    let mut status = new_status(deployment, &all, sets.new.as_deref(), now);
    let current = find_condition(&deployment.status.conditions, condition::PROGRESSING);
    if !util::has_progress_deadline(deployment) {
        util::remove_condition(&mut status.conditions, condition::PROGRESSING);
    } else if !(status.replicas == status.updated_replicas
        && current.is_some_and(|current| current.reason == condition::NEW_REPLICA_SET_AVAILABLE))
    {
        judge_progress(deployment, sets.new.as_deref(), &mut status, current, now);
    }
    match replica_failure(&all, sets.new.as_deref()) {
        Some(failure) => util::set_condition(&mut status.conditions, failure),
        None => util::remove_condition(&mut status.conditions, condition::REPLICA_FAILURE),
    }
    status
}

fn judge_progress(
    deployment: &Deployment,
    new: Option<&ReplicaSet>,
    status: &mut DeploymentStatus,
    current: Option<&Condition>,
    now: Time,
) {
    let progressing = |is_true: bool, reason: &str, words: &str| {
        let status = if is_true { ConditionStatus::True } else { ConditionStatus::False };
        let message = match new {
            Some(set) => format!("ReplicaSet \"{}\" {words}", set.meta.name),
            None => format!("Deployment \"{}\" {words}", deployment.meta.name),
        };
        util::new_condition(condition::PROGRESSING, status, reason, message, now)
    };
    if util::is_complete(deployment, status) {
        let reason = condition::NEW_REPLICA_SET_AVAILABLE;
        if !util::has_condition(&status.conditions, condition::PROGRESSING, ConditionStatus::True, reason) {
            util::set_condition(&mut status.conditions, progressing(true, reason, "has successfully progressed."));
        }
    } else if util::is_progressing(deployment, status) {
        // Unlike other conditions this one is written again with an equal reason: its update time is what the deadline
        // counts from.
        let mut condition = progressing(true, condition::REPLICA_SET_UPDATED, "is progressing.");
        if let Some(current) = current.filter(|current| current.status == ConditionStatus::True) {
            condition.last_transition = current.last_transition;
        }
        util::remove_condition(&mut status.conditions, condition::PROGRESSING);
        util::set_condition(&mut status.conditions, condition);
    } else if util::has_timed_out(deployment, status, now) {
        let condition = progressing(false, condition::TIMED_OUT, "has timed out progressing.");
        util::set_condition(&mut status.conditions, condition);
    }
}

/// The failure that a ReplicaSet reports, that of the newest first.
fn replica_failure(all: &[Rc<ReplicaSet>], new: Option<&ReplicaSet>) -> Option<Condition> {
    let of = |set: &ReplicaSet| find_condition(&set.status.conditions, condition::REPLICA_FAILURE).cloned();
    let failure = new.and_then(of).or_else(|| all.iter().find_map(|set| of(set)))?;
    Some(Condition { last_update: Some(failure.last_transition), ..failure })
}

/// When to look whether the deadline has passed; `None` when there is nothing to wait for.
///
/// DIVERGES: with less than a second left upstream adds the key rate-limited; here it comes back after 5 ms, the
/// limiter's first delay, and takes no token of the limiter's bucket.
pub fn progress_check_after(deployment: &Deployment, now: Time) -> Option<Span> {
    let current = find_condition(&deployment.status.conditions, condition::PROGRESSING)?;
    let seconds = deployment.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX)?;
    if util::is_complete(deployment, &deployment.status) || current.reason == condition::TIMED_OUT {
        return None;
    }
    let from = current.last_update.unwrap_or(current.last_transition);
    let after = from + Span::from_seconds(i64::from(seconds)) - now;
    let second = Span::from_seconds(1);
    Some(if after < second { Span::from_milliseconds(5) } else { after + second })
}
