//! Distributions of durations as a scenario states them: data only. Drawing from them is `engine::sampling`.

use std::sync::Arc;

/// Where a duration comes from. Negative durations do not exist: whatever falls below zero is drawn as zero or cut off,
/// as each kind says.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// Always this, in nanoseconds.
    Constant(i64),
    /// Every whole nanosecond from `low_ns` to `high_ns`, both included, is equally likely.
    Uniform {
        /// The shortest, in nanoseconds.
        low_ns: i64,
        /// The longest, in nanoseconds.
        high_ns: i64,
    },
    /// Memoryless, with this mean.
    Exponential {
        /// The mean, in nanoseconds.
        mean_ns: i64,
    },
    /// The normal distribution given that the result is not negative: the part below zero is cut off and the rest scaled
    /// up, so the mean is above `mean_ns` when the deviation is not small against it.
    Normal {
        /// The mean before the cut, in nanoseconds.
        mean_ns: i64,
        /// The standard deviation before the cut, in nanoseconds.
        sd_ns: i64,
    },
    /// Logarithms are normal; stated by two quantiles, as latencies are measured.
    Lognormal {
        /// The median, in nanoseconds.
        p50_ns: i64,
        /// The 99th percentile, in nanoseconds.
        p99_ns: i64,
    },
    /// One of several, chosen by weight. Weights need not sum to 1.
    Choice(Vec<(f64, Distribution)>),
    /// Recorded values in order, in nanoseconds: draw n is value n, starting over at the end.
    Trace(Arc<[i64]>),
}

impl Distribution {
    /// No time at all.
    pub const ZERO: Distribution = Distribution::Constant(0);

    /// Checks that every draw is defined: no negative duration, ordered bounds, a choice to make, a trace to read.
    ///
    /// # Errors
    /// What is wrong, in words that follow the name of the field.
    pub fn check(&self) -> Result<(), &'static str> {
        let problem = match self {
            Distribution::Constant(ns) if *ns < 0 => "must not be negative",
            Distribution::Uniform { low_ns, .. } if *low_ns < 0 => "must not start below zero",
            Distribution::Uniform { low_ns, high_ns } if low_ns > high_ns => "must not end before it starts",
            Distribution::Exponential { mean_ns } if *mean_ns < 0 => "must not have a negative mean",
            Distribution::Normal { mean_ns, .. } if *mean_ns < 0 => "must not have a negative mean",
            Distribution::Normal { sd_ns, .. } if *sd_ns < 0 => "must not have a negative standard deviation",
            Distribution::Lognormal { p50_ns, .. } if *p50_ns <= 0 => "must have a p50 above zero",
            Distribution::Lognormal { p50_ns, p99_ns } if p50_ns > p99_ns => "must not have a p99 below its p50",
            Distribution::Choice(options) => return check_choice(options),
            Distribution::Trace(values) if values.is_empty() => "must not be an empty trace",
            Distribution::Trace(values) if values.iter().any(|ns| *ns < 0) => "must not hold negative values",
            _ => return Ok(()),
        };
        Err(problem)
    }
}

fn check_choice(options: &[(f64, Distribution)]) -> Result<(), &'static str> {
    if options.iter().any(|(weight, _)| !weight.is_finite() || *weight < 0.0) {
        return Err("must have finite weights that are not negative");
    }
    if !options.iter().any(|(weight, _)| *weight > 0.0) {
        return Err("must have a weight above zero");
    }
    options.iter().try_for_each(|(_, option)| option.check())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_draws_are_refused() {
        use Distribution::*;
        let fine = || Constant(1);
        for (distribution, fine) in [
            (Constant(0), true),
            (Constant(-1), false),
            (Uniform { low_ns: 5, high_ns: 5 }, true),
            (Uniform { low_ns: 5, high_ns: 4 }, false),
            (Uniform { low_ns: -5, high_ns: 4 }, false),
            (Exponential { mean_ns: -1 }, false),
            (Normal { mean_ns: 0, sd_ns: 0 }, true),
            (Normal { mean_ns: -1, sd_ns: 0 }, false),
            (Normal { mean_ns: 1, sd_ns: -1 }, false),
            (Lognormal { p50_ns: 1, p99_ns: 1 }, true),
            (Lognormal { p50_ns: 0, p99_ns: 1 }, false),
            (Lognormal { p50_ns: 2, p99_ns: 1 }, false),
            (Choice(vec![]), false),
            (Choice(vec![(0.0, fine())]), false),
            (Choice(vec![(0.0, fine()), (2.0, fine())]), true),
            (Choice(vec![(-1.0, fine()), (2.0, fine())]), false),
            (Choice(vec![(f64::NAN, fine()), (2.0, fine())]), false),
            (Choice(vec![(1.0, Choice(vec![(1.0, Constant(-1))]))]), false),
            (Trace(Arc::new([])), false),
            (Trace(Arc::new([3, -1])), false),
            (Trace(Arc::new([3])), true),
        ] {
            assert_eq!(distribution.check().is_ok(), fine, "{distribution:?}");
        }
    }

    #[test]
    fn a_plan_may_share_distributions_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Distribution>();
    }
}
