//! How old a cache is: for how long the oldest write that it misses has been in the store.

use crate::model::{Span, Time};

/// Follows the staleness of one informer's cache through a run.
///
/// While the oldest write missing in the cache was committed at `w`, the staleness at `t` is `t - w`; while nothing is
/// missing it is 0. The meter keeps the time integral in whole numbers, so that the mean is exact and does not depend on
/// how often it is told.
#[derive(Clone, PartialEq, Debug)]
pub struct StalenessMeter {
    at: Time,
    /// Whether the cache is there: that of a dead process is not.
    observing: bool,
    observed: Span,
    oldest_missing: Option<Time>,
    /// Integral so far, ns * ns, doubled to stay whole.
    doubled_integral_ns2: i128,
    max: Span,
}

impl StalenessMeter {
    /// A meter of a cache that misses nothing at `now`.
    pub fn new(now: Time) -> StalenessMeter {
        StalenessMeter {
            at: now,
            observing: true,
            observed: Span::ZERO,
            oldest_missing: None,
            doubled_integral_ns2: 0,
            max: Span::ZERO,
        }
    }

    /// From `now` on, the oldest write that the cache misses is the one committed at `oldest_missing`.
    pub fn set(&mut self, now: Time, oldest_missing: Option<Time>) {
        self.advance(now);
        self.observing = true;
        self.oldest_missing = oldest_missing;
    }

    /// From `now` until the next call of [`StalenessMeter::set`] there is no cache: that time counts for nothing.
    pub fn pause(&mut self, now: Time) {
        self.advance(now);
        self.observing = false;
        self.oldest_missing = None;
    }

    /// Whether there is a cache: not since [`StalenessMeter::pause`].
    pub fn is_observing(&self) -> bool {
        self.observing
    }

    /// The commit of the oldest write that the cache misses.
    pub fn oldest_missing(&self) -> Option<Time> {
        self.oldest_missing
    }

    /// The staleness at `now`, which is not before the last call of [`StalenessMeter::set`].
    pub fn staleness(&self, now: Time) -> Span {
        self.oldest_missing.map_or(Span::ZERO, |missing| now - missing)
    }

    /// What was measured until `now`.
    pub fn result(&self, informer: String, now: Time) -> InformerStaleness {
        let mut meter = self.clone();
        meter.advance(now);
        InformerStaleness {
            informer,
            observed: meter.observed,
            doubled_integral_ns2: meter.doubled_integral_ns2,
            max: meter.max,
        }
    }

    fn advance(&mut self, now: Time) {
        assert!(now >= self.at, "time runs forwards");
        if let Some(missing) = self.oldest_missing {
            // The staleness rises with slope 1 from a to b: the area is (b^2 - a^2) / 2.
            let (a, b) = (i128::from((self.at - missing).0), i128::from((now - missing).0));
            self.doubled_integral_ns2 += b * b - a * a;
            self.max = self.max.max(now - missing);
        }
        if self.observing {
            self.observed = self.observed + (now - self.at);
        }
        self.at = now;
    }
}

/// The staleness of one informer over a run.
#[derive(Clone, PartialEq, Debug)]
pub struct InformerStaleness {
    /// Process and kind, e.g. `kube-controller-manager/Pod`.
    pub informer: String,
    /// How long it was observed.
    pub observed: Span,
    /// Twice the integral of the staleness over time, ns * ns.
    pub doubled_integral_ns2: i128,
    /// The largest staleness.
    pub max: Span,
}

/// The mean over all informers and the whole time they were observed, in seconds; `None` without informers.
pub fn mean_seconds(informers: &[InformerStaleness]) -> Option<f64> {
    let observed_ns: i128 = informers.iter().map(|informer| i128::from(informer.observed.0)).sum();
    if observed_ns == 0 {
        return None;
    }
    let doubled_ns2: i128 = informers.iter().map(|informer| informer.doubled_integral_ns2).sum();
    Some(doubled_ns2 as f64 / (2 * observed_ns) as f64 / 1e9)
}

/// The largest over all informers, in seconds; `None` without informers.
pub fn max_seconds(informers: &[InformerStaleness]) -> Option<f64> {
    informers.iter().map(|informer| informer.max).max().map(Span::as_seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time(seconds * 1_000_000_000)
    }

    #[test]
    fn mean_and_max_follow_the_saw_tooth() {
        let mut meter = StalenessMeter::new(at(0));
        meter.set(at(10), Some(at(10)));
        assert_eq!(meter.staleness(at(12)), Span::from_seconds(2));
        meter.set(at(14), Some(at(12)));
        meter.set(at(16), None);
        // 10..14: 0 to 4, area 8; 14..16: 2 to 4, area 6; 14 over 20 s = 0.7.
        let result = meter.result("m/Pod".to_string(), at(20));
        assert_eq!(result.max, Span::from_seconds(4));
        assert_eq!(mean_seconds(std::slice::from_ref(&result)), Some(0.7));
        // A second informer that never lags, over 20 s: 14 / 40 = 0.35.
        let fresh = StalenessMeter::new(at(0)).result("m/Node".to_string(), at(20));
        assert_eq!(mean_seconds(&[result.clone(), fresh.clone()]), Some(0.35));
        assert_eq!(max_seconds(&[fresh, result]), Some(4.0));
    }

    #[test]
    fn a_dead_process_has_no_cache_that_could_be_stale() {
        let mut meter = StalenessMeter::new(at(0));
        meter.set(at(2), Some(at(2)));
        meter.pause(at(4));
        assert!(!meter.is_observing());
        meter.set(at(10), None);
        // 2..4: 0 to 2, area 2; observed 0..4 and 10..14: 8 s; 2 / 8 = 0.25.
        let result = meter.result(String::new(), at(14));
        assert_eq!((result.observed, result.max), (Span::from_seconds(8), Span::from_seconds(2)));
        assert_eq!(mean_seconds(&[result]), Some(0.25));
    }

    #[test]
    fn being_told_more_often_changes_nothing() {
        let (mut rarely, mut often) = (StalenessMeter::new(at(0)), StalenessMeter::new(at(0)));
        rarely.set(at(3), Some(at(1)));
        for second in 3..50 {
            often.set(at(second), Some(at(1)));
        }
        assert_eq!(rarely.result(String::new(), at(60)), often.result(String::new(), at(60)));
        assert_eq!((mean_seconds(&[]), max_seconds(&[])), (None, None));
    }
}
