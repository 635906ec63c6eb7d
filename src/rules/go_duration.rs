//! Durations as Go writes them: `1h30m`, `1.5s`, `250ms`.
//!
//! Upstream: Go `time.ParseDuration`. Printing is [`crate::model::Span`]'s `Display`.

use std::fmt;

/// Why a text is no duration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoDurationError {
    /// Not of the form number, unit, number, unit ...
    Invalid,
    /// A number without a unit.
    MissingUnit,
    /// A unit that is not one of ns, us, ms, s, m, h.
    UnknownUnit,
}

impl fmt::Display for GoDurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GoDurationError::Invalid => "invalid duration",
            GoDurationError::MissingUnit => "missing unit in duration",
            GoDurationError::UnknownUnit => "unknown unit in duration (units are ns, us, ms, s, m, h)",
        })
    }
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of a duration.
///
/// # Errors
/// The text is no duration, or its nanoseconds do not fit in 64 bits.
pub fn parse(text: &str) -> Result<i64, GoDurationError> {
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(GoDurationError::Invalid);
    }
    let mut total_ns = 0_u64;
    while !rest.is_empty() {
        let (part_ns, left) = parse_part(rest)?;
        // Go sums up to 2^63, which only a negative duration may reach.
        total_ns = total_ns.checked_add(part_ns).filter(|ns| *ns <= 1 << 63).ok_or(GoDurationError::Invalid)?;
        rest = left;
    }
    match negative {
        true => Ok((total_ns as i64).wrapping_neg()),
        false => i64::try_from(total_ns).map_err(|_| GoDurationError::Invalid),
    }
}

/// One number with its unit, and what follows it.
fn parse_part(text: &str) -> Result<(u64, &str), GoDurationError> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(GoDurationError::Invalid);
    }
    let unit_end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (unit, rest) = rest.split_at(unit_end);
    if unit.is_empty() {
        return Err(GoDurationError::MissingUnit);
    }
    let (_, unit_ns) = UNITS.iter().find(|(name, _)| *name == unit).ok_or(GoDurationError::UnknownUnit)?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| GoDurationError::Invalid)? };
    let whole_ns = whole.checked_mul(*unit_ns).filter(|ns| *ns <= 1 << 63).ok_or(GoDurationError::Invalid)?;
    let part_ns = whole_ns.checked_add(fraction_ns(fraction, *unit_ns)).filter(|ns| *ns <= 1 << 63);
    Ok((part_ns.ok_or(GoDurationError::Invalid)?, rest))
}

/// The fraction of a unit, truncated to nanoseconds. Digits that no longer fit in 63 bits are dropped, as Go does.
///
/// Go computes `digits * (unit / 10^places)` in float64 and truncates; the same operations in the same order.
fn fraction_ns(digits: &str, unit_ns: u64) -> u64 {
    let mut value = 0_u64;
    let mut scale = 1.0_f64;
    for digit in digits.bytes() {
        let next = value.checked_mul(10).and_then(|ten| ten.checked_add(u64::from(digit - b'0')));
        match next.filter(|next| value <= (i64::MAX as u64) / 10 && *next <= 1 << 63) {
            Some(next) => value = next,
            None => break,
        }
        scale *= 10.0;
    }
    (value as f64 * (unit_ns as f64 / scale)) as u64
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::Span;

    #[test]
    fn go_durations() {
        for (text, ns) in [
            ("0", 0),
            ("1h30m", 5_400_000_000_000),
            (".5s", 500_000_000),
            ("-1.5h", -5_400_000_000_000),
            ("1\u{b5}s", 1_000),
            // 0.0166666666 h * 3600e9 ns
            ("0.0166666666h", 59_999_999_760),
            ("1.0000000001s", 1_000_000_000),
            ("-9223372036854775808ns", i64::MIN),
        ] {
            assert_eq!(parse(text), Ok(ns), "{text}");
        }
        for (text, why) in [
            ("", GoDurationError::Invalid),
            ("1", GoDurationError::MissingUnit),
            ("1d", GoDurationError::UnknownUnit),
            ("1h 30m", GoDurationError::UnknownUnit),
            ("9223372037s", GoDurationError::Invalid),
            ("9223372036854775808ns", GoDurationError::Invalid),
            ("s", GoDurationError::Invalid),
            ("1h-30m", GoDurationError::UnknownUnit),
        ] {
            assert_eq!(parse(text), Err(why), "{text}");
        }
    }

    proptest! {
        #[test]
        fn printed_spans_parse_back(ns in proptest::num::i64::ANY) {
            prop_assert_eq!(parse(&Span(ns).to_string()), Ok(ns));
        }

        #[test]
        fn any_text_is_judged_without_panic(text in "[-+]?([0-9]{0,22}[.]?[0-9]{0,22}[nuµmsh ]{0,2}){0,3}") {
            let _ = parse(&text);
        }
    }
}
