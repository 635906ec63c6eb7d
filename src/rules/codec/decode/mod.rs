//! Manifests to objects.

mod autoscaling;
mod custom;
mod endpoint_slice;
mod meta;
mod node;
mod placement;
mod pod;
mod pod_status;
mod policy;
mod workload;

use std::rc::Rc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::json;
use crate::model::{Kind, Kinds, Object, Source};
use crate::rules::manifest::{ManifestKind, Reason, defaults, types};

pub use pod::spec_of;

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
    decode_among(manifest, Kinds::BUILT_IN)
}

/// As [`decode()`], for manifests of these kinds.
///
/// # Errors
/// Those of [`decode()`].
pub fn decode_among(manifest: &Value, kinds: &Kinds) -> Result<Object, Vec<FieldProblem>> {
    let mut problems = Problems::default();
    let kind = kind_of(manifest, kinds)?;
    if let Some(newer) = autoscaling::newer(manifest)? {
        return decode_read(kind, newer, kinds);
    }
    let mut value = manifest.clone();
    let Some(manifest_kind) = ManifestKind::of(kind) else {
        let object = custom::custom(kind, &value, &mut problems);
        return object.filter(|_| problems.0.is_empty()).map(Object::from).ok_or(problems.0);
    };
    let readout = types::read_with_status(manifest_kind, manifest);
    let wrong_types = readout.errors.iter().filter(|error| error.reason != Reason::UnknownField);
    wrong_types.for_each(|error| problems.add(error.path.clone(), error.message.clone()));
    if !problems.0.is_empty() {
        return Err(problems.0);
    }
    readout.tidy(&mut value);
    decode_read(kind, value, kinds)
}

/// As [`decode_among()`], for what [`crate::rules::manifest::update`] has made of a stored object's JSON: its keys and types
/// have been looked at, and its status is the stored one.
///
/// # Errors
/// Those of [`decode()`].
pub fn decode_judged(judged: Value, kinds: &Kinds) -> Result<Object, Vec<FieldProblem>> {
    let check = cfg!(debug_assertions).then(|| decode_among(&judged, kinds));
    let object = decode_read(kind_of(&judged, kinds)?, judged, kinds);
    debug_assert!(check.is_none_or(|check| check == object), "what was judged needs no second look");
    object
}

fn kind_of(manifest: &Value, kinds: &Kinds) -> Result<Kind, Vec<FieldProblem>> {
    let word = |key: &str| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
    kinds.from_manifest(word("apiVersion"), word("kind")).ok_or_else(|| {
        let message = format!("no matches for kind {:?} in version {:?}", word("kind"), word("apiVersion"));
        vec![FieldProblem { path: "kind".into(), message }]
    })
}

/// The object of a manifest of a built-in kind whose keys and types are right.
fn decode_read(kind: Kind, mut value: Value, kinds: &Kinds) -> Result<Object, Vec<FieldProblem>> {
    let mut problems = Problems::default();
    let manifest_kind = ManifestKind::of(kind).expect("a built-in kind");
    json::drop_nulls(&mut value);
    defaults::apply(manifest_kind, &mut value);
    let object = decode_kind(kind, &mut value, &mut problems);
    match object {
        Some(mut object) if problems.0.is_empty() => {
            meta::name_custom_owners(&mut object, &value, kinds);
            Ok(object)
        }
        _ => Err(problems.0),
    }
}

fn decode_kind(kind: Kind, value: &mut Value, problems: &mut Problems) -> Option<Object> {
    Some(match kind {
        Kind::Namespace => node::namespace(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Node => node::node(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Pod => pod::pod(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Event => node::event(&typed(value, problems)?, problems)?.into(),
        Kind::ReplicaSet => {
            let typed = typed_without_template(value, problems)?;
            workload::replica_set(&typed, value, source_of(value), problems)?.into()
        }
        Kind::Deployment => {
            let typed = typed_without_template(value, problems)?;
            workload::deployment(&typed, value, source_of(value), problems)?.into()
        }
        Kind::Lease => node::lease(&typed(value, problems)?, problems).into(),
        Kind::Service => policy::service(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::PodDisruptionBudget => {
            policy::disruption_budget(&typed(value, problems)?, source_of(value), problems).into()
        }
        Kind::PriorityClass => policy::priority_class(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::HorizontalPodAutoscaler => autoscaling::autoscaler(value, source_of(value), problems)?.into(),
        Kind::EndpointSlice => endpoint_slice::decode(&typed(value, problems)?, source_of(value), problems).into(),
        Kind::Custom(_) => custom::custom(kind, value, problems)?.into(),
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

/// The value as one of the API's types, which have been checked before.
fn typed<T: DeserializeOwned>(value: &Value, problems: &mut Problems) -> Option<T> {
    T::deserialize(value).map_err(|error| problems.add("", error.to_string())).ok()
}

/// As [`typed`], with an empty template: that is typed by itself.
fn typed_without_template<T: DeserializeOwned>(value: &mut Value, problems: &mut Problems) -> Option<T> {
    const TEMPLATE: &str = "/spec/template";
    let template = value.pointer_mut(TEMPLATE).map(Value::take);
    let typed = typed(value, problems);
    if let (Some(template), Some(place)) = (template, value.pointer_mut(TEMPLATE)) {
        *place = template;
    }
    typed
}
