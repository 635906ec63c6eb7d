//! Names of resources, and what they say about amounts.
//!
//! Upstream: pkg/apis/core/helper/helpers.go, pkg/apis/core/validation/validation.go (validateResourceName), v1.36.

use super::super::{Errors, Field};
use crate::rules::names;
use crate::rules::quantity::Quantity;

const OF_CONTAINERS: [&str; 3] = ["cpu", "ephemeral-storage", "memory"];
/// Counted objects.
const COUNTED: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];
/// The other names without a domain that mean something somewhere.
const OTHERS: [&str; 8] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "storage",
];

/// Huge pages of some size.
pub(super) fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether Kubernetes itself gives the name its meaning.
pub(super) fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// A device or the like, which Kubernetes only counts.
pub(super) fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::is_qualified_name(&format!("requests.{name}"))
}

/// Whether a request may be below the limit.
pub(super) fn allows_overcommit(name: &str) -> bool {
    is_native(name) && !is_huge_pages(name)
}

/// Whether amounts are whole numbers.
pub(super) fn is_counted(name: &str) -> bool {
    COUNTED.contains(&name) || is_extended(name)
}

/// Whether a pod as a whole can request it.
pub(super) fn is_pod_level(name: &str) -> bool {
    name == "cpu" || name == "memory" || is_huge_pages(name)
}

/// A whole number, judged in thousandths.
pub(super) fn check_whole(amount: &Field<'_>, parsed: &Quantity, errors: &mut Errors) {
    if parsed.milli_value() % 1000 != 0 {
        errors.invalid(amount, "must be an integer");
    }
}

/// Whether an amount of huge pages is whole pages.
pub(super) fn divides(name: &str, amount: &Quantity) -> bool {
    let size = name.strip_prefix("hugepages-").and_then(|size| Quantity::parse(size).ok());
    let size = size.filter(|size| !size.is_zero() && !size.is_negative() && size.milli_value() % 1000 == 0);
    size.is_some_and(|size| amount.value() % size.value() == 0)
}

/// The name of any resource: qualified, and known if it has no domain. Says whether it is one.
pub(super) fn check_name(name: &str, field: &Field<'_>, errors: &mut Errors) -> bool {
    let is_known = |name: &str| {
        OF_CONTAINERS.contains(&name)
            || COUNTED.contains(&name)
            || OTHERS.contains(&name)
            || is_huge_pages(name)
            || name.starts_with("requests.hugepages-")
    };
    if !names::is_qualified_name(name) {
        errors.invalid(field, "must be a qualified name");
        return false;
    }
    if !name.contains('/') && !is_known(name) {
        errors.invalid(field, "must be a standard resource type or fully qualified");
        return false;
    }
    true
}

/// The name of a resource that containers request.
pub(super) fn check_container_name(name: &str, field: &Field<'_>, errors: &mut Errors) {
    check_name(name, field, errors);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_pages(name) {
            errors.invalid(field, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        errors.invalid(field, "doesn't follow extended resource name standard");
    }
}

/// The name of a resource that a pod as a whole requests.
pub(super) fn check_pod_level_name(name: &str, field: &Field<'_>, errors: &mut Errors) {
    if check_name(name, field, errors) && !is_pod_level(name) {
        errors.not_supported(field, &["cpu", "hugepages-", "memory"]);
    }
}
