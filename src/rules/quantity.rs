//! Quantities of resources as Kubernetes writes them: `500m`, `1.5Gi`, `12e6`. Exact, never through a float.
//!
//! A quantity is a decimal number with any count of digits and at most nine places behind the point: what is finer is
//! rounded away from zero, so that asking for something never becomes asking for nothing.
//!
//! Upstream: apimachinery/pkg/api/resource/quantity.go, suffix.go, amount.go, v1.36.
//!
//! DIVERGES: numbers beyond 63 bits wrap around upstream in `Value()` and `MilliValue()`; here they saturate.

use std::cmp::Ordering;
use std::fmt;

/// Family of the suffix a quantity was written with; it is printed in the same family.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// `12e6`
    DecimalExponent,
    /// `12Mi`
    BinarySI,
    /// `12M`
    DecimalSI,
}

impl Format {
    /// Upstream's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Format::DecimalExponent => "DecimalExponent",
            Format::BinarySI => "BinarySI",
            Format::DecimalSI => "DecimalSI",
        }
    }
}

/// Why a text is no quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QuantityError {
    /// Not of the form sign, digits, suffix.
    Format,
    /// The suffix is unknown.
    Suffix,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            QuantityError::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            QuantityError::Suffix => "unable to parse quantity's suffix",
        })
    }
}

/// A quantity. Equality and order are of the amount; how it was written does not matter.
#[derive(Clone, Debug)]
pub struct Quantity {
    negative: bool,
    /// Decimal digits without zeros at either end; empty for zero.
    digits: String,
    /// The amount is `digits` times ten to this.
    exponent: i64,
    format: Format,
    /// The input's own spelling, where upstream keeps it.
    spelling: Option<String>,
}

/// The finest decimal place.
const NANO: i64 = -9;
/// Digits that always fit in 63 bits.
const SAFE_DIGITS: usize = 18;
const DECIMAL_SUFFIXES: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// What a suffix means: ten to the power of `decimal`, times 1024 to the power of `binary`.
struct Suffix {
    decimal: i64,
    binary: usize,
    format: Format,
}

impl Suffix {
    fn interpret(text: &str) -> Option<Suffix> {
        if let Some((_, decimal)) = DECIMAL_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Suffix { decimal: *decimal, binary: 0, format: Format::DecimalSI });
        }
        if let Some(index) = BINARY_SUFFIXES.iter().position(|suffix| *suffix == text) {
            return Some(Suffix { decimal: 0, binary: index + 1, format: Format::BinarySI });
        }
        let exponent = text.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
        let exponent = exponent.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        Some(Suffix { decimal: exponent, binary: 0, format: Format::DecimalExponent })
    }
}

/// The parts of a text before they mean anything. Leading zeros are gone from `whole`, which has at least one digit.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    let tail = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let (_, left) = split_digits(tail.strip_prefix(['-', '+']).unwrap_or(tail));
    if !left.is_empty() {
        return Err(QuantityError::Format);
    }
    Ok(Parts { negative, whole: if whole.is_empty() { "0" } else { whole }, fraction, suffix })
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

impl Quantity {
    /// Parses a text, accepting and refusing what Kubernetes does.
    ///
    /// # Errors
    /// The text is not a quantity.
    pub fn parse(text: &str) -> Result<Quantity, QuantityError> {
        let parts = split(text)?;
        let suffix = Suffix::interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
        let spelling = keeps_spelling(&parts, &suffix).then(|| text.to_string());
        let mut digits = format!("{}{}", parts.whole, parts.fraction);
        for _ in 0..suffix.binary {
            digits = times_1024(&digits);
        }
        let exponent = suffix.decimal - parts.fraction.len() as i64;
        let mut quantity = Quantity { negative: parts.negative, digits, exponent, format: suffix.format, spelling };
        quantity.trim();
        quantity.round_to_nano();
        if quantity.format == Format::BinarySI && quantity.magnitude_cmp_i64(i64::MAX) == Ordering::Greater {
            quantity.digits = i64::MAX.to_string();
            quantity.exponent = 0;
        }
        Ok(quantity)
    }

    /// A whole amount, printed in `format`.
    pub fn from_value(value: i64, format: Format) -> Quantity {
        Quantity::scaled(value, 0, format)
    }

    /// An amount in thousandths, printed with decimal suffixes.
    pub fn from_milli(milli: i64) -> Quantity {
        Quantity::scaled(milli, -3, Format::DecimalSI)
    }

    fn scaled(value: i64, exponent: i64, format: Format) -> Quantity {
        let digits = value.unsigned_abs().to_string();
        let mut quantity = Quantity { negative: value < 0, digits, exponent, format, spelling: None };
        quantity.trim();
        quantity
    }

