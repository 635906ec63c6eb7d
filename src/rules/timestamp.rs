//! Timestamps of API objects: RFC 3339, whole seconds (`metav1.Time`) or microseconds (`metav1.MicroTime`), in UTC.

use crate::model::Time;

/// An instant from RFC 3339 text, any offset. `None` when it is none, or beyond what nanoseconds in 64 bits can hold.
pub fn parse(text: &str) -> Option<Time> {
    let timestamp: jiff::Timestamp = text.parse().ok()?;
    i64::try_from(timestamp.as_nanosecond()).ok().map(Time)
}

/// Whether a text is RFC 3339 as Go reads it: with a capital T and Z or an offset; with exactly six decimals of a second where
/// `has_micros`, else with any number of them.
///
/// Upstream: apimachinery/pkg/apis/meta/v1/{time,micro_time}.go, v1.36.
pub fn is_rfc3339(text: &str, has_micros: bool) -> bool {
    let bytes = text.as_bytes();
    let shape = "dddd-dd-ddTdd:dd:dd";
    let fits = |(at, sign): (usize, u8)| match (sign, bytes.get(at)) {
        (b'd', Some(given)) => given.is_ascii_digit(),
        (sign, given) => given == Some(&sign),
    };
    if !shape.bytes().enumerate().all(fits) {
        return false;
    }
    let rest = &text[shape.len()..];
    let decimals = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let has_point = rest.starts_with('.');
    let decimals_fit = if has_micros { decimals == 6 } else { !has_point || decimals > 0 };
    let zone = &rest[if has_point { decimals + 1 } else { 0 }..];
    let zone_fits = zone == "Z" || zone.len() == 6 && zone.starts_with(['+', '-']) && zone.as_bytes()[3] == b':';
    decimals_fit && zone_fits && text.parse::<jiff::Timestamp>().is_ok()
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
    fn the_server_wants_its_own_shape() {
        for (text, seconds, micros) in [
            ("2026-01-01T00:00:00Z", true, false),
            ("2026-01-01T00:00:00.123456Z", true, true),
            ("2026-01-01T00:00:00.123456789+02:00", true, false),
            ("2026-01-01t00:00:00z", false, false),
            ("2026-01-01 00:00:00Z", false, false),
            ("2026-01-01T00:00:00", false, false),
            ("2026-02-30T00:00:00Z", false, false),
            ("2026-01-01T00:00:00.Z", false, false),
            ("", false, false),
        ] {
            assert_eq!((is_rfc3339(text, false), is_rfc3339(text, true)), (seconds, micros), "{text}");
        }
    }

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
