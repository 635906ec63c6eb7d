//! Fields of a CSV row, as bytes.

use crate::model::Time;
use crate::model::time::SECOND_NS;

/// Appends `text` as one field, with quotes only when RFC 4180 asks for them (comma, quote or line end inside).
pub fn push_text(row: &mut Vec<u8>, text: &str) {
    if text.bytes().any(needs_quotes) {
        push_quoted(row, text);
    } else {
        row.extend_from_slice(text.as_bytes());
    }
}

/// Appends a whole number.
pub fn push_u64(row: &mut Vec<u8>, number: u64) {
    row.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends a whole number that may be negative.
pub fn push_i64(row: &mut Vec<u8>, number: i64) {
    row.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Appends the seconds from `start` to `time`: exact, in whole-number arithmetic, without trailing zeros (`0`, `2.007`).
pub fn push_seconds(row: &mut Vec<u8>, time: Time, start: Time) {
    let span_ns = i128::from(time.0) - i128::from(start.0);
    if span_ns < 0 {
        row.push(b'-');
    }
    let ns = span_ns.unsigned_abs();
    let second_ns = SECOND_NS as u128;
    // Two instants of 64 bits are at most 2^64 ns apart, so both parts fit.
    push_u64(row, (ns / second_ns) as u64);
    let mut fraction = (ns % second_ns) as u32;
    if fraction == 0 {
        return;
    }
    let mut digits = [b'0'; 9];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    let last = digits.iter().rposition(|&digit| digit != b'0').map_or(0, |index| index + 1);
    row.push(b'.');
    row.extend_from_slice(&digits[..last]);
}

fn needs_quotes(byte: u8) -> bool {
    matches!(byte, b',' | b'"' | b'\n' | b'\r')
}

#[cold]
fn push_quoted(row: &mut Vec<u8>, text: &str) {
    row.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            row.push(b'"');
        }
        row.push(byte);
    }
    row.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(time_ns: i64, start_ns: i64) -> String {
        let mut row = Vec::new();
        push_seconds(&mut row, Time(time_ns), Time(start_ns));
        String::from_utf8(row).expect("ASCII")
    }

    #[test]
    fn seconds_are_exact_and_trimmed() {
        let start = 1_767_225_600_000_000_000;
        for (span_ns, text) in [
            (0, "0"),
            (1, "0.000000001"),
            (7_000_000, "0.007"),
            (2_007_000_000, "2.007"),
            (120_000_000_000, "120"),
            (-1_500_000_000, "-1.5"),
        ] {
            assert_eq!(seconds(start + span_ns, start), text);
        }
        // 2^64 - 1 ns = 18446744073.709551615 s: the widest distance that exists.
        assert_eq!(seconds(i64::MAX, i64::MIN), "18446744073.709551615");
    }

    #[test]
    fn text_is_quoted_only_when_it_must_be() {
        for (text, field) in [
            ("", ""),
            ("worker 3", "worker 3"),
            ("app=api,tier=web", "\"app=api,tier=web\""),
            ("pull \"nginx\"", "\"pull \"\"nginx\"\"\""),
            ("a\nb", "\"a\nb\""),
        ] {
            let mut row = Vec::new();
            push_text(&mut row, text);
            assert_eq!(row, field.as_bytes());
        }
    }
}
