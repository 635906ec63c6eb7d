//! What the API server fills in before it stores an object, on JSON. Fields of the wrong type are left for the decoder
//! to complain about.
//!
//! Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/apps/v1/defaults.go, v1.36.

use serde_json::{Map, Value, json};

use super::json::{object_at, objects_mut, set_default};
use crate::model::Kind;
use crate::rules::quantity::Quantity;

/// Fills in the defaults of a manifest of this kind.
pub fn apply(kind: Kind, manifest: &mut Value) {
    match kind {
        Kind::Pod => {
            if let Some(spec) = object_at(manifest, &["spec"]) {
                pod_spec(spec);
                pod_only(spec);
            }
        }
        Kind::Deployment => deployment(manifest),
        Kind::ReplicaSet => replica_set(manifest),
        Kind::Node => node(manifest),
        Kind::Namespace | Kind::Event | Kind::Lease => {}
    }
}

fn deployment(manifest: &mut Value) {
    let Some(spec) = object_at(manifest, &["spec"]) else { return };
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    if let Some(strategy) = object_at(manifest, &["spec", "strategy"]) {
        set_default(strategy, "type", "RollingUpdate");
        if strategy["type"] == "RollingUpdate"
            && let Some(rolling) = object_at(manifest, &["spec", "strategy", "rollingUpdate"])
        {
            set_default(rolling, "maxUnavailable", "25%");
            set_default(rolling, "maxSurge", "25%");
        }
    }
    template(manifest);
}

fn replica_set(manifest: &mut Value) {
    let Some(spec) = object_at(manifest, &["spec"]) else { return };
    set_default(spec, "replicas", 1);
    template(manifest);
}

fn template(manifest: &mut Value) {
    let has_template = manifest["spec"].get("template").is_some();
    if has_template && let Some(spec) = object_at(manifest, &["spec", "template", "spec"]) {
        pod_spec(spec);
    }
}

fn node(manifest: &mut Value) {
    let Some(status) = manifest.get_mut("status").and_then(Value::as_object_mut) else { return };
    for list in ["capacity", "allocatable"] {
        tidy_quantities(status.get_mut(list));
    }
    if let Some(capacity) = status.get("capacity").cloned() {
        set_default(status, "allocatable", capacity);
    }
}

/// Defaults of a pod's spec, in pods and in templates.
pub fn pod_spec(spec: &mut Map<String, Value>) {
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "terminationGracePeriodSeconds", 30);
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "securityContext", json!({}));
    tidy_quantities(spec.get_mut("overhead"));
    if let Some(resources) = spec.get_mut("resources").and_then(Value::as_object_mut) {
        tidy_quantities(resources.get_mut("requests"));
        tidy_quantities(resources.get_mut("limits"));
    }
    for volume in objects_mut(spec, "volumes") {
        default_volume(volume);
    }
    for list in ["initContainers", "containers"] {
        objects_mut(spec, list).for_each(container);
    }
}

fn default_volume(volume: &mut Map<String, Value>) {
    for source in ["configMap", "secret", "downwardAPI", "projected"] {
        if let Some(source) = volume.get_mut(source).and_then(Value::as_object_mut) {
            set_default(source, "defaultMode", 420);
        }
    }
    if let Some(host_path) = volume.get_mut("hostPath").and_then(Value::as_object_mut) {
        set_default(host_path, "type", "");
    }
}

fn container(container: &mut Map<String, Value>) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let pull_policy = if tag_is_latest(image) { "Always" } else { "IfNotPresent" };
    set_default(container, "imagePullPolicy", pull_policy);
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    set_default(container, "resources", json!({}));
    if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
        tidy_quantities(resources.get_mut("requests"));
        tidy_quantities(resources.get_mut("limits"));
    }
    for port in objects_mut(container, "ports") {
        set_default(port, "protocol", "TCP");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).and_then(Value::as_object_mut) {
            default_probe(probe);
        }
    }
    for variable in objects_mut(container, "env") {
        let field_ref = variable.get_mut("valueFrom").and_then(|from| from.get_mut("fieldRef"));
        if let Some(field_ref) = field_ref.and_then(Value::as_object_mut) {
            set_default(field_ref, "apiVersion", "v1");
        }
    }
}

