//! How many replicas one metric asks for.
//!
//! Values are thousandths, ratios float64 in upstream's order of operations; division of integers truncates, so that a
//! utilization or an average is up to one unit lower than the truth before it is compared.
//!
//! Upstream: pkg/controller/podautoscaler/replica_calculator.go, metrics/utilization.go, v1.36.

use std::fmt;
use std::rc::Rc;

use super::pod_groups::{PodGroups, group};
use super::samples::Sample;
use super::settings::Settings;
use crate::model::autoscaling::{MetricValue, ScalingBehavior};
use crate::model::{Container, Name, Pod, PodPhase, Time};

/// How far from 1 a ratio may be without a change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tolerances {
    /// Above 1.
    pub up: f64,
    /// Below 1.
    pub down: f64,
}

impl Tolerances {
    /// The controller's own, unless the autoscaler gives one for a direction.
    pub fn new(settings: &Settings, behavior: Option<&ScalingBehavior>) -> Tolerances {
        let given = behavior.filter(|_| settings.has_configurable_tolerance);
        let of = |nano: Option<i64>| nano.map_or(settings.tolerance, approximate_float);
        Tolerances {
            up: of(given.and_then(|behavior| behavior.scale_up.tolerance_nano)),
            down: of(given.and_then(|behavior| behavior.scale_down.tolerance_nano)),
        }
    }

    fn covers(self, ratio: f64) -> bool {
        1.0 - self.down <= ratio && ratio <= 1.0 + self.up
    }
}

/// Billionths as a float the way upstream makes it: the digits of the canonical text times a power of ten.
fn approximate_float(nano: i64) -> f64 {
    let scales = [(1_000_000_000, 1.0), (1_000_000, 0.001), (1_000, 0.000_001)];
    let scale = scales.iter().find(|(unit, _)| nano % unit == 0);
    scale.map_or(nano as f64 * 0.000_000_001, |(unit, power)| (nano / unit) as f64 * power)
}

/// Why a metric gives no number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MetricError {
    /// The metrics API has nothing.
    NoMetrics,
    /// All samples are of pods that do not count.
    NoUsableMetrics,
    /// The selector finds no pod.
    NoPods,
    /// A container does not say how much of the resource it asks for.
    MissingRequest {
        /// The container.
        container: Name,
        /// Its pod.
        pod: Name,
    },
    /// A pod has no such container.
    ContainerNotFound {
        /// The container.
        container: Name,
        /// The pod.
        pod: Name,
    },
    /// The pods with samples ask for nothing, so there is no utilization.
    NoRequests,
}

impl fmt::Display for MetricError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetricError::NoMetrics => f.write_str("the metrics API returned no metrics"),
            MetricError::NoUsableMetrics => f.write_str("no metrics of pods that count (pods might be unready)"),
            MetricError::NoPods => f.write_str("the selector returned no pods"),
            MetricError::MissingRequest { container, pod } => {
                write!(f, "container {container} of pod {pod} requests none of the resource")
            }
            MetricError::ContainerNotFound { container, pod } => write!(f, "pod {pod} has no container {container}"),
            MetricError::NoRequests => f.write_str("the pods with metrics request none of the resource"),
        }
    }
}

/// What one metric asks for, and what it was made of.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// The replicas asked for.
    pub replicas: i32,
    /// What the status reports, before samples are filled in.
    pub value: MetricValue,
    /// The first ratio of usage to target.
    pub ratio: f64,
    /// Pods that count, that are not up, and that have no sample; zero for metrics that pods do not have.
    pub pods: [usize; 3],
    /// Times of the oldest and the newest sample used.
    pub sampled: Option<(Time, Time)>,
}

/// What each pod should use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aim<'a> {
    /// Percent of what pods, or one container of each, request of a resource.
    Utilization {
        /// Percent.
        percent: i32,
        /// Of what.
        resource: &'a str,
        /// Of which container only.
        container: Option<&'a Name>,
    },
    /// Thousandths a pod.
    Average(i64),
}

/// What a calculation looks at besides the metric.
#[derive(Clone, Copy, Debug)]
pub struct Calculator<'a> {
    /// Settings.
    pub settings: &'a Settings,
    /// Tolerances of this autoscaler.
    pub tolerances: Tolerances,
    /// Pods of the selector.
    pub pods: &'a [Rc<Pod>],
    /// Now.
    pub now: Time,
}

/// Sums over pods: their number, usage, and requests.
#[derive(Clone, Copy, Default)]
struct Totals {
    count: i64,
    usage: i64,
    requests: i64,
}

