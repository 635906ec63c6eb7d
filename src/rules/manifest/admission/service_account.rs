//! The account a pod runs under, and its token.
//!
//! DIVERGES: an account `default` is in every namespace, as the controller that makes it is fast; if it is not among the
//! objects, it mounts no token.
//!
//! Upstream: plugin/pkg/admission/serviceaccount/admission.go, v1.36.

use serde_json::{Map, Value, json};

use super::Surroundings;
use crate::rules::codec::json::{object_at, objects_mut};
use crate::rules::manifest::{Errors, Field};

/// Name of the volume with the token; the server draws its last five characters.
pub const TOKEN_VOLUME: &str = "kube-api-access-xxxxx";
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The kubelet's own copies of static pods are left as they are.
const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// Gives a pod that is created its account, the account's pull secrets and its token; refuses an account that is missing.
pub fn assign(pod: &mut Value, around: &Surroundings, errors: &mut Errors) {
    let given = pod.clone();
    let root = Field::root(&given);
    if root.at(&["metadata", "annotations", MIRROR_ANNOTATION]).is_given() {
        return;
    }
    let (namespace, field) = (root.at(&["metadata", "namespace"]), root.at(&["spec", "serviceAccountName"]));
    let name = if field.text().is_empty() { "default" } else { field.text() };
    let account = around.find("ServiceAccount", namespace.text(), name);
    if account.is_none() && name != "default" {
        return errors.forbidden(&field, &format!("service account {}/{name} not found", namespace.text()));
    }
    let Some(spec) = object_at(pod, &["spec"]) else { return };
    spec.insert("serviceAccountName".into(), json!(name));
    spec.insert("serviceAccount".into(), json!(name));
    let Some(account) = account else { return };
    let secrets = account.get("imagePullSecrets");
    if !spec.contains_key("imagePullSecrets") && !secrets.is_empty() {
        spec.insert("imagePullSecrets".into(), secrets.value.clone());
    }
    let of_pod = spec.get("automountServiceAccountToken").and_then(Value::as_bool);
    let of_account = account.get("automountServiceAccountToken").value.as_bool();
    if of_pod.or(of_account).unwrap_or(true) {
        mount_token(spec);
    }
}

fn mount_token(spec: &mut Map<String, Value>) {
    let mut is_needed = false;
    for list in ["initContainers", "containers"] {
        for container in objects_mut(spec, list) {
            let mounts = container.entry("volumeMounts").or_insert_with(|| json!([]));
            let Some(mounts) = mounts.as_array_mut() else { continue };
            if !mounts.iter().any(|mount| mount["mountPath"] == TOKEN_PATH) {
                mounts.push(json!({"name": TOKEN_VOLUME, "readOnly": true, "mountPath": TOKEN_PATH}));
                is_needed = true;
            }
        }
    }
    if let (true, Some(volumes)) = (is_needed, spec.entry("volumes").or_insert_with(|| json!([])).as_array_mut()) {
        volumes.push(token_volume());
    }
}

fn token_volume() -> Value {
    json!({"name": TOKEN_VOLUME, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace",
            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]}})
}
