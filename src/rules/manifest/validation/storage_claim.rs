//! Rules of PersistentVolumeClaims.
//!
//! Upstream: pkg/apis/core/validation/validation.go, `ValidatePersistentVolumeClaimSpec`,
//! `ValidatePersistentVolumeClaimUpdate`, v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use super::metadata::{LABEL, SUBDOMAIN};
use super::{selector, values};
use crate::rules::names::{is_dns_label, is_dns_subdomain};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

/// Adds what is wrong with a claim's spec.
pub fn check_spec(spec: &Field<'_>, errors: &mut Errors) {
    check_access_modes(spec, "at least 1 access mode is required", errors);
    selector::check_selector(&spec.get("selector"), errors);
    let request = spec.at(&["resources", "requests", "storage"]);
    let storage = Field { value: request.value, ..spec.get("resources").key("storage") };
    match values::quantity(&storage) {
        None => errors.required(&storage, ""),
        Some(quantity) if quantity.is_zero() || quantity.is_negative() => {
            errors.invalid(&storage, "must be greater than zero");
        }
        Some(_) => {}
    }
    for name in ["storageClassName", "volumeAttributesClassName"] {
        check_class(&spec.get(name), errors);
    }
    values::check_given_word(&spec.get("volumeMode"), &["Block", "Filesystem"], errors);
    check_sources(spec, errors);
}

/// Adds what the server refuses in a changed claim.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (old_spec, new_spec) = (old.get("spec"), new.get("spec"));
    check_spec(&new_spec, errors);
    let class_of = |claim: &Field<'_>| claim.at(&["metadata", "annotations"]).get(CLASS_ANNOTATION).value.clone();
    let (old_class, new_class) = (class_of(old), class_of(new));
    let (named, names) = (old_spec.get("storageClassName"), new_spec.get("storageClassName"));
    let mut allowed = old_spec.value.clone();
    if old_spec.get("volumeName").text().is_empty() {
        allowed["volumeName"] = new_spec.get("volumeName").value.clone();
    }
    // A class may be named once, the one that the old annotation names if there is one.
    let follows = old_class.is_null() || *names.value == old_class;
    if !named.is_given() && names.is_given() && follows {
        allowed["storageClassName"] = names.value.clone();
    }
    let moves_to_field = !old_class.is_null() && new_class.is_null() && *names.value == old_class && !named.is_given();
    if old_class != new_class && !moves_to_field {
        let path = format!("metadata.annotations[{CLASS_ANNOTATION}]");
        errors.invalid(&Field { value: &new_class, path }, values::IMMUTABLE);
    }
    let requests = new_spec.at(&["resources", "requests"]);
    if new.at(&["status", "phase"]).text() == "Bound" && requests.is_given() {
        allowed["resources"]["requests"]["storage"] = requests.get("storage").value.clone();
    }
    allowed["volumeAttributesClassName"] = new_spec.get("volumeAttributesClassName").value.clone();
    if !values::same(&allowed, new_spec.value) {
        let detail =
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
        errors.forbidden(&new_spec, detail);
    }
    check_shrinking(old, &new_spec, errors);
    let mode = Field { value: new_spec.get("volumeMode").value, path: "volumeMode".into() };
    values::check_unchanged(&old_spec.get("volumeMode"), &mode, errors);
    let (before, after) = (old_spec.get("volumeAttributesClassName"), new_spec.get("volumeAttributesClassName"));
    if before.is_given() && after.text().is_empty() {
        errors.forbidden(&after, "update from a name to none is forbidden");
    }
}

/// A request may be taken back after a failed expansion, but not below what there is.
fn check_shrinking(old: &Field<'_>, new_spec: &Field<'_>, errors: &mut Errors) {
    let request = new_spec.at(&["resources", "requests", "storage"]);
    let before = values::quantity(&old.at(&["spec", "resources", "requests", "storage"]));
    let (Some(before), Some(after)) = (before, values::quantity(&request)) else { return };
    let capacity = values::quantity(&old.at(&["status", "capacity", "storage"]));
    if after < before && capacity.is_some_and(|capacity| after <= capacity) {
        errors.forbidden(&request, "field can not be less than status.capacity");
    }
}

/// Access modes of a claim or a volume.
pub fn check_access_modes(spec: &Field<'_>, message_of_none: &str, errors: &mut Errors) {
    let modes = spec.get("accessModes");
    if modes.is_empty() {
        errors.required(&modes, message_of_none);
    }
    let is_known = |mode: &Field<'_>| ACCESS_MODES.contains(&mode.text());
    for mode in modes.items().filter(|mode| !is_known(mode)) {
        errors.not_supported(&Field { value: mode.value, path: modes.path.clone() }, &ACCESS_MODES);
    }
    let is_single = |mode: &Field<'_>| mode.text() == "ReadWriteOncePod";
    if modes.items().any(|mode| is_single(&mode)) && modes.items().any(|mode| is_known(&mode) && !is_single(&mode)) {
        errors.forbidden(&modes, "may not use ReadWriteOncePod with other access modes");
    }
}

