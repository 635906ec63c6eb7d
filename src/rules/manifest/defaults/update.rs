//! What the server keeps of the stored object on an update, and the new generation.
//!
//! Upstream: apiserver/pkg/registry/rest/update.go, pkg/registry/*/strategy.go (`PrepareForUpdate`), v1.36.

use serde_json::{Map, Value, json};

use super::prepare::{drop_disabled, template_generation};
use crate::rules::codec::json::{object_at, objects_mut, set_default, set_or_remove};
use crate::rules::manifest::{ManifestKind, Subresource};

/// What the server keeps of the stored object on an update, and the new generation.
pub fn prepare_for_update(kind: ManifestKind, stored: &Value, object: &mut Value, part: Subresource) {
    keep_metadata(stored, object);
    match part {
        Subresource::Main => keep_status(kind, stored, object),
        Subresource::Status => keep_all_but_status(kind, stored, object),
        Subresource::Resize => keep_all_but_resources(stored, object),
    }
    match kind {
        ManifestKind::StatefulSet => drop_disabled(object),
        ManifestKind::Service => {
            follow_first_address(stored, object);
            keep_allocated(stored, object);
            drop_fields_of_old_type(stored, object);
        }
        ManifestKind::DaemonSet => {
            let differs = stored["spec"]["template"] != object["spec"]["template"];
            let annotation = "deprecated.daemonset.template.generation";
            let generation = stored["metadata"]["annotations"][annotation].as_str().and_then(|text| text.parse().ok());
            template_generation(object, generation.unwrap_or(1) + i64::from(differs));
        }
        _ => {}
    }
    if generation_rises(kind, stored, object) {
        let generation = stored["metadata"]["generation"].as_i64().unwrap_or(0);
        object["metadata"]["generation"] = json!(generation + 1);
    }
}

/// What identifies the object, and what says when and how it came and goes.
fn keep_metadata(stored: &Value, object: &mut Value) {
    let Some(metadata) = object_at(object, &["metadata"]) else { return };
    for field in ["generation", "creationTimestamp", "selfLink"] {
        set_or_remove(metadata, field, stored["metadata"].get(field).cloned());
    }
    // A deletion cannot be taken back; one that an update makes up is left for validation to refuse.
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(kept) = stored["metadata"].get(field) {
            metadata.insert(field.into(), kept.clone());
        }
    }
    if let Some(uid) = stored["metadata"].get("uid") {
        set_default(metadata, "uid", uid.clone());
    }
}

fn keep_status(kind: ManifestKind, stored: &Value, object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    set_or_remove(fields, "status", stored.get("status").cloned());
    if kind == ManifestKind::Namespace
        && let Some(spec) = stored.get("spec")
    {
        fields.insert("spec".into(), spec.clone());
    }
}

fn keep_all_but_status(kind: ManifestKind, stored: &Value, object: &mut Value) {
    let status = object.get("status").cloned();
    let metadata = object.get("metadata").cloned().unwrap_or_default();
    *object = stored.clone();
    let Some(fields) = object.as_object_mut() else { return };
    set_or_remove(fields, "status", status);
    // A pod's labels may be changed this way, those of workloads may not.
    if kind == ManifestKind::Pod {
        fields.insert("metadata".into(), metadata);
    }
}

/// Of a pod that is resized only the resources and resize policies of its containers count.
fn keep_all_but_resources(stored: &Value, object: &mut Value) {
    let wanted = std::mem::replace(object, stored.clone());
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for list in ["containers", "initContainers"] {
        let given = wanted["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        for container in objects_mut(spec, list) {
            if let Some(new) = given.iter().find(|new| new.get("name") == container.get("name")) {
                for field in ["resources", "resizePolicy"] {
                    set_or_remove(container, field, new.get(field).cloned());
                }
            }
        }
    }
    set_or_remove(spec, "resources", wanted["spec"].get("resources").cloned());
}

