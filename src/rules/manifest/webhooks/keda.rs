//! What KEDA's webhook refuses in a ScaledObject.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/{scaledobject_webhook,scaledobject_types}.go, main of 2026-08-20.

use serde_json::Value;

use super::{kind_of, name_of, namespace_of, triggers};
use crate::rules::expression::{Dialect, Expression};
use crate::rules::manifest::{Errors, Field, ManifestKind};

const OWNERSHIP_UNCHECKED: &str = "validations.keda.sh/hpa-ownership";
const OWNERSHIP_TRANSFERRED: &str = "scaledobject.keda.sh/transfer-hpa-ownership";

/// Adds what is wrong with the spec of one ScaledObject.
pub fn check_scaled_object(spec: &Field<'_>, errors: &mut Errors) {
    check_counts(spec, errors);
    check_fallback(spec, errors);
    check_modifiers(spec, errors);
    triggers::check(&spec.get("triggers"), errors);
}

/// A trigger that goes by what pods use.
fn is_of_use(trigger: &Field<'_>) -> bool {
    matches!(trigger.get("type").text(), "cpu" | "memory")
}

/// Idle is below the least count, and that counts as one when it is zero.
fn check_counts(spec: &Field<'_>, errors: &mut Errors) {
    let idle = spec.get("idleReplicaCount");
    let min = spec.get("minReplicaCount").int().map_or(0, |min| min.max(1));
    if idle.int().is_some_and(|count| count >= min) {
        errors.invalid(&idle, &format!("must be less than minReplicaCount ({min})"));
    }
}

fn check_fallback(spec: &Field<'_>, errors: &mut Errors) {
    let fallback = spec.get("fallback");
    if !fallback.is_given() {
        return;
    }
    let modifiers = spec.at(&["advanced", "scalingModifiers"]);
    if !modifiers.is_empty() {
        if modifiers.get("metricType").text() == "Value" {
            errors.invalid(&modifiers.get("metricType"), "must be AverageValue to have a fallback");
        }
        return;
    }
    let can_fall_back =
        |trigger: Field<'_>| !is_of_use(&trigger) && matches!(trigger.get("metricType").text(), "" | "AverageValue");
    if !spec.get("triggers").items().any(can_fall_back) {
        let detail = "at least one trigger (that is not cpu or memory) has to have the AverageValue type";
        errors.invalid(&fallback, detail);
    }
}

fn check_modifiers(spec: &Field<'_>, errors: &mut Errors) {
    let modifiers = spec.at(&["advanced", "scalingModifiers"]);
    if modifiers.is_empty() {
        return;
    }
    for field in ["formula", "target"].map(|name| modifiers.get(name)) {
        if field.text().is_empty() {
            errors.required(&field, "a formula and its target belong together");
        }
    }
    check_formula(spec, &modifiers.get("formula"), errors);
    let target = modifiers.get("target");
    let number = target.text().parse::<f64>();
    if !target.text().is_empty() && !number.is_ok_and(|number| number > 0.0) {
        errors.invalid(&target, "must be a number greater than 0");
    }
}

/// A formula goes by the names of triggers, other than those that go by what pods use.
fn check_formula(spec: &Field<'_>, formula: &Field<'_>, errors: &mut Errors) {
    let triggers: Vec<Field<'_>> = spec.get("triggers").items().filter(|trigger| !is_of_use(trigger)).collect();
    let names: Vec<Field<'_>> = triggers.iter().map(|trigger| trigger.get("name")).collect();
    let names: Vec<&str> = names.iter().map(Field::text).filter(|name| !name.is_empty()).collect();
    if formula.text().is_empty() {
        return;
    }
    if let Err(error) = Expression::parse(formula.text(), &names, Dialect::Formula) {
        let help = error.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        errors.invalid(formula, &format!("{error}{help}"));
    }
}

/// Adds what is wrong with a ScaledObject beside `all` objects; of other ScaledObjects only the `earlier` ones count.
pub fn check_beside(scaled: &Value, earlier: &[&Value], all: &[&Value], errors: &mut Errors) {
    let reference = Field::root(scaled).at(&["spec", "scaleTargetRef"]);
    let target = target_of(scaled);
    let is_here = |object: &Value| namespace_of(object) == namespace_of(scaled);
    let is_other = |object: &Value| {
        kind_of(object) == Some(ManifestKind::ScaledObject) && name_of(object) != name_of(scaled) && is_here(object)
    };
    for other in earlier.iter().filter(|object| is_other(object) && target_of(object) == target) {
        let detail = format!("the workload is already managed by the ScaledObject '{}'", name_of(other));
        errors.invalid(&reference, &detail);
    }
    let is_hpa = |object: &Value| {
        let kinds = [ManifestKind::HorizontalPodAutoscaler, ManifestKind::HorizontalPodAutoscalerV1];
        kind_of(object).is_some_and(|kind| kinds.contains(&kind)) && is_here(object)
    };
    for hpa in all.iter().filter(|object| is_hpa(object) && target_of(object) == target) {
        if !may_share(scaled, hpa) {
            errors.invalid(&reference, &format!("the workload is already managed by the hpa '{}'", name_of(hpa)));
        }
    }
    let is_target = |object: &Value| {
        let word = |name: &str| object[name].as_str().unwrap_or_default();
        let named = (word("apiVersion"), word("kind"), name_of(object));
        named == target && is_here(object) && object["spec"]["template"].is_object()
    };
    if let Some(workload) = all.iter().find(|object| is_target(object)) {
        let is_range = |object: &Value| kind_of(object) == Some(ManifestKind::LimitRange) && is_here(object);
        let ranges: Vec<&Value> = all.iter().copied().filter(|object| is_range(object)).collect();
        check_requests(scaled, workload, &ranges, errors);
        check_least(scaled, errors);
    }
}

