//! Prometheus: the result of a query.
//!
//! Upstream: kedacore/keda pkg/scalers/prometheus_scaler.go.

use super::TriggerValue;

/// What the trigger says to the result of its query. A result that is negative or no finite number counts as none at all.
pub fn value(result: f64, activation_threshold: f64) -> TriggerValue {
    let counted = if result.is_finite() && result > 0.0 { result } else { 0.0 };
    TriggerValue::plain(counted, activation_threshold)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_below_zero_count_as_zero() {
        for (result, activation, metric_milli, is_active) in [
            (100.1, 100.0, 100_100, true),
            (100.0, 100.0, 100_000, false),
            (-3.0, 0.0, 0, false),
            (f64::NAN, 0.0, 0, false),
            (f64::INFINITY, 5.0, 0, false),
        ] {
            assert_eq!(value(result, activation), TriggerValue { metric_milli, is_active }, "{result}");
        }
    }
}
