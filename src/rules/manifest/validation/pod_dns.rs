//! Rules of a pod's names and name servers.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validatePodDNSConfig, ValidateHostAliases, validatePodHostName), v1.36.

use std::net::IpAddr;

use super::super::{Errors, Field};
use super::metadata::SUBDOMAIN;
use crate::rules::names;

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_CHARACTERS_MAX: usize = 2048;
/// Longest name of a Linux host.
const HOSTNAME_CHARACTERS_MAX: usize = 64;

/// `dnsConfig`, `hostAliases` and `hostnameOverride` of a pod spec.
pub(super) fn check(spec: &Field<'_>, errors: &mut Errors) {
    check_config(spec, errors);
    for alias in spec.get("hostAliases").items() {
        check_ip(&alias.get("ip"), errors);
        for name in alias.get("hostnames").items().filter(|name| !names::is_dns_subdomain(name.text())) {
            errors.invalid(&name, SUBDOMAIN);
        }
    }
    let hostname = spec.get("hostnameOverride");
    if !hostname.is_given() {
        return;
    }
    if hostname.text().len() > HOSTNAME_CHARACTERS_MAX {
        errors.too_long(&hostname, HOSTNAME_CHARACTERS_MAX);
    }
    if !names::is_dns_subdomain(hostname.text()) {
        errors.invalid(&hostname, SUBDOMAIN);
    }
    for name in ["hostNetwork", "setHostnameAsFQDN"].into_iter().filter(|name| spec.get(name).is_true()) {
        errors.forbidden(&hostname, &format!("may not be specified when {name} is true"));
    }
}

/// An IP address of either family, without zeros in front of a number.
pub(super) fn check_ip(address: &Field<'_>, errors: &mut Errors) {
    match address.text().parse::<IpAddr>() {
        Err(_) => errors.invalid(address, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        Ok(IpAddr::V6(parsed)) if parsed.to_ipv4_mapped().is_some() => {
            errors.invalid(address, "must not be an IPv4-mapped IPv6 address");
        }
        Ok(_) => {}
    }
}

fn check_config(spec: &Field<'_>, errors: &mut Errors) {
    let config = spec.get("dnsConfig");
    let (servers, searches) = (config.get("nameservers"), config.get("searches"));
    if spec.get("dnsPolicy").text() == "None" && servers.is_empty() {
        let missing = if config.is_given() { &servers } else { &config };
        errors.required(missing, "must provide at least one DNS nameserver when `dnsPolicy` is None");
        return;
    }
    if servers.len() > NAMESERVERS_MAX {
        errors.invalid(&servers, &format!("must not have more than {NAMESERVERS_MAX} nameservers"));
    }
    servers.items().for_each(|server| check_ip(&server, errors));
    if searches.len() > SEARCHES_MAX {
        errors.invalid(&searches, &format!("must not have more than {SEARCHES_MAX} search paths"));
    }
    // Joined by spaces.
    let characters: usize = searches.items().map(|search| search.text().len() + 1).sum();
    if characters > SEARCH_CHARACTERS_MAX + 1 {
        errors.invalid(&searches, &format!("must not have more than {SEARCH_CHARACTERS_MAX} characters"));
    }
    for search in searches.items().filter(|search| !names::is_search_domain(search.text())) {
        errors.invalid(&search, SUBDOMAIN);
    }
    for option in config.get("options").items().filter(|option| option.get("name").text().is_empty()) {
        errors.required(&option, "must not be empty");
    }
}
