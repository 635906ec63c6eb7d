//! What the API server fills in, kind by kind, on JSON. Fields of the wrong type are left for others to complain about.
//!
//! Defaulting ([`apply`]) happens whenever an object is read, also from the store; [`prepare_for_create`] and
//! [`prepare_for_update`] belong to requests.
//!
//! Upstream: pkg/apis/*/v1/defaults.go, pkg/registry/*/strategy.go, v1.36.

mod autoscaling;
mod batch;
mod label_keys;
mod pod;
mod pod_level;
pub(super) mod prepare;
mod quantities;
mod service;
mod storage;
mod update;
mod volumes;
mod workloads;

use serde_json::{Map, Value, json};

use super::ManifestKind;
use crate::rules::codec::json::{object_at, objects_mut, set_default};
use quantities::tidy_quantities;

pub use pod::{pod_only, pod_spec};
pub use prepare::{UID, prepare_for_create};
pub use update::prepare_for_update;

/// Fills in the defaults of an object.
pub fn apply(kind: ManifestKind, object: &mut Value) {
    match kind {
        ManifestKind::Pod => {
            if let Some(spec) = object_at(object, &["spec"]) {
                pod_spec(spec);
                pod_only(spec);
            }
        }
        ManifestKind::Deployment => workloads::deployment(object),
        ManifestKind::ReplicaSet => workloads::replica_set(object),
        ManifestKind::StatefulSet => workloads::stateful_set(object),
        ManifestKind::DaemonSet => workloads::daemon_set(object),
        ManifestKind::Job => batch::job(object),
        ManifestKind::CronJob => batch::cron_job(object),
        ManifestKind::HorizontalPodAutoscaler => autoscaling::v2(object),
        ManifestKind::HorizontalPodAutoscalerV1 => autoscaling::v1(object),
        ManifestKind::Service => service::service(object),
        ManifestKind::PersistentVolume => storage::volume(object),
        ManifestKind::PersistentVolumeClaim => storage::claim(object),
        ManifestKind::StorageClass => storage::class(object),
        ManifestKind::LimitRange => limit_range(object),
        ManifestKind::ResourceQuota => {
            if let Some(spec) = object.get_mut("spec") {
                tidy_quantities(spec.get_mut("hard"));
            }
        }
        ManifestKind::Node => node(object),
        ManifestKind::Namespace => namespace(object),
        ManifestKind::PriorityClass => {
            if let Some(fields) = object.as_object_mut() {
                set_default(fields, "preemptionPolicy", "PreemptLowerPriority");
            }
        }
        ManifestKind::ScaledObject => {
            let fallback = object.pointer_mut("/spec/fallback").and_then(Value::as_object_mut);
            fallback.into_iter().for_each(|fallback| set_default(fallback, "behavior", "static"));
        }
        ManifestKind::EndpointSlice => endpoint_slice(object),
        ManifestKind::Event
        | ManifestKind::Lease
        | ManifestKind::PodDisruptionBudget
        | ManifestKind::ScaledJob
        | ManifestKind::VerticalPodAutoscaler => {}
    }
}

/// Ports have no name and TCP unless they say otherwise.
///
/// Upstream: pkg/apis/discovery/v1/defaults.go, v1.36.
fn endpoint_slice(object: &mut Value) {
    for port in object.as_object_mut().into_iter().flat_map(|slice| objects_mut(slice, "ports")) {
        set_default(port, "name", "");
        set_default(port, "protocol", "TCP");
    }
}

/// Every namespace carries its name as a label and the finalizer that empties it on deletion.
fn namespace(object: &mut Value) {
    let name = object["metadata"]["name"].as_str().map(String::from);
    if let (Some(name), Some(labels)) = (name, object_at(object, &["metadata", "labels"])) {
        labels.insert("kubernetes.io/metadata.name".into(), Value::String(name));
    }
    if let Some(spec) = object_at(object, &["spec"]) {
        set_default(spec, "finalizers", json!(["kubernetes"]));
    }
}

fn node(object: &mut Value) {
    // The first of the ranges has a field of its own, for old clients; where the two differ it is the one that counts.
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        if let Some(cidr) = spec.get("podCIDR").cloned() {
            if spec.get("podCIDRs").and_then(|ranges| ranges.get(0)) != Some(&cidr) {
                spec.insert("podCIDRs".into(), json!([cidr]));
            }
        } else if let Some(first) = spec.get("podCIDRs").and_then(|ranges| ranges.get(0)).cloned() {
            spec.insert("podCIDR".into(), first);
        }
    }
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    for list in ["capacity", "allocatable"] {
        tidy_quantities(status.get_mut(list));
    }
    if let Some(capacity) = status.get("capacity").cloned() {
        set_default(status, "allocatable", capacity);
    }
}

/// For containers the limit is the maximum unless given; the request is the limit, else the minimum.
fn limit_range(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for item in objects_mut(spec, "limits") {
        for list in ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"] {
            tidy_quantities(item.get_mut(list));
        }
        if item.get("type") == Some(&json!("Container")) {
            for (to, from) in [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")] {
                fill_from(item, to, from);
            }
        }
    }
}

/// Fills in the keys that map `to` lacks from map `from`.
fn fill_from(object: &mut Map<String, Value>, to: &str, from: &str) {
    let Some(source) = object.get(from).and_then(Value::as_object).filter(|source| !source.is_empty()).cloned() else {
        return;
    };
    if let Some(target) = object.entry(to).or_insert_with(|| json!({})).as_object_mut() {
        source.into_iter().for_each(|(key, value)| set_default(target, &key, value));
    }
}

#[cfg(test)]
mod tests;
