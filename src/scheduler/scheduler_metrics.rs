//! What the scheduler counts, with upstream's names. Of a histogram the sum and the count of its observations are kept.
//!
//! Upstream: pkg/scheduler/metrics/metrics.go, v1.36. Not modelled: durations of extension points and plugins, which no time of
//! ours belongs to; goroutines; event handling.

use super::framework::Profiles;
use super::queue::SchedulingQueue;
use crate::component::MetricSink;
use crate::model::Span;

/// Attempts from here on share a label.
const MANY_ATTEMPTS: usize = 15;
/// Values of the label `attempts`, by number.
const ATTEMPTS: [&str; MANY_ATTEMPTS + 1] =
    ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15+"];

/// How an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The pod was bound.
    Scheduled,
    /// No node, or a plugin said no.
    Unschedulable,
    /// Something went wrong.
    Error,
}

impl Outcome {
    const ALL: [(Outcome, &'static str); 3] =
        [(Outcome::Scheduled, "scheduled"), (Outcome::Unschedulable, "unschedulable"), (Outcome::Error, "error")];
}

/// Observations of a histogram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Observed {
    count: u64,
    sum: u64,
}

impl Observed {
    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += value;
    }

    fn add_span(&mut self, span: Span) {
        self.add(span.0.max(0).unsigned_abs());
    }

    fn seconds(self) -> f64 {
        Span(self.sum as i64).as_seconds()
    }
}

/// Counters of the scheduler.
#[derive(Clone, Debug)]
pub struct Metrics {
    /// Attempts by outcome, a profile.
    attempts: Vec<[Observed; 3]>,
    algorithm: Observed,
    /// From the first time that a pod could be tried until it was bound, by the number of its attempts.
    until_bound: [Observed; MANY_ATTEMPTS + 1],
    attempts_until_bound: Observed,
    preemption_attempts: u64,
    victims: Observed,
}

impl Metrics {
    /// Nothing happened yet.
    pub fn new(profiles: &Profiles) -> Metrics {
        Metrics {
            attempts: vec![Default::default(); profiles.iter().count()],
            algorithm: Observed::default(),
            until_bound: Default::default(),
            attempts_until_bound: Observed::default(),
            preemption_attempts: 0,
            victims: Observed::default(),
        }
    }

    /// An attempt of the profile with this place ended, so long after its cycle began.
    pub fn attempted(&mut self, profile: usize, outcome: Outcome, duration: Span) {
        self.attempts[profile][outcome as usize].add_span(duration);
    }

    /// A cycle has computed.
    pub fn computed(&mut self, duration: Span) {
        self.algorithm.add_span(duration);
    }

    /// A pod was bound at this attempt.
    pub fn bound(&mut self, attempts: u32, since_first: Span) {
        self.until_bound[(attempts as usize).min(MANY_ATTEMPTS)].add_span(since_first);
        self.attempts_until_bound.add(u64::from(attempts));
    }

    /// DefaultPreemption was asked.
    pub fn preemption_tried(&mut self) {
        self.preemption_attempts += 1;
    }

    /// So many pods have to go.
    pub fn preempts(&mut self, victims: usize) {
        self.victims.add(victims as u64);
    }

    /// All samples.
    pub fn sample(&self, profiles: &Profiles, queue: &SchedulingQueue, sink: &mut dyn MetricSink) {
        for (profile, attempts) in profiles.iter().zip(&self.attempts) {
            for ((_, result), observed) in Outcome::ALL.iter().zip(attempts) {
                let labels = [("profile", profile.scheduler_name.as_str()), ("result", *result)];
                let count = observed.count as f64;
                sink.sample("scheduler_schedule_attempts_total", &labels, count);
                sink.sample("scheduler_scheduling_attempt_duration_seconds_count", &labels, count);
                sink.sample("scheduler_scheduling_attempt_duration_seconds_sum", &labels, observed.seconds());
            }
        }
        let algorithm = self.algorithm;
        sink.sample("scheduler_scheduling_algorithm_duration_seconds_count", &[], algorithm.count as f64);
        sink.sample("scheduler_scheduling_algorithm_duration_seconds_sum", &[], algorithm.seconds());
        for (observed, attempts) in self.until_bound.iter().zip(ATTEMPTS).filter(|(observed, _)| observed.count > 0) {
            let labels = [("attempts", attempts)];
            sink.sample("scheduler_pod_scheduling_sli_duration_seconds_count", &labels, observed.count as f64);
            sink.sample("scheduler_pod_scheduling_sli_duration_seconds_sum", &labels, observed.seconds());
        }
        sink.sample("scheduler_pod_scheduling_attempts_count", &[], self.attempts_until_bound.count as f64);
        sink.sample("scheduler_pod_scheduling_attempts_sum", &[], self.attempts_until_bound.sum as f64);
        sink.sample("scheduler_preemption_attempts_total", &[], self.preemption_attempts as f64);
        sink.sample("scheduler_preemption_victims_count", &[], self.victims.count as f64);
        sink.sample("scheduler_preemption_victims_sum", &[], self.victims.sum as f64);
        sample_queue(queue, sink);
    }
}

