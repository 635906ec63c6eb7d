//! ScaledJobs: how many Jobs a poll creates.
//!
//! Upstream: kedacore/keda pkg/scaling/scaledjob/metrics.go, pkg/scaling/executor/scale_jobs.go.

use serde_json::Value;

use super::scaled_object::{SpecError, int32, wrong};
use super::triggers::TriggerValue;
use crate::model::Time;

const DEFAULT_MAX_REPLICAS: i64 = 100;
const DEFAULT_HISTORY_LIMIT: i32 = 100;

/// What of a ScaledJob's spec decides how many Jobs there are.
#[derive(Clone, PartialEq, Debug)]
pub struct ScaledJob {
    /// `minReplicaCount`
    pub min_replicas: Option<i32>,
    /// `maxReplicaCount`
    pub max_replicas: Option<i32>,
    /// `scalingStrategy.strategy`
    pub strategy: Strategy,
    /// `scalingStrategy.multipleScalersCalculation`
    pub calculation: Calculation,
    /// `scalingStrategy.pendingPodConditions`
    pub pending_pod_conditions: Vec<String>,
    /// `successfulJobsHistoryLimit`
    pub successful_limit: i32,
    /// `failedJobsHistoryLimit`
    pub failed_limit: i32,
}

/// How running Jobs are taken into account.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Strategy {
    /// They handle a part of the queue already.
    #[default]
    Default,
    /// A share of them does.
    Custom {
        /// `customScalingQueueLengthDeduction`
        deduction: i64,
        /// `customScalingRunningJobPercentage`; `None` if it is no number: then as the default.
        percentage: Option<f64>,
    },
    /// They have taken their messages off the queue; pending ones have not.
    Accurate,
    /// As many as are allowed.
    Eager,
}

/// What several active triggers come to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Calculation {
    /// The one with the longest queue.
    #[default]
    Max,
    /// The one with the shortest queue.
    Min,
    /// Their mean.
    Average,
    /// Their sum.
    Sum,
}

/// What one trigger says.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Queue {
    /// Its metric.
    pub length: f64,
    /// The metric that one Job is to handle.
    pub target: f64,
    /// Whether it is active.
    pub is_active: bool,
}

impl Queue {
    /// A queue as its trigger tells it: the metric, and the target of the metric for one Job.
    pub fn of(value: TriggerValue, target: f64) -> Queue {
        Queue { length: value.metric_milli as f64 / 1_000.0, target, is_active: value.is_active }
    }
}

/// What all triggers come to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Demand {
    /// Whether there is anything to do.
    pub is_active: bool,
    /// The queue, rounded up.
    pub queue_length: i64,
    /// Jobs that it is worth, limited by the maximum and rounded up.
    pub max_value: i64,
    /// The same before rounding.
    pub max_float: f64,
}

/// How a Job ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Finished {
    /// Condition Complete.
    Complete,
    /// Condition Failed.
    Failed,
}

/// A Job of the ScaledJob, as far as decisions go by it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobView {
    /// How it ended, if it has.
    pub finished: Option<Finished>,
    /// Its pods.
    pub pods: Vec<PodView>,
}

/// A pod of a Job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodView {
    /// Whether its phase is Running or Succeeded.
    pub has_started: bool,
    /// Types of its conditions that are True.
    pub true_conditions: Vec<String>,
}

/// How many Jobs a poll creates, and from what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Creation {
    /// Jobs to create.
    pub created: i64,
    /// Jobs that have not ended.
    pub running: i64,
    /// Those of them that have not begun.
    pub pending: i64,
    /// Which rule gave the number.
    pub bound: Bound,
}

/// What a number of created Jobs came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// There were fewer than the minimum.
    Minimum,
    /// No trigger is active.
    Inactive,
    /// The queue is shorter than the strategy would allow.
    Queue,
    /// The strategy allows no more.
    Strategy,
}