/// apiVersion, kind and name of what is scaled: a Deployment unless said.
fn target_of(scaler: &Value) -> (&str, &str, &str) {
    let reference = &scaler["spec"]["scaleTargetRef"];
    let word = |name: &str| reference[name].as_str().filter(|word| !word.is_empty());
    let version = word("apiVersion").unwrap_or("apps/v1");
    (version, word("kind").unwrap_or("Deployment"), word("name").unwrap_or_default())
}

/// Whether an autoscaler on the same target is the ScaledObject's own, is to become it, or is not to be looked at.
fn may_share(scaled: &Value, hpa: &Value) -> bool {
    let is_owner = |owner: &Value| owner["kind"] == "ScaledObject" && owner["name"] == scaled["metadata"]["name"];
    let owned = hpa["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(is_owner);
    let config = &scaled["spec"]["advanced"]["horizontalPodAutoscalerConfig"];
    let taken_over =
        scaled["metadata"]["annotations"][OWNERSHIP_TRANSFERRED] == "true" && config["name"] == hpa["metadata"]["name"];
    owned || taken_over || hpa["metadata"]["annotations"][OWNERSHIP_UNCHECKED] == "false"
}

/// What pods use says nothing when there are none, so that triggers that go by it alone never wake a workload up. Like
/// upstream this is looked at when the workload is there.
fn check_least(scaled: &Value, errors: &mut Errors) {
    let spec = Field::root(scaled).get("spec");
    let (list, min) = (spec.get("triggers"), spec.get("minReplicaCount"));
    if list.is_empty() || !list.items().all(|trigger| is_of_use(&trigger)) || min.int().unwrap_or(0) > 0 {
        return;
    }
    let detail = "scaling to zero does not work with cpu and memory triggers alone; set it to at least 1";
    match min.is_given() {
        true => errors.invalid(&min, detail),
        false => errors.required(&min, detail),
    }
}

/// Containers request what their count goes by, or get it from a LimitRange.
fn check_requests(scaled: &Value, workload: &Value, ranges: &[&Value], errors: &mut Errors) {
    let root = Field::root(scaled);
    for trigger in root.at(&["spec", "triggers"]).items().filter(is_of_use) {
        let resource = trigger.get("type").text();
        let filled_in = ranges.iter().any(|range| {
            let limits = range["spec"]["limits"].as_array().into_iter().flatten();
            limits.into_iter().any(|limit| limit["type"] == "Container" && !limit["default"][resource].is_null())
        });
        let only = trigger.at(&["metadata", "containerName"]).text();
        let containers = workload["spec"]["template"]["spec"]["containers"].as_array().into_iter().flatten();
        for container in containers.filter(|container| only.is_empty() || container["name"] == only) {
            let resources = &container["resources"];
            let is_set = ["requests", "limits"].iter().any(|part| !resources[*part][resource].is_null());
            if !is_set && !filled_in {
                let name = container["name"].as_str().unwrap_or_default();
                errors.invalid(&trigger, &format!("the container {name} does not have the {resource} request defined"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn causes(extra: Value) -> Vec<String> {
        let mut spec = json!({"triggers": [{"type": "prometheus", "metadata": {}}]});
        for (key, value) in extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let mut errors = Errors::default();
        check_scaled_object(&Field::root(&spec), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn idle_is_below_the_least_count() {
        for (idle, min, refused) in [
            (0, json!(1), false),
            (1, json!(1), true),
            // A least count of zero counts as one, an absent one as zero.
            (0, json!(0), false),
            (0, json!(null), true),
        ] {
            let found = causes(json!({"idleReplicaCount": idle, "minReplicaCount": min}));
            assert_eq!(found == ["idleReplicaCount Invalid"], refused, "{idle} {min}");
        }
    }

    #[test]
    fn fallbacks_need_an_average() {
        let fallback = json!({"failureThreshold": 3, "replicas": 1});
        assert!(causes(json!({"fallback": fallback})).is_empty());
        let triggers = json!([{"type": "prometheus", "metadata": {}, "metricType": "Value"}]);
        assert_eq!(causes(json!({"fallback": fallback, "triggers": triggers})), ["fallback Invalid"]);
        let modified = json!({"scalingModifiers": {"formula": "1", "target": "x", "metricType": "Value"}});
        let expected = ["advanced.scalingModifiers.metricType Invalid", "advanced.scalingModifiers.target Invalid"];
        assert_eq!(causes(json!({"fallback": fallback, "advanced": modified})), expected);
    }

    #[test]
    fn formulas_name_triggers() {
        let triggers = json!([
            {"type": "prometheus", "name": "rate", "metadata": {}},
            {"type": "cpu", "name": "load", "metadata": {"type": "Utilization", "value": "50"}},
        ]);
        for (formula, refused) in [("rate / 2", false), ("rat / 2", true), ("rate > 2", true), ("rate + load", true)] {
            let modifiers = json!({"scalingModifiers": {"formula": formula, "target": "1"}});
            let found = causes(json!({"advanced": modifiers, "triggers": triggers}));
            assert_eq!(found == ["advanced.scalingModifiers.formula Invalid"], refused, "{formula} {found:?}");
        }
    }
}
