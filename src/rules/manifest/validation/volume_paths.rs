//! Rules of paths inside volumes and on hosts.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validatePathNoBacksteps, ValidateLocalNonReservedPath), v1.36.

use super::super::{Errors, Field};

/// No part of the path is `..`.
pub(super) fn check_no_backsteps(path: &Field<'_>, errors: &mut Errors) {
    if has_backsteps(path.text()) {
        errors.invalid(path, "must not contain '..'");
    }
}

/// Whether a part of the path is `..`.
pub(super) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|part| part == "..")
}

/// A relative path that stays inside.
pub(super) fn check_descending(path: &Field<'_>, errors: &mut Errors) {
    if path.text().starts_with('/') {
        errors.invalid(path, "must be a relative path");
    }
    check_no_backsteps(path, errors);
}

/// A relative path that stays inside and does not begin like the names that the kubelet keeps to itself.
pub(super) fn check_local(path: &Field<'_>, errors: &mut Errors) {
    check_descending(path, errors);
    if path.text().starts_with("..") && !path.text().starts_with("../") {
        errors.invalid(path, "must not start with '..'");
    }
}

/// The mode of a file, from 0 to 0777; absent is fine.
pub(super) fn check_mode(mode: &Field<'_>, errors: &mut Errors) {
    if mode.int().is_some_and(|bits| !(0..=0o777).contains(&bits)) {
        errors.invalid(mode, "must be a number between 0 and 0777 (octal), both inclusive");
    }
}
