//! Rules of containers, init containers and sidecars, and of ephemeral containers.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateContainers, validateInitContainers, validateContainerCommon),
//! v1.36.

use super::super::{Errors, Field};
use super::metadata::LABEL;
use super::pod::{Within, one_of};
use super::volumes::Volumes;
use super::{container_env, container_mounts, pod_security, probes, resources};
use crate::rules::names;

/// What the spec around a container says to it.
pub(super) struct Around<'a> {
    /// The pod's volumes that are right.
    pub volumes: Volumes<'a>,
    /// Names of the pod's resource claims.
    pub claims: Vec<&'a str>,
    /// Seconds that the pod has to end; absent stands for the default.
    pub grace_seconds: i64,
    /// The pod's restart policy.
    pub restart_policy: &'a str,
    /// Whether users of the pod are users of the host.
    pub host_users: bool,
}

/// The default of `terminationGracePeriodSeconds`.
const GRACE_SECONDS: i64 = 30;
const RESTART_RULES_MAX: usize = 20;
const EXIT_CODES_MAX: usize = 255;

/// All containers of a pod spec.
pub(super) fn check(spec: &Field<'_>, within: Within<'_>, volumes: Volumes<'_>, errors: &mut Errors) {
    let grace_seconds = spec.get("terminationGracePeriodSeconds").int().unwrap_or(GRACE_SECONDS);
    let around = Around {
        volumes,
        claims: spec.get("resourceClaims").items().map(|claim| claim.get("name").text()).collect(),
        // A pod's negative period is read as 1, a template's as it is.
        grace_seconds: if grace_seconds < 0 && within != Within::Template { 1 } else { grace_seconds },
        restart_policy: spec.get("restartPolicy").text(),
        host_users: *spec.get("hostUsers").value != serde_json::Value::Bool(false),
    };
    let mut seen: Vec<&str> = Vec::new();
    if spec.get("containers").is_empty() {
        errors.required(&spec.get("containers"), "");
    }
    for container in spec.get("containers").items() {
        check_common(&container, &around, errors);
        check_unique(&container, &mut seen, errors);
        check_probes(&container, &around, errors);
        check_restart(&container, errors);
    }
    check_host_ports(spec.get("containers").items(), None, errors);
    check_host_network(spec, errors);
    for container in spec.get("initContainers").items() {
        check_common(&container, &around, errors);
        check_restart(&container, errors);
        check_unique(&container, &mut seen, errors);
        // They run one by one, so that each may use the ports of all others. The server counts them as if each was alone.
        check_host_ports(std::iter::once(container.clone()), Some(&spec.get("initContainers").path), errors);
        match container.get("restartPolicy").text() {
            "Always" => check_probes(&container, &around, errors),
            _ => forbid_probes(&container, errors),
        }
    }
    let others = seen.clone();
    for container in spec.get("ephemeralContainers").items() {
        check_common(&container, &around, errors);
        check_whitespace(&container, errors);
        check_unique(&container, &mut seen, errors);
        check_ephemeral(&container, &others, errors);
    }
}

/// What holds in a pod and not in a template.
pub(super) fn check_for_pod(spec: &Field<'_>, errors: &mut Errors) {
    for list in ["containers", "initContainers"] {
        for container in spec.get(list).items() {
            check_whitespace(&container, errors);
        }
    }
}

/// The image has no white space around it.
pub(super) fn check_whitespace(container: &Field<'_>, errors: &mut Errors) {
    let image = container.get("image");
    if image.text().trim() != image.text() {
        errors.invalid(&image, "must not have leading or trailing whitespace");
    }
}

fn check_common(container: &Field<'_>, around: &Around<'_>, errors: &mut Errors) {
    let name = container.get("name");
    if name.text().is_empty() {
        errors.required(&name, "");
    } else if !names::is_dns_label(name.text()) {
        errors.invalid(&name, LABEL);
    }
    if container.get("image").text().is_empty() {
        errors.required(&container.get("image"), "");
    }
    one_of(&container.get("terminationMessagePolicy"), &["File", "FallbackToLogsOnError"], errors);
    check_ports(&container.get("ports"), errors);
    container_env::check(container, &around.volumes, errors);
    container_mounts::check(container, &around.volumes, errors);
    one_of(&container.get("imagePullPolicy"), &["Always", "IfNotPresent", "Never"], errors);
    resources::check_container(&container.get("resources"), &around.claims, errors);
    resources::check_resize_policy(&container.get("resizePolicy"), around.restart_policy, errors);
    pod_security::check_container(&container.get("securityContext"), around.host_users, errors);
}

fn check_unique<'a>(container: &Field<'a>, seen: &mut Vec<&'a str>, errors: &mut Errors) {
    let name = container.get("name");
    if seen.contains(&name.text()) {
        errors.duplicate(&name);
    } else if !name.text().is_empty() {
        seen.push(name.text());
    }
}

fn check_probes(container: &Field<'_>, around: &Around<'_>, errors: &mut Errors) {
    probes::check_lifecycle(&container.get("lifecycle"), around.grace_seconds, errors);
    probes::check_liveness(&container.get("livenessProbe"), errors);
    probes::check_readiness(&container.get("readinessProbe"), errors);
    probes::check_liveness(&container.get("startupProbe"), errors);
}

