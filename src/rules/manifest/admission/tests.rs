//! Plugins by hand; recorded objects are replayed in tests/golden.

use serde_json::{Value, json};

use super::{Surroundings, TOKEN_VOLUME, mutate, mutate_update, validate};
use crate::rules::manifest::{Errors, ManifestKind};

fn pod(spec: Value) -> Value {
    json!({"kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
}

fn around(objects: Vec<Value>) -> Surroundings {
    Surroundings { objects, any_namespace: false }
}

/// The admitted object, and paths with messages of what is refused.
fn admitted(kind: ManifestKind, mut object: Value, around: &Surroundings) -> (Value, Vec<String>) {
    let mut errors = Errors::default();
    mutate(kind, &mut object, around, &mut errors);
    validate(kind, &object, around, &mut errors);
    (object, errors.into_list().iter().map(ToString::to_string).collect())
}

#[test]
fn objects_go_where_there_is_a_namespace() {
    let shop = json!({"kind": "Namespace", "metadata": {"name": "shop"}, "status": {"phase": "Terminating"}});
    let around = around(vec![shop]);
    let in_namespace = |name: Value| admitted(ManifestKind::Pod, json!({"metadata": {"namespace": name}}), &around).1;
    assert!(in_namespace(json!("default")).is_empty() && in_namespace(json!("kube-system")).is_empty());
    assert_eq!(in_namespace(json!("other")), ["metadata.namespace: Not found: \"other\""]);
    assert_eq!(in_namespace(json!("shop")), ["metadata.namespace: Forbidden: namespace shop is being terminated"]);
    let (pod, _) = admitted(ManifestKind::Pod, pod(json!({})), &around);
    assert_eq!(pod["metadata"]["namespace"], "default");
    let (node, _) = admitted(ManifestKind::Node, json!({"metadata": {"namespace": "x"}}), &around);
    assert_eq!(node["metadata"], json!({}));
}

#[test]
fn priorities_come_from_classes() {
    let class = |name: &str, value: i64, default: bool| json!({"kind": "PriorityClass", "metadata": {"name": name}, "value": value, "globalDefault": default});
    let around = around(vec![class("high", 9, true), class("low", 5, true)]);
    let (plain, _) = admitted(ManifestKind::Pod, pod(json!({})), &around);
    assert_eq!((&plain["spec"]["priorityClassName"], &plain["spec"]["priority"]), (&json!("low"), &json!(5)));
    let (system, refused) =
        admitted(ManifestKind::Pod, pod(json!({"priorityClassName": "system-node-critical"})), &around);
    assert_eq!((&system["spec"]["priority"], refused.len()), (&json!(2_000_001_000), 0));
    let spec = json!({"priorityClassName": "high", "priority": 8, "preemptionPolicy": "Never"});
    assert_eq!(
        admitted(ManifestKind::Pod, pod(spec), &around).1,
        [
            "spec.priority: Forbidden: must not be given: the class gives 9",
            "spec.preemptionPolicy: Forbidden: must not be given: the class gives PreemptLowerPriority",
        ]
    );
    let missing = admitted(ManifestKind::Pod, pod(json!({"priorityClassName": "nope"})), &around).1;
    assert_eq!(missing, ["spec.priorityClassName: Forbidden: no PriorityClass with name nope was found"]);
    let second = admitted(ManifestKind::PriorityClass, class("third", 1, true), &around).1;
    assert_eq!(second, ["globalDefault: Forbidden: PriorityClass \"high\" is marked as the default already"]);
    assert!(admitted(ManifestKind::PriorityClass, class("third", 1, false), &around).1.is_empty());
    let mut updated = pod(json!({}));
    mutate_update(ManifestKind::Pod, &plain, &mut updated, &around, &mut Errors::default());
    assert_eq!(updated["spec"]["priority"], 5);
}

#[test]
fn limit_ranges_refuse_with_all_reasons() {
    let range = json!({"kind": "LimitRange", "metadata": {"namespace": "default"}, "spec": {"limits": [
        {"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "64Mi"}, "maxLimitRequestRatio": {"cpu": "2"}},
        {"type": "Pod", "max": {"cpu": "1500m"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "10Gi"}, "min": {"storage": "1Gi"}}]}});
    let around = around(vec![range]);
    let container = |request: &str, limit: &str| json!({"name": "c", "resources": {"requests": {"cpu": request, "memory": "64Mi"}, "limits": {"cpu": limit}}});
    let refused = |containers: Value| admitted(ManifestKind::Pod, pod(json!({"containers": containers})), &around).1;
    assert!(refused(json!([container("500m", "1")])).is_empty());
    assert_eq!(
        refused(json!([container("500m", "2"), {"name": "d"}])),
        [
            "spec.containers[0].resources.limits[cpu]: Forbidden: maximum cpu usage per Container is 1, but limit is 2",
            "spec.containers[0].resources.limits[cpu]: Forbidden: cpu max limit to request ratio per Container is 2, \
             but limit and request are further apart",
            "spec.containers[1].resources.requests[memory]: Forbidden: minimum memory usage per Container is 64Mi. \
             No request is specified",
            "spec.containers[1].resources.limits[cpu]: Forbidden: maximum cpu usage per Container is 1. \
             No limit is specified",
            "spec.containers[1].resources.requests[cpu]: Forbidden: cpu max limit to request ratio per Container is 2, \
             but no request is specified or request is 0",
            "spec.limits[cpu]: Forbidden: maximum cpu usage per Pod is 1500m, but limit is 2",
        ]
    );
    // 1 + 1 cores are more than 1500m.
    let together = refused(json!([container("500m", "1"), container("500m", "1")]));
    assert_eq!(together, ["spec.limits[cpu]: Forbidden: maximum cpu usage per Pod is 1500m, but limit is 2"]);
    let claim = |size: &str| json!({"metadata": {}, "spec": {"resources": {"requests": {"storage": size}}}});
    let too_big = admitted(ManifestKind::PersistentVolumeClaim, claim("20Gi"), &around).1;
    assert_eq!(too_big.len(), 1);
    assert!(admitted(ManifestKind::PersistentVolumeClaim, claim("5Gi"), &around).1.is_empty());
}

#[test]
fn accounts_mount_tokens_unless_told_not_to() {
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default"},
        "imagePullSecrets": [{"name": "s"}]});
    let around = around(vec![account]);
    let mounts = |spec: Value| {
        let (pod, refused) = admitted(ManifestKind::Pod, pod(spec), &around);
        assert!(refused.is_empty(), "{refused:?}");
        pod["spec"]["volumes"][0]["name"] == TOKEN_VOLUME
            && pod["spec"]["containers"][0]["volumeMounts"][0]["readOnly"] == true
    };
    assert!(mounts(json!({"serviceAccountName": "robot", "containers": [{"name": "c"}]})));
    let no =
        json!({"serviceAccountName": "robot", "automountServiceAccountToken": false, "containers": [{"name": "c"}]});
    assert!(!mounts(no) && !mounts(json!({"containers": [{"name": "c"}]})));
    let missing = admitted(ManifestKind::Pod, pod(json!({"serviceAccountName": "nobody"})), &around).1;
    assert_eq!(missing, ["spec.serviceAccountName: Forbidden: service account default/nobody not found"]);
}

#[test]
fn runtime_classes_are_not_contradicted() {
    let class = json!({"kind": "RuntimeClass", "metadata": {"name": "rc"}, "handler": "h",
        "overhead": {"podFixed": {"cpu": "1"}}, "scheduling": {"nodeSelector": {"a": "b"}}});
    let around = around(vec![class]);
    let refused = |spec: Value| admitted(ManifestKind::Pod, pod(spec), &around).1;
    assert!(
        refused(json!({"runtimeClassName": "rc", "nodeSelector": {"a": "b"}, "overhead": {"cpu": "1"}})).is_empty()
    );
    assert_eq!(
        refused(json!({"runtimeClassName": "rc", "nodeSelector": {"a": "c"}, "overhead": {"cpu": "2"}})).len(),
        2
    );
    assert_eq!(refused(json!({"overhead": {"cpu": "2"}})).len(), 1);
    let missing = refused(json!({"runtimeClassName": "nope"}));
    assert_eq!(missing, ["spec.runtimeClassName: Forbidden: RuntimeClass \"nope\" not found"]);
}

#[test]
fn the_newest_default_class_is_taken() {
    let class = |name: &str, at: &str| {
        json!({"kind": "StorageClass", "metadata": {"name": name, "creationTimestamp": at,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}})
    };
    let around = around(vec![
        class("a", "2026-01-01T00:00:00Z"),
        class("c", "2026-01-02T00:00:00Z"),
        class("b", "2026-01-02T00:00:00Z"),
    ]);
    let (claim, _) = admitted(ManifestKind::PersistentVolumeClaim, json!({"metadata": {}}), &around);
    assert_eq!(claim["spec"]["storageClassName"], "b");
    assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
}

#[test]
fn typed_pods_and_nodes_are_admitted_alike() {
    use crate::model::{Node, Object};
    use crate::rules::admission::{NodeRegistration, admit_node, admitted_spec};
    use crate::rules::codec::decode;
    let decoded = |object: &Value| -> Object { decode(object).unwrap() };
    for spec in [
        json!({}),
        json!({"priorityClassName": "system-cluster-critical"}),
        json!({"tolerations": [{"operator": "Exists"}]}),
        json!({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}]}),
        json!({"tolerations": [{"key": "node.kubernetes.io/unreachable", "value": "x", "tolerationSeconds": 5,
            "effect": "NoExecute"}]}),
    ] {
        let mut object = pod(spec);
        object["apiVersion"] = json!("v1");
        object["spec"]["containers"] = json!([]);
        let typed = admitted_spec(&decoded(&object).as_pod().unwrap().spec);
        let (admitted, refused) = admitted(ManifestKind::Pod, object, &around(Vec::new()));
        assert!(refused.is_empty(), "{refused:?}");
        let admitted = decoded(&admitted).as_pod().unwrap().spec.clone();
        assert_eq!((&admitted.tolerations, admitted.priority), (&typed.tolerations, typed.priority));
    }
    for taints in [json!([]), json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])] {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": taints}});
        let mut typed = Node::clone(decoded(&object).as_node().unwrap());
        admit_node(&mut typed, NodeRegistration::New);
        let (admitted, _) = admitted(ManifestKind::Node, object, &around(Vec::new()));
        assert_eq!(decoded(&admitted).as_node().unwrap().taints, typed.taints);
    }
}
