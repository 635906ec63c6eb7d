//! Rules of Services; [`super::service_addresses`] has those of addresses.
//!
//! Upstream: pkg/apis/core/validation/validation.go, `ValidateService`, `ValidateServiceUpdate`, v1.36.

use super::super::{Errors, Field};
use super::metadata::{LABEL, SUBDOMAIN};
use super::{selector, service_addresses, values};
use crate::rules::names::{is_dns_label, is_dns_subdomain, is_port_name, is_qualified_name};

const KUBELET_PORT: i64 = 10_250;
const AFFINITY_MAX_SECONDS: i64 = 86_400;
const PORT: &str = "must be between 1 and 65535, inclusive";

/// Adds what the server refuses.
pub fn check(root: &Field<'_>, errors: &mut Errors) {
    let spec = root.get("spec");
    let headless = service_addresses::is_headless(&spec);
    let kind = spec.get("type");
    let ports = spec.get("ports");
    if ports.is_empty() && !headless && kind.text() != "ExternalName" {
        errors.required(&ports, "");
    }
    check_type(&spec, headless, errors);
    check_ports(&spec, errors);
    selector::check_labels(&spec.get("selector"), errors);
    check_affinity(&spec, errors);
    service_addresses::check(&spec, errors);
    match kind.text() {
        "" => errors.required(&kind, ""),
        _ => values::check_word(&kind, &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], errors),
    }
    check_load_balancer(&spec, errors);
    check_traffic(&spec, errors);
}

/// Adds what the server refuses in a change.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    let (old_spec, new_spec) = (old.get("spec"), new.get("spec"));
    service_addresses::check_update(&old_spec, &new_spec, errors);
    let is_balanced = |spec: &Field<'_>| spec.get("type").text() == "LoadBalancer";
    if is_balanced(&old_spec) && is_balanced(&new_spec) {
        let (before, after) = (old_spec.get("loadBalancerClass"), new_spec.get("loadBalancerClass"));
        if before.value != after.value {
            errors.invalid(&after, "may not change once set");
        }
    }
    let (before, after) = (old_spec.get("healthCheckNodePort"), new_spec.get("healthCheckNodePort"));
    if needs_health_check(&old_spec) && needs_health_check(&new_spec) && before.int() != after.int() {
        errors.forbidden(&after, values::IMMUTABLE);
    }
    check(new, errors);
}

fn check_type(spec: &Field<'_>, headless: bool, errors: &mut Errors) {
    match spec.get("type").text() {
        word @ ("LoadBalancer" | "NodePort") => {
            let mut ports = spec.get("ports").items();
            if let Some(port) =
                ports.find(|port| word == "LoadBalancer" && port.get("port").int() == Some(KUBELET_PORT))
            {
                errors.invalid(&port, "may not expose port 10250 externally since it is used by kubelet");
            }
            if headless {
                let address = Field { value: spec.get("clusterIP").value, path: "spec.clusterIPs[0]".into() };
                errors.invalid(&address, &format!("may not be set to 'None' for {word} services"));
            }
        }
        "ExternalName" => {
            let has_address = !spec.get("clusterIP").text().is_empty();
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                let field = spec.get(name);
                if name == "clusterIPs" && has_address {
                    // The one address is the first of the list.
                    errors.forbidden(&field, "may not be set for ExternalName services");
                } else if field.is_given() && (name == "ipFamilyPolicy" || !field.is_empty()) {
                    errors.forbidden(&field, "may not be set for ExternalName services");
                }
            }
            let external = spec.get("externalName");
            let name = external.text().strip_suffix('.').unwrap_or(external.text());
            if name.is_empty() {
                errors.required(&external, "");
            } else if !is_dns_subdomain(name) {
                errors.invalid(&external, SUBDOMAIN);
            }
        }
        _ => {}
    }
}

fn check_ports(spec: &Field<'_>, errors: &mut Errors) {
    let ports = spec.get("ports");
    let mut names: Vec<&str> = Vec::new();
    for port in ports.items() {
        check_port(&port, ports.len() > 1, errors);
        let name = port.get("name");
        if !name.text().is_empty() && names.contains(&name.text()) {
            errors.duplicate(&name);
        }
        names.push(name.text());
    }
    let mut seen: Vec<(&str, &str, i64)> = Vec::new();
    for port in ports.items() {
        let node_port = port.get("nodePort");
        if spec.get("type").text() == "ClusterIP" && node_port.int().unwrap_or(0) != 0 {
            errors.forbidden(&node_port, "may not be used when `type` is 'ClusterIP'");
        }
        for (name, field) in [("nodePort", &node_port), ("port", &port)] {
            let number = port.get(name).int().unwrap_or(0);
            let key = (name, port.get("protocol").text(), number);
            if (name == "port" || number != 0) && seen.contains(&key) {
                errors.duplicate(field);
            }
            seen.push(key);
        }
    }
}

