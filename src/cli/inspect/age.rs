//! How old things are, in kubectl's words.

use serde_json::Value;

use crate::model::time::SECOND_NS;
use crate::model::{Span, Time};
use crate::rules::timestamp;

/// `90s`, `5m30s`, `2d3h`: two digits' worth, as kubectl shows ages.
///
/// Upstream: apimachinery/pkg/util/duration/duration.go (`HumanDuration`), v1.36.
pub fn human_duration(span: Span) -> String {
    let seconds = span.0 / SECOND_NS;
    if seconds < -1 {
        return "<invalid>".to_string();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |large: i64, unit: &str, small: i64, smaller: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{smaller}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, "h", minutes % 60, "m"),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, "d", hours % 24, "h"),
        () if days < 365 * 2 => format!("{days}d"),
        () if days < 365 * 8 => two(days / 365, "y", days % 365, "d"),
        () => format!("{}y", days / 365),
    }
}

/// The age of a timestamp as objects hold them; `<unknown>` without one.
pub fn since(timestamp: &Value, now: Time) -> String {
    match timestamp.as_str().and_then(timestamp::parse) {
        Some(time) => human_duration(now - time),
        None => "<unknown>".to_string(),
    }
}

/// `Thu, 01 Jan 2026 00:03:00 +0000`; `<unset>` without a time.
pub fn date(timestamp: &Value) -> String {
    match timestamp.as_str().and_then(timestamp::parse) {
        Some(time) => date_of(time),
        None => "<unset>".to_string(),
    }
}

fn date_of(time: Time) -> String {
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    // 2026-01-01T00:03:00Z
    let text = timestamp::format_seconds(time);
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    let month = part(5, 7).parse::<usize>().ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    // 1970-01-01 was a Thursday.
    let day = DAYS[time.0.div_euclid(86_400 * SECOND_NS).rem_euclid(7) as usize];
    format!("{day}, {} {} {} {} +0000", part(8, 10), month.unwrap_or(&""), part(0, 4), part(11, 19))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ages_have_the_digits_that_kubectl_gives_them() {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (119, "119s"),
            (120, "2m"),
            (121, "2m1s"),
            (10 * 60 + 5, "10m"),
            (179 * 60, "179m"),
            (3 * HOUR + 60, "3h1m"),
            (8 * HOUR + 60, "8h"),
            (47 * HOUR, "47h"),
            (48 * HOUR, "2d"),
            (49 * HOUR, "2d1h"),
            (8 * DAY + HOUR, "8d"),
            (729 * DAY, "729d"),
            (731 * DAY, "2y1d"),
            (8 * 365 * DAY + DAY, "8y"),
        ] {
            assert_eq!(human_duration(Span::from_seconds(seconds)), text, "{seconds}");
        }
        assert_eq!(human_duration(Span(-1_500_000_000)), "0s");
    }

    #[test]
    fn timestamps_are_shown_as_ages_and_as_dates() {
        let time = json!("2026-01-01T00:03:00Z");
        let now = timestamp::parse("2026-01-01T00:05:00Z").unwrap();
        assert_eq!((since(&time, now).as_str(), since(&Value::Null, now).as_str()), ("2m", "<unknown>"));
        assert_eq!(date(&time), "Thu, 01 Jan 2026 00:03:00 +0000");
        assert_eq!(date(&json!("2024-02-29T12:00:59Z")), "Thu, 29 Feb 2024 12:00:59 +0000");
        assert_eq!(date(&Value::Null), "<unset>");
    }
}