fn sample_queue(queue: &SchedulingQueue, sink: &mut dyn MetricSink) {
    let pending = [
        ("active", queue.active_len()),
        ("backoff", queue.backoff_len()),
        ("unschedulable", queue.unschedulable_len()),
        ("gated", queue.gated_len()),
    ];
    for (name, pods) in pending {
        sink.sample("scheduler_pending_pods", &[("queue", name)], pods as f64);
    }
    for (event, name, count) in queue.counters().incoming() {
        sink.sample("scheduler_queue_incoming_pods_total", &[("event", event), ("queue", name)], count as f64);
    }
    for (plugin, profile, count) in queue.counters().unschedulable() {
        let labels = [("plugin", plugin), ("profile", profile.as_str())];
        sink.sample("scheduler_unschedulable_pods", &labels, count as f64);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::framework::{Profile, Version};
    use crate::scheduler::queue::BackoffSettings;

    struct Lines(Vec<String>);

    impl MetricSink for Lines {
        fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
            let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let name = metric.trim_start_matches("scheduler_");
            self.0.push(format!("{name}{{{}}} {value}", labels.join(",")));
        }
    }

    #[test]
    fn samples_tell_what_was_observed() {
        let profiles: Profiles = Rc::new(Profile::default_profile(Version::V1_36)).into();
        let mut metrics = Metrics::new(&profiles);
        metrics.attempted(0, Outcome::Scheduled, Span::from_milliseconds(12));
        metrics.attempted(0, Outcome::Unschedulable, Span::from_milliseconds(3));
        metrics.attempted(0, Outcome::Unschedulable, Span::from_milliseconds(4));
        metrics.computed(Span::from_milliseconds(3));
        metrics.bound(2, Span::from_milliseconds(1_500));
        metrics.bound(15, Span::from_seconds(100));
        metrics.bound(40, Span::from_seconds(300));
        metrics.preemption_tried();
        metrics.preempts(3);
        let queue = SchedulingQueue::new(profiles.clone(), BackoffSettings::default());
        let mut lines = Lines(Vec::new());
        metrics.sample(&profiles, &queue, &mut lines);
        for expected in [
            "schedule_attempts_total{profile=default-scheduler,result=scheduled} 1",
            "schedule_attempts_total{profile=default-scheduler,result=unschedulable} 2",
            "schedule_attempts_total{profile=default-scheduler,result=error} 0",
            // 3 ms + 4 ms.
            "scheduling_attempt_duration_seconds_sum{profile=default-scheduler,result=unschedulable} 0.007",
            "scheduling_attempt_duration_seconds_count{profile=default-scheduler,result=unschedulable} 2",
            "scheduling_algorithm_duration_seconds_count{} 1",
            "scheduling_algorithm_duration_seconds_sum{} 0.003",
            "pod_scheduling_sli_duration_seconds_sum{attempts=2} 1.5",
            // 15 and 40 share a label: 100 s + 300 s.
            "pod_scheduling_sli_duration_seconds_count{attempts=15+} 2",
            "pod_scheduling_sli_duration_seconds_sum{attempts=15+} 400",
            "pod_scheduling_attempts_count{} 3",
            // 2 + 15 + 40.
            "pod_scheduling_attempts_sum{} 57",
            "preemption_attempts_total{} 1",
            "preemption_victims_count{} 1",
            "preemption_victims_sum{} 3",
            "pending_pods{queue=active} 0",
        ] {
            assert!(lines.0.iter().any(|line| line == expected), "{expected} is not among {:#?}", lines.0);
        }
        // No series for a number of attempts that nobody needed.
        assert!(!lines.0.iter().any(|line| line.contains("attempts=1}")));
    }
}
