//! What a named work queue counts and measures.
//!
//! Upstream: k8s.io/client-go util/workqueue/metrics.go, v1.36.

use crate::model::{Span, Time};

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

/// When the gauges of held keys were last sampled, and what they were then.
///
/// Upstream samples every 0.5 s from the queue's creation until its shutdown. Nothing is scheduled for that here: before
/// the set of held keys changes, and when somebody looks, the samples that were due since are made up for, of which only
/// the last can be seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::client) struct GaugeSamples {
    created_at: Time,
    next: Time,
    unfinished_work: Span,
    longest_running: Span,
    stopped: bool,
}

/// Between two samples.
const SAMPLE_PERIOD: Span = Span::from_milliseconds(500);

impl GaugeSamples {
    /// For a queue made at this instant.
    pub(in crate::client) fn starting(created_at: Time) -> GaugeSamples {
        GaugeSamples { created_at, next: created_at + SAMPLE_PERIOD, ..GaugeSamples::default() }
    }

    /// The instant of the last sample due by `now`, if it was not taken yet.
    pub(in crate::client) fn due(&self, now: Time) -> Option<Time> {
        if now < self.next || self.stopped {
            return None;
        }
        let age = now - self.created_at;
        Some(self.created_at + Span(age.0 - age.0 % SAMPLE_PERIOD.0))
    }

    /// Takes the sample of `at`: the sum and the longest of the times that keys have been held by then.
    pub(in crate::client) fn take(&mut self, at: Time, unfinished_work: Span, longest_running: Span) {
        self.next = at + SAMPLE_PERIOD;
        self.unfinished_work = unfinished_work;
        self.longest_running = longest_running;
    }

    /// The queue shuts down: the last sample stays.
    pub(in crate::client) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Unfinished work and longest running of the last sample.
    pub(in crate::client) fn last(&self) -> (Span, Span) {
        (self.unfinished_work, self.longest_running)
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