fn forbid_probes(container: &Field<'_>, errors: &mut Errors) {
    for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        if container.get(name).is_given() {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.forbidden(&container.get(name), detail);
        }
    }
}

/// The restart policy of one container, and its rules on exit codes.
fn check_restart(container: &Field<'_>, errors: &mut Errors) {
    let (policy, rules) = (container.get("restartPolicy"), container.get("restartPolicyRules"));
    let words = ["Always", "Never", "OnFailure"];
    if policy.is_given() && !words.contains(&policy.text()) {
        errors.not_supported(&policy, &words);
    }
    if !policy.is_given() && !rules.is_empty() {
        errors.required(&policy, "must specify restartPolicy when restart rules are used");
    }
    if rules.len() > RESTART_RULES_MAX {
        errors.too_many(&rules, rules.len(), RESTART_RULES_MAX);
    }
    for rule in rules.items() {
        let actions = ["Restart", "RestartAllContainers"];
        if !actions.contains(&rule.get("action").text()) {
            errors.not_supported(&rule.get("action"), &actions);
        }
        let codes = rule.get("exitCodes");
        if !codes.is_given() {
            errors.required(&codes, "must be specified");
            continue;
        }
        if !["In", "NotIn"].contains(&codes.get("operator").text()) {
            errors.not_supported(&codes.get("operator"), &["In", "NotIn"]);
        }
        let values = codes.get("values");
        if values.len() > EXIT_CODES_MAX {
            errors.too_many(&values, values.len(), EXIT_CODES_MAX);
        }
    }
}

/// The ports of one container.
fn check_ports(ports: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for port in ports.items() {
        let name = port.get("name");
        if !name.text().is_empty() {
            if !names::is_port_name(name.text()) {
                errors.invalid(&name, PORT_NAME);
            } else if seen.contains(&name.text()) {
                errors.duplicate(&name);
            }
            seen.push(name.text());
        }
        match port.get("containerPort").int().unwrap_or(0) {
            0 => errors.required(&port.get("containerPort"), ""),
            _ => check_port_number(&port.get("containerPort"), errors),
        }
        if port.get("hostPort").int().unwrap_or(0) != 0 {
            check_port_number(&port.get("hostPort"), errors);
        }
        one_of(&port.get("protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
}

/// What the server says of a port's name.
pub(super) const PORT_NAME: &str = "must be at most 15 characters: lower case alphanumeric characters and single inner '-', \
                                    at least one of them a letter";

/// A number from 1 to 65535.
pub(super) fn check_port_number(port: &Field<'_>, errors: &mut Errors) {
    if !port.int().is_some_and(|number| (1..=65_535).contains(&number)) {
        errors.invalid(port, "must be between 1 and 65535, inclusive");
    }
}

/// No two containers take the same port of the host. `path` is that of the list, for the server's index.
fn check_host_ports<'a>(containers: impl Iterator<Item = Field<'a>>, path: Option<&str>, errors: &mut Errors) {
    let mut seen = Vec::new();
    for (index, container) in containers.enumerate() {
        let container = match path {
            Some(path) => Field { value: container.value, path: format!("{path}[{index}]") },
            None => container,
        };
        for port in container.get("ports").items() {
            let number = port.get("hostPort").int().unwrap_or(0);
            let protocol = if port.get("protocol").text().is_empty() { "TCP" } else { port.get("protocol").text() };
            let taken = (protocol, port.get("hostIP").text(), number);
            if number == 0 {
                continue;
            }
            if seen.contains(&taken) {
                errors.duplicate(&port.get("hostPort"));
            }
            seen.push(taken);
        }
    }
}

/// In the host's network a port of the host is the container's own.
fn check_host_network(spec: &Field<'_>, errors: &mut Errors) {
    if !spec.get("hostNetwork").is_true() {
        return;
    }
    for container in spec.get("containers").items() {
        for port in container.get("ports").items() {
            let (host, own) = (port.get("hostPort"), port.get("containerPort"));
            if host.int().unwrap_or(0) != 0 && host.int() != own.int() {
                errors.invalid(&host, "must match `containerPort` when `hostNetwork` is true");
            }
        }
    }
}

fn check_ephemeral(container: &Field<'_>, others: &[&str], errors: &mut Errors) {
    let target = container.get("targetContainerName");
    if !target.text().is_empty() && !others.contains(&target.text()) {
        errors.not_found(&target);
    }
    let unset = ["ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "resizePolicy"];
    for name in unset.into_iter().chain(["restartPolicy", "restartPolicyRules"]) {
        let field = container.get(name);
        if !field.is_empty() || !field.text().is_empty() {
            errors.forbidden(&field, "cannot be set for an Ephemeral Container");
        }
    }
    for mount in container.get("volumeMounts").items() {
        for name in ["subPath", "subPathExpr"] {
            if !mount.get(name).text().is_empty() {
                errors.forbidden(&mount.get(name), "cannot be set for an Ephemeral Container");
            }
        }
    }
}