impl ScaledJob {
    /// Reads the `spec` of a manifest that the API server has accepted.
    ///
    /// # Errors
    /// The first field of another type than its definition says.
    pub fn from_spec(spec: &Value) -> Result<ScaledJob, SpecError> {
        let scaling = &spec["scalingStrategy"];
        let word = |name: &str| scaling[name].as_str().unwrap_or_default();
        let strategy = match word("strategy") {
            "custom" => Strategy::Custom {
                deduction: int32(scaling, "customScalingQueueLengthDeduction")?.map_or(0, i64::from),
                percentage: word("customScalingRunningJobPercentage").parse().ok(),
            },
            "accurate" => Strategy::Accurate,
            "eager" => Strategy::Eager,
            _ => Strategy::Default,
        };
        let calculation = match word("multipleScalersCalculation") {
            "" | "max" => Calculation::Max,
            "min" => Calculation::Min,
            "avg" => Calculation::Average,
            "sum" => Calculation::Sum,
            other => {
                let path = "scalingStrategy.multipleScalersCalculation";
                return Err(wrong(path, format!("unknown calculation {other:?}")));
            }
        };
        let conditions = scaling["pendingPodConditions"].as_array().into_iter().flatten();
        Ok(ScaledJob {
            min_replicas: int32(spec, "minReplicaCount")?,
            max_replicas: int32(spec, "maxReplicaCount")?,
            strategy,
            calculation,
            pending_pod_conditions: conditions.filter_map(|name| name.as_str().map(String::from)).collect(),
            successful_limit: int32(spec, "successfulJobsHistoryLimit")?.unwrap_or(DEFAULT_HISTORY_LIMIT),
            failed_limit: int32(spec, "failedJobsHistoryLimit")?.unwrap_or(DEFAULT_HISTORY_LIMIT),
        })
    }

    /// The minimum that counts: never above the maximum.
    fn min(&self) -> i64 {
        let min = self.min_replicas.map_or(0, i64::from);
        self.max_replicas.map_or(min, |max| min.min(i64::from(max)))
    }

    /// How many Jobs there may be besides the minimum.
    fn max_besides(&self) -> i64 {
        let min = self.min_replicas.map_or(0, i64::from);
        match self.max_replicas.map(i64::from) {
            None => DEFAULT_MAX_REPLICAS,
            Some(max) if min > max => max,
            Some(max) => max - min,
        }
    }

    /// What the triggers come to.
    pub fn demand(&self, queues: &[Queue]) -> Demand {
        let most = self.max_besides() as f64;
        let active: Vec<(f64, f64)> = queues
            .iter()
            .filter(|queue| queue.is_active)
            .map(|queue| (queue.length, (queue.length / queue.target).min(most)))
            .collect();
        let (length, value) = combined(self.calculation, &active);
        let value = value.min(most);
        Demand {
            is_active: !active.is_empty() || self.min() > 0,
            queue_length: libm::ceil(length) as i64,
            max_value: libm::ceil(value) as i64,
            max_float: value,
        }
    }

    /// How many Jobs to create.
    pub fn creation(&self, demand: &Demand, jobs: &[JobView]) -> Creation {
        let running = jobs.iter().filter(|job| job.finished.is_none()).count() as i64;
        let pending = jobs.iter().filter(|job| self.is_pending(job)).count() as i64;
        let creation = |created, bound| Creation { created, running, pending, bound };
        let min = self.min();
        if running < min {
            return creation(min - running, Bound::Minimum);
        }
        if !demand.is_active {
            return creation(0, Bound::Inactive);
        }
        let most = self.max_besides();
        let allowed = self.allowed(demand.max_value, running - min, pending).max(0);
        let wanted = if self.strategy == Strategy::Eager { most } else { demand.queue_length };
        match wanted <= allowed {
            true => creation(wanted, Bound::Queue),
            false => creation(allowed, Bound::Strategy),
        }
    }

    fn allowed(&self, max_scale: i64, running: i64, pending: i64) -> i64 {
        let most = self.max_besides();
        match &self.strategy {
            Strategy::Custom { deduction, percentage: Some(share) } => {
                let handled = (running as f64 * share) as i64;
                (max_scale - deduction - handled).min(most)
            }
            Strategy::Default | Strategy::Custom { .. } => max_scale - running,
            Strategy::Accurate if max_scale + running - pending > most => most - running,
            Strategy::Accurate => max_scale - pending,
            Strategy::Eager => (most - running - pending).min(max_scale),
        }
    }

