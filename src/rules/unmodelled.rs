//! Fields of manifests that would change the outcome on a real cluster and are not modelled: none of them is ignored
//! silently. `hostAliases`, `imagePullSecrets` and the like are not here because they change nothing that is simulated.

use serde_json::Value;

use crate::model::Kind;

/// A field of a manifest that is not modelled.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Unmodelled {
    /// The field, e.g. `spec.template.spec.containers[0].livenessProbe`.
    pub path: String,
    /// What happens instead.
    pub effect: &'static str,
}

/// When a field that is given counts.
#[derive(Clone, Copy)]
enum When {
    /// Always.
    Given,
    /// Unless it has one of these values.
    Not(&'static [&'static str]),
    /// If it has one of these values.
    Is(&'static [&'static str]),
}

const NOT_CHECKED: &str = "the object is not simulated: it counts as there";
const NO_DELAY: &str = "the volume is mounted without delay";
const NO_CLAIM: &str = "no claim is bound: pods are placed without regard to it, and mount it without delay";
const NO_HOOK: &str = "the hook is not run and takes no time";

/// Paths below a pod spec. `*` stands for every item of a list.
const POD_SPEC: &[(&str, When, &str)] = &[
    ("resourceClaims", When::Given, "no device is allocated: pods are placed without regard to it"),
    ("tolerations.*.tolerationSeconds", When::Given, "no pod is evicted from a tainted node, so nothing ends"),
    ("schedulerName", When::Not(&["default-scheduler"]), "no such scheduler runs: pods stay Pending"),
    ("runtimeClassName", When::Given, "RuntimeClass is not simulated: its overhead and node selector are not added"),
    ("serviceAccountName", When::Not(&["default"]), "the service account is not simulated: it counts as there"),
    ("activeDeadlineSeconds", When::Given, "pods run on after the deadline"),
    ("restartPolicy", When::Is(&["Never", "OnFailure"]), "containers run until they are stopped"),
    ("ephemeralContainers", When::Given, "ephemeral containers are not started"),
    ("volumes.*.persistentVolumeClaim", When::Given, NO_CLAIM),
    ("volumes.*.ephemeral", When::Given, NO_CLAIM),
    ("volumes.*.configMap", When::Given, NOT_CHECKED),
    ("volumes.*.secret", When::Given, NOT_CHECKED),
    ("volumes.*.projected.sources.*.configMap", When::Given, NOT_CHECKED),
    ("volumes.*.projected.sources.*.secret", When::Given, NOT_CHECKED),
    ("volumes.*.csi", When::Given, NO_DELAY),
    ("volumes.*.nfs", When::Given, NO_DELAY),
    ("volumes.*.iscsi", When::Given, NO_DELAY),
    ("volumes.*.fc", When::Given, NO_DELAY),
    ("volumes.*.image", When::Given, NO_DELAY),
    ("volumes.*.awsElasticBlockStore", When::Given, NO_CLAIM),
    ("volumes.*.gcePersistentDisk", When::Given, NO_CLAIM),
    ("volumes.*.azureDisk", When::Given, NO_CLAIM),
    ("volumes.*.azureFile", When::Given, NO_DELAY),
];

/// Paths below each container and init container.
const CONTAINER: &[(&str, When, &str)] = &[
    ("livenessProbe", When::Given, "the probe is not run: no container is restarted"),
    ("startupProbe", When::Given, "the probe is not run: readiness does not wait for it"),
    ("lifecycle.preStop", When::Given, NO_HOOK),
    ("lifecycle.postStart", When::Given, NO_HOOK),
    ("restartPolicyRules", When::Given, "no container is restarted"),
    ("envFrom.*.configMapRef", When::Given, NOT_CHECKED),
    ("envFrom.*.secretRef", When::Given, NOT_CHECKED),
    ("env.*.valueFrom.configMapKeyRef", When::Given, NOT_CHECKED),
    ("env.*.valueFrom.secretKeyRef", When::Given, NOT_CHECKED),
];

