//! Services, disruption budgets and priority classes: their manifests, with the status we hold.

use serde_json::{Map, Value, json};

use super::{conditions, spec_of};
use crate::model::{PodDisruptionBudget, PriorityClass, Service};
use crate::rules::timestamp::format_seconds;

/// A Service.
pub fn service(service: &Service) -> Value {
    json!({"spec": spec_of(&service.source), "status": {"loadBalancer": {}}})
}

/// A disruption budget.
pub fn disruption_budget(budget: &PodDisruptionBudget) -> Value {
    let of = &budget.status;
    let mut status = json!({
        "disruptionsAllowed": of.disruptions_allowed,
        "currentHealthy": of.current_healthy,
        "desiredHealthy": of.desired_healthy,
        "expectedPods": of.expected_pods,
    });
    if of.observed_generation > 0 {
        status["observedGeneration"] = json!(of.observed_generation);
    }
    if !of.disrupted_pods.is_empty() {
        let pods = of.disrupted_pods.iter().map(|(pod, time)| (pod.to_string(), json!(format_seconds(*time))));
        status["disruptedPods"] = Value::Object(pods.collect::<Map<_, _>>());
    }
    if !of.conditions.is_empty() {
        status["conditions"] = conditions(&of.conditions);
    }
    json!({"spec": spec_of(&budget.source), "status": status})
}

/// A priority class: all its fields stand beside the metadata.
pub fn priority_class(class: &PriorityClass) -> Value {
    class.source.as_ref().map_or_else(|| json!({"value": class.value}), |source| (**source).clone())
}
