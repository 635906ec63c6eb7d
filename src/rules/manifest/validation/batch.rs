//! Rules of Jobs; [`super::batch_policies`] has those of failure and success policies.
//!
//! Upstream: pkg/apis/batch/validation/validation.go, pkg/registry/batch/job/strategy.go, v1.36.

use serde_json::{Map, Value};

use super::super::defaults::prepare::UID;
use super::super::{Errors, Field, ManifestKind};
use super::metadata::SUBDOMAIN;
use super::workloads_selector::{check_selects_template, selects};
use super::{batch_cron_job, batch_policies, pod, selector, values};
use crate::rules::names;

const SOME_UID: &str = "00000000-0000-4000-8000-000000000000";
const INDEXED_PARALLELISM_MAX: i64 = 100_000;
const FAILED_INDEXES_MAX: i64 = 100_000;
/// Above so many completions, limits per index need tighter bounds.
const COMPLETIONS_HIGH: i64 = 100_000;
const HIGH_PARALLELISM_MAX: i64 = 10_000;
const HIGH_FAILED_INDEXES_MAX: i64 = 10_000;
const MANAGED_BY_LENGTH_MAX: usize = 63;

/// Fields of a job that never change.
const FIXED: [&str; 5] = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    if kind == ManifestKind::CronJob {
        return batch_cron_job::check(root, errors);
    }
    check_generated_selector(root, errors);
    check_selected_spec(&root.get("spec"), errors);
    let spec = root.get("spec");
    let completions = spec.get("completions").int().unwrap_or(0);
    if is_indexed(&spec) && completions > 0 {
        let name = root.at(&["metadata", "name"]);
        let host = format!("{}-{}", name.text(), completions - 1);
        if !names::is_dns_label(&host) {
            errors.invalid(&name, &format!("will not be able to create a pod with the invalid DNS label {host}"));
        }
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    if kind == ManifestKind::CronJob {
        return batch_cron_job::check_update(old, new, errors);
    }
    let (old_spec, new_spec) = (old.get("spec"), new.get("spec"));
    check_selected_spec(&new_spec, errors);
    check_completions_update(&old_spec, &new_spec, errors);
    values::check_unchanged(&old_spec.get("selector"), &new_spec.get("selector"), errors);
    check_template_update(old, &new_spec, errors);
    for field in FIXED {
        values::check_unchanged(&old_spec.get(field), &new_spec.get(field), errors);
    }
}

/// The job with a uid where [`UID`] stands for the one that it has not got yet, so that its labels are judged as they will
/// be.
pub fn with_uid(job: &Value) -> Value {
    let mut job = job.clone();
    let places = ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"];
    for place in places {
        let labels = job.pointer_mut(place).and_then(Value::as_object_mut);
        for (_, value) in labels.into_iter().flatten().filter(|(_, value)| *value == UID) {
            *value = Value::from(SOME_UID);
        }
    }
    job
}

/// Whether a job counts indexes.
pub fn is_indexed(spec: &Field<'_>) -> bool {
    spec.get("completionMode").text() == "Indexed"
}

/// The selector that the server makes must not have been added to.
fn check_generated_selector(root: &Field<'_>, errors: &mut Errors) {
    let spec = root.get("spec");
    let selected = spec.get("selector");
    if spec.get("manualSelector").is_true() || !selected.is_given() {
        return;
    }
    let labels = spec.at(&["template", "metadata", "labels"]);
    // What is drawn later stands in the labels only.
    let drawn = |field: &str, label: &str| match root.at(&["metadata", field]) {
        given if given.is_given() => given.text(),
        _ => labels.get(label).text(),
    };
    let name = drawn("name", "batch.kubernetes.io/job-name");
    let uid = drawn("uid", "batch.kubernetes.io/controller-uid");
    let mut expected = Map::new();
    for (label, value) in [
        ("batch.kubernetes.io/controller-uid", uid),
        ("controller-uid", uid),
        ("batch.kubernetes.io/job-name", name),
        ("job-name", name),
    ] {
        if labels.get(label).text() != value {
            let path = format!("spec.template.metadata.{label}");
            errors.invalid(&Field { value: labels.get(label).value, path }, &format!("must be '{value}'"));
        }
        expected.insert(label.to_string(), Value::from(value));
    }
    if selects(&selected, &Value::Object(expected)) == Some(false) {
        errors.invalid(&selected, "`selector` not auto-generated");
    }
}

fn check_selected_spec(spec: &Field<'_>, errors: &mut Errors) {
    check_spec(spec, errors);
    let selected = spec.get("selector");
    match selected.is_given() {
        true => selector::check_selector(&selected, errors),
        false => errors.required(&selected, ""),
    }
    check_selects_template(&selected, &spec.get("template"), errors);
}

/// Adds what is wrong with a job's spec, but for its selector.
pub fn check_spec(spec: &Field<'_>, errors: &mut Errors) {
    for field in [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ] {
        errors.not_negative(&spec.get(field));
    }
    let per_index = spec.get("backoffLimitPerIndex");
    if spec.get("maxFailedIndexes").is_given() && !per_index.is_given() {
        errors.required(&per_index, "when maxFailedIndexes is specified");
    }
    check_managed_by(&spec.get("managedBy"), errors);
    values::check_given_word(&spec.get("completionMode"), &["NonIndexed", "Indexed"], errors);
    match spec.get("completionMode").text() {
        "Indexed" => check_indexed(spec, errors),
        "NonIndexed" | "" => {
            for field in [per_index, spec.get("maxFailedIndexes")].iter().filter(|field| field.is_given()) {
                errors.invalid(field, "requires indexed completion mode");
            }
        }
        _ => {}
    }
    batch_policies::check(spec, errors);
    let template = spec.get("template");
    pod::check_template(&template, errors);
    let restart = template.at(&["spec", "restartPolicy"]);
    match restart.text() {
        "Always" | "" => errors.required(&restart, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" if spec.get("podFailurePolicy").is_given() => {
            errors.invalid(&restart, "only \"Never\" is supported when podFailurePolicy is specified");
        }
        _ => values::check_word(&restart, &["OnFailure", "Never"], errors),
    }
}