    /// The amount in whole units, fractions rounded away from zero; saturates.
    pub fn value(&self) -> i64 {
        self.in_units_of(0)
    }

    /// The amount in thousandths, finer fractions rounded away from zero; saturates.
    pub fn milli_value(&self) -> i64 {
        self.in_units_of(-3)
    }

    /// The family of suffixes it is printed in.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the amount is zero.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Whether the amount is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The canonical text, whatever spelling was parsed: what upstream prints after arithmetic.
    pub fn recomputed(&self) -> String {
        if self.is_zero() {
            return "0".into();
        }
        let sign = if self.negative { "-" } else { "" };
        if let Some(text) = self.binary_text() {
            return format!("{sign}{text}");
        }
        let padding = self.exponent.rem_euclid(3);
        let exponent = self.exponent - padding;
        let zeros = "0".repeat(padding as usize);
        let by_exponent = self.format == Format::DecimalExponent;
        let suffix = match DECIMAL_SUFFIXES.iter().find(|(_, power)| *power == exponent) {
            Some((suffix, _)) if !by_exponent || exponent == 0 => (*suffix).to_string(),
            _ => format!("e{exponent}"),
        };
        format!("{sign}{}{zeros}{suffix}", self.digits)
    }

    /// The text with a binary suffix; `None` where decimal suffixes are used: fractions, and amounts below 1024.
    fn binary_text(&self) -> Option<String> {
        if self.format != Format::BinarySI || self.exponent < 0 {
            return None;
        }
        let mut amount = self.in_units_of(0).unsigned_abs();
        if amount < 1024 {
            return None;
        }
        let mut suffix = "";
        for next in BINARY_SUFFIXES {
            if !amount.is_multiple_of(1024) {
                break;
            }
            amount /= 1024;
            suffix = next;
        }
        Some(format!("{amount}{suffix}"))
    }

    fn trim(&mut self) {
        let significant = self.digits.trim_start_matches('0');
        let trimmed = significant.trim_end_matches('0');
        self.exponent += (significant.len() - trimmed.len()) as i64;
        self.digits = trimmed.to_string();
        if self.digits.is_empty() {
            self.negative = false;
            self.exponent = 0;
        }
    }

    fn round_to_nano(&mut self) {
        if self.is_zero() || self.exponent >= NANO {
            return;
        }
        self.digits = drop_digits_rounding_up(&self.digits, NANO - self.exponent);
        self.exponent = NANO;
        self.trim();
    }

    fn in_units_of(&self, unit: i64) -> i64 {
        let shift = self.exponent - unit;
        let digits = match shift {
            _ if self.is_zero() => return 0,
            ..0 => drop_digits_rounding_up(&self.digits, -shift),
            0..=20 => format!("{}{}", self.digits, "0".repeat(shift as usize)),
            _ => "9".repeat(20),
        };
        match (digits.parse::<i64>(), self.negative) {
            (Ok(amount), false) => amount,
            (Ok(amount), true) => -amount,
            (Err(_), false) => i64::MAX,
            (Err(_), true) => i64::MIN,
        }
    }

    fn magnitude_cmp_i64(&self, bound: i64) -> Ordering {
        self.magnitude_cmp(&Quantity::from_value(bound, Format::DecimalSI))
    }

    /// Compares amounts without their signs; both without zeros at the ends.
    fn magnitude_cmp(&self, other: &Quantity) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let place = |quantity: &Quantity| quantity.digits.len() as i64 + quantity.exponent;
        // With the first digit at the same place, digits compare as text: a prefix is the smaller number.
        place(self).cmp(&place(other)).then_with(|| self.digits.cmp(&other.digits))
    }
}

/// Whether upstream prints the input as it stands. It does so on its fast path when a cheap test finds nothing to tidy.
fn keeps_spelling(parts: &Parts<'_>, suffix: &Suffix) -> bool {
    let Parts { whole, fraction, .. } = parts;
    if suffix.binary > 0 {
        // Room for the factor: a binary suffix of 2^10n takes about 3n digits, and one is kept back, of the 15 that are safe.
        let fits = whole.len() + 3 * suffix.binary < 15;
        return fits && fraction.is_empty() && whole.parse::<u64>().is_ok_and(|value| value % 8 != 0);
    }
    let scale = suffix.decimal - fraction.len() as i64;
    let last = if fraction.len() >= 3 { *fraction } else { &format!("{whole}{fraction}") };
    whole.len() + fraction.len() <= SAFE_DIGITS
        && scale >= NANO
        && scale % 3 == 0
        && !last.ends_with("000")
        && !whole.starts_with('0')
}

