//! Queues and Jobs -> how many Jobs a poll creates.

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, field, float, list, only_fields, text};
use kubesim::autoscaling::keda::scaled_job::{Finished, JobView, PodView, Queue, ScaledJob};

const FIELDS: &[&str] = &[
    "tag",
    "strategy",
    "min_replicas",
    "max_replicas",
    "multiple_scalers_calculation",
    "queues",
    "jobs",
    "pending_pod_conditions",
    "custom_deduction",
    "custom_percentage",
    "expect",
];

pub fn scaled_job(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, FIELDS)?;
    let spec = json!({
        "minReplicaCount": field(case, "min_replicas")?,
        "maxReplicaCount": field(case, "max_replicas")?,
        "scalingStrategy": {
            "strategy": field(case, "strategy")?,
            "multipleScalersCalculation": field(case, "multiple_scalers_calculation")?,
            "pendingPodConditions": field(case, "pending_pod_conditions")?,
            "customScalingQueueLengthDeduction": case.get("custom_deduction"),
            "customScalingRunningJobPercentage": case.get("custom_percentage"),
        },
    });
    let spec = ScaledJob::from_spec(&spec).map_err(|error| Disagreement::new("a spec we can read", error))?;
    let mut queues = Vec::new();
    for queue in list(case, "queues")? {
        only_fields(queue, &["length", "target", "active"])?;
        let is_active = field(queue, "active")?.as_bool() == Some(true);
        queues.push(Queue { length: float(queue, "length")?, target: float(queue, "target")?, is_active });
    }
    let jobs = list(case, "jobs")?.iter().map(job).collect::<Result<Vec<_>, _>>()?;
    let demand = spec.demand(&queues);
    let got = json!({
        "created": spec.creation(&demand, &jobs).created,
        "is_active": demand.is_active,
        "max_float": demand.max_float,
        "max_value": demand.max_value,
        "queue_length": demand.queue_length,
    });
    compare("expect", field(case, "expect")?, &got, 1e-9)
}

fn job(value: &Value) -> Result<JobView, Disagreement> {
    only_fields(value, &["finished", "pod_phase", "pod_conditions"])?;
    let finished = match text(value, "finished")? {
        "" => None,
        "Complete" => Some(Finished::Complete),
        "Failed" => Some(Finished::Failed),
        other => return Err(Disagreement::new("a known end", other)),
    };
    let phase = text(value, "pod_phase")?;
    let conditions = list(value, "pod_conditions")?.iter().filter_map(Value::as_str).map(String::from);
    let pod = PodView { has_started: matches!(phase, "Running" | "Succeeded"), true_conditions: conditions.collect() };
    Ok(JobView { finished, pods: if phase.is_empty() { Vec::new() } else { vec![pod] } })
}
