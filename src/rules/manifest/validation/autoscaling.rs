//! Rules of HorizontalPodAutoscalers; [`super::autoscaling_metrics`] has those of metrics.
//!
//! Upstream: pkg/apis/autoscaling/validation/validation.go, pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go,
//! v1.36. Scaling to zero is behind a feature gate that is off.

use super::super::{Errors, Field};
use super::{autoscaling_metrics, values};

const WINDOW_MAX_SECONDS: i64 = 3_600;
const PERIOD_MAX_SECONDS: i64 = 1_800;

/// Which groups the `apiVersion` of a reference may name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Group {
    /// One beside the core group.
    Named,
    /// Any, the core group as well.
    Any,
    /// Not looked at.
    Unchecked,
}

/// Adds what the server refuses.
pub fn check(root: &Field<'_>, errors: &mut Errors) {
    let group = match root.at(&["spec", "scaleTargetRef", "kind"]).text() {
        // The only scalable kind of the core group.
        "ReplicationController" => Group::Any,
        _ => Group::Named,
    };
    check_spec(root, 1, group, Group::Any, errors);
}

/// Adds what the server refuses in a change. What is stored already is not held against it: no replicas at least, a
/// target's version.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (old_ref, new_ref) = (old.at(&["spec", "scaleTargetRef"]), new.at(&["spec", "scaleTargetRef"]));
    let lowest = i64::from(old.at(&["spec", "minReplicas"]).int() != Some(0));
    let same = |name: &str| old_ref.get(name).text() == new_ref.get(name).text();
    let group = match new_ref.get("kind").text() {
        _ if same("apiVersion") && same("kind") => Group::Unchecked,
        "ReplicationController" => Group::Any,
        _ => Group::Named,
    };
    let is_bad = |metric: Field<'_>| bad_version(metric.at(&["object", "describedObject", "apiVersion"]).text());
    let had_bad = old.at(&["spec", "metrics"]).items().any(is_bad);
    check_spec(new, lowest, group, if had_bad { Group::Unchecked } else { Group::Any }, errors);
}

fn check_spec(root: &Field<'_>, lowest: i64, group: Group, metric_group: Group, errors: &mut Errors) {
    let spec = root.get("spec");
    let [min, max] = ["minReplicas", "maxReplicas"].map(|name| spec.get(name));
    if min.int().is_some_and(|replicas| replicas < lowest) {
        errors.invalid(&min, &format!("must be greater than or equal to {lowest}"));
    }
    if max.int().unwrap_or(0) == 0 {
        errors.required(&max, "");
    }
    if max.int().unwrap_or(0) < 1 {
        errors.invalid(&max, "must be greater than 0");
    }
    if let (Some(least), Some(most)) = (min.int(), max.int())
        && most < least
    {
        errors.invalid(&max, "must be greater than or equal to `minReplicas`");
    }
    check_reference(&spec.get("scaleTargetRef"), group, errors);
    autoscaling_metrics::check(&spec, metric_group, errors);
    check_first_version(&spec, errors);
    for direction in ["scaleUp", "scaleDown"] {
        check_rules(&spec.at(&["behavior", direction]), errors);
    }
}

/// `autoscaling/v1` has one target, which the server knows as a metric.
fn check_first_version(spec: &Field<'_>, errors: &mut Errors) {
    let target = spec.get("targetCPUUtilizationPercentage");
    if target.int().is_some_and(|percent| percent < 1) {
        let path = "spec.metrics[0].resource.target.averageUtilization".to_string();
        errors.invalid(&Field { value: target.value, path }, "must be greater than 0");
    }
}

/// The kind, name and version of another object.
pub fn check_reference(reference: &Field<'_>, group: Group, errors: &mut Errors) {
    for name in ["kind", "name"] {
        check_segment(&reference.get(name), "", errors);
    }
    let version = reference.get("apiVersion");
    if group == Group::Unchecked {
    } else if bad_version(version.text()) {
        errors.invalid(&version, "must be a version, or a group, a slash and a version");
    } else if group == Group::Named && version.text().split_once('/').is_none_or(|(group, _)| group.is_empty()) {
        errors.invalid(&version, "apiVersion must specify an API group");
    }
}

/// A name that must be given and may stand in a path.
pub fn check_segment(field: &Field<'_>, message_of_missing: &str, errors: &mut Errors) {
    if field.text().is_empty() {
        errors.required(field, message_of_missing);
    } else if !values::is_path_segment(field.text()) {
        errors.invalid(field, values::PATH_SEGMENT);
    }
}

