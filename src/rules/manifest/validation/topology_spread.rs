//! Rules of topology spread constraints.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateTopologySpreadConstraints), v1.36.

use super::super::{Errors, Field};
use super::affinity::check_match_label_keys;
use super::selector::check_selector;

/// The constraints of a pod.
pub(super) fn check(constraints: &Field<'_>, errors: &mut Errors) {
    let all: Vec<Field<'_>> = constraints.items().collect();
    for (index, constraint) in all.iter().enumerate() {
        let (skew, key) = (constraint.get("maxSkew"), constraint.get("topologyKey"));
        let when = constraint.get("whenUnsatisfiable");
        if skew.int().unwrap_or(0) <= 0 {
            errors.invalid(&skew, "must be greater than zero");
        }
        if key.text().is_empty() {
            errors.required(&key, "can not be empty");
        }
        if !["DoNotSchedule", "ScheduleAnyway"].contains(&when.text()) {
            errors.not_supported(&when, &["DoNotSchedule", "ScheduleAnyway"]);
        }
        let pair =
            |of: &Field<'_>| (of.get("topologyKey").text().to_string(), of.get("whenUnsatisfiable").text().to_string());
        if all[index + 1..].iter().any(|other| pair(other) == pair(constraint)) {
            errors.duplicate(&constraint.get("{topologyKey, whenUnsatisfiable}"));
        }
        let domains = constraint.get("minDomains");
        if domains.int().is_some_and(|count| count <= 0) {
            errors.invalid(&domains, "must be greater than zero");
        }
        if domains.is_given() && when.text() != "DoNotSchedule" {
            errors.invalid(&domains, "can only use minDomains if whenUnsatisfiable=DoNotSchedule");
        }
        for name in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            let policy = constraint.get(name);
            if policy.is_given() && !["Honor", "Ignore"].contains(&policy.text()) {
                errors.not_supported(&policy, &["Honor", "Ignore"]);
            }
        }
        check_match_label_keys(constraint, errors);
        check_selector(&constraint.get("labelSelector"), errors);
    }
}
