//! Rules of the sources of volumes.
//!
//! Upstream: pkg/apis/core/validation/validation.go (validateVolumeSource and what it calls), v1.36.

use super::super::{Errors, Field};
use super::container_env::{check_amount_ref, check_field_ref};
use super::metadata::SUBDOMAIN;
use super::pod::{Within, one_of};
use super::resources::quantity;
use super::volume_paths::{check_descending, check_local, check_mode, check_no_backsteps};
use super::volume_projections::check_projected;
use crate::rules::names;

/// Fields that a source needs.
const NEEDED: [(&str, &[&str]); 24] = [
    ("hostPath", &["path"]),
    ("gitRepo", &["repository"]),
    ("gcePersistentDisk", &["pdName"]),
    ("awsElasticBlockStore", &["volumeID"]),
    ("secret", &["secretName"]),
    ("nfs", &["server", "path"]),
    ("iscsi", &["targetPortal", "iqn"]),
    ("glusterfs", &["endpoints", "path"]),
    ("persistentVolumeClaim", &["claimName"]),
    ("rbd", &["monitors", "image"]),
    ("cinder", &["volumeID"]),
    ("cephfs", &["monitors"]),
    ("quobyte", &["registry", "volume"]),
    ("flexVolume", &["driver"]),
    ("configMap", &["name"]),
    ("azureFile", &["secretName", "shareName"]),
    ("vsphereVolume", &["volumePath"]),
    ("photonPersistentDisk", &["pdID"]),
    ("portworxVolume", &["volumeID"]),
    ("azureDisk", &["diskName", "diskURI"]),
    ("storageos", &["volumeName"]),
    ("scaleIO", &["gateway", "system", "volumeName"]),
    ("csi", &["driver"]),
    ("ephemeral", &["volumeClaimTemplate"]),
];
/// What a path on the host may be; empty is anything.
const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const PARTITION_MAX: i64 = 255;
const CSI_DRIVER_CHARACTERS_MAX: usize = 63;
/// Files of a pod that it may see of itself, on top of what variables may.
pub(super) const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];

/// One source by the name of its field.
pub(super) fn check_source(name: &str, source: &Field<'_>, within: Within<'_>, errors: &mut Errors) {
    // The server calls this one otherwise once it looks inside.
    let inner = match name {
        "gcePersistentDisk" => {
            &Field { value: source.value, path: source.path.replace("gcePersistentDisk", "persistentDisk") }
        }
        _ => source,
    };
    for needed in NEEDED.iter().filter(|(kind, _)| *kind == name).flat_map(|(_, fields)| fields.iter()) {
        let field = inner.get(needed);
        if field.text().is_empty() && field.is_empty() {
            errors.required(&field, "");
        }
    }
    match name {
        "emptyDir" => {
            let limit = source.get("sizeLimit");
            if quantity(&limit).is_some_and(|limit| limit.is_negative()) {
                errors.forbidden(&limit, "SizeLimit field must be a valid resource quantity");
            }
        }
        "hostPath" => check_host_path(source, errors),
        "gitRepo" => check_descending(&source.get("directory"), errors),
        "gcePersistentDisk" | "awsElasticBlockStore" => check_range(&inner.get("partition"), PARTITION_MAX, errors),
        "secret" | "configMap" => {
            check_mode(&source.get("defaultMode"), errors);
            source.get("items").items().for_each(|item| check_key_to_path(&item, errors));
        }
        "nfs" if !source.get("path").text().starts_with('/') => {
            errors.invalid(&source.get("path"), "must be an absolute path");
        }
        "downwardAPI" => {
            check_mode(&source.get("defaultMode"), errors);
            source.get("items").items().for_each(|item| check_pod_file(&item, source, errors));
        }
        "projected" => check_projected(source, errors),
        "csi" => check_csi(source, errors),
        "ephemeral" => check_claim_template(&source.get("volumeClaimTemplate"), errors),
        "image" => {
            // A template may leave it to whoever makes pods of it.
            if within != Within::Template && source.get("reference").text().is_empty() {
                errors.required(&source.get("reference"), "");
            }
            one_of(&source.get("pullPolicy"), &["Always", "IfNotPresent", "Never"], errors);
        }
        "iscsi" | "fc" | "flocker" | "flexVolume" | "azureDisk" | "cinder" => check_disk(name, source, errors),
        _ => {}
    }
}

fn check_range(number: &Field<'_>, max: i64, errors: &mut Errors) {
    if number.int().is_some_and(|number| !(0..=max).contains(&number)) {
        errors.invalid(number, &format!("must be between 0 and {max}, inclusive"));
    }
}

fn check_host_path(source: &Field<'_>, errors: &mut Errors) {
    if source.get("path").text().is_empty() {
        return;
    }
    check_no_backsteps(&source.get("path"), errors);
    let kind = source.get("type");
    if kind.is_given() && !HOST_PATH_TYPES.contains(&kind.text()) {
        errors.not_supported(&kind, &HOST_PATH_TYPES);
    }
}

