//! Defaults of HorizontalPodAutoscalers.
//!
//! Upstream: pkg/apis/autoscaling/v2/defaults.go, pkg/apis/autoscaling/v1/conversion.go, v1.36.

use serde_json::{Map, Value, json};

use crate::rules::codec::json::{object_at, set_default};

/// CPU utilization that is aimed at when nothing is said, percent of the request.
const TARGET_CPU_PERCENT: i64 = 80;

/// `autoscaling/v2`
pub fn v2(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "minReplicas", 1);
    if spec.get("metrics").and_then(Value::as_array).is_none_or(Vec::is_empty) {
        let target = json!({"type": "Utilization", "averageUtilization": TARGET_CPU_PERCENT});
        spec.insert("metrics".into(), json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]));
    }
    if spec.contains_key("behavior") {
        behaviour(object);
    }
}

fn behaviour(object: &mut Value) {
    let percent = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    if let Some(up) = object_at(object, &["spec", "behavior", "scaleUp"]) {
        set_default(up, "stabilizationWindowSeconds", 0);
        rules(up, json!([{"type": "Pods", "value": 4, "periodSeconds": 15}, percent]));
    }
    // The window stays open: the controller's own setting holds.
    if let Some(down) = object_at(object, &["spec", "behavior", "scaleDown"]) {
        rules(down, json!([percent]));
    }
}

fn rules(direction: &mut Map<String, Value>, policies: Value) {
    set_default(direction, "selectPolicy", "Max");
    set_default(direction, "policies", policies);
}

/// `autoscaling/v1`, which cannot say more than a CPU target.
pub fn v1(object: &mut Value) {
    let metrics = "autoscaling.alpha.kubernetes.io/metrics";
    let has_metrics = object["metadata"]["annotations"].get(metrics).is_some();
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "minReplicas", 1);
    if !has_metrics {
        set_default(spec, "targetCPUUtilizationPercentage", TARGET_CPU_PERCENT);
    }
}
