//! Strict reading: fields that the API's types do not have.
//!
//! Upstream: sigs.k8s.io/json (`UnmarshalStrict`), apiserver/pkg/endpoints/handlers/create.go, v1.36.

use serde_json::Value;

use crate::model::Kind;
use crate::rules::manifest::{FieldError, ManifestKind, Reason, types};

/// All unknown fields of a manifest or of a patch (whose directives, `$patch` and the like, are left out). Values of the
/// wrong type are what [`super::decode()`] reports. `status` is what servers write and is read for nodes only.
pub fn unknown_fields(kind: Kind, manifest: &Value) -> Vec<FieldError> {
    let errors = ManifestKind::of(kind).map(|kind| types::read_patch(kind, manifest)).unwrap_or_default();
    errors.into_iter().filter(|error| error.reason == Reason::UnknownField).collect()
}
