//! How long requests took at their server: `apiserver_request_duration_seconds`.
//!
//! From the arrival to the moment the reply leaves, so waiting for a seat and the commit count, travel does not.
//! Upstream: k8s.io/apiserver pkg/endpoints/metrics/metrics.go, v1.36 (name, meaning and buckets).

use crate::model::{Kind, Map, Span};

/// Upper bounds of the buckets.
const BUCKETS: [Span; 23] = [
    Span::from_milliseconds(5),
    Span::from_milliseconds(25),
    Span::from_milliseconds(50),
    Span::from_milliseconds(100),
    Span::from_milliseconds(200),
    Span::from_milliseconds(400),
    Span::from_milliseconds(600),
    Span::from_milliseconds(800),
    Span::from_milliseconds(1000),
    Span::from_milliseconds(1250),
    Span::from_milliseconds(1500),
    Span::from_seconds(2),
    Span::from_seconds(3),
    Span::from_seconds(4),
    Span::from_seconds(5),
    Span::from_seconds(6),
    Span::from_seconds(8),
    Span::from_seconds(10),
    Span::from_seconds(15),
    Span::from_seconds(20),
    Span::from_seconds(30),
    Span::from_seconds(45),
    Span::from_seconds(60),
];

/// Durations by verb and kind.
#[derive(Clone, Debug, Default)]
pub struct Durations(Map<(&'static str, Kind), Histogram>);

/// Durations of one verb and kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Histogram {
    count: u64,
    sum: Span,
    /// Not cumulative; the last is above all bounds.
    buckets: [u64; BUCKETS.len() + 1],
}

impl Durations {
    /// A request was answered.
    pub fn record(&mut self, verb: &'static str, kind: Kind, took: Span) {
        let histogram = self.0.entry((verb, kind)).or_insert_with(Histogram::new);
        histogram.count += 1;
        histogram.sum = histogram.sum + took;
        histogram.buckets[BUCKETS.partition_point(|bound| *bound < took)] += 1;
    }

    /// All of them, in order of verb and kind.
    pub fn sorted(&self) -> Vec<(&'static str, Kind, &Histogram)> {
        let mut all: Vec<_> = self.0.iter().map(|((verb, kind), histogram)| (*verb, *kind, histogram)).collect();
        all.sort_by_key(|(verb, kind, _)| (*verb, *kind));
        all
    }
}

impl Histogram {
    fn new() -> Histogram {
        Histogram { count: 0, sum: Span::ZERO, buckets: [0; BUCKETS.len() + 1] }
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// All of them together, in seconds.
    pub fn sum_seconds(&self) -> f64 {
        self.sum.as_seconds()
    }

    /// A quantile in seconds as Prometheus' `histogram_quantile` reads it off the buckets: on a line through the bucket it
    /// lies in; the last bound for what is above it.
    pub fn quantile_seconds(&self, quantile: f64) -> f64 {
        let rank = quantile * self.count as f64;
        let (mut below, mut low) = (0.0, 0.0);
        for (bound, count) in BUCKETS.iter().zip(&self.buckets) {
            let (high, count) = (bound.as_seconds(), *count as f64);
            if below + count >= rank && count > 0.0 {
                return low + (high - low) * (rank - below) / count;
            }
            (below, low) = (below + count, high);
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_on_a_line_through_their_bucket() {
        let mut durations = Durations::default();
        let took = |durations: &mut Durations, milliseconds: i64, count: usize| {
            (0..count).for_each(|_| durations.record("GET", Kind::Pod, Span::from_milliseconds(milliseconds)));
        };
        took(&mut durations, 5, 50);
        took(&mut durations, 6, 49);
        took(&mut durations, 90_000, 1);
        let all = durations.sorted();
        let histogram = all[0].2;
        // 5 ms is in the first bucket. The 75th of 100 is 25 of 49 in the bucket from 5 to 25 ms: 5 + 20 * 25 / 49.
        assert_eq!(histogram.quantile_seconds(0.5), 0.005);
        assert!((histogram.quantile_seconds(0.75) - (0.005 + 0.02 * 25.0 / 49.0)).abs() < 1e-12);
        assert_eq!(histogram.quantile_seconds(0.99), 0.025);
        assert_eq!(histogram.quantile_seconds(1.0), 60.0);
        assert_eq!((histogram.count(), histogram.sum_seconds()), (100, 90.544));
    }
}
