//! Rules of LimitRanges and ResourceQuotas.
//!
//! Upstream: pkg/apis/core/validation/validation.go, `ValidateLimitRange`, `ValidateResourceQuota`;
//! pkg/apis/core/helper/helpers.go, v1.36.

use super::super::{Errors, Field, ManifestKind};
use super::{resource_names, values};
use crate::rules::names::is_qualified_name;
use crate::rules::quantity::Quantity;

/// Resources that are counted in whole things.
const COUNTED: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];
/// Resources that a quota limits beside the counted ones.
const MEASURED: [&str; 10] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
/// Resources of pods that are not best effort.
const COMPUTED: [&str; 6] = ["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"];
const SCOPES: [&str; 7] = [
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
];
const LIMIT_TYPES: [&str; 3] = ["Pod", "Container", "PersistentVolumeClaim"];

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::LimitRange => check_limits(&root.at(&["spec", "limits"]), errors),
        _ => check_quota(&root.get("spec"), errors),
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    check(kind, new, errors);
    let scopes = new.at(&["spec", "scopes"]);
    if kind == ManifestKind::ResourceQuota && scope_names(old) != scope_names(new) {
        errors.invalid(&scopes, values::IMMUTABLE);
    }
}

/// The scopes in order, each once.
fn scope_names<'a>(quota: &Field<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = quota.at(&["spec", "scopes"]).items().map(|scope| scope.text()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn check_quota(spec: &Field<'_>, errors: &mut Errors) {
    for (name, field) in spec.get("hard").entries() {
        let is_huge_page = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
        let is_known = resource_names::check_name(name, &field, errors);
        if is_known && !name.contains('/') && !is_limited(name) && !is_huge_page {
            errors.invalid(&field, "must be a standard resource for quota");
        }
        check_quantity(name, &field, errors);
    }
    let scopes = spec.get("scopes");
    let names: Vec<&str> = scopes.items().map(|scope| scope.text()).collect();
    for scope in &names {
        if !SCOPES.contains(scope) {
            errors.invalid(&scopes, "unsupported scope");
        }
    }
    check_scopes(spec, &scopes, &names, errors);
    check_scope_selector(spec, errors);
}

/// A quantity that is not negative, and whole where things are counted.
fn check_quantity(name: &str, field: &Field<'_>, errors: &mut Errors) {
    let Some(quantity) = values::quantity(field) else { return };
    if quantity.is_negative() {
        errors.invalid(field, "must be greater than or equal to 0");
    }
    if resource_names::is_counted(name) {
        resource_names::check_whole(field, &quantity, errors);
    }
}

/// A resource that quotas know: any of a domain, and without one the standard ones.
fn is_limited(name: &str) -> bool {
    MEASURED.contains(&name) || COUNTED.contains(&name)
}

/// Scopes that contradict each other, or that a limited resource knows nothing of.
fn check_scopes(spec: &Field<'_>, at: &Field<'_>, scopes: &[&str], errors: &mut Errors) {
    for scope in scopes {
        let fits = |name: &str| match *scope {
            "BestEffort" => name == "pods",
            "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => {
                name == "pods" || COMPUTED.contains(&name)
            }
            "VolumeAttributesClass" => name == "persistentvolumeclaims" || name == "requests.storage",
            _ => true,
        };
        if spec.get("hard").entries().any(|(name, _)| is_limited(name) && !fits(name)) {
            errors.invalid(at, "unsupported scope applied to resource");
        }
    }
    for [one, other] in [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]] {
        if scopes.contains(&one) && scopes.contains(&other) {
            errors.invalid(at, "conflicting scopes");
        }
    }
}

