//! Draws from the distributions of `model::distribution`: bits in, a span out, the same on every platform.
//!
//! The bits of a keyed draw seed a xoshiro256++ generator, and a draw takes from it what it needs (a choice takes one value
//! to choose and the chosen distribution goes on from there). From `rand_distr` come the trait and the uniform samplers,
//! which only shift, multiply and compare integers or scale them by a power of two. Its standard normal and exponential
//! are not used: their ziggurat takes `exp` and `ln` in the wedges and the tail through num-traits, and any other crate
//! of a build that asks for num-traits' `std` feature turns these into the platform's functions. Both are drawn by their
//! quantile function over `libm` instead, which also keeps a draw increasing in its uniform: a scenario with longer
//! times has every single time longer.

use rand::SeedableRng;
use rand_distr::{Distribution as _, Open01, StandardUniform, Uniform};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::normal;
use crate::model::{Distribution, Span};

/// The standard normal quantile of 0.99, which turns a stated p99 into a deviation.
const Z_P99: f64 = 2.326_347_874_040_841;

/// Draws a span: never negative, rounded to whole nanoseconds, at most `i64::MAX`.
///
/// `bits` are those of a keyed draw and `occurrence` its number, which only a trace uses. The distribution must have passed
/// [`Distribution::check`].
pub fn sample(distribution: &Distribution, bits: u64, occurrence: u64) -> Span {
    match distribution {
        Distribution::Constant(ns) => Span((*ns).max(0)),
        Distribution::Trace(values) => replay(values, occurrence),
        _ => draw(distribution, &mut Xoshiro256PlusPlus::seed_from_u64(bits), occurrence),
    }
}

/// A uniform number in [0, 1) from the top 53 bits.
pub fn uniform_unit(bits: u64) -> f64 {
    const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
    (bits >> 11) as f64 * STEP
}

fn draw(distribution: &Distribution, rng: &mut Xoshiro256PlusPlus, occurrence: u64) -> Span {
    match distribution {
        Distribution::Constant(ns) => Span((*ns).max(0)),
        Distribution::Uniform { low_ns, high_ns } => {
            let uniform = Uniform::new_inclusive(*low_ns, *high_ns).expect("a checked range is not empty");
            Span(uniform.sample(rng).max(0))
        }
        Distribution::Exponential { mean_ns } => {
            let unit: f64 = StandardUniform.sample(rng);
            // 1 - unit is exact and in (0, 1].
            to_span(*mean_ns as f64 * -libm::log(1.0 - unit))
        }
        Distribution::Normal { mean_ns, sd_ns } => {
            to_span(truncated_normal(*mean_ns as f64, *sd_ns as f64, Open01.sample(rng)))
        }
        Distribution::Lognormal { p50_ns, p99_ns } => {
            let (p50, p99) = (*p50_ns as f64, *p99_ns as f64);
            let sigma = libm::log(p99 / p50) / Z_P99;
            to_span(p50 * libm::exp(sigma * normal::quantile(Open01.sample(rng))))
        }
        Distribution::Choice(options) => draw(choose(options, StandardUniform.sample(rng)), rng, occurrence),
        Distribution::Trace(values) => replay(values, occurrence),
    }
}

fn replay(values: &[i64], occurrence: u64) -> Span {
    assert!(!values.is_empty(), "a checked trace is not empty");
    Span(values[(occurrence % values.len() as u64) as usize].max(0))
}

/// The normal quantile of `unit` given that the value is at least zero, through the upper tail, which keeps its digits.
fn truncated_normal(mean: f64, sd: f64, unit: f64) -> f64 {
    if sd <= 0.0 {
        return mean;
    }
    let upper = (1.0 - unit) * normal::probability_below(mean / sd);
    mean - sd * normal::quantile(upper)
}

