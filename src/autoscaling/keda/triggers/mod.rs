//! Triggers: what a source says now, as the number that the HPA reads and whether it is reason enough to run at all.
//!
//! Each file takes what the source would have answered (lags, queue lengths, the result of a query, the time) and does
//! the arithmetic of the scaler of that name. Getting the answer is not its business.
//!
//! Upstream: kedacore/keda pkg/scalers, main of 2026-08-20.

pub mod cron;
pub mod kafka;
pub mod prometheus;
pub mod rabbitmq;
pub mod settings;

/// What a trigger says when its source answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TriggerValue {
    /// The metric's value as the HPA reads it, in thousandths.
    pub metric_milli: i64,
    /// Whether it is above its activation threshold.
    pub is_active: bool,
}

impl TriggerValue {
    /// A plain value with an activation threshold: what an external scaler, or any source that is bound to a load, gives.
    pub fn plain(value: f64, activation_threshold: f64) -> TriggerValue {
        TriggerValue { metric_milli: milli(value), is_active: value > activation_threshold }
    }
}

/// A value in thousandths, rounded as its decimal notation with three places is (exact halves to the even digit).
/// Negative values, NaN and infinities become 0; what does not fit becomes the greatest number that does.
pub fn milli(value: f64) -> i64 {
    if !value.is_finite() || value < 0.0 {
        return 0;
    }
    let digits: String = format!("{value:.3}").chars().filter(|c| *c != '.').collect();
    digits.parse().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_places() {
        for (value, expected) in [
            (0.0, 0),
            (1.0, 1_000),
            (0.0004, 0),
            (0.0006, 1),
            // 0.0625 has exactly four places and is a half of the last one kept: 62 is even.
            (0.0625, 62),
            (1_234.5, 1_234_500),
            (-1.0, 0),
            (f64::NAN, 0),
            (f64::INFINITY, 0),
            (1e300, i64::MAX),
        ] {
            assert_eq!(milli(value), expected, "{value}");
        }
    }

    #[test]
    fn the_threshold_itself_does_not_activate() {
        assert!(!TriggerValue::plain(5.0, 5.0).is_active);
        assert!(TriggerValue::plain(5.001, 5.0).is_active);
    }
}
