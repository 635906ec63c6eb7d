//! Timestamps of API objects: RFC 3339, whole seconds (`metav1.Time`) or microseconds (`metav1.MicroTime`), in UTC.

use crate::model::Time;

/// An instant from RFC 3339 text, any offset. `None` when it is none, or beyond what nanoseconds in 64 bits can hold.
pub fn parse(text: &str) -> Option<Time> {
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(timestamp.as_nanosecond()).ok().map(Time)
}

/// An instant from a timestamp as k8s-openapi types hold it.
pub fn from_api(timestamp: k8s_openapi::jiff::Timestamp) -> Option<Time> {
    i64::try_from(timestamp.as_nanosecond()).ok().map(Time)
}

/// `2026-01-01T00:00:00Z`
pub fn format_seconds(time: Time) -> String {
    let whole = jiff::Timestamp::from_second(time.0.div_euclid(1_000_000_000));
    whole.expect("64-bit nanoseconds lie within jiff's range").to_string()
}

/// `2026-01-01T00:00:00.000000Z`
pub fn format_microseconds(time: Time) -> String {
    let seconds = format_seconds(time);
    let micros = time.0.rem_euclid(1_000_000_000) / 1_000;
    format!("{}.{micros:06}Z", seconds.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_instants() {
        // 2000-01-31: 30 years with 7 leap days = 10957 days, and 30 days: 10987 * 86400 s.
        let time = Time(10_987 * 86_400 * 1_000_000_000);
        assert_eq!(parse("2000-01-31T00:00:00Z"), Some(time));
        assert_eq!(parse("2000-01-31T02:00:00+02:00"), Some(time));
        assert_eq!(format_seconds(Time(time.0 + 999_999_999)), "2000-01-31T00:00:00Z");
        assert_eq!(format_microseconds(Time(time.0 + 1_500_000)), "2000-01-31T00:00:00.001500Z");
        assert_eq!(parse("yesterday"), None);
        assert_eq!(parse("9000-01-01T00:00:00Z"), None);
        // The extremes print without panic.
        let _ = (format_seconds(Time(i64::MAX)), format_seconds(Time(i64::MIN)));
    }
}
