//! Rules of environment variables.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom), pkg/apis/core/pods/helpers.go, v1.36.

use super::super::{Errors, Field};
use super::metadata::{LABEL, SUBDOMAIN};
use super::volume_paths;
use super::volumes::Volumes;
use crate::rules::names;

const VARIABLE: &str = "must be printable ASCII characters other than '='";
const KEY: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', at most 253 of them, and must not start with '..'";
/// Fields of a pod that a variable may hold.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// Fields of a pod that the server knows by name, whether or not they fit here.
const OTHER_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "status.phase"];
/// Amounts of a container that a variable or file may hold.
const AMOUNTS: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

/// `env` and `envFrom` of a container.
pub(super) fn check(container: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    for variable in container.get("env").items() {
        let name = variable.get("name");
        if name.text().is_empty() {
            errors.required(&name, "");
        } else if !names::is_variable_name(name.text()) {
            errors.invalid(&name, VARIABLE);
        }
        check_value_from(&variable, volumes, errors);
    }
    let list = container.get("envFrom");
    for source in list.items() {
        let prefix = source.get("prefix");
        if !prefix.text().is_empty() && !names::is_variable_name(prefix.text()) {
            errors.invalid(&prefix, VARIABLE);
        }
        let refs = ["configMapRef", "secretRef"].map(|name| source.get(name));
        for reference in refs.iter().filter(|reference| reference.is_given()) {
            check_name(&reference.get("name"), true, errors);
        }
        // The server names the list.
        match refs.iter().filter(|reference| reference.is_given()).count() {
            0 => errors.invalid(&list, "must specify one of: `configMapRef` or `secretRef`"),
            1 => {}
            _ => errors.invalid(&list, "may not have more than one field specified at a time"),
        }
    }
}

/// The name of a ConfigMap or Secret. `is_prefix` allows a dash at the end, a slip of the server's.
fn check_name(name: &Field<'_>, is_prefix: bool, errors: &mut Errors) {
    let text = name.text();
    let kept = if is_prefix { text.strip_suffix('-').filter(|front| !front.is_empty()).unwrap_or(text) } else { text };
    if text.is_empty() && is_prefix {
        errors.required(name, "");
    } else if !names::is_dns_subdomain(kept) {
        errors.invalid(name, SUBDOMAIN);
    }
}

fn check_value_from(variable: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let from = variable.get("valueFrom");
    if !from.is_given() {
        return;
    }
    let mut count = 0;
    for name in ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"] {
        let source = from.get(name);
        if !source.is_given() {
            continue;
        }
        count += 1;
        match name {
            "fieldRef" => check_field_ref(&source, &FIELDS, errors),
            "resourceFieldRef" => check_amount_ref(&source, false, errors),
            "fileKeyRef" => check_file_ref(&source, volumes, errors),
            _ => {
                check_name(&source.get("name"), false, errors);
                check_key(&source.get("key"), errors);
            }
        }
    }
    if count == 0 {
        let detail =
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
        errors.invalid(&from, detail);
    } else if !variable.get("value").text().is_empty() {
        errors.invalid(&from, "may not be specified when `value` is not empty");
    } else if count > 1 {
        errors.invalid(&from, "may not have more than one field specified at a time");
    }
}

fn check_key(key: &Field<'_>, errors: &mut Errors) {
    if key.text().is_empty() {
        errors.required(key, "");
    } else if !names::is_config_key(key.text()) {
        errors.invalid(key, KEY);
    }
}

/// A line of a file in an `emptyDir`.
fn check_file_ref(source: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let (key, volume, path) = (source.get("key"), source.get("volumeName"), source.get("path"));
    if key.text().is_empty() {
        errors.required(&key, "");
    } else if !names::is_variable_name(key.text()) {
        errors.invalid(&key, VARIABLE);
    }
    if volume.text().is_empty() {
        errors.required(&volume, "");
    } else if !names::is_dns_label(volume.text()) {
        errors.invalid(&volume, LABEL);
    }
    match volumes.source(volume.text()) {
        Some("emptyDir") => {}
        Some(_) => errors.invalid(&volume, "referenced volume must be of type emptyDir"),
        None => errors.not_found(&volume),
    }
    if path.text().is_empty() {
        errors.required(&path, "");
    } else {
        volume_paths::check_no_backsteps(&path, errors);
    }
}

/// A field of the pod; `allowed` are those that fit here. Labels and annotations may be asked for by key.
pub(super) fn check_field_ref(source: &Field<'_>, allowed: &[&str], errors: &mut Errors) {
    let path = source.get("fieldPath");
    let text = if path.text() == "spec.host" { "spec.nodeName" } else { path.text() };
    let keyed = text.strip_suffix("']").and_then(|front| front.split_once("['")).filter(|(front, _)| !front.is_empty());
    match keyed {
        _ if text.is_empty() => errors.required(&path, ""),
        _ if !["", "v1"].contains(&source.get("apiVersion").text()) => {
            errors.invalid(&path, "error converting fieldPath: unsupported pod version");
        }
        Some((front @ ("metadata.annotations" | "metadata.labels"), key)) => {
            let key = if front == "metadata.annotations" { key.to_lowercase() } else { key.to_string() };
            if !names::is_qualified_name(&key) {
                errors.invalid(source, "the key must be a qualified name");
            }
        }
        Some(_) => errors.invalid(&path, "error converting fieldPath: field label does not support subscript"),
        None if allowed.contains(&text) => {}
        None if FIELDS.contains(&text) || OTHER_FIELDS.contains(&text) => errors.not_supported(&path, allowed),
        None => errors.invalid(&path, "error converting fieldPath: field label not supported"),
    }
}

/// An amount of a container, which a file must name.
pub(super) fn check_amount_ref(source: &Field<'_>, is_file: bool, errors: &mut Errors) {
    let resource = source.get("resource");
    let is_huge = ["requests.hugepages-", "limits.hugepages-"].iter().any(|front| resource.text().starts_with(front));
    if is_file && source.get("containerName").text().is_empty() {
        errors.required(&source.get("containerName"), "");
    } else if resource.text().is_empty() {
        errors.required(&resource, "");
    } else if !AMOUNTS.contains(&resource.text()) && !is_huge {
        errors.not_supported(&resource, &AMOUNTS);
    }
    check_divisor(source, resource.text(), is_huge, errors);
}

fn check_divisor(source: &Field<'_>, resource: &str, is_huge: bool, errors: &mut Errors) {
    let field = source.get("divisor");
    let Some(divisor) = super::resources::quantity(&field).filter(|divisor| !divisor.is_zero()) else {
        return;
    };
    let one_of = |texts: &[&str]| texts.contains(&divisor.to_string().as_str());
    let bytes = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let allowed: &[&str] = match resource {
        "limits.cpu" | "requests.cpu" => &["1m", "1"],
        _ if AMOUNTS.contains(&resource) || is_huge => &bytes,
        _ => return,
    };
    if !one_of(allowed) {
        errors
            .invalid(&field, &format!("only divisor's values {} are supported with this resource", allowed.join(", ")));
    }
}
