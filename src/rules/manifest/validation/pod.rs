//! Rules of pods, and of pod templates in all workloads: what holds for the spec as a whole. The parts have files of their
//! own: [`super::containers`], [`super::volumes`], [`super::affinity`] ...
//!
//! What the server fills in is never missed here: an absent field stands for its default.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidatePodCreate, ValidatePodTemplateSpec, ValidatePodSpec), v1.36.

use super::super::{Errors, Field, Subresource};
use super::metadata::{LABEL, SUBDOMAIN, check_annotations};
use super::selector::{check_label_key, check_labels, invalid_key};
use super::{affinity, containers, pod_annotations, pod_dns, pod_resize, pod_security, pod_update, resources};
use super::{tolerations, topology_spread, volumes};
use crate::rules::names;

/// What a pod spec is part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Within<'a> {
    /// A pod of this name; empty while it has none.
    Pod(&'a str),
    /// A template.
    Template,
}

/// Adds what the server refuses in a pod.
pub fn check(root: &Field<'_>, errors: &mut Errors) {
    let (metadata, spec) = (root.get("metadata"), root.get("spec"));
    check_pod(root, errors);
    let ephemeral = spec.get("ephemeralContainers");
    if !ephemeral.is_empty() {
        errors.forbidden(&ephemeral, "cannot be set on create");
    }
    if !spec.get("nodeName").text().is_empty() && !spec.get("schedulingGates").is_empty() {
        errors.forbidden(&spec.get("nodeName"), "cannot be set until all schedulingGates have been cleared");
    }
    pod_annotations::check_profiles_agree(&metadata.get("annotations"), &spec, errors);
}

/// What holds for a pod at any time, metadata aside.
pub(super) fn check_pod(root: &Field<'_>, errors: &mut Errors) {
    let (metadata, spec) = (root.get("metadata"), root.get("spec"));
    pod_annotations::check(&metadata.get("annotations"), &spec, errors);
    check_spec(&spec, Within::Pod(metadata.get("name").text()), errors);
    containers::check_for_pod(&spec, errors);
}

/// Adds what the server refuses in a pod template (`spec.template` of a workload): labels and spec. Each workload adds its
/// own rules (selector, restart policy).
pub fn check_template(template: &Field<'_>, errors: &mut Errors) {
    let spec = template.get("spec");
    // The server leaves `metadata` out of these paths.
    let metadata = Field { value: template.get("metadata").value, path: template.path.clone() };
    check_labels(&metadata.get("labels"), errors);
    check_annotations(&metadata.get("annotations"), errors);
    pod_annotations::check(&metadata.get("annotations"), &spec, errors);
    check_spec(&spec, Within::Template, errors);
    pod_annotations::check_profiles_agree(&metadata.get("annotations"), &spec, errors);
    let ephemeral = spec.get("ephemeralContainers");
    if !ephemeral.is_empty() {
        errors.forbidden(&ephemeral, "ephemeral containers not allowed in pod template");
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, part: Subresource, errors: &mut Errors) {
    match part {
        Subresource::Main => pod_update::check(old, new, errors),
        Subresource::Status => pod_update::check_status(old, new, errors),
        Subresource::Resize => pod_resize::check(old, new, errors),
    }
}

fn check_spec(spec: &Field<'_>, within: Within<'_>, errors: &mut Errors) {
    let volumes = volumes::check(&spec.get("volumes"), within, errors);
    resources::check_pod_claims(&spec.get("resourceClaims"), errors);
    containers::check(spec, within, volumes, errors);
    resources::check_pod_level(spec, errors);
    check_words(spec, errors);
    check_labels(&spec.get("nodeSelector"), errors);
    pod_security::check(spec, errors);
    affinity::check(&spec.get("affinity"), errors);
    pod_dns::check(spec, errors);
    check_gates(spec, errors);
    topology_spread::check(&spec.get("topologySpreadConstraints"), errors);
    tolerations::check(&spec.get("tolerations"), errors);
    check_names(spec, errors);
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.int().is_some_and(|seconds| !(1..=i64::from(i32::MAX)).contains(&seconds)) {
        errors.invalid(&deadline, "must be between 1 and 2147483647, inclusive");
    }
    if spec.get("overhead").is_given() {
        resources::check_overhead(&spec.get("overhead"), errors);
    }
    check_os(spec, errors);
}

/// Fields that are one of a few words. An empty one is filled in like an absent one.
fn check_words(spec: &Field<'_>, errors: &mut Errors) {
    one_of(&spec.get("restartPolicy"), &["Always", "OnFailure", "Never"], errors);
    one_of(&spec.get("dnsPolicy"), &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], errors);
    let preemption = spec.get("preemptionPolicy");
    if preemption.is_given() && preemption.text().is_empty() {
        errors.required(&preemption, "");
    }
    one_of(&preemption, &["PreemptLowerPriority", "Never"], errors);
}

/// The field is empty, absent, or one of these words.
pub(super) fn one_of(field: &Field<'_>, words: &[&str], errors: &mut Errors) {
    if !field.text().is_empty() && !words.contains(&field.text()) {
        errors.not_supported(field, words);
    }
}

fn check_gates(spec: &Field<'_>, errors: &mut Errors) {
    for gate in spec.get("readinessGates").items() {
        check_label_key(&gate.get("conditionType"), errors);
    }
    let mut seen: Vec<&str> = Vec::new();
    for gate in spec.get("schedulingGates").items() {
        let name = gate.get("name").text();
        if !names::is_qualified_name(name) {
            invalid_key(&gate, name, "must be a qualified name", errors);
        }
        if seen.contains(&name) {
            errors.duplicate(&gate);
        }
        seen.push(name);
    }
}

/// Names of other objects.
fn check_names(spec: &Field<'_>, errors: &mut Errors) {
    for name in ["serviceAccountName", "nodeName", "priorityClassName"] {
        let field = spec.get(name);
        if !field.text().is_empty() && !names::is_dns_subdomain(field.text()) {
            errors.invalid(&field, SUBDOMAIN);
        }
    }
    let class = spec.get("runtimeClassName");
    if class.is_given() && !names::is_dns_subdomain(class.text()) {
        errors.invalid(&class, SUBDOMAIN);
    }
    for name in ["hostname", "subdomain"] {
        let field = spec.get(name);
        if !field.text().is_empty() && !names::is_dns_label(field.text()) {
            errors.invalid(&field, LABEL);
        }
    }
}

fn check_os(spec: &Field<'_>, errors: &mut Errors) {
    let os = spec.get("os");
    if !os.is_given() {
        return;
    }
    match os.get("name").text() {
        "" => errors.required(&os.get("name"), "cannot be empty"),
        "linux" => pod_security::check_linux(spec, errors),
        "windows" => pod_security::check_windows(spec, errors),
        // The server names the struct.
        _ => errors.not_supported(&Field { value: os.get("name").value, path: os.path.clone() }, &["linux", "windows"]),
    }
}

#[cfg(test)]
#[path = "pod_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "pod_update_tests.rs"]
mod update_tests;
