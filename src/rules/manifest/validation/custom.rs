//! Rules of the custom resources that are known: KEDA's and the VPA's.

use super::super::{Errors, Field, ManifestKind};

/// Adds what the server refuses.
pub fn check(_kind: ManifestKind, _root: &Field<'_>, _errors: &mut Errors) {}
