//! Rules of annotations that mean something for pods.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidatePodSpecificAnnotations, validateSeccompAnnotationsAndFields,
//! validateAppArmorAnnotationsAndFieldsMatchOnCreate), v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use super::tolerations;
use super::volume_paths::check_descending;

const MIRROR: &str = "kubernetes.io/config.mirror";
const TOLERATIONS: &str = "scheduler.alpha.kubernetes.io/tolerations";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The annotations of a pod or template.
pub(super) fn check(annotations: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let mirror = annotations.key(MIRROR);
    if mirror.is_given() && spec.get("nodeName").text().is_empty() {
        errors.invalid(&mirror, "must set spec.nodeName if mirror pod annotation is set");
    }
    let listed = annotations.get(TOLERATIONS);
    if !listed.text().is_empty() {
        match serde_json::from_str::<Value>(listed.text()) {
            Ok(value) => tolerations::check(&Field { value: &value, path: listed.path.clone() }, errors),
            Err(_) => errors.invalid(annotations, &format!("{TOLERATIONS} must be a list in JSON")),
        }
    }
    let cost = annotations.key(DELETION_COST);
    if cost.is_given() && !is_deletion_cost(cost.text()) {
        errors.invalid(&cost, "must be a 32bit integer");
    }
    for (key, profile) in annotations.entries() {
        if key == SECCOMP_POD || key.starts_with(SECCOMP_CONTAINER) {
            check_seccomp(&annotations.get(key), errors);
        }
        if let Some(name) = key.strip_prefix(APP_ARMOR) {
            let mut containers = LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>());
            if !containers.any(|container| container.get("name").text() == name) {
                errors.invalid(&profile, "container not found");
            }
            let text = profile.text();
            if !["", "runtime/default", "unconfined"].contains(&text) && !text.starts_with("localhost/") {
                errors.invalid(&profile, "invalid AppArmor profile name");
            }
        }
    }
}

/// A whole number of 32 bits without a plus sign or zeros in front; empty stands for none.
fn is_deletion_cost(text: &str) -> bool {
    let is_plain = |text: &str| text == "0" || !text.starts_with(['+', '0']);
    text.parse::<i32>().is_ok() && is_plain(text)
}

fn check_seccomp(profile: &Field<'_>, errors: &mut Errors) {
    match profile.text() {
        "runtime/default" | "docker/default" | "unconfined" => {}
        text => match text.strip_prefix("localhost/") {
            Some(path) => {
                let path = Value::from(path);
                check_descending(&Field { value: &path, path: profile.path.clone() }, errors);
            }
            None => errors.invalid(profile, "must be a valid seccomp profile"),
        },
    }
}

/// Profiles in annotations, where there are any, are the same as in security contexts.
pub(super) fn check_profiles_agree(annotations: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let of_pod = spec.get("securityContext");
    agree(&annotations.key(SECCOMP_POD), &of_pod.get("seccompProfile"), &of_pod.get("seccompProfile"), errors);
    for container in LISTS.iter().flat_map(|list| spec.get(list).items().collect::<Vec<_>>()) {
        let (name, context) = (container.get("name").text(), container.get("securityContext"));
        let seccomp = context.get("seccompProfile");
        agree(&annotations.key(&format!("{SECCOMP_CONTAINER}{name}")), &seccomp, &seccomp, errors);
        if spec.at(&["os", "name"]).text() != "windows" {
            let own = context.get("appArmorProfile");
            let used = if own.is_given() { own.clone() } else { of_pod.get("appArmorProfile") };
            agree(&annotations.key(&format!("{APP_ARMOR}{name}")), &used, &own, errors);
        }
    }
}

/// `named` is the field that a mistake names.
fn agree(annotation: &Field<'_>, profile: &Field<'_>, named: &Field<'_>, errors: &mut Errors) {
    if !annotation.is_given() || !profile.is_given() {
        return;
    }
    let text = annotation.text();
    let same_type = match profile.get("type").text() {
        "Unconfined" => text == "unconfined",
        "RuntimeDefault" => ["runtime/default", "docker/default"].contains(&text),
        "Localhost" => text.starts_with("localhost/"),
        _ => true,
    };
    let file = profile.get("localhostProfile");
    if !same_type {
        errors.forbidden(&named.get("type"), "type in annotation and field must match");
    } else if text.strip_prefix("localhost/").is_some_and(|path| path != file.text()) {
        errors.forbidden(&named.get("localhostProfile"), "profile in annotation and field must match");
    }
}

/// What an update may not do to annotations.
pub(super) fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let is_fixed = |key: &str| key == MIRROR || key.starts_with(APP_ARMOR);
    for (key, before) in old.entries().filter(|(key, _)| is_fixed(key)) {
        if new.key(key).value != before.value {
            errors.forbidden(&new.key(key), "may not remove or update this annotation");
        }
    }
    for (key, after) in new.entries().filter(|(key, _)| is_fixed(key)) {
        if !old.key(key).is_given() {
            errors.forbidden(&after, "may not add this annotation");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deletion_costs() {
        assert!(["0", "-1", "2147483647"].into_iter().all(is_deletion_cost));
        assert!(!["", "+1", "01", "x", "2147483648"].into_iter().any(is_deletion_cost));
    }
}