/// `digits / 10^count`, rounded up.
fn drop_digits_rounding_up(digits: &str, count: i64) -> String {
    let kept = digits.len() as i64 - count;
    if kept <= 0 {
        return "1".into();
    }
    let (kept, dropped) = digits.split_at(kept as usize);
    if dropped.bytes().all(|digit| digit == b'0') {
        return kept.into();
    }
    let mut bytes = kept.as_bytes().to_vec();
    for digit in bytes.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return bytes.iter().map(|digit| char::from(*digit)).collect();
        }
        *digit = b'0';
    }
    format!("1{}", "0".repeat(bytes.len()))
}

/// Decimal digits times 1024.
fn times_1024(digits: &str) -> String {
    let mut reversed = Vec::with_capacity(digits.len() + 4);
    let mut carry = 0_u32;
    for digit in digits.bytes().rev() {
        let product = u32::from(digit - b'0') * 1024 + carry;
        reversed.push(char::from(b'0' + (product % 10) as u8));
        carry = product / 10;
    }
    while carry > 0 {
        reversed.push(char::from(b'0' + (carry % 10) as u8));
        carry /= 10;
    }
    reversed.iter().rev().collect()
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.spelling {
            Some(spelling) => f.pad(spelling),
            None => f.pad(&self.recomputed()),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude_cmp(other),
            (true, true) => other.magnitude_cmp(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn amounts_and_texts() {
        for (text, canonical, value, milli) in [
            ("0", "0", 0, 0),
            ("007", "007", 7, 7_000),
            ("1000", "1k", 1_000, 1_000_000),
            ("1.5", "1500m", 2, 1_500),
            ("-.5", "-500m", -1, -500),
            ("1E2", "100", 100, 100_000),
            ("1e5", "100e3", 100_000, 100_000_000),
            // 0.1 Gi = 107374182.4
            ("0.1Gi", "107374182400m", 107_374_183, 107_374_182_400),
            // 1.5 * 1024 Mi
            ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
            ("1025Ki", "1025Ki", 1_049_600, 1_049_600_000),
            ("0.1n", "1n", 1, 1),
            ("0.12345678901234567890", "123456790n", 1, 124),
            ("1.9999999999", "2", 2, 2_000),
            ("1e-12", "1e-9", 1, 1),
            (".", "0", 0, 0),
            ("1.2345e3", "1234500e-3", 1_235, 1_234_500),
            ("12345678901234567890", "12345678901234567890", i64::MAX, i64::MAX),
            // 2^63 - 1 is the cap of binary quantities.
            ("16Ei", "9223372036854775807", i64::MAX, i64::MAX),
        ] {
            let quantity = Quantity::parse(text).unwrap();
            assert_eq!(
                (quantity.to_string().as_str(), quantity.value(), quantity.milli_value()),
                (canonical, value, milli),
                "{text}"
            );
        }
    }

    #[test]
    fn refusals() {
        for (text, why) in [
            ("", QuantityError::Format),
            ("1K", QuantityError::Suffix),
            ("5e", QuantityError::Suffix),
            ("--1", QuantityError::Suffix),
            ("1 Gi", QuantityError::Format),
            ("1e--3", QuantityError::Format),
            ("1µ", QuantityError::Format),
            ("1KI", QuantityError::Format),
        ] {
            assert_eq!(Quantity::parse(text).unwrap_err(), why, "{text}");
        }
    }

    #[test]
    fn order_is_of_amounts() {
        let parse = |text| Quantity::parse(text).unwrap();
        assert_eq!(parse("1Gi"), parse("1024Mi"));
        assert!(parse("1G") < parse("1Gi"));
        assert!(parse("-1") < parse("0") && parse("0") < parse("1n"));
        assert!(parse("-2") < parse("-1.5"));
        assert_eq!(Quantity::from_milli(1_500).to_string(), "1500m");
        assert_eq!(Quantity::from_value(2_048, Format::BinarySI).to_string(), "2Ki");
    }

    proptest! {
        #[test]
        fn any_text_is_judged_without_panic(text in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,12}") {
            if let Ok(quantity) = Quantity::parse(&text) {
                // What is printed parses to the same amount.
                prop_assert_eq!(&Quantity::parse(&quantity.recomputed()).unwrap(), &quantity);
                prop_assert_eq!(&Quantity::parse(&quantity.to_string()).unwrap(), &quantity);
            }
        }

        #[test]
        fn whole_numbers_are_exact(value in -1_000_000_000_000_i64..1_000_000_000_000) {
            let quantity = Quantity::parse(&value.to_string()).unwrap();
            prop_assert_eq!((quantity.value(), quantity.milli_value()), (value, value * 1_000));
            prop_assert_eq!(Quantity::from_milli(value).milli_value(), value);
        }
    }
}
