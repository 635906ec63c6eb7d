//! Durations of many requests, in milliseconds.

use std::collections::BTreeMap;

use crate::model::Span;

const MILLISECOND_NS: i64 = 1_000_000;

/// How often each duration occurred, rounded up to whole milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    counts: BTreeMap<i64, u64>,
    total: u64,
    sum: Span,
}

impl Latencies {
    /// One more.
    pub fn add(&mut self, span: Span) {
        *self.counts.entry((span.0 + MILLISECOND_NS - 1) / MILLISECOND_NS).or_insert(0) += 1;
        self.total += 1;
        self.sum = self.sum + span;
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// All together.
    pub fn sum(&self) -> Span {
        self.sum
    }

    /// The smallest duration that this share of them does not exceed, in seconds; `None` without any.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let rank = ((share * self.total as f64).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.counts.iter().find(|(_, count)| {
            below += **count;
            below >= rank
        });
        found.map(|(milliseconds, _)| *milliseconds as f64 / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_sorted_durations() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.quantile(0.5), None);
        for milliseconds in [40, 10, 30, 20] {
            latencies.add(Span::from_milliseconds(milliseconds));
        }
        // Ranks 1, 2, 3 and 4 of 10, 20, 30, 40 ms.
        let found = [0.25, 0.5, 0.51, 1.0].map(|share| latencies.quantile(share));
        assert_eq!(found, [Some(0.01), Some(0.02), Some(0.03), Some(0.04)]);
        assert_eq!((latencies.count(), latencies.sum()), (4, Span::from_milliseconds(100)));
    }
}