impl Totals {
    fn add(&mut self, usage: i64, request: i64) {
        self.count += 1;
        self.usage = self.usage.wrapping_add(usage);
        self.requests = self.requests.wrapping_add(request);
    }

    /// The ratio, and what the status reports.
    fn ratio(&self, aim: Aim) -> Result<(f64, MetricValue), MetricError> {
        let average = self.usage / self.count;
        match aim {
            Aim::Average(target) => {
                let value = MetricValue { average_milli: Some(average), ..MetricValue::default() };
                Ok((average as f64 / target as f64, value))
            }
            Aim::Utilization { .. } if self.requests == 0 => Err(MetricError::NoRequests),
            Aim::Utilization { percent, .. } => {
                let utilization = (self.usage.wrapping_mul(100) / self.requests) as i32;
                let value = MetricValue {
                    utilization: Some(utilization),
                    average_milli: Some(average),
                    ..MetricValue::default()
                };
                Ok((f64::from(utilization) / f64::from(percent), value))
            }
        }
    }
}

impl Calculator<'_> {
    /// Resource, ContainerResource and Pods metrics.
    ///
    /// # Errors
    /// No sample that counts, or requests that are not known.
    pub fn per_pod(
        &self,
        current: i32,
        aim: Aim,
        is_cpu: bool,
        sample_of: &dyn Fn(&Pod) -> Option<Sample>,
    ) -> Result<Proposal, MetricError> {
        let groups = group(self.pods, is_cpu, self.settings, self.now, sample_of);
        if !groups.any_sample {
            return Err(MetricError::NoMetrics);
        }
        if self.pods.is_empty() {
            return Err(MetricError::NoPods);
        }
        if groups.ready.is_empty() {
            return Err(MetricError::NoUsableMetrics);
        }
        let requests = self.requests(aim)?;
        let mut totals = Totals::default();
        for (index, sample) in &groups.ready {
            totals.add(sample.value_milli, requests.get(*index).copied().unwrap_or(0));
        }
        let (ratio, value) = totals.ratio(aim)?;
        let replicas = self.with_gaps_filled(current, aim, &groups, &requests, totals, ratio)?;
        let times = || groups.ready.iter().map(|(_, sample)| sample.at);
        Ok(Proposal {
            replicas,
            value,
            ratio,
            pods: [groups.ready.len(), groups.unready.len(), groups.missing.len()],
            sampled: times().min().zip(times().max()),
        })
    }

    /// The replicas once pods without a usable sample count as what damps the change most.
    fn with_gaps_filled(
        &self,
        current: i32,
        aim: Aim,
        groups: &PodGroups,
        requests: &[i64],
        mut totals: Totals,
        ratio: f64,
    ) -> Result<i32, MetricError> {
        let counts_unready = !groups.unready.is_empty() && ratio > 1.0;
        if !counts_unready && groups.missing.is_empty() {
            let wanted = (ratio * totals.count as f64).ceil() as i32;
            return Ok(if self.tolerances.covers(ratio) { current } else { wanted });
        }
        let request = |index: usize| requests.get(index).copied().unwrap_or(0);
        for &index in &groups.missing {
            let full = match aim {
                Aim::Average(target) => target,
                Aim::Utilization { percent, .. } => request(index) * i64::from(percent.max(100)) / 100,
            };
            if ratio < 1.0 {
                totals.add(full, request(index));
            } else if ratio > 1.0 {
                totals.add(0, request(index));
            }
        }
        if counts_unready {
            for &index in &groups.unready {
                totals.add(0, request(index));
            }
        }
        let (refilled, _) = totals.ratio(aim)?;
        let turned = (ratio < 1.0 && refilled > 1.0) || (ratio > 1.0 && refilled < 1.0);
        if self.tolerances.covers(refilled) || turned {
            return Ok(current);
        }
        let wanted = (refilled * totals.count as f64).ceil() as i32;
        let is_backwards = (refilled < 1.0 && wanted > current) || (refilled > 1.0 && wanted < current);
        Ok(if is_backwards { current } else { wanted })
    }

    /// What each pod requests, thousandths; empty where nobody asks. Pods that do not count can fail it as well.
    fn requests(&self, aim: Aim) -> Result<Vec<i64>, MetricError> {
        match aim {
            Aim::Average(_) => Ok(Vec::new()),
            Aim::Utilization { resource, container, .. } => {
                self.pods.iter().map(|pod| request_milli(pod, resource, container)).collect()
            }
        }
    }

    /// Object and External metrics with a Value for all pods together.
    ///
    /// # Errors
    /// There are no pods.
    pub fn total(&self, current: i32, usage: i64, target: i64) -> Result<Proposal, MetricError> {
        let ratio = usage as f64 / target as f64;
        let replicas = if current == 0 {
            ratio.ceil() as i32
        } else if self.tolerances.covers(ratio) {
            current
        } else if self.pods.is_empty() {
            return Err(MetricError::NoPods);
        } else {
            let is_serving = |pod: &&Rc<Pod>| pod.status.phase == PodPhase::Running && pod.is_ready();
            (ratio * self.pods.iter().filter(is_serving).count() as f64).ceil() as i32
        };
        let value = MetricValue { value_milli: Some(usage), ..MetricValue::default() };
        Ok(Proposal { replicas, value, ratio, pods: [0; 3], sampled: None })
    }

    /// Object and External metrics with an AverageValue a pod, of the replicas that the target's status counts.
    pub fn shared(&self, status_replicas: i32, usage: i64, target: i64) -> Proposal {
        if usage == i64::MAX {
            // An overflow of [`external_sum`]: nothing is divided any more.
            let value = MetricValue { average_milli: Some(usage), ..MetricValue::default() };
            return Proposal { replicas: i32::MAX, value, ratio: f64::INFINITY, pods: [0; 3], sampled: None };
        }
        let ratio = usage as f64 / (target as f64 * f64::from(status_replicas));
        let wanted = (usage as f64 / target as f64).ceil() as i32;
        let replicas = if self.tolerances.covers(ratio) { status_replicas } else { wanted };
        let average = (usage as f64 / f64::from(status_replicas)).ceil() as i64;
        let value = MetricValue { average_milli: Some(average), ..MetricValue::default() };
        Proposal { replicas, value, ratio, pods: [0; 3], sampled: None }
    }
}

