//! Reading manifests of all kinds.

use serde_json::{Value, json};

use super::{read, read_patch};
use crate::rules::manifest::ManifestKind;

fn pod(spec: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

/// Paths, messages and helps.
fn mistakes(kind: ManifestKind, manifest: &Value) -> Vec<(String, String, String)> {
    let errors = read(kind, manifest).expect_err("something is wrong");
    errors.into_iter().map(|error| (error.path, error.message, error.help.unwrap_or_default())).collect()
}

fn row(path: &str, message: &str, help: &str) -> (String, String, String) {
    (path.to_string(), message.to_string(), help.to_string())
}

#[test]
fn unknown_fields_are_named_with_what_may_be_meant() {
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "label": {},
        "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]}, "spec": {"replica": 2, "paused": null,
        "selector": {"matchLabels": {"any": "thing"}}, "strategy": {"rollingUpdate": {"maxSurge": "25%"}},
        "template": {"spec": {"NodeName": "n", "containers": [{"name": "c"}, {"name": "d",
            "resources": {"request": {"cpu": "1"}, "limits": {"cpu": 1, "own.example/x": "2"}}}]}}},
        "status": {"newerThanWe": 1}, "$patch": "x"});
    assert_eq!(
        mistakes(ManifestKind::Deployment, &manifest),
        [
            row("$patch", "unknown field `$patch`", "known here: apiVersion, kind, metadata, spec, status"),
            row("metadata.label", "unknown field `label`", "did you mean `labels`?"),
            row("spec.replica", "unknown field `replica`", "did you mean `replicas`?"),
            row("spec.template.spec.NodeName", "unknown field `NodeName`", "did you mean `nodeName`?"),
            row(
                "spec.template.spec.containers[1].resources.request",
                "unknown field `request`",
                "did you mean `requests`?"
            ),
        ]
    );
}

#[test]
fn every_value_of_a_wrong_type_is_named() {
    let manifest = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": 5, "b": true}, "creationTimestamp": "yesterday"},
        "spec": {"hostNetwork": "true", "terminationGracePeriodSeconds": "30", "priority": 3_000_000_000_i64,
            "tolerations": {"key": "a"}, "nodeSelector": 3, "affinity": [],
            "containers": [{"name": 7, "ports": [{"containerPort": 80.5}],
                "livenessProbe": {"httpGet": {"port": true}},
                "resources": {"requests": {"memory": true, "cpu": "1x"}}}]}});
    let signed = "must be a whole number from -2147483648 to 2147483647, not 3000000000";
    let container = "spec.containers[0]";
    assert_eq!(
        mistakes(ManifestKind::Pod, &manifest),
        [
            row("metadata.labels[a]", "must be text, not 5", "put it in quotes"),
            row("metadata.labels[b]", "must be text, not true", "put it in quotes"),
            row("metadata.creationTimestamp", "must be a time like 2026-01-01T00:00:00Z, not \"yesterday\"", ""),
            row("spec.hostNetwork", "must be true or false, not \"true\"", "take it out of its quotes"),
            row(
                "spec.terminationGracePeriodSeconds",
                "must be a whole number, not \"30\"",
                "take it out of its quotes"
            ),
            row("spec.priority", signed, ""),
            row("spec.tolerations", "must be a list, not an object", "start each item with a dash"),
            row("spec.nodeSelector", "must be an object, not 3", ""),
            row("spec.affinity", "must be an object, not a list", ""),
            row(&format!("{container}.name"), "must be text, not 7", "put it in quotes"),
            row(&format!("{container}.ports[0].containerPort"), "must be a whole number, not 80.5", ""),
            row(&format!("{container}.livenessProbe.httpGet.port"), "must be a whole number or text, not true", ""),
            row(
                &format!("{container}.resources.requests[memory]"),
                "must be a quantity like `500m` or `1Gi`, not true",
                ""
            ),
            row(
                &format!("{container}.resources.requests[cpu]"),
                &format!("\"1x\": {}", crate::rules::quantity::Quantity::parse("1x").unwrap_err()),
                ""
            ),
        ]
    );
}

#[test]
fn what_the_types_cannot_tell_from_absent_is_left_out() {
    let given = pod(json!({"hostNetwork": false, "nodeName": "", "tolerations": [], "nodeSelector": null,
        "automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0, "affinity": {},
        "containers": [{"name": "c", "env": [], "args": [null], "ports": [{"containerPort": 80.0, "hostPort": 0}],
            "resources": {"limits": {"cpu": null, "memory": 1024, "example.com/gpu": "1000m"}, "requests": {}}}]}));
    let expected = pod(json!({"automountServiceAccountToken": false, "terminationGracePeriodSeconds": 0,
        "affinity": {}, "containers": [{"name": "c", "args": [""], "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": "0", "memory": "1024", "example.com/gpu": "1"}}}]}));
    assert_eq!(read(ManifestKind::Pod, &given), Ok(expected));
}

#[test]
fn nodes_are_read_with_their_status_and_dumps_are_taken() {
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"capcity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}});
    assert_eq!(mistakes(ManifestKind::Node, &node)[0].0, "status.capcity");
    let dump = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "uid": "u", "resourceVersion": "12",
        "creationTimestamp": null, "selfLink": "/api", "managedFields": [{"fieldsV1": {"f:spec": {"k:{\"a\":1}": {}}}}]},
        "spec": {"containers": []}, "status": null});
    assert!(read(ManifestKind::Pod, &dump).is_ok());
}

#[test]
fn directives_of_patches_are_no_fields() {
    let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"$patch": "delete",
        "name": "c"}]}, "sepc": {}});
    let paths: Vec<String> = read_patch(ManifestKind::Pod, &patch).into_iter().map(|error| error.path).collect();
    assert_eq!(paths, ["sepc"]);
    assert_eq!(read_patch(ManifestKind::Pod, &json!({"spec": 3}))[0].path, "spec");
}