fn bad_version(version: &str) -> bool {
    version.matches('/').count() > 1
}

fn check_rules(rules: &Field<'_>, errors: &mut Errors) {
    if !rules.is_given() {
        return;
    }
    let window = rules.get("stabilizationWindowSeconds");
    errors.not_negative(&window);
    if window.int().is_some_and(|seconds| seconds > WINDOW_MAX_SECONDS) {
        errors.invalid(&window, "must be less than or equal to 3600");
    }
    values::check_given_word(&rules.get("selectPolicy"), &["Disabled", "Max", "Min"], errors);
    let policies = rules.get("policies");
    if policies.is_empty() {
        errors.required(&policies, "must specify at least one Policy");
    }
    for policy in policies.items() {
        values::check_word(&policy.get("type"), &["Percent", "Pods"], errors);
        let period = policy.get("periodSeconds");
        for number in [&policy.get("value"), &period] {
            if number.int().unwrap_or(0) <= 0 {
                errors.invalid(number, "must be greater than zero");
            }
        }
        if period.int().is_some_and(|seconds| seconds > PERIOD_MAX_SECONDS) {
            errors.invalid(&period, "must be less than or equal to 1800");
        }
    }
    let tolerance = rules.get("tolerance");
    if values::quantity(&tolerance).is_some_and(|tolerance| tolerance.is_negative()) {
        errors.invalid(&tolerance, "must be greater than or equal to 0");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn hpa(extra: Value) -> Value {
        let mut hpa = json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "minReplicas": 1, "maxReplicas": 10}});
        for (key, value) in extra.as_object().into_iter().flatten() {
            hpa["spec"][key] = value.clone();
        }
        hpa
    }

    fn listed(errors: Errors) -> Vec<String> {
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    fn causes(extra: Value) -> Vec<String> {
        let hpa = hpa(extra);
        let mut errors = Errors::default();
        check(&Field::root(&hpa), &mut errors);
        listed(errors)
    }

    #[test]
    fn replicas() {
        assert!(causes(json!({})).is_empty());
        let missing = causes(json!({"maxReplicas": null, "minReplicas": null}));
        assert_eq!(missing, ["spec.maxReplicas Required", "spec.maxReplicas Invalid"]);
        assert_eq!(causes(json!({"minReplicas": 11})), ["spec.maxReplicas Invalid"]);
        let mut errors = Errors::default();
        let external = json!([{"type": "External", "external": {"metric": {"name": "x"}, "target": {"type": "Value",
            "value": "5"}}}]);
        let stored = hpa(json!({"minReplicas": 0, "metrics": external}));
        check_update(&Field::root(&stored), &Field::root(&stored), &mut errors);
        assert!(errors.is_empty(), "what is stored stays: {errors:?}");
    }

    #[test]
    fn versions_of_targets() {
        for (version, kind, accepted) in [
            ("apps/v1", "Deployment", true),
            ("v1", "Deployment", false),
            // schema.ParseGroupVersion: nothing before the slash is no group.
            ("/v1", "Deployment", false),
            ("", "Deployment", false),
            ("v1", "ReplicationController", true),
            ("", "ReplicationController", true),
            ("a/b/c", "ReplicationController", false),
        ] {
            let reference = json!({"apiVersion": version, "kind": kind, "name": "d"});
            let changed = json!({"scaleTargetRef": reference});
            assert_eq!(causes(changed.clone()).is_empty(), accepted, "{version} {kind}");
            let stored = hpa(changed);
            let mut errors = Errors::default();
            check_update(&Field::root(&stored), &Field::root(&stored), &mut errors);
            assert!(errors.is_empty(), "{version} {kind} is stored already");
        }
        let slash = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "A/b", "name": ".."}});
        assert_eq!(causes(slash), ["spec.scaleTargetRef.kind Invalid", "spec.scaleTargetRef.name Invalid"]);
    }

    #[test]
    fn rules_of_scaling() {
        let rules = |rules: Value| causes(json!({"behavior": {"scaleUp": rules}}));
        let path =
            |names: &[&str]| names.iter().map(|name| format!("spec.behavior.scaleUp.{name}")).collect::<Vec<_>>();
        assert_eq!(
            rules(json!({"stabilizationWindowSeconds": -1})),
            path(&["stabilizationWindowSeconds Invalid", "policies Required"])
        );
        let policy = json!({"policies": [{"type": "Pod", "value": 0}]});
        let expected =
            ["policies[0].type NotSupported", "policies[0].value Invalid", "policies[0].periodSeconds Invalid"];
        assert_eq!(rules(policy), path(&expected));
    }
}
