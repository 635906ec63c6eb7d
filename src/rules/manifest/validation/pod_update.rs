//! What an update may change in a pod.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidatePodUpdate, ValidatePodStatusUpdate), v1.36.

use serde_json::{Map, Value};

use super::super::{Errors, Field};
use super::metadata::SUBDOMAIN;
use super::selector::check_label_key;
use super::{pod, pod_annotations};
use crate::rules::names;

const MAY_CHANGE: &str = "pod updates may not change fields other than `spec.containers[*].image`, \
                          `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions \
                          to existing tolerations), `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                          previously negative)";

/// An update of the pod itself, metadata aside.
pub(super) fn check(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    pod::check_pod(new, errors);
    let annotations = [old, new].map(|pod| pod.at(&["metadata", "annotations"]));
    pod_annotations::check_update(&annotations[0], &annotations[1], errors);
    let (before, after) = (old.get("spec"), new.get("spec"));
    for list in ["containers", "initContainers"] {
        if before.get(list).len() != after.get(list).len() {
            errors.forbidden(&after.get(list), "pod updates may not add or remove containers");
            return;
        }
    }
    if !check_deadline(&before.get("activeDeadlineSeconds"), &after.get("activeDeadlineSeconds"), errors) {
        return;
    }
    check_tolerations(&before, &after, errors);
    check_gates(&before, &after, errors);
    let mut kept = changed_back(before.value, after.value);
    if !before.get("schedulingGates").is_empty() {
        check_gated(&before, &after, &mut kept, errors);
    }
    if without_nulls(before.value) != without_nulls(&kept) {
        errors.forbidden(&after, MAY_CHANGE);
    }
}

/// Says whether the rest is to be checked, too.
fn check_deadline(before: &Field<'_>, after: &Field<'_>, errors: &mut Errors) -> bool {
    match (before.int(), after.int()) {
        (_, Some(seconds)) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            errors.invalid(after, "must be between 0 and 2147483647, inclusive");
            false
        }
        (Some(old), Some(new)) if old < new => {
            errors.invalid(after, "must be less than or equal to previous value");
            false
        }
        (Some(_), None) => {
            errors.invalid(after, "must not update from a positive integer to nil value");
            true
        }
        _ => true,
    }
}

/// Tolerations may be added, and last longer or shorter.
fn check_tolerations(before: &Field<'_>, after: &Field<'_>, errors: &mut Errors) {
    let list = after.get("tolerations");
    let lost = before.get("tolerations").items().any(|old| {
        let same = |name: &str, new: &Field<'_>| old.get(name).text() == new.get(name).text();
        !list.items().any(|new| ["key", "operator", "value", "effect"].iter().all(|name| same(name, &new)))
    });
    if lost {
        errors.forbidden(&list, "existing toleration can not be modified except its tolerationSeconds");
    }
}

/// Gates may be taken away.
fn check_gates(before: &Field<'_>, after: &Field<'_>, errors: &mut Errors) {
    for gate in after.get("schedulingGates").items() {
        let name = gate.get("name");
        if !before.get("schedulingGates").items().any(|old| old.get("name").text() == name.text()) {
            errors.forbidden(&name, "only deletion is allowed, but found new scheduling gate");
        }
    }
}

/// The new spec with everything that may change as it was.
fn changed_back(old: &Value, new: &Value) -> Value {
    let mut kept = new.clone();
    for list in ["containers", "initContainers"] {
        let items = kept.get_mut(list).and_then(Value::as_array_mut);
        for (index, container) in items.into_iter().flatten().enumerate() {
            container["image"] = old[list][index]["image"].clone();
        }
    }
    for name in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        kept[name] = old[name].clone();
    }
    let grace = "terminationGracePeriodSeconds";
    // A pod's negative period is read as 1.
    let seconds = |spec: &Value| spec[grace].as_i64().map(|seconds| if seconds < 0 { 1 } else { seconds });
    if seconds(old) == seconds(&kept) {
        kept[grace] = old[grace].clone();
    }
    kept
}

