//! Rules of the custom resources that are known: KEDA's and the VPA's.

use super::super::{Errors, Field, ManifestKind, types};

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    types::custom::check_schema(kind, root, errors);
}