/// The list of addresses follows the first one when only that was changed or taken away, as by clients that know no list.
///
/// Upstream: pkg/registry/core/service/strategy.go, `NormalizeClusterIPs`, v1.36.
fn follow_first_address(stored: &Value, object: &mut Value) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    let is_kept = |field: &str, spec: &Map<String, Value>| spec.get(field) == stored["spec"].get(field);
    if is_kept("clusterIP", spec) || !is_kept("clusterIPs", spec) {
        return;
    }
    let addresses = spec.get("clusterIP").map(|address| json!([address]));
    set_or_remove(spec, "clusterIPs", addresses);
}

/// Addresses and ports that a Service was given, if the update does not name its own.
fn keep_allocated(stored: &Value, object: &mut Value) {
    if stored["spec"]["type"] != object["spec"]["type"] {
        return;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in ["clusterIP", "clusterIPs", "healthCheckNodePort"] {
        if let Some(value) = stored["spec"].get(field) {
            set_default(spec, field, value.clone());
        }
    }
    let old_ports = stored["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_same = |old: &Value, new: &Map<String, Value>| {
        ["port", "protocol", "name"].iter().all(|field| old.get(field) == new.get(*field))
    };
    for port in objects_mut(spec, "ports") {
        if let Some(number) = old_ports.iter().find(|old| is_same(old, port)).and_then(|old| old.get("nodePort")) {
            set_default(port, "nodePort", number.clone());
        }
    }
}

/// What belongs to the type that a Service had and no longer has, where the update has left it as it was.
///
/// Upstream: pkg/registry/core/service/strategy.go, `dropTypeDependentFields`, v1.36.
fn drop_fields_of_old_type(stored: &Value, object: &mut Value) {
    let is =
        |service: &Value, types: &[&str]| service["spec"]["type"].as_str().is_some_and(|word| types.contains(&word));
    let has_address = |service: &Value| !is(service, &["ExternalName"]);
    let is_balanced = |service: &Value| is(service, &["LoadBalancer"]);
    let has_node_ports = |service: &Value| is(service, &["LoadBalancer", "NodePort"]);
    let checks_health =
        |service: &Value| is_balanced(service) && service["spec"]["externalTrafficPolicy"] == json!("Local");
    let is_outside = |service: &Value| has_node_ports(service) || !service["spec"]["externalIPs"].is_null();
    let loses = |has: &dyn Fn(&Value) -> bool| has(stored) && !has(object);
    let lost: [(bool, &[&str]); 4] = [
        (loses(&has_address), &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"]),
        (loses(&is_balanced), &["allocateLoadBalancerNodePorts", "loadBalancerClass"]),
        (loses(&checks_health), &["healthCheckNodePort"]),
        (loses(&is_outside), &["externalTrafficPolicy"]),
    ];
    let loses_ports = loses(&has_node_ports);
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for field in lost.into_iter().filter(|(is_lost, _)| *is_lost).flat_map(|(_, fields)| fields) {
        if spec.get(*field) == stored["spec"].get(*field) {
            spec.shift_remove(*field);
        }
    }
    let old_ports = stored["spec"]["ports"].as_array().map(Vec::as_slice).unwrap_or_default();
    for port in objects_mut(spec, "ports").filter(|_| loses_ports) {
        let number = port.get("nodePort").cloned();
        if old_ports.iter().any(|old| old.get("nodePort") == number.as_ref()) {
            port.shift_remove("nodePort");
        }
    }
}

fn generation_rises(kind: ManifestKind, stored: &Value, object: &Value) -> bool {
    let differs = |field: &str| stored.get(field) != object.get(field);
    match kind {
        ManifestKind::PriorityClass => false,
        // It has no spec: everything outside metadata counts.
        ManifestKind::EndpointSlice => ["addressType", "endpoints", "ports"].into_iter().any(differs),
        ManifestKind::Deployment => {
            differs("spec") || stored["metadata"].get("annotations") != object["metadata"].get("annotations")
        }
        // Custom resources have no spec that the server knows of: everything outside metadata and status counts.
        kind if kind.is_custom() => {
            let content = |value: &Value| -> Map<String, Value> {
                let fields = value.as_object().cloned().unwrap_or_default();
                fields.into_iter().filter(|(name, _)| name != "metadata" && name != "status").collect()
            };
            content(stored) != content(object)
        }
        kind => kind.info().has_generation && differs("spec"),
    }
}
