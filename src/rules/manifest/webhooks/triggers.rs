//! What KEDA refuses in triggers: names, caches, and the metadata of the triggers whose rules are known here.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/scaletriggers_types.go,
//! pkg/scalers/{rabbitmq,kafka,prometheus,cron,cpu_memory}_scaler.go, main of 2026-08-20.

use crate::rules::cron::{Schedule, zone_named};
use crate::rules::manifest::{Errors, Field};
use crate::rules::quantity::Quantity;

const RABBITMQ_MODES: [&str; 5] =
    ["QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"];

/// Adds what is wrong with a list of triggers.
pub fn check(list: &Field<'_>, errors: &mut Errors) {
    let mut names: Vec<&str> = Vec::new();
    for trigger in list.items() {
        let name = trigger.get("name");
        if !name.text().is_empty() && names.contains(&name.text()) {
            errors.duplicate(&name);
        }
        names.push(name.text());
        let kind = trigger.get("type").text();
        let cached = trigger.get("useCachedMetrics");
        if cached.is_true() && matches!(kind, "cpu" | "memory" | "cron") {
            errors.invalid(&cached, &format!("is not supported for the {kind} scaler"));
        }
        match kind {
            "rabbitmq" => check_rabbitmq(&trigger, errors),
            "kafka" => check_kafka(&trigger.get("metadata"), errors),
            "prometheus" => check_positive(&trigger.at(&["metadata", "threshold"]), errors),
            "cron" => check_cron(&trigger.get("metadata"), errors),
            "cpu" | "memory" => check_use(&trigger, errors),
            _ => {}
        }
        if !matches!(kind, "cpu" | "memory") && trigger.get("metricType").text() == "Utilization" {
            errors.invalid(&trigger.get("metricType"), "Utilization is for cpu and memory triggers only");
        }
    }
}

fn positive(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(|number| number > 0.0)
}

fn check_positive(field: &Field<'_>, errors: &mut Errors) {
    if !field.text().is_empty() && !positive(field.text()) {
        errors.invalid(field, "must be a number greater than 0");
    }
}

fn check_kafka(metadata: &Field<'_>, errors: &mut Errors) {
    let [threshold, policy, idle, limit] =
        ["lagThreshold", "offsetResetPolicy", "allowIdleConsumers", "limitToPartitionsWithLag"]
            .map(|name| metadata.get(name));
    check_positive(&threshold, errors);
    if !matches!(policy.text(), "" | "latest" | "earliest") {
        errors.not_supported(&policy, &["latest", "earliest"]);
    }
    if limit.text() == "true" && idle.text() == "true" {
        errors.invalid(&idle, "cannot be set together with limitToPartitionsWithLag");
    }
    if limit.text() == "true" && metadata.get("topic").text().is_empty() {
        errors.required(&metadata.get("topic"), "must be specified when limitToPartitionsWithLag is set");
    }
}

/// Mode and value together, or the old `queueLength` alone, or nothing of it.
fn check_rabbitmq(trigger: &Field<'_>, errors: &mut Errors) {
    let metadata = trigger.get("metadata");
    let [length, mode, value] = ["queueLength", "mode", "value"].map(|name| metadata.get(name));
    let given = |field: &Field<'_>| !field.text().is_empty();
    if given(&length) && (given(&mode) || given(&value)) {
        errors.invalid(&length, "queueLength is deprecated; configure only mode and value");
    } else if given(&value) && !given(&mode) {
        errors.required(&mode, "must be specified beside value");
    } else if given(&mode) && !given(&value) {
        errors.required(&value, "must be specified beside mode");
    }
    if given(&mode) && !RABBITMQ_MODES.contains(&mode.text()) {
        errors.not_supported(&mode, &RABBITMQ_MODES);
    }
    for field in [&length, &value] {
        check_positive(field, errors);
    }
}

fn check_cron(metadata: &Field<'_>, errors: &mut Errors) {
    let zone = metadata.get("timezone");
    if zone.text().is_empty() {
        errors.required(&zone, "");
    } else if zone_named(zone.text()).is_none() {
        errors.invalid(&zone, &format!("unknown time zone {}", zone.text()));
    }
    let [start, end] = ["start", "end"].map(|name| metadata.get(name));
    for field in [&start, &end] {
        match field.text() {
            "" => errors.required(field, ""),
            text if text.starts_with('@') => errors.invalid(field, "descriptors are not accepted here"),
            text => {
                if let Err(error) = Schedule::parse(text) {
                    errors.invalid(field, &error.to_string());
                }
            }
        }
    }
    if !start.text().is_empty() && start.text() == end.text() {
        errors.invalid(metadata, "start and end can not have exactly same time input");
    }
    let desired = metadata.get("desiredReplicas");
    if desired.text().is_empty() {
        errors.required(&desired, "");
    } else if desired.text().parse::<i64>().is_err() {
        errors.invalid(&desired, "must be a whole number");
    }
}

