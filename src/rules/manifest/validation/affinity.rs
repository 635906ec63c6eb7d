//! Rules of affinities.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateAffinity), v1.36.

use super::super::{Errors, Field};
use super::metadata::{LABEL, SUBDOMAIN};
use super::selector::{check_label_key, check_label_value, check_selector, invalid_key};
use crate::rules::names;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The affinities of a pod; absent is fine.
pub(super) fn check(affinity: &Field<'_>, errors: &mut Errors) {
    let node = affinity.get("nodeAffinity");
    if node.get(REQUIRED).is_given() {
        check_node_selector(&node.get(REQUIRED), errors);
    }
    for term in node.get(PREFERRED).items() {
        check_weight(&term.get("weight"), errors);
        // What is only preferred may ask for values that no label can have.
        check_node_term(&term.get("preference"), false, errors);
    }
    for name in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.get(name);
        for term in pods.get(REQUIRED).items() {
            check_pod_term(&term, errors);
        }
        for term in pods.get(PREFERRED).items() {
            check_weight(&term.get("weight"), errors);
            check_pod_term(&term.get("podAffinityTerm"), errors);
        }
    }
}

fn check_weight(weight: &Field<'_>, errors: &mut Errors) {
    if !(1..=100).contains(&weight.int().unwrap_or(0)) {
        errors.invalid(weight, "must be in the range 1-100");
    }
}

/// A selector of nodes, as of a pod's required affinity or a volume's.
pub(super) fn check_node_selector(selector: &Field<'_>, errors: &mut Errors) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&terms, "must have at least one node selector term");
    }
    for term in terms.items() {
        check_node_term(&term, true, errors);
    }
}

fn check_node_term(term: &Field<'_>, checks_values: bool, errors: &mut Errors) {
    for requirement in term.get("matchExpressions").items() {
        let (operator, values) = (requirement.get("operator"), requirement.get("values"));
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Gt" | "Lt" if values.len() != 1 => {
                errors.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            _ => errors.invalid(&operator, "not a valid selector operator"),
        }
        check_label_key(&requirement.get("key"), errors);
        for value in values.items().filter(|_| checks_values) {
            check_label_value(&value, errors);
        }
    }
    for requirement in term.get("matchFields").items() {
        let (operator, values) = (requirement.get("operator"), requirement.get("values"));
        match operator.text() {
            "In" | "NotIn" if values.len() != 1 => {
                errors.required(
                    &values,
                    "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                );
            }
            "In" | "NotIn" => {}
            _ => errors.invalid(&operator, "not a valid selector operator"),
        }
        if requirement.get("key").text() != "metadata.name" {
            errors.invalid(&requirement.get("key"), "not a valid field selector key");
            continue;
        }
        for value in values.items().filter(|value| !names::is_dns_subdomain(value.text())) {
            errors.invalid(&value, SUBDOMAIN);
        }
    }
}

fn check_pod_term(term: &Field<'_>, errors: &mut Errors) {
    check_selector(&term.get("labelSelector"), errors);
    check_selector(&term.get("namespaceSelector"), errors);
    for namespace in term.get("namespaces").items().filter(|namespace| !names::is_dns_label(namespace.text())) {
        // The server's own name for the list.
        errors.invalid(&Field { value: namespace.value, path: format!("{}.namespace", term.path) }, LABEL);
    }
    check_match_label_keys(term, errors);
    let key = term.get("topologyKey");
    if key.text().is_empty() {
        errors.required(&key, "can not be empty");
    }
    check_label_key(&key, errors);
}

/// `matchLabelKeys` and `mismatchLabelKeys` beside a `labelSelector`. When a pod is created its labels have been added to
/// the selector as requirements before, so that a key which the selector also names stands in it twice.
pub(super) fn check_match_label_keys(term: &Field<'_>, errors: &mut Errors) {
    let selector = term.get("labelSelector");
    let (keys, mismatch) = (term.get("matchLabelKeys"), term.get("mismatchLabelKeys"));
    for list in [&keys, &mismatch] {
        if !list.is_empty() && !selector.is_given() {
            errors.forbidden(list, "must not be specified when labelSelector is not set");
        } else {
            list.items().for_each(|key| check_label_key(&key, errors));
        }
    }
    let mut named: Vec<&str> = selector.get("matchLabels").entries().map(|(key, _)| key).collect();
    for requirement in selector.get("matchExpressions").items() {
        let text = requirement.get("key").text();
        if let Some(index) = keys.items().position(|key| key.text() == text).filter(|_| named.contains(&text)) {
            let whole = Field { value: term.value, path: format!("{}[{index}]", term.path) };
            invalid_key(&whole, text, "exists in both matchLabelKeys and labelSelector", errors);
        }
        named.push(text);
    }
    for key in keys.items().filter(|key| mismatch.items().any(|other| other.text() == key.text())) {
        errors.invalid(&key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}