/// The server leaves the expressions' indexes out of its paths.
fn check_scope_selector(spec: &Field<'_>, errors: &mut Errors) {
    let expressions = spec.at(&["scopeSelector", "matchExpressions"]);
    let mut names = Vec::new();
    for expression in expressions.items() {
        let placed = |name: &str| Field { value: expression.get(name).value, ..expressions.get(name) };
        let [scope, operator, listed] = ["scopeName", "operator", "values"].map(placed);
        if !SCOPES.contains(&scope.text()) {
            errors.invalid(&scope, "unsupported scope");
        }
        let only_exists =
            !matches!(scope.text(), "PriorityClass" | "VolumeAttributesClass") && SCOPES.contains(&scope.text());
        if only_exists && operator.text() != "Exists" {
            errors.invalid(&operator, "must be 'Exists' for this scope");
        }
        match operator.text() {
            "In" | "NotIn" if listed.is_empty() => {
                errors.required(&listed, "must be at least one value when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !listed.is_empty() => {
                errors.invalid(&listed, "must be no value when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.invalid(&operator, "not a valid selector operator"),
        }
        names.push(scope.text());
    }
    check_scopes(spec, &expressions, &names, errors);
}

fn check_limits(limits: &Field<'_>, errors: &mut Errors) {
    let mut types: Vec<&str> = Vec::new();
    for limit in limits.items() {
        let kind = limit.get("type");
        if !is_qualified_name(kind.text()) {
            errors.invalid(&kind, "must be a qualified name: an optional DNS subdomain and '/', then a name");
        } else if !kind.text().contains('/') && !LIMIT_TYPES.contains(&kind.text()) {
            errors.invalid(&kind, "must be a standard limit type or fully qualified");
        }
        if types.contains(&kind.text()) {
            errors.duplicate(&kind);
        }
        types.push(kind.text());
        check_limit(&limit, kind.text(), errors);
    }
}

const BOUNDS: [&str; 5] = ["max", "min", "default", "defaultRequest", "maxLimitRequestRatio"];

fn check_limit(limit: &Field<'_>, kind: &str, errors: &mut Errors) {
    let mut resources: Vec<&str> = Vec::new();
    for bound in BOUNDS.map(|name| limit.get(name)) {
        let is_default = bound.path.ends_with("default") || bound.path.ends_with("defaultRequest");
        if kind == "Pod" && is_default {
            if !bound.is_empty() {
                errors.forbidden(&bound, "may not be specified when `type` is 'Pod'");
            }
            continue;
        }
        for (name, field) in bound.entries() {
            check_limited_name(kind, name, &field, errors);
            if !resources.contains(&name) {
                resources.push(name);
            }
        }
    }
    let bounds_storage = |name: &str| limit.get(name).get("storage").is_given();
    if kind == "PersistentVolumeClaim" && !bounds_storage("min") && !bounds_storage("max") {
        errors.required(&limit.get("limits"), "either minimum or maximum storage value is required");
    }
    for resource in resources {
        check_bounds(limit, kind, resource, errors);
    }
}

fn check_limited_name(kind: &str, name: &str, field: &Field<'_>, errors: &mut Errors) {
    match kind {
        "Pod" | "Container" => resource_names::check_container_name(name, field, errors),
        _ => drop(resource_names::check_name(name, field, errors)),
    }
}

/// The bounds of one resource against each other.
fn check_bounds(limit: &Field<'_>, kind: &str, resource: &str, errors: &mut Errors) {
    let fields = BOUNDS.map(|name| limit.get(name).key(resource));
    let [max, min, default, request, ratio] = fields.each_ref().map(|field| values::quantity(field));
    let [_, min_at, default_at, request_at, ratio_at] = &fields;
    let has_defaults = kind != "Pod";
    let mut at_most = |low: &Option<Quantity>, high: &Option<Quantity>, at: &Field<'_>, what: &str| {
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            errors.invalid(at, what);
        }
    };
    at_most(&min, &max, min_at, "min value is greater than max value");
    if has_defaults {
        at_most(&min, &request, request_at, "min value is greater than default request value");
        at_most(&request, &max, request_at, "default request value is greater than max value");
        at_most(&request, &default, request_at, "default request value is greater than default limit value");
        at_most(&min, &default, default_at, "min value is greater than default value");
        at_most(&default, &max, default_at, "default value is greater than max value");
    }
    if ratio.as_ref().is_some_and(|ratio| *ratio < Quantity::from_milli(1000)) {
        errors.invalid(ratio_at, "ratio is less than 1");
    }
    if let (Some(ratio), Some(min), Some(max)) = (&ratio, &min, &max) {
        let largest = max.milli_value() as f64 / min.milli_value() as f64;
        if ratio.milli_value() as f64 / 1000.0 > largest {
            errors.invalid(ratio_at, "ratio is greater than max/min");
        }
    }
    if has_defaults
        && !resource_names::allows_overcommit(resource)
        && default.is_some()
        && request.is_some()
        && default != request
    {
        errors.invalid(
            request_at,
            "default value must equal the defaultRequest value: the resource is never overcommitted",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(kind: ManifestKind, spec: Value) -> Vec<String> {
        let object = json!({"spec": spec});
        let mut errors = Errors::default();
        check(kind, &Field::root(&object), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", &error.path[5..], error.reason.as_str())).collect()
    }

    #[test]
    fn quotas() {
        let quota = |spec: Value| causes(ManifestKind::ResourceQuota, spec);
        for hard in ["count/deployments.apps", "requests.nvidia.com/gpu", "hugepages-2Mi", "services.nodeports"] {
            assert!(quota(json!({"hard": {hard: "2"}})).is_empty(), "{hard}");
        }
        assert_eq!(quota(json!({"hard": {"example.com/gpu": "1500m"}})), ["hard[example.com/gpu] Invalid"]);
        assert_eq!(quota(json!({"hard": {"storage": "1"}})), ["hard[storage] Invalid"]);
        let selector = json!({"scopeSelector": {"matchExpressions": [
            {"scopeName": "PriorityClass", "operator": "In"},
            {"scopeName": "BestEffort", "operator": "In", "values": ["x"]},
            {"scopeName": "Best", "operator": "Exists", "values": ["x"]}]}});
        let expected = ["values Required", "operator Invalid", "scopeName Invalid", "values Invalid"];
        assert_eq!(quota(selector), expected.map(|cause| format!("scopeSelector.matchExpressions.{cause}")));
    }

    #[test]
    fn scopes_stay() {
        let quota = |scopes: Value| json!({"spec": {"hard": {"pods": "1"}, "scopes": scopes}});
        for (old, new, refused) in [
            (json!(["Terminating", "PriorityClass"]), json!(["PriorityClass", "Terminating"]), false),
            (json!(["Terminating"]), json!([]), true),
            (json!(null), json!(["BestEffort"]), true),
        ] {
            let mut errors = Errors::default();
            let (old, new) = (quota(old), quota(new));
            check_update(ManifestKind::ResourceQuota, &Field::root(&old), &Field::root(&new), &mut errors);
            assert_eq!(errors.into_list().first().is_some_and(|error| error.path == "spec.scopes"), refused);
        }
    }

    #[test]
    fn ranges() {
        let range = |limit: Value| causes(ManifestKind::LimitRange, json!({"limits": [limit]}));
        assert!(range(json!({"type": "Pod", "max": {"cpu": "2"}, "min": {"cpu": "200m"}})).is_empty());
        assert_eq!(range(json!({"type": "Container", "max": {"storage": "1"}})), ["limits[0].max[storage] Invalid"]);
        // 1/0.5 = 2 is below 3.
        let ratio = json!({"type": "Container", "max": {"cpu": "1"}, "min": {"cpu": "500m"}, "maxLimitRequestRatio": {"cpu": 3}});
        assert_eq!(range(ratio), ["limits[0].maxLimitRequestRatio[cpu] Invalid"]);
        let gpu = json!({"type": "Container", "default": {"a.com/gpu": "2"}, "defaultRequest": {"a.com/gpu": "1"}});
        assert_eq!(range(gpu), ["limits[0].defaultRequest[a.com/gpu] Invalid"]);
        assert!(range(json!({"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}})).is_empty());
        assert!(range(json!({"type": "a.com/thing", "max": {"storage": "1Gi"}})).is_empty());
    }
}