/// The name of a class; absent and empty are fine.
pub fn check_class(name: &Field<'_>, errors: &mut Errors) {
    if !name.text().is_empty() && !is_dns_subdomain(name.text()) {
        errors.invalid(name, SUBDOMAIN);
    }
}

fn check_sources(spec: &Field<'_>, errors: &mut Errors) {
    let [source, reference] = ["dataSource", "dataSourceRef"].map(|name| spec.get(name));
    for field in [&source, &reference].into_iter().filter(|field| field.is_given()) {
        for name in ["name", "kind"].map(|name| field.get(name)).iter().filter(|name| name.text().is_empty()) {
            errors.required(name, "");
        }
        let group = field.get("apiGroup");
        if group.text().is_empty() && field.get("kind").text() != "PersistentVolumeClaim" {
            errors.invalid(field, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
        } else if !group.text().is_empty() && !is_dns_subdomain(group.text()) {
            errors.invalid(&group, SUBDOMAIN);
        }
    }
    let namespace = reference.get("namespace");
    if !namespace.text().is_empty() && !is_dns_label(namespace.text()) {
        errors.invalid(&namespace, LABEL);
    }
    if !source.is_given() || !reference.is_given() {
        return;
    }
    let named = Value::from(source.path.as_str());
    let whole = Field { value: &named, path: spec.path.clone() };
    if !namespace.text().is_empty() {
        errors.invalid(&whole, "may not be specified when dataSourceRef.namespace is specified");
    } else if ["apiGroup", "kind", "name"].iter().any(|name| source.get(name).value != reference.get(name).value) {
        errors.invalid(&whole, "must match dataSourceRef");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn claim() -> Value {
        json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
            "volumeMode": "Filesystem"}, "status": {"phase": "Pending"}})
    }

    fn listed(errors: Errors) -> Vec<String> {
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    fn causes_of_update(old: &Value, new: &Value) -> Vec<String> {
        let mut errors = Errors::default();
        check_update(&Field::root(old), &Field::root(new), &mut errors);
        listed(errors)
    }

    #[test]
    fn sources_of_data() {
        let causes = |extra: Value| {
            let mut claim = claim();
            for (key, value) in extra.as_object().into_iter().flatten() {
                claim["spec"][key] = value.clone();
            }
            let mut errors = Errors::default();
            check_spec(&Field::root(&claim).get("spec"), &mut errors);
            listed(errors)
        };
        assert_eq!(causes(json!({"dataSource": {"kind": "Pod", "name": "p"}})), ["spec.dataSource Invalid"]);
        assert_eq!(
            causes(json!({"dataSource": {"kind": "Snapshot", "apiGroup": "A"}})),
            ["spec.dataSource.name Required", "spec.dataSource.apiGroup Invalid"]
        );
        let both = json!({"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"},
            "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"}});
        assert_eq!(causes(both), ["spec Invalid"]);
        assert_eq!(causes(json!({"volumeMode": "File"})), ["spec.volumeMode NotSupported"]);
    }

    #[test]
    fn bound_claims_grow() {
        let mut old = claim();
        let mut new = claim();
        new["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
        assert_eq!(causes_of_update(&old, &new), ["spec Forbidden"]);
        for claim in [&mut old, &mut new] {
            claim["status"] = json!({"phase": "Bound", "capacity": {"storage": "1Gi"}});
        }
        assert!(causes_of_update(&old, &new).is_empty());
        // 1Gi is what there is: a request of 2Gi may fall to more than that only.
        assert_eq!(causes_of_update(&new, &old), ["spec.resources.requests.storage Forbidden"]);
        new["spec"]["resources"]["requests"]["storage"] = json!("3Gi");
        old["spec"]["resources"]["requests"]["storage"] = json!("2Gi");
        assert!(causes_of_update(&new, &old).is_empty());
    }

    #[test]
    fn a_class_is_named_once() {
        let old = claim();
        let mut new = claim();
        new["spec"]["storageClassName"] = json!("x");
        new["spec"]["volumeName"] = json!("pv");
        assert!(causes_of_update(&old, &new).is_empty());
        assert_eq!(causes_of_update(&new, &old), ["spec Forbidden"]);
    }
}
