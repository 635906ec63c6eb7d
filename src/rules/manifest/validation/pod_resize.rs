//! What a resize may change in a pod.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidatePodResize), pkg/apis/core/helper/qos/qos.go, v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use super::pod;
use super::pod_update::without_nulls;
use super::resources::quantity;

/// An update of `/resize`, metadata aside.
pub(super) fn check(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    pod::check_pod(new, errors);
    let (before, after) = (old.get("spec"), new.get("spec"));
    if old.at(&["metadata", "annotations"]).key("kubernetes.io/config.mirror").is_given() {
        errors.forbidden(&Field { value: old.value, path: String::new() }, "static pods cannot be resized");
        return;
    }
    if before.at(&["os", "name"]).text() == "windows" {
        errors.forbidden(&Field { value: old.value, path: String::new() }, "windows pods cannot be resized");
        return;
    }
    let class = match old.at(&["status", "qosClass"]).text() {
        "" => qos_class(&before),
        class => class,
    };
    if class != qos_class(&after) {
        errors.invalid(
            &Field { value: &Value::Null, path: after.path.clone() },
            "Pod QOS Class may not change as a result of resizing",
        );
    }
    if !is_supported(&old.get("status")) {
        errors.forbidden(&after, "Pod running on node without support for resize");
    }
    if !check_order(&before, &after, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        for (old, new) in before.get(list).items().zip(after.get(list).items()) {
            check_removed(&old.get("resources"), &new.get("resources"), errors);
            let is_container = list == "containers";
            if without_amounts(old.value) != without_amounts(new.value) {
                let named = if is_container { &after } else { &new };
                errors.forbidden(named, "only cpu and memory resources are mutable");
            } else if !is_container && old.value != new.value {
                check_init(&new, errors);
            }
        }
    }
    check_removed(&before.get("resources"), &after.get("resources"), errors);
    if before.get("resources").is_given() && !after.get("resources").is_given() {
        errors.forbidden(&after.get("resources"), "pod-level resources cannot be removed");
    }
    if without_containers(before.value) != without_containers(after.value) {
        errors.forbidden(&after, "only cpu and memory resources are mutable");
    }
}

/// Whether the pod's node says what its containers have, if any of them runs.
fn is_supported(status: &Field<'_>) -> bool {
    let mut running =
        status.get("containerStatuses").items().filter(|status| status.at(&["state", "running"]).is_given());
    running.next().is_none_or(|status| status.get("resources").is_given())
}

/// The same containers in the same order.
fn check_order(before: &Field<'_>, after: &Field<'_>, errors: &mut Errors) -> bool {
    let mut is_same = true;
    for list in ["containers", "initContainers"] {
        let (old, new) = (before.get(list), after.get(list));
        if old.len() != new.len() {
            errors.forbidden(&new, "containers may not be added or removed on resize");
            is_same = false;
        }
        for (old, new) in old.items().zip(new.items()) {
            if old.get("name").text() != new.get("name").text() {
                errors.forbidden(&new.get("name"), "containers may not be renamed or reordered on resize");
                is_same = false;
            }
        }
    }
    is_same
}

/// An init container that is resized must not need a restart for it, unless it is a sidecar.
fn check_init(container: &Field<'_>, errors: &mut Errors) {
    let mut policies = container.get("resizePolicy").items();
    let restarts = policies.any(|policy| policy.get("restartPolicy").text() == "RestartContainer");
    if restarts && container.get("restartPolicy").text() != "Always" {
        let detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
        errors.forbidden(container, detail);
    }
}

/// Amounts may change, and new ones may come.
fn check_removed(before: &Field<'_>, after: &Field<'_>, errors: &mut Errors) {
    for name in ["requests", "limits"] {
        if before.get(name).entries().any(|(resource, _)| !after.get(name).key(resource).is_given()) {
            errors.forbidden(&after.get(name), &format!("resource {name} cannot be removed"));
        }
    }
}

/// A container or pod spec without amounts of cpu and memory.
fn without_amounts(owner: &Value) -> Value {
    let mut owner = owner.clone();
    if let Some(resources) = owner.get_mut("resources").and_then(Value::as_object_mut) {
        for name in ["requests", "limits"] {
            if let Some(amounts) = resources.get_mut(name).and_then(Value::as_object_mut) {
                amounts.retain(|resource, _| resource != "cpu" && resource != "memory");
            }
        }
        resources.retain(|_, amounts| !amounts.as_object().is_some_and(serde_json::Map::is_empty));
        if resources.is_empty() {
            owner["resources"] = Value::Null;
        }
    }
    without_nulls(&owner)
}

/// What is left of a pod spec.
fn without_containers(spec: &Value) -> Value {
    let mut spec = without_amounts(spec);
    if let Some(fields) = spec.as_object_mut() {
        fields.retain(|name, _| name != "containers" && name != "initContainers");
    }
    spec
}

/// The quality of service that a pod gets, from its own requests and limits or else its containers'.
fn qos_class(spec: &Field<'_>) -> &'static str {
    let own = spec.get("resources");
    let owners: Vec<Field<'_>> = if own.get("requests").is_empty() && own.get("limits").is_empty() {
        let lists = ["containers", "initContainers"].map(|list| spec.get(list));
        lists.iter().flat_map(|list| list.items()).map(|container| container.get("resources")).collect()
    } else {
        vec![own]
    };
    let milli = |owner: &Field<'_>, list: &str, resource: &str| {
        let amount = quantity(&owner.get(list).key(resource)).map_or(0, |amount| amount.milli_value());
        i128::from(amount.max(0))
    };
    let sum = |list: &str, resource: &str| owners.iter().map(|owner| milli(owner, list, resource)).sum::<i128>();
    let both = ["cpu", "memory"];
    if both.iter().all(|resource| sum("requests", resource) == 0 && sum("limits", resource) == 0) {
        return "BestEffort";
    }
    let limited = owners.iter().all(|owner| both.iter().all(|resource| milli(owner, "limits", resource) > 0));
    let equal = both.iter().all(|resource| sum("requests", resource) == sum("limits", resource));
    if limited && equal { "Guaranteed" } else { "Burstable" }
}
