//! The horizontal pod autoscaler: single calculations.

use std::rc::Rc;

use kubesim::autoscaling::hpa::replica_calculator::{Aim, Calculator, MetricError, Proposal, Tolerances, external_sum};
use kubesim::autoscaling::hpa::samples::Sample;
use kubesim::model::{Name, Pod};
use serde_json::{Value, json};

use super::hpa_inputs::{at, integers, recorded_pod, settings};
use crate::case::{Disagreement, compare, field, float, int, only_fields, text};

const FIELDS: &[&str] = &[
    "kind",
    "tag",
    "controller",
    "target",
    "current_replicas",
    "status_replicas",
    "pods",
    "resource",
    "container",
    "values",
    "tolerance_up",
    "tolerance_down",
    "expect",
];

/// One metric and the pods -> replicas and what the status reports, or why not.
pub fn replica_calc(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, FIELDS)?;
    let expected = field(case, "expect")?;
    let got = match calculate(case)? {
        Ok(proposal) => report(text(case, "kind")?, &proposal),
        Err(error) => json!({"error": true, "error_class": class(&error)}),
    };
    // A division by no replicas: what comes of it depends on the machine that recorded it.
    let is_undefined = text(case, "kind")?.ends_with("_average") && case["status_replicas"] == 0;
    if is_undefined && got.get("replicas").is_some() {
        return compare("replicas", &expected["replicas"], &got["replicas"], 0.0);
    }
    compare("calculation", expected, &got, 0.0)
}

fn calculate(case: &Value) -> Result<Result<Proposal, MetricError>, Disagreement> {
    let settings = settings(case)?;
    let now = at(100_000.0);
    let resource = case.get("resource").and_then(Value::as_str).unwrap_or("cpu");
    let recorded = case.get("pods").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Recorded memory requests are fractions of a byte, which objects here do not hold: they are read as CPU, and only whether
    // readiness counts is of the resource.
    let recorded: Vec<(Rc<Pod>, Option<Sample>)> =
        recorded.iter().map(|pod| recorded_pod(pod, "cpu", now)).collect::<Result<_, _>>()?;
    let pods: Vec<Rc<Pod>> = recorded.iter().map(|(pod, _)| Rc::clone(pod)).collect();
    let direction = |name: &str| match case.get(name) {
        None | Some(Value::Null) => Ok(settings.tolerance),
        Some(_) => float(case, name),
    };
    let tolerances = Tolerances { up: direction("tolerance_up")?, down: direction("tolerance_down")? };
    let calculator = Calculator { settings: &settings, tolerances, pods: &pods, now };
    let replicas = |name: &str| i32::try_from(int(case, name)?).map_err(|_| Disagreement::new("replicas", case));
    let (current, target, values) = (replicas("current_replicas")?, int(case, "target")?, integers(case, "values")?);
    let sample_of = |pod: &Pod| recorded.iter().find(|(other, _)| other.meta.name == pod.meta.name)?.1;
    let container = case.get("container").and_then(Value::as_str).map(Name::new);
    Ok(match text(case, "kind")? {
        "resource_utilization" => {
            let percent = i32::try_from(target).map_err(|_| Disagreement::new("a percentage", target))?;
            let aim = Aim::Utilization { percent, resource: "cpu", container: container.as_ref() };
            calculator.per_pod(current, aim, resource == "cpu", &sample_of)
        }
        "resource_average" => calculator.per_pod(current, Aim::Average(target), resource == "cpu", &sample_of),
        "pods" => calculator.per_pod(current, Aim::Average(target), false, &sample_of),
        "object_value" => calculator.total(current, values[0], target),
        "external_value" => calculator.total(current, external_sum(values), target),
        "object_average" => Ok(calculator.shared(replicas("status_replicas")?, values[0], target)),
        "external_average" => Ok(calculator.shared(replicas("status_replicas")?, external_sum(values), target)),
        other => return Err(Disagreement::new("a known kind", other)),
    })
}

fn report(kind: &str, proposal: &Proposal) -> Value {
    let value = &proposal.value;
    if kind == "resource_utilization" {
        return json!({
            "replicas": proposal.replicas,
            "utilization": value.utilization,
            "average_value": value.average_milli,
        });
    }
    json!({"replicas": proposal.replicas, "usage": value.value_milli.or(value.average_milli)})
}

fn class(error: &MetricError) -> &'static str {
    match error {
        MetricError::NoMetrics => "no-metrics",
        MetricError::NoUsableMetrics => "no-usable-metrics",
        MetricError::NoPods => "no-pods",
        MetricError::MissingRequest { .. } => "missing-request",
        MetricError::ContainerNotFound { .. } => "container-not-found",
        MetricError::NoRequests => "no-requests",
    }
}
