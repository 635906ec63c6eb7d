//! Rules of projected volumes.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateProjectionSources), v1.36.

use super::super::{Errors, Field};
use super::selector::check_selector;
use super::volume_paths::{check_local, check_mode};
use super::volume_sources::{check_key_to_path, check_pod_file};

const TOKEN_SECONDS_MIN: i64 = 600;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
/// The default of `expirationSeconds`.
const TOKEN_SECONDS: i64 = 3600;

/// A projected volume.
pub(super) fn check_projected(volume: &Field<'_>, errors: &mut Errors) {
    check_mode(&volume.get("defaultMode"), errors);
    let mut paths: Vec<&str> = Vec::new();
    for source in volume.get("sources").items() {
        let mut count = 0;
        for name in
            ["secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate"]
        {
            let part = source.get(name);
            if !part.is_given() {
                continue;
            }
            count += 1;
            match name {
                "downwardAPI" => part.get("items").items().for_each(|item| check_pod_file(&item, &part, errors)),
                "serviceAccountToken" => check_token(&part, volume, errors),
                "clusterTrustBundle" => check_bundle(&part, errors),
                "podCertificate" => {}
                _ => {
                    if part.get("name").text().is_empty() {
                        errors.required(&part.get("name"), "");
                    }
                    part.get("items").items().for_each(|item| check_key_to_path(&item, errors));
                }
            }
            let items = part.get("items").items().map(|item| item.get("path").text());
            let own = Some(part.get("path").text()).filter(|_| name == "clusterTrustBundle");
            for path in items.chain(own).filter(|path| !path.is_empty()) {
                if paths.contains(&path) {
                    errors.invalid(volume, "conflicting duplicate paths");
                }
                paths.push(path);
            }
        }
        if count > 1 {
            errors.forbidden(&source, "may not specify more than 1 volume type per source");
        }
    }
}

/// A token of the pod's account. The server names the volume for its path.
fn check_token(token: &Field<'_>, volume: &Field<'_>, errors: &mut Errors) {
    let expiration = token.get("expirationSeconds");
    let seconds = expiration.int().unwrap_or(TOKEN_SECONDS);
    if seconds < TOKEN_SECONDS_MIN {
        errors.invalid(&expiration, "may not specify a duration less than 10 minutes");
    }
    if seconds > TOKEN_SECONDS_MAX {
        errors.invalid(&expiration, "may not specify a duration larger than 2^32 seconds");
    }
    let path = Field { value: token.get("path").value, path: format!("{}.path", volume.path) };
    match path.text() {
        "" => errors.required(&path, ""),
        _ => check_local(&path, errors),
    }
}

fn check_bundle(bundle: &Field<'_>, errors: &mut Errors) {
    let (name, signer) = (bundle.get("name"), bundle.get("signerName"));
    match (name.is_given(), signer.is_given()) {
        (true, true) => errors.invalid(bundle, "only one of name and signerName may be used"),
        (true, false) if bundle.get("labelSelector").is_given() => {
            errors.invalid(&bundle.get("labelSelector"), "labelSelector must be unset if name is specified");
        }
        (true, false) if name.text().is_empty() => errors.required(&name, "must be a valid object name"),
        (true, false) => {}
        (false, true) if signer.text().is_empty() => errors.required(&signer, "must be a valid signer name"),
        (false, true) => check_selector(&bundle.get("labelSelector"), errors),
        (false, false) => errors.required(bundle, "either name or signerName must be specified"),
    }
    if bundle.get("path").text().is_empty() {
        errors.required(&bundle.get("path"), "");
    }
    check_local(&bundle.get("path"), errors);
}
