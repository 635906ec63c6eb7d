//! Several metrics: each proposes, the largest proposal wins, and a failure may forbid to scale down.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, `computeReplicasForMetrics`, v1.36.

use super::replica_calculator::{Aim, Calculator, MetricError, Proposal, external_sum};
use super::samples::{PublishedMetrics, Sample};
use crate::model::autoscaling::{MetricSource, MetricSpec, MetricTarget};
use crate::model::{Pod, Time};

/// What one metric came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Its place in the spec.
    pub index: usize,
    /// What it asks for, or why it fails.
    pub result: Result<Proposal, MetricError>,
}

/// What all metrics came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Recommendation {
    /// Each metric, in the order of the spec.
    pub outcomes: Vec<Outcome>,
    /// The largest proposal and the place of its metric; `None` when nothing may be done.
    pub chosen: Option<(i32, usize)>,
    /// The first metric that failed.
    pub failed: Option<usize>,
}

/// Asks all metrics. `current` and `status_replicas` are those of the scale.
pub fn recommend(
    calculator: &Calculator,
    specs: &[MetricSpec],
    published: &dyn PublishedMetrics,
    current: i32,
    status_replicas: i32,
) -> Recommendation {
    let mut outcomes = Vec::with_capacity(specs.len());
    let mut chosen: Option<(i32, usize)> = None;
    for (index, spec) in specs.iter().enumerate() {
        let result = ask(calculator, spec, published, current, status_replicas);
        if let Ok(proposal) = &result
            && chosen.is_none_or(|(largest, _)| largest == 0 || proposal.replicas > largest)
        {
            chosen = Some((proposal.replicas, index));
        }
        outcomes.push(Outcome { index, result });
    }
    let failed = outcomes.iter().position(|outcome| outcome.result.is_err());
    let chosen = chosen.filter(|(replicas, _)| failed.is_none() || *replicas >= current);
    Recommendation { outcomes, chosen, failed }
}

/// The reason of a failure of a metric: also that of its event.
pub fn failure_reason(source: &MetricSource) -> &'static str {
    match source {
        MetricSource::Resource { .. } => "FailedGetResourceMetric",
        MetricSource::ContainerResource { .. } => "FailedGetContainerResourceMetric",
        MetricSource::Pods { .. } => "FailedGetPodsMetric",
        MetricSource::Object { .. } => "FailedGetObjectMetric",
        MetricSource::External { .. } => "FailedGetExternalMetric",
    }
}

fn ask(
    calculator: &Calculator,
    spec: &MetricSpec,
    published: &dyn PublishedMetrics,
    current: i32,
    status_replicas: i32,
) -> Result<Proposal, MetricError> {
    match &spec.source {
        MetricSource::Resource { resource } => {
            let resource = resource.as_str();
            let aim = match spec.target {
                MetricTarget::Utilization(percent) => Aim::Utilization { percent, resource, container: None },
                MetricTarget::AverageValue(target) | MetricTarget::Value(target) => Aim::Average(target),
            };
            let sample_of = |pod: &Pod| published.pod_resource(pod, None, resource);
            calculator.per_pod(current, aim, resource == "cpu", &sample_of)
        }
        MetricSource::ContainerResource { resource, container } => {
            let resource = resource.as_str();
            let aim = match spec.target {
                MetricTarget::Utilization(percent) => {
                    Aim::Utilization { percent, resource, container: Some(container) }
                }
                MetricTarget::AverageValue(target) | MetricTarget::Value(target) => Aim::Average(target),
            };
            let sample_of = |pod: &Pod| published.pod_resource(pod, Some(container.as_str()), resource);
            calculator.per_pod(current, aim, resource == "cpu", &sample_of)
        }
        MetricSource::Pods { metric } => {
            let aim = Aim::Average(target_milli(spec.target));
            calculator.per_pod(current, aim, false, &|pod| published.pod_metric(pod, metric))
        }
        MetricSource::Object { metric, described } => {
            let sample = published.object_metric(described, metric).ok_or(MetricError::NoMetrics)?;
            all_pods(calculator, spec.target, sample.value_milli, &[sample], current, status_replicas)
        }
        MetricSource::External { metric } => {
            let series = published.external_metric(metric);
            if series.is_empty() {
                return Err(MetricError::NoMetrics);
            }
            let usage = external_sum(series.iter().map(|sample| sample.value_milli));
            all_pods(calculator, spec.target, usage, &series, current, status_replicas)
        }
    }
}

fn all_pods(
    calculator: &Calculator,
    target: MetricTarget,
    usage: i64,
    samples: &[Sample],
    current: i32,
    status_replicas: i32,
) -> Result<Proposal, MetricError> {
    let times = || samples.iter().map(|sample| sample.at);
    let sampled: Option<(Time, Time)> = times().min().zip(times().max());
    let proposal = match target {
        MetricTarget::AverageValue(target) => calculator.shared(status_replicas, usage, target),
        other => calculator.total(current, usage, target_milli(other))?,
    };
    Ok(Proposal { sampled, ..proposal })
}

/// Validation lets only resources have a utilization.
fn target_milli(target: MetricTarget) -> i64 {
    match target {
        MetricTarget::Value(milli) | MetricTarget::AverageValue(milli) => milli,
        MetricTarget::Utilization(percent) => i64::from(percent),
    }
}
