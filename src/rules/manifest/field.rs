//! A value with its path, and what can be wrong with it.
//!
//! Upstream: apimachinery/pkg/util/validation/field/{errors,path}.go, v1.36.

use std::fmt;

use serde_json::{Map, Value};

/// What kind of mistake it is, as the API's causes name it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[allow(missing_docs, reason = "the names are the API's own")]
pub enum Reason {
    Required,
    Invalid,
    NotSupported,
    Duplicate,
    Forbidden,
    NotFound,
    TooLong,
    TooMany,
    TypeInvalid,
    /// No rule of a value: the field does not exist.
    UnknownField,
}

impl Reason {
    /// As the API's causes write it, without their `FieldValue` prefix.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Required => "Required",
            Reason::Invalid => "Invalid",
            Reason::NotSupported => "NotSupported",
            Reason::Duplicate => "Duplicate",
            Reason::Forbidden => "Forbidden",
            Reason::NotFound => "NotFound",
            Reason::TooLong => "TooLong",
            Reason::TooMany => "TooMany",
            Reason::TypeInvalid => "TypeInvalid",
            Reason::UnknownField => "UnknownField",
        }
    }
}

/// Something wrong with a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// The field, e.g. `spec.template.spec.containers[0].resources.limits[cpu]`; empty for the whole object.
    pub path: String,
    /// What kind of mistake.
    pub reason: Reason,
    /// In words, without the path: `Invalid value: -1: must be greater than or equal to 0`.
    pub message: String,
    /// What to do about it, where that is clear: `did you mean `replicas`?`.
    pub help: Option<String>,
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// A field that may be absent, with its path. Null counts as absent.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// The value; null when the field is absent.
    pub value: &'a Value,
    /// Its path.
    pub path: String,
}

impl<'a> Field<'a> {
    /// A whole object.
    pub fn root(value: &'a Value) -> Field<'a> {
        Field { value, path: String::new() }
    }

    /// A field of this object.
    pub fn get(&self, name: &str) -> Field<'a> {
        let dot = if self.path.is_empty() { "" } else { "." };
        Field { value: self.value.get(name).unwrap_or(&Value::Null), path: format!("{}{dot}{name}", self.path) }
    }

    /// A field some objects further in.
    pub fn at(&self, names: &[&str]) -> Field<'a> {
        names.iter().fold(self.clone(), |field, name| field.get(name))
    }

    /// The value of a key of this map, whose path stands in brackets: `limits[cpu]`.
    pub fn key(&self, key: &str) -> Field<'a> {
        Field { value: self.value.get(key).unwrap_or(&Value::Null), path: format!("{}[{key}]", self.path) }
    }

    /// Whether it is there.
    pub fn is_given(&self) -> bool {
        !self.value.is_null()
    }

    /// Its text; empty when it is absent or no text.
    pub fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// Its whole number, if it is one.
    pub fn int(&self) -> Option<i64> {
        self.value.as_i64()
    }

    /// Whether it is true.
    pub fn is_true(&self) -> bool {
        *self.value == Value::Bool(true)
    }

    /// Items of this list, with their paths; none when it is absent.
    pub fn items(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let path = self.path.clone();
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(move |(index, value)| Field { value, path: format!("{path}[{index}]") })
    }

    /// How many items or keys it has.
    pub fn len(&self) -> usize {
        match self.value {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    /// Whether it has no items or keys.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Keys and values of this map, the values' paths with the key in brackets; none when it is absent.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> + use<'a> {
        let path = self.path.clone();
        let fields: Option<&'a Map<String, Value>> = self.value.as_object();
        fields
            .into_iter()
            .flatten()
            .map(move |(key, value)| (key.as_str(), Field { value, path: format!("{path}[{key}]") }))
    }
}

/// Mistakes, in the order in which they were found.
#[derive(Clone, Default, Debug)]
pub struct Errors(Vec<FieldError>);

impl Errors {
    /// Adds a mistake; one that is already there is not repeated.
    pub fn push(&mut self, error: FieldError) {
        if !self.0.contains(&error) {
            self.0.push(error);
        }
    }

    fn add(&mut self, field: &Field<'_>, reason: Reason, message: String) {
        self.push(FieldError { path: field.path.clone(), reason, message, help: None });
    }

