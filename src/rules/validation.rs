//! What is left to check in objects that components write. Manifests, and patches of them, are judged as a whole
//! ([`crate::rules::manifest`]) before they become objects, and controllers fill in templates that have passed there: what
//! can still go wrong are the names and labels that they make, and counts.
//!
//! Upstream: apimachinery/pkg/api/validation/objectmeta.go, pkg/apis/apps/validation/validation.go, v1.36.

use super::codec::FieldProblem;
use super::names;
use crate::model::{Kind, Labels, Object};

/// Everything that the server would refuse in an object that a component makes, in its words without the path in front.
pub fn check(object: &Object) -> Vec<FieldProblem> {
    let mut problems = Vec::new();
    let (kind, meta) = (object.kind(), object.meta());
    let name = meta.name.as_str();
    // Events are named after their object, whose name was checked.
    if kind != Kind::Event && !name.is_empty() && !names::is_dns_subdomain(name) {
        let message = format!(
            "Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
             '-' or '.', and must start and end with an alphanumeric character"
        );
        add(&mut problems, "metadata.name", message);
    }
    check_labels(&meta.labels, &mut problems);
    let replicas = match object {
        Object::Deployment(deployment) => deployment.spec.replicas,
        Object::ReplicaSet(set) => set.spec.replicas,
        _ => 0,
    };
    if replicas < 0 {
        let message = format!("Invalid value: {replicas}: must be greater than or equal to 0");
        add(&mut problems, "spec.replicas", message);
    }
    problems
}

fn add(problems: &mut Vec<FieldProblem>, path: &str, message: String) {
    problems.push(FieldProblem { path: path.to_string(), message });
}

fn check_labels(labels: &Labels, problems: &mut Vec<FieldProblem>) {
    for (key, value) in labels.iter() {
        if !names::is_qualified_name(key.as_str()) {
            add(problems, "metadata.labels", format!("Invalid value: \"{key}\": name part must be a qualified name"));
        }
        if !names::is_label_value(value.as_str()) {
            let message = format!(
                "Invalid value: \"{value}\": a valid label must be an empty string or consist of alphanumeric characters, \
                 '-', '_' or '.', at most 63 of them, and must start and end with an alphanumeric character"
            );
            add(problems, "metadata.labels", message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::codec;

    #[test]
    fn names_labels_and_counts() {
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "a", "labels": {"k": "v"}},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"k": "v"}}, "template": {"metadata":
            {"labels": {"k": "v"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        let paths = |pointer: &str, value: serde_json::Value| {
            let mut set = set.clone();
            *set.pointer_mut(pointer).unwrap() = value;
            let object = codec::decode(&set).unwrap();
            check(&object).into_iter().map(|problem| problem.path).collect::<Vec<_>>()
        };
        assert!(paths("/metadata/name", json!("a.b")).is_empty());
        assert_eq!(paths("/metadata/name", json!("A")), ["metadata.name"]);
        assert_eq!(paths("/metadata/labels/k", json!("x".repeat(64))), ["metadata.labels"]);
        assert_eq!(paths("/spec/replicas", json!(-1)), ["spec.replicas"]);
    }
}
