//! Revisions, annotations, sums over ReplicaSets, and what a Deployment's conditions say.
//!
//! Upstream: pkg/controller/deployment/util/deployment_util.go, v1.36.

use std::rc::Rc;

use serde_json::Value;

use super::fenceposts;
use crate::model::name::hash_text;
use crate::model::{
    Condition, ConditionStatus, Deployment, DeploymentStatus, DeploymentStrategy, Labels, Meta, Name, PodTemplate,
    ReplicaSet, Span, Time, find_condition,
};

/// Number of a rollout, on a Deployment and its ReplicaSets.
pub const REVISION: &str = "deployment.kubernetes.io/revision";
/// Earlier numbers of a ReplicaSet that was rolled back to.
pub const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
/// `spec.replicas` of the Deployment when the ReplicaSet was last scaled.
pub const DESIRED_REPLICAS: &str = "deployment.kubernetes.io/desired-replicas";
/// The same plus the surge.
pub const MAX_REPLICAS: &str = "deployment.kubernetes.io/max-replicas";
/// The label that tells the pods of one template from those of another.
pub const TEMPLATE_HASH: &str = "pod-template-hash";

/// Annotations that are not copied from a Deployment to its ReplicaSets.
const NOT_COPIED: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    REVISION_HISTORY,
    DESIRED_REPLICAS,
    MAX_REPLICAS,
    "deprecated.deployment.rollback.to",
];

/// The longest text that [`REVISION_HISTORY`] may have, in characters.
const MAX_HISTORY_CHARACTERS: usize = 2_000;

/// Condition types and reasons.
pub mod condition {
    #![allow(missing_docs)]
    pub const AVAILABLE: &str = "Available";
    pub const PROGRESSING: &str = "Progressing";
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
    pub const REPLICA_SET_UPDATED: &str = "ReplicaSetUpdated";
    pub const FAILED_CREATE: &str = "ReplicaSetCreateError";
    pub const NEW_REPLICA_SET: &str = "NewReplicaSetCreated";
    pub const FOUND_NEW_REPLICA_SET: &str = "FoundNewReplicaSet";
    pub const NEW_REPLICA_SET_AVAILABLE: &str = "NewReplicaSetAvailable";
    pub const TIMED_OUT: &str = "ProgressDeadlineExceeded";
    pub const PAUSED: &str = "DeploymentPaused";
    pub const RESUMED: &str = "DeploymentResumed";
    pub const MINIMUM_AVAILABLE: &str = "MinimumReplicasAvailable";
    pub const MINIMUM_UNAVAILABLE: &str = "MinimumReplicasUnavailable";
}

/// The revision of an object: 0 without one.
///
/// # Errors
/// The annotation is not a number.
pub fn revision(meta: &Meta) -> Result<i64, std::num::ParseIntError> {
    meta.annotations.get_str(REVISION).map_or(Ok(0), |text| text.as_str().parse())
}

/// The highest revision of these ReplicaSets; unreadable ones are passed over.
pub fn max_revision(replica_sets: &[Rc<ReplicaSet>]) -> i64 {
    replica_sets.iter().filter_map(|set| revision(&set.meta).ok()).max().unwrap_or(0).max(0)
}

/// Copies the Deployment's annotations to its newest ReplicaSet and gives that the revision, if it is higher than its own.
pub fn new_replica_set_annotations(deployment: &Deployment, own: &Labels, new_revision: i64) -> Labels {
    let copied = deployment.meta.annotations.iter().filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()));
    let annotations =
        copied.fold(
            own.clone(),
            |all, (key, value)| {
                if all.get(key) == Some(value) { all } else { all.with(key.clone(), value.clone()) }
            },
        );
    let old_text = own.get_str(REVISION).map(Name::as_str);
    let old_revision = match old_text {
        None | Some("") => 0,
        Some(text) => match text.parse::<i64>() {
            Ok(number) => number,
            Err(_) => return annotations,
        },
    };
    if old_revision >= new_revision {
        return annotations;
    }
    let annotations = annotations.with(REVISION, new_revision.to_string());
    match old_text {
        Some(old) => with_history(annotations, old),
        None => annotations,
    }
}

