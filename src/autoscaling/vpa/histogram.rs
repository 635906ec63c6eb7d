//! Histograms of usage whose old samples weigh less and less.
//!
//! Buckets grow by 5 %; a sample of a later day weighs more than one of an earlier day instead of the earlier being
//! made lighter, until the numbers get too large and all weights are scaled down at once.
//!
//! Upstream: vertical-pod-autoscaler/pkg/recommender/util/{histogram,histogram_options,decaying_histogram}.go, 1.6.

use super::go_math;
use crate::model::{Span, Time};

/// Weight below which a bucket counts as empty.
const EPSILON: f64 = 1e-4;
/// Every bucket is this much wider than the one before.
const RATIO: f64 = 1.05;
/// Half-lives between the reference and a sample after which the weights are scaled down.
const MAX_DECAY_EXPONENT: i64 = 100;

/// Where the buckets lie.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Buckets {
    /// Width of the first bucket.
    first_size: f64,
    /// How many there are.
    count: usize,
}

impl Buckets {
    /// Buckets from 0 to at least `max`, the first of them `first_size` wide.
    pub fn exponential(first_size: f64, max: f64) -> Buckets {
        let below_max = steps(max * (RATIO - 1.0) / first_size + 1.0);
        Buckets { first_size, count: libm::ceil(below_max) as usize + 1 }
    }

    /// For cores: from 0.01 to 1,000.
    pub fn cpu() -> Buckets {
        Buckets::exponential(0.01, 1000.0)
    }

    /// For bytes: from 1e7 to 1e12.
    pub fn memory() -> Buckets {
        Buckets::exponential(1e7, 1e12)
    }

    /// The bucket of a value; everything above the last border is in the last one.
    pub fn find(&self, value: f64) -> usize {
        if value < self.first_size {
            return 0;
        }
        let bucket = steps(value * (RATIO - 1.0) / self.first_size + 1.0) as usize;
        bucket.min(self.count - 1)
    }

    /// Lower border of a bucket.
    pub fn start(&self, bucket: usize) -> f64 {
        if bucket == 0 {
            return 0.0;
        }
        self.first_size * (go_math::power(RATIO, bucket as i32) - 1.0) / (RATIO - 1.0)
    }
}

/// Logarithm to the base of the ratio.
fn steps(x: f64) -> f64 {
    go_math::log(x) / go_math::log(RATIO)
}

/// A histogram in which a sample of one half-life ago weighs half.
#[derive(Clone, PartialEq, Debug)]
pub struct DecayingHistogram {
    buckets: Buckets,
    half_life: Span,
    /// When a sample weighs what it says; a multiple of the half-life, `None` before the first sample.
    reference: Option<Time>,
    weights: Vec<f64>,
    total_weight: f64,
    /// First bucket that is not empty; the last bucket while all are.
    min_bucket: usize,
    /// Last bucket that is not empty; the first bucket while all are.
    max_bucket: usize,
}

impl DecayingHistogram {
    /// A histogram without samples.
    pub fn new(buckets: Buckets, half_life: Span) -> DecayingHistogram {
        DecayingHistogram {
            buckets,
            half_life,
            reference: None,
            weights: vec![0.0; buckets.count],
            total_weight: 0.0,
            min_bucket: buckets.count - 1,
            max_bucket: 0,
        }
    }

    /// Adds a value seen at a time.
    pub fn add(&mut self, value: f64, weight: f64, at: Time) {
        let weight = weight * self.decay_factor(at);
        let bucket = self.buckets.find(value);
        self.weights[bucket] += weight;
        self.total_weight += weight;
        if self.weights[bucket] >= EPSILON {
            self.min_bucket = self.min_bucket.min(bucket);
            self.max_bucket = self.max_bucket.max(bucket);
        }
    }

