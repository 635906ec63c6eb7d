//! What flags take, read as Go's flag packages read it.

use crate::model::Span;
use crate::rules::go_duration;

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// true or false; true without a value.
    Switch,
    /// A duration, not negative.
    Span,
    /// A duration above zero.
    PositiveSpan,
    /// A duration.
    Duration,
    /// A whole number.
    Whole,
    /// A whole number from zero.
    Count,
    /// A whole number above zero.
    Workers,
    /// A number.
    Number,
    /// A number other than zero; negative for no limit.
    Qps,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Any text.
    Text,
    /// The name of an object.
    Name,
    /// Any text, or nothing.
    Optional,
    /// `GATE=true,GATE=false`.
    Gates,
}

/// What was given.
#[derive(Clone, PartialEq, Debug)]
pub enum Given {
    /// true or false
    Switch(bool),
    /// A duration.
    Span(Span),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl Form {
    /// Whether the next word belongs to the flag when there is no `=` in it.
    pub fn takes_next_word(self) -> bool {
        !matches!(self, Form::Switch | Form::Optional)
    }

    /// What a text means.
    ///
    /// # Errors
    /// What the flag wants instead.
    pub fn read(self, text: Option<&str>) -> Result<Given, String> {
        let Some(text) = text else {
            return match self {
                Form::Switch => Ok(Given::Switch(true)),
                Form::Optional => Ok(Given::Text(String::new())),
                _ => Err("given a value".to_string()),
            };
        };
        match self {
            Form::Switch => truth(text).map(Given::Switch).ok_or("true or false".to_string()),
            Form::Span => span(text, "12h or 5m").and_then(|span| match span.0 {
                0.. => Ok(Given::Span(span)),
                _ => Err("a duration such as 12h or 5m".to_string()),
            }),
            Form::PositiveSpan => span(text, "1m").and_then(|span| match span.0 {
                1.. => Ok(Given::Span(span)),
                _ => Err("a duration above zero such as 1m".to_string()),
            }),
            Form::Workers | Form::Count if is_too_large(text) => Err(format!("a whole number of at most {}", i32::MAX)),
            Form::Count => {
                let count = text.parse().ok().filter(|count| (0..=i64::from(i32::MAX)).contains(count));
                count.map(Given::Whole).ok_or("a whole number from zero".to_string())
            }
            Form::Duration => span(text, "15s").map(Given::Span),
            Form::Whole => text.parse().map(Given::Whole).map_err(|_| "a whole number".to_string()),
            Form::Workers => {
                let workers = text.parse().ok().filter(|workers| (1..=i64::from(i32::MAX)).contains(workers));
                workers.map(Given::Whole).ok_or("a whole number above zero".to_string())
            }
            Form::Number => number(text).map(Given::Number).ok_or("a number".to_string()),
            Form::Qps => {
                let qps = number(text).filter(|qps| *qps != 0.0);
                qps.map(Given::Number).ok_or("a number other than zero (negative for no limit)".to_string())
            }
            Form::Name => match crate::rules::names::is_dns_subdomain(text) {
                true => Ok(Given::Text(text.to_string())),
                false => Err("a name of lower-case letters, digits, `-` and `.`".to_string()),
            },
            Form::Words(words) => match words.contains(&text) {
                true => Ok(Given::Text(text.to_string())),
                false => Err(format!("one of {}", words.join(", "))),
            },
            Form::Text | Form::Optional | Form::Gates => Ok(Given::Text(text.to_string())),
        }
    }
}

fn span(text: &str, example: &str) -> Result<Span, String> {
    match go_duration::parse(text) {
        Ok(ns) => Ok(Span(ns)),
        Err(go_duration::GoDurationError::Invalid) => Err(format!("a duration such as {example}")),
        Err(why) => Err(format!("a duration such as {example} ({why})")),
    }
}

/// A whole number beyond 32 bits.
fn is_too_large(text: &str) -> bool {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let is_whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_whole && digits.parse::<i32>().is_err()
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Upstream: Go `strconv.ParseBool`.
pub fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_go_reads_them() {
        let read = |form: Form, text: &str| form.read(Some(text)).map_err(|wanted| format!("must be {wanted}"));
        assert_eq!(read(Form::Switch, "T"), Ok(Given::Switch(true)));
        assert_eq!(read(Form::Switch, "yes"), Err("must be true or false".to_string()));
        assert_eq!(Form::Switch.read(None), Ok(Given::Switch(true)));
        assert_eq!(Form::Whole.read(None), Err("given a value".to_string()));
        assert_eq!(read(Form::Duration, "-1m"), Ok(Given::Span(Span::from_seconds(-60))));
        assert_eq!(read(Form::Span, "-1m"), Err("must be a duration such as 12h or 5m".to_string()));
        let units = "unknown unit in duration (units are ns, us, ms, s, m, h)";
        assert_eq!(read(Form::Duration, "10 seconds"), Err(format!("must be a duration such as 15s ({units})")));
        assert_eq!(
            read(Form::Duration, "10"),
            Err("must be a duration such as 15s (missing unit in duration)".to_string())
        );
        assert_eq!(read(Form::Workers, "0"), Err("must be a whole number above zero".to_string()));
        assert_eq!(read(Form::Whole, "-1"), Ok(Given::Whole(-1)));
        assert_eq!(read(Form::Whole, "1.5"), Err("must be a whole number".to_string()));
        assert!(read(Form::Qps, "0").is_err() && read(Form::Qps, "NaN").is_err());
        assert_eq!(read(Form::Qps, "-1"), Ok(Given::Number(-1.0)));
        assert_eq!(read(Form::Words(&["leases"]), "endpoints"), Err("must be one of leases".to_string()));
    }
}
