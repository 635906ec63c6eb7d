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
    for list in ["initContainers", "containers"] {
        if before.get(list).len() != after.get(list).len() {
            errors.forbidden(&after, "only cpu and memory resources are mutable");
            return;
        }
        for (old, new) in before.get(list).items().zip(after.get(list).items()) {
            if list == "containers" || new.get("restartPolicy").text() == "Always" {
                check_removed(&old.get("resources"), &new.get("resources"), errors);
            } else if without_nulls(old.value) != without_nulls(new.value) {
                errors.forbidden(&after, "resources for non-sidecar init containers are immutable");
            }
        }
    }
    check_removed(&before.get("resources"), &after.get("resources"), errors);
    if without_nulls(&without_amounts(before.value)) != without_nulls(&without_amounts(after.value)) {
        errors.forbidden(&after, "only cpu and memory resources are mutable");
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

/// The spec without amounts of cpu and memory, and without policies of resizing.
fn without_amounts(spec: &Value) -> Value {
    let mut spec = spec.clone();
    strip(&mut spec);
    for list in ["initContainers", "containers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            strip(container);
            if let Some(fields) = container.as_object_mut() {
                fields.shift_remove("resizePolicy");
            }
        }
    }
    spec
}

fn strip(owner: &mut Value) {
    let Some(resources) = owner.get_mut("resources").and_then(Value::as_object_mut) else {
        return;
    };
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
