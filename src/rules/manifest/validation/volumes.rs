//! Rules of a pod's volumes: their names, and one source each.
//!
//! Upstream: pkg/apis/core/validation/validation.go (ValidateVolumes, validateVolumeSource), v1.36.

use super::super::{Errors, Field};
use super::metadata::{LABEL, SUBDOMAIN};
use super::pod::Within;
use super::volume_sources::check_source;
use crate::rules::names;

/// The volumes of a pod that are right, which is what containers can mount.
pub(super) struct Volumes<'a>(Vec<(&'a str, &'static str)>);

impl Volumes<'_> {
    /// What kind of source a volume has.
    pub(super) fn source(&self, name: &str) -> Option<&'static str> {
        self.0.iter().find(|(volume, _)| *volume == name).map(|(_, source)| *source)
    }
}

/// Fields that are sources, in the order in which a second one is found out.
const SOURCES: [&str; 30] = [
    "emptyDir",
    "hostPath",
    "gitRepo",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "secret",
    "nfs",
    "iscsi",
    "glusterfs",
    "flocker",
    "persistentVolumeClaim",
    "rbd",
    "cinder",
    "cephfs",
    "quobyte",
    "downwardAPI",
    "fc",
    "flexVolume",
    "configMap",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "storageos",
    "projected",
    "scaleIO",
    "csi",
    "ephemeral",
    "image",
];

/// The volumes of a pod spec.
pub(super) fn check<'a>(volumes: &Field<'a>, within: Within<'_>, errors: &mut Errors) -> Volumes<'a> {
    let mut right: Vec<(&str, &'static str)> = Vec::new();
    let pod = if let Within::Pod(name) = within { name } else { "" };
    // Claims that will be made for this pod.
    let made: Vec<String> = volumes
        .items()
        .filter(|volume| !pod.is_empty() && volume.get("ephemeral").is_given())
        .map(|volume| format!("{pod}-{}", volume.get("name").text()))
        .collect();
    for volume in volumes.items() {
        let mut own = Errors::default();
        let source = check_one_source(&volume, within, &mut own);
        let name = volume.get("name");
        if name.text().is_empty() {
            own.required(&name, "");
        } else if !names::is_dns_label(name.text()) {
            own.invalid(&name, LABEL);
        }
        if right.iter().any(|(other, _)| *other == name.text()) {
            own.duplicate(&name);
        }
        match source {
            Some(source) if own.is_empty() => right.push((name.text(), source)),
            _ => own.into_list().into_iter().for_each(|error| errors.push(error)),
        }
        let claim = volume.at(&["persistentVolumeClaim", "claimName"]);
        if made.iter().any(|made| made == claim.text()) {
            errors.invalid(&claim, "must not reference a PVC that gets created for an ephemeral volume");
        }
    }
    Volumes(right)
}

/// The source of a volume; the first that is given, should there be more.
fn check_one_source(volume: &Field<'_>, within: Within<'_>, errors: &mut Errors) -> Option<&'static str> {
    let mut first = None;
    for name in SOURCES.into_iter().filter(|name| volume.get(name).is_given()) {
        if first.is_some() {
            errors.forbidden(&volume.get(name), "may not specify more than 1 volume type");
            continue;
        }
        first = Some(name);
        check_source(name, &volume.get(name), within, errors);
        if name == "ephemeral" {
            check_claim_name(volume, within, errors);
        }
    }
    if first.is_none() {
        errors.required(volume, "must specify a volume type");
    }
    first
}

/// The claim that is made for an ephemeral volume has a name made of the pod's and the volume's.
fn check_claim_name(volume: &Field<'_>, within: Within<'_>, errors: &mut Errors) {
    let name = volume.get("name");
    match within {
        Within::Pod(pod) if !pod.is_empty() && !name.text().is_empty() => {
            let claim = format!("{pod}-{}", name.text());
            if !names::is_dns_subdomain(&claim) {
                errors.invalid(&name, &format!("PVC name {claim:?}: {SUBDOMAIN}"));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn paths(volumes: &Value) -> Vec<String> {
        let mut errors = Errors::default();
        check(&Field { value: volumes, path: "volumes".into() }, Within::Pod("p"), &mut errors);
        errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
    }

    #[test]
    fn names_and_sources() {
        assert_eq!(paths(&json!([{"name": "a", "emptyDir": {}}, {"name": "b", "configMap": {"name": "c"}}])).len(), 0);
        assert_eq!(paths(&json!([{"name": "a"}])), ["volumes[0] Required"]);
        assert_eq!(paths(&json!([{"emptyDir": {}}])), ["volumes[0].name Required"]);
        let twice = json!([{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]);
        assert_eq!(paths(&twice), ["volumes[1].name Duplicate"]);
        let two = json!([{"name": "a", "emptyDir": {}, "secret": {"secretName": "s"}}]);
        assert_eq!(paths(&two), ["volumes[0].secret Forbidden"]);
        // The claim of the ephemeral volume `a` of pod `p` is `p-a`.
        let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
        let made = json!([
            {"name": "a", "ephemeral": {"volumeClaimTemplate": claim}},
            {"name": "b", "persistentVolumeClaim": {"claimName": "p-a"}},
        ]);
        assert_eq!(paths(&made), ["volumes[1].persistentVolumeClaim.claimName Invalid"]);
    }

    #[test]
    fn what_each_source_needs() {
        let bad = |source: Value| {
            let mut volume = source;
            volume["name"] = json!("v");
            paths(&json!([volume]))
        };
        assert_eq!(bad(json!({"hostPath": {"path": ""}})), ["volumes[0].hostPath.path Required"]);
        assert_eq!(bad(json!({"hostPath": {"path": "/a/../b"}})), ["volumes[0].hostPath.path Invalid"]);
        assert_eq!(bad(json!({"hostPath": {"path": "/a", "type": "Dir"}})), ["volumes[0].hostPath.type NotSupported"]);
        assert_eq!(bad(json!({"secret": {}})), ["volumes[0].secret.secretName Required"]);
        assert_eq!(
            bad(json!({"secret": {"secretName": "s", "defaultMode": 512}})),
            ["volumes[0].secret.defaultMode Invalid"]
        );
        assert_eq!(
            bad(json!({"configMap": {"name": "c", "items": [{"key": "k", "path": "../x"}]}})),
            ["volumes[0].configMap.items[0].path Invalid"]
        );
        assert_eq!(bad(json!({"persistentVolumeClaim": {}})), ["volumes[0].persistentVolumeClaim.claimName Required"]);
        assert_eq!(bad(json!({"emptyDir": {"sizeLimit": "-1"}})), ["volumes[0].emptyDir.sizeLimit Forbidden"]);
        assert_eq!(bad(json!({"nfs": {"server": "s", "path": "a"}})), ["volumes[0].nfs.path Invalid"]);
        assert_eq!(bad(json!({"csi": {"driver": "a_b"}})), ["volumes[0].csi.driver Invalid"]);
        assert_eq!(
            bad(json!({"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 1}}]}})),
            ["volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds Invalid"]
        );
        assert_eq!(bad(json!({"ephemeral": {}})), ["volumes[0].ephemeral.volumeClaimTemplate Required"]);
        assert_eq!(bad(json!({"image": {}})), ["volumes[0].image.reference Required"]);
    }
}
