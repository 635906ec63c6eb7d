//! Rules of pods, and of pod templates in all workloads.

use super::super::{Errors, Field, Subresource};

/// Adds what the server refuses in a pod.
pub fn check(_root: &Field<'_>, _errors: &mut Errors) {}

/// Adds what the server refuses in a pod template (`spec.template` of a workload): labels and spec. Each workload adds its
/// own rules (selector, restart policy).
pub fn check_template(_template: &Field<'_>, _errors: &mut Errors) {}

/// Adds what the server refuses in a change.
pub fn check_update(_old: &Field<'_>, _new: &Field<'_>, _part: Subresource, _errors: &mut Errors) {}
