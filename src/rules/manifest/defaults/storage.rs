//! Defaults of volumes, claims and storage classes.
//!
//! Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go, v1.36.

use serde_json::{Map, Value, json};

use super::quantities::tidy_quantities;
use super::volumes::default_source;
use crate::rules::codec::json::{object_at, set_default};

/// A PersistentVolume.
pub fn volume(object: &mut Value) {
    let Some(spec) = object_at(object, &["spec"]) else { return };
    tidy_quantities(spec.get_mut("capacity"));
    set_default(spec, "persistentVolumeReclaimPolicy", "Retain");
    set_default(spec, "volumeMode", "Filesystem");
    default_source(spec);
}

/// A PersistentVolumeClaim.
pub fn claim(object: &mut Value) {
    if let Some(spec) = object_at(object, &["spec"]) {
        claim_spec(spec);
    }
}

/// The spec of a claim, wherever it stands.
pub fn claim_spec(spec: &mut Map<String, Value>) {
    set_default(spec, "volumeMode", "Filesystem");
    set_default(spec, "resources", json!({}));
    if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        tidy_quantities(resources.get_mut("requests"));
        tidy_quantities(resources.get_mut("limits"));
    }
}

/// A StorageClass.
pub fn class(object: &mut Value) {
    if let Some(fields) = object.as_object_mut() {
        set_default(fields, "reclaimPolicy", "Delete");
        set_default(fields, "volumeBindingMode", "Immediate");
    }
}
