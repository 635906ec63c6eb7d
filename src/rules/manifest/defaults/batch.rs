//! Defaults of Jobs and CronJobs.
//!
//! Upstream: pkg/apis/batch/v1/defaults.go, v1.36.

use serde_json::{Map, Value, json};

use super::workloads::template;
use crate::rules::codec::json::{object_at, objects_mut, set_default};

/// A Job.
pub fn job(object: &mut Value) {
    template(object);
    // A Job without labels takes over its template's, those included that the server adds on creation. The selector shows
    // that it has.
    let labels = object["spec"]["template"]["metadata"].get("labels").cloned();
    let is_complete = object["spec"].get("selector").is_some();
    if let (true, Some(labels), Some(metadata)) = (is_complete, labels, object_at(object, &["metadata"])) {
        set_default(metadata, "labels", labels);
    }
    let Some(spec) = object_at(object, &["spec"]) else { return };
    if !spec.contains_key("parallelism") {
        set_default(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    let backoff_limit = if spec.contains_key("backoffLimitPerIndex") { i32::MAX } else { 6 };
    set_default(spec, "backoffLimit", backoff_limit);
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    let replacement = if spec.contains_key("podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
    set_default(spec, "podReplacementPolicy", replacement);
    failure_policy(spec);
}

/// A CronJob. The spec of its jobs gets the defaults of pod templates only; the rest comes when a Job is made of it.
pub fn cron_job(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    set_default(spec, "concurrencyPolicy", "Allow");
    set_default(spec, "suspend", false);
    set_default(spec, "successfulJobsHistoryLimit", 3);
    set_default(spec, "failedJobsHistoryLimit", 1);
    let Some(job) = spec.get_mut("jobTemplate").filter(|job| job.is_object()) else { return };
    object_at(job, &["metadata"]);
    template(job);
    if let Some(spec) = job.get_mut("spec").and_then(Value::as_object_mut) {
        failure_policy(spec);
    }
}

fn failure_policy(spec: &mut Map<String, Value>) {
    let Some(policy) = spec.get_mut("podFailurePolicy").and_then(Value::as_object_mut) else { return };
    for rule in objects_mut(policy, "rules") {
        for pattern in objects_mut(rule, "onPodConditions") {
            set_default(pattern, "status", json!("True"));
        }
    }
}
