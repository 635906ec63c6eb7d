//! Rules of taints and tolerations.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidateTolerations, validateNodeTaints), v1.36.

use super::super::{Errors, Field};
use super::selector::{check_label_key, check_label_value};

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// The tolerations of a pod.
pub(super) fn check(tolerations: &Field<'_>, errors: &mut Errors) {
    for toleration in tolerations.items() {
        let (key, operator) = (toleration.get("key"), toleration.get("operator"));
        let (value, effect) = (toleration.get("value"), toleration.get("effect"));
        if !key.text().is_empty() {
            check_label_key(&key, errors);
        } else if operator.text() != "Exists" {
            errors.invalid(
                &operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            );
        }
        if toleration.get("tolerationSeconds").is_given() && effect.text() != "NoExecute" {
            errors.invalid(&effect, "effect must be 'NoExecute' when `tolerationSeconds` is set");
        }
        // Mistakes of the value name the operator.
        let value = Field { value: value.value, path: operator.path.clone() };
        match operator.text() {
            "" | "Equal" => check_label_value(&value, errors),
            "Exists" if !value.text().is_empty() => {
                errors.invalid(&value, "value must be empty when `operator` is 'Exists'");
            }
            "Exists" => {}
            _ => errors.not_supported(&operator, &["Equal", "Exists"]),
        }
        if !effect.text().is_empty() && !EFFECTS.contains(&effect.text()) {
            errors.not_supported(&effect, &EFFECTS);
        }
    }
}

/// The taints of a node. The server looks for them in metadata, which is a slip.
pub(super) fn check_taints(taints: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.get("key"), taint.get("value"), taint.get("effect"));
        check_label_key(&key, errors);
        check_label_value(&value, errors);
        if effect.text().is_empty() {
            errors.required(&effect, "");
        } else if !EFFECTS.contains(&effect.text()) {
            errors.not_supported(&effect, &EFFECTS);
        }
        if seen.contains(&(key.text(), effect.text())) {
            errors.duplicate(&taint);
        }
        seen.push((key.text(), effect.text()));
    }
}
