//! Rules of labels and of what selects them.
//!
//! Upstream: apimachinery/pkg/apis/meta/v1/validation/validation.go, v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use crate::rules::names;

const KEY: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', at most 63 of them, and must start \
                   and end with an alphanumeric character; a prefix must be a DNS subdomain";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', at most \
                     63 of them, and must start and end with an alphanumeric character";

/// Labels: keys are qualified names, values are label values. Mistakes name the map, as the server does.
pub fn check_labels(labels: &Field<'_>, errors: &mut Errors) {
    for (key, value) in labels.entries() {
        if !names::is_qualified_name(key) {
            invalid_key(labels, key, KEY, errors);
        }
        if !names::is_label_value(value.text()) {
            errors.invalid(&Field { value: value.value, path: labels.path.clone() }, VALUE);
        }
    }
}

/// The text, found in a map or list, breaks a rule; the server names the whole map or list.
pub fn invalid_key(whole: &Field<'_>, text: &str, rule: &str, errors: &mut Errors) {
    errors.invalid(&Field { value: &Value::from(text), path: whole.path.clone() }, rule);
}

/// The key of a label.
pub fn check_label_key(key: &Field<'_>, errors: &mut Errors) {
    if !names::is_qualified_name(key.text()) {
        errors.invalid(key, KEY);
    }
}

/// The value of a label.
pub fn check_label_value(value: &Field<'_>, errors: &mut Errors) {
    if !names::is_label_value(value.text()) {
        errors.invalid(value, VALUE);
    }
}

/// A label selector object; absent is fine.
pub fn check_selector(selector: &Field<'_>, errors: &mut Errors) {
    check_labels(&selector.get("matchLabels"), errors);
    for requirement in selector.get("matchExpressions").items() {
        let values = requirement.get("values");
        match requirement.get("operator").text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "In" | "NotIn" => {}
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Exists" | "DoesNotExist" => {}
            _ => errors.invalid(&requirement.get("operator"), "not a valid selector operator"),
        }
        check_label_key(&requirement.get("key"), errors);
        for value in values.items() {
            check_label_value(&value, errors);
        }
    }
}
