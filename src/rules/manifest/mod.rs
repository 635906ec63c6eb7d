//! What the API server makes of a manifest: read, filled in, admitted, checked. For every kind that the project knows,
//! those that are simulated later included, as pure functions on JSON.
//!
//! Read in this order: [`kind`] (the kinds), [`field`] (a value with its path, and what can be wrong with it), [`types`]
//! (keys and types against the API's own types), [`defaults`], [`admission`] (what admission plugins add and refuse, with
//! the [`admission::Surroundings`] they look at), [`validation`] (rules on values, at creation and on updates).
//! [`webhooks`] stands apart: what projects refuse in their own custom resources.
//!
//! Null counts as absent everywhere behind [`types`]; objects that come out hold none.
//!
//! Upstream: apiserver/pkg/registry/rest/{create,update}.go, pkg/registry/*/strategy.go, v1.36.

pub mod admission;
pub mod defaults;
pub mod field;
pub mod kind;
pub mod template;
pub mod types;
pub mod validation;
pub mod webhooks;

use serde_json::Value;

pub use admission::Surroundings;
pub use field::{Errors, Field, FieldError, Reason};
pub use kind::ManifestKind;

/// Why an object is not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// It cannot be read: a value of the wrong type, an unknown field, a bad quantity (status 400).
    BadRequest(Vec<FieldError>),
    /// An admission plugin does not let it in (status 403).
    Forbidden(Vec<FieldError>),
    /// A value breaks a rule (status 422).
    Invalid(Vec<FieldError>),
}

impl Refusal {
    /// The HTTP status of the answer.
    pub fn code(&self) -> u16 {
        match self {
            Refusal::BadRequest(_) => 400,
            Refusal::Forbidden(_) => 403,
            Refusal::Invalid(_) => 422,
        }
    }

    /// What is wrong, in the server's order.
    pub fn errors(&self) -> &[FieldError] {
        match self {
            Refusal::BadRequest(errors) | Refusal::Forbidden(errors) | Refusal::Invalid(errors) => errors,
        }
    }
}

/// Which part of an object an update is meant for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subresource {
    /// The object itself; changes of the status are dropped.
    Main,
    /// `/status`; changes of the spec are dropped.
    Status,
    /// `/resize` of a pod.
    Resize,
}

/// The object that a create request stores: `namespace` is given where its kind has one, a name may be missing when there is
/// a generateName (whose suffix the caller makes).
///
/// # Errors
/// Why the server refuses it.
pub fn create(kind: ManifestKind, manifest: &Value, around: &Surroundings) -> Result<Value, Refusal> {
    let mut object = types::read(kind, manifest).map_err(Refusal::BadRequest)?;
    defaults::apply(kind, &mut object);
    let mut errors = Errors::default();
    admission::mutate(kind, &mut object, around, &mut errors);
    refuse(errors, Refusal::Forbidden)?;
    defaults::prepare_for_create(kind, &mut object);
    let mut errors = Errors::default();
    validation::create(kind, &object, &mut errors);
    refuse(errors, Refusal::Invalid)?;
    let mut errors = Errors::default();
    admission::validate(kind, &object, around, &mut errors);
    refuse(errors, Refusal::Forbidden)?;
    // What comes back from the store is defaulted once more: what admission and the kind's own code added counts, too.
    defaults::apply(kind, &mut object);
    Ok(object)
}

/// Everything that keeps an object from being created. The server stops at the first kind of mistake; here fields that are
/// unknown or of a wrong type do not hide what is wrong with the others. The flag is set for what an admission plugin forbids.
pub fn problems(kind: ManifestKind, manifest: &Value, around: &Surroundings) -> Vec<(FieldError, bool)> {
    let refusal = match create(kind, manifest, around) {
        Ok(_) => return Vec::new(),
        Err(refusal) => refusal,
    };
    let is_forbidden = matches!(refusal, Refusal::Forbidden(_));
    let mut found: Vec<(FieldError, bool)> =
        refusal.errors().iter().map(|error| (error.clone(), is_forbidden)).collect();
    // Without a label, a selector or a volume that cannot be read, others would seem not to fit.
    let matters_to_others = |error: &FieldError| {
        error.reason != Reason::UnknownField
            && ["abel", "elector", "olume"].iter().any(|word| error.path.contains(word))
    };
    if let Refusal::BadRequest(wrong) = &refusal
        && !wrong.iter().any(matters_to_others)
    {
        let mut rest = manifest.clone();
        drop_fields(&mut rest, "", wrong);
        if rest != *manifest {
            let follow = problems(kind, &rest, around).into_iter();
            found.extend(follow.filter(|(error, _)| !wrong.iter().any(|wrong| is_about(error, wrong))));
        }
    }
    found
}

/// Whether a mistake only comes from the field of another one being left out: that it is missing in it, or in what holds it.
fn is_about(error: &FieldError, wrong: &FieldError) -> bool {
    let [error, wrong] = [error, wrong].map(|error| plain(&error.path) + ".");
    wrong.starts_with(&error) || error.starts_with(&wrong)
}

/// A path in which keys in brackets are like those behind dots.
fn plain(path: &str) -> String {
    path.replace('[', ".").replace(']', "")
}

fn drop_fields(value: &mut Value, path: &str, wrong: &[FieldError]) {
    let dot = if path.is_empty() { "" } else { "." };
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !wrong.iter().any(|error| plain(&error.path) == format!("{path}{dot}{name}")));
            fields.iter_mut().for_each(|(name, field)| drop_fields(field, &format!("{path}{dot}{name}"), wrong));
        }
        Value::Array(items) => {
            let items = items.iter_mut().enumerate();
            items.for_each(|(index, item)| drop_fields(item, &format!("{path}.{index}"), wrong));
        }
        _ => {}
    }
}

/// The object that an update stores in place of `stored`. `metadata.generation` has been raised where the kind's rules say so.
///
/// # Errors
/// Why the server refuses it.
pub fn update(
    kind: ManifestKind,
    stored: &Value,
    manifest: &Value,
    part: Subresource,
    around: &Surroundings,
) -> Result<Value, Refusal> {
    let mut object = types::read(kind, manifest).map_err(Refusal::BadRequest)?;
    defaults::apply(kind, &mut object);
    let mut errors = Errors::default();
    admission::mutate_update(kind, stored, &mut object, around, &mut errors);
    refuse(errors, Refusal::Forbidden)?;
    defaults::prepare_for_update(kind, stored, &mut object, part);
    let mut errors = Errors::default();
    validation::update(kind, stored, &object, part, &mut errors);
    refuse(errors, Refusal::Invalid)?;
    Ok(object)
}

fn refuse(errors: Errors, as_what: fn(Vec<FieldError>) -> Refusal) -> Result<(), Refusal> {
    match errors.into_list() {
        list if list.is_empty() => Ok(()),
        list => Err(as_what(list)),
    }
}

#[cfg(test)]
mod problems_tests;
#[cfg(test)]
mod tests;