fn default_probe(probe: &mut Map<String, Value>) {
    // Zero counts as absent: the server's types cannot tell them apart.
    for (key, value) in [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(key).is_some_and(|given| *given == json!(0)) {
            probe.shift_remove(key);
        }
        set_default(probe, key, value);
    }
    if let Some(get) = probe.get_mut("httpGet").and_then(Value::as_object_mut) {
        set_default(get, "path", "/");
        set_default(get, "scheme", "HTTP");
    }
    if let Some(grpc) = probe.get_mut("grpc").and_then(Value::as_object_mut) {
        set_default(grpc, "service", "");
    }
}

/// Whether an image's tag is `latest`, written or not. A digest without a tag is none.
fn tag_is_latest(image: &str) -> bool {
    let (name, digest) = image.split_once('@').map_or((image, None), |(name, digest)| (name, Some(digest)));
    let last = name.rsplit('/').next().unwrap_or_default();
    match last.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none() && !name.is_empty(),
    }
}

/// Defaults that pods get and templates do not: requests from limits, host ports on the host's network, and so on.
/// Requests at pod level, which need sums, are filled in by the decoder.
pub fn pod_only(spec: &mut Map<String, Value>) {
    set_default(spec, "enableServiceLinks", true);
    // A negative grace period means the shortest one.
    if spec.get("terminationGracePeriodSeconds").and_then(Value::as_i64).is_some_and(|seconds| seconds < 0) {
        spec.insert("terminationGracePeriodSeconds".into(), json!(1));
    }
    let host_network = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for list in ["initContainers", "containers"] {
        for container in objects_mut(spec, list) {
            requests_from_limits(container);
            let ports = objects_mut(container, "ports").filter(|_| host_network);
            for port in ports {
                let number = port.get("containerPort").cloned().unwrap_or(json!(0));
                if port.get("hostPort").is_none_or(|given| *given == json!(0)) {
                    port.insert("hostPort".into(), number);
                }
            }
        }
    }
}

fn requests_from_limits(container: &mut Map<String, Value>) {
    let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else { return };
    let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { return };
    if limits.is_empty() {
        return;
    }
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if let Some(requests) = requests.as_object_mut() {
        limits.into_iter().for_each(|(name, limit)| set_default(requests, &name, limit));
    }
}

/// Puts quantities into their canonical text; CPU finer than a thousandth of a core is rounded up to it.
fn tidy_quantities(list: Option<&mut Value>) {
    for (name, value) in list.and_then(Value::as_object_mut).into_iter().flatten() {
        let text = match &*value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if let Ok(quantity) = Quantity::parse(&text) {
            let rounded = Quantity::from_milli(quantity.milli_value());
            let finer = name == "cpu" && rounded != quantity && quantity.milli_value() != i64::MAX;
            *value = Value::String(if finer { rounded.to_string() } else { quantity.to_string() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_policy_follows_the_tag() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("registry:5000/nginx", true),
            ("registry:5000/nginx:1", false),
            ("nginx@sha256:00", false),
            ("nginx:1@sha256:00", false),
            ("", false),
        ] {
            assert_eq!(tag_is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn pods_get_requests_from_limits_and_templates_do_not() {
        let container = json!({"name": "c", "image": "i:1", "resources": {"limits": {"cpu": 1, "memory": "1024Mi"}}});
        let mut pod = json!({"spec": {"containers": [container]}});
        apply(Kind::Pod, &mut pod);
        assert_eq!(pod["spec"]["containers"][0]["resources"]["requests"], json!({"cpu": "1", "memory": "1Gi"}));
        let mut deployment = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
        apply(Kind::Deployment, &mut deployment);
        let spec = &deployment["spec"];
        assert_eq!(spec["template"]["spec"]["containers"][0]["resources"].get("requests"), None);
        assert_eq!(spec["strategy"]["rollingUpdate"], json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
        assert_eq!((&spec["replicas"], &spec["progressDeadlineSeconds"]), (&json!(1), &json!(600)));
    }

    #[test]
    fn fine_cpu_is_rounded_up() {
        let mut list = json!({"cpu": "100u", "memory": "0.5Ki"});
        tidy_quantities(Some(&mut list));
        assert_eq!(list, json!({"cpu": "1m", "memory": "512"}));
    }
}
