//! A number, or a percentage of another number: `maxSurge: 1`, `maxUnavailable: "25%"`.
//!
//! Upstream: k8s.io/apimachinery pkg/util/intstr/intstr.go, v1.36.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// An absolute number or a percentage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IntOrPercent {
    /// A number of things.
    Int(i32),
    /// Percent of a total.
    Percent(i32),
}

/// Why a text or JSON value is neither a number nor a percentage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InvalidIntOrPercent {
    found: String,
}

impl IntOrPercent {
    /// Reads a JSON integer, or a string of digits with a percent sign.
    pub fn from_json(value: &Value) -> Result<IntOrPercent, InvalidIntOrPercent> {
        let invalid = || InvalidIntOrPercent { found: value.to_string() };
        match value {
            Value::Number(number) => {
                let number = number.as_i64().and_then(|number| i32::try_from(number).ok());
                number.map(IntOrPercent::Int).ok_or_else(invalid)
            }
            Value::String(text) => text.parse(),
            _ => Err(invalid()),
        }
    }

    /// The number as it is, or the percentage of `total`, rounded up.
    pub fn scaled_up(self, total: i32) -> i32 {
        match self {
            IntOrPercent::Int(number) => number,
            // -floor(-x) = ceil(x).
            IntOrPercent::Percent(percent) => saturated(-(-hundredths(percent, total)).div_euclid(100)),
        }
    }

    /// The number as it is, or the percentage of `total`, rounded down.
    pub fn scaled_down(self, total: i32) -> i32 {
        match self {
            IntOrPercent::Int(number) => number,
            IntOrPercent::Percent(percent) => saturated(hundredths(percent, total).div_euclid(100)),
        }
    }
}

fn hundredths(percent: i32, total: i32) -> i64 {
    i64::from(percent) * i64::from(total)
}

fn saturated(number: i64) -> i32 {
    number.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

impl FromStr for IntOrPercent {
    type Err = InvalidIntOrPercent;

    /// Reads digits with a percent sign. Digits alone are a string, not a number, and not allowed (as upstream).
    fn from_str(text: &str) -> Result<IntOrPercent, InvalidIntOrPercent> {
        let digits = text.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let percent = digits.and_then(|digits| digits.parse().ok());
        percent.map(IntOrPercent::Percent).ok_or_else(|| InvalidIntOrPercent { found: format!("{text:?}") })
    }
}

impl fmt::Display for IntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IntOrPercent::Int(number) => write!(f, "{number}"),
            IntOrPercent::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

impl fmt::Display for InvalidIntOrPercent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected an integer or a percentage such as \"25%\", found {}", self.found)
    }
}

impl std::error::Error for InvalidIntOrPercent {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn integers_and_percentages_are_read_and_nothing_else() {
        assert_eq!(IntOrPercent::from_json(&json!(3)), Ok(IntOrPercent::Int(3)));
        assert_eq!(IntOrPercent::from_json(&json!("25%")), Ok(IntOrPercent::Percent(25)));
        for wrong in
            [json!("3"), json!("%"), json!("-5%"), json!("2.5%"), json!(2.5), json!(null), json!(3_000_000_000_i64)]
        {
            assert!(IntOrPercent::from_json(&wrong).is_err(), "{wrong} was read");
        }
        assert_eq!(IntOrPercent::Percent(25).to_string(), "25%");
    }

    #[test]
    fn percentages_round_as_asked() {
        // 25 % of 10 = 2.5; 30 % of 10 = 3; 150 % of 3 = 4.5; -50 % of 3 = -1.5.
        for (percent, total, up, down) in
            [(25, 10, 3, 2), (30, 10, 3, 3), (150, 3, 5, 4), (-50, 3, -1, -2), (100, 0, 0, 0)]
        {
            let value = IntOrPercent::Percent(percent);
            assert_eq!((value.scaled_up(total), value.scaled_down(total)), (up, down), "{percent} % of {total}");
        }
        assert_eq!((IntOrPercent::Int(7).scaled_up(2), IntOrPercent::Int(7).scaled_down(2)), (7, 7));
        assert_eq!(IntOrPercent::Percent(i32::MAX).scaled_up(i32::MAX), i32::MAX);
    }
}
