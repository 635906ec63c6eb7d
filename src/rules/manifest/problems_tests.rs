//! Several mistakes at once.

use serde_json::json;

use super::*;

#[test]
fn unknown_fields_do_not_hide_other_mistakes() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "P", "namespace": "default", "lables": {}},
        "spec": {"containers": [{"name": "c", "image": "i:1", "ports": [{"contanerPort": 80}]}]}});
    let found = problems(ManifestKind::Pod, &pod, &Surroundings::default());
    let paths: Vec<&str> = found.iter().map(|(error, _)| error.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "metadata.lables",
            "spec.containers[0].ports[0].contanerPort",
            "metadata.name",
            "spec.containers[0].ports[0].containerPort",
        ]
    );
}

#[test]
fn wrong_types_do_not_hide_other_mistakes() {
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
        "spec": {"replicas": "two", "minReadySeconds": -1, "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": 5, "image": "i",
                "imagePullPolicy": "always", "resources": {"requests": {"cpu": "4Gib"}}}]}}}});
    let paths = |object: &Value| {
        let found = problems(ManifestKind::Deployment, object, &Surroundings::default());
        found.into_iter().map(|(error, _)| error.path).collect::<Vec<_>>()
    };
    let container = "spec.template.spec.containers[0]";
    let expected = ["spec.replicas", "name", "resources.requests[cpu]", "spec.minReadySeconds", "imagePullPolicy"];
    let mut found = paths(&deployment);
    let mut expected = expected.map(|path| match path.starts_with("spec.") {
        true => path.to_string(),
        false => format!("{container}.{path}"),
    });
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    // A label that cannot be read is the only thing said: the selector would seem not to fit.
    let mut labelled = deployment.clone();
    labelled["spec"]["template"]["metadata"]["labels"]["a"] = json!(5);
    assert!(!paths(&labelled).contains(&"spec.minReadySeconds".to_string()));
}
