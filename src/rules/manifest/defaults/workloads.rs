//! Defaults of Deployments, ReplicaSets, StatefulSets and DaemonSets.
//!
//! Upstream: pkg/apis/apps/v1/defaults.go, v1.36.

use serde_json::{Value, json};

use super::pod::pod_spec;
use super::storage::claim_spec;
use crate::rules::codec::json::{object_at, objects_mut, set_default};

/// A Deployment.
pub fn deployment(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    rolling_update(object, "strategy", &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))]);
    template(object);
}

/// A ReplicaSet.
pub fn replica_set(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "replicas", 1);
    template(object);
}

/// A StatefulSet.
pub fn stateful_set(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "serviceName", "");
    for claim in objects_mut(spec, "volumeClaimTemplates") {
        set_default(claim, "apiVersion", "v1");
        set_default(claim, "kind", "PersistentVolumeClaim");
        set_default(claim, "metadata", json!({}));
        set_default(claim, "spec", json!({}));
        if let Some(spec) = claim.get_mut("spec").and_then(Value::as_object_mut) {
            claim_spec(spec);
        }
        claim.insert("status".into(), json!({"phase": "Pending"}));
    }
    if let Some(retention) = object_at(object, &["spec", "persistentVolumeClaimRetentionPolicy"]) {
        set_default(retention, "whenDeleted", "Retain");
        set_default(retention, "whenScaled", "Retain");
    }
    rolling_update(object, "updateStrategy", &[("partition", json!(0))]);
    template(object);
}

/// A DaemonSet.
pub fn daemon_set(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "revisionHistoryLimit", 10);
    rolling_update(object, "updateStrategy", &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
    template(object);
}

fn rolling_update(object: &mut Value, strategy_name: &str, fields: &[(&str, Value)]) {
    let Some(strategy) = object_at(object, &["spec", strategy_name]) else { return };
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate"
        && let Some(rolling) = object_at(object, &["spec", strategy_name, "rollingUpdate"])
    {
        fields.iter().for_each(|(name, value)| set_default(rolling, name, value.clone()));
    }
}

/// The template at `spec.template` of this value, if there is one.
pub fn template(value: &mut Value) {
    let has_template = value["spec"].get("template").is_some();
    if !has_template {
        return;
    }
    object_at(value, &["spec", "template", "metadata"]);
    if let Some(spec) = object_at(value, &["spec", "template", "spec"]) {
        pod_spec(spec);
    }
}