    /// Takes back a value that was added with the same weight and time.
    pub fn subtract(&mut self, value: f64, weight: f64, at: Time) {
        let weight = weight * self.decay_factor(at);
        let bucket = self.buckets.find(value);
        self.total_weight = less(self.total_weight, weight);
        self.weights[bucket] = less(self.weights[bucket], weight);
        self.walk_borders_inward();
    }

    /// Adds all samples of `other`. The older reference of the two moves to the younger one, so `other` may be rescaled.
    pub fn merge(&mut self, other: &mut DecayingHistogram) {
        if let Some(reference) = self.reference.max(other.reference) {
            for histogram in [&mut *self, &mut *other] {
                if histogram.reference != Some(reference) {
                    histogram.shift_reference(reference);
                }
            }
        }
        for bucket in other.min_bucket..=other.max_bucket {
            self.weights[bucket] += other.weights[bucket];
        }
        self.total_weight += other.total_weight;
        self.min_bucket = self.min_bucket.min(other.min_bucket);
        self.max_bucket = self.max_bucket.max(other.max_bucket);
    }

    /// Upper border of the bucket below which `percentile` (0 to 1) of the weight lies; 0 without samples.
    pub fn percentile(&self, percentile: f64) -> f64 {
        if self.is_empty() {
            return 0.0;
        }
        let threshold = percentile * self.total_weight;
        let mut sum = 0.0;
        let mut bucket = self.min_bucket;
        while bucket < self.max_bucket {
            sum += self.weights[bucket];
            if sum >= threshold {
                break;
            }
            bucket += 1;
        }
        self.buckets.start((bucket + 1).min(self.buckets.count - 1))
    }

    /// Whether no bucket has a weight that counts.
    pub fn is_empty(&self) -> bool {
        self.weights[self.min_bucket] < EPSILON
    }

    /// What a weight of 1 becomes at a time. A time too far from the reference moves it.
    fn decay_factor(&mut self, at: Time) -> f64 {
        let latest = |reference: Time| reference + Span(self.half_life.0 * MAX_DECAY_EXPONENT);
        let reference = match self.reference {
            Some(reference) if at <= latest(reference) => reference,
            _ => self.shift_reference(at),
        };
        go_math::exp2((at - reference).0 as f64 / self.half_life.0 as f64)
    }

    /// Moves the reference to the multiple of the half-life nearest to a time, and scales all weights to fit.
    fn shift_reference(&mut self, to: Time) -> Time {
        let to = nearest_multiple(to, self.half_life);
        if let Some(reference) = self.reference {
            let exponent = libm::round((reference - to).0 as f64 / self.half_life.0 as f64) as i32;
            let factor = libm::ldexp(1.0, exponent);
            self.weights.iter_mut().for_each(|weight| *weight *= factor);
            self.total_weight *= factor;
            self.walk_borders_inward();
        }
        self.reference = Some(to);
        to
    }

    fn walk_borders_inward(&mut self) {
        while self.weights[self.min_bucket] < EPSILON && self.min_bucket < self.buckets.count - 1 {
            self.min_bucket += 1;
        }
        while self.weights[self.max_bucket] < EPSILON && self.max_bucket > 0 {
            self.max_bucket -= 1;
        }
    }
}

/// A weight less another; what is left below epsilon is nothing.
fn less(weight: f64, subtracted: f64) -> f64 {
    let left = weight - subtracted;
    if left < EPSILON { 0.0 } else { left }
}