fn check_port(port: &Field<'_>, needs_name: bool, errors: &mut Errors) {
    let name = port.get("name");
    if name.text().is_empty() {
        if needs_name {
            errors.required(&name, "");
        }
    } else if !is_dns_label(name.text()) {
        errors.invalid(&name, LABEL);
    }
    let number = port.get("port");
    if !(1..=65_535).contains(&number.int().unwrap_or(0)) {
        errors.invalid(&number, PORT);
    }
    let protocol = port.get("protocol");
    match protocol.text() {
        "" => errors.required(&protocol, ""),
        _ => values::check_word(&protocol, &["SCTP", "TCP", "UDP"], errors),
    }
    let target = port.get("targetPort");
    if target.value.is_string() {
        if !is_port_name(target.text()) {
            errors.invalid(&target, "must be a port name: at most 15 lower case letters, digits and inner hyphens");
        }
    } else if !(1..=65_535).contains(&target.int().unwrap_or(0)) {
        errors.invalid(&target, PORT);
    }
    let app = port.get("appProtocol");
    if app.is_given() && !is_qualified_name(app.text()) {
        errors.invalid(&app, "must be a qualified name: an optional DNS subdomain and '/', then a name");
    }
}

fn check_affinity(spec: &Field<'_>, errors: &mut Errors) {
    let affinity = spec.get("sessionAffinity");
    let config = spec.get("sessionAffinityConfig");
    let timeout = config.at(&["clientIP", "timeoutSeconds"]);
    match affinity.text() {
        "" => errors.required(&affinity, ""),
        "None" if config.is_given() => errors.forbidden(&config, "must not be set when session affinity is None"),
        "ClientIP" if !config.is_given() => errors.required(&config, "when session affinity type is ClientIP"),
        "ClientIP" if !config.get("clientIP").is_given() => {
            errors.required(&config.get("clientIP"), "when session affinity type is ClientIP");
        }
        "ClientIP" if !timeout.is_given() => errors.required(&timeout, "when session affinity type is ClientIP"),
        "ClientIP" if !(1..=AFFINITY_MAX_SECONDS).contains(&timeout.int().unwrap_or(0)) => {
            errors.invalid(&timeout, "must be greater than 0 and less than or equal to 86400");
        }
        _ => values::check_word(&affinity, &["ClientIP", "None"], errors),
    }
}

fn check_load_balancer(spec: &Field<'_>, errors: &mut Errors) {
    const ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
    let is_balanced = spec.get("type").text() == "LoadBalancer";
    let ranges = spec.get("loadBalancerSourceRanges");
    // The server writes this one with a capital letter.
    let ranges = Field { value: ranges.value, path: "spec.LoadBalancerSourceRanges".into() };
    if !ranges.is_empty() && !is_balanced {
        errors.forbidden(&ranges, ONLY);
    }
    for range in ranges.items().filter(|range| !service_addresses::is_range(range.text().trim())) {
        errors.invalid(&range, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)");
    }
    for name in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        let field = spec.get(name);
        if field.is_given() && !is_balanced {
            errors.forbidden(&field, ONLY);
        }
    }
    let class = spec.get("loadBalancerClass");
    if class.is_given() && !is_qualified_name(class.text()) {
        errors.invalid(&class, "must be a qualified name: an optional DNS subdomain and '/', then a name");
    }
}

fn is_reached_from_outside(spec: &Field<'_>) -> bool {
    match spec.get("type").text() {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !spec.get("externalIPs").is_empty(),
        _ => false,
    }
}

fn needs_health_check(spec: &Field<'_>) -> bool {
    spec.get("type").text() == "LoadBalancer" && spec.get("externalTrafficPolicy").text() == "Local"
}

