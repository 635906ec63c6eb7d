//! Rules of PodDisruptionBudgets and PriorityClasses.
//!
//! Upstream: pkg/apis/policy/validation/validation.go, pkg/apis/scheduling/validation/validation.go, v1.36.

use serde_json::Value;

use super::super::{Errors, Field, ManifestKind};
use super::{selector, values};

/// Greatest value of a class that users make.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
/// The classes that the system brings, with their values.
const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)];

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::PriorityClass => check_class(root, errors),
        _ => check_budget(&root.get("spec"), errors),
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    if kind != ManifestKind::PriorityClass {
        return check_budget(&new.get("spec"), errors);
    }
    // Zero is left out of stored objects.
    if old.get("value").int().unwrap_or(0) != new.get("value").int().unwrap_or(0) {
        errors.forbidden(&new.get("value"), "may not be changed in an update.");
    }
    values::check_unchanged(&old.get("preemptionPolicy"), &new.get("preemptionPolicy"), errors);
}

fn check_budget(spec: &Field<'_>, errors: &mut Errors) {
    let [min, max] = ["minAvailable", "maxUnavailable"].map(|name| spec.get(name));
    if min.is_given() && max.is_given() {
        errors.invalid(spec, "minAvailable and maxUnavailable cannot be both set");
    }
    for bound in [&min, &max] {
        values::check_amount(bound, errors);
        values::check_at_most_whole(bound, errors);
    }
    selector::check_selector(&spec.get("selector"), errors);
    values::check_given_word(&spec.get("unhealthyPodEvictionPolicy"), &["AlwaysAllow", "IfHealthyBudget"], errors);
}

fn check_class(root: &Field<'_>, errors: &mut Errors) {
    let name = root.at(&["metadata", "name"]);
    let value = root.get("value");
    let number = value.int().unwrap_or(0);
    if name.text().starts_with("system-") {
        check_system_class(root, number, errors);
    } else if number > USER_PRIORITY_MAX {
        let detail = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        errors.forbidden(&value, &detail);
    }
    let policy = root.get("preemptionPolicy");
    match policy.text() {
        "" => errors.required(&policy, ""),
        _ => values::check_word(&policy, &["Never", "PreemptLowerPriority"], errors),
    }
}

/// A name of the system belongs to the class that the system brings, exactly as it is.
fn check_system_class(root: &Field<'_>, number: i64, errors: &mut Errors) {
    let name = root.at(&["metadata", "name"]);
    let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name.text());
    let plain = *root.get("globalDefault").value != Value::Bool(true);
    if known.is_none_or(|(_, value)| *value != number || !plain) {
        errors.forbidden(&name, "priority class names with 'system-' prefix are reserved for system use only");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(errors: Errors) -> Vec<String> {
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    fn causes(kind: ManifestKind, object: Value) -> Vec<String> {
        let mut errors = Errors::default();
        check(kind, &Field::root(&object), &mut errors);
        listed(errors)
    }

    #[test]
    fn budgets() {
        let budget = |spec: Value| causes(ManifestKind::PodDisruptionBudget, json!({"spec": spec}));
        assert_eq!(budget(json!({"minAvailable": 1, "maxUnavailable": 1})), ["spec Invalid"]);
        assert_eq!(budget(json!({"minAvailable": -1})), ["spec.minAvailable Invalid"]);
        assert_eq!(budget(json!({"selector": {"matchLabels": {"a": "b c"}}})), ["spec.selector.matchLabels Invalid"]);
        assert!(budget(json!({})).is_empty());
    }

    #[test]
    fn classes() {
        let class = |name: &str, value: i64, policy: &str| {
            let class = json!({"metadata": {"name": name}, "value": value, "preemptionPolicy": policy});
            causes(ManifestKind::PriorityClass, class)
        };
        assert_eq!(class("a", 1_000_000_001, "Never"), ["value Forbidden"]);
        assert_eq!(class("system-x", 5, "Never"), ["metadata.name Forbidden"]);
        assert!(class("system-node-critical", 2_000_001_000, "PreemptLowerPriority").is_empty());
        assert_eq!(class("a", 5, "never"), ["preemptionPolicy NotSupported"]);
        assert_eq!(class("a", 5, ""), ["preemptionPolicy Required"]);
    }

    #[test]
    fn what_a_class_is_worth_stays() {
        let class = |value: Value, policy: &str| json!({"value": value, "preemptionPolicy": policy});
        let causes = |old: Value, new: Value| {
            let mut errors = Errors::default();
            check_update(ManifestKind::PriorityClass, &Field::root(&old), &Field::root(&new), &mut errors);
            listed(errors)
        };
        assert!(causes(class(json!(null), "Never"), class(json!(0), "Never")).is_empty());
        assert_eq!(causes(class(json!(1), "Never"), class(json!(2), "Never")), ["value Forbidden"]);
        let policy = causes(class(json!(1), "Never"), class(json!(1), "PreemptLowerPriority"));
        assert_eq!(policy, ["preemptionPolicy Invalid"]);
    }
}
