//! Rules of what a container mounts.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidateVolumeMounts, ValidateVolumeDevices), v1.36.

use super::super::{Errors, Field};
use super::volume_paths;
use super::volumes::Volumes;

/// `volumeMounts` and `volumeDevices` of a container.
pub(super) fn check(container: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let (mounts, devices) = (container.get("volumeMounts"), container.get("volumeDevices"));
    let mut paths: Vec<&str> = Vec::new();
    for mount in mounts.items() {
        let (name, path) = (mount.get("name"), mount.get("mountPath"));
        check_volume(&name, volumes, errors);
        if path.text().is_empty() {
            errors.required(&path, "");
        }
        if paths.contains(&path.text()) {
            errors.invalid(&path, "must be unique");
        }
        paths.push(path.text());
        if devices.items().any(|device| device.get("name").text() == name.text()) {
            errors.invalid(&name, "must not already exist in volumeDevices");
        }
        if devices.items().any(|device| device.get("devicePath").text() == path.text()) {
            errors.invalid(&path, "must not already exist as a path in volumeDevices");
        }
        check_sub_paths(&mount, &mounts, errors);
        check_propagation(&mount, &mounts, container, errors);
    }
    check_devices(&devices, &mounts, volumes, errors);
}

fn check_volume(name: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    if name.text().is_empty() {
        errors.required(name, "");
    }
    if volumes.source(name.text()).is_none() {
        errors.not_found(name);
    }
}

/// A field of a mount at the path of the list: the server leaves the index out.
fn without_index<'a>(mount: &Field<'a>, mounts: &Field<'_>, name: &str) -> Field<'a> {
    Field { value: mount.get(name).value, path: format!("{}.{name}", mounts.path) }
}

fn check_sub_paths(mount: &Field<'_>, mounts: &Field<'_>, errors: &mut Errors) {
    for name in ["subPath", "subPathExpr"] {
        let path = mount.get(name);
        if path.text().is_empty() {
            continue;
        }
        if name == "subPathExpr" && !mount.get("subPath").text().is_empty() {
            errors.invalid(&path, "subPathExpr and subPath are mutually exclusive");
        }
        volume_paths::check_descending(&without_index(mount, mounts, name), errors);
    }
}

fn check_propagation(mount: &Field<'_>, mounts: &Field<'_>, container: &Field<'_>, errors: &mut Errors) {
    let propagation = without_index(mount, mounts, "mountPropagation");
    let words = ["Bidirectional", "HostToContainer", "None"];
    if propagation.is_given() && !words.contains(&propagation.text()) {
        errors.not_supported(&propagation, &words);
    }
    if propagation.text() == "Bidirectional" && !container.at(&["securityContext", "privileged"]).is_true() {
        errors.forbidden(&propagation, "Bidirectional mount propagation is available only to privileged containers");
    }
    let recursive = without_index(mount, mounts, "recursiveReadOnly");
    match recursive.text() {
        "Disabled" => {}
        "Enabled" | "IfPossible" => {
            if !mount.get("readOnly").is_true() {
                errors.forbidden(&recursive, "may only be specified when readOnly is true");
            }
            if propagation.is_given() && propagation.text() != "None" {
                errors.forbidden(&recursive, "may only be specified when mountPropagation is None or not specified");
            }
        }
        _ if recursive.is_given() => errors.not_supported(&recursive, &["Disabled", "Enabled", "IfPossible"]),
        _ => {}
    }
}

fn check_devices(devices: &Field<'_>, mounts: &Field<'_>, volumes: &Volumes<'_>, errors: &mut Errors) {
    let (mut names, mut paths): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for device in devices.items() {
        let (name, path) = (device.get("name"), device.get("devicePath"));
        check_volume(&name, volumes, errors);
        if names.contains(&name.text()) {
            errors.invalid(&name, "must be unique");
        }
        if volumes.source(name.text()).is_some_and(|source| !["persistentVolumeClaim", "ephemeral"].contains(&source)) {
            let detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
            errors.invalid(&name, detail);
        }
        if path.text().is_empty() {
            errors.required(&path, "");
        }
        if paths.contains(&path.text()) {
            errors.invalid(&path, "must be unique");
        }
        if volume_paths::has_backsteps(path.text()) {
            errors.invalid(&path, "can not contain backsteps ('..')");
        } else {
            paths.push(path.text());
        }
        if mounts.items().any(|mount| mount.get("name").text() == name.text()) {
            errors.invalid(&name, "must not already exist in volumeMounts");
        }
        if mounts.items().any(|mount| mount.get("mountPath").text() == path.text()) {
            errors.invalid(&path, "must not already exist as a path in volumeMounts");
        }
        if !name.text().is_empty() {
            names.push(name.text());
        }
    }
}