/// An item of a ConfigMap or Secret.
pub(super) fn check_key_to_path(item: &Field<'_>, errors: &mut Errors) {
    for name in ["key", "path"] {
        if item.get(name).text().is_empty() {
            errors.required(&item.get(name), "");
        }
    }
    check_local(&item.get("path"), errors);
    check_mode(&item.get("mode"), errors);
}

/// A file about the pod itself. The server names the whole `source` for a mistake in any of its files.
pub(super) fn check_pod_file(item: &Field<'_>, source: &Field<'_>, errors: &mut Errors) {
    let at = |name: &str| Field { value: item.get(name).value, path: format!("{}.{name}", source.path) };
    if at("path").text().is_empty() {
        errors.required(&at("path"), "");
    }
    check_local(&at("path"), errors);
    match (at("fieldRef"), at("resourceFieldRef")) {
        (field, amount) if field.is_given() => {
            check_field_ref(&field, &FILE_FIELDS, errors);
            if amount.is_given() {
                errors.invalid(source, "fieldRef and resourceFieldRef can not be specified simultaneously");
            }
        }
        (_, amount) if amount.is_given() => check_amount_ref(&amount, true, errors),
        _ => errors.required(source, "one of fieldRef and resourceFieldRef is required"),
    }
    check_mode(&at("mode"), errors);
}

fn check_csi(source: &Field<'_>, errors: &mut Errors) {
    let driver = source.get("driver");
    if driver.text().len() > CSI_DRIVER_CHARACTERS_MAX {
        errors.too_long(&driver, CSI_DRIVER_CHARACTERS_MAX);
    }
    if !driver.text().is_empty() && !names::is_dns_subdomain(&driver.text().to_lowercase()) {
        errors.invalid(&driver, SUBDOMAIN);
    }
    let secret = source.get("nodePublishSecretRef");
    if secret.is_given() && secret.get("name").text().is_empty() {
        errors.required(&secret.get("name"), "");
    }
}

/// What of a claim's template does not depend on claims elsewhere.
fn check_claim_template(template: &Field<'_>, errors: &mut Errors) {
    if !template.is_given() {
        return;
    }
    super::selector::check_labels(&template.at(&["metadata", "labels"]), errors);
    super::metadata::check_annotations(&template.at(&["metadata", "annotations"]), errors);
    super::storage_claim::check_spec(&template.get("spec"), errors);
}

/// Disks of particular makers, as far as a mistake is likely.
fn check_disk(name: &str, source: &Field<'_>, errors: &mut Errors) {
    match name {
        "iscsi" => {
            let iqn = source.get("iqn");
            if !iqn.text().is_empty() && !["iqn", "eui", "naa"].iter().any(|front| iqn.text().starts_with(front)) {
                errors.invalid(&iqn, "must be valid format starting with iqn, eui, or naa");
            }
            check_range(&source.get("lun"), PARTITION_MAX, errors);
            let has_password = source.get("chapAuthDiscovery").is_true() || source.get("chapAuthSession").is_true();
            if has_password && !source.get("secretRef").is_given() {
                errors.required(&source.get("secretRef"), "");
            }
        }
        "fc" => {
            let (names, ids, lun) = (source.get("targetWWNs"), source.get("wwids"), source.get("lun"));
            match (names.is_empty(), ids.is_empty()) {
                (true, true) => errors.required(&names, "must specify either targetWWNs or wwids, but not both"),
                (false, false) => errors.invalid(&names, "targetWWNs and wwids can not be specified simultaneously"),
                _ => {}
            }
            if !names.is_empty() && !lun.is_given() {
                errors.required(&lun, "lun is required if targetWWNs is specified");
            } else if !names.is_empty() {
                check_range(&lun, PARTITION_MAX, errors);
            }
        }
        "flocker" => match (source.get("datasetName").text(), source.get("datasetUUID").text()) {
            ("", "") => errors.required(source, "one of datasetName and datasetUUID is required"),
            (name, "") if name.contains('/') => errors.invalid(&source.get("datasetName"), "must not contain '/'"),
            (_, "") | ("", _) => {}
            _ => errors.invalid(source, "datasetName and datasetUUID can not be specified simultaneously"),
        },
        "flexVolume" => {
            for (key, value) in source.get("options").entries() {
                let domain = format!(".{}", key.split('/').next().unwrap_or_default().to_lowercase());
                if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
                    errors.invalid(&value, "kubernetes.io and k8s.io namespaces are reserved");
                }
            }
        }
        "azureDisk" => {
            one_of(&source.get("cachingMode"), &["None", "ReadOnly", "ReadWrite"], errors);
            one_of(&source.get("kind"), &["Dedicated", "Managed", "Shared"], errors);
        }
        _ => {
            let secret = source.get("secretRef");
            if secret.is_given() && secret.get("name").text().is_empty() {
                errors.required(&secret.get("name"), "");
            }
        }
    }
}
