//! Rules of a Service's cluster IPs, IP families and external IPs.
//!
//! Upstream: pkg/apis/core/validation/validation.go, `ValidateServiceClusterIPsRelatedFields`,
//! `validateUpgradeDowngradeClusterIPs`, v1.36. Addresses are allocated elsewhere.

use std::net::IpAddr;

use super::super::{Errors, Field};
use super::values;

const HEADLESS: &str = "None";
const ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// Whether it has no address on purpose.
pub fn is_headless(spec: &Field<'_>) -> bool {
    cluster_ips(spec).first().is_some_and(|address| address.text() == HEADLESS)
}

/// Whether it is an address, a slash and the length of a prefix.
pub fn is_range(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let Ok(address) = address.parse::<IpAddr>() else { return false };
    let longest = if address.is_ipv4() { 32 } else { 128 };
    bits.bytes().all(|byte| byte.is_ascii_digit()) && bits.parse::<u32>().is_ok_and(|bits| bits <= longest)
}

/// The cluster IPs; one that only `clusterIP` gives is the first.
fn cluster_ips<'a>(spec: &Field<'a>) -> Vec<Field<'a>> {
    let listed: Vec<Field<'a>> = spec.get("clusterIPs").items().collect();
    let single = spec.get("clusterIP");
    if !listed.is_empty() || single.text().is_empty() {
        return listed;
    }
    vec![Field { value: single.value, path: format!("{}.clusterIPs[0]", spec.path) }]
}

/// Adds what is wrong with the addresses.
pub fn check(spec: &Field<'_>, errors: &mut Errors) {
    check_external(spec, errors);
    if spec.get("type").text() == "ExternalName" {
        return;
    }
    check_families(spec, errors);
    let addresses = cluster_ips(spec);
    let single = spec.get("clusterIP");
    let given = spec.get("clusterIPs");
    if !given.is_empty() && single.text().is_empty() {
        errors.invalid(&given, "must be empty when `clusterIP` is not specified");
    } else if let Some(first) = addresses.first().filter(|first| first.text() != single.text()) {
        errors.invalid(&Field { value: first.value, path: given.path.clone() }, "first value must match `clusterIP`");
    }
    if is_headless(spec) {
        if addresses.len() > 1 {
            errors.invalid(&given, "'None' must be the first and only value");
        }
        return;
    }
    if addresses.len() > 2 {
        errors.invalid(&given, "may only hold up to 2 values");
    }
    let mut families = Vec::new();
    for address in &addresses {
        match address.text().parse::<IpAddr>() {
            _ if address.text() == HEADLESS => errors.invalid(address, "'None' must be the first and only value"),
            Ok(ip) => families.push(ip.is_ipv4()),
            Err(_) => errors.invalid(address, ADDRESS),
        }
    }
    if let [one, other] = families[..]
        && one == other
    {
        errors.invalid(&given, "may specify no more than one IP for each IP family");
    }
    for (family, (address, is_v4)) in spec.get("ipFamilies").items().zip(addresses.iter().zip(families)) {
        let expected = if family.text() == "IPv4" { Some(true) } else { (family.text() == "IPv6").then_some(false) };
        if expected.is_some_and(|expected| expected != is_v4) {
            errors.invalid(address, &format!("expected an {} value as indicated by `ipFamilies`", family.text()));
        }
    }
}

fn check_families(spec: &Field<'_>, errors: &mut Errors) {
    let families = spec.get("ipFamilies");
    let mut seen: Vec<&str> = Vec::new();
    for family in families.items() {
        values::check_word(&family, &["IPv4", "IPv6"], errors);
        if seen.contains(&family.text()) {
            errors.duplicate(&family);
        }
        seen.push(family.text());
    }
    let policy = spec.get("ipFamilyPolicy");
    values::check_given_word(&policy, &["PreferDualStack", "RequireDualStack", "SingleStack"], errors);
    if policy.text() == "SingleStack" && families.len() > 1 {
        errors.invalid(&policy, "may be 'SingleStack' only with one family");
    }
    check_against_cluster(spec, errors);
}

/// The cluster has addresses of IPv4 only. Whoever writes the endpoints of a headless service without selector may have
/// others.
///
/// Upstream: pkg/registry/core/service/storage/alloc.go, `initIPFamilyFields`, v1.36.
fn check_against_cluster(spec: &Field<'_>, errors: &mut Errors) {
    if is_headless(spec) && spec.get("selector").is_empty() {
        return;
    }
    let policy = spec.get("ipFamilyPolicy");
    if policy.text() == "RequireDualStack" {
        errors.invalid(&policy, "this cluster is not configured for dual-stack services");
    }
    for family in spec.get("ipFamilies").items().filter(|family| family.text() == "IPv6") {
        errors.invalid(&family, "not configured on this cluster");
    }
}

