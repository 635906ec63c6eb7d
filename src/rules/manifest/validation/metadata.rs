//! Rules of metadata: names, labels, annotations, finalizers, owners.
//!
//! Upstream: apimachinery/pkg/api/validation/objectmeta.go, pkg/apis/core/validation/validation.go, v1.36.

use super::super::{Errors, Field, ManifestKind};
use super::selector::{check_labels, invalid_key};
use crate::rules::names;

/// What the server says of a name that is no subdomain.
pub const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                             and must start and end with an alphanumeric character";
/// What the server says of a name that is no label.
pub const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                         start and end with an alphanumeric character, at most 63 of them";
const QUALIFIED: &str = "must be a qualified name: alphanumeric characters, '-', '_' or '.', at most 63 of them, with an \
                         optional DNS subdomain and '/' in front";
const IMMUTABLE: &str = "field is immutable";
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;
/// How much of a generateName is kept in front of the five random characters.
const GENERATED_PREFIX_MAX: usize = 58;
/// Finalizers that need no domain.
const STANDARD_FINALIZERS: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, metadata: &Field<'_>, errors: &mut Errors) {
    if kind == ManifestKind::Event {
        return;
    }
    check_name(kind, metadata, errors);
    let namespace = metadata.get("namespace");
    if kind.info().namespaced && namespace.is_given() && !names::is_dns_label(namespace.text()) {
        errors.invalid(&namespace, LABEL);
    }
    errors.not_negative(&metadata.get("generation"));
    check_parts(metadata, errors);
}

/// Adds what the server refuses in a change.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    if old.get("deletionTimestamp").is_given() {
        let known: Vec<&str> = old.get("finalizers").items().map(|finalizer| finalizer.text()).collect();
        if new.get("finalizers").items().any(|finalizer| !known.contains(&finalizer.text())) {
            let detail = "no new finalizers can be added if the object is being deleted";
            errors.forbidden(&new.get("finalizers"), detail);
        }
    }
    let generation = |metadata: &Field<'_>| metadata.get("generation").int().unwrap_or(0);
    if new.get("generation").is_given() && generation(new) < generation(old) {
        errors.invalid(&new.get("generation"), "must not be decremented");
    }
    // What an update leaves out is taken from the stored object.
    for name in ["name", "namespace", "uid"] {
        let (before, after) = (old.get(name), new.get(name));
        if !after.text().is_empty() && before.value != after.value {
            errors.invalid(&after, IMMUTABLE);
        }
    }
    for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        if new.get(name).is_given() && !old.get("deletionTimestamp").is_given() {
            errors.invalid(&new.get(name), IMMUTABLE);
        }
    }
    check_parts(new, errors);
}

/// Labels, annotations, owners and finalizers.
fn check_parts(metadata: &Field<'_>, errors: &mut Errors) {
    check_labels(&metadata.get("labels"), errors);
    check_annotations(&metadata.get("annotations"), errors);
    check_owners(&metadata.get("ownerReferences"), errors);
    check_finalizers(&metadata.get("finalizers"), errors);
}

/// The rule for names of a kind, and how the server words it.
fn name_rule(kind: ManifestKind) -> (fn(&str) -> bool, &'static str) {
    match kind {
        ManifestKind::Namespace | ManifestKind::StatefulSet | ManifestKind::Service => (names::is_dns_label, LABEL),
        _ => (names::is_dns_subdomain, SUBDOMAIN),
    }
}

fn check_name(kind: ManifestKind, metadata: &Field<'_>, errors: &mut Errors) {
    let (is_name, rule) = name_rule(kind);
    let (name, prefix) = (metadata.get("name"), metadata.get("generateName"));
    // A prefix may end in a dash: more follows.
    let masked = match prefix.text().strip_suffix('-') {
        Some(front) if !front.is_empty() => format!("{front}a"),
        _ => prefix.text().to_string(),
    };
    if !masked.is_empty() && !is_name(&masked) {
        errors.invalid(&prefix, rule);
    }
    if !name.text().is_empty() {
        if !is_name(name.text()) {
            errors.invalid(&name, rule);
        }
    } else if prefix.text().is_empty() {
        errors.required(&name, "name or generateName is required");
    } else {
        let kept: String = prefix.text().chars().take(GENERATED_PREFIX_MAX).collect();
        if !is_name(&format!("{kept}xxxxx")) {
            errors.invalid(&name, rule);
        }
    }
}

/// Annotations: qualified names in any case, and all of them together not too long.
pub fn check_annotations(annotations: &Field<'_>, errors: &mut Errors) {
    let mut bytes = 0;
    for (key, value) in annotations.entries() {
        bytes += key.len() + value.text().len();
        if !names::is_qualified_name(&key.to_lowercase()) {
            invalid_key(annotations, key, QUALIFIED, errors);
        }
    }
    if bytes > ANNOTATIONS_BYTES_MAX {
        errors.too_long(annotations, ANNOTATIONS_BYTES_MAX);
    }
}

