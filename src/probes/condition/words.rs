//! What went wrong with a condition, in our words.

use cel::objects::ValueType;
use cel::{ExecutionError, Value as CelValue};

use super::ConditionError;

/// The parser's message without its list of tokens.
pub(super) fn parse_error(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default().trim();
    let first = first.strip_prefix("Syntax error: ").unwrap_or(first);
    let first = first.split(" expecting ").next().unwrap_or(first);
    first.replace("mismatched input '<EOF>'", "the condition ends too early")
}

/// An error in our words: those of `cel` print maps in the order of a hash table.
pub(super) fn describe(error: &ExecutionError) -> ConditionError {
    let mixed = |types: &str| {
        let both = types.contains("int") && types.contains("double");
        let help = "whole numbers of objects and counts are int, metrics are double: write 3.0 for 3, or use double(x)";
        if both { format!(" ({help})") } else { String::new() }
    };
    ConditionError::Mistake(match error {
        ExecutionError::NoSuchKey(key) => return ConditionError::NoSuchKey(key.to_string()),
        ExecutionError::IndexOutOfBounds(index) => return ConditionError::NoSuchKey(format!("[{}]", plain(index))),
        ExecutionError::NoSuchOverload(overload) => {
            let types = overload.argument_types().join(" and ");
            format!("{} does not work for {types}{}", operator_name(overload.function()), mixed(&types))
        }
        ExecutionError::UnsupportedBinaryOperator(operator, left, right) => {
            let types = format!("{} and {}", type_name(left), type_name(right));
            format!("{} does not work for {types}{}", operator_name(operator), mixed(&types))
        }
        ExecutionError::ValuesNotComparable(left, right) => {
            format!("{} and {} cannot be compared", type_name(left), type_name(right))
        }
        ExecutionError::DivisionByZero(_) | ExecutionError::RemainderByZero(_) => "division by zero".to_string(),
        ExecutionError::Overflow(..) => "a number is too large".to_string(),
        ExecutionError::FunctionError { function, message } => format!("{function}: {message}"),
        ExecutionError::UnexpectedType { want, .. } => format!("a value is not {want}"),
        ExecutionError::UnsupportedTargetType { target } | ExecutionError::NotSupportedAsMethod { target, .. } => {
            format!("this is not possible with {}", type_name(target))
        }
        _ => "the condition cannot be evaluated: its values are of the wrong type".to_string(),
    })
}

/// `+` for `_+_` and for `add`: the crate uses both.
fn operator_name(function: &str) -> String {
    let name = match function {
        "add" => "+",
        "sub" => "-",
        "mul" => "*",
        "div" => "/",
        "rem" => "%",
        other => other.trim_matches(|c| c == '_' || c == '@'),
    };
    format!("`{name}`")
}

pub(super) fn type_name(value: &CelValue) -> String {
    match value.type_of() {
        ValueType::Float => "double".to_string(),
        other => other.to_string(),
    }
}

fn plain(value: &CelValue) -> String {
    match value {
        CelValue::Int(number) => number.to_string(),
        CelValue::UInt(number) => number.to_string(),
        other => type_name(other),
    }
}
