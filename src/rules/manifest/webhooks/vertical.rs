//! What the webhook of the vertical autoscaler refuses.
//!
//! Upstream: kubernetes/autoscaler vertical-pod-autoscaler/pkg/admission-controller/resource/vpa/handler.go, `ValidateVPA`,
//! master of 2026-08-22.

use crate::rules::manifest::{Errors, Field};
use crate::rules::quantity::Quantity;

/// Adds what is wrong with a VerticalPodAutoscaler's spec.
pub fn check(spec: &Field<'_>, errors: &mut Errors) {
    let policy = spec.get("updatePolicy");
    if policy.is_given() && !policy.get("updateMode").is_given() {
        errors.required(&policy.get("updateMode"), "if updatePolicy is used");
    }
    let replicas = policy.get("minReplicas");
    if replicas.int().is_some_and(|count| count <= 0) {
        errors.invalid(&replicas, "has to be positive");
    }
    for policy in spec.at(&["resourcePolicy", "containerPolicies"]).items() {
        check_container(&policy, errors);
    }
    let recommenders = spec.get("recommenders");
    if recommenders.len() > 1 {
        errors.too_many(&recommenders, recommenders.len(), 1);
    }
}

fn check_container(policy: &Field<'_>, errors: &mut Errors) {
    let name = policy.get("containerName");
    if name.text().is_empty() {
        errors.required(&name, "");
    }
    for bound in ["minAllowed", "maxAllowed"].map(|name| policy.get(name)) {
        for (resource, amount) in bound.entries() {
            check_precision(resource, &amount, errors);
        }
    }
    let least = policy.get("minAllowed");
    for (resource, most) in policy.get("maxAllowed").entries() {
        if let (Some(least), Some(amount)) = (quantity(&least.key(resource)), quantity(&most))
            && amount < least
        {
            errors.invalid(&most, "must not be below minAllowed");
        }
    }
    let values = policy.get("controlledValues");
    if policy.get("mode").text() == "Off" && values.is_given() {
        errors.forbidden(&values, "should not be specified if the container's mode is Off");
    }
}

/// CPU in whole thousandths, memory in whole bytes.
fn check_precision(resource: &str, amount: &Field<'_>, errors: &mut Errors) {
    let Some(quantity) = quantity(amount) else { return };
    match resource {
        "cpu" if quantity != Quantity::from_milli(quantity.milli_value()) => {
            errors.invalid(amount, "must be a whole number of milli CPUs");
        }
        "memory" if quantity.milli_value() % 1000 != 0 => errors.invalid(amount, "must be a whole number of bytes"),
        _ => {}
    }
}

fn quantity(field: &Field<'_>) -> Option<Quantity> {
    let text = if field.value.is_number() { field.value.to_string() } else { field.text().to_string() };
    Quantity::parse(&text).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(spec: Value) -> Vec<String> {
        let mut errors = Errors::default();
        check(&Field::root(&spec), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn bounds_of_containers() {
        let policy = |policy: Value| causes(json!({"resourcePolicy": {"containerPolicies": [policy]}}));
        let path = "resourcePolicy.containerPolicies[0]";
        let crossed =
            json!({"containerName": "*", "minAllowed": {"cpu": "2"}, "maxAllowed": {"cpu": 1, "memory": "1Gi"}});
        assert_eq!(policy(crossed), [format!("{path}.maxAllowed[cpu] Invalid")]);
        // A tenth of a milli CPU.
        let fine = json!({"containerName": "c", "minAllowed": {"cpu": "100u"}, "mode": "Off", "controlledValues": "RequestsOnly"});
        assert_eq!(
            policy(fine),
            [format!("{path}.minAllowed[cpu] Invalid"), format!("{path}.controlledValues Forbidden")]
        );
        assert_eq!(policy(json!({})), [format!("{path}.containerName Required")]);
    }

    #[test]
    fn the_rest() {
        let spec = json!({"updatePolicy": {"minReplicas": 0}, "recommenders": [{"name": "a"}, {"name": "b"}]});
        let expected = ["updatePolicy.updateMode Required", "updatePolicy.minReplicas Invalid", "recommenders TooMany"];
        assert_eq!(causes(spec), expected);
    }
}
