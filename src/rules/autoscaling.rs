//! HorizontalPodAutoscalers read from JSON that the API server has defaulted and checked.

use serde_json::Value;

use crate::model::autoscaling::{
    HorizontalPodAutoscalerSpec, MetricIdentifier, MetricSource, MetricSpec, MetricTarget, ScaleTarget,
    ScalingBehavior, ScalingPolicy, ScalingRules, SelectPolicy,
};
use crate::model::{Labels, Name};
use crate::rules::quantity::Quantity;

/// The `spec` of a HorizontalPodAutoscaler of `autoscaling/v2`.
///
/// # Errors
/// The path of what cannot be read; a manifest that [`super::manifest::create`] has taken has nothing of the kind.
pub fn horizontal_pod_autoscaler_spec(spec: &Value) -> Result<HorizontalPodAutoscalerSpec, String> {
    let metrics = spec["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let behavior = &spec["behavior"];
    let rules =
        |direction: &str| rules(&behavior[direction]).map_err(|path| format!("spec.behavior.{direction}.{path}"));
    Ok(HorizontalPodAutoscalerSpec {
        target: scale_target(&spec["scaleTargetRef"]),
        min_replicas: if spec["minReplicas"].is_null() { 1 } else { int(spec, "minReplicas")? },
        max_replicas: int(spec, "maxReplicas")?,
        metrics: metrics
            .iter()
            .enumerate()
            .map(|(index, metric)| metric_spec(metric).map_err(|path| format!("spec.metrics[{index}].{path}")))
            .collect::<Result<_, _>>()?,
        behavior: match behavior {
            Value::Null => None,
            _ => Some(ScalingBehavior { scale_up: rules("scaleUp")?, scale_down: rules("scaleDown")? }),
        },
    })
}

fn int(value: &Value, name: &str) -> Result<i32, String> {
    value[name].as_i64().and_then(|number| i32::try_from(number).ok()).ok_or_else(|| name.to_string())
}

fn name(value: &Value) -> Name {
    Name::new(value.as_str().unwrap_or_default())
}

fn scale_target(value: &Value) -> ScaleTarget {
    ScaleTarget { api_version: name(&value["apiVersion"]), kind: name(&value["kind"]), name: name(&value["name"]) }
}

fn metric_spec(metric: &Value) -> Result<MetricSpec, String> {
    let (field, source) = metric_source(metric).ok_or("type")?;
    let target = target(&metric[field]["target"]).map_err(|path| format!("{field}.target.{path}"))?;
    Ok(MetricSpec { source, target })
}

/// One of `status.currentMetrics`: its source, and utilization, average and value (thousandths).
pub fn metric_status(metric: &Value) -> Option<(MetricSource, [Option<i64>; 3])> {
    let (field, source) = metric_source(metric)?;
    let current = &metric[field]["current"];
    let milli = |name: &str| quantity(&current[name]).map(|quantity| quantity.milli_value());
    Some((source, [current["averageUtilization"].as_i64(), milli("averageValue"), milli("value")]))
}

/// The field that a metric's `type` means, and its source.
fn metric_source(metric: &Value) -> Option<(&'static str, MetricSource)> {
    let kind = metric["type"].as_str().unwrap_or_default();
    let field = match kind {
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        "Pods" => "pods",
        "Object" => "object",
        "External" => "external",
        _ => return None,
    };
    let value = &metric[field];
    let source = match kind {
        "Resource" => MetricSource::Resource { resource: name(&value["name"]) },
        "ContainerResource" => {
            MetricSource::ContainerResource { resource: name(&value["name"]), container: name(&value["container"]) }
        }
        "Pods" => MetricSource::Pods { metric: identifier(&value["metric"]) },
        "Object" => MetricSource::Object {
            metric: identifier(&value["metric"]),
            described: scale_target(&value["describedObject"]),
        },
        _ => MetricSource::External { metric: identifier(&value["metric"]) },
    };
    Some((field, source))
}

fn identifier(metric: &Value) -> MetricIdentifier {
    let labels = metric["selector"]["matchLabels"].as_object().into_iter().flatten();
    let labels: Labels = labels.map(|(key, value)| (Name::new(key), name(value))).collect();
    MetricIdentifier { name: name(&metric["name"]), labels }
}

/// What is given decides, as in the controller; `type` was checked against it.
fn target(target: &Value) -> Result<MetricTarget, String> {
    let milli = |field: &str| quantity(&target[field]).map(|quantity| quantity.milli_value()).ok_or(field.to_string());
    if !target["averageUtilization"].is_null() {
        return int(target, "averageUtilization").map(MetricTarget::Utilization);
    }
    if !target["averageValue"].is_null() {
        return milli("averageValue").map(MetricTarget::AverageValue);
    }
    milli("value").map(MetricTarget::Value)
}

fn rules(rules: &Value) -> Result<ScalingRules, String> {
    let policies = rules["policies"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(ScalingRules {
        stabilization_window_seconds: match rules["stabilizationWindowSeconds"] {
            Value::Null => None,
            _ => Some(int(rules, "stabilizationWindowSeconds")?),
        },
        select_policy: match rules["selectPolicy"].as_str() {
            Some("Min") => SelectPolicy::Min,
            Some("Disabled") => SelectPolicy::Disabled,
            _ => SelectPolicy::Max,
        },
        policies: policies.iter().map(policy).collect::<Result<_, _>>()?,
        tolerance_nano: match &rules["tolerance"] {
            Value::Null => None,
            given => Some(nano(given).ok_or("tolerance")?),
        },
    })
}

fn policy(policy: &Value) -> Result<ScalingPolicy, String> {
    Ok(ScalingPolicy {
        is_percent: policy["type"] == "Percent",
        value: int(policy, "value")?,
        period_seconds: int(policy, "periodSeconds")?,
    })
}

/// A quantity as text, or as a bare number of YAML.
fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Billionths of a small quantity: a milli value rounds up, so ask for that of a million times as much.
fn nano(value: &Value) -> Option<i64> {
    let text = quantity(value)?.recomputed();
    let scales = [("n", 1), ("u", 1_000), ("m", 1_000_000)];
    let (digits, scale) = scales
        .iter()
        .find_map(|(suffix, scale)| text.strip_suffix(suffix).map(|digits| (digits, *scale)))
        .unwrap_or((&text, 1_000_000_000));
    match digits.parse::<i64>() {
        Ok(number) => Some(number.saturating_mul(scale)),
        Err(_) => Some(quantity(value)?.milli_value().saturating_mul(1_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tolerances_are_exact() {
        // 0.075 = 75 million billionths; 1 = a billion; 1500u = 1.5 million; 5n = 5.
        for (text, expected) in [
            ("0.075", 75_000_000),
            ("75m", 75_000_000),
            ("1", 1_000_000_000),
            ("1500u", 1_500_000),
            ("5n", 5),
            ("0", 0),
        ] {
            assert_eq!(nano(&json!(text)), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let metric = json!({"type": "External", "external": {"metric": {"name": "m"}, "target": {"type": "Value"}}});
        let error = horizontal_pod_autoscaler_spec(&json!({"maxReplicas": 3, "metrics": [metric]}));
        assert_eq!(error, Err("spec.metrics[0].external.target.value".into()));
        assert_eq!(horizontal_pod_autoscaler_spec(&json!({})), Err("maxReplicas".into()));
    }
}
