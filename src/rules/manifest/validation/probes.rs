//! Rules of probes and lifecycle hooks.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateProbe, validateHandler, validateLifecycle), v1.36.

use super::super::{Errors, Field};
use super::containers::{PORT_NAME, check_port_number};
use super::pod::one_of;
use super::selector::invalid_key;
use crate::rules::names;

/// What a handler does, in the order in which a second one is found out.
const PROBE_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const HOOK_HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "sleep"];

/// A liveness or startup probe; absent is fine.
pub(super) fn check_liveness(probe: &Field<'_>, errors: &mut Errors) {
    if !probe.is_given() {
        return;
    }
    check_probe(probe, errors);
    // Zero stands for the default, which is one.
    if !matches!(probe.get("successThreshold").int(), None | Some(0 | 1)) {
        errors.invalid(&probe.get("successThreshold"), "must be 1");
    }
}

/// A readiness probe; absent is fine.
pub(super) fn check_readiness(probe: &Field<'_>, errors: &mut Errors) {
    if !probe.is_given() {
        return;
    }
    check_probe(probe, errors);
    let grace = probe.get("terminationGracePeriodSeconds");
    if grace.is_given() {
        errors.invalid(&grace, "must not be set for readinessProbes");
    }
}

fn check_probe(probe: &Field<'_>, errors: &mut Errors) {
    check_handler(probe, &PROBE_HANDLERS, errors);
    for name in ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"] {
        errors.not_negative(&probe.get(name));
    }
    let grace = probe.get("terminationGracePeriodSeconds");
    if grace.int().is_some_and(|seconds| seconds <= 0) {
        errors.invalid(&grace, "must be greater than 0");
    }
}

/// Hooks of a container; absent is fine. A sleep must end within `grace_seconds`.
pub(super) fn check_lifecycle(lifecycle: &Field<'_>, grace_seconds: i64, errors: &mut Errors) {
    for name in ["postStart", "preStop"] {
        let hook = lifecycle.get(name);
        if !hook.is_given() {
            continue;
        }
        if check_handler(&hook, &HOOK_HANDLERS, errors) == Some("sleep") {
            let seconds = hook.at(&["sleep", "seconds"]).int().unwrap_or(0);
            if !(0..=grace_seconds).contains(&seconds) {
                let detail =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace_seconds})");
                errors.invalid(&hook.get("sleep"), &detail);
            }
        }
    }
}

/// Exactly one of `kinds`, which is right in itself. Returns the first that is given.
fn check_handler(handler: &Field<'_>, kinds: &[&'static str], errors: &mut Errors) -> Option<&'static str> {
    let mut first = None;
    for kind in kinds.iter().copied().filter(|kind| handler.get(kind).is_given()) {
        let action = handler.get(kind);
        if first.is_some() {
            errors.forbidden(&action, "may not specify more than 1 handler type");
            continue;
        }
        first = Some(kind);
        match kind {
            "exec" if action.get("command").is_empty() => errors.required(&action.get("command"), ""),
            "httpGet" => check_http(&action, errors),
            "tcpSocket" => check_port(&action.get("port"), errors),
            "grpc" => check_port_number(&action.get("port"), errors),
            _ => {}
        }
    }
    if first.is_none() {
        errors.required(handler, "must specify a handler type");
    }
    first
}

fn check_http(action: &Field<'_>, errors: &mut Errors) {
    // An empty path stands for the default `/`.
    check_port(&action.get("port"), errors);
    one_of(&action.get("scheme"), &["HTTP", "HTTPS"], errors);
    for header in action.get("httpHeaders").items() {
        let name = header.get("name").text();
        if !names::is_header_name(name) {
            let rule = "a valid HTTP header must consist of alphanumeric characters or '-'";
            invalid_key(&action.get("httpHeaders"), name, rule, errors);
        }
    }
}

/// A port by number or name. The name need not be one of the container's ports.
fn check_port(port: &Field<'_>, errors: &mut Errors) {
    match port.value.as_str() {
        Some(name) if !names::is_port_name(name) => errors.invalid(port, PORT_NAME),
        Some(_) => {}
        None => check_port_number(port, errors),
    }
}
