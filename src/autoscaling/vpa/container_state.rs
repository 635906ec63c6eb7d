//! What is known of a container's usage: the last samples of one instance, and the sum over all instances.
//!
//! Upstream: vertical-pod-autoscaler/pkg/recommender/model/{container,aggregate_container_state}.go, 1.6.
//! Not modelled: bump-up settings of a single VPA (gate PerVPAConfig), quality metrics, checkpoints.

use super::amounts::scaled;
use super::histogram::{Buckets, DecayingHistogram};
use crate::model::{Span, Time};

/// Half-life of both histograms, and the length of a window that counts one memory peak.
const DAY: Span = Span::from_seconds(24 * 3600);
/// Weight of a CPU sample.
const CPU_WEIGHT: f64 = 0.1;
/// What an OOM adds at least to what was used.
const OOM_MIN_BUMP_UP_BYTES: i64 = 100 * 1024 * 1024;
/// What an OOM multiplies it with at least.
const OOM_BUMP_UP_RATIO: f64 = 1.2;
/// CPU samples of a day with one a minute.
const SAMPLES_A_DAY: f64 = 1440.0;

/// Usage of all instances of a container, the base of its recommendation.
#[derive(Clone, PartialEq, Debug)]
pub struct Aggregate {
    /// CPU usage in cores.
    pub cpu_usage: DecayingHistogram,
    /// Daily peaks of memory in bytes.
    pub memory_peaks: DecayingHistogram,
    /// When the earliest CPU sample was taken.
    pub first_sample: Option<Time>,
    /// When the latest CPU sample was taken.
    pub last_sample: Option<Time>,
    /// How many CPU samples there are.
    pub samples: u64,
}

impl Default for Aggregate {
    fn default() -> Aggregate {
        Aggregate {
            cpu_usage: DecayingHistogram::new(Buckets::cpu(), DAY),
            memory_peaks: DecayingHistogram::new(Buckets::memory(), DAY),
            first_sample: None,
            last_sample: None,
            samples: 0,
        }
    }
}

impl Aggregate {
    fn add_cpu(&mut self, at: Time, milli: i64) {
        self.cpu_usage.add(milli as f64 / 1000.0, CPU_WEIGHT, at);
        self.first_sample = Some(self.first_sample.map_or(at, |first| first.min(at)));
        self.last_sample = self.last_sample.max(Some(at));
        self.samples += 1;
    }

    /// Adds what is known of another set of instances. Its histograms may be rescaled.
    pub fn merge(&mut self, other: &mut Aggregate) {
        self.cpu_usage.merge(&mut other.cpu_usage);
        self.memory_peaks.merge(&mut other.memory_peaks);
        self.first_sample = match (self.first_sample, other.first_sample) {
            (Some(own), Some(theirs)) => Some(own.min(theirs)),
            (own, theirs) => own.or(theirs),
        };
        self.last_sample = self.last_sample.max(other.last_sample);
        self.samples += other.samples;
    }

    /// How far the samples can be trusted: the days that they span or that they would fill, whichever is less.
    ///
    /// Upstream: recommender/logic/estimator.go (`getConfidence`).
    pub fn confidence(&self) -> f64 {
        let span = match (self.first_sample, self.last_sample) {
            (Some(first), Some(last)) => last - first,
            _ => Span::ZERO,
        };
        let days = span.0 as f64 / DAY.0 as f64;
        days.min(self.samples as f64 / SAMPLES_A_DAY)
    }
}

/// One container of one pod: decides which samples count.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Instance {
    last_cpu_sample: Option<Time>,
    last_memory_sample: Option<Time>,
    /// End of the window that has one peak, not part of it.
    window_end: Option<Time>,
    memory_peak_bytes: i64,
    /// Peak that an OOM of this window stands for.
    oom_peak_bytes: i64,
}

impl Instance {
    /// Adds a sample of CPU usage. `false` if it is not later than the last one, or negative.
    pub fn add_cpu(&mut self, aggregate: &mut Aggregate, at: Time, milli: i64) -> bool {
        if milli < 0 || Some(at) <= self.last_cpu_sample {
            return false;
        }
        aggregate.add_cpu(at, milli);
        self.last_cpu_sample = Some(at);
        true
    }

    /// Adds a sample of memory usage. `false` if it is earlier than the last one, or negative.
    pub fn add_memory(&mut self, aggregate: &mut Aggregate, at: Time, bytes: i64) -> bool {
        if bytes < 0 || Some(at) < self.last_memory_sample {
            return false;
        }
        if self.is_new_peak(aggregate, at, bytes) {
            self.memory_peak_bytes = bytes;
        }
        true
    }

