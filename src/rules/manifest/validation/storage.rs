//! Rules of PersistentVolumes and StorageClasses; [`super::storage_claim`] has those of claims.
//!
//! Upstream: pkg/apis/core/validation/validation.go, `ValidatePersistentVolumeSpec`, `ValidatePersistentVolumeUpdate`;
//! pkg/apis/storage/validation/validation.go, v1.36.

use serde_json::Value;

use super::super::{Errors, Field, ManifestKind};
use super::affinity::check_node_selector;
use super::pod::Within;
use super::{storage_claim, values, volume_sources};
use crate::rules::names::is_qualified_name;

/// Fields of a volume that say where it lies, in the order in which the server looks at them.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];
const PARAMETERS_MAX: usize = 512;
const PARAMETERS_MAX_BYTES: usize = 256 * 1024;

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::PersistentVolume => check_volume(&root.get("spec"), errors),
        ManifestKind::StorageClass => check_class(root, errors),
        _ => storage_claim::check_spec(&root.get("spec"), errors),
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::PersistentVolume => check_volume_update(&old.get("spec"), &new.get("spec"), errors),
        ManifestKind::StorageClass => check_class_update(old, new, errors),
        _ => storage_claim::check_update(old, new, errors),
    }
}

fn check_volume(spec: &Field<'_>, errors: &mut Errors) {
    storage_claim::check_access_modes(spec, "", errors);
    let capacity = spec.get("capacity");
    if capacity.is_empty() {
        errors.required(&capacity, "");
    }
    if capacity.len() > 1 || !capacity.get("storage").is_given() {
        errors.not_supported(&capacity, &["storage"]);
    }
    for (_, amount) in capacity.entries() {
        if values::quantity(&amount).is_some_and(|quantity| quantity.is_zero() || quantity.is_negative()) {
            errors.invalid(&amount, "must be greater than zero");
        }
    }
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if !policy.text().is_empty() {
        values::check_word(&policy, &["Delete", "Recycle", "Retain"], errors);
    }
    check_node_affinity(&spec.get("nodeAffinity"), errors);
    check_sources(spec, errors);
    for name in ["storageClassName", "volumeAttributesClassName"] {
        storage_claim::check_class(&spec.get(name), errors);
    }
    let attributes = spec.get("volumeAttributesClassName");
    if attributes.is_given() && attributes.text().is_empty() {
        errors.required(&attributes, "an empty string is disallowed");
    }
    if attributes.is_given() && !spec.get("csi").is_given() {
        errors.required(&spec.get("csi"), "has to be specified when using volumeAttributesClassName");
    }
    values::check_given_word(&spec.get("volumeMode"), &["Block", "Filesystem"], errors);
}

fn check_node_affinity(affinity: &Field<'_>, errors: &mut Errors) {
    if !affinity.is_given() {
        return;
    }
    let required = affinity.get("required");
    match required.is_given() {
        true => check_node_selector(&required, errors),
        false => errors.required(&required, "must specify required node constraints"),
    }
}

fn check_sources(spec: &Field<'_>, errors: &mut Errors) {
    let given: Vec<Field<'_>> = SOURCES.map(|name| spec.get(name)).into_iter().filter(Field::is_given).collect();
    match &given[..] {
        [] => errors.required(spec, "must specify a volume type"),
        [first, others @ ..] => {
            check_source(spec, first, errors);
            for other in others {
                errors.forbidden(other, "may not specify more than 1 volume type");
            }
        }
    }
    let host_path = spec.at(&["hostPath", "path"]);
    let policy = spec.get("persistentVolumeReclaimPolicy");
    let is_root = host_path.text().starts_with('/') && host_path.text().trim_matches(['/', '.']).is_empty();
    if policy.text() == "Recycle" && is_root {
        errors.forbidden(&policy, "may not be 'Recycle' for a hostPath mount of '/'");
    }
}

fn check_source(spec: &Field<'_>, source: &Field<'_>, errors: &mut Errors) {
    let name = source.path.rsplit('.').next().unwrap_or_default();
    volume_sources::check_source(name, source, Within::Template, errors);
    match name {
        "local" => {
            let path = source.get("path");
            if path.text().is_empty() {
                errors.required(&path, "");
            }
            if path.text().split('/').any(|part| part == "..") {
                errors.invalid(&path, "must not contain '..'");
            }
            if !spec.at(&["nodeAffinity", "required"]).is_given() {
                errors.required(&spec.get("nodeAffinity"), "Local volume requires node affinity");
            }
        }
        "csi" if source.get("volumeHandle").text().is_empty() => errors.required(&source.get("volumeHandle"), ""),
        _ => {}
    }
}

