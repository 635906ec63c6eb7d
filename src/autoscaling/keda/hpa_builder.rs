//! The HorizontalPodAutoscaler that KEDA builds under a ScaledObject.
//!
//! It is written as a manifest, so that it goes through the API server like one that a person wrote.
//!
//! Upstream: kedacore/keda controllers/keda/hpa.go.

use serde_json::{Map, Value, json};

use super::annotations::Annotations;
use super::fallback::MetricTarget;
use super::scaled_object::{MetricType, ScaledObject};
use crate::rules::quantity::Quantity;

/// The name of the metric that a formula gives.
pub const COMPOSITE_METRIC: &str = "composite-metric";
/// The label by which KEDA's metrics server knows whose metric is asked for.
pub const OBJECT_LABEL: &str = "scaledobject.keda.sh/name";
/// Labels and names of objects made here have at most so many characters.
const LONGEST_NAME: usize = 63;

/// A metric of the HPA.
#[derive(Clone, PartialEq, Debug)]
pub enum HpaMetric {
    /// Asked from KEDA.
    External {
        /// Its name, as in `s0-rabbitmq-orders`.
        name: String,
        /// What the HPA is to reach.
        target: MetricTarget,
    },
    /// What pods use.
    Use {
        /// `cpu` or `memory`.
        resource: String,
        /// Of this container only.
        container: Option<String>,
        /// What the HPA is to reach.
        target: UseTarget,
    },
}

/// A target of what pods use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UseTarget {
    /// Percent of the request.
    Utilization(i32),
    /// An amount a pod, as written.
    AverageValue(String),
}

/// The name of the HPA of a ScaledObject.
pub fn hpa_name(object: &ScaledObject, name: &str) -> String {
    object.hpa_name.clone().unwrap_or_else(|| shortened(&format!("keda-hpa-{name}")))
}

/// At most 63 characters, and no separator at the end.
fn shortened(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_NAME).collect();
    match short.len() < text.len() {
        true => short.trim_end_matches(['-', '.', '_']).to_string(),
        false => short,
    }
}

/// The `spec` of the HPA of the ScaledObject `name`. `metrics` are those of its triggers; with scaling modifiers the external
/// ones give way to one composite metric.
pub fn hpa_spec(object: &ScaledObject, name: &str, annotations: &Annotations, metrics: &[HpaMetric]) -> Value {
    let mut listed: Vec<(&str, Value)> = Vec::new();
    for metric in metrics {
        match metric {
            HpaMetric::External { .. } if object.modifiers.is_some() => {}
            HpaMetric::External { name: metric_name, target } => {
                listed.push(("External", external(metric_name, name, *target)));
            }
            HpaMetric::Use { resource, container, target } => {
                listed.push(by_use(resource, container.as_deref(), target));
            }
        }
    }
    if let Some(modifiers) = &object.modifiers {
        let target = MetricTarget { value: modifiers.target, metric_type: modifiers.metric_type };
        listed.push(("External", external(COMPOSITE_METRIC, name, target)));
    }
    // By type, so that the order of triggers of different kinds does not matter.
    listed.sort_by_key(|(kind, _)| *kind);
    let mut spec = json!({
        "scaleTargetRef": {
            "apiVersion": object.target.api_version,
            "kind": object.target.kind,
            "name": object.target.name,
        },
        "minReplicas": object.min_replicas().max(1),
        "maxReplicas": object.max_replicas,
        "metrics": listed.into_iter().map(|(_, metric)| metric).collect::<Vec<_>>(),
    });
    if let Some(behavior) = behavior(object, annotations) {
        spec["behavior"] = behavior;
    }
    spec
}

/// The whole HPA. `labels` are those of the ScaledObject, which it takes over.
pub fn hpa_manifest(
    object: &ScaledObject,
    (namespace, name): (&str, &str),
    labels: &[(&str, &str)],
    annotations: &Annotations,
    metrics: &[HpaMetric],
) -> Value {
    let hpa_name = hpa_name(object, name);
    let mut all = Map::new();
    for (key, value) in [
        ("app.kubernetes.io/name", hpa_name.as_str()),
        ("app.kubernetes.io/part-of", &shortened(name)),
        ("app.kubernetes.io/managed-by", "keda-operator"),
        (OBJECT_LABEL, &shortened(name)),
    ]
    .iter()
    .chain(labels)
    {
        all.insert((*key).to_string(), json!(value));
    }
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": hpa_name, "namespace": namespace, "labels": all},
        "spec": hpa_spec(object, name, annotations, metrics),
    })
}

