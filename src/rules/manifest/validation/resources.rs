//! Rules of requests and limits, of containers and of whole pods.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateResourceRequirements, validatePodResourceConsistency), v1.36.

use serde_json::Value;

use super::super::{Errors, Field};
use super::metadata::LABEL;
use super::resource_names::{
    self, allows_overcommit, check_container_name, check_pod_level_name, check_whole, is_huge_pages, is_pod_level,
};
use crate::rules::names;
use crate::rules::quantity::Quantity;

/// The amount of a field; `None` when it is absent or none.
pub(super) fn quantity(field: &Field<'_>) -> Option<Quantity> {
    match field.value {
        Value::String(text) => Quantity::parse(text).ok(),
        Value::Number(number) => Quantity::parse(&number.to_string()).ok(),
        _ => None,
    }
}

/// Requests, limits and claims of a container; `claims` are those that the pod has.
pub(super) fn check_container(resources: &Field<'_>, claims: &[&str], errors: &mut Errors) {
    check_requirements(resources, check_container_name, errors);
    check_claims(&resources.get("claims"), claims, errors);
}

/// What a pod's sandbox takes: rules are those of limits, and so are the server's paths.
pub(super) fn check_overhead(overhead: &Field<'_>, errors: &mut Errors) {
    let limits = Field { value: overhead.value, path: format!("{}.limits", overhead.path) };
    check_amounts(&limits, check_container_name, errors);
}

/// An amount is not negative, and whole where its resource is counted.
pub(super) fn check_amount(name: &str, amount: &Field<'_>, errors: &mut Errors) {
    let Some(parsed) = quantity(amount) else {
        return;
    };
    if parsed.is_negative() {
        errors.invalid(amount, "must be greater than or equal to 0");
    }
    if resource_names::is_counted(name) {
        check_whole(amount, &parsed, errors);
    }
}

fn check_amounts(list: &Field<'_>, check_name: fn(&str, &Field<'_>, &mut Errors), errors: &mut Errors) {
    for (name, amount) in list.entries() {
        check_name(name, &amount, errors);
        check_amount(name, &amount, errors);
        if is_huge_pages(name) && quantity(&amount).is_some_and(|parsed| !resource_names::divides(name, &parsed)) {
            errors.invalid(&amount, &format!("is not positive integer multiple of {name}"));
        }
    }
}

fn check_requirements(resources: &Field<'_>, check_name: fn(&str, &Field<'_>, &mut Errors), errors: &mut Errors) {
    let (limits, requests) = (resources.get("limits"), resources.get("requests"));
    check_amounts(&limits, check_name, errors);
    check_amounts(&requests, check_name, errors);
    for (name, request) in requests.entries() {
        let (Some(amount), limit) = (quantity(&request), limits.key(name)) else {
            continue;
        };
        // The server names the list.
        let named = Field { value: request.value, path: requests.path.clone() };
        match quantity(&limit) {
            Some(limit) if !allows_overcommit(name) && amount != limit => {
                errors.invalid(&named, &format!("must be equal to {name} limit of {limit}"));
            }
            Some(limit) if amount > limit => {
                errors.invalid(&named, &format!("must be less than or equal to {name} limit of {limit}"));
            }
            None if !allows_overcommit(name) => {
                errors.required(&limits, "Limit must be set for non overcommitable resources");
            }
            _ => {}
        }
    }
    let has = |fits: &dyn Fn(&str) -> bool| limits.entries().chain(requests.entries()).any(|(name, _)| fits(name));
    if has(&is_huge_pages) && !has(&|name| name == "cpu" || name == "memory") {
        errors.forbidden(resources, "HugePages require cpu or memory");
    }
}

