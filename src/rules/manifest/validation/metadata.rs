//! Rules of metadata: names, labels, annotations, finalizers, owners.

use super::super::{Errors, Field, ManifestKind};

/// Adds what the server refuses.
pub fn check(_kind: ManifestKind, _metadata: &Field<'_>, _errors: &mut Errors) {}

/// Adds what the server refuses in a change.
pub fn check_update(_old: &Field<'_>, _new: &Field<'_>, _errors: &mut Errors) {}
