//! One row a rule that no recorded case holds: what is put into a pod that is right, and which fields are refused.

use serde_json::{Value, json};

use super::super::super::{Errors, Field};
use super::{check, check_template};

/// A pod with a container `c` and a volume `v`, complete enough to be right.
pub fn pod() -> Value {
    json!({
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "containers": [{"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "terminationGracePeriodSeconds": 30,
            "restartPolicy": "Always",
        },
    })
}

/// Puts the fields of `patch` into `target`; lists as a whole.
pub fn put(target: &mut Value, patch: &Value) {
    match (target.as_object_mut(), patch.as_object()) {
        (Some(fields), Some(patch)) => {
            for (key, value) in patch {
                put(fields.entry(key).or_insert(Value::Null), value);
            }
        }
        _ => *target = patch.clone(),
    }
}

pub fn listed(errors: Errors) -> Vec<String> {
    errors.into_list().into_iter().map(|error| format!("{} {}", error.path, error.reason.as_str())).collect()
}

/// What is refused of the pod with these fields in its spec, without the leading `spec.`.
fn spec(patch: Value) -> Vec<String> {
    let mut pod = pod();
    put(&mut pod["spec"], &patch);
    let mut errors = Errors::default();
    check(&Field::root(&pod), &mut errors);
    listed(errors).into_iter().map(|line| line.strip_prefix("spec.").unwrap_or(&line).to_string()).collect()
}

/// What is refused of the pod with these fields in its container, without the container's path.
fn container(patch: Value) -> Vec<String> {
    let mut container = pod()["spec"]["containers"][0].take();
    put(&mut container, &patch);
    let lines = spec(json!({"containers": [container]}));
    lines.into_iter().map(|line| line.strip_prefix("containers[0].").unwrap_or(&line).to_string()).collect()
}

fn assert_rows(run: fn(Value) -> Vec<String>, rows: &[(Value, &[&str])]) {
    for (patch, expected) in rows {
        assert_eq!(run(patch.clone()), *expected, "{patch}");
    }
}

#[test]
fn the_pod_is_right() {
    assert_eq!(spec(json!({})), [""; 0]);
}

#[test]
fn containers() {
    let rows: [(Value, &[&str]); 11] = [
        (json!({"image": ""}), &["image Required"]),
        (json!({"imagePullPolicy": "Sometimes"}), &["imagePullPolicy NotSupported"]),
        (json!({"terminationMessagePolicy": "X"}), &["terminationMessagePolicy NotSupported"]),
        (json!({"restartPolicy": "Sometimes"}), &["restartPolicy NotSupported"]),
        (
            json!({"restartPolicyRules": [{"action": "Restart", "exitCodes": {"operator": "In"}}]}),
            &["restartPolicy Required"],
        ),
        (
            json!({"restartPolicy": "Never", "restartPolicyRules": [{"action": "Stop"}]}),
            &["restartPolicyRules[0].action NotSupported", "restartPolicyRules[0].exitCodes Required"],
        ),
        (json!({"ports": [{"containerPort": 1, "hostPort": 65_536}]}), &["ports[0].hostPort Invalid"]),
        (
            json!({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9, "protocol": "TCP"}]}),
            &["ports[1].hostPort Duplicate"],
        ),
        // Another protocol is another port.
        (
            json!({"ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 1, "hostPort": 9, "protocol": "UDP"}]}),
            &[],
        ),
        (
            json!({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                                    {"resourceName": "cpu", "restartPolicy": "NotRequired"}]}),
            &["resizePolicy[1] Duplicate"],
        ),
        (
            json!({"resizePolicy": [{"resourceName": "disk", "restartPolicy": ""}]}),
            &["resizePolicy NotSupported", "resizePolicy Required"],
        ),
    ];
    assert_rows(container, &rows);
}

#[test]
fn init_and_ephemeral_containers() {
    let probe = json!({"exec": {"command": ["x"]}, "successThreshold": 1});
    let rows: [(Value, &[&str]); 5] = [
        (
            json!({"initContainers": [{"name": "i", "image": "i", "lifecycle": {}}]}),
            &["initContainers[0].lifecycle Forbidden"],
        ),
        (
            json!({"initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always", "livenessProbe": probe}]}),
            &[],
        ),
        (
            json!({"initContainers": [{"name": "i", "image": "i", "restartPolicy": "Never", "livenessProbe": probe}]}),
            &["initContainers[0].livenessProbe Forbidden"],
        ),
        (
            json!({"ephemeralContainers": [{"name": "c", "image": "i", "targetContainerName": "x", "ports": [{"containerPort": 1}]}]}),
            &[
                "ephemeralContainers[0].name Duplicate",
                "ephemeralContainers[0].targetContainerName NotFound",
                "ephemeralContainers[0].ports Forbidden",
                "ephemeralContainers Forbidden",
            ],
        ),
        // Init containers run one by one.
        (
            json!({"initContainers": [{"name": "i", "image": "i", "ports": [{"containerPort": 1, "hostPort": 1}]},
                                      {"name": "j", "image": "i", "ports": [{"containerPort": 1, "hostPort": 1}]}]}),
            &[],
        ),
    ];
    assert_rows(spec, &rows);
}

