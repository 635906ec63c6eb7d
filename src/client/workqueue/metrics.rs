//! What a named work queue counts and measures.
//!
//! Upstream: k8s.io/client-go util/workqueue/metrics.go, v1.36.

use crate::model::Span;

/// The counters of one work queue. The gauges `workqueue_unfinished_work_seconds` and
/// `workqueue_longest_running_processor_seconds` depend on the present and are asked of the queue itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Metrics {
    /// `workqueue_depth`: accepted adds minus gets. Counts keys that wait for their own Done, which `len` does not;
    /// Done for a key that nobody holds can drive it below zero.
    pub depth: i64,
    /// `workqueue_adds_total`: adds that were neither refused nor deduplicated. A requeue at Done is not an add.
    pub adds_total: u64,
    /// `workqueue_retries_total`: every AddAfter that was not refused, whatever its delay.
    pub retries_total: u64,
    /// `workqueue_queue_duration_seconds`: from the accepted add (a re-add counts from the re-add) to the get.
    pub queue_duration: DurationMetric,
    /// `workqueue_work_duration_seconds`: from the get to the Done.
    pub work_duration: DurationMetric,
}

/// Observations of one duration.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DurationMetric {
    /// How many observations.
    pub count: u64,
    /// Their sum, in nanoseconds.
    pub sum_ns: i128,
    /// The longest.
    pub max: Span,
}

impl DurationMetric {
    /// Adds an observation.
    pub fn observe(&mut self, span: Span) {
        self.count += 1;
        self.sum_ns += i128::from(span.0);
        self.max = self.max.max(span);
    }

    /// The mean in seconds; `None` without observations. For output only.
    pub fn mean_seconds(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum_ns as f64 / self.count as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_count_sum_and_maximum() {
        let mut durations = DurationMetric::default();
        assert_eq!(durations.mean_seconds(), None);
        for milliseconds in [1, 5, 3] {
            durations.observe(Span::from_milliseconds(milliseconds));
        }
        // 1 + 5 + 3 = 9 ms over 3 observations: mean 3 ms.
        assert_eq!((durations.count, durations.sum_ns, durations.max), (3, 9_000_000, Span(5_000_000)));
        assert_eq!(durations.mean_seconds(), Some(0.003));
    }
}