/// Appends a revision to the history, dropping the oldest when the text gets too long.
fn with_history(annotations: Labels, old_revision: &str) -> Labels {
    let history = annotations.get_str(REVISION_HISTORY).map_or(String::new(), |text| text.as_str().to_string());
    if history.is_empty() {
        return annotations.with(REVISION_HISTORY, old_revision);
    }
    let mut kept: Vec<&str> = history.split(',').collect();
    let mut length = history.len() + old_revision.len() + 1;
    while length > MAX_HISTORY_CHARACTERS && !kept.is_empty() {
        length -= kept.remove(0).len() + 1;
    }
    if length > MAX_HISTORY_CHARACTERS {
        return annotations;
    }
    kept.push(old_revision);
    annotations.with(REVISION_HISTORY, kept.join(","))
}

/// The annotations that record the Deployment's size on a ReplicaSet.
pub fn with_replicas_annotations(deployment: &Deployment, own: &Labels) -> Labels {
    let desired = deployment.spec.replicas;
    let pairs = [(DESIRED_REPLICAS, desired), (MAX_REPLICAS, desired + max_surge(deployment))];
    pairs.into_iter().fold(own.clone(), |all, (key, number)| {
        let text = number.to_string();
        if all.get_str(key).is_some_and(|value| value.as_str() == text) { all } else { all.with(key, text) }
    })
}

/// An annotation that is a number.
pub fn int_annotation(meta: &Meta, key: &str) -> Option<i32> {
    meta.annotations.get_str(key)?.as_str().parse().ok()
}

/// Pods that may exist above the wanted number; 0 unless updates roll.
pub fn max_surge(deployment: &Deployment) -> i32 {
    bounds(deployment).map_or(0, |(surge, _)| surge)
}

/// Pods that may lack; 0 unless updates roll, and never more than wanted.
pub fn max_unavailable(deployment: &Deployment) -> i32 {
    bounds(deployment).map_or(0, |(_, unavailable)| unavailable.min(deployment.spec.replicas))
}

fn bounds(deployment: &Deployment) -> Option<(i32, i32)> {
    match &deployment.spec.strategy {
        DeploymentStrategy::Recreate => None,
        DeploymentStrategy::RollingUpdate { max_surge, max_unavailable } => {
            Some(fenceposts::resolve(max_surge, max_unavailable, deployment.spec.replicas))
        }
    }
}

/// The sum of a number over ReplicaSets.
pub fn sum(replica_sets: &[Rc<ReplicaSet>], of: impl Fn(&ReplicaSet) -> i32) -> i32 {
    replica_sets.iter().map(|set| of(set)).sum()
}

/// Pods that ReplicaSets should have.
pub fn spec_replicas(set: &ReplicaSet) -> i32 {
    set.spec.replicas
}

/// Available pods that ReplicaSets report.
pub fn available_replicas(set: &ReplicaSet) -> i32 {
    set.status.available_replicas
}

/// Those that should have pods.
pub fn active(replica_sets: &[Rc<ReplicaSet>]) -> Vec<Rc<ReplicaSet>> {
    replica_sets.iter().filter(|set| set.spec.replicas > 0).cloned().collect()
}

/// Sorts by creation, then by name.
pub fn sort_by_creation(replica_sets: &mut [Rc<ReplicaSet>]) {
    replica_sets.sort_by(|a, b| (a.meta.creation, &a.meta.name).cmp(&(b.meta.creation, &b.meta.name)));
}

/// The ReplicaSet made from the Deployment's template; the first if there are several.
pub fn find_new<'a>(deployment: &Deployment, by_creation: &'a [Rc<ReplicaSet>]) -> Option<&'a Rc<ReplicaSet>> {
    let template = &deployment.spec.template;
    by_creation.iter().find(|set| {
        let own = &set.spec.template;
        Rc::ptr_eq(own, template)
            || Rc::ptr_eq(&own.source, &template.source)
            || (own.source_hash == template.source_hash && is_same(&own.source, &template.source))
    })
}

/// Whether two JSON values are equal. Keys mostly stand in the same order: they are looked up only where they do not.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let in_order = || one.iter().zip(other).all(|((a, of_a), (b, of_b))| a == b && is_same(of_a, of_b));
            one.len() == other.len() && (in_order() || (!one.keys().eq(other.keys()) && a == b))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_same(a, b))
        }
        _ => a == b,
    }
}

