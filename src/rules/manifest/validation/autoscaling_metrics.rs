//! Rules of an autoscaler's metrics.
//!
//! Upstream: pkg/apis/autoscaling/validation/validation.go, `validateMetrics`, v1.36.

use super::super::{Errors, Field};
use super::autoscaling::{Group, check_reference, check_segment};
use super::{selector, values};

/// Types of metrics with the fields that hold them, in the order in which the server looks at the fields.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
/// The types as messages list them.
const TYPES: [&str; 5] = ["ContainerResource", "External", "Object", "Pods", "Resource"];

/// Adds what is wrong with the metrics of a spec. `described` is what an Object metric's object may be of.
pub fn check(spec: &Field<'_>, described: Group, errors: &mut Errors) {
    let metrics = spec.get("metrics");
    for metric in metrics.items() {
        check_metric(&metric, described, errors);
    }
    let reaches_zero = metrics.items().any(|metric| matches!(metric.get("type").text(), "Object" | "External"));
    if spec.get("minReplicas").int() == Some(0) && !reaches_zero {
        let detail = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.forbidden(&metrics, detail);
    }
}

fn check_metric(metric: &Field<'_>, described: Group, errors: &mut Errors) {
    let kind = metric.get("type");
    if kind.text().is_empty() {
        errors.required(&kind, "must specify a metric source type");
    }
    values::check_word(&kind, &TYPES, errors);
    let given: Vec<&str> = SOURCES.iter().map(|(_, name)| *name).filter(|name| metric.get(name).is_given()).collect();
    // Only the first of several is looked at.
    if let Some(first) = given.first() {
        check_source(first, &metric.get(first), described, errors);
    }
    let expected = SOURCES.iter().find(|(word, _)| *word == kind.text()).map(|(_, name)| *name);
    if let Some(name) = expected.filter(|name| !given.contains(name)) {
        errors.required(&metric.get(name), "must populate information for the given metric source");
    }
    if given.len() != 1 {
        for other in given.iter().filter(|name| Some(**name) != expected) {
            errors.forbidden(&metric.get(other), "must populate the given metric source only");
        }
    }
}

fn check_source(name: &str, source: &Field<'_>, described: Group, errors: &mut Errors) {
    let target = source.get("target");
    let [value, average, utilization] = ["value", "averageValue", "averageUtilization"].map(|name| target.get(name));
    match name {
        "resource" | "containerResource" => {
            let resource = source.get("name");
            if resource.text().is_empty() {
                errors.required(&resource, "must specify a resource name");
            }
            let container = source.get("container");
            if name == "containerResource" && container.text().is_empty() {
                errors.required(&container, "must specify a container");
            }
        }
        "object" => {
            check_reference(&source.get("describedObject"), described, errors);
            check_identifier(&source.get("metric"), errors);
        }
        _ => check_identifier(&source.get("metric"), errors),
    }
    check_target(&target, errors);
    match name {
        "resource" | "containerResource" => {
            if !utilization.is_given() && !average.is_given() {
                errors.required(&utilization, "must set either a target raw value or a target utilization");
            }
            if utilization.is_given() && average.is_given() {
                errors.forbidden(&average, "may not set both a target raw value and a target utilization");
            }
        }
        "pods" if !average.is_given() => errors.required(&average, "must specify a positive target averageValue"),
        "pods" => {}
        _ if !value.is_given() && !average.is_given() => {
            errors.required(&average, "must set either a target value or a target averageValue");
        }
        "external" if value.is_given() && average.is_given() => {
            errors.forbidden(&value, "may not set both a target value for the metric and a per-pod target");
        }
        _ => {}
    }
}

fn check_identifier(metric: &Field<'_>, errors: &mut Errors) {
    check_segment(&metric.get("name"), "must specify a metric name", errors);
    selector::check_selector(&metric.get("selector"), errors);
}

fn check_target(target: &Field<'_>, errors: &mut Errors) {
    let kind = target.get("type");
    if kind.text().is_empty() {
        errors.required(&kind, "must specify a metric target type");
    }
    if !["Utilization", "Value", "AverageValue"].contains(&kind.text()) {
        errors.invalid(&kind, "must be either Utilization, Value, or AverageValue");
    }
    for name in ["value", "averageValue"] {
        let field = target.get(name);
        if values::quantity(&field).is_some_and(|quantity| quantity.is_negative() || quantity.is_zero()) {
            errors.invalid(&field, "must be positive");
        }
    }
    let utilization = target.get("averageUtilization");
    if utilization.int().is_some_and(|percent| percent < 1) {
        errors.invalid(&utilization, "must be greater than 0");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(metric: Value) -> Vec<String> {
        let spec = json!({"metrics": [metric]});
        let mut errors = Errors::default();
        check(&Field::root(&spec), Group::Any, &mut errors);
        let list = errors.into_list();
        list.into_iter().map(|error| format!("{} {}", &error.path[11..], error.reason.as_str())).collect()
    }

    #[test]
    fn sources_fit_their_type() {
        let pods = json!({"metric": {"name": "x"}, "target": {"type": "AverageValue", "averageValue": "1"}});
        assert_eq!(causes(json!({"type": "Pods"})), ["pods Required"]);
        assert_eq!(causes(json!({"type": "External", "pods": pods})), ["external Required"]);
        assert_eq!(causes(json!({"pods": pods})), ["type Required", "type NotSupported"]);
        assert_eq!(causes(json!({"type": "Pods", "pods": pods, "object": {}}))[6..], ["object Forbidden"]);
    }

    #[test]
    fn each_source_has_its_rules() {
        for (kind, name, source, expected) in [
            (
                "Object",
                "object",
                json!({"describedObject": {"kind": "K", "name": "n"}, "metric": {"name": "a/b"},
                "target": {"type": "Value", "value": "0"}}),
                vec!["object.metric.name Invalid", "object.target.value Invalid"],
            ),
            (
                "External",
                "external",
                json!({"metric": {}, "target": {"type": "v", "value": "1"}}),
                vec!["external.metric.name Required", "external.target.type Invalid"],
            ),
            (
                "ContainerResource",
                "containerResource",
                json!({"name": "cpu", "container": "c",
                "target": {"type": "Utilization", "averageUtilization": 0, "averageValue": "1"}}),
                vec![
                    "containerResource.target.averageUtilization Invalid",
                    "containerResource.target.averageValue Forbidden",
                ],
            ),
        ] {
            assert_eq!(causes(json!({"type": kind, name: source})), expected, "{kind}");
        }
    }
}
