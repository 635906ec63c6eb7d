//! Latencies in buckets that are at most 1/128 of their value wide: quantiles within 0.4 % from a few kilobytes.
//!
//! Values below 128 ns have a bucket each; every octave above is split in 128 equal ones (as HdrHistogram does).

/// Buckets of an octave, as a power of two.
const PART_BITS: u32 = 7;
const PARTS: u64 = 1 << PART_BITS;

/// Counts of values in ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum_ns: f64,
    longest_ns: u64,
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.counts.len() <= bucket {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.sum_ns += ns as f64;
        self.longest_ns = self.longest_ns.max(ns);
    }

    /// Adds all counts of another.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.total += other.total;
        self.sum_ns += other.sum_ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Mean in ns; `None` without values.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.total > 0).then(|| self.sum_ns / self.total as f64)
    }

    /// The longest, exact; 0 without values.
    pub fn longest_ns(&self) -> u64 {
        self.longest_ns
    }

    /// The value of rank ceil(share * total), from 1: the middle of its bucket, at most the longest value. `None` without
    /// values.
    pub fn quantile_ns(&self, share: f64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = (libm::ceil(share * self.total as f64) as u64).clamp(1, self.total);
        let mut before = 0;
        let bucket = self.counts.iter().position(|count| {
            before += count;
            before >= rank
        })?;
        let (low, width) = bounds(bucket);
        Some((low + width / 2).min(self.longest_ns))
    }
}

/// The bucket of a value.
#[inline]
fn bucket(ns: u64) -> usize {
    if ns < PARTS {
        return ns as usize;
    }
    let octave = ns.ilog2() - PART_BITS;
    // The leading bit is known; the next seven tell the part.
    let part = (ns >> octave) - PARTS;
    ((u64::from(octave) + 1) * PARTS + part) as usize
}

/// The lowest value of a bucket and how many it holds.
fn bounds(bucket: usize) -> (u64, u64) {
    let (octave, part) = (bucket as u64 / PARTS, bucket as u64 % PARTS);
    match octave {
        0 => (part, 1),
        _ => ((PARTS + part) << (octave - 1), 1 << (octave - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_without_a_gap() {
        for index in 0..7_000 {
            let (low, width) = bounds(index);
            assert_eq!((bucket(low), bucket(low + width - 1)), (index, index));
            assert_eq!(bounds(index + 1).0, low + width);
        }
        assert_eq!(bucket(u64::MAX), bounds(bucket(u64::MAX)).0.ilog2() as usize * 128 - 6 * 128 + 127);
    }

    #[test]
    fn quantiles_are_exact_within_a_half_percent() {
        // Values over six orders of magnitude, from a multiplicative generator.
        let mut state = 1_u64;
        let mut values: Vec<u64> = (0..100_000)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
                (1_000.0 * libm::exp(unit * 14.0)) as u64
            })
            .collect();
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.add(*value));
        values.sort_unstable();
        for share in [0.0, 0.001, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let rank = (libm::ceil(share * 1e5) as usize).max(1);
            let (exact, found) = (values[rank - 1] as f64, histogram.quantile_ns(share).unwrap() as f64);
            assert!((found / exact - 1.0).abs() < 0.005, "{share}: {found}, not {exact}");
        }
        let sum: u64 = values.iter().sum();
        assert!((histogram.mean_ns().unwrap() / (sum as f64 / 1e5) - 1.0).abs() < 1e-12);
        assert_eq!(histogram.longest_ns(), values[99_999]);
    }

    #[test]
    fn merged_is_as_counted_together() {
        let (mut one, mut other, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in [3, 1 << 40, 77_777] {
            one.add(value);
            both.add(value);
        }
        other.add(9_000);
        both.add(9_000);
        one.merge(&other);
        assert_eq!(one, both);
        assert_eq!(Histogram::default().quantile_ns(0.5), None);
    }
}