/// Whether the Deployment has a deadline for progress.
pub fn has_progress_deadline(deployment: &Deployment) -> bool {
    deployment.spec.progress_deadline_seconds.is_some_and(|seconds| seconds != i32::MAX)
}

/// A condition that is new at `now`, to the nanosecond: the API server cuts times off to seconds, so a condition that is set
/// anew differs from the stored one even within a second, and its write may change nothing.
pub fn new_condition(
    condition_type: &str,
    status: ConditionStatus,
    reason: &str,
    message: impl Into<Name>,
    now: Time,
) -> Condition {
    Condition {
        condition_type: condition_type.into(),
        status,
        reason: reason.into(),
        message: message.into(),
        last_transition: now,
        last_update: Some(now),
    }
}

/// Puts the condition last, unless one of its type has the same status and reason. The time of transition stays when the
/// status does.
pub fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    if let Some(current) = find_condition(conditions, new.condition_type.as_str()).filter(|c| c.status == new.status) {
        if current.reason == new.reason {
            return;
        }
        new.last_transition = current.last_transition;
    }
    remove_condition(conditions, new.condition_type.as_str());
    conditions.push(new);
}

/// Whether [`set_condition`] leaves everything as it is, for a condition of this type, status and reason.
pub fn has_condition(conditions: &[Condition], condition_type: &str, status: ConditionStatus, reason: &str) -> bool {
    let current = find_condition(conditions, condition_type);
    current.is_some_and(|current| current.status == status && current.reason == reason)
}

/// Takes the condition of this type out.
pub fn remove_condition(conditions: &mut Vec<Condition>, condition_type: &str) {
    conditions.retain(|condition| condition.condition_type != condition_type);
}

/// Whether all pods are of the newest template and available, and nothing else is left.
pub fn is_complete(deployment: &Deployment, status: &DeploymentStatus) -> bool {
    let wanted = deployment.spec.replicas;
    status.updated_replicas == wanted
        && status.replicas == wanted
        && status.available_replicas == wanted
        && status.observed_generation >= deployment.meta.generation
}

/// Whether the new status shows progress over the Deployment's own.
pub fn is_progressing(deployment: &Deployment, new: &DeploymentStatus) -> bool {
    let old = &deployment.status;
    new.updated_replicas > old.updated_replicas
        || new.replicas - new.updated_replicas < old.replicas - old.updated_replicas
        || new.ready_replicas > old.ready_replicas
        || new.available_replicas > old.available_replicas
}

/// Whether the last progress is longer ago than the deadline allows.
pub fn has_timed_out(deployment: &Deployment, status: &DeploymentStatus, now: Time) -> bool {
    let Some(seconds) = deployment.spec.progress_deadline_seconds.filter(|seconds| *seconds != i32::MAX) else {
        return false;
    };
    let Some(progressing) = find_condition(&status.conditions, condition::PROGRESSING) else { return false };
    match progressing.reason.as_str() {
        condition::NEW_REPLICA_SET_AVAILABLE => false,
        condition::TIMED_OUT => true,
        _ => {
            let from = progressing.last_update.unwrap_or(progressing.last_transition);
            from + Span::from_seconds(i64::from(seconds)) < now
        }
    }
}

/// The label value for a template: ten characters.
///
/// DIVERGES: upstream hashes a dump of Go structures; the names of ReplicaSets and pods differ, nothing else.
pub fn template_hash(template: &PodTemplate, collision_count: Option<i32>) -> String {
    const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    let mut hash = template.source_hash;
    if let Some(count) = collision_count {
        hash = hash_text(&format!("{hash:x}/{count}"));
    }
    (0..10)
        .map(|_| {
            let letter = ALPHABET[(hash % 27) as usize];
            hash /= 27;
            char::from(letter)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn templates_are_the_same_by_value_in_any_order() {
        let [a, b, c] =
            [json!({"a": [1, {"b": 2}], "c": 3}), json!({"c": 3, "a": [1, {"b": 2}]}), json!({"a": [1], "c": 3})];
        assert!(is_same(&a, &a.clone()) && is_same(&a, &b) && !is_same(&a, &c) && !is_same(&c, &json!({"a": [1]})));
    }
}
