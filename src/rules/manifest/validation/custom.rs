//! Rules of the custom resources that are known: KEDA's and the VPA's.

use super::super::{Errors, Field, ManifestKind, types};
use super::metadata;

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    let given = root.get("metadata");
    let mut without_finalizers = given.value.clone();
    // Those of custom resources need no domain.
    if let Some(fields) = without_finalizers.as_object_mut() {
        fields.shift_remove("finalizers");
    }
    metadata::check(kind, &Field { value: &without_finalizers, path: given.path }, errors);
    types::custom::check_schema(kind, root, errors);
}
