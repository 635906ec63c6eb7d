//! LimitRanges of a namespace: what they fill in, and what they refuse.
//!
//! Upstream: plugin/pkg/admission/limitranger/admission.go, v1.36.

use std::cmp::Ordering;

use serde_json::{Map, Value, json};

use super::Surroundings;
use crate::rules::codec::json::{object_at, objects_mut};
use crate::rules::manifest::{Errors, Field};
use crate::rules::quantity::Quantity;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Items of a type in the LimitRanges of the object's namespace, range by range.
fn ranges<'a>(around: &'a Surroundings, root: &Field<'_>, item_type: &str) -> Vec<Vec<Field<'a>>> {
    let namespace = root.at(&["metadata", "namespace"]);
    let is_here = |range: &Field<'_>| range.at(&["metadata", "namespace"]).text() == namespace.text();
    let items = |range: Field<'a>| -> Vec<Field<'a>> {
        range.at(&["spec", "limits"]).items().filter(|item| item.get("type").text() == item_type).collect()
    };
    around.of("LimitRange").filter(is_here).map(items).collect()
}

/// Fills in the limits and requests that containers lack, and says so in an annotation.
pub fn fill_in(pod: &mut Value, around: &Surroundings) {
    let given = pod.clone();
    for range in ranges(around, &Field::root(&given), "Container") {
        let defaults = |name: &str| -> Map<String, Value> {
            let entries = range.iter().flat_map(|item| item.get(name).entries().collect::<Vec<_>>());
            entries.map(|(resource, amount)| (resource.to_string(), amount.value.clone())).collect()
        };
        let (limits, requests) = (defaults("default"), defaults("defaultRequest"));
        let mut said = Vec::new();
        let Some(spec) = object_at(pod, &["spec"]) else { return };
        for (list, what) in [("containers", "container"), ("initContainers", "init container")] {
            for container in objects_mut(spec, list) {
                let name = container.get("name").and_then(Value::as_str).unwrap_or_default().to_string();
                let Some(resources) = container.entry("resources").or_insert_with(|| json!({})).as_object_mut() else {
                    continue;
                };
                for (field, defaults, word) in [("requests", &requests, "request"), ("limits", &limits, "limit")] {
                    let set = merge(resources, field, defaults);
                    if !set.is_empty() {
                        said.push(format!("{} {word} for {what} {name}", set.join(", ")));
                    }
                }
            }
        }
        if let (false, Some(annotations)) = (said.is_empty(), object_at(pod, &["metadata", "annotations"])) {
            annotations.insert(ANNOTATION.into(), json!(format!("LimitRanger plugin set: {}", said.join("; "))));
        }
    }
}

/// Adds the defaults whose keys are missing; their names in order.
fn merge(resources: &mut Map<String, Value>, field: &str, defaults: &Map<String, Value>) -> Vec<String> {
    if defaults.is_empty() {
        return Vec::new();
    }
    let Some(list) = resources.entry(field).or_insert_with(|| json!({})).as_object_mut() else { return Vec::new() };
    let missing = defaults.iter().filter(|(name, _)| !list.contains_key(*name));
    let missing: Vec<(String, Value)> = missing.map(|(name, amount)| (name.clone(), amount.clone())).collect();
    let mut names: Vec<String> = missing.iter().map(|(name, _)| name.clone()).collect();
    list.extend(missing);
    names.sort();
    names
}

/// Adds every way in which a pod breaks a LimitRange.
pub fn check_pod(root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    let spec = root.get("spec");
    for item in ranges(around, root, "Container").iter().flatten() {
        for container in spec.get("containers").items().chain(spec.get("initContainers").items()) {
            let resources = container.get("resources");
            let usage = |list: &str, resource: &str| amount(&resources.get(list).key(resource));
            check_item(item, &resources, &usage, errors);
        }
    }
    for item in ranges(around, root, "Pod").iter().flatten() {
        check_item(item, &spec, &|list, resource| together(&spec, list, resource), errors);
    }
}