    /// Whether no pod of an unfinished Job has begun, or has all the conditions that tell so.
    fn is_pending(&self, job: &JobView) -> bool {
        let has_begun = |pod: &PodView| match self.pending_pod_conditions.is_empty() {
            true => pod.has_started,
            false => self.pending_pod_conditions.iter().all(|wanted| pod.true_conditions.contains(wanted)),
        };
        job.finished.is_none() && !job.pods.iter().any(has_begun)
    }

    /// Which finished Jobs are deleted, of a list of how and when each ended: those beyond the limits, oldest first.
    pub fn trimmed(&self, finished: &[(Finished, Time)]) -> Vec<usize> {
        let mut trimmed = Vec::new();
        for (how, limit) in [(Finished::Complete, self.successful_limit), (Finished::Failed, self.failed_limit)] {
            let mut ended: Vec<usize> = (0..finished.len()).filter(|index| finished[*index].0 == how).collect();
            ended.sort_by_key(|index| finished[*index].1);
            let kept = usize::try_from(limit).unwrap_or(0);
            ended.truncate(ended.len().saturating_sub(kept));
            trimmed.extend(ended);
        }
        trimmed
    }
}

/// Queue and value of several active triggers; of two with equal queues the first counts.
fn combined(calculation: Calculation, active: &[(f64, f64)]) -> (f64, f64) {
    let count = active.len() as f64;
    let sums = active.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let first = |beats: fn(f64, f64) -> bool| {
        active.iter().copied().reduce(|best, one| if beats(one.0, best.0) { one } else { best }).unwrap_or_default()
    };
    match calculation {
        Calculation::Max => first(|a, b| a > b),
        Calculation::Min => first(|a, b| a < b),
        Calculation::Average if active.is_empty() => (0.0, 0.0),
        Calculation::Average => (sums.0 / count, sums.1 / count),
        Calculation::Sum => sums,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(min: Option<i32>, max: Option<i32>) -> ScaledJob {
        ScaledJob { min_replicas: min, max_replicas: max, ..ScaledJob::from_spec(&json!({})).unwrap() }
    }

    #[test]
    fn a_minimum_is_taken_off_the_maximum_unless_it_is_above() {
        assert_eq!((job(Some(3), Some(10)).min(), job(Some(3), Some(10)).max_besides()), (3, 7));
        assert_eq!((job(Some(12), Some(10)).min(), job(Some(12), Some(10)).max_besides()), (10, 10));
        assert_eq!((job(Some(3), None).min(), job(Some(3), None).max_besides()), (3, 100));
    }

    #[test]
    fn the_minimum_comes_first() {
        let spec = job(Some(3), Some(10));
        let demand = spec.demand(&[Queue::of(TriggerValue::plain(50.0, 0.0), 5.0)]);
        // 50/5 = 10, limited to 10 - 3.
        assert_eq!((demand.queue_length, demand.max_value), (50, 7));
        let running = JobView { finished: None, pods: Vec::new() };
        let creation = spec.creation(&demand, &vec![running.clone(); 2]);
        assert_eq!((creation.created, creation.bound), (1, Bound::Minimum));
        // 5 running, 2 of them beyond the minimum: 7 - 2.
        let creation = spec.creation(&demand, &vec![running; 5]);
        assert_eq!((creation.created, creation.bound), (5, Bound::Strategy));
    }

    #[test]
    fn the_oldest_finished_jobs_go() {
        let spec = ScaledJob { successful_limit: 1, failed_limit: 0, ..job(None, None) };
        let finished = [
            (Finished::Complete, Time(30)),
            (Finished::Complete, Time(10)),
            (Finished::Failed, Time(5)),
            (Finished::Complete, Time(20)),
        ];
        assert_eq!(spec.trimmed(&finished), [1, 3, 2]);
    }
}
