//! Rules of EndpointSlices.
//!
//! Upstream: pkg/apis/discovery/validation/validation.go, v1.36. Not judged: the form of addresses, hints, zones.

use super::super::{Errors, Field};
use super::metadata::LABEL;
use super::values;
use crate::rules::names::is_dns_label;

const MAX_ENDPOINTS: usize = 1_000;
const MAX_ADDRESSES: usize = 100;
const MAX_PORTS: usize = 20_000;

/// Adds what the server refuses.
pub fn check(root: &Field<'_>, errors: &mut Errors) {
    let address_type = root.get("addressType");
    match address_type.text() {
        "" => errors.required(&address_type, ""),
        _ => values::check_word(&address_type, &["FQDN", "IPv4", "IPv6"], errors),
    }
    let endpoints = root.get("endpoints");
    if endpoints.len() > MAX_ENDPOINTS {
        return errors.too_many(&endpoints, endpoints.len(), MAX_ENDPOINTS);
    }
    for endpoint in endpoints.items() {
        let addresses = endpoint.get("addresses");
        match addresses.len() {
            0 => errors.required(&addresses, "must contain at least 1 address"),
            1..=MAX_ADDRESSES => {}
            given => errors.too_many(&addresses, given, MAX_ADDRESSES),
        }
        let hostname = endpoint.get("hostname");
        if hostname.is_given() && !is_dns_label(hostname.text()) {
            errors.invalid(&hostname, LABEL);
        }
    }
    check_ports(&root.get("ports"), errors);
}

fn check_ports(ports: &Field<'_>, errors: &mut Errors) {
    if ports.len() > MAX_PORTS {
        return errors.too_many(ports, ports.len(), MAX_PORTS);
    }
    let mut seen: Vec<&str> = Vec::new();
    for port in ports.items() {
        let (name, protocol) = (port.get("name"), port.get("protocol"));
        if !name.text().is_empty() && !is_dns_label(name.text()) {
            errors.invalid(&name, LABEL);
        }
        if seen.contains(&name.text()) {
            errors.duplicate(&name);
        }
        seen.push(name.text());
        match protocol.text() {
            "" => errors.required(&protocol, ""),
            _ => values::check_word(&protocol, &["SCTP", "TCP", "UDP"], errors),
        }
    }
}

/// Adds what the server refuses in a change: the kind of addresses stays.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    values::check_unchanged(&old.get("addressType"), &new.get("addressType"), errors);
    check(new, errors);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(check: impl Fn(&mut Errors)) -> Vec<String> {
        let mut errors = Errors::default();
        check(&mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn addresses_and_ports() {
        let of = |slice: Value| causes(|errors| check(&Field::root(&slice), errors));
        let fine = json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"]}],
            "ports": [{"name": "", "port": 80, "protocol": "TCP"}]});
        assert!(of(fine).is_empty());
        let ports = json!([{"name": "a", "protocol": "TCP"}, {"name": "a", "protocol": "ICMP"}, {"name": "A-"}]);
        let wrong = json!({"addressType": "MAC", "endpoints": [{"addresses": []}, {"addresses": vec!["x"; 101]}],
            "ports": ports});
        let expected = [
            "addressType NotSupported",
            "endpoints[0].addresses Required",
            "endpoints[1].addresses TooMany",
            "ports[1].name Duplicate",
            "ports[1].protocol NotSupported",
            "ports[2].name Invalid",
            "ports[2].protocol Required",
        ];
        assert_eq!(of(wrong), expected);
    }

    #[test]
    fn the_kind_of_addresses_stays() {
        let (old, new) = (json!({"addressType": "IPv4"}), json!({"addressType": "IPv6"}));
        let found = causes(|errors| check_update(&Field::root(&old), &Field::root(&new), errors));
        assert_eq!(found, ["addressType Invalid"]);
    }
}
