//! Decoding, encoding and the way back.

use serde_json::{Value, json};

use super::{FieldProblem, decode, decode_among, encode};
use crate::model::{
    DeploymentStrategy, IntOrPercent, Key, Kinds, Object, PodPhase, PullPolicy, QosClass, RestartPolicy, Time,
};

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"app": "web"}, "managedFields": [], "creationTimestamp": null},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "tier", "operator": "Exists"}]},
            "template": {
                "metadata": {"labels": {"app": "web", "tier": "front"}},
                "spec": {"containers": [{"name": "c", "image": "nginx", "resources": {"limits": {"cpu": 0.5, "memory": "1Gi"}},
                    "readinessProbe": {"httpGet": {"port": 80}}, "ports": [{"containerPort": 80}]}]}
            }
        }
    })
}

fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop", "uid": "u1", "creationTimestamp": "2000-01-30T23:42:56Z",
            "deletionTimestamp": "2000-01-31T00:00:00Z", "deletionGracePeriodSeconds": 30,
            "annotations": {"a": "b"}, "finalizers": ["x/y"], "resourceVersion": "7",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "uid": "u0", "controller": true}]},
        "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": -5, "hostNetwork": true,
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}}},
            "resources": {"limits": {"cpu": "2", "memory": "1Gi"}},
            "initContainers": [{"name": "s", "image": "i:1", "restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}}],
            "containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "500m", "example.com/gpu": "1"}}}]},
        "status": {"phase": "Running", "podIP": "10.0.0.1", "startTime": "2000-01-30T23:43:00Z",
            "conditions": [{"type": "Ready", "status": "True", "lastProbeTime": null, "lastTransitionTime": "2000-01-30T23:46:57Z"}],
            "containerStatuses": [{"name": "c", "image": "", "imageID": "", "lastState": {}, "ready": true, "restartCount": 2,
                "state": {"running": {"startedAt": "2000-01-30T23:44:00Z"}}}]}
    })
}

fn node() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "labels": {"zone": "a"}},
        "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true, "taints": [{"key": "k", "value": "v", "effect": "NoExecute"}]},
        "status": {"capacity": {"cpu": "4", "memory": "16Gi", "pods": "110", "example.com/gpu": "2"},
            "conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "m"}],
            "images": [{"names": ["nginx:1"], "sizeBytes": 5}]}
    })
}

#[test]
fn deployments_get_the_servers_defaults() {
    let object = decode(&deployment()).unwrap();
    let deployment = object.as_deployment().unwrap();
    assert_eq!(deployment.meta.namespace, "default");
    assert_eq!(deployment.spec.replicas, 1);
    assert_eq!(deployment.spec.revision_history_limit, Some(10));
    assert_eq!(deployment.spec.progress_deadline_seconds, Some(600));
    let quarter = IntOrPercent::Percent(25);
    let expected = DeploymentStrategy::RollingUpdate { max_surge: quarter, max_unavailable: quarter };
    assert_eq!(deployment.spec.strategy, expected);
    assert_eq!(deployment.spec.selector.requirements.len(), 2);
    let spec = &deployment.spec.template.spec;
    assert_eq!((spec.restart_policy, spec.termination_grace_period_seconds), (RestartPolicy::Always, 30));
    assert_eq!(spec.scheduler_name, "default-scheduler");
    let container = &spec.containers[0];
    assert_eq!(container.pull_policy, PullPolicy::Always);
    assert_eq!((container.requests.cpu_milli, container.requests.memory_bytes), (Some(500), Some(1 << 30)));
    assert_eq!(container.ports[0].protocol, "TCP");
    let probe = container.readiness_probe.unwrap();
    assert_eq!((probe.period_seconds, probe.timeout_seconds), (10, 1));
    assert_eq!((probe.success_threshold, probe.failure_threshold), (1, 3));
    let source = deployment.source.as_ref().unwrap();
    assert_eq!(source["metadata"].get("managedFields"), None);
    // Templates keep their limits only.
    assert_eq!(source["spec"]["template"]["spec"]["containers"][0]["resources"].get("requests"), None);
}

#[test]
fn templates_that_mean_the_same_are_equal() {
    let template = |change: &dyn Fn(&mut Value)| {
        let mut manifest = deployment();
        change(&mut manifest["spec"]["template"]);
        let object = decode(&manifest).unwrap();
        object.as_deployment().unwrap().spec.template.clone()
    };
    let plain = template(&|_| {});
    let spelled_out = template(&|template| {
        template["metadata"]["labels"]["pod-template-hash"] = json!("abc");
        template["metadata"]["annotations"] = json!({});
        template["spec"]["restartPolicy"] = json!("Always");
        template["spec"]["tolerations"] = json!([]);
        template["spec"]["nodeName"] = json!(null);
        template["spec"]["containers"][0]["resources"] = json!({"limits": {"memory": "1024Mi", "cpu": "500m"}});
    });
    assert_eq!(plain.source, spelled_out.source);
    assert_eq!(plain.source.to_string(), spelled_out.source.to_string());
    assert_eq!(spelled_out.labels.get_str("pod-template-hash").unwrap(), "abc");
    let other = template(&|template| template["spec"]["containers"][0]["image"] = json!("nginx:2"));
    assert_ne!(plain.source, other.source);
}

