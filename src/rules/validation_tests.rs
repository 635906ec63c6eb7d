//! The checks against the recorded answers of a real server, and by hand.

use serde_json::{Value, json};

use super::*;
use crate::rules::codec;

/// Every problem that decoding, strict reading or the checks find; by path.
fn refused(manifest: &Value) -> Vec<String> {
    let kind = Kind::from_manifest(manifest["apiVersion"].as_str().unwrap(), manifest["kind"].as_str().unwrap());
    let unknown = codec::strict::unknown_fields(kind.unwrap(), manifest);
    let problems = codec::decode(manifest).map_or_else(|problems| problems, |object| check(&object));
    unknown.into_iter().map(|field| field.path).chain(problems.into_iter().map(|problem| problem.path)).collect()
}

/// Rows of kinds we hold, recorded from a real server: whatever it takes we take, and of what it refuses on creation
/// these fields are refused here too.
#[test]
fn recorded_answers() {
    const CHECKED: [&str; 32] = [
        "pod-name-0",
        "pod-name-1",
        "pod-name-2",
        "pod-name-5",
        "pod-name-8",
        "pod-name-9",
        "pod-no-containers",
        "pod-container-name-64",
        "pod-container-no-name",
        "pod-container-image-space",
        "pod-image-leading-space",
        "pod-init-same-name",
        "pod-restart-typo",
        "pod-port-0",
        "pod-port-3",
        "pod-port-4",
        "pod-host-network-port-differs",
        "pod-port-protocol-lower",
        "pod-req-above-limit-mem",
        "pod-res-negative-limit",
        "pod-unknown-field-deep",
        "pod-wrong-case-field",
        "pod-label-key-slash2",
        "pod-label-key-empty-prefix",
        "deployment-progress-0",
        "deployment-history-negative",
        "deployment-selector-extra",
        "deployment-no-template",
        "replicaset-mismatch",
        "replicaset-negative",
        "replicaset-no-selector",
        "node-capacity-negative",
    ];
    let text = include_str!("../../tests/vectors/apiserver/validation.jsonl");
    let mut refused_rows = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let input = &row["input"];
        let word = |field: &str| input[field].as_str().unwrap_or_default();
        let id = row["id"].as_str().unwrap();
        if Kind::from_manifest(word("apiVersion"), word("kind")).is_none() || row["op"] != "create" {
            continue;
        }
        let found = refused(input);
        // Conditions are typed here: a status the API does not define is refused when the manifest is read.
        if id == "node-condition-status-odd" {
            assert_eq!(found, ["status.conditions"]);
        } else if row["accepted"] == true {
            assert!(found.is_empty(), "{id}: the server takes it, we say {found:?}\n{input}");
        } else if CHECKED.contains(&id) {
            refused_rows.push(id.to_string());
            for cause in row["causes"].as_array().into_iter().flatten() {
                let field = cause["field"].as_str().unwrap();
                assert!(found.iter().any(|path| path == field), "{id}: {field} is not among {found:?}");
            }
            assert!(!found.is_empty(), "{id} is refused");
        }
    }
    assert_eq!(refused_rows.len(), CHECKED.len(), "{refused_rows:?}");
}

#[test]
fn messages_are_the_servers() {
    let deployment = |spec: Value| {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec});
        let object = codec::decode(&manifest).unwrap();
        let problems = [check(&object), check_pods_of_template(&object)].concat();
        problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect::<Vec<_>>()
    };
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c"}]}});
    let selector = json!({"matchLabels": {"a": "b"}});
    assert_eq!(
        deployment(json!({"replicas": -1, "selector": selector, "template": template})),
        [
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            "spec.template.spec.containers[0].image: Required value",
        ]
    );
    let resources = json!({"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "1500m", "memory": "1Gi"}});
    let containers = json!([{"name": "c", "image": "i", "resources": resources}, {"name": "c", "image": "i"}]);
    let template = json!({"metadata": {"labels": {"a": "x"}}, "spec": {"containers": containers}});
    assert_eq!(
        deployment(json!({"selector": selector, "template": template})),
        [
            "spec.template.metadata.labels: Invalid value: `selector` does not match template `labels`",
            "spec.template.spec.containers[1].name: Duplicate value: \"c\"",
            "spec.template.spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu \
         limit of 1500m",
        ]
    );
}