fn check_external(spec: &Field<'_>, errors: &mut Errors) {
    for address in spec.get("externalIPs").items() {
        match address.text().parse::<IpAddr>() {
            Err(_) => errors.invalid(&address, ADDRESS),
            Ok(ip) if is_special(ip) => {
                errors.invalid(&address, "may not be unspecified, loopback or link-local");
            }
            Ok(_) => {}
        }
    }
}

fn is_special(ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || (ip.is_multicast() && ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => ip.is_unicast_link_local() || ip.segments()[0] == 0xff02,
    };
    ip.is_unspecified() || ip.is_loopback() || link_local
}

/// Adds what is wrong with a change: the first address and family stay, unless the service was or becomes a name.
pub fn check_update(old: &Field<'_>, new: &Field<'_>, errors: &mut Errors) {
    if [old, new].iter().any(|spec| spec.get("type").text() == "ExternalName") {
        return;
    }
    if let (Some(before), Some(after)) = (cluster_ips(old).first(), cluster_ips(new).first())
        && before.text() != after.text()
    {
        errors.invalid(after, "may not change once set");
    }
    let first = |spec: &Field<'_>| spec.get("ipFamilies").value.get(0).cloned();
    if let (Some(before), Some(after)) = (first(old), first(new))
        && before != after
    {
        let path = format!("{}.ipFamilies[0]", new.path);
        errors.invalid(&Field { value: &after, path }, "may not change once set");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn causes(spec: Value) -> Vec<String> {
        let mut errors = Errors::default();
        check(&Field { value: &spec, path: "spec".into() }, &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", &error.path[5..], error.reason.as_str())).collect()
    }

    #[test]
    fn addresses() {
        for (spec, expected) in [
            (json!({"clusterIP": "10.1.2.3"}), vec![]),
            (json!({"clusterIP": "fd00::1", "clusterIPs": ["fd00::1", "10.1.2.3"]}), vec![]),
            (json!({"clusterIP": "10.1.2"}), vec!["clusterIPs[0] Invalid"]),
            (json!({"clusterIP": "10.1.2.3", "clusterIPs": ["10.1.2.4"]}), vec!["clusterIPs Invalid"]),
            (json!({"clusterIPs": ["10.1.2.4"]}), vec!["clusterIPs Invalid"]),
            (json!({"clusterIP": "None", "clusterIPs": ["None", "10.1.2.3"]}), vec!["clusterIPs Invalid"]),
            (json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]}), vec!["clusterIPs Invalid"]),
            (
                json!({"clusterIP": "10.0.0.1", "ipFamilies": ["IPv6"]}),
                vec!["ipFamilies[0] Invalid", "clusterIPs[0] Invalid"],
            ),
            (json!({"ipFamilies": ["IPv4", "IPv4"]}), vec!["ipFamilies[1] Duplicate"]),
            // storage/alloc.go, `initIPFamilyFields`: a cluster of one family offers no second one.
            (json!({"ipFamilyPolicy": "RequireDualStack"}), vec!["ipFamilyPolicy Invalid"]),
            (json!({"ipFamilyPolicy": "PreferDualStack"}), vec![]),
            (
                json!({"clusterIP": "None", "ipFamilyPolicy": "RequireDualStack", "ipFamilies": ["IPv4", "IPv6"]}),
                vec![],
            ),
            (
                json!({"clusterIP": "None", "ipFamilies": ["IPv6"], "selector": {"app": "a"}}),
                vec!["ipFamilies[0] Invalid"],
            ),
            (json!({"ipFamilyPolicy": "Dual"}), vec!["ipFamilyPolicy NotSupported"]),
            (
                json!({"externalIPs": ["1.2.3.4", "127.0.0.1", "x"]}),
                vec!["externalIPs[1] Invalid", "externalIPs[2] Invalid"],
            ),
        ] {
            assert_eq!(causes(spec.clone()), expected, "{spec}");
        }
        assert!(is_range("10.0.0.0/8") && is_range("::/0") && !is_range("10.0.0.0/33") && !is_range("10.0.0.0/+8"));
    }

    #[test]
    fn the_first_address_stays() {
        let causes = |old: Value, new: Value| {
            let mut errors = Errors::default();
            check_update(&Field::root(&old), &Field::root(&new), &mut errors);
            errors.into_list().len()
        };
        let with = |kind: &str, address: &str| json!({"type": kind, "clusterIP": address});
        assert_eq!(causes(with("ClusterIP", "10.0.0.1"), with("ClusterIP", "10.0.0.2")), 1);
        assert_eq!(causes(with("ClusterIP", "10.0.0.1"), with("NodePort", "10.0.0.1")), 0);
        assert_eq!(causes(with("ClusterIP", "10.0.0.1"), with("ExternalName", "")), 0);
        assert_eq!(causes(with("ClusterIP", ""), with("ClusterIP", "10.0.0.2")), 0);
    }
}