/// Claims that a container uses: each once, and of those that the pod has.
fn check_claims(claims: &Field<'_>, known: &[&str], errors: &mut Errors) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for claim in claims.items() {
        let (name, request) = (claim.get("name").text(), claim.get("request"));
        if name.is_empty() {
            errors.required(&claim, "");
            continue;
        }
        // A whole claim includes every request of it.
        let overlaps = |other: &(&str, &str)| {
            other.0 == name && (other.1.is_empty() || request.text().is_empty() || other.1 == request.text())
        };
        if seen.iter().any(overlaps) {
            errors.duplicate(&claim);
        } else if !request.text().is_empty() && !names::is_dns_label(request.text()) {
            errors.invalid(&request, LABEL);
        }
        seen.push((name, request.text()));
        if !known.contains(&name) {
            errors.not_found(&claim);
        }
    }
}

/// The claims of a pod.
pub(super) fn check_pod_claims(claims: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for claim in claims.items() {
        let name = claim.get("name");
        if name.text().is_empty() {
            errors.required(&name, "");
        } else if seen.contains(&name.text()) {
            errors.duplicate(&name);
        } else if !names::is_dns_label(name.text()) {
            errors.invalid(&name, LABEL);
        }
        seen.push(name.text());
        let sources = ["resourceClaimName", "resourceClaimTemplateName"].map(|source| claim.get(source));
        match sources.iter().filter(|source| source.is_given()).count() {
            0 => errors.invalid(&claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            1 => {}
            _ => errors
                .invalid(&claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
        }
        for source in sources.iter().filter(|source| source.is_given() && !names::is_dns_subdomain(source.text())) {
            errors.invalid(source, super::metadata::SUBDOMAIN);
        }
    }
}

/// What is to happen to a container when its resources change.
pub(super) fn check_resize_policy(policies: &Field<'_>, pod_restart_policy: &str, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for policy in policies.items() {
        let name = policy.get("resourceName");
        // The server names the list, and an item only for a duplicate.
        let at = |field: &str| Field { value: policy.get(field).value, path: policies.path.clone() };
        if seen.contains(&name.text()) {
            errors.duplicate(&Field { value: name.value, path: policy.path.clone() });
        }
        seen.push(name.text());
        for (field, words) in
            [("resourceName", ["cpu", "memory"]), ("restartPolicy", ["NotRequired", "RestartContainer"])]
        {
            match at(field).text() {
                "" => errors.required(&at(field), ""),
                word if !words.contains(&word) => errors.not_supported(&at(field), &words),
                _ => {}
            }
        }
        if pod_restart_policy == "Never" && at("restartPolicy").text() != "NotRequired" {
            errors.invalid(&at("restartPolicy"), "must be 'NotRequired' when `restartPolicy` is 'Never'");
        }
    }
}

/// Requests and limits of the pod as a whole; absent is fine.
pub(super) fn check_pod_level(spec: &Field<'_>, errors: &mut Errors) {
    let resources = spec.get("resources");
    if !resources.is_given() {
        return;
    }
    if spec.at(&["os", "name"]).text() == "windows" {
        errors.forbidden(&resources, "may not be set for a windows pod");
        return;
    }
    if resources.get("claims").is_given() {
        errors.forbidden(&resources.get("claims"), "claims cannot be set for Resources at pod-level");
    }
    check_requirements(&resources, check_pod_level_name, errors);
    for (name, request) in resources.get("requests").entries().filter(|(name, _)| is_pod_level(name)) {
        let together = together_milli(spec, "requests", name);
        if quantity(&request).is_some_and(|request| i128::from(request.milli_value()) < together) {
            errors.invalid(&request, "must be greater than or equal to aggregate container requests");
        }
    }
    for (name, limit) in resources.get("limits").entries().filter(|(name, _)| is_huge_pages(name)) {
        let together = together_milli(spec, "limits", name);
        if quantity(&limit).is_some_and(|limit| i128::from(limit.milli_value()) < together) {
            errors.invalid(&limit, "must be greater than or equal to aggregate container limits");
        }
    }
    for (index, container) in spec.get("containers").items().enumerate() {
        for (name, limit) in container.at(&["resources", "limits"]).entries() {
            let whole = quantity(&resources.get("limits").key(name));
            if let (Some(amount), Some(whole)) = (quantity(&limit), whole)
                && amount > whole
            {
                // The server looks for the container below the pod's resources.
                let path = format!("{}.containers[{index}][{name}].limits", resources.path);
                errors.invalid(
                    &Field { value: limit.value, path },
                    &format!("must be less than or equal to pod limits of {whole}"),
                );
            }
        }
    }
}

/// What all containers of a pod have in such a `list` of a resource, in thousandths: containers and sidecars run side by
/// side, each init container beside the sidecars before it.
fn together_milli(spec: &Field<'_>, list: &str, name: &str) -> i128 {
    let of = |container: &Field<'_>| {
        let amount = quantity(&container.at(&["resources", list]).key(name));
        amount.map_or(0, |amount| i128::from(amount.milli_value()))
    };
    let (mut sidecars, mut most) = (0, 0);
    for container in spec.get("initContainers").items() {
        if container.get("restartPolicy").text() == "Always" {
            sidecars += of(&container);
            most = most.max(sidecars);
        } else {
            most = most.max(sidecars + of(&container));
        }
    }
    let running: i128 = spec.get("containers").items().map(|container| of(&container)).sum();
    most.max(running + sidecars)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn container(resources: &Value) -> Vec<String> {
        let mut errors = Errors::default();
        check_container(&Field { value: resources, path: "r".into() }, &["gpu"], &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn amounts_of_containers() {
        assert!(container(&json!({"requests": {"cpu": 1, "memory": "1Gi"}, "limits": {"cpu": "1000m"}})).is_empty());
        assert_eq!(container(&json!({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}})), ["r.requests Invalid"]);
        assert_eq!(container(&json!({"limits": {"pods": "1"}})), ["r.limits[pods] Invalid"]);
        assert_eq!(container(&json!({"limits": {"requests.x.io/a": "1"}})), ["r.limits[requests.x.io/a] Invalid"]);
        let lower = json!({"requests": {"x.io/a": "1"}, "limits": {"x.io/a": "2"}});
        assert_eq!(container(&lower), ["r.requests Invalid"]);
        // 3 MiB are no multiple of 2 MiB.
        let huge = json!({"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}, "requests": {"hugepages-2Mi": "3Mi"}});
        assert_eq!(container(&huge), ["r.limits[hugepages-2Mi] Invalid", "r.requests[hugepages-2Mi] Invalid"]);
        let claims = json!({"claims": [{"name": "gpu"}, {"name": "gpu", "request": "a"}, {"name": "nic"}, {}]});
        assert_eq!(container(&claims), ["r.claims[1] Duplicate", "r.claims[2] NotFound", "r.claims[3] Required"]);
    }

    #[test]
    fn amounts_of_pods() {
        let check = |spec: Value| {
            let mut errors = Errors::default();
            check_pod_level(&Field { value: &spec, path: "s".into() }, &mut errors);
            errors
                .into_list()
                .into_iter()
                .map(|error| format!("{} {}", error.path, error.reason.as_str()))
                .collect::<Vec<_>>()
        };
        let with = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = with("200m");
        sidecar["restartPolicy"] = json!("Always");
        let spec = |pod: &str| {
            json!({
                "containers": [with("100m")],
                "initContainers": [with("600m"), sidecar.clone(), with("350m")],
                "resources": {"requests": {"cpu": pod}},
            })
        };
        // Greatest of 600, 200 + 350 and 100 + 200.
        assert!(check(spec("600m")).is_empty());
        assert_eq!(check(spec("599m")), ["s.resources.requests[cpu] Invalid"]);
        let limits = json!({
            "containers": [{"resources": {"limits": {"cpu": "2"}}}],
            "resources": {"limits": {"cpu": "1"}},
        });
        assert_eq!(check(limits), ["s.resources.containers[0][cpu].limits Invalid"]);
    }
}