    /// Adds the end of a container for want of memory, with the request that it had. `false` if that was before the
    /// window of the last samples.
    pub fn record_oom(&mut self, aggregate: &mut Aggregate, at: Time, request_bytes: i64) -> bool {
        if self.window_end.is_some_and(|end| at < end - DAY) {
            return false;
        }
        // Peaks of earlier OOMs stay out, or OOMs of one window would compound.
        let used = request_bytes.max(self.memory_peak_bytes);
        let needed = used.saturating_add(OOM_MIN_BUMP_UP_BYTES).max(scaled(used, OOM_BUMP_UP_RATIO));
        if self.is_new_peak(aggregate, at, needed) {
            self.oom_peak_bytes = needed;
        }
        true
    }

    /// Counts a usage that opens a window or exceeds the window's peak; the old peak is taken back.
    fn is_new_peak(&mut self, aggregate: &mut Aggregate, at: Time, bytes: i64) -> bool {
        self.last_memory_sample = Some(at);
        let end = self.window_end.unwrap_or(at);
        if at < end {
            let peak = self.memory_peak_bytes.max(self.oom_peak_bytes);
            // Upstream takes a peak of nothing for no peak: after it nothing counts until the next window.
            if peak == 0 || bytes <= peak {
                return false;
            }
            aggregate.memory_peaks.subtract(peak as f64, 1.0, end);
            aggregate.memory_peaks.add(bytes as f64, 1.0, end);
            return true;
        }
        let whole_windows = (at - end).0 / DAY.0;
        let end = end + Span(DAY.0 * (whole_windows + 1));
        self.window_end = Some(end);
        (self.memory_peak_bytes, self.oom_peak_bytes) = (0, 0);
        aggregate.memory_peaks.add(bytes as f64, 1.0, end);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: i64 = 1024 * 1024;

    fn at(hours: i64) -> Time {
        Time(0) + Span::from_seconds(hours * 3600)
    }

    /// The border above an amount, in MiB.
    fn peak_mib(aggregate: &Aggregate) -> i64 {
        (aggregate.memory_peaks.percentile(1.0) / MIB as f64) as i64
    }

    #[test]
    fn cpu_samples_have_to_be_later() {
        let (mut instance, mut aggregate) = (Instance::default(), Aggregate::default());
        assert!(instance.add_cpu(&mut aggregate, at(0), 100));
        assert!(!instance.add_cpu(&mut aggregate, at(0), 100));
        assert!(!instance.add_cpu(&mut aggregate, at(1), -1));
        assert!(instance.add_cpu(&mut aggregate, at(12), 100));
        assert_eq!(aggregate.samples, 2);
        // Half a day, but two samples of 1,440.
        assert_eq!(aggregate.confidence(), 2.0 / 1440.0);
    }

    #[test]
    fn a_window_counts_its_highest_sample() {
        let (mut instance, mut aggregate) = (Instance::default(), Aggregate::default());
        assert!(instance.add_memory(&mut aggregate, at(0), 100 * MIB));
        assert!(instance.add_memory(&mut aggregate, at(1), 400 * MIB));
        assert!(instance.add_memory(&mut aggregate, at(1), 200 * MIB));
        assert!(!instance.add_memory(&mut aggregate, at(0), 900 * MIB));
        let only_peak = peak_mib(&aggregate);
        assert!((400..425).contains(&only_peak), "{only_peak}");
        assert_eq!(aggregate.memory_peaks.percentile(0.01), aggregate.memory_peaks.percentile(1.0));
        // The window ends at 24 h; a sample then opens the next one.
        assert!(instance.add_memory(&mut aggregate, at(24), 100 * MIB));
        assert!(aggregate.memory_peaks.percentile(0.01) < aggregate.memory_peaks.percentile(1.0));
        assert_eq!(instance.window_end, Some(at(48)));
        assert!(instance.add_memory(&mut aggregate, at(100), 100 * MIB));
        assert_eq!(instance.window_end, Some(at(120)), "100 is in the window 96 to 120");
    }

    #[test]
    fn an_oom_asks_for_more_but_does_not_compound() {
        let (mut instance, mut aggregate) = (Instance::default(), Aggregate::default());
        instance.add_memory(&mut aggregate, at(0), 300 * MIB);
        // max(300 + 100, 1.2 * 300) = 400
        assert!(instance.record_oom(&mut aggregate, at(1), 200 * MIB));
        assert_eq!(instance.oom_peak_bytes, 400 * MIB);
        assert!(instance.record_oom(&mut aggregate, at(2), 200 * MIB));
        assert_eq!(instance.oom_peak_bytes, 400 * MIB);
        // max(1000 + 100, 1.2 * 1000) = 1200
        assert!(instance.record_oom(&mut aggregate, at(3), 1000 * MIB));
        assert_eq!(instance.oom_peak_bytes, 1200 * MIB);
        // The window began at 0.
        assert!(!instance.record_oom(&mut aggregate, at(0) - Span(1), 2000 * MIB));
        assert!(instance.record_oom(&mut aggregate, at(0), 2000 * MIB));
    }
}