/// The multiple of a span nearest to a time, the later one from halfway. Counting starts at a midnight.
fn nearest_multiple(time: Time, span: Span) -> Time {
    let past = time.0.rem_euclid(span.0);
    if past + past < span.0 { Time(time.0 - past) } else { Time(time.0 + (span.0 - past)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Span = Span::from_seconds(86_400);

    fn cpu() -> DecayingHistogram {
        DecayingHistogram::new(Buckets::cpu(), DAY)
    }

    #[test]
    fn borders_grow_by_a_twentieth() {
        let buckets = Buckets::cpu();
        // ln(1000 * 0.05 / 0.01 + 1) / ln 1.05 = ln 5001 / ln 1.05 = 8.5174 / 0.04879 = 174.57; 175 and one more.
        assert_eq!(buckets.count, 176);
        // ln(1e12 * 0.05 / 1e7 + 1) = ln 5001 as well.
        assert_eq!(Buckets::memory().count, 176);
        assert_eq!((buckets.start(0), buckets.start(1)), (0.0, 0.01));
        for (value, bucket) in [(0.0, 0), (0.009, 0), (0.0101, 1), (0.0204, 1), (0.0206, 2), (1e9, 175)] {
            assert_eq!(buckets.find(value), bucket, "{value}");
        }
        for bucket in 1..175 {
            let inside = (buckets.start(bucket) + buckets.start(bucket + 1)) / 2.0;
            assert_eq!(buckets.find(inside), bucket);
        }
    }

    #[test]
    fn a_day_halves_a_weight() {
        let mut histogram = cpu();
        // Weight 3 at 0.1 cores, a day later weight 1 at 1 core, which counts as 2: p50 of 5 is 2.5, within the 3.
        histogram.add(0.1, 3.0, Time(0));
        histogram.add(1.0, 1.0, Time(0) + DAY);
        assert!(histogram.percentile(0.5) < 0.2);
        // 3 / 5 = 0.6: above it the later sample decides.
        assert!(histogram.percentile(0.61) > 1.0);
    }

    #[test]
    fn subtracting_empties() {
        let mut histogram = cpu();
        assert!(histogram.is_empty());
        assert_eq!(histogram.percentile(0.9), 0.0);
        histogram.add(1.0, 1.0, Time(0));
        histogram.add(2.0, 1.0, Time(0));
        histogram.subtract(2.0, 1.0, Time(0));
        assert_eq!(histogram.min_bucket, histogram.max_bucket);
        histogram.subtract(1.0, 1.0, Time(0));
        assert!(histogram.is_empty());
    }

    #[test]
    fn a_distant_sample_scales_the_others_away() {
        let mut histogram = cpu();
        histogram.add(0.1, 1.0, Time(0));
        // 101 half-lives: the reference moves there, and 2^-101 is below epsilon.
        let later = Time(0) + Span(DAY.0 * 101);
        histogram.add(1.0, 1.0, later);
        assert_eq!(histogram.reference, Some(later));
        assert!(histogram.percentile(0.0) > 1.0);
        // Exactly 100 leaves it where it is.
        let mut histogram = cpu();
        histogram.add(0.1, 1.0, Time(0));
        histogram.add(1.0, 1.0, Time(0) + Span(DAY.0 * 100));
        assert_eq!(histogram.reference, Some(Time(0)));
    }

    #[test]
    fn merging_equals_adding_to_one() {
        let (mut early, mut late, mut both) = (cpu(), cpu(), cpu());
        let at = Time(0) + Span(DAY.0 * 3);
        for histogram in [&mut early, &mut both] {
            histogram.add(0.1, 4.0, Time(0));
        }
        for histogram in [&mut late, &mut both] {
            histogram.add(0.7, 1.0, at);
        }
        let mut merged = cpu();
        merged.merge(&mut early);
        merged.merge(&mut late);
        // 4 samples three days old weigh 0.5 against 1: a third of the weight is early.
        for percentile in [0.1, 0.3, 0.36, 0.9] {
            assert_eq!(merged.percentile(percentile), both.percentile(percentile), "{percentile}");
        }
        assert_eq!(early.reference, Some(Time(0)), "only the older reference moves, here that of the sum");
        late.merge(&mut early);
        assert_eq!(early.reference, Some(at));
    }

    #[test]
    fn noon_rounds_up() {
        let noon = DAY.0 / 2;
        assert_eq!(nearest_multiple(Time(noon - 1), DAY), Time(0));
        assert_eq!(nearest_multiple(Time(noon), DAY), Time(DAY.0));
    }
}
