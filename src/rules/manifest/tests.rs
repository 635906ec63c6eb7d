//! Whatever is put anywhere into a manifest, the answer is an object or a refusal that says where.

use serde_json::{Value, json};

use super::*;

fn samples() -> Vec<Value> {
    let container = json!({"name": "c", "image": "i:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, "livenessProbe": {"httpGet": {"port": "http"}}});
    let spec = json!({"containers": [container], "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}],
        "volumes": [{"name": "v", "configMap": {"name": "m"}}], "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "z",
            "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["a"]}]}},
        "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {}}], "priorityClassName": "high", "schedulingGates": [{"name": "a.b/c"}]});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let selector = json!({"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "a", "operator": "Exists"}]});
    let mut job = template.clone();
    job["spec"]["restartPolicy"] = json!("Never");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let claim = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    let trigger = json!({"type": "rabbitmq", "metadata": {"queueName": "q", "mode": "QueueLength", "value": "5"}});
    let object = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "n", "labels": {"a": "b"}}, "spec": spec});
    vec![
        object("v1", "Pod", spec),
        object("apps/v1", "Deployment", json!({"selector": selector, "template": template, "strategy": {}})),
        object("apps/v1", "ReplicaSet", json!({"selector": selector, "template": template})),
        object(
            "apps/v1",
            "StatefulSet",
            json!({"selector": selector, "template": template, "serviceName": "s",
            "updateStrategy": {"rollingUpdate": {"partition": 1}},
            "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": claim}]}),
        ),
        object("apps/v1", "DaemonSet", json!({"selector": selector, "template": template})),
        object(
            "batch/v1",
            "Job",
            json!({"template": job, "completions": 2, "completionMode": "Indexed",
            "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "D"}]}]}}),
        ),
        object("batch/v1", "CronJob", json!({"schedule": "* * * * *", "jobTemplate": {"spec": {"template": job}}})),
        object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({"scaleTargetRef": target, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Value", "value": 1}}}],
            "behavior": {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 1}]}}}),
        ),
        object("autoscaling/v1", "HorizontalPodAutoscaler", json!({"scaleTargetRef": target, "maxReplicas": 3})),
        object("policy/v1", "PodDisruptionBudget", json!({"selector": selector, "minAvailable": "50%"})),
        object(
            "v1",
            "Service",
            json!({"selector": {"a": "b"}, "ports": [{"port": 80, "targetPort": "http"}],
            "type": "LoadBalancer", "sessionAffinity": "ClientIP", "externalIPs": ["1.2.3.4"]}),
        ),
        object(
            "v1",
            "PersistentVolume",
            json!({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/p"}}),
        ),
        object("v1", "PersistentVolumeClaim", claim),
        object("v1", "LimitRange", json!({"limits": [{"type": "Container", "max": {"cpu": "1"}}]})),
        object("v1", "ResourceQuota", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})),
        object("v1", "Namespace", json!({"finalizers": ["kubernetes"]})),
        object("coordination.k8s.io/v1", "Lease", json!({"renewTime": "2026-01-01T00:00:00.000000Z"})),
        object(
            "keda.sh/v1alpha1",
            "ScaledObject",
            json!({"scaleTargetRef": target, "triggers": [trigger],
            "fallback": {"failureThreshold": 1, "replicas": 1}}),
        ),
        object("keda.sh/v1alpha1", "ScaledJob", json!({"jobTargetRef": {"template": job}, "triggers": [trigger]})),
        object(
            "autoscaling.k8s.io/v1",
            "VerticalPodAutoscaler",
            json!({"targetRef": target,
            "resourcePolicy": {"containerPolicies": [{"containerName": "*", "minAllowed": {"cpu": 1}}]}}),
        ),
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {"taints": [{"key": "a",
            "effect": "NoExecute"}]}, "status": {"capacity": {"cpu": "1"}, "conditions": [{"type": "Ready",
            "status": "True"}], "images": [{"names": ["i"], "sizeBytes": 1}]}}),
        json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod",
            "namespace": "default", "name": "p"}, "type": "Normal", "count": 1}),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "n"}, "value": 5}),
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
