//! Rules of volumes, claims and storage classes.

use super::super::{Errors, Field, ManifestKind};

/// Adds what the server refuses.
pub fn check(_kind: ManifestKind, _root: &Field<'_>, _errors: &mut Errors) {}

/// Adds what the server refuses in a change.
pub fn check_update(_kind: ManifestKind, _old: &Field<'_>, _new: &Field<'_>, _errors: &mut Errors) {}
