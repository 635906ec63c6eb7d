//! One recorded case: reading its fields, and comparing what came out.

use std::fmt::Display;

use serde_json::Value;

/// Replays one case; the error tells what differs.
pub type Reader = fn(&Value) -> Result<(), Disagreement>;

/// What a recording says and what came out instead.
#[derive(Clone, PartialEq, Debug)]
pub struct Disagreement {
    pub expected: String,
    pub got: String,
}

impl Disagreement {
    pub fn new(expected: impl Display, got: impl Display) -> Disagreement {
        Disagreement { expected: expected.to_string(), got: got.to_string() }
    }
}

/// The field of an object.
pub fn field<'a>(value: &'a Value, name: &str) -> Result<&'a Value, Disagreement> {
    value.get(name).ok_or_else(|| Disagreement::new(format!("a field `{name}`"), value))
}

/// An integer field.
pub fn int(value: &Value, name: &str) -> Result<i64, Disagreement> {
    let found = field(value, name)?;
    found.as_i64().ok_or_else(|| Disagreement::new(format!("an integer `{name}`"), found))
}

/// A number field that is not negative and not large: a count, a worker's number.
pub fn count(value: &Value, name: &str) -> Result<u32, Disagreement> {
    u32::try_from(int(value, name)?).map_err(|_| Disagreement::new(format!("a small count `{name}`"), value))
}

/// A number field as float64.
pub fn float(value: &Value, name: &str) -> Result<f64, Disagreement> {
    let found = field(value, name)?;
    found.as_f64().ok_or_else(|| Disagreement::new(format!("a number `{name}`"), found))
}

/// A text field.
pub fn text<'a>(value: &'a Value, name: &str) -> Result<&'a str, Disagreement> {
    let found = field(value, name)?;
    found.as_str().ok_or_else(|| Disagreement::new(format!("a text `{name}`"), found))
}

/// A list field. Recordings from Go write a list that was never appended to as null.
pub fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], Disagreement> {
    let found = field(value, name)?;
    if found.is_null() {
        return Ok(&[]);
    }
    found.as_array().map(Vec::as_slice).ok_or_else(|| Disagreement::new(format!("a list `{name}`"), found))
}

/// Fields that say something about a case and change nothing in it.
const ABOUT: &[&str] = &["id", "case", "note", "scenario", "seed"];

/// Fails at a field of an object that is neither one of `names` nor a mere remark: what nobody reads cannot agree.
pub fn only_fields(value: &Value, names: &[&str]) -> Result<(), Disagreement> {
    let Value::Object(fields) = value else { return Err(Disagreement::new("an object", value)) };
    let unknown = fields.keys().find(|name| !names.contains(&name.as_str()) && !ABOUT.contains(&name.as_str()));
    unknown.map_or(Ok(()), |name| Err(Disagreement::new(format!("only the fields {names:?}"), format!("`{name}`"))))
}

/// An integer field that may be left out; then it is 0.
pub fn int_or_zero(value: &Value, name: &str) -> Result<i64, Disagreement> {
    value.get(name).map_or(Ok(0), |_| int(value, name))
}

/// Whether two values are the same: integers exactly, other numbers within `tolerance`, fields in any order.
pub fn agree(expected: &Value, got: &Value, tolerance: f64) -> bool {
    match (expected, got) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => a == b,
            _ => matches!((a.as_f64(), b.as_f64()), (Some(a), Some(b)) if (a - b).abs() <= tolerance),
        },
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b, tolerance))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| agree(a, b, tolerance)))
        }
        _ => expected == got,
    }
}

/// Fails with `context` if the values are not the same.
pub fn compare(context: impl Display, expected: &Value, got: &Value, tolerance: f64) -> Result<(), Disagreement> {
    if agree(expected, got, tolerance) {
        return Ok(());
    }
    Err(Disagreement::new(format!("{context}: {expected}"), format!("{context}: {got}")))
}

/// Fails at the first place where two lists differ; a list that ends early differs there.
pub fn compare_lists(context: &str, expected: &[Value], got: &[Value], tolerance: f64) -> Result<(), Disagreement> {
    let end = Value::String("(end)".into());
    for index in 0..expected.len().max(got.len()) {
        let (a, b) = (expected.get(index).unwrap_or(&end), got.get(index).unwrap_or(&end));
        compare(format!("{context}[{index}]"), a, b, tolerance)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_seen() {
        assert!(agree(&json!({"a": 1, "b": [0.5]}), &json!({"b": [0.5 + 1e-10], "a": 1}), 1e-9));
        assert!(agree(&json!(0), &json!(0.0), 0.0));
        for (expected, got) in [
            (json!({"a": 1}), json!({"a": 2})),
            (json!({"a": 1}), json!({"a": 1, "b": 1})),
            (json!([1, 2]), json!([1])),
            (json!(0.5), json!(0.500_000_01)),
            (json!(1_000_000_000_000_000_000_i64), json!(1_000_000_000_000_000_001_i64)),
            (json!(null), json!(0)),
        ] {
            assert!(!agree(&expected, &got, 1e-9), "{expected} {got}");
        }
        let ended = compare_lists("steps", &[json!(1), json!(2)], &[json!(1)], 0.0);
        assert_eq!(ended, Err(Disagreement::new("steps[1]: 2", "steps[1]: \"(end)\"")));
    }

    #[test]
    fn missing_fields_are_named() {
        assert_eq!(int(&json!({"a": "x"}), "b"), Err(Disagreement::new("a field `b`", "{\"a\":\"x\"}")));
        assert!(int(&json!({"a": "x"}), "a").is_err());
        assert!(count(&json!({"a": -1}), "a").is_err());
        assert_eq!(int_or_zero(&json!({}), "a"), Ok(0));
        assert!(int_or_zero(&json!({"a": "x"}), "a").is_err());
    }

    #[test]
    fn a_list_that_was_never_appended_to_is_empty_but_has_to_be_there() {
        assert_eq!(list(&json!({"a": null}), "a"), Ok(&[][..]));
        assert!(list(&json!({}), "a").is_err());
        assert!(list(&json!({"a": 1}), "a").is_err());
    }

    #[test]
    fn a_field_that_nobody_reads_fails() {
        let case = json!({"id": "x", "t": 1, "note": "n"});
        assert_eq!(only_fields(&case, &["t"]), Ok(()));
        assert_eq!(only_fields(&case, &["u"]), Err(Disagreement::new("only the fields [\"u\"]", "`t`")));
        assert!(only_fields(&json!([]), &[]).is_err());
    }
}
