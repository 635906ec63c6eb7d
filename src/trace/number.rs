//! Numbers in text: the shortest decimal that reads back as the same float.

use std::io::Write;

/// Appends a float: whole numbers without a point (`3`), others as the shortest text that reads back as the same
/// 64-bit float (`0.1`), in scientific notation below 1e-5 and from 1e15 (`1e-7`). `NaN`, `+Inf` and `-Inf` as
/// Prometheus writes them; minus zero is `0`.
pub fn push_f64(row: &mut Vec<u8>, number: f64) {
    const EXACT_LIMIT: f64 = 1e15;
    const SMALL_LIMIT: f64 = 1e-5;
    let size = number.abs();
    if number.is_nan() {
        row.extend_from_slice(b"NaN");
    } else if size.is_infinite() {
        row.extend_from_slice(if number > 0.0 { b"+Inf" } else { b"-Inf" });
    } else if size < EXACT_LIMIT && number.trunc() == number {
        super::csv_field::push_i64(row, number as i64);
    } else if (SMALL_LIMIT..EXACT_LIMIT).contains(&size) {
        write!(row, "{number}").expect("a vector takes every write");
    } else {
        write!(row, "{number:e}").expect("a vector takes every write");
    }
}

/// The same as text.
pub fn format_f64(number: f64) -> String {
    let mut text = Vec::with_capacity(24);
    push_f64(&mut text, number);
    String::from_utf8(text).expect("digits are ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_back() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (3.0, "3"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e-7, "1e-7"),
            (1e15, "1e15"),
            (123_456_789.0, "123456789"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(format_f64(number), text);
            if number.is_finite() {
                assert_eq!(text.parse::<f64>().expect("a number").to_bits(), (number + 0.0).to_bits());
            }
        }
    }
}