/// While a pod is gated, what it asks of nodes may be narrowed.
fn check_gated(before: &Field<'_>, after: &Field<'_>, kept: &mut Value, errors: &mut Errors) {
    let selector = after.get("nodeSelector");
    let loses = before.get("nodeSelector").entries().any(|(key, old)| selector.key(key).value != old.value);
    if loses {
        errors.invalid(&selector, "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
    }
    kept["nodeSelector"] = before.get("nodeSelector").value.clone();
    let path = ["affinity", "nodeAffinity"];
    let (old, new) = (before.at(&path), after.at(&path));
    if without_nulls(old.value) == without_nulls(new.value) {
        return;
    }
    check_node_affinity(&old, &new, errors);
    let mut affinity = kept["affinity"].take();
    match affinity.as_object_mut() {
        Some(fields) => {
            fields.insert("nodeAffinity".into(), old.value.clone());
        }
        None if old.is_given() => affinity = serde_json::json!({"nodeAffinity": old.value}),
        None => {}
    }
    // An affinity that only held this is none.
    kept["affinity"] = match without_nulls(&affinity) {
        Value::Object(fields) if fields.is_empty() && !before.get("affinity").is_given() => Value::Null,
        other => other,
    };
}

/// Terms stay, in their order; each may get more requirements at its end. What is only preferred may change at will.
fn check_node_affinity(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let name = "requiredDuringSchedulingIgnoredDuringExecution";
    let [before, after] = [old, new].map(|affinity| affinity.get(name));
    if !before.is_given() {
        return;
    }
    let (old_terms, new_terms) = (before.get("nodeSelectorTerms"), after.get("nodeSelectorTerms"));
    if !old_terms.is_empty() && old_terms.len() != new_terms.len() {
        errors.invalid(&new_terms, "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (old, new) in old_terms.items().zip(new_terms.items()) {
        let is_empty = old.get("matchExpressions").is_empty() && old.get("matchFields").is_empty();
        let extends = |list: &str| {
            let (old, new): (Vec<_>, Vec<_>) = (old.get(list).items().collect(), new.get(list).items().collect());
            old.len() <= new.len()
                && old.iter().zip(&new).all(|(old, new)| without_nulls(old.value) == without_nulls(new.value))
        };
        let unchanged = without_nulls(old.value) == without_nulls(new.value);
        if !unchanged && (is_empty || !extends("matchExpressions") || !extends("matchFields")) {
            errors.invalid(&new, "only additions are allowed (no mutations or deletions)");
        }
    }
}

/// Fields that are maps: an empty one is as good as none, while an empty object is something.
const MAPS: [&str; 5] = ["limits", "matchLabels", "nodeSelector", "overhead", "requests"];

/// A value without nulls, empty lists and empty maps, which the server takes for absent.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let is_empty =
                |key: &str, value: &Value| MAPS.contains(&key) && value.as_object().is_some_and(Map::is_empty);
            let kept = fields.iter().filter(|(key, value)| !is_empty(key, value));
            let kept = kept.map(|(key, value)| (key, without_nulls(value)));
            Value::Object(
                kept.filter(|(_, value)| !value.is_null())
                    .map(|(key, value)| (key.clone(), value))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => Value::Array(items.iter().map(without_nulls).collect()),
        other => other.clone(),
    }
}

/// An update of the status, metadata aside.
pub(super) fn check_status(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let annotations = [old, new].map(|pod| pod.at(&["metadata", "annotations"]));
    pod_annotations::check_update(&annotations[0], &annotations[1], errors);
    for condition in new.at(&["status", "conditions"]).items() {
        check_label_key(&condition.get("type"), errors);
    }
    let (before, after) = (old.get("status"), new.get("status"));
    let nominated = after.get("nominatedNodeName");
    if before.get("nominatedNodeName").text() != nominated.text()
        && !nominated.text().is_empty()
        && !names::is_dns_subdomain(nominated.text())
    {
        errors.invalid(&nominated, SUBDOMAIN);
    }
    if before.get("qosClass").is_given() && before.get("qosClass").text() != after.get("qosClass").text() {
        errors.invalid(&after.get("qosClass"), "field is immutable");
    }
    let policy = old.at(&["spec", "restartPolicy"]).text();
    for list in ["containerStatuses", "initContainerStatuses"] {
        for (index, stored) in before.get(list).items().enumerate() {
            let ended = stored.at(&["state", "terminated"]);
            let failed = ended.get("exitCode").int().unwrap_or(0) != 0;
            let may_restart = !["OnFailure", "Never"].contains(&policy) || (failed && policy == "OnFailure");
            if !ended.is_given() || may_restart || is_sidecar(old, stored.get("name").text()) {
                continue;
            }
            let same = |status: &Field<'_>| status.get("name").text() == stored.get("name").text();
            if after.get(list).items().any(|status| same(&status) && !status.at(&["state", "terminated"]).is_given()) {
                let path = format!("{}.{list}[{index}].state", after.path);
                errors
                    .forbidden(&Field { value: &Value::Null, path }, "may not be transitioned to non-terminated state");
            }
        }
    }
}

/// Whether a container restarts whatever the pod's policy says.
fn is_sidecar(pod: &Field<'_>, name: &str) -> bool {
    let lists = ["containers", "initContainers"].map(|list| pod.at(&["spec", list]));
    let mut containers = lists.iter().flat_map(|list| list.items());
    containers.any(|container| container.get("name").text() == name && container.get("restartPolicy").is_given())
}