fn check_volume_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    check_volume(new, errors);
    let mut before = old.value.clone();
    // A secret for expansion may be added once.
    let secret = "controllerExpandSecretRef";
    if old.get("csi").is_given() && !old.get("csi").get(secret).is_given() && new.get("csi").is_given() {
        before["csi"][secret] = new.get("csi").get(secret).value.clone();
    }
    if SOURCES.iter().any(|name| !values::same(&before[*name], new.get(name).value)) {
        let path = "spec.persistentvolumesource".to_string();
        errors
            .forbidden(&Field { value: &Value::Null, path }, "spec.persistentvolumesource is immutable after creation");
    }
    let at_top = |name: &str| Field { value: new.get(name).value, path: name.to_string() };
    values::check_unchanged(&old.get("volumeMode"), &at_top("volumeMode"), errors);
    if old.get("nodeAffinity").is_given() {
        values::check_unchanged(&old.get("nodeAffinity"), &at_top("nodeAffinity"), errors);
    }
    let class = "volumeAttributesClassName";
    if old.get(class).is_given() && !new.get(class).is_given() {
        errors.forbidden(&new.get(class), "update from a name to none is forbidden");
    }
}

fn check_class(root: &Field<'_>, errors: &mut Errors) {
    let provisioner = root.get("provisioner");
    if provisioner.text().is_empty() {
        errors.required(&provisioner, "");
    } else if !is_qualified_name(&provisioner.text().to_lowercase()) {
        errors.invalid(&provisioner, "must be a qualified name: an optional DNS subdomain and '/', then a name");
    }
    check_parameters(&root.get("parameters"), errors);
    let policy = root.get("reclaimPolicy");
    if !policy.text().is_empty() {
        values::check_word(&policy, &["Delete", "Retain"], errors);
    }
    let mode = root.get("volumeBindingMode");
    match mode.is_given() {
        true => values::check_word(&mode, &["Immediate", "WaitForFirstConsumer"], errors),
        false => errors.required(&mode, ""),
    }
    check_topologies(&root.get("allowedTopologies"), errors);
}

fn check_parameters(parameters: &Field<'_>, errors: &mut Errors) {
    if parameters.len() > PARAMETERS_MAX {
        errors.too_long(parameters, PARAMETERS_MAX);
        return;
    }
    let mut bytes = 0;
    for (key, value) in parameters.entries() {
        if key.is_empty() {
            errors.invalid(parameters, "field must not be empty");
        }
        bytes += key.len() + value.text().len();
    }
    if bytes > PARAMETERS_MAX_BYTES {
        errors.too_long(parameters, PARAMETERS_MAX_BYTES);
    }
}

fn check_topologies(topologies: &Field<'_>, errors: &mut Errors) {
    let mut terms: Vec<&Value> = Vec::new();
    for term in topologies.items() {
        let expressions = term.get("matchLabelExpressions");
        let mut keys: Vec<&str> = Vec::new();
        for expression in expressions.items() {
            let [key, listed] = ["key", "values"].map(|name| expression.get(name));
            if listed.is_empty() {
                errors.required(&listed, "");
            }
            let mut seen: Vec<&str> = Vec::new();
            for value in listed.items() {
                if seen.contains(&value.text()) {
                    errors.duplicate(&value);
                }
                seen.push(value.text());
            }
            if !is_qualified_name(key.text()) {
                errors.invalid(&key, "must be a qualified name: an optional DNS subdomain and '/', then a name");
            }
            if keys.contains(&key.text()) {
                errors.duplicate(&key);
            }
            keys.push(key.text());
        }
        if terms.iter().any(|other| values::same(other, expressions.value)) {
            errors.duplicate(&expressions);
        }
        terms.push(expressions.value);
    }
}

fn check_class_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    check_class(new, errors);
    for name in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
        let (before, after) = (old.get(name), new.get(name));
        if values::same(before.value, after.value) {
            continue;
        }
        match name {
            "parameters" => errors.forbidden(&after, "updates to parameters are forbidden."),
            _ => errors.invalid(&after, values::IMMUTABLE),
        }
    }
}
