//! `kubectl wait`: what is waited for, and whether an answer shows it.
//!
//! Upstream: kubectl/pkg/cmd/wait/{wait,condition,delete,create,json}.go, v1.36.

use serde_json::Value;

use super::parser::{CommandError, Parsed};
use crate::model::api::Reason;
use crate::model::{Answer, ApiResult, Object, Span};

/// Upstream: kubectl/pkg/cmd/wait/wait.go (`NewCmdWait`), v1.36.
pub const DEFAULT_TIMEOUT: Span = Span::from_seconds(30);

/// What a wait waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WaitFor {
    /// `--for=condition=TYPE[=STATUS]`.
    Condition {
        /// Its type, whatever the case.
        condition: String,
        /// Its status, whatever the case.
        status: String,
    },
    /// `--for=jsonpath='{.a.b}'=VALUE`; without a value the field must be there.
    Field {
        /// Keys from the object's root.
        path: Vec<String>,
        /// The value.
        value: Option<String>,
    },
    /// `--for=delete`.
    Deleted,
    /// `--for=create`.
    Created,
}

/// What an answer shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seen {
    /// It has happened.
    Met,
    /// Not yet.
    NotYet,
    /// It cannot happen: there is no such object, or the server refuses.
    Hopeless,
}

/// Reads `--for`.
///
/// # Errors
/// A form that kubectl does not know, or a path beyond plain fields.
pub fn parse(text: &str) -> Parsed<WaitFor> {
    if text == "delete" {
        return Ok(WaitFor::Deleted);
    }
    if text == "create" {
        return Ok(WaitFor::Created);
    }
    if let Some(condition) = text.strip_prefix("condition=") {
        let (condition, status) = condition.split_once('=').unwrap_or((condition, "true"));
        return Ok(WaitFor::Condition { condition: condition.to_string(), status: status.to_string() });
    }
    if let Some(expression) = text.strip_prefix("jsonpath=") {
        return field(expression);
    }
    let help = "for example --for=condition=Ready, --for=jsonpath='{.status.phase}'=Running, --for=delete";
    Err(CommandError::new(format!("unrecognized condition: \"{text}\"")).help(help))
}

fn field(expression: &str) -> Parsed<WaitFor> {
    let (path, value) = match expression.split_once("}=") {
        Some((path, value)) => (path, Some(value.to_string())),
        None => (expression.strip_suffix('}').unwrap_or(expression), None),
    };
    let keys = path.strip_prefix('{').unwrap_or(path).strip_prefix('.');
    let keys: Vec<String> = keys.unwrap_or_default().split('.').map(str::to_string).collect();
    let is_plain = |key: &String| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    if !keys.iter().all(is_plain) {
        let help = "plain fields are read: --for=jsonpath='{.status.phase}'=Running";
        return Err(CommandError::new(format!("the path `{path}` cannot be read")).help(help));
    }
    Ok(WaitFor::Field { path: keys, value })
}

/// What the answer to a GET shows; `encode` gives an object as JSON.
pub fn seen(wanted: &WaitFor, result: &ApiResult, encode: impl Fn(&Object) -> Value) -> Seen {
    let object = match result {
        Ok(Answer::Object(object)) => object,
        Ok(_) => return Seen::NotYet,
        Err(error) if error.reason == Reason::NotFound => {
            return match wanted {
                WaitFor::Deleted => Seen::Met,
                WaitFor::Created => Seen::NotYet,
                WaitFor::Condition { .. } | WaitFor::Field { .. } => Seen::Hopeless,
            };
        }
        Err(_) => return Seen::Hopeless,
    };
    let holds = match wanted {
        WaitFor::Created => true,
        WaitFor::Deleted => false,
        WaitFor::Condition { condition, status } => {
            let json = encode(object);
            let conditions = json["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
            let is_it =
                |given: &Value, wanted: &str| given.as_str().is_some_and(|given| given.eq_ignore_ascii_case(wanted));
            let found = conditions.iter().find(|entry| is_it(&entry["type"], condition));
            found.is_some_and(|entry| is_it(&entry["status"], status))
        }
        WaitFor::Field { path, value } => {
            let json = encode(object);
            let found = path.iter().try_fold(&json, |at, key| at.get(key)).filter(|found| !found.is_null());
            found.is_some_and(|found| value.as_ref().is_none_or(|value| text_of(found) == *value))
        }
    };
    if holds { Seen::Met } else { Seen::NotYet }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::api::ApiError;
    use crate::model::{Key, Kind, Meta, Namespace};

    fn wants(text: &str) -> WaitFor {
        parse(text).unwrap_or_else(|error| panic!("{text}: {}", error.message))
    }

    fn verdict(text: &str, json: &Value) -> Seen {
        let meta = Meta::named("", "x");
        let object: Object = Namespace { meta, terminating: false, source: None }.into();
        seen(&wants(text), &Ok(Answer::Object(object)), |_| json.clone())
    }

    #[test]
    fn conditions_and_fields_of_an_object() {
        let pod = json!({"status": {"phase": "Running", "replicas": 3, "conditions": [
            {"type": "Ready", "status": "True"}, {"type": "Initialized", "status": "False"}]}});
        for (text, expected) in [
            ("condition=Ready", Seen::Met),
            ("condition=ready=TRUE", Seen::Met),
            ("condition=Initialized", Seen::NotYet),
            ("condition=Initialized=false", Seen::Met),
            ("condition=PodScheduled", Seen::NotYet),
            ("jsonpath={.status.phase}=Running", Seen::Met),
            ("jsonpath={.status.phase}=Failed", Seen::NotYet),
            ("jsonpath={.status.phase}", Seen::Met),
            ("jsonpath={.status.podIP}", Seen::NotYet),
            ("jsonpath={.status.replicas}=3", Seen::Met),
            ("create", Seen::Met),
            ("delete", Seen::NotYet),
        ] {
            assert_eq!(verdict(text, &pod), expected, "{text}");
        }
    }

    #[test]
    fn an_object_that_is_not_there() {
        let key = Key::new(Kind::Namespace, "", "x");
        let gone: ApiResult = Err(ApiError::not_found(&key));
        let verdict = |text: &str| seen(&wants(text), &gone, |_| Value::Null);
        assert_eq!(verdict("delete"), Seen::Met);
        assert_eq!(verdict("create"), Seen::NotYet);
        assert_eq!(verdict("condition=Ready"), Seen::Hopeless);
    }

    #[test]
    fn forms_that_kubectl_does_not_know() {
        for text in ["Running", "", "jsonpath={.items[0].x}=1", "jsonpath="] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