    /// The field must be given. `detail` may be empty.
    pub fn required(&mut self, field: &Field<'_>, detail: &str) {
        self.add(field, Reason::Required, joined("Required value", detail));
    }

    /// The field's value breaks a rule.
    pub fn invalid(&mut self, field: &Field<'_>, detail: &str) {
        self.add(field, Reason::Invalid, joined(&format!("Invalid value: {}", shown(field.value)), detail));
    }

    /// The field's value is none of the supported ones. The nearest is suggested.
    pub fn not_supported(&mut self, field: &Field<'_>, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|word| format!("{word:?}")).collect();
        let message = format!("Unsupported value: {}: supported values: {}", shown(field.value), list.join(", "));
        let help = crate::rules::suggest::nearest(field.text(), supported.iter().copied());
        let help = help.map(|near| format!("did you mean `{near}`?"));
        self.push(FieldError { path: field.path.clone(), reason: Reason::NotSupported, message, help });
    }

    /// The field's value is there already.
    pub fn duplicate(&mut self, field: &Field<'_>) {
        self.add(field, Reason::Duplicate, format!("Duplicate value: {}", shown(field.value)));
    }

    /// The field may not be given here.
    pub fn forbidden(&mut self, field: &Field<'_>, detail: &str) {
        self.add(field, Reason::Forbidden, joined("Forbidden", detail));
    }

    /// What the field names is not there.
    pub fn not_found(&mut self, field: &Field<'_>) {
        self.add(field, Reason::NotFound, format!("Not found: {}", shown(field.value)));
    }

    /// The field's value is longer than `limit` characters.
    pub fn too_long(&mut self, field: &Field<'_>, limit: usize) {
        self.add(field, Reason::TooLong, format!("Too long: may not be more than {limit} bytes"));
    }

    /// The field has `given` items where `limit` are allowed.
    pub fn too_many(&mut self, field: &Field<'_>, given: usize, limit: usize) {
        self.add(field, Reason::TooMany, format!("Too many: {given}: must have at most {limit} items"));
    }

    /// A whole number must not be below zero; absent is fine.
    pub fn not_negative(&mut self, field: &Field<'_>) {
        if field.int().is_some_and(|number| number < 0) {
            self.invalid(field, "must be greater than or equal to 0");
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn into_list(self) -> Vec<FieldError> {
        self.0
    }
}

fn joined(what: &str, detail: &str) -> String {
    if detail.is_empty() { what.to_string() } else { format!("{what}: {detail}") }
}

/// Longest value that a message shows whole.
const SHOWN_CHARACTERS_MAX: usize = 120;

/// A value in a message: texts in quotes, all else as JSON, absent as `null`.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_know_their_paths() {
        let pod = json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}], "n": null}});
        let spec = Field::root(&pod).get("spec");
        let container = spec.get("containers").items().next().unwrap();
        let limits = container.at(&["resources", "limits"]);
        let (key, cpu) = limits.entries().next().unwrap();
        assert_eq!((key, cpu.path.as_str(), cpu.text()), ("cpu", "spec.containers[0].resources.limits[cpu]", "1"));
        assert_eq!(limits.key("memory").path, "spec.containers[0].resources.limits[memory]");
        assert!(!spec.get("n").is_given() && !spec.get("m").is_given() && spec.get("m").is_empty());
    }

    #[test]
    fn mistakes_are_said_once_in_the_servers_words() {
        let object = json!({"replicas": -1, "policy": "Alow"});
        let root = Field::root(&object);
        let mut errors = Errors::default();
        errors.not_negative(&root.get("replicas"));
        errors.not_negative(&root.get("replicas"));
        errors.not_supported(&root.get("policy"), &["Allow", "Forbid"]);
        errors.required(&root.get("schedule"), "");
        let list = errors.into_list();
        let texts: Vec<String> = list.iter().map(FieldError::to_string).collect();
        assert_eq!(
            texts,
            [
                "replicas: Invalid value: -1: must be greater than or equal to 0",
                "policy: Unsupported value: \"Alow\": supported values: \"Allow\", \"Forbid\"",
                "schedule: Required value",
            ]
        );
        assert_eq!(list[1].help.as_deref(), Some("did you mean `Allow`?"));
    }
}