#[test]
fn pods_with_status() {
    let object = decode(&pod()).unwrap();
    let pod = object.as_pod().unwrap();
    assert_eq!((pod.meta.namespace.as_str(), pod.node_name.as_str(), pod.meta.resource_version.0), ("shop", "n1", 7));
    assert_eq!(pod.meta.controller().unwrap().name, "rs");
    assert!(pod.meta.is_deleting() && pod.meta.has_finalizers() && pod.is_ready());
    // 2000-01-30T23:42:56Z is 17 min 4 s = 1024 s before day 10987.
    assert_eq!(pod.meta.creation, Time((10_987 * 86_400 - 1_024) * 1_000_000_000));
    assert_eq!(pod.status.phase, PodPhase::Running);
    assert_eq!(pod.status.containers[0].restart_count, 2);
    assert_eq!(pod.spec.termination_grace_period_seconds, 1);
    assert_eq!(pod.spec.containers[0].ports[0].host_port, 80);
    assert!(pod.spec.init_containers[0].is_sidecar);
    // CPU from the containers (500 + 250), memory from the limit.
    let requests = pod.spec.pod_requests.as_ref().unwrap();
    assert_eq!((requests.cpu_milli, requests.memory_bytes), (Some(750), Some(1 << 30)));
    assert_eq!(pod.status.qos_class, QosClass::Burstable);
}

#[test]
fn nodes() {
    let object = decode(&node()).unwrap();
    let node = object.as_node().unwrap();
    assert_eq!(node.meta.namespace, "");
    assert_eq!(node.allocatable, node.capacity);
    assert_eq!((node.capacity.cpu_milli, node.capacity.pods), (Some(4_000), Some(110)));
    assert!(node.unschedulable && !node.is_ready());
    assert_eq!(node.taints[0].key, "k");
    assert_eq!(node.images[0].size_bytes, 5);
}

#[test]
fn what_is_encoded_decodes_to_the_same() {
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "n1", "namespace": "kube-node-lease"},
        "spec": {"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "2026-01-01T00:00:00.123456Z"}});
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "type": "Warning", "reason": "R", "message": "m",
        "involvedObject": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs", "namespace": "default", "uid": "u", "fieldPath": "spec.containers{web}"},
        "source": {"component": "replicaset-controller"}, "firstTimestamp": "2026-01-01T00:00:00Z", "lastTimestamp": "2026-01-01T00:00:05Z", "count": 2});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}, "status": {"phase": "Terminating"}});
    let mut replica_set = deployment();
    replica_set["kind"] = json!("ReplicaSet");
    replica_set["spec"]["template"]["metadata"]["labels"]["pod-template-hash"] = json!("abc");
    replica_set["status"] =
        json!({"replicas": 3, "readyReplicas": 1, "observedGeneration": 2, "terminatingReplicas": 0});
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}});
    let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": "50%"},
        "status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
                   "disruptedPods": {"web-1": "2026-01-01T00:00:05Z"}}});
    let class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
        "value": 1000, "globalDefault": true, "preemptionPolicy": "Never"});
    let owned = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "default",
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "u1", "controller": true}]},
        "spec": {"containers": [{"name": "db", "image": "db"}]}});
    let slice = json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": {"name": "web-a", "namespace": "default", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Service", "name": "web", "uid": "s1", "controller": true}]},
        "addressType": "IPv4", "ports": [{"name": "http", "port": 80, "appProtocol": "kubernetes.io/h2c"}, {}],
        "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": false, "serving": true, "terminating": true},
            "nodeName": "n1", "zone": "z1", "targetRef": {"kind": "Pod", "namespace": "default", "name": "w", "uid": "u"}},
            {"addresses": ["10.0.0.2", "10.0.0.3"], "hostname": "db-0"}]});
    let all = [
        deployment(),
        replica_set,
        pod(),
        node(),
        lease,
        event,
        namespace,
        service,
        budget,
        class,
        owned,
        slice,
        autoscaler(),
    ];
    for manifest in all {
        let object = decode(&manifest).unwrap();
        let encoded = encode(&object);
        let again = decode(&encoded).unwrap();
        assert_eq!(without_source(&again), without_source(&object), "{encoded:#}");
        assert_eq!(encode(&again), encoded);
    }
}

