//! What the API server fills in, kind by kind.

use serde_json::Value;

use super::{ManifestKind, Subresource};

/// Fills in the defaults of an object.
pub fn apply(_kind: ManifestKind, _object: &mut Value) {}

/// What the server resets when an object is created: status, generation, fields of disabled features.
pub fn prepare_for_create(_kind: ManifestKind, _object: &mut Value) {}

/// What the server keeps of the stored object on an update, and the new generation.
pub fn prepare_for_update(_kind: ManifestKind, _stored: &Value, _object: &mut Value, _part: Subresource) {}
