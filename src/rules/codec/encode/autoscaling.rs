//! HorizontalPodAutoscalers: their manifests, with the status we hold.

use serde_json::{Map, Value, json};

use super::{conditions, spec_of};
use crate::model::HorizontalPodAutoscaler;
use crate::model::autoscaling::{MetricIdentifier, MetricSource, MetricStatus};
use crate::rules::quantity::{Format, Quantity};
use crate::rules::timestamp::format_seconds;

/// A HorizontalPodAutoscaler.
pub fn autoscaler(autoscaler: &HorizontalPodAutoscaler) -> Value {
    let of = &autoscaler.status;
    let mut status = json!({"desiredReplicas": of.desired_replicas});
    if of.current_replicas > 0 {
        status["currentReplicas"] = json!(of.current_replicas);
    }
    if of.observed_generation > 0 {
        status["observedGeneration"] = json!(of.observed_generation);
    }
    if let Some(time) = of.last_scale_time {
        status["lastScaleTime"] = json!(format_seconds(time));
    }
    if !of.conditions.is_empty() {
        status["conditions"] = conditions(&of.conditions);
    }
    status["currentMetrics"] = match of.current_metrics.as_slice() {
        [] => Value::Null,
        metrics => metrics.iter().map(metric).collect(),
    };
    json!({"spec": spec_of(&autoscaler.source), "status": status})
}

fn metric(metric: &MetricStatus) -> Value {
    let mut current = Map::new();
    let is_memory = matches!(&metric.source,
        MetricSource::Resource { resource } | MetricSource::ContainerResource { resource, .. }
            if resource.as_str() == "memory");
    let quantity = |milli: i64| match is_memory && milli % 1_000 == 0 {
        true => Quantity::from_value(milli / 1_000, Format::BinarySI).to_string(),
        false => Quantity::from_milli(milli).to_string(),
    };
    if let Some(percent) = metric.current.utilization {
        current.insert("averageUtilization".into(), json!(percent));
    }
    if let Some(milli) = metric.current.average_milli {
        current.insert("averageValue".into(), json!(quantity(milli)));
    }
    if let Some(milli) = metric.current.value_milli {
        current.insert("value".into(), json!(quantity(milli)));
    }
    let (field, mut inner) = match &metric.source {
        MetricSource::Resource { resource } => ("resource", json!({"name": resource.as_str()})),
        MetricSource::ContainerResource { resource, container } => {
            ("containerResource", json!({"name": resource.as_str(), "container": container.as_str()}))
        }
        MetricSource::Pods { metric } => ("pods", json!({"metric": identifier(metric)})),
        MetricSource::Object { metric, described } => {
            let described = json!({
                "apiVersion": described.api_version.as_str(),
                "kind": described.kind.as_str(),
                "name": described.name.as_str(),
            });
            ("object", json!({"metric": identifier(metric), "describedObject": described}))
        }
        MetricSource::External { metric } => ("external", json!({"metric": identifier(metric)})),
    };
    inner["current"] = Value::Object(current);
    let mut value = json!({"type": metric.source.as_str()});
    value[field] = inner;
    value
}

fn identifier(metric: &MetricIdentifier) -> Value {
    let mut value = json!({"name": metric.name.as_str()});
    if !metric.labels.is_empty() {
        value["selector"] = json!({"matchLabels": super::labels(&metric.labels)});
    }
    value
}