/// Paths below a Node.
const NODE: &[(&str, When, &str)] = &[
    ("spec.taints.*.effect", When::Is(&["NoExecute"]), "new pods stay away, running pods are not evicted"),
    ("status.volumesAttached", When::Given, "volumes are not simulated"),
];

/// All fields of a manifest of a simulated kind that are not modelled, in the order of the tables.
pub fn fields(kind: Kind, manifest: &Value) -> Vec<Unmodelled> {
    let mut found = Vec::new();
    match kind {
        Kind::Pod => pod_spec(&manifest["spec"], "spec", &mut found),
        Kind::Deployment | Kind::ReplicaSet => {
            pod_spec(&manifest["spec"]["template"]["spec"], "spec.template.spec", &mut found);
        }
        Kind::Node => below(manifest, "", NODE, &mut found),
        Kind::HorizontalPodAutoscaler => found.push(Unmodelled {
            path: "spec.scaleTargetRef".into(),
            effect: "no autoscaler runs yet: replicas stay as they are",
        }),
        Kind::Namespace
        | Kind::Event
        | Kind::Lease
        | Kind::Service
        | Kind::PodDisruptionBudget
        | Kind::PriorityClass
        | Kind::EndpointSlice
        | Kind::Custom(_) => {}
    }
    found
}

fn pod_spec(spec: &Value, path: &str, found: &mut Vec<Unmodelled>) {
    below(spec, path, POD_SPEC, found);
    for (index, toleration) in spec["tolerations"].as_array().into_iter().flatten().enumerate() {
        if is_of_admission(toleration) {
            let own = format!("{path}.tolerations[{index}].tolerationSeconds");
            found.retain(|field| field.path != own);
        }
    }
    for list in ["initContainers", "containers"] {
        for (index, container) in spec[list].as_array().into_iter().flatten().enumerate() {
            below(container, &format!("{path}.{list}[{index}]"), CONTAINER, found);
        }
    }
}

/// What admission adds to every pod: dumps of a cluster are full of it, and nobody asked for it.
///
/// Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go, v1.36.
fn is_of_admission(toleration: &Value) -> bool {
    let is_its_key =
        ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].iter().any(|key| toleration["key"] == *key);
    is_its_key && toleration["effect"] == "NoExecute" && toleration["tolerationSeconds"] == 300
}