fn external(metric_name: &str, object_name: &str, target: MetricTarget) -> Value {
    let amount = Quantity::from_milli((target.value * 1_000.0) as i64).to_string();
    let target = match target.metric_type {
        MetricType::Value => json!({"type": "Value", "value": amount}),
        MetricType::AverageValue | MetricType::Utilization => json!({"type": "AverageValue", "averageValue": amount}),
    };
    json!({
        "type": "External",
        "external": {
            "metric": {
                "name": metric_name,
                "selector": {"matchLabels": {OBJECT_LABEL: shortened(object_name)}},
            },
            "target": target,
        },
    })
}

fn by_use(resource: &str, container: Option<&str>, target: &UseTarget) -> (&'static str, Value) {
    let target = match target {
        UseTarget::Utilization(percent) => json!({"type": "Utilization", "averageUtilization": percent}),
        UseTarget::AverageValue(amount) => json!({"type": "AverageValue", "averageValue": amount}),
    };
    let (kind, field) = match container {
        Some(_) => ("ContainerResource", "containerResource"),
        None => ("Resource", "resource"),
    };
    let mut source = json!({"name": resource, "target": target});
    if let Some(container) = container {
        source["container"] = json!(container);
    }
    (kind, json!({"type": kind, field: source}))
}

/// The behavior as written; a direction that is paused selects no policy.
fn behavior(object: &ScaledObject, annotations: &Annotations) -> Option<Value> {
    let mut behavior = object.behavior.clone();
    let paused = [("scaleDown", annotations.paused_scale_in), ("scaleUp", annotations.paused_scale_out)];
    for (direction, _) in paused.into_iter().filter(|(_, is_paused)| *is_paused) {
        let rules = &mut behavior.get_or_insert_with(|| json!({}))[direction];
        if !rules.is_object() {
            *rules = json!({});
        }
        rules["selectPolicy"] = json!("Disabled");
    }
    behavior
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(extra: Value) -> ScaledObject {
        let mut spec = json!({"scaleTargetRef": {"name": "d"}, "triggers": [
            {"type": "rabbitmq", "name": "a", "metadata": {}}, {"type": "cpu", "metadata": {}}]});
        for (key, value) in extra.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        ScaledObject::from_spec(&spec).unwrap()
    }

    fn metrics() -> Vec<HpaMetric> {
        vec![
            HpaMetric::Use { resource: "cpu".into(), container: None, target: UseTarget::Utilization(60) },
            HpaMetric::External {
                name: "s0-rabbitmq-q".into(),
                target: MetricTarget { value: 0.5, metric_type: MetricType::AverageValue },
            },
        ]
    }

    #[test]
    fn a_spec_is_built() {
        let spec = hpa_spec(&object(json!({})), "o", &Annotations::default(), &metrics());
        assert_eq!(
            spec,
            json!({
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
                "minReplicas": 1,
                "maxReplicas": 100,
                "metrics": [
                    {"type": "External", "external": {
                        "metric": {"name": "s0-rabbitmq-q", "selector": {"matchLabels": {OBJECT_LABEL: "o"}}},
                        "target": {"type": "AverageValue", "averageValue": "500m"},
                    }},
                    {"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60},
                    }},
                ],
            })
        );
    }

    #[test]
    fn a_formula_has_one_metric() {
        let modifiers = json!({"formula": "a", "target": "3", "metricType": "Value"});
        let object = object(json!({"minReplicaCount": 2, "advanced": {"scalingModifiers": modifiers}}));
        let spec = hpa_spec(&object, "o", &Annotations::default(), &metrics());
        assert_eq!(spec["minReplicas"], 2);
        let listed = spec["metrics"].as_array().unwrap();
        assert_eq!(listed.len(), 2);
        assert_eq!(listed[0]["external"]["metric"]["name"], COMPOSITE_METRIC);
        assert_eq!(listed[0]["external"]["target"], json!({"type": "Value", "value": "3"}));
    }

    #[test]
    fn a_paused_direction_selects_no_policy() {
        let given = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
        let object = object(json!({"advanced": {"horizontalPodAutoscalerConfig": {"behavior": given}}}));
        let annotations = Annotations { paused_scale_in: true, paused_scale_out: true, ..Annotations::default() };
        let spec = hpa_spec(&object, "o", &annotations, &metrics());
        let expected = json!({
            "scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"},
            "scaleUp": {"selectPolicy": "Disabled"},
        });
        assert_eq!(spec["behavior"], expected);
    }

    #[test]
    fn names_are_short_enough() {
        let object = object(json!({}));
        assert_eq!(hpa_name(&object, "orders"), "keda-hpa-orders");
        // 9 + 53 + 1 = 63 characters end in a dash, which goes.
        let long = format!("{}-{}", "a".repeat(53), "b".repeat(20));
        assert_eq!(hpa_name(&object, &long), format!("keda-hpa-{}", "a".repeat(53)));
        let manifest = hpa_manifest(&object, ("n", "o"), &[("team", "x")], &Annotations::default(), &metrics());
        assert_eq!(manifest["metadata"]["labels"]["team"], "x");
    }
}
