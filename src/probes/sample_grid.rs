//! The grid of times at which metrics are sampled, for charts and metrics.csv.

use crate::model::{Span, Time};

/// The times at which metrics are sampled: the start and every period after it. Polled at the ends of instants.
#[derive(Clone, Debug)]
pub struct SampleGrid {
    next: Time,
    period: Span,
}

impl SampleGrid {
    /// A grid from `start` on.
    ///
    /// # Panics
    /// If the period is not positive.
    pub fn new(start: Time, period: Span) -> SampleGrid {
        assert!(period > Span::ZERO, "a sampling period is positive");
        SampleGrid { next: start, period }
    }

    /// The next instant at whose end a sample is due, even if nothing happens then.
    pub fn next_sample(&self) -> Time {
        self.next
    }

    /// Samples lie at least so far apart from now on.
    pub fn widen(&mut self, period: Span) {
        self.period = self.period.max(period);
    }

    /// Whether a sample is due at the end of the instant `now`; the grid moves on to the first time after it.
    pub fn is_due(&mut self, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        let passed = (now - self.next).0 / self.period.0 + 1;
        self.next += Span(passed.saturating_mul(self.period.0));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_samples_at_its_times_and_skips_those_that_were_missed() {
        let mut grid = SampleGrid::new(Time(100), Span(10));
        let due: Vec<i64> = (100..=125).filter(|now| grid.is_due(Time(*now))).collect();
        assert_eq!(due, [100, 110, 120]);
        // 130 and 140 are passed at 147: one sample, the next at 150.
        assert!(grid.is_due(Time(147)));
        assert_eq!(grid.next_sample(), Time(150));
        // A wider period holds from the sample after the next on; a narrower one changes nothing.
        grid.widen(Span(25));
        grid.widen(Span(5));
        assert!(grid.is_due(Time(150)));
        assert_eq!(grid.next_sample(), Time(175));
    }
}
