//! What the server resets and sets when an object is created.
//!
//! What it draws (uid, times, addresses, the end of a generated name) stays absent: whoever stores the object adds it. Where
//! a Job's selector and labels need the uid, they hold [`UID`].
//!
//! Upstream: apiserver/pkg/registry/rest/create.go, pkg/registry/*/strategy.go (`PrepareForCreate`), v1.36.

use serde_json::{Value, json};

use super::label_keys;
use crate::rules::codec::decode::spec_of;
use crate::rules::codec::json::{object_at, set_default};
use crate::rules::manifest::ManifestKind;
use crate::rules::qos;

/// Stands for the uid of a Job that has none yet; a value that labels may have.
pub const UID: &str = "00000000-0000-0000-0000-000000000000";

/// Fields of metadata that the server sets itself.
const SERVERS_OWN: [&str; 7] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "managedFields",
];

/// What the server resets when an object is created: status, generation, fields of disabled features.
pub fn prepare_for_create(kind: ManifestKind, object: &mut Value) {
    if let Some(metadata) = object_at(object, &["metadata"]) {
        SERVERS_OWN.iter().for_each(|field| drop(metadata.shift_remove(*field)));
        metadata.shift_remove("generation");
        if kind.info().has_generation {
            metadata.insert("generation".into(), json!(1));
        }
    }
    match kind {
        ManifestKind::Pod => pod(object),
        ManifestKind::StatefulSet => drop_disabled(object),
        ManifestKind::DaemonSet => template_generation(object, 1),
        ManifestKind::Job => job(object),
        ManifestKind::PersistentVolumeClaim => data_source(object),
        ManifestKind::Node => node(object),
        ManifestKind::Namespace => finalizers(object),
        _ => {}
    }
    set_status(kind, object);
}

fn set_status(kind: ManifestKind, object: &mut Value) {
    let status = match kind {
        ManifestKind::Pod => pod_status(object),
        ManifestKind::Deployment | ManifestKind::Job | ManifestKind::CronJob | ManifestKind::ResourceQuota => json!({}),
        ManifestKind::ReplicaSet => json!({"replicas": 0}),
        ManifestKind::StatefulSet => json!({"replicas": 0, "availableReplicas": 0}),
        ManifestKind::DaemonSet => json!({"currentNumberScheduled": 0, "numberMisscheduled": 0,
            "desiredNumberScheduled": 0, "numberReady": 0}),
        ManifestKind::HorizontalPodAutoscaler => json!({"desiredReplicas": 0}),
        ManifestKind::HorizontalPodAutoscalerV1 => json!({"currentReplicas": 0, "desiredReplicas": 0}),
        ManifestKind::PodDisruptionBudget => json!({"disruptionsAllowed": 0, "currentHealthy": 0,
            "desiredHealthy": 0, "expectedPods": 0}),
        ManifestKind::Service => json!({"loadBalancer": {}}),
        ManifestKind::Namespace => json!({"phase": "Active"}),
        ManifestKind::PersistentVolume | ManifestKind::PersistentVolumeClaim => json!({"phase": "Pending"}),
        // Who creates a node says how it is.
        ManifestKind::Node => return,
        ManifestKind::Event
        | ManifestKind::LimitRange
        | ManifestKind::PriorityClass
        | ManifestKind::StorageClass
        | ManifestKind::Lease
        | ManifestKind::EndpointSlice
        | ManifestKind::ScaledObject
        | ManifestKind::ScaledJob
        | ManifestKind::VerticalPodAutoscaler => {
            if let Some(fields) = object.as_object_mut() {
                fields.shift_remove("status");
            }
            return;
        }
    };
    object["status"] = status;
}

fn pod(object: &mut Value) {
    label_keys::merge(object);
}

/// A pod that nobody has seen yet.
fn pod_status(object: &Value) -> Value {
    let none = Value::Null;
    let spec = object.get("spec").unwrap_or(&none);
    // A spec that cannot be typed is refused later; its class does not matter.
    let class = spec_of(spec).map(|spec| qos::class(&spec)).unwrap_or_default();
    let mut status = json!({"phase": "Pending", "qosClass": class.as_str()});
    if spec.get("schedulingGates").and_then(Value::as_array).is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates"}]);
    }
    status
}

/// Gate MaxUnavailableStatefulSet is off.
pub fn drop_disabled(object: &mut Value) {
    let rolling = object.pointer_mut("/spec/updateStrategy/rollingUpdate").and_then(Value::as_object_mut);
    if let Some(rolling) = rolling {
        rolling.shift_remove("maxUnavailable");
    }
}

/// The generation of a DaemonSet's template, in an annotation.
pub fn template_generation(object: &mut Value, generation: i64) {
    if let Some(annotations) = object_at(object, &["metadata", "annotations"]) {
        annotations.insert("deprecated.daemonset.template.generation".into(), json!(generation.to_string()));
    }
}

/// Selector and labels of a Job that does not bring its own selector.
fn job(object: &mut Value) {
    if object["spec"]["manualSelector"] != json!(true) {
        // A name that is still to be made is a label when it is there.
        let name = object["metadata"].get("name").cloned();
        let uid = Some(json!(UID));
        if let Some(labels) = object_at(object, &["spec", "template", "metadata", "labels"]) {
            for (key, value) in [("job-name", &name), ("controller-uid", &uid)] {
                if let Some(value) = value {
                    labels.insert(format!("batch.kubernetes.io/{key}"), value.clone());
                    labels.insert(key.into(), value.clone());
                }
            }
        }
        if let Some(selector) = object_at(object, &["spec", "selector", "matchLabels"]) {
            set_default(selector, "batch.kubernetes.io/controller-uid", UID);
        }
    }
}

/// A namespace always has the finalizer that empties it.
fn finalizers(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    let Some(list) = spec.entry("finalizers").or_insert_with(|| json!([])).as_array_mut() else { return };
    if !list.iter().any(|finalizer| finalizer == "kubernetes") {
        list.push(json!("kubernetes"));
    }
}

/// A claim's source has two fields, of which the newer one can also name another namespace.
fn data_source(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    // The older field can name a claim or a snapshot only; anything else in it is dropped.
    let is_old = |source: &Value| {
        let text = |field: &str| source[field].as_str().unwrap_or_default();
        matches!(
            (text("apiGroup"), text("kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    if spec.get("dataSource").is_some_and(|source| !is_old(source)) {
        spec.shift_remove("dataSource");
    }
    if let Some(source) = spec.get("dataSource").cloned() {
        set_default(spec, "dataSourceRef", source);
    } else if let Some(reference) = spec.get("dataSourceRef").filter(|one| one.get("namespace").is_none()).cloned() {
        set_default(spec, "dataSource", reference);
    }
}

fn node(object: &mut Value) {
    let Some(status) = object_at(object, &["status"]) else { return };
    set_default(status, "daemonEndpoints", json!({"kubeletEndpoint": {"Port": 0}}));
    set_default(status, "nodeInfo", json!({}));
    if let Some(info) = status.get_mut("nodeInfo").and_then(Value::as_object_mut) {
        NODE_INFO.iter().for_each(|field| set_default(info, field, ""));
    }
}

/// Texts that a node's information always has.
const NODE_INFO: [&str; 10] = [
    "machineID",
    "systemUUID",
    "bootID",
    "kernelVersion",
    "osImage",
    "containerRuntimeVersion",
    "kubeletVersion",
    "kubeProxyVersion",
    "operatingSystem",
    "architecture",
];
