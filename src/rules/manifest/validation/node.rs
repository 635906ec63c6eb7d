//! Rules of nodes, namespaces, events and leases.
//!
//! Upstream: pkg/apis/core/validation/{validation,events}.go, pkg/apis/coordination/validation/validation.go, v1.36.

use std::net::IpAddr;

use super::super::{Errors, Field, ManifestKind};
use super::metadata::check_namespace_finalizer;
use super::{resources, tolerations};

/// Adds what the server refuses.
pub fn check(kind: ManifestKind, root: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::Node => check_node(root, errors),
        ManifestKind::Namespace => {
            let finalizers = root.at(&["spec", "finalizers"]);
            for finalizer in finalizers.items() {
                // The server leaves the index out.
                check_namespace_finalizer(&finalizer, &finalizers, errors);
            }
        }
        ManifestKind::Lease => check_lease(&root.get("spec"), errors),
        ManifestKind::Event => check_event(root, errors),
        _ => {}
    }
}

/// Adds what the server refuses in a change.
pub fn check_update(kind: ManifestKind, old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    match kind {
        ManifestKind::Node => check_node_update(old, new, errors),
        ManifestKind::Lease => check_lease(&new.get("spec"), errors),
        ManifestKind::Event => check_event(new, errors),
        // Finalizers of the spec are not for updates of the object.
        _ => {}
    }
}

fn check_node(root: &Field<'_>, errors: &mut Errors) {
    tolerations::check_taints(&root.at(&["spec", "taints"]), errors);
    check_amounts(root, errors);
    let cidrs = root.at(&["spec", "podCIDRs"]);
    let mut seen: Vec<&str> = Vec::new();
    for cidr in cidrs.items() {
        if is_ipv6_cidr(cidr.text()).is_none() {
            errors.invalid(&cidr, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
        }
        if seen.contains(&cidr.text()) {
            errors.duplicate(&cidr);
        }
        seen.push(cidr.text());
    }
    let families: Vec<bool> = seen.iter().filter_map(|cidr| is_ipv6_cidr(cidr)).collect();
    if cidrs.len() > 2 || (families.len() == 2 && families[0] == families[1]) {
        errors.invalid(&cidrs, "may specify no more than one CIDR for each IP family");
    }
}

/// Whether a CIDR is of IPv6; `None` if the text is none: no zeros in front, no bits behind the prefix.
fn is_ipv6_cidr(text: &str) -> Option<bool> {
    let (address, length) = text.split_once('/')?;
    let bits: u32 = length.parse().ok().filter(|bits: &u32| bits.to_string() == length)?;
    let rest_of = |address: u128, width: u32| address.checked_shl(128 - width + bits).unwrap_or(0);
    match address.parse().ok()? {
        IpAddr::V4(address) => (bits <= 32 && rest_of(u128::from(address.to_bits()), 32) == 0).then_some(false),
        IpAddr::V6(address) if address.to_ipv4_mapped().is_some() => None,
        IpAddr::V6(address) => (bits <= 128 && rest_of(address.to_bits(), 128) == 0).then_some(true),
    }
}

/// What the node has and gives. The server puts points where other lists have brackets.
fn check_amounts(root: &Field<'_>, errors: &mut Errors) {
    for list in ["capacity", "allocatable"] {
        let amounts = root.at(&["status", list]);
        for (name, _) in amounts.entries() {
            resources::check_amount(name, &amounts.get(name), errors);
        }
    }
}

fn check_node_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    check_amounts(new, errors);
    let mut addresses = Vec::new();
    for address in new.at(&["status", "addresses"]).items() {
        let pair = (address.get("type").text(), address.get("address").text());
        if addresses.contains(&pair) {
            errors.duplicate(&address);
        }
        addresses.push(pair);
    }
    let (before, after) = (old.get("spec"), new.get("spec"));
    let cidrs = |spec: &Field<'_>| spec.get("podCIDRs").items().map(|cidr| cidr.text().to_string()).collect::<Vec<_>>();
    if !before.get("podCIDRs").is_empty() && cidrs(&before) != cidrs(&after) {
        errors.forbidden(&after.get("podCIDRs"), "node updates may not change podCIDR except from \"\" to valid");
    }
    let provider = before.get("providerID").text();
    if !provider.is_empty() && provider != after.get("providerID").text() {
        errors.forbidden(&after.get("providerID"), "node updates may not change providerID except from \"\" to valid");
    }
    tolerations::check_taints(&after.get("taints"), errors);
    if before.get("externalID").text() != after.get("externalID").text() {
        errors.forbidden(&after.get("externalID"), "may not be updated");
    }
}

