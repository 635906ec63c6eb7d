//! Exact order statistics.

/// A set of measurements, sorted: quantiles, mean and extremes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Sample {
    sorted: Vec<i64>,
}

impl Sample {
    /// The sample of these values, in any order.
    pub fn new(mut values: Vec<i64>) -> Sample {
        values.sort_unstable();
        Sample { sorted: values }
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The quantile by nearest rank: the smallest value that at least `percent` % of all values do not exceed, so always
    /// one that was measured. `percent` is 1 to 100; `None` without values.
    pub fn percentile(&self, percent: u32) -> Option<i64> {
        assert!((1..=100).contains(&percent), "a percentile between 1 and 100");
        let rank = (self.sorted.len() as u64 * u64::from(percent)).div_ceil(100);
        self.sorted.get((rank as usize).checked_sub(1)?).copied()
    }

    /// The largest value.
    pub fn max(&self) -> Option<i64> {
        self.sorted.last().copied()
    }

    /// The arithmetic mean: an exact sum, one division.
    pub fn mean(&self) -> Option<f64> {
        if self.sorted.is_empty() {
            return None;
        }
        let sum: i128 = self.sorted.iter().map(|&value| i128::from(value)).sum();
        Some(sum as f64 / self.sorted.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let sample = Sample::new(vec![50, 15, 40, 20, 35]);
        // n = 5: rank of p30 = ceil(1.5) = 2, of p40 = 2, of p50 = ceil(2.5) = 3, of p100 = 5, of p1 = ceil(0.05) = 1.
        for (percent, value) in [(1, 15), (30, 20), (40, 20), (50, 35), (99, 50), (100, 50)] {
            assert_eq!(sample.percentile(percent), Some(value), "p{percent}");
        }
        // 15 + 20 + 35 + 40 + 50 = 160; 160 / 5 = 32.
        assert_eq!((sample.mean(), sample.max()), (Some(32.0), Some(50)));
        // n = 100: p99 is the 99th value, not the largest.
        assert_eq!(Sample::new((1..=100).collect()).percentile(99), Some(99));
    }

    #[test]
    fn nothing_measured_has_no_statistics() {
        let sample = Sample::new(Vec::new());
        assert!(sample.is_empty());
        assert_eq!((sample.percentile(50), sample.mean(), sample.max()), (None, None, None));
    }
}