fn autoscaler() -> Value {
    let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}});
    json!({
    "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9,
        "metrics": [{"type": "Resource", "resource": cpu}], "behavior": {"scaleDown": {"tolerance": "50m"}},
    },
    "status": {
        "currentReplicas": 2, "desiredReplicas": 4, "lastScaleTime": "2026-01-01T00:01:00Z",
        "currentMetrics": [
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 90, "averageValue": "450m"}}},
            {"type": "External", "external": {"metric": {"name": "q", "selector": {"matchLabels": {"a": "b"}}}, "current": {"value": "7"}}},
        ],
        "conditions": [{"type": "AbleToScale", "status": "True", "reason": "SucceededRescale", "lastTransitionTime": "2026-01-01T00:01:00Z"}],
    }})
}

#[test]
fn older_autoscalers_are_converted() {
    let old = json!({
    "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 9,
        "targetCPUUtilizationPercentage": 60,
    }});
    let mut new = autoscaler();
    new["spec"].as_object_mut().unwrap().shift_remove("behavior");
    new.as_object_mut().unwrap().shift_remove("status");
    let (old, new) = (decode(&old).unwrap(), decode(&new).unwrap());
    assert_eq!(without_source(&old), without_source(&new));
    assert_eq!(encode(&old)["spec"]["metrics"], encode(&new)["spec"]["metrics"]);
}

/// The source differs: it holds what the first encoding laid over it.
fn without_source(object: &Object) -> Object {
    let mut object = object.clone();
    match &mut object {
        Object::Namespace(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Node(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Pod(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::ReplicaSet(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Deployment(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Custom(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Service(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::EndpointSlice(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::PodDisruptionBudget(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::PriorityClass(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::HorizontalPodAutoscaler(inner) => std::rc::Rc::make_mut(inner).source = None,
        Object::Event(_) | Object::Lease(_) => {}
    }
    object
}

#[test]
fn changed_values_are_printed() {
    let mut object = decode(&node()).unwrap();
    if let Object::Node(node) = &mut object {
        let node = std::rc::Rc::make_mut(node);
        node.unschedulable = false;
        node.taints = [].into();
    }
    let encoded = encode(&object);
    assert_eq!(encoded["spec"], json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]}));
    assert_eq!(
        encoded["status"]["capacity"],
        json!({"cpu": "4", "memory": "16Gi", "pods": "110", "example.com/gpu": "2"})
    );
}

#[test]
fn problems_name_the_field() {
    let problem = |pointer: &str, value: Value| -> Vec<FieldProblem> {
        let mut manifest = deployment();
        *manifest.pointer_mut(pointer).unwrap() = value;
        decode(&manifest).unwrap_err()
    };
    let container = "/spec/template/spec/containers/0";
    let path = |problems: &[FieldProblem]| problems.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    let image = problem(&format!("{container}/image"), json!(5));
    assert_eq!(path(&image), ["spec.template.spec.containers[0].image"]);
    let memory = problem(&format!("{container}/resources/limits/memory"), json!("4GB"));
    assert_eq!(path(&memory), ["spec.template.spec.containers[0].resources.limits[memory]"]);
    assert_eq!(path(&problem("/kind", json!("Deploymint"))), ["kind"]);
    let port = problem(&format!("{container}/ports/0/containerPort"), json!("http"));
    assert_eq!(path(&port), ["spec.template.spec.containers[0].ports[0].containerPort"]);
    let mut fraction = deployment();
    fraction["spec"]["replicas"] = json!(2.5);
    assert_eq!(path(&decode(&fraction).unwrap_err()), ["spec.replicas"]);
    assert!(decode(&json!([])).is_err() && decode(&json!({"apiVersion": "v1", "kind": "Pod", "spec": 3})).is_err());
}

#[test]
fn custom_resources_keep_what_they_say() {
    let mut kinds = Kinds::default();
    let kind = kinds.ensure("example.com/v1", "Database", None, true).unwrap();
    let manifest = json!({"apiVersion": "example.com/v1", "kind": "Database",
        "metadata": {"name": "a", "generation": 3, "labels": {"app": "x"}},
        "spec": {"size": 3, "nothing": null}, "status": {"phase": "Ready"}});
    assert!(decode(&manifest).is_err());
    let object = decode_among(&manifest, &kinds).unwrap();
    assert_eq!(object.key(), Key::new(kind, "default", "a"));
    let encoded = encode(&object);
    assert_eq!(encoded["spec"], json!({"size": 3}));
    assert_eq!(encoded["status"], json!({"phase": "Ready"}));
    assert_eq!(encoded["metadata"]["namespace"], "default");
    assert_eq!(encode(&decode_among(&encoded, &kinds).unwrap()), encoded);
    let owned = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "ownerReferences":
        [{"apiVersion": "example.com/v1", "kind": "Database", "name": "a", "uid": "u1", "controller": true}]},
        "spec": {"containers": [{"name": "a", "image": "b"}]}});
    let pod = decode_among(&owned, &kinds).unwrap();
    assert_eq!(pod.meta().controller().unwrap().kind, Some(kind));
    let wrong = json!({"apiVersion": "example.com/v1", "kind": "Database", "metadata": {"name": 7}});
    assert!(decode_among(&wrong, &kinds).is_err());
}