/// A share of the request, or an amount.
fn check_use(trigger: &Field<'_>, errors: &mut Errors) {
    let value = trigger.at(&["metadata", "value"]);
    let old_type = trigger.at(&["metadata", "type"]);
    let kind = if trigger.get("metricType").is_given() { trigger.get("metricType") } else { old_type };
    match (kind.text(), value.text()) {
        (_, "") => errors.required(&value, ""),
        ("Utilization", text) => {
            if text.parse::<i32>().is_err() {
                errors.invalid(&value, "must be a whole number of percent");
            }
        }
        ("AverageValue", text) => {
            if Quantity::parse(text).is_err() {
                errors.invalid(&value, "must be a quantity");
            }
        }
        ("", _) => {}
        _ => errors.not_supported(&kind, &["Utilization", "AverageValue"]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(triggers: Value) -> Vec<String> {
        let mut errors = Errors::default();
        check(&Field { value: &triggers, path: "t".into() }, &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn queues() {
        let queue = |metadata: Value| causes(json!([{"type": "rabbitmq", "metadata": metadata}]));
        for metadata in [json!({}), json!({"queueLength": "20"}), json!({"mode": "QueueLength", "value": "5"})] {
            assert!(queue(metadata.clone()).is_empty(), "{metadata}");
        }
        let both = json!({"queueLength": "20", "mode": "QueueLength", "value": "5"});
        assert_eq!(queue(both), ["t[0].metadata.queueLength Invalid"]);
        assert_eq!(queue(json!({"mode": "QueueLength"})), ["t[0].metadata.value Required"]);
        assert_eq!(queue(json!({"value": "5"})), ["t[0].metadata.mode Required"]);
        let odd = json!({"mode": "Length", "value": "0"});
        assert_eq!(queue(odd), ["t[0].metadata.mode NotSupported", "t[0].metadata.value Invalid"]);
    }

    #[test]
    fn lags_and_queries() {
        let topic = |metadata: Value| causes(json!([{"type": "kafka", "metadata": metadata}]));
        assert!(topic(json!({"lagThreshold": "50", "offsetResetPolicy": "latest"})).is_empty());
        let odd = json!({"lagThreshold": "0", "offsetResetPolicy": "none"});
        assert_eq!(topic(odd), ["t[0].metadata.lagThreshold Invalid", "t[0].metadata.offsetResetPolicy NotSupported"]);
        let crossed = json!({"allowIdleConsumers": "true", "limitToPartitionsWithLag": "true"});
        assert_eq!(topic(crossed), ["t[0].metadata.allowIdleConsumers Invalid", "t[0].metadata.topic Required"]);
        let query = json!([{"type": "prometheus", "metadata": {"threshold": "many"}}]);
        assert_eq!(causes(query), ["t[0].metadata.threshold Invalid"]);
    }

    #[test]
    fn windows() {
        let window = |start: &str, end: &str, zone: &str| {
            let metadata = json!({"timezone": zone, "start": start, "end": end, "desiredReplicas": "3"});
            causes(json!([{"type": "cron", "metadata": metadata}]))
        };
        assert!(window("0 6 * * *", "0 20 * * *", "Asia/Kolkata").is_empty());
        assert_eq!(window("0 6 * * *", "0 6 * * *", "UTC"), ["t[0].metadata Invalid"]);
        assert_eq!(
            window("0 6 * *", "@daily", "X"),
            ["t[0].metadata.timezone Invalid", "t[0].metadata.start Invalid", "t[0].metadata.end Invalid",]
        );
    }

    #[test]
    fn names_and_caches() {
        let triggers = json!([
            {"type": "kafka", "name": "a", "metadata": {}, "metricType": "Utilization"},
            {"type": "cpu", "name": "a", "metadata": {"value": "1.5"}, "metricType": "Utilization", "useCachedMetrics": true},
        ]);
        assert_eq!(
            causes(triggers),
            [
                "t[0].metricType Invalid",
                "t[1].name Duplicate",
                "t[1].useCachedMetrics Invalid",
                "t[1].metadata.value Invalid",
            ]
        );
    }
}