#[test]
fn variables() {
    let field = |path: &str| json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": path}}}]});
    let amount = |fields: Value| json!({"env": [{"name": "A", "valueFrom": {"resourceFieldRef": fields}}]});
    let rows: [(Value, &[&str]); 16] = [
        (json!({"env": [{"name": ""}]}), &["env[0].name Required"]),
        (json!({"env": [{"name": "a b/c"}]}), &[]),
        (json!({"env": [{"name": "A", "valueFrom": {}}]}), &["env[0].valueFrom Invalid"]),
        (
            json!({"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]}),
            &["env[0].valueFrom Invalid"],
        ),
        (field("metadata.name"), &[]),
        (field("metadata.labels['a/b']"), &[]),
        (field("metadata.labels['a b']"), &["env[0].valueFrom.fieldRef Invalid"]),
        (field("metadata.labels"), &["env[0].valueFrom.fieldRef.fieldPath NotSupported"]),
        (field("status.phase"), &["env[0].valueFrom.fieldRef.fieldPath NotSupported"]),
        (field("spec.replicas"), &["env[0].valueFrom.fieldRef.fieldPath Invalid"]),
        (amount(json!({"resource": "limits.cpu", "divisor": "1m"})), &[]),
        (
            amount(json!({"resource": "limits.cpu", "divisor": "1Mi"})),
            &["env[0].valueFrom.resourceFieldRef.divisor Invalid"],
        ),
        (amount(json!({"resource": "limits.gpu"})), &["env[0].valueFrom.resourceFieldRef.resource NotSupported"]),
        (
            json!({"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "S", "key": "a/b"}}}]}),
            &["env[0].valueFrom.secretKeyRef.name Invalid", "env[0].valueFrom.secretKeyRef.key Invalid"],
        ),
        (json!({"envFrom": [{"prefix": "a="}]}), &["envFrom[0].prefix Invalid", "envFrom Invalid"]),
        (json!({"envFrom": [{"configMapRef": {}}]}), &["envFrom[0].configMapRef.name Required"]),
    ];
    assert_rows(container, &rows);
    let file = |volume: &str| json!({"env": [{"name": "A", "valueFrom": {"fileKeyRef": {"volumeName": volume, "path": "f", "key": "k"}}}]});
    assert_eq!(container(file("v")), [""; 0]);
    assert_eq!(container(file("w")), ["env[0].valueFrom.fileKeyRef.volumeName NotFound"]);
}

#[test]
fn mounts() {
    let mount = |fields: Value| {
        let mut mount = json!({"name": "v", "mountPath": "/v"});
        put(&mut mount, &fields);
        json!({"volumeMounts": [mount]})
    };
    let rows: [(Value, &[&str]); 8] = [
        (mount(json!({"mountPath": ""})), &["volumeMounts[0].mountPath Required"]),
        (mount(json!({"subPath": "../a"})), &["volumeMounts.subPath Invalid"]),
        (mount(json!({"subPath": "a", "subPathExpr": "b"})), &["volumeMounts[0].subPathExpr Invalid"]),
        (mount(json!({"mountPropagation": "Up"})), &["volumeMounts.mountPropagation NotSupported"]),
        (mount(json!({"mountPropagation": "Bidirectional"})), &["volumeMounts.mountPropagation Forbidden"]),
        (mount(json!({"recursiveReadOnly": "Enabled"})), &["volumeMounts.recursiveReadOnly Forbidden"]),
        (
            json!({"volumeMounts": [], "volumeDevices": [{"name": "v", "devicePath": "/d"}]}),
            &["volumeDevices[0].name Invalid"],
        ),
        (
            json!({"volumeMounts": [], "volumeDevices": [{"name": "w", "devicePath": "/../d"}]}),
            &["volumeDevices[0].name NotFound", "volumeDevices[0].devicePath Invalid"],
        ),
    ];
    assert_rows(container, &rows);
}

#[test]
fn probes_and_hooks() {
    let rows: [(Value, &[&str]); 10] = [
        (
            json!({"livenessProbe": {"exec": {"command": ["x"]}, "tcpSocket": {"port": 1}}}),
            &["livenessProbe.tcpSocket Forbidden"],
        ),
        (json!({"livenessProbe": {"tcpSocket": {"port": 0}}}), &["livenessProbe.tcpSocket.port Invalid"]),
        (json!({"livenessProbe": {"grpc": {"port": 65_536}}}), &["livenessProbe.grpc.port Invalid"]),
        (json!({"livenessProbe": {"httpGet": {"port": "http", "path": "/"}}}), &[]),
        (
            json!({"readinessProbe": {"httpGet": {"port": 1, "path": "/", "httpHeaders": [{"name": "a b"}]}}}),
            &["readinessProbe.httpGet.httpHeaders Invalid"],
        ),
        (
            json!({"readinessProbe": {"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 1}}),
            &["readinessProbe.terminationGracePeriodSeconds Invalid"],
        ),
        (json!({"readinessProbe": {"exec": {"command": ["x"]}, "successThreshold": 3}}), &[]),
        (json!({"lifecycle": {"postStart": {}}}), &["lifecycle.postStart Required"]),
        (json!({"lifecycle": {"preStop": {"sleep": {"seconds": 0}}}}), &[]),
        (json!({"lifecycle": {"preStop": {"exec": {}}}}), &["lifecycle.preStop.exec.command Required"]),
    ];
    assert_rows(container, &rows);
}

#[test]
fn names_and_words() {
    let rows: [(Value, &[&str]); 13] = [
        (json!({"hostname": "a.b"}), &["hostname Invalid"]),
        (json!({"subdomain": "A"}), &["subdomain Invalid"]),
        (json!({"serviceAccountName": "A"}), &["serviceAccountName Invalid"]),
        (json!({"priorityClassName": "a b"}), &["priorityClassName Invalid"]),
        (json!({"runtimeClassName": ""}), &["runtimeClassName Invalid"]),
        (json!({"preemptionPolicy": "Always"}), &["preemptionPolicy NotSupported"]),
        (json!({"activeDeadlineSeconds": 0}), &["activeDeadlineSeconds Invalid"]),
        (json!({"activeDeadlineSeconds": 2_147_483_648_i64}), &["activeDeadlineSeconds Invalid"]),
        (json!({"readinessGates": [{"conditionType": "a b"}]}), &["readinessGates[0].conditionType Invalid"]),
        (json!({"os": {"name": "plan9"}}), &["os NotSupported"]),
        (json!({"os": {}}), &["os.name Required"]),
        (json!({"os": {"name": "windows"}, "hostPID": true}), &["hostPID Forbidden"]),
        (json!({"overhead": {"cpu": "-1"}}), &["overhead.limits[cpu] Invalid"]),
    ];
    assert_rows(spec, &rows);
}

#[test]
fn name_servers_and_aliases() {
    let rows: [(Value, &[&str]); 9] = [
        (json!({"dnsPolicy": "None"}), &["dnsConfig Required"]),
        (json!({"dnsPolicy": "None", "dnsConfig": {}}), &["dnsConfig.nameservers Required"]),
        (json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}), &[]),
        (
            json!({"dnsConfig": {"nameservers": ["1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4"]}}),
            &["dnsConfig.nameservers Invalid"],
        ),
        (json!({"dnsConfig": {"nameservers": ["1.1.1"]}}), &["dnsConfig.nameservers[0] Invalid"]),
        (json!({"dnsConfig": {"searches": ["_a.b.", ".", "a b"]}}), &["dnsConfig.searches[2] Invalid"]),
        (json!({"dnsConfig": {"options": [{"value": "1"}]}}), &["dnsConfig.options[0] Required"]),
        (json!({"hostAliases": [{"ip": "::1", "hostnames": ["A"]}]}), &["hostAliases[0].hostnames[0] Invalid"]),
        (json!({"hostAliases": [{"hostnames": ["a"]}]}), &["hostAliases[0].ip Invalid"]),
    ];
    assert_rows(spec, &rows);
}

#[test]
fn scheduling() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let term = |fields: Value| {
        let mut term = json!({"topologyKey": "zone"});
        put(&mut term, &fields);
        json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 101, "podAffinityTerm": term}]}}})
    };
    let at = "affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]";
    let weight = format!("{at}.weight Invalid");
    assert_eq!(spec(term(json!({}))), [format!("{at}.weight Invalid")]);
    let both = term(json!({"labelSelector": {}, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}));
    assert_eq!(spec(both), [weight.clone(), format!("{at}.podAffinityTerm.matchLabelKeys[0] Invalid")]);
    // As after the server added the pod's own label to a selector that names it already.
    let merged = json!({
        "labelSelector": {"matchLabels": {"a": "1"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]},
        "matchLabelKeys": ["a"],
    });
    assert_eq!(spec(term(merged)), [weight.clone(), format!("{at}.podAffinityTerm[0] Invalid")]);
    assert_eq!(spec(term(json!({"topologyKey": ""})))[1], format!("{at}.podAffinityTerm.topologyKey Required"));
    let fields = |values: Value| {
        json!({"affinity": {"nodeAffinity": {required: {"nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": values}]}]}}}})
    };
    let at = format!("affinity.nodeAffinity.{required}.nodeSelectorTerms[0].matchFields[0].values");
    assert_eq!(spec(fields(json!(["a", "b"]))), [format!("{at} Required")]);
    assert_eq!(spec(fields(json!(["A"]))), [format!("{at}[0] Invalid")]);
    let rows: [(Value, &[&str]); 3] = [
        (
            json!({"topologySpreadConstraints": [{"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]}),
            &["topologySpreadConstraints[0].topologyKey Required"],
        ),
        (
            json!({"topologySpreadConstraints": [
                {"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule", "nodeAffinityPolicy": "Maybe"}]}),
            &["topologySpreadConstraints[0].nodeAffinityPolicy NotSupported"],
        ),
        (json!({"tolerations": [{"operator": "Exists", "value": "x"}]}), &["tolerations[0].operator Invalid"]),
    ];
    assert_rows(spec, &rows);
}

#[test]
fn security() {
    let rows: [(Value, &[&str]); 9] = [
        (json!({"securityContext": {"runAsUser": -1}}), &["securityContext.runAsUser Invalid"]),
        (
            json!({"securityContext": {"fsGroupChangePolicy": "x"}}),
            &["securityContext.fsGroupChangePolicy NotSupported"],
        ),
        (json!({"securityContext": {"seccompProfile": {}}}), &["securityContext.seccompProfile.type Required"]),
        (
            json!({"securityContext": {"seccompProfile": {"type": "Localhost"}}}),
            &["securityContext.seccompProfile.localhostProfile Required"],
        ),
        (
            json!({"securityContext": {"sysctls": [{"name": "net.a"}, {"name": "net.a"}]}}),
            &["securityContext.sysctls[1].name Duplicate"],
        ),
        (
            json!({"hostNetwork": true, "securityContext": {"sysctls": [{"name": "net.a"}]}}),
            &["securityContext.sysctls[0].name Invalid"],
        ),
        (json!({"hostPID": true, "shareProcessNamespace": true}), &["securityContext.shareProcessNamespace Invalid"]),
        (
            json!({"hostUsers": false, "hostNetwork": true, "hostIPC": true}),
            &["hostNetwork Forbidden", "HostIPC Forbidden"],
        ),
        (json!({"securityContext": {"windowsOptions": {"hostProcess": true}}}), &["hostNetwork Invalid"]),
    ];
    assert_rows(spec, &rows);
    let escalation = json!({"securityContext": {"privileged": true, "allowPrivilegeEscalation": false}});
    assert_eq!(container(escalation), ["securityContext Invalid"]);
    assert_eq!(container(json!({"securityContext": {"procMount": "Unmasked"}})), ["securityContext.procMount Invalid"]);
}

#[test]
fn templates() {
    let run = |template: Value| {
        let mut errors = Errors::default();
        check_template(&Field { value: &template, path: "t".into() }, &mut errors);
        listed(errors)
    };
    let containers = json!([{"name": "c", "image": " i"}]);
    // White space around an image is the pod's matter, and so is the name.
    assert_eq!(run(json!({"spec": {"containers": containers}})), [""; 0]);
    assert_eq!(
        run(json!({"metadata": {"labels": {"a b": ""}}, "spec": {"containers": containers}})),
        ["t.labels Invalid"]
    );
    let cost = json!({"controller.kubernetes.io/pod-deletion-cost": "x"});
    let expected = ["t.annotations[controller.kubernetes.io/pod-deletion-cost] Invalid"];
    assert_eq!(run(json!({"metadata": {"annotations": cost}, "spec": {"containers": containers}})), expected);
    assert_eq!(run(json!({})), ["t.spec.containers Required"]);
}
