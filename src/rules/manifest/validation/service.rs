//! Rules of Services.

use super::super::{Errors, Field};

/// Adds what the server refuses.
pub fn check(_root: &Field<'_>, _errors: &mut Errors) {}
