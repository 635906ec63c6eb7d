//! Which pods of a node `kubectl drain` evicts.
//!
//! Upstream: kubectl/pkg/drain/filters.go (`makeFilters`) and drain.go, v1.36. A DaemonSet that owns pods counts as there:
//! kubectl asks for it, and takes pods of one that is gone for unmanaged.

use std::collections::BTreeMap;

use super::command::DrainOptions;
use crate::model::{Key, Object, Pod, Uid};

/// The annotation of a static pod's image in the API.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// What is to become of a pod.
enum Verdict {
    Evict,
    Stay,
    /// The drain must not begin, for this reason.
    Refuse(&'static str),
}

/// The pods to evict.
///
/// # Errors
/// What kubectl says when some pods may not go: then none goes.
pub fn choose(pods: &[Object], options: &DrainOptions) -> Result<Vec<(Key, Uid)>, String> {
    let mut chosen = Vec::new();
    let mut refused: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    for object in pods {
        let Some(pod) = object.as_pod() else { continue };
        match verdict(pod, options) {
            Verdict::Evict => chosen.push((object.key(), pod.meta.uid.clone())),
            Verdict::Stay => {}
            Verdict::Refuse(reason) => {
                refused.entry(reason).or_default().push(format!("{}/{}", pod.meta.namespace, pod.meta.name));
            }
        }
    }
    let texts: Vec<String> =
        refused.iter().map(|(reason, names)| format!("cannot delete {reason}: {}", names.join(", "))).collect();
    match texts.as_slice() {
        [] => Ok(chosen),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}

fn verdict(pod: &Pod, options: &DrainOptions) -> Verdict {
    let is_finished = pod.is_terminal();
    if is_of_daemon_set(pod) && !is_finished {
        return match options.ignore_daemonsets {
            true => Verdict::Stay,
            false => Verdict::Refuse("DaemonSet-managed Pods (use --ignore-daemonsets to ignore)"),
        };
    }
    if pod.meta.annotations.iter().any(|(key, _)| *key == MIRROR) {
        return Verdict::Stay;
    }
    if has_local_storage(pod) && !is_finished && !options.delete_emptydir_data {
        return Verdict::Refuse("Pods with local storage (use --delete-emptydir-data to override)");
    }
    if pod.meta.controller().is_none() && !is_finished && !options.force {
        return Verdict::Refuse("Pods that declare no controller (use --force to override)");
    }
    Verdict::Evict
}

/// Kinds that we do not hold have their name in the manifest only.
fn is_of_daemon_set(pod: &Pod) -> bool {
    let is_unknown = pod.meta.controller().is_some_and(|owner| owner.kind.is_none());
    let owners = pod.source.as_ref().and_then(|source| source["metadata"]["ownerReferences"].as_array());
    is_unknown && owners.into_iter().flatten().any(|owner| owner["controller"] == true && owner["kind"] == "DaemonSet")
}

fn has_local_storage(pod: &Pod) -> bool {
    let volumes = pod.source.as_ref().and_then(|source| source["spec"]["volumes"].as_array());
    volumes.into_iter().flatten().any(|volume| volume.get("emptyDir").is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Kinds;
    use crate::rules::codec;

    fn pod(name: &str, metadata: Value, volumes: Value, phase: &str) -> Object {
        let mut metadata = metadata;
        metadata["name"] = name.into();
        metadata["namespace"] = "shop".into();
        let value = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": {"phase": phase},
            "spec": {"containers": [{"name": "c", "image": "i"}], "volumes": volumes}});
        codec::decode_among(&value, Kinds::BUILT_IN).unwrap()
    }

    fn owned(kind: &str) -> Value {
        json!({"ownerReferences":
            [{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "u", "controller": true}]})
    }

    fn names(pods: &[Object], options: DrainOptions) -> String {
        match choose(pods, &options) {
            Ok(chosen) => chosen.iter().map(|(key, _)| key.name.as_str()).collect::<Vec<_>>().join(" "),
            Err(text) => format!("error: {text}"),
        }
    }

    #[test]
    fn pods_stay_or_hold_the_drain_up_by_their_owner_and_volumes() {
        let local = json!([{"name": "v", "emptyDir": {}}]);
        let mirror = json!({"annotations": {MIRROR: "x"}});
        let set = pod("set", owned("ReplicaSet"), json!([]), "Running");
        let daemon = pod("daemon", owned("DaemonSet"), local.clone(), "Running");
        let mirror = pod("mirror", mirror, local.clone(), "Running");
        let bare = pod("bare", json!({}), json!([]), "Running");
        let local = pod("local", owned("ReplicaSet"), local, "Running");
        let done = pod("done", json!({}), json!([{"name": "v", "emptyDir": {}}]), "Succeeded");
        let plain = DrainOptions::default();
        let all = DrainOptions {
            force: true,
            ignore_daemonsets: true,
            delete_emptydir_data: true,
            ..DrainOptions::default()
        };
        for (pods, options, expected) in [
            (vec![&set, &mirror, &done], plain.clone(), "set done"),
            (
                vec![&set, &daemon],
                plain.clone(),
                "error: cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): shop/daemon",
            ),
            (
                vec![&set, &bare],
                plain.clone(),
                "error: cannot delete Pods that declare no controller (use --force to override): shop/bare",
            ),
            (
                vec![&local, &bare],
                plain,
                "error: [cannot delete Pods that declare no controller (use --force to override): shop/bare, cannot delete Pods with local storage (use --delete-emptydir-data to override): shop/local]",
            ),
            (vec![&set, &mirror, &daemon, &bare, &local, &done], all, "set bare local done"),
        ] {
            let pods: Vec<Object> = pods.into_iter().cloned().collect();
            assert_eq!(names(&pods, options), expected);
        }
    }
}
