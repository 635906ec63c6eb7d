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
