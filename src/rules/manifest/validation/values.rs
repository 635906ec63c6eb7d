//! Rules on single values that several kinds share: numbers or percentages, names, words, quantities, changes.

use serde_json::{Map, Value};

use super::super::{Errors, Field};
use crate::rules::quantity::Quantity;

/// Message of a name that may not stand in a path.
pub const PATH_SEGMENT: &str = "may not be '.' or '..', and may not contain '/' or '%'";
/// Message of a field that was changed.
pub const IMMUTABLE: &str = "field is immutable";

/// Whether it may stand between the slashes of a path.
pub fn is_path_segment(text: &str) -> bool {
    text != "." && text != ".." && !text.contains(['/', '%'])
}

/// The percentage that a text of digits and `%` means.
pub fn percent(value: &Value) -> Option<i64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// The number of an amount or of a percentage; 0 for what is neither.
pub fn amount(value: &Value) -> i64 {
    let plain = || value.as_i64().or_else(|| value.as_str()?.parse().ok());
    percent(value).or_else(plain).unwrap_or(0)
}

/// A number that is not negative, or a percentage; absent is fine.
pub fn check_amount(field: &Field<'_>, errors: &mut Errors) {
    if field.value.is_string() && percent(field.value).is_none() {
        errors.invalid(field, "a valid percent string must be a numeric string followed by an ending '%', like '93%'");
    }
    errors.not_negative(field);
}

/// A percentage may not be above 100 %.
pub fn check_at_most_whole(field: &Field<'_>, errors: &mut Errors) {
    if percent(field.value).is_some_and(|percent| percent > 100) {
        errors.invalid(field, "must not be greater than 100%");
    }
}

/// One of these words; absent counts as an empty word.
pub fn check_word(field: &Field<'_>, supported: &[&str], errors: &mut Errors) {
    if !supported.contains(&field.text()) {
        errors.not_supported(field, supported);
    }
}

/// One of these words, if given.
pub fn check_given_word(field: &Field<'_>, supported: &[&str], errors: &mut Errors) {
    if field.is_given() {
        check_word(field, supported, errors);
    }
}

/// The amount of a quantity, as text or as a number. Quantities that cannot be read were refused with the types.
pub fn quantity(field: &Field<'_>) -> Option<Quantity> {
    match field.value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// The field may not have changed.
pub fn check_unchanged(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    if !same(old.value, new.value) {
        errors.invalid(new, IMMUTABLE);
    }
}

/// Whether two values mean the same: what is absent is what is empty.
///
/// Upstream: apimachinery/pkg/api/equality, `Semantic.DeepEqual`. Quantities have their canonical text here.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => covers(a, b) && covers(b, a),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        _ => a == b || (is_nothing(a) && is_nothing(b)),
    }
}

fn covers(all: &Map<String, Value>, some: &Map<String, Value>) -> bool {
    some.iter().all(|(key, value)| same(all.get(key).unwrap_or(&Value::Null), value))
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn amounts() {
        for (value, number, mistakes) in [
            (json!(3), 3, 0),
            (json!(-1), -1, 1),
            (json!("25%"), 25, 0),
            (json!("25"), 25, 1),
            (json!("-5%"), 0, 1),
            (json!("a%"), 0, 1),
            (json!(null), 0, 0),
            (json!("99999999999999999999%"), i64::MAX, 0),
        ] {
            let mut errors = Errors::default();
            check_amount(&Field::root(&value), &mut errors);
            assert_eq!((amount(&value), errors.into_list().len()), (number, mistakes), "{value}");
        }
    }

    #[test]
    fn what_is_empty_is_absent() {
        assert!(same(&json!({"a": {}, "b": [1]}), &json!({"b": [1], "c": null, "d": ""})));
        assert!(!same(&json!({"a": 0}), &json!({})) && !same(&json!([1]), &json!([1, null])));
        assert!(!same(&json!({"a": {"b": "x"}}), &json!({"a": {}})));
    }

    #[test]
    fn segments() {
        assert!(is_path_segment("a b") && !is_path_segment("a/b") && !is_path_segment("..") && !is_path_segment("5%"));
    }
}