/// Adds every way in which a claim breaks a LimitRange.
pub fn check_claim(root: &Field<'_>, around: &Surroundings, errors: &mut Errors) {
    let requests = root.at(&["spec", "resources", "requests"]);
    for item in ranges(around, root, "PersistentVolumeClaim").iter().flatten() {
        for (bound, beyond, word) in [("min", Ordering::Less, "minimum"), ("max", Ordering::Greater, "maximum")] {
            for (resource, limit) in item.get(bound).entries() {
                let asked = requests.key(resource);
                let is_beyond =
                    amount(&limit).zip(amount(&asked)).is_some_and(|(limit, asked)| asked.cmp(&limit) == beyond);
                if is_beyond {
                    let detail = format!("{word} {resource} usage per PersistentVolumeClaim is {}", limit.text());
                    errors.forbidden(&asked, &format!("{detail}, but request is {}", asked.text()));
                }
            }
        }
    }
}

fn amount(field: &Field<'_>) -> Option<Quantity> {
    Quantity::parse(field.value.as_str()?).ok()
}

/// What a pod asks for as a whole: the containers' sum, or an init container if that is more. `None` when nothing names it.
fn together(spec: &Field<'_>, list: &str, resource: &str) -> Option<Quantity> {
    let of = |container: &Field<'_>| amount(&container.at(&["resources", list]).key(resource));
    let containers: Vec<Quantity> = spec.get("containers").items().filter_map(|one| of(&one)).collect();
    let peak = spec.get("initContainers").items().filter_map(|one| of(&one)).max();
    let sum = containers.iter().fold(0_i64, |sum, one| sum.saturating_add(one.milli_value()));
    match peak {
        None if containers.is_empty() => None,
        Some(peak) if peak.milli_value() > sum => Some(peak),
        _ => Some(Quantity::from_milli(sum)),
    }
}

/// `usage` gives the amount of a resource in `requests` or `limits`.
fn check_item(
    item: &Field<'_>,
    resources: &Field<'_>,
    usage: &dyn Fn(&str, &str) -> Option<Quantity>,
    errors: &mut Errors,
) {
    let kind = item.get("type").text();
    let mut refuse = |list: &str, resource: &str, detail: String| {
        errors.forbidden(&resources.get(list).key(resource), &detail);
    };
    for (resource, bound) in item.get("min").entries() {
        let said = format!("minimum {resource} usage per {kind} is {}", bound.text());
        let Some(least) = amount(&bound) else { continue };
        match usage("requests", resource) {
            None => refuse("requests", resource, format!("{said}. No request is specified")),
            Some(asked) if asked < least => refuse("requests", resource, format!("{said}, but request is {asked}")),
            Some(_) => {}
        }
        if let Some(limit) = usage("limits", resource).filter(|limit| *limit < least) {
            refuse("limits", resource, format!("{said}, but limit is {limit}"));
        }
    }
    for (resource, bound) in item.get("max").entries() {
        let said = format!("maximum {resource} usage per {kind} is {}", bound.text());
        let Some(most) = amount(&bound) else { continue };
        match usage("limits", resource) {
            None => refuse("limits", resource, format!("{said}. No limit is specified")),
            Some(limit) if limit > most => refuse("limits", resource, format!("{said}, but limit is {limit}")),
            Some(_) => {}
        }
        if let Some(asked) = usage("requests", resource).filter(|asked| *asked > most) {
            refuse("requests", resource, format!("{said}, but request is {asked}"));
        }
    }
    for (resource, bound) in item.get("maxLimitRequestRatio").entries() {
        let said = format!("{resource} max limit to request ratio per {kind} is {}", bound.text());
        let positive = |list: &str| usage(list, resource).filter(|amount| !amount.is_zero());
        match (positive("requests"), positive("limits")) {
            (None, _) => refuse("requests", resource, format!("{said}, but no request is specified or request is 0")),
            (_, None) => refuse("limits", resource, format!("{said}, but no limit is specified or limit is 0")),
            (Some(asked), Some(limit)) => {
                let most = amount(&bound).map_or(i64::MAX, |ratio| ratio.milli_value());
                // limit / asked > most, without a division.
                let (limit, asked) = (i128::from(limit.milli_value()), i128::from(asked.milli_value()));
                if limit * 1000 > asked * i128::from(most) {
                    refuse("limits", resource, format!("{said}, but limit and request are further apart"));
                }
            }
        }
    }
}
