//! Fallback: what stands in for a metric whose source has failed too often in a row.
//!
//! Polls of KEDA and queries of the HPA count failures together, so the threshold passes sooner than polls alone would
//! make it.
//!
//! Upstream: kedacore/keda pkg/fallback/fallback.go.

use super::scaled_object::{Fallback, FallbackBehavior, MetricType, ScaledObject};
use super::status::{Condition, Status};
use crate::model::ConditionStatus;

/// Replicas of the target when a metric is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replicas {
    /// `spec.replicas` of its scale.
    pub current: i32,
    /// Pods that are Running and Ready.
    pub ready: i32,
}

/// What the HPA is to reach: the target of a metric.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MetricTarget {
    /// Per pod, or for all.
    pub value: f64,
    /// Which of both.
    pub metric_type: MetricType,
}

impl Fallback {
    /// The replicas it asks for.
    pub fn wanted(&self, current: i32) -> i32 {
        match self.behavior {
            FallbackBehavior::Static => self.replicas,
            FallbackBehavior::CurrentReplicas => current,
            FallbackBehavior::CurrentReplicasIfHigher => self.replicas.max(current),
            FallbackBehavior::CurrentReplicasIfLower => self.replicas.min(current),
        }
    }

    /// The metric from which the HPA computes those replicas, in thousandths; `None` where it multiplies by ready pods and
    /// there are none.
    pub fn metric_milli(&self, target: MetricTarget, replicas: Replicas) -> Option<i64> {
        let mut wanted = f64::from(self.wanted(replicas.current));
        if target.metric_type == MetricType::Value {
            if replicas.ready == 0 {
                return None;
            }
            wanted /= f64::from(replicas.ready);
        }
        Some((target.value * 1_000.0 * wanted) as i64)
    }
}

impl Status {
    /// Notes whether a trigger answered; true if it has failed so often that the fallback stands in. Objects without a
    /// fallback do not count.
    pub fn note_answer(&mut self, object: &ScaledObject, trigger: usize, answered: bool) -> bool {
        let Some(fallback) = &object.fallback else { return false };
        let failures = &mut self.failures[trigger];
        *failures = if answered { 0 } else { failures.saturating_add(1) };
        let falls_back = *failures > fallback.failure_threshold;
        let any = self.failures.iter().any(|failures| *failures > fallback.failure_threshold);
        self.fallback = match any {
            true => Condition::new(ConditionStatus::True, "FallbackExists"),
            false => Condition::new(ConditionStatus::False, "NoFallbackFound"),
        };
        falls_back
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fallback(behavior: FallbackBehavior) -> Fallback {
        Fallback { failure_threshold: 3, replicas: 6, behavior }
    }

    #[test]
    fn behaviors() {
        for (behavior, at_two, at_nine) in [
            (FallbackBehavior::Static, 6, 6),
            (FallbackBehavior::CurrentReplicas, 2, 9),
            (FallbackBehavior::CurrentReplicasIfHigher, 6, 9),
            (FallbackBehavior::CurrentReplicasIfLower, 2, 6),
        ] {
            let wanted = |current| fallback(behavior).wanted(current);
            assert_eq!((wanted(2), wanted(9)), (at_two, at_nine), "{behavior:?}");
        }
    }

    #[test]
    fn the_metric_gives_the_replicas() {
        let metric = |metric_type, ready| {
            let target = MetricTarget { value: 2.5, metric_type };
            fallback(FallbackBehavior::Static).metric_milli(target, Replicas { current: 4, ready })
        };
        // 2.5 x 6 = 15.
        assert_eq!(metric(MetricType::AverageValue, 0), Some(15_000));
        // 2.5 x 6/4 = 3.75: of 4 ready pods the HPA makes 4 x 3.75/2.5 = 6.
        assert_eq!(metric(MetricType::Value, 4), Some(3_750));
        assert_eq!(metric(MetricType::Value, 0), None);
    }
}
