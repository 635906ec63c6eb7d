//! Defaults by hand; the recorded ones are replayed in tests/golden.

use serde_json::{Value, json};

use super::quantities::tidy_quantities;
use super::{apply, prepare_for_create, prepare_for_update};
use crate::rules::manifest::{ManifestKind, Subresource};

#[test]
fn pods_get_requests_from_limits_and_templates_do_not() {
    let container = json!({"name": "c", "image": "i:1", "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}});
    let mut pod = json!({"spec": {"containers": [container]}});
    apply(ManifestKind::Pod, &mut pod);
    assert_eq!(pod["spec"]["containers"][0]["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
    let mut deployment = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
    apply(ManifestKind::Deployment, &mut deployment);
    let spec = &deployment["spec"];
    assert_eq!(spec["template"]["spec"]["containers"][0]["resources"].get("requests"), None);
    assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
    assert_eq!((&spec["replicas"], &spec["progressDeadlineSeconds"]), (&json!(1), &json!(600)));
}

#[test]
fn fine_amounts_are_rounded_up() {
    let mut list = json!({"cpu": "100u", "memory": "0.5Ki"});
    tidy_quantities(Some(&mut list));
    assert_eq!(list, json!({"cpu": "1m", "memory": "512"}));
}

#[test]
fn defaulting_twice_changes_nothing() {
    let template = json!({"spec": {"containers": [{"name": "c"}], "volumes": [{"name": "v"}]}});
    for (kind, spec) in [
        (ManifestKind::Deployment, json!({"template": template})),
        (ManifestKind::StatefulSet, json!({"template": template, "volumeClaimTemplates": [{}]})),
        (ManifestKind::DaemonSet, json!({"template": template})),
        (ManifestKind::Job, json!({"template": template})),
        (ManifestKind::CronJob, json!({"jobTemplate": {"spec": {"template": template}}})),
        (ManifestKind::HorizontalPodAutoscaler, json!({"behavior": {}})),
        (ManifestKind::Service, json!({"type": "LoadBalancer", "ports": [{"port": 80}]})),
        (ManifestKind::PersistentVolume, json!({"hostPath": {"path": "/"}})),
    ] {
        let mut once = json!({"metadata": {"name": "n"}, "spec": spec});
        apply(kind, &mut once);
        let mut twice = once.clone();
        apply(kind, &mut twice);
        assert_eq!(once, twice, "{kind:?}");
    }
}

#[test]
fn a_service_loses_what_its_old_type_had() {
    let stored = json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"],
        "externalTrafficPolicy": "Cluster", "ports": [{"port": 80, "protocol": "TCP", "nodePort": 30_080}]}});
    let becomes = |service_type: &str| {
        let mut object = stored.clone();
        object["spec"]["type"] = json!(service_type);
        prepare_for_update(ManifestKind::Service, &stored, &mut object, Subresource::Main);
        object["spec"].clone()
    };
    let plain = becomes("ClusterIP");
    assert_eq!((&plain["clusterIP"], &plain["externalTrafficPolicy"]), (&json!("10.0.0.7"), &Value::Null));
    assert_eq!(plain["ports"], json!([{"port": 80, "protocol": "TCP"}]));
    assert_eq!(becomes("ExternalName")["clusterIPs"], Value::Null);
    assert_eq!(becomes("LoadBalancer")["ports"][0]["nodePort"], json!(30_080));
}

#[test]
fn addresses_of_a_service_follow_the_first() {
    let stored = json!({"spec": {"type": "ClusterIP", "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}});
    for (address, list) in [
        (json!("10.0.0.8"), json!(["10.0.0.8"])),
        // Taken away: it is given again.
        (Value::Null, json!(["10.0.0.7"])),
    ] {
        let mut object = stored.clone();
        object["spec"]["clusterIP"] = address.clone();
        if address.is_null() {
            object["spec"].as_object_mut().unwrap().shift_remove("clusterIP");
        }
        prepare_for_update(ManifestKind::Service, &stored, &mut object, Subresource::Main);
        assert_eq!(object["spec"]["clusterIPs"], list);
        assert_eq!(object["spec"]["clusterIP"], list[0]);
    }
}

/// The generation after an update of `stored` in which `change` is put at `pointer`.
fn generation_after(kind: ManifestKind, stored: &Value, pointer: &str, change: Value, part: Subresource) -> Value {
    let mut object = stored.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[key] = change;
    prepare_for_update(kind, stored, &mut object, part);
    object["metadata"]["generation"].clone()
}

#[test]
fn generations_rise_with_the_spec() {
    let mut stored = json!({"metadata": {"name": "n", "annotations": {"a": "1"}}, "spec": {"replicas": 1},
        "status": {"replicas": 3}});
    prepare_for_create(ManifestKind::Deployment, &mut stored);
    let rises = |kind, pointer: &str, part| generation_after(kind, &stored, pointer, json!({"x": 2}), part) == json!(2);
    for (kind, by_annotation) in [
        (ManifestKind::Deployment, true),
        (ManifestKind::ReplicaSet, false),
        (ManifestKind::Job, false),
        (ManifestKind::ScaledObject, false),
    ] {
        assert!(rises(kind, "/spec/replicas", Subresource::Main), "{kind:?}");
        assert_eq!(rises(kind, "/metadata/annotations", Subresource::Main), by_annotation, "{kind:?}");
        assert!(!rises(kind, "/metadata/labels", Subresource::Main), "{kind:?}");
        assert!(!rises(kind, "/status", Subresource::Main), "{kind:?}");
        assert!(!rises(kind, "/spec/replicas", Subresource::Status), "{kind:?}");
    }
    assert!(!rises(ManifestKind::PriorityClass, "/value", Subresource::Main));
}

#[test]
fn a_resize_changes_resources_only() {
    let container =
        |cpu: &str, image: &str| json!({"name": "c", "image": image, "resources": {"requests": {"cpu": cpu}}});
    let pod = |cpu: &str, image: &str| json!({"metadata": {"generation": 1}, "spec": {"containers": [container(cpu, image)]}});
    let mut object = pod("2", "b");
    prepare_for_update(ManifestKind::Pod, &pod("1", "a"), &mut object, Subresource::Resize);
    assert_eq!(object["spec"], pod("2", "a")["spec"]);
    assert_eq!(object["metadata"]["generation"], 2);
}

#[test]
fn fields_that_stand_for_each_other_are_both_set() {
    let applied = |kind, spec: Value| {
        let mut object = json!({"metadata": {"name": "n"}, "spec": spec});
        apply(kind, &mut object);
        prepare_for_create(kind, &mut object);
        object["spec"].clone()
    };
    let headless = applied(ManifestKind::Service, json!({"clusterIP": "None"}));
    assert_eq!(headless["ipFamilyPolicy"], "RequireDualStack");
    assert_eq!((&headless["ipFamilies"], &headless["clusterIPs"]), (&json!(["IPv4", "IPv6"]), &json!(["None"])));
    let single = applied(ManifestKind::Service, json!({"clusterIP": "None", "ipFamilyPolicy": "SingleStack"}));
    assert_eq!(single["ipFamilies"], json!(["IPv4"]));
    assert_eq!(applied(ManifestKind::Node, json!({"podCIDRs": ["10.0.0.0/24"]}))["podCIDR"], "10.0.0.0/24");
    // pkg/apis/core/v1/conversion.go: ranges that do not begin with the single one give way to it.
    let differing = json!({"podCIDR": "10.0.1.0/24", "podCIDRs": ["10.0.0.0/24"]});
    assert_eq!(applied(ManifestKind::Node, differing)["podCIDRs"], json!(["10.0.1.0/24"]));
    let kept = applied(ManifestKind::Namespace, json!({"finalizers": ["example.com/f"]}));
    assert_eq!(kept["finalizers"], json!(["example.com/f", "kubernetes"]));
    let foreign = json!({"apiGroup": "example.com", "kind": "Seed", "name": "s"});
    assert_eq!(applied(ManifestKind::PersistentVolumeClaim, json!({"dataSource": foreign})).get("dataSourceRef"), None);
    let newer = applied(ManifestKind::PersistentVolumeClaim, json!({"dataSourceRef": foreign}));
    assert_eq!(newer["dataSource"], foreign);
    let account = applied(ManifestKind::Pod, json!({"serviceAccount": "a", "containers": []}));
    assert_eq!(account["serviceAccountName"], "a");
    let image = applied(ManifestKind::Pod, json!({"volumes": [{"name": "v", "image": {"reference": "i:1"}}]}));
    assert_eq!(image["volumes"][0]["image"]["pullPolicy"], "IfNotPresent");
}
