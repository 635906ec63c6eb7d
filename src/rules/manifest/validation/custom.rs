//! Rules of the custom resources that are known: KEDA's and the VPA's, by their definitions alone. What the projects
//! themselves refuse on top stands in [`super::super::webhooks`].

use serde_json::Value;

use super::super::{Errors, Field, ManifestKind, types};
use super::metadata;

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    let metadata = without_finalizers(root);
    metadata::check(kind, &Field { value: &metadata, path: "metadata".into() }, errors);
    types::custom::check_schema(kind, root, errors);
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (before, after) = (without_finalizers(old), without_finalizers(new));
    let [before, after] = [&before, &after].map(|value| Field { value, path: "metadata".into() });
    metadata::check_update(&before, &after, errors);
    types::custom::check_schema(kind, new, errors);
}

/// Finalizers of custom resources need no domain.
fn without_finalizers(root: &Field<'_>) -> Value {
    let mut metadata = root.get("metadata").value.clone();
    if let Some(fields) = metadata.as_object_mut() {
        fields.shift_remove("finalizers");
    }
    metadata
}
