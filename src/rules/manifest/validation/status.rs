//! Rules of what a controller reports: the counts of a status are not negative, and parts are not above the whole.
//!
//! Upstream: `Validate*Status` in pkg/apis/{apps,autoscaling,batch,policy}/validation/validation.go, v1.36. Of a Job's status
//! only the counts are judged, not the order in which its conditions come.

use super::super::{Errors, Field, ManifestKind};

/// Counts that are not above `status.replicas`.
const PARTS: &[&str] =
    &["updatedReplicas", "fullyLabeledReplicas", "readyReplicas", "currentReplicas", "availableReplicas"];

/// Adds what the server refuses in a status that takes the place of another.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (before, status) = (old.get("status"), new.get("status"));
    for name in counts(kind) {
        errors.not_negative(&status.get(name));
    }
    let collisions = status.get("collisionCount");
    if before.get("collisionCount").int().is_some_and(|count| collisions.int().is_none_or(|after| after < count))
        && kind != ManifestKind::ReplicaSet
    {
        errors.invalid(&collisions, "cannot be decremented");
    }
    if matches!(kind, ManifestKind::Deployment | ManifestKind::ReplicaSet | ManifestKind::StatefulSet) {
        check_parts(kind, &status, errors);
    }
}

fn counts(kind: ManifestKind) -> &'static [&'static str] {
    match kind {
        ManifestKind::Deployment => &[
            "observedGeneration",
            "replicas",
            "updatedReplicas",
            "readyReplicas",
            "availableReplicas",
            "unavailableReplicas",
            "collisionCount",
        ],
        ManifestKind::ReplicaSet => {
            &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration"]
        }
        ManifestKind::StatefulSet => &[
            "replicas",
            "readyReplicas",
            "currentReplicas",
            "updatedReplicas",
            "availableReplicas",
            "observedGeneration",
            "collisionCount",
        ],
        ManifestKind::DaemonSet => &[
            "currentNumberScheduled",
            "numberMisscheduled",
            "desiredNumberScheduled",
            "numberReady",
            "observedGeneration",
            "updatedNumberScheduled",
            "numberAvailable",
            "numberUnavailable",
            "collisionCount",
        ],
        ManifestKind::Job => &["active", "ready", "succeeded", "failed", "terminating"],
        ManifestKind::HorizontalPodAutoscaler | ManifestKind::HorizontalPodAutoscalerV1 => {
            &["currentReplicas", "desiredReplicas"]
        }
        ManifestKind::PodDisruptionBudget => {
            &["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"]
        }
        _ => &[],
    }
}

fn check_parts(kind: ManifestKind, status: &Field<'_>, errors: &mut Errors) {
    let number = |name: &str| status.get(name).int().unwrap_or(0);
    for name in PARTS.iter().filter(|name| counts(kind).contains(name)) {
        if number(name) > number("replicas") {
            errors.invalid(&status.get(name), "cannot be greater than status.replicas");
        }
    }
    if number("availableReplicas") > number("readyReplicas") {
        errors.invalid(&status.get("availableReplicas"), "cannot be greater than readyReplicas");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(kind: ManifestKind, before: Value, after: Value) -> Vec<String> {
        let (old, new) = (json!({"status": before}), json!({"status": after}));
        let mut errors = Errors::default();
        check_update(kind, &Field::root(&old), &Field::root(&new), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", &error.path[7..], error.reason.as_str())).collect()
    }

    /// Rows after `TestValidateDeploymentStatus`, `TestValidateStatefulSetStatus` and `ValidateDaemonSetStatus`, v1.36.
    #[test]
    fn parts_and_wholes() {
        let counts = json!({"replicas": 3, "updatedReplicas": 3, "readyReplicas": 2, "availableReplicas": 1});
        assert!(causes(ManifestKind::Deployment, json!({}), counts).is_empty());
        for (kind, status, expected) in [
            (ManifestKind::Deployment, json!({"unavailableReplicas": -1}), vec!["unavailableReplicas Invalid"]),
            (ManifestKind::Deployment, json!({"updatedReplicas": 1}), vec!["updatedReplicas Invalid"]),
            (ManifestKind::ReplicaSet, json!({"replicas": 2, "readyReplicas": 3}), vec!["readyReplicas Invalid"]),
            (ManifestKind::StatefulSet, json!({"replicas": 2, "currentReplicas": 3}), vec!["currentReplicas Invalid"]),
            (
                ManifestKind::ReplicaSet,
                json!({"replicas": 2, "readyReplicas": 1, "availableReplicas": 2}),
                vec!["availableReplicas Invalid"],
            ),
            (ManifestKind::DaemonSet, json!({"numberReady": -1}), vec!["numberReady Invalid"]),
            (ManifestKind::Job, json!({"failed": -1}), vec!["failed Invalid"]),
            (ManifestKind::PodDisruptionBudget, json!({"disruptionsAllowed": -1}), vec!["disruptionsAllowed Invalid"]),
            (ManifestKind::Node, json!({"replicas": -1}), vec![]),
        ] {
            assert_eq!(causes(kind, json!({}), status.clone()), expected, "{status}");
        }
    }

    #[test]
    fn collisions_are_not_taken_back() {
        let count = |number: i64| json!({"collisionCount": number});
        assert!(causes(ManifestKind::Deployment, count(1), count(2)).is_empty());
        assert_eq!(causes(ManifestKind::Deployment, count(2), count(1)), ["collisionCount Invalid"]);
        assert_eq!(causes(ManifestKind::StatefulSet, count(2), json!({})), ["collisionCount Invalid"]);
    }
}