fn below(value: &Value, path: &str, table: &[(&str, When, &'static str)], found: &mut Vec<Unmodelled>) {
    for (pattern, when, effect) in table {
        let mut paths = Vec::new();
        walk(value, path.to_string(), pattern, *when, &mut paths);
        found.extend(paths.into_iter().map(|path| Unmodelled { path, effect }));
    }
}

/// Collects the places that a pattern leads to and whose value counts.
fn walk(value: &Value, path: String, pattern: &str, when: When, paths: &mut Vec<String>) {
    if pattern.is_empty() {
        if counts(value, when) {
            paths.push(path);
        }
        return;
    }
    let (step, rest) = pattern.split_once('.').unwrap_or((pattern, ""));
    if step == "*" {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            walk(item, format!("{path}[{index}]"), rest, when, paths);
        }
    } else if let Some(field) = value.get(step) {
        let dot = if path.is_empty() { "" } else { "." };
        walk(field, format!("{path}{dot}{step}"), rest, when, paths);
    }
}

fn counts(value: &Value, when: When) -> bool {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let is_one_of = |texts: &[&str]| value.as_str().is_some_and(|text| texts.contains(&text));
    !is_empty
        && match when {
            When::Given => true,
            When::Not(texts) => !is_one_of(texts),
            When::Is(texts) => is_one_of(texts),
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(kind: Kind, manifest: &Value) -> Vec<String> {
        fields(kind, manifest).into_iter().map(|field| field.path).collect()
    }

    #[test]
    fn pod_specs() {
        for (spec, expected) in [
            (json!({"affinity": {"podAffinity": {}, "nodeAffinity": {}}, "topologySpreadConstraints": [{}]}), vec![]),
            (json!({"resourceClaims": [{"name": "gpu"}]}), vec!["resourceClaims"]),
            (
                json!({"tolerations": [{"key": "a"}, {"tolerationSeconds": 5}]}),
                vec!["tolerations[1].tolerationSeconds"],
            ),
            (
                json!({"tolerations": [
                    {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute", "tolerationSeconds": 300},
                    {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "tolerationSeconds": 30}]}),
                vec!["tolerations[1].tolerationSeconds"],
            ),
            (json!({"priority": 7, "priorityClassName": "mine", "preemptionPolicy": "Never"}), vec![]),
            (json!({"schedulerName": "default-scheduler", "serviceAccountName": "default"}), vec![]),
            (json!({"schedulerName": "x", "serviceAccountName": "y"}), vec!["schedulerName", "serviceAccountName"]),
            (json!({"runtimeClassName": "gvisor"}), vec!["runtimeClassName"]),
            (json!({"activeDeadlineSeconds": 5}), vec!["activeDeadlineSeconds"]),
            (json!({"hostNetwork": true, "restartPolicy": "Always"}), vec![]),
            (json!({"restartPolicy": "Never"}), vec!["restartPolicy"]),
            (json!({"hostAliases": [{}], "imagePullSecrets": [{"name": "s"}], "nodeSelector": {"a": "b"}}), vec![]),
            (
                json!({"volumes": [{"emptyDir": {}}, {"persistentVolumeClaim": {}}, {"ephemeral": {}}, {"secret": {}}]}),
                vec!["volumes[1].persistentVolumeClaim", "volumes[2].ephemeral", "volumes[3].secret"],
            ),
            (
                json!({"volumes": [{"projected": {"sources": [{"downwardAPI": {}}, {"configMap": {}}]}}]}),
                vec!["volumes[0].projected.sources[1].configMap"],
            ),
            (json!({"ephemeralContainers": [{"name": "d"}]}), vec!["ephemeralContainers"]),
        ] {
            let expected: Vec<String> = expected.iter().map(|path| format!("spec.{path}")).collect();
            assert_eq!(paths(Kind::Pod, &json!({"spec": spec})), expected, "{spec}");
        }
    }

    #[test]
    fn containers_and_templates() {
        for (container, expected) in [
            (json!({"livenessProbe": {}, "readinessProbe": {}}), vec!["livenessProbe"]),
            (json!({"startupProbe": {}}), vec!["startupProbe"]),
            (json!({"lifecycle": {"preStop": {}, "postStart": {}}}), vec!["lifecycle.preStop", "lifecycle.postStart"]),
            (json!({"ports": [{"containerPort": 80}, {"hostPort": 80}]}), vec![]),
            (
                json!({"envFrom": [{"configMapRef": {}}, {"secretRef": {}}]}),
                vec!["envFrom[0].configMapRef", "envFrom[1].secretRef"],
            ),
            (json!({"env": [{"value": "1"}, {"valueFrom": {"fieldRef": {}}}]}), vec![]),
            (json!({"env": [{"valueFrom": {"secretKeyRef": {}}}]}), vec!["env[0].valueFrom.secretKeyRef"]),
        ] {
            for list in ["containers", "initContainers"] {
                let manifest = json!({"spec": {"template": {"spec": {list: [{}, container]}}}});
                let place = |path: &&str| format!("spec.template.spec.{list}[1].{path}");
                let expected: Vec<String> = expected.iter().map(place).collect();
                assert_eq!(paths(Kind::Deployment, &manifest), expected, "{container}");
                assert_eq!(paths(Kind::ReplicaSet, &manifest), expected, "{container}");
            }
        }
    }

    #[test]
    fn nodes() {
        let taints = json!([{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoExecute"}]);
        let node = json!({"spec": {"taints": taints}, "status": {"images": [{"names": ["i"]}]}});
        assert_eq!(paths(Kind::Node, &node), ["spec.taints[1].effect"]);
    }
}