fn check_indexed(spec: &Field<'_>, errors: &mut Errors) {
    let [completions, parallelism, failed] =
        ["completions", "parallelism", "maxFailedIndexes"].map(|name| spec.get(name));
    if !completions.is_given() {
        errors.required(&completions, "when completion mode is Indexed");
    }
    let above = |field: &Field<'_>, limit: i64| field.int().is_some_and(|number| number > limit);
    let mut at_most = |field: &Field<'_>, limit: i64, when: &str| {
        if above(field, limit) {
            errors.invalid(field, &format!("must be less than or equal to {limit}{when}"));
        }
    };
    at_most(&parallelism, INDEXED_PARALLELISM_MAX, " when completion mode is Indexed");
    if let Some(completions) = completions.int() {
        at_most(&failed, completions, " (completions)");
    }
    at_most(&failed, FAILED_INDEXES_MAX, "");
    if above(&completions, COMPLETIONS_HIGH) && spec.get("backoffLimitPerIndex").is_given() {
        let when = " when completions are above 100000 and used with backoff limit per index";
        at_most(&parallelism, HIGH_PARALLELISM_MAX, when);
        at_most(&failed, HIGH_FAILED_INDEXES_MAX, when);
        if !failed.is_given() {
            errors.required(&failed, "must be specified when completions is above 100000");
        }
    }
}

/// A domain, a slash and a path: `example.com/controller`.
fn check_managed_by(managed_by: &Field<'_>, errors: &mut Errors) {
    if !managed_by.is_given() {
        return;
    }
    match managed_by.text().split_once('/') {
        _ if managed_by.text().is_empty() => errors.required(managed_by, ""),
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            let is_domain = names::is_dns_subdomain(domain);
            let is_path_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:".contains(&byte);
            if !is_domain {
                errors.invalid(managed_by, SUBDOMAIN);
            }
            if !path.bytes().all(is_path_byte) {
                errors.invalid(managed_by, "the part behind the slash must be a valid URL path");
            }
        }
        _ => errors.invalid(managed_by, "must be a domain-prefixed path (such as \"acme.io/foo\")"),
    }
    if managed_by.text().len() > MANAGED_BY_LENGTH_MAX {
        errors.too_long(managed_by, MANAGED_BY_LENGTH_MAX);
    }
}

/// Completions change only together with the parallelism of a job that counts indexes.
fn check_completions_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let completions = new.get("completions");
    if !is_indexed(new) {
        return values::check_unchanged(&old.get("completions"), &completions, errors);
    }
    if completions.is_given()
        && completions.value != old.get("completions").value
        && completions.value != new.get("parallelism").value
    {
        errors.invalid(&completions, "can only be modified in tandem with spec.parallelism");
    }
}

/// The template stays as it is; while a job is suspended and has no pods, where its pods may run and what they ask for
/// may change.
fn check_template_update(old: &Field<'_>, new_spec: &Field<'_>, errors: &mut Errors) {
    let (old_template, new_template) = (old.at(&["spec", "template"]), new_spec.get("template"));
    if !may_change_template(old) {
        return values::check_unchanged(&old_template, &new_template, errors);
    }
    let mut allowed = old_template.value.clone();
    allow_directives(&mut allowed, new_template.value);
    let allowed = Field { value: &allowed, path: old_template.path.clone() };
    values::check_unchanged(&allowed.get("spec"), &new_template.get("spec"), errors);
    values::check_unchanged(&allowed.get("metadata"), &new_template.get("metadata"), errors);
}

fn may_change_template(old: &Field<'_>) -> bool {
    let status = old.get("status");
    let never_started = !status.get("startTime").is_given();
    let is_suspended =
        |condition: Field<'_>| condition.get("type").text() == "Suspended" && condition.get("status").text() == "True";
    let has_no_pods = status.get("active").int().unwrap_or(0) == 0;
    let stands_still = status.get("conditions").items().any(is_suspended) && has_no_pods;
    old.at(&["spec", "suspend"]).is_true() && (never_started || stands_still)
}

/// Takes over from the new template what may change.
fn allow_directives(template: &mut Value, new: &Value) {
    for name in ["annotations", "labels"] {
        copy(&mut template["metadata"], &new["metadata"], name);
    }
    let (spec, new_spec) = (&mut template["spec"], &new["spec"]);
    for name in ["nodeSelector", "tolerations", "schedulingGates"] {
        copy(spec, new_spec, name);
    }
    if spec["affinity"].is_object() || new_spec["affinity"]["nodeAffinity"].is_object() {
        copy(&mut spec["affinity"], &new_spec["affinity"], "nodeAffinity");
    }
    for list in ["containers", "initContainers"] {
        let containers = spec[list].as_array_mut().into_iter().flatten();
        for (index, container) in containers.enumerate() {
            copy(container, &new_spec[list][index], "resources");
        }
    }
}

fn copy(to: &mut Value, from: &Value, name: &str) {
    if !to.is_object() {
        *to = Value::Object(Map::new());
    }
    to[name] = from[name].clone();
}

#[cfg(test)]
#[path = "batch_tests.rs"]
mod tests;