fn check_owners(owners: &Field<'_>, errors: &mut Errors) {
    let mut controllers = 0;
    for owner in owners.items() {
        // The server leaves the index out.
        let field = |name: &str| Field { value: owner.get(name).value, path: format!("{}.{name}", owners.path) };
        for name in ["apiVersion", "kind", "name", "uid"] {
            let empty = match name {
                "apiVersion" => owner.get(name).text().ends_with('/') || owner.get(name).text().is_empty(),
                _ => owner.get(name).text().is_empty(),
            };
            if empty {
                errors.invalid(&field(name), "must not be empty");
            }
        }
        if (owner.get("apiVersion").text(), owner.get("kind").text()) == ("v1", "Event") {
            errors.invalid(owners, "an Event is disallowed from being an owner");
        }
        controllers += usize::from(owner.get("controller").is_true());
    }
    if controllers > 1 {
        errors.invalid(owners, "only one reference can have controller set to true");
    }
}

fn check_finalizers(finalizers: &Field<'_>, errors: &mut Errors) {
    let has = |name: &str| finalizers.items().any(|finalizer| finalizer.text() == name);
    for finalizer in finalizers.items() {
        if !names::is_qualified_name(finalizer.text()) {
            invalid_key(finalizers, finalizer.text(), QUALIFIED, errors);
        }
        check_finalizer_domain(&finalizer, &finalizer, errors);
    }
    if has("orphan") && has("foregroundDeletion") {
        errors.invalid(finalizers, "orphan and foregroundDeletion cannot be both set");
    }
}

/// A finalizer of a namespace's spec, whose index the server leaves out.
pub fn check_namespace_finalizer(finalizer: &Field<'_>, list: &Field<'_>, errors: &mut Errors) {
    if !names::is_qualified_name(finalizer.text()) {
        invalid_key(list, finalizer.text(), QUALIFIED, errors);
    }
    check_finalizer_domain(finalizer, list, errors);
}

fn check_finalizer_domain(finalizer: &Field<'_>, named: &Field<'_>, errors: &mut Errors) {
    if !finalizer.text().contains('/') && !STANDARD_FINALIZERS.contains(&finalizer.text()) {
        errors.invalid(named, "name is neither a standard finalizer name nor is it fully qualified");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn listed(errors: Errors) -> Vec<String> {
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn metadata_of_any_kind() {
        let run = |kind: ManifestKind, value: Value| {
            let mut errors = Errors::default();
            check(kind, &Field { value: &value, path: "m".into() }, &mut errors);
            listed(errors)
        };
        let rows: [(ManifestKind, Value, &[&str]); 11] = [
            (ManifestKind::Pod, json!({}), &["m.name Required"]),
            (ManifestKind::Pod, json!({"generateName": "a-"}), &[]),
            (ManifestKind::Pod, json!({"generateName": "A-"}), &["m.generateName Invalid", "m.name Invalid"]),
            (ManifestKind::Pod, json!({"name": "a.b", "namespace": "a.b"}), &["m.namespace Invalid"]),
            (ManifestKind::Service, json!({"name": "a.b"}), &["m.name Invalid"]),
            (ManifestKind::StatefulSet, json!({"name": "a.b"}), &["m.name Invalid"]),
            (ManifestKind::Node, json!({"name": "a", "annotations": {"A/b": ""}}), &[]),
            (ManifestKind::Node, json!({"name": "a", "annotations": {"a b": ""}}), &["m.annotations Invalid"]),
            // 256 KiB of value and one more byte of key.
            (
                ManifestKind::Node,
                json!({"name": "a", "annotations": {"k": "v".repeat(262_144)}}),
                &["m.annotations TooLong"],
            ),
            (
                ManifestKind::Node,
                json!({"name": "a", "finalizers": ["orphan", "foregroundDeletion"]}),
                &["m.finalizers Invalid"],
            ),
            (
                ManifestKind::Node,
                json!({"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "e", "uid": "u"}]}),
                &["m.ownerReferences Invalid"],
            ),
        ];
        for (kind, value, expected) in rows {
            assert_eq!(run(kind, value), expected);
        }
        let change = |old: Value, new: Value| {
            let mut errors = Errors::default();
            let [old, new] = [&old, &new].map(|value| Field { value, path: "m".into() });
            check_update(&old, &new, &mut errors);
            listed(errors)
        };
        assert_eq!(change(json!({"name": "a", "uid": "1"}), json!({"name": "b"})), ["m.name Invalid"]);
        assert_eq!(change(json!({"generation": 2}), json!({"generation": 1})), ["m.generation Invalid"]);
        assert_eq!(
            change(json!({}), json!({"deletionTimestamp": "2026-01-01T00:00:00Z"})),
            ["m.deletionTimestamp Invalid"]
        );
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a/b"]});
        assert_eq!(change(deleted, json!({"finalizers": ["a/b", "a/c"]})), ["m.finalizers Forbidden"]);
    }
}
