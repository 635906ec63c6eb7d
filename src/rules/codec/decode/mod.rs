//! Manifests to objects.

mod meta;
mod node;
mod pod;
mod pod_status;
mod workload;

use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{defaults, json};
use crate::model::{Kind, Object, Source};

pub use pod::template_of;

/// What is wrong with a manifest, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldProblem {
    /// The field, e.g. `spec.template.spec.containers[0].image`; empty for the whole manifest.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

/// Problems found on the way.
#[derive(Default)]
struct Problems(Vec<FieldProblem>);

impl Problems {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(FieldProblem { path: path.into(), message: message.into() });
    }
}

/// The object of a manifest of a kind we hold, defaulted as the API server does. `status` is read where it is given.
///
/// # Errors
/// Every field that is of the wrong type or has a value that cannot be meant. It is not the API's full validation.
pub fn decode(manifest: &Value) -> Result<Object, Vec<FieldProblem>> {
    let mut problems = Problems::default();
    let word = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
    let Some(kind) = Kind::from_manifest(word("apiVersion"), word("kind")) else {
        let message = format!("no matches for kind {:?} in version {:?}", word("kind"), word("apiVersion"));
        problems.add("kind", message);
        return Err(problems.0);
    };
    let mut value = manifest.clone();
    json::drop_nulls(&mut value);
    defaults::apply(kind, &mut value);
    let object = decode_kind(kind, &value, &mut problems);
    match object {
        Some(object) if problems.0.is_empty() => Ok(object),
        _ => Err(problems.0),
    }
}

fn decode_kind(kind: Kind, value: &Value, problems: &mut Problems) -> Option<Object> {
    Some(match kind {
        Kind::Namespace => node::namespace(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Node => node::node(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Pod => pod::pod(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Event => node::event(&typed(value, problems)?, problems)?.into(),
        Kind::ReplicaSet => workload::replica_set(&typed(value, problems)?, value, source_of(value), problems)?.into(),
        Kind::Deployment => workload::deployment(&typed(value, problems)?, value, source_of(value), problems)?.into(),
        Kind::Lease => node::lease(&typed(value, problems)?, problems).into(),
    })
}

/// The manifest without what the server writes.
fn source_of(value: &Value) -> Source {
    let mut source = value.clone();
    if let Some(fields) = source.as_object_mut() {
        fields.shift_remove("status");
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.shift_remove("managedFields");
        }
    }
    Some(Rc::new(source))
}

/// The value as one of the API's types.
fn typed<T: DeserializeOwned>(value: &Value, problems: &mut Problems) -> Option<T> {
    match T::deserialize(value) {
        Ok(typed) => Some(typed),
        Err(error) => {
            let message = error.to_string();
            problems.add(path_of_error::<T>(value, &message), message);
            None
        }
    }
}

/// Finds the field an error is about: the innermost whose absence makes the error go away or change. The types' own
/// errors do not say. Costs a few passes over a manifest that is refused anyway.
fn path_of_error<T: DeserializeOwned>(value: &Value, message: &str) -> String {
    let (mut path, mut pointer) = (String::new(), String::new());
    loop {
        let steps: Vec<(String, String)> = match value.pointer(&pointer) {
            Some(Value::Object(fields)) => fields.keys().map(|key| (key.clone(), escaped(key))).collect(),
            Some(Value::Array(items)) => (0..items.len()).map(|i| (format!("[{i}]"), i.to_string())).collect(),
            _ => return path,
        };
        let matters = |step: &&(String, String)| {
            let mut without = value.clone();
            match without.pointer_mut(&pointer) {
                Some(Value::Object(fields)) => drop(fields.shift_remove(&step.0)),
                Some(Value::Array(items)) => drop(step.1.parse().map(|index: usize| items.remove(index))),
                _ => {}
            }
            T::deserialize(&without).map_or_else(|error| error.to_string() != message, |_| true)
        };
        let Some((name, token)) = steps.iter().find(matters) else { return path };
        let dot = if path.is_empty() || name.starts_with('[') { "" } else { "." };
        path = format!("{path}{dot}{name}");
        pointer = format!("{pointer}/{token}");
    }
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