/// The option whose share of the total weight holds `unit`.
fn choose(options: &[(f64, Distribution)], unit: f64) -> &Distribution {
    let mut left = unit * options.iter().map(|(weight, _)| weight).sum::<f64>();
    let mut possible = options.iter().filter(|(weight, _)| *weight > 0.0);
    let (first_weight, first) = possible.next().expect("a checked choice has a weight above zero");
    let (mut weight, mut chosen) = (*first_weight, first);
    // Rounding may leave a little at the end: the last option takes it.
    while left >= weight
        && let Some((next_weight, next)) = possible.next()
    {
        left -= weight;
        (weight, chosen) = (*next_weight, next);
    }
    chosen
}

/// Rounds to whole nanoseconds; beyond `i64` saturates, below zero and not-a-number (a distribution that was not checked) is
/// zero. Truncating after adding a half rounds what is not negative, and needs no call.
fn to_span(ns: f64) -> Span {
    Span(((ns + 0.5) as i64).max(0))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::engine::KeyedDraws;

    const MS: i64 = 1_000_000;

    fn draws(distribution: &Distribution, count: u64) -> Vec<i64> {
        let keyed = KeyedDraws { seed: 1, replication: 0 };
        (0..count).map(|n| sample(distribution, keyed.bits(0, 0, n), n).0).collect()
    }

    fn mixture() -> Distribution {
        Distribution::Choice(vec![
            (0.0, Distribution::Constant(7)),
            (1.0, Distribution::Exponential { mean_ns: 10 * MS }),
            (3.0, Distribution::Constant(MS)),
        ])
    }

    #[test]
    fn draws_are_golden() {
        // Recorded from this code: a change of a sampler, of rand_distr, rand_xoshiro or libm must be noticed. The first
        // column hangs together: (2.441785 - 2) / 3 = 0.14726, and -ln(1 - 0.14726) = 0.15930, and the normal quantile
        // of 0.14726 is -1.0482 (10 - 2 * 1.0482 = 7.9035), and 4 exp(-1.0482 ln(15) / 2.32635) = 1.1806.
        for (distribution, expected) in [
            (Distribution::Uniform { low_ns: 2 * MS, high_ns: 5 * MS }, [2_441_785, 3_117_024, 2_067_083, 3_055_946]),
            (Distribution::Exponential { mean_ns: 10 * MS }, [1_593_029, 4_657_586, 226_149, 4_338_370]),
            (Distribution::Normal { mean_ns: 10 * MS, sd_ns: 2 * MS }, [7_903_504, 9_348_683, 5_985_496, 9_240_052]),
            (Distribution::Normal { mean_ns: MS, sd_ns: 2 * MS }, [546_781, 1_332_386, 86_912, 1_261_027]),
            (Distribution::Lognormal { p50_ns: 4 * MS, p99_ns: 60 * MS }, [1_180_633, 2_737_930, 386_621, 2_570_176]),
            (mixture(), [9_196_549, 1_000_000, 27_923_879, 1_000_000]),
        ] {
            assert_eq!(draws(&distribution, 4), expected, "{distribution:?}");
        }
    }

    #[test]
    fn constants_and_traces_need_no_luck() {
        let trace = Distribution::Trace(Arc::new([5, 0, 9]));
        // Occurrence 3 is value 0 again; 2^64 - 1 = 3 * 6148914691236517205, so it is value 0 too.
        for (distribution, occurrence, expected) in [
            (&Distribution::Constant(12), 3, 12),
            (&trace, 0, 5),
            (&trace, 2, 9),
            (&trace, 3, 5),
            (&trace, u64::MAX, 5),
        ] {
            for bits in [0, u64::MAX] {
                assert_eq!(sample(distribution, bits, occurrence), Span(expected));
            }
        }
        let nested = Distribution::Choice(vec![(1.0, trace)]);
        assert_eq!(sample(&nested, 0, 2), Span(9));
    }

    #[test]
    fn unit_numbers_use_53_bits() {
        assert_eq!(uniform_unit(0), 0.0);
        assert_eq!(uniform_unit(1 << 63), 0.5);
        assert_eq!(uniform_unit(1 << 11), 1.0 / (1_u64 << 53) as f64);
        assert!(uniform_unit(u64::MAX) < 1.0);
    }

    /// The share of draws at or below `bound_ns`.
    fn share_below(sorted: &[i64], bound_ns: i64) -> f64 {
        sorted.partition_point(|ns| *ns <= bound_ns) as f64 / sorted.len() as f64
    }

    #[test]
    fn draws_follow_their_distribution() {
        // 100,000 draws: a share of 1/2 has a standard deviation of 0.5/sqrt(100000) = 0.0016, so 0.007 is over four.
        // Exponential: 1 - e^-1 = 0.6321 below the mean. Normal: one deviation above is 0.8413. Normal with mean 1, sd 2
        // cut at 0: (Phi(0) - Phi(-0.5)) / Phi(0.5) = (0.5 - 0.3085) / 0.6915 = 0.2769 below 1. Mixture: 3/4 at 1 ms, and
        // of the rest 1 - e^-0.1 = 0.0952 below it: 0.75 + 0.0238 = 0.7738.
        let exponential = Distribution::Exponential { mean_ns: 10 * MS };
        let normal = Distribution::Normal { mean_ns: 10 * MS, sd_ns: 2 * MS };
        let cut = Distribution::Normal { mean_ns: MS, sd_ns: 2 * MS };
        let lognormal = Distribution::Lognormal { p50_ns: 4 * MS, p99_ns: 60 * MS };
        let uniform = Distribution::Uniform { low_ns: 2 * MS, high_ns: 5 * MS };
        for (distribution, bound_ns, expected) in [
            (&exponential, 10 * MS, 0.6321),
            (&normal, 10 * MS, 0.5),
            (&normal, 12 * MS, 0.8413),
            (&cut, MS, 0.2769),
            (&lognormal, 4 * MS, 0.5),
            (&lognormal, 60 * MS, 0.99),
            (&uniform, 3 * MS, 1.0 / 3.0),
            (&mixture(), MS - 1, 0.0238),
            (&mixture(), MS, 0.7738),
        ] {
            let mut sorted = draws(distribution, 100_000);
            sorted.sort_unstable();
            assert!(sorted[0] >= 0);
            let share = share_below(&sorted, bound_ns);
            assert!((share - expected).abs() < 0.007, "{distribution:?}: {share} of draws up to {bound_ns}");
        }
    }

    #[test]
    fn degenerate_parameters_are_defined() {
        for (distribution, expected) in [
            (Distribution::Uniform { low_ns: 5, high_ns: 5 }, 5),
            (Distribution::Exponential { mean_ns: 0 }, 0),
            (Distribution::Normal { mean_ns: 8, sd_ns: 0 }, 8),
            (Distribution::Lognormal { p50_ns: 9, p99_ns: 9 }, 9),
        ] {
            assert!(draws(&distribution, 100).into_iter().all(|ns| ns == expected), "{distribution:?}");
        }
        // A tail beyond 292 years saturates: log(2^62) / 2.33 = 18.5 deviations of the logarithm a standard deviation.
        let wild = Distribution::Lognormal { p50_ns: 1, p99_ns: 1 << 62 };
        assert!(draws(&wild, 1_000).contains(&i64::MAX));
    }

    #[test]
    fn a_longer_mean_makes_every_draw_longer() {
        let (short, long) = (Distribution::Exponential { mean_ns: MS }, Distribution::Exponential { mean_ns: 2 * MS });
        for (short, long) in draws(&short, 1_000).into_iter().zip(draws(&long, 1_000)) {
            // Twice the mean is twice the draw, up to the rounding of each to a nanosecond.
            assert!((long - 2 * short).abs() <= 1);
        }
    }
}
