//! Defaults of volumes and of where they come from.
//!
//! Upstream: pkg/apis/core/v1/defaults.go, v1.36.

use serde_json::{Map, Value, json};

use super::pod::pull_policy;
use super::storage::claim_spec;
use crate::rules::codec::json::{objects_mut, set_default};

/// A volume of a pod; one without a source is an empty folder.
pub fn default_volume(volume: &mut Map<String, Value>) {
    if volume.keys().all(|key| key == "name") {
        set_default(volume, "emptyDir", json!({}));
    }
    default_source(volume);
    for source in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            set_default(source, "defaultMode", 420);
        }
    }
    if let Some(downward) = volume.get_mut("downwardAPI").and_then(Value::as_object_mut) {
        objects_mut(downward, "items").for_each(default_field_ref);
    }
    if let Some(projected) = volume.get_mut("projected").and_then(Value::as_object_mut) {
        objects_mut(projected, "sources").for_each(default_projection);
    }
    if let Some(image) = volume.get_mut("image").and_then(Value::as_object_mut) {
        let reference = image.get("reference").and_then(Value::as_str).unwrap_or_default();
        let policy = pull_policy(reference);
        set_default(image, "pullPolicy", policy);
    }
    let template = volume.get_mut("ephemeral").and_then(|ephemeral| ephemeral.get_mut("volumeClaimTemplate"));
    if let Some(template) = template.and_then(Value::as_object_mut) {
        set_default(template, "metadata", json!({}));
        if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
            claim_spec(spec);
        }
    }
}

fn default_projection(source: &mut Map<String, Value>) {
    if let Some(token) = source.get_mut("serviceAccountToken").and_then(Value::as_object_mut) {
        set_default(token, "expirationSeconds", 3600);
    }
    if let Some(downward) = source.get_mut("downwardAPI").and_then(Value::as_object_mut) {
        objects_mut(downward, "items").for_each(default_field_ref);
    }
}

/// Sources that pods and PersistentVolumes share.
pub fn default_source(volume: &mut Map<String, Value>) {
    const TEXTS: &[(&str, &[(&str, &str)])] = &[
        ("hostPath", &[("type", "")]),
        ("iscsi", &[("iscsiInterface", "default")]),
        ("rbd", &[("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")]),
        ("azureDisk", &[("cachingMode", "ReadWrite"), ("kind", "Shared"), ("fsType", "ext4")]),
        ("scaleIO", &[("storageMode", "ThinProvisioned"), ("fsType", "xfs")]),
    ];
    for (name, fields) in TEXTS {
        if let Some(source) = volume.get_mut(*name).and_then(Value::as_object_mut) {
            fields.iter().for_each(|(field, text)| set_default(source, field, *text));
        }
    }
    if let Some(disk) = volume.get_mut("azureDisk").and_then(Value::as_object_mut) {
        set_default(disk, "readOnly", false);
    }
}

/// A reference to a field or resource of the pod, in `holder`.
pub fn default_field_ref(holder: &mut Map<String, Value>) {
    if let Some(field_ref) = holder.get_mut("fieldRef").and_then(Value::as_object_mut) {
        set_default(field_ref, "apiVersion", "v1");
    }
    if let Some(resource_ref) = holder.get_mut("resourceFieldRef").and_then(Value::as_object_mut) {
        set_default(resource_ref, "divisor", "0");
    }
}
