//! Virtual time: nanoseconds since the Unix epoch, and spans between two instants.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Nanoseconds in a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND_NS: i64 = 1_000_000;

/// An instant of virtual time, in nanoseconds since the Unix epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(pub i64);

/// A signed length of virtual time, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Span(pub i64);

impl Time {
    /// An instant later than any event of a run.
    pub const FAR_FUTURE: Time = Time(i64::MAX);

    /// The instant truncated to whole seconds, as API timestamps (`metav1.Time`) are stored.
    pub fn truncated_to_seconds(self) -> Time {
        Time(self.0.div_euclid(SECOND_NS) * SECOND_NS)
    }

    /// Seconds from `start` to this instant, for output only.
    pub fn seconds_since(self, start: Time) -> f64 {
        (self.0 - start.0) as f64 / SECOND_NS as f64
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole seconds.
    pub const fn from_seconds(seconds: i64) -> Span {
        Span(seconds * SECOND_NS)
    }

    /// A span of whole milliseconds.
    pub const fn from_milliseconds(milliseconds: i64) -> Span {
        Span(milliseconds * MILLISECOND_NS)
    }

    /// A span of whole microseconds.
    pub const fn from_microseconds(microseconds: i64) -> Span {
        Span(microseconds * 1_000)
    }

    /// The span in seconds, for output and for upstream's float64 arithmetic.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / SECOND_NS as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub<Span> for Time {
    type Output = Time;
    fn sub(self, span: Span) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Sub for Time {
    type Output = Span;
    fn sub(self, other: Time) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

/// Writes the span as Go's `time.Duration` prints it for whole units, e.g. `1.5s`, `250ms`, `2m0s`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let ns = self.0.unsigned_abs();
        match ns {
            0 => write!(f, "0s"),
            1..1_000 => write!(f, "{sign}{ns}ns"),
            1_000..1_000_000 => write!(f, "{sign}{}µs", trimmed(ns, 1_000)),
            1_000_000..1_000_000_000 => write!(f, "{sign}{}ms", trimmed(ns, 1_000_000)),
            _ => {
                let (hours, rest) = (ns / 3_600_000_000_000, ns % 3_600_000_000_000);
                let (minutes, rest) = (rest / 60_000_000_000, rest % 60_000_000_000);
                f.write_str(sign)?;
                if hours > 0 {
                    write!(f, "{hours}h{minutes}m")?;
                } else if minutes > 0 {
                    write!(f, "{minutes}m")?;
                }
                write!(f, "{}s", trimmed(rest, 1_000_000_000))
            }
        }
    }
}

/// `value / unit` as a decimal without trailing zeros; exact because units are powers of ten.
fn trimmed(value: u64, unit: u64) -> String {
    let (whole, fraction) = (value / unit, value % unit);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = unit.ilog10() as usize;
    let text = format!("{fraction:0digits$}");
    format!("{whole}.{}", text.trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_print_as_go_durations() {
        // 90 s = 1 min 30 s; 1.28 s; 5 ms; 3600 s = 1 h 0 min 0 s.
        for (ns, text) in [
            (0, "0s"),
            (90 * SECOND_NS, "1m30s"),
            (1_280_000_000, "1.28s"),
            (5_000_000, "5ms"),
            (3_600 * SECOND_NS, "1h0m0s"),
            (-1_500, "-1.5µs"),
        ] {
            assert_eq!(Span(ns).to_string(), text);
        }
    }

    #[test]
    fn api_timestamps_truncate_to_seconds() {
        assert_eq!(Time(1_999_999_999).truncated_to_seconds(), Time(SECOND_NS));
        assert_eq!(Time(-1).truncated_to_seconds(), Time(-SECOND_NS));
    }
}
