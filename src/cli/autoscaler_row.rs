//! The row of a HorizontalPodAutoscaler.
//!
//! Upstream: pkg/printers/internalversion/printers.go, `printHorizontalPodAutoscaler` and `formatHPAMetrics`, v1.36.

use serde_json::Value;

const UNKNOWN: &str = "<unknown>";
/// How many metrics a row names.
const SHOWN_METRICS: usize = 2;

/// Name, reference, targets, bounds, replicas, age.
pub fn row(object: &Value, name: String, age: String) -> Vec<String> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let target = &spec["scaleTargetRef"];
    let word = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let number = |value: &Value| value.as_i64().unwrap_or(0).to_string();
    let least = if spec["minReplicas"].is_null() { "<unset>".to_string() } else { number(&spec["minReplicas"]) };
    vec![
        name,
        format!("{}/{}", word(&target["kind"]), word(&target["name"])),
        targets(spec, status),
        least,
        number(&spec["maxReplicas"]),
        number(&status["currentReplicas"]),
        age,
    ]
}

fn targets(spec: &Value, status: &Value) -> String {
    let metrics = spec["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    if metrics.is_empty() {
        return "<none>".into();
    }
    let current = status["currentMetrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown: Vec<String> = metrics
        .iter()
        .enumerate()
        .take(SHOWN_METRICS)
        .map(|(index, metric)| one(metric, current.get(index).unwrap_or(&Value::Null)))
        .collect();
    let rest = metrics.len().saturating_sub(SHOWN_METRICS);
    if rest > 0 { format!("{} + {rest} more...", shown.join(", ")) } else { shown.join(", ") }
}

fn one(metric: &Value, status: &Value) -> String {
    let (field, label) = match metric["type"].as_str().unwrap_or_default() {
        "Resource" => ("resource", format!("{}: ", metric["resource"]["name"].as_str().unwrap_or_default())),
        "ContainerResource" => {
            ("containerResource", format!("{}: ", metric["containerResource"]["name"].as_str().unwrap_or_default()))
        }
        "Pods" => ("pods", String::new()),
        "Object" => ("object", String::new()),
        _ => ("external", String::new()),
    };
    let (target, current) = (&metric[field]["target"], &status[field]["current"]);
    let text = |value: &Value| value.as_str().map(String::from);
    if let Some(percent) = target["averageUtilization"].as_i64() {
        let now = current["averageUtilization"].as_i64().map(|percent| format!("{percent}%"));
        return format!("{label}{}/{percent}%", now.unwrap_or_else(|| UNKNOWN.into()));
    }
    let (name, suffix) = match target["averageValue"].is_null() {
        true => ("value", ""),
        false if field == "object" || field == "external" => ("averageValue", " (avg)"),
        false => ("averageValue", ""),
    };
    let now = text(&current[name]).unwrap_or_else(|| UNKNOWN.into());
    format!("{label}{now}/{}{suffix}", text(&target[name]).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn targets_stand_beside_what_is_read() {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 60}}});
        let queue = json!({"type": "External", "external": {"target": {"averageValue": "10"}}});
        let read = json!({"type": "Resource", "resource": {"current": {"averageUtilization": 45}}});
        let spec = json!({"metrics": [cpu, queue, queue]});
        let status = json!({"currentMetrics": [read]});
        assert_eq!(targets(&spec, &status), "cpu: 45%/60%, <unknown>/10 (avg) + 1 more...");
        assert_eq!(targets(&json!({}), &status), "<none>");
    }
}