fn check_lease(spec: &Field<'_>, errors: &mut Errors) {
    let (seconds, holder) = (spec.get("leaseDurationSeconds"), spec.get("preferredHolder"));
    if seconds.int().is_some_and(|seconds| seconds <= 0) {
        errors.invalid(&seconds, "must be greater than 0");
    }
    errors.not_negative(&spec.get("leaseTransitions"));
    if !holder.text().is_empty() && spec.get("strategy").text().is_empty() {
        errors.invalid(&holder, "may only be specified if `strategy` is defined");
    }
}

/// An event is in the namespace of the object that it is about; those about the cluster are in `default`.
fn check_event(root: &Field<'_>, errors: &mut Errors) {
    let (own, about) = (root.at(&["metadata", "namespace"]).text(), root.at(&["involvedObject", "namespace"]));
    let agrees = match about.text() {
        "" => own.is_empty() || own == "default",
        about => about == own,
    };
    if !agrees {
        errors.invalid(&about, "does not match event.namespace");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn found(run: impl Fn(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::default();
        run(&mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn cidrs_of_nodes() {
        let of = |cidrs: Value| {
            let node = json!({"spec": {"podCIDRs": cidrs}});
            found(|errors| check(ManifestKind::Node, &Field::root(&node), errors))
        };
        assert!(of(json!(["10.0.0.0/24", "fd00::/64"])).is_empty());
        assert_eq!(of(json!(["10.0.0.0"])), ["spec.podCIDRs[0] Invalid"]);
        assert_eq!(of(json!(["10.0.0.0/33"])), ["spec.podCIDRs[0] Invalid"]);
        // The last eight bits of the address must be zero.
        assert_eq!(of(json!(["10.0.0.1/24"])), ["spec.podCIDRs[0] Invalid"]);
        assert_eq!(of(json!(["fd00::1/64"])), ["spec.podCIDRs[0] Invalid"]);
        assert!(of(json!(["0.0.0.0/0"])).is_empty() && of(json!(["10.0.0.1/32"])).is_empty());
        assert_eq!(of(json!(["10.0.0.0/24", "10.0.1.0/24"])), ["spec.podCIDRs Invalid"]);
    }

    #[test]
    fn updates_of_nodes() {
        let old = json!({"spec": {"podCIDRs": ["10.0.0.0/24"]}});
        let new = json!({
            "spec": {"taints": [{"key": "a", "effect": "Never"}]},
            "status": {"addresses": [{"type": "Hostname", "address": "n"}, {"type": "Hostname", "address": "n"}]},
        });
        let run =
            |errors: &mut Errors| check_update(ManifestKind::Node, &Field::root(&old), &Field::root(&new), errors);
        let expected =
            ["status.addresses[1] Duplicate", "spec.podCIDRs Forbidden", "spec.taints[0].effect NotSupported"];
        assert_eq!(found(run), expected);
    }

    #[test]
    fn leases_and_events() {
        let lease = json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}});
        let paths = found(|errors| check(ManifestKind::Lease, &Field::root(&lease), errors));
        assert_eq!(paths, ["spec.leaseDurationSeconds Invalid", "spec.leaseTransitions Invalid"]);
        let event = json!({"metadata": {"namespace": "a"}, "involvedObject": {"namespace": "b"}});
        let paths = found(|errors| check(ManifestKind::Event, &Field::root(&event), errors));
        assert_eq!(paths, ["involvedObject.namespace Invalid"]);
    }
}