fn check_traffic(spec: &Field<'_>, errors: &mut Errors) {
    let external = spec.get("externalTrafficPolicy");
    match (is_reached_from_outside(spec), external.text()) {
        (false, "") => {}
        (false, _) => errors.invalid(&external, "may only be set for externally-accessible services"),
        (true, "") => errors.required(&external, ""),
        (true, _) => values::check_word(&external, &["Cluster", "Local"], errors),
    }
    let health = spec.get("healthCheckNodePort");
    let number = health.int().unwrap_or(0);
    if !needs_health_check(spec) && number != 0 {
        let detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.invalid(&health, detail);
    } else if number != 0 && !(1..=65_535).contains(&number) {
        errors.invalid(&health, PORT);
    }
    let internal = spec.get("internalTrafficPolicy");
    if !internal.is_given() && matches!(spec.get("type").text(), "ClusterIP" | "LoadBalancer" | "NodePort") {
        errors.required(&internal, "");
    }
    values::check_given_word(&internal, &["Cluster", "Local"], errors);
    let distribution = ["PreferClose", "PreferSameNode", "PreferSameZone"];
    values::check_given_word(&spec.get("trafficDistribution"), &distribution, errors);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn service(extra: Value) -> Value {
        let mut service = json!({"spec": {"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]}});
        for (key, value) in extra.as_object().into_iter().flatten() {
            service["spec"][key] = value.clone();
        }
        service
    }

    fn causes(extra: Value) -> Vec<String> {
        let service = service(extra);
        let mut errors = Errors::default();
        check(&Field::root(&service), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", &error.path[5..], error.reason.as_str())).collect()
    }

    fn port(name: &str, number: i64, protocol: &str, node_port: i64) -> Value {
        json!({"name": name, "port": number, "targetPort": number, "protocol": protocol, "nodePort": node_port})
    }

    #[test]
    fn ports_do_not_repeat() {
        let node_ports = json!({"type": "NodePort", "externalTrafficPolicy": "Cluster",
            "ports": [port("a", 80, "TCP", 30_080), port("b", 81, "TCP", 30_080), port("c", 81, "UDP", 30_080)]});
        assert_eq!(causes(node_ports), ["ports[1].nodePort Duplicate"]);
        let ports = json!({"ports": [port("a", 80, "TCP", 0), port("a", 80, "TCP", 0)]});
        assert_eq!(causes(ports), ["ports[1].name Duplicate", "ports[1] Duplicate"]);
        let bad =
            json!({"ports": [{"name": "A", "port": 80, "targetPort": "80", "protocol": "tcp", "appProtocol": "a b"}]});
        let expected = ["name Invalid", "protocol NotSupported", "targetPort Invalid", "appProtocol Invalid"];
        assert_eq!(causes(bad), expected.map(|cause| format!("ports[0].{cause}")));
    }

    #[test]
    fn what_belongs_to_a_type() {
        assert!(causes(json!({})).is_empty());
        let balanced = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 70_000,
            "loadBalancerSourceRanges": ["10.0.0.0/8", "10.0.0.0"]});
        assert_eq!(causes(balanced), ["LoadBalancerSourceRanges[1] Invalid", "healthCheckNodePort Invalid"]);
        let plain = json!({"loadBalancerClass": "a/b", "externalTrafficPolicy": "Local"});
        assert_eq!(causes(plain), ["loadBalancerClass Forbidden", "externalTrafficPolicy Invalid"]);
        let named = json!({"type": "ExternalName", "externalName": "A.b", "ports": null});
        assert_eq!(causes(named), ["externalName Invalid"]);
        // validation.go, `ValidateService`: a name has no address.
        let addressed = json!({"type": "ExternalName", "externalName": "a.b", "ports": null, "clusterIP": "10.0.0.5"});
        assert_eq!(causes(addressed), ["clusterIPs Forbidden"]);
        let headless = json!({"type": "NodePort", "externalTrafficPolicy": "Cluster", "clusterIP": "None"});
        assert_eq!(causes(headless), ["clusterIPs[0] Invalid"]);
    }

    #[test]
    fn affinity() {
        let config = |seconds: Value| json!({"clientIP": {"timeoutSeconds": seconds}});
        for (affinity, config, expected) in [
            ("ClientIP", config(json!(86_400)), None),
            ("ClientIP", config(json!(0)), Some("sessionAffinityConfig.clientIP.timeoutSeconds Invalid")),
            ("ClientIP", json!(null), Some("sessionAffinityConfig Required")),
            ("None", config(json!(5)), Some("sessionAffinityConfig Forbidden")),
            ("client", json!(null), Some("sessionAffinity NotSupported")),
        ] {
            let found = causes(json!({"sessionAffinity": affinity, "sessionAffinityConfig": config}));
            assert_eq!(found.first().map(String::as_str), expected, "{affinity}");
        }
    }
}