/// The sum of external series. A running sum below zero counts as an overflow, also where it is none.
pub fn external_sum(values: impl IntoIterator<Item = i64>) -> i64 {
    values.into_iter().fold(0_i64, |sum, value| {
        let sum = sum.wrapping_add(value);
        if sum < 0 { i64::MAX } else { sum }
    })
}

/// What a pod (sidecars included), or one container of it, requests of a resource, thousandths.
fn request_milli(pod: &Pod, resource: &str, container: Option<&Name>) -> Result<i64, MetricError> {
    let spec = &pod.spec;
    if container.is_none()
        && let Some(request) = spec.pod_requests.as_ref().and_then(|requests| milli(requests, resource))
    {
        return Ok(request);
    }
    let sidecars = spec.init_containers.iter().filter(|container| container.is_sidecar);
    let mut sum = 0;
    let mut found = false;
    for own in spec.containers.iter().chain(sidecars) {
        if container.is_none_or(|wanted| *wanted == own.name) {
            found = true;
            sum += container_milli(own, resource).ok_or_else(|| MetricError::MissingRequest {
                container: own.name.clone(),
                pod: pod.meta.name.clone(),
            })?;
        }
    }
    match container {
        Some(container) if !found => {
            Err(MetricError::ContainerNotFound { container: container.clone(), pod: pod.meta.name.clone() })
        }
        _ => Ok(sum),
    }
}

fn container_milli(container: &Container, resource: &str) -> Option<i64> {
    milli(&container.requests, resource)
}

fn milli(requests: &crate::model::Resources, resource: &str) -> Option<i64> {
    match resource {
        "cpu" => requests.cpu_milli,
        "memory" => requests.memory_bytes.map(|bytes| bytes.saturating_mul(1_000)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_below_zero_asks_for_everything() {
        // 2 - 3 < 0; i64::MAX + 1 wraps below zero; 5 + 7 = 12.
        assert_eq!(external_sum([2_000, -3_000]), i64::MAX);
        assert_eq!(external_sum([i64::MAX, 1]), i64::MAX);
        assert_eq!(external_sum([5_000, 7_000]), 12_000);
    }

    #[test]
    fn tolerances_are_floats_of_their_digits() {
        // 75 x 0.001; 1 x 1; 1500 x 0.000001.
        for (nano, expected) in [(75_000_000, 0.075), (1_000_000_000, 1.0), (1_500_000, 0.0015), (0, 0.0)] {
            assert!((approximate_float(nano) - expected).abs() < 1e-18, "{nano}");
        }
    }
}
