//! Whatever is put anywhere into a manifest, the answer is an object or a refusal that says where.

use serde_json::{Value, json};

use super::*;

fn example(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": spec})
}

/// An object of each kind.
fn samples() -> Vec<Value> {
    let mut all = vec![pod()];
    all.extend(workloads());
    all.extend(autoscalers());
    all.extend(others());
    all
}

fn pod() -> Value {
    let container = json!({"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, "livenessProbe": {"httpGet": {"port": "http"}}});
    let spec = json!({"containers": [container], "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}],
        "volumes": [{"name": "v", "configMap": {"name": "m"}}], "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z",
            "labelSelector": {"matchLabels": {"c": "d"}}, "matchLabelKeys": ["a"]}]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {}}], "priorityClassName": "high", "schedulingGates": [{"name": "a.b/c"}]});
    example("v1", "Pod", spec)
}

fn template() -> Value {
    json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
}

fn job_template() -> Value {
    let mut template = template();
    template["spec"]["restartPolicy"] = json!("Never");
    template
}

fn selector() -> Value {
    json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]})
}

fn claim() -> Value {
    json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}})
}

fn workloads() -> Vec<Value> {
    let common = json!({"selector": selector(), "template": template()});
    let with = |more: Value| {
        let mut spec = common.clone();
        spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        spec
    };
    vec![
        example("apps/v1", "Deployment", with(json!({"strategy": {}}))),
        example("apps/v1", "ReplicaSet", common.clone()),
        example(
            "apps/v1",
            "StatefulSet",
            with(json!({"serviceName": "s",
            "updateStrategy": {"rollingUpdate": {"partition": 1}},
            "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": claim()}]})),
        ),
        example("apps/v1", "DaemonSet", common.clone()),
        example(
            "batch/v1",
            "Job",
            json!({"template": job_template(), "completions": 2, "completionMode": "Indexed",
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "D"}]}]}}),
        ),
        example(
            "batch/v1",
            "CronJob",
            json!({"schedule": "* * * * *",
            "jobTemplate": {"spec": {"template": job_template()}}}),
        ),
    ]
}

fn autoscalers() -> Vec<Value> {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let trigger = json!({"type": "rabbitmq", "metadata": {"queueName": "q", "mode": "QueueLength", "value": "5"}});
    vec![
        example(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"scaleTargetRef": target, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "AverageValue", "averageValue": 1}}}],
            "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]}}}),
        ),
        example("autoscaling/v1", "HorizontalPodAutoscaler", json!({"scaleTargetRef": target, "maxReplicas": 3})),
        example(
            "keda.sh/v1alpha1",
            "ScaledObject",
            json!({"scaleTargetRef": target, "triggers": [trigger],
            "fallback": {"failureThreshold": 1, "replicas": 1}}),
        ),
        example(
            "keda.sh/v1alpha1",
            "ScaledJob",
            json!({"jobTargetRef": {"template": job_template()},
            "triggers": [trigger]}),
        ),
        example(
            "autoscaling.k8s.io/v1",
            "VerticalPodAutoscaler",
            json!({"targetRef": target,
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", "minAllowed": {"cpu": 1}}]}}),
        ),
    ]
}

fn others() -> Vec<Value> {
    vec![
        example("policy/v1", "PodDisruptionBudget", json!({"selector": selector(), "minAvailable": "50%"})),
        example(
            "v1",
            "Service",
            json!({"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "http"}],
            "type": "LoadBalancer", "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"]}),
        ),
        example(
            "v1",
            "PersistentVolume",
            json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/p"}}),
        ),
        example("v1", "PersistentVolumeClaim", claim()),
        example("v1", "LimitRange", json!({"limits": [{"type": "Container", "max": {"cpu": "1"}}]})),
        example("v1", "ResourceQuota", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})),
        example("v1", "Namespace", json!({"finalizers": ["kubernetes"]})),
        example("coordination.k8s.io/v1", "Lease", json!({"renewTime": "2026-01-01T00:00:00.000000Z"})),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "a",
            "effect": "NoExecute"}]}, "status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready",
            "status": "True"}], "images": [{"names": ["i"], "sizeBytes": 1}]}}),
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod",
            "namespace": "default", "name": "p"}, "type": "Normal", "count": 1}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "n"}, "value": 5}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": {"name": "web-a"},
            "addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": true}}],
            "ports": [{"name": "http", "port": 80}]}),
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "n"},
            "provisioner": "p", "parameters": {"a": "b"}}),
    ]
}

/// JSON pointers of all values in it.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_string());
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, inner)| pointers(inner, &format!("{at}/{key}"), found)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, inner)| pointers(inner, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

fn kind_of(object: &Value) -> ManifestKind {
    let word = |name: &str| object[name].as_str().unwrap_or_default();
    ManifestKind::find(word("apiVersion"), word("kind")).unwrap()
}

fn around() -> Surroundings {
    let high = json!({"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 9});
    let range = json!({"kind": "LimitRange", "metadata": {"namespace": "default"}, "spec": {"limits": [
        {"type": "Container", "max": {"memory": "4Gi"}, "default": {"memory": "1Gi"}}]}});
    let account = json!({"kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}});
    Surroundings { objects: vec![high, range, account], any_namespace: false }
}

#[test]
fn every_kind_has_a_sample_that_is_taken() {
    let samples = samples();
    assert_eq!(samples.len(), kind::MANIFEST_KINDS.len());
    for sample in &samples {
        let kind = kind_of(sample);
        let stored = create(kind, sample, &around()).unwrap_or_else(|refusal| panic!("{kind:?}: {refusal:?}"));
        let updated = update(kind, &stored, &stored, Subresource::Main, &around());
        assert_eq!(updated.as_ref(), Ok(&stored), "an update that changes nothing");
    }
}

#[test]
fn odd_values_anywhere_are_no_accident() {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1e300),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(""),
        json!("-%$ä"),
        json!([]),
        json!({}),
        json!([null, {}]),
        json!({"": null, "a/b": {"c": []}}),
    ];
    for sample in samples() {
        let kind = kind_of(&sample);
        let stored = create(kind, &sample, &around()).unwrap();
        let mut places = Vec::new();
        pointers(&sample, "", &mut places);
        for (place, value) in places.iter().flat_map(|place| odd.iter().map(move |value| (place, value))) {
            let mut changed = sample.clone();
            *changed.pointer_mut(place).unwrap() = value.clone();
            for result in
                [create(kind, &changed, &around()), update(kind, &stored, &changed, Subresource::Main, &around())]
            {
                if let Err(refusal) = result {
                    assert!(!refusal.errors().is_empty(), "{kind:?} {place} {value}");
                }
            }
        }
    }
}

/// Upstream: apimachinery/pkg/api/validation/objectmeta.go, `ValidateObjectMetaAccessorUpdate`, v1.36: only a delete request
/// sets the time of deletion, and nothing takes it back.
#[test]
fn updates_neither_set_nor_clear_a_deletion() {
    let kind = ManifestKind::Pod;
    let stored = create(kind, &pod(), &around()).expect("the pod is right");
    let mut doomed = stored.clone();
    doomed["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    let refused = update(kind, &stored, &doomed, Subresource::Main, &around()).expect_err("it is made up");
    assert_eq!((refused.code(), refused.errors()[0].path.as_str()), (422, "metadata.deletionTimestamp"));
    let kept = update(kind, &doomed, &stored, Subresource::Main, &around()).expect("nothing has changed");
    assert_eq!(kept["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
}
