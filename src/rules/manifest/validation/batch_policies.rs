//! Rules of a job's pod failure policy, pod replacement policy and success policy.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, `validatePodFailurePolicy`, `validateSuccessPolicy`, v1.36.

use super::super::{Errors, Field};
use super::{batch, values};
use crate::rules::names::is_qualified_name;

const RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;
const CONDITIONS_MAX: usize = 20;
const INDEXES_LENGTH_MAX: usize = 64 * 1024;
const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];

/// Adds what is wrong with the policies of a job's spec.
pub fn check(spec: &Field<'_>, errors: &mut Errors) {
    let failure = spec.get("podFailurePolicy");
    let rules = failure.get("rules");
    check_count(&rules, RULES_MAX, errors);
    for rule in rules.items() {
        check_failure_rule(spec, &rule, errors);
    }
    let success = spec.get("successPolicy");
    if success.is_given() && !batch::is_indexed(spec) {
        errors.invalid(&success, "requires indexed completion mode");
    } else if success.is_given() {
        check_success(spec, &success.get("rules"), errors);
    }
    // Pods whose failure is judged are replaced only once they have failed.
    let replacement: &[&str] = if failure.is_given() { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
    values::check_given_word(&spec.get("podReplacementPolicy"), replacement, errors);
}

fn check_count(list: &Field<'_>, limit: usize, errors: &mut Errors) {
    if list.len() > limit {
        errors.too_many(list, list.len(), limit);
    }
}

/// A word that must be given and be one of a few.
fn check_needed_word(field: &Field<'_>, supported: &[&str], errors: &mut Errors) {
    match field.text() {
        "" => errors.required(field, &format!("valid values: {supported:?}")),
        _ => values::check_word(field, supported, errors),
    }
}

fn check_failure_rule(spec: &Field<'_>, rule: &Field<'_>, errors: &mut Errors) {
    let action = rule.get("action");
    check_needed_word(&action, &ACTIONS, errors);
    if action.text() == "FailIndex" && !spec.get("backoffLimitPerIndex").is_given() {
        errors.invalid(&action, "requires the backoffLimitPerIndex to be set");
    }
    let (codes, conditions) = (rule.get("onExitCodes"), rule.get("onPodConditions"));
    if codes.is_given() {
        check_exit_codes(spec, &codes, errors);
    }
    check_count(&conditions, CONDITIONS_MAX, errors);
    for condition in conditions.items() {
        let kind = condition.get("type");
        if !is_qualified_name(kind.text()) {
            errors.invalid(&kind, "must be a qualified name: an optional DNS subdomain and '/', then a name");
        }
        check_needed_word(&condition.get("status"), &["False", "True", "Unknown"], errors);
    }
    match (codes.is_given(), !conditions.is_empty()) {
        (true, true) => errors.invalid(rule, "specifying both onExitCodes and onPodConditions is not supported"),
        (false, false) => errors.invalid(rule, "specifying one of onExitCodes and onPodConditions is required"),
        _ => {}
    }
}

fn check_exit_codes(spec: &Field<'_>, codes: &Field<'_>, errors: &mut Errors) {
    let operator = codes.get("operator");
    check_needed_word(&operator, &["In", "NotIn"], errors);
    let name = codes.get("containerName");
    let pod = spec.at(&["template", "spec"]);
    let mut containers = ["containers", "initContainers"].into_iter().flat_map(|list| pod.get(list).items());
    if name.is_given() && !containers.any(|container| container.get("name").text() == name.text()) {
        errors.invalid(&name, "must be one of the container or initContainer names in the pod template");
    }
    let numbers = codes.get("values");
    match numbers.is_empty() {
        true => errors.invalid(&numbers, "at least one value is required"),
        false => check_count(&numbers, EXIT_CODES_MAX, errors),
    }
    let mut seen: Vec<Option<i64>> = Vec::new();
    for number in numbers.items() {
        if operator.text() == "In" && number.int() == Some(0) {
            errors.invalid(&number, "must not be 0 for the In operator");
        }
        if seen.contains(&number.int()) {
            errors.duplicate(&number);
        }
        seen.push(number.int());
    }
    if !seen.is_sorted() {
        errors.invalid(&numbers, "must be ordered");
    }
}

fn check_success(spec: &Field<'_>, rules: &Field<'_>, errors: &mut Errors) {
    if rules.is_empty() {
        errors.required(rules, "at least one rule must be specified when the successPolicy is specified");
    }
    check_count(rules, RULES_MAX, errors);
    // Absent completions are a mistake of their own.
    let Some(completions) = spec.get("completions").int() else { return };
    for rule in rules.items() {
        check_success_rule(completions, &rule, errors);
    }
}

fn check_success_rule(completions: i64, rule: &Field<'_>, errors: &mut Errors) {
    let (count, indexes) = (rule.get("succeededCount"), rule.get("succeededIndexes"));
    if !count.is_given() && !indexes.is_given() {
        errors.required(rule, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let mut listed = 0;
    if indexes.is_given() {
        if indexes.text().len() > INDEXES_LENGTH_MAX {
            errors.too_long(&indexes, INDEXES_LENGTH_MAX);
        }
        match count_indexes(indexes.text(), completions) {
            Ok(number) => listed = number,
            Err(why) => errors.invalid(&indexes, &format!("error parsing succeededIndexes: {why}")),
        }
    }
    errors.not_negative(&count);
    let Some(wanted) = count.int() else { return };
    if wanted > completions {
        let detail = format!("must be less than or equal to {completions} (the number of specified completions)");
        errors.invalid(&count, &detail);
    }
    if indexes.is_given() && wanted > listed {
        let detail = format!("must be less than or equal to {listed} (the number of indexes in succeededIndexes)");
        errors.invalid(&count, &detail);
    }
}

/// How many indexes `0,2-4` lists: rising, each below `completions`.
fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let mut total = 0;
    let mut last: Option<i64> = None;
    for part in text.split(',') {
        let ends: Vec<&str> = part.split('-').collect();
        let mut numbers = Vec::new();
        for end in &ends {
            let number: i64 = end.parse().map_err(|_| format!("cannot convert {end:?} to an integer"))?;
            if number >= completions {
                return Err(format!("too large index: {end:?}"));
            }
            numbers.push(number);
        }
        let (first, end) = match numbers[..] {
            [one] => (one, one),
            [first, end] if first < end => (first, end),
            [_, _] => return Err(format!("non-increasing order in {part:?}")),
            _ => {
                return Err(format!(
                    "the fragment {part:?} violates the requirement that an index interval has at most \
                                     two parts separated by '-'"
                ));
            }
        };
        if last.is_some_and(|last| last >= first) {
            return Err(format!("non-increasing order, previous: {}, current: {first}", last.unwrap_or_default()));
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_counted() {
        // 0, then 2 to 4: four indexes.
        for (text, count) in [("0,2-4", Some(4)), ("", Some(0)), ("9", Some(1)), ("10", None), ("3-1", None)] {
            assert_eq!(count_indexes(text, 10).ok(), count, "{text}");
        }
        for text in ["1-2-3", "a", "1,1", "4,2", "1-3,3-5", "2-2", ","] {
            assert!(count_indexes(text, 10).is_err(), "{text}");
        }
    }
}
