//! What may change in a pod, and what may not: rows that no recorded case holds.

use serde_json::{Value, json};

use super::super::super::{Errors, Field, Subresource};
use super::check_update;
use super::tests::{listed, pod, put};

/// What is refused when these fields of a pod change, from the first patch to the second.
fn update(part: Subresource, before: &Value, after: &Value) -> Vec<String> {
    let (mut old, mut new) = (pod(), pod());
    put(&mut old, before);
    put(&mut new, before);
    put(&mut new, after);
    let mut errors = Errors::default();
    check_update(&Field::root(&old), &Field::root(&new), part, &mut errors);
    listed(errors)
}

#[test]
fn changes() {
    let main = |before: Value, after: Value| update(Subresource::Main, &before, &after);
    let tolerate = |seconds: i64| json!({"spec": {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]}});
    assert_eq!(main(tolerate(1), tolerate(2)), [""; 0]);
    assert_eq!(main(tolerate(1), json!({"spec": {"tolerations": []}})), ["spec.tolerations Forbidden"]);
    let gates = |names: &[&str]| json!({"spec": {"schedulingGates": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()}});
    assert_eq!(main(gates(&["a"]), gates(&["a", "b"])), ["spec.schedulingGates[1].name Forbidden"]);
    let grace = |seconds: i64| json!({"spec": {"terminationGracePeriodSeconds": seconds}});
    assert_eq!(main(grace(-1), grace(1)), [""; 0]);
    assert_eq!(main(grace(-1), grace(-5)), [""; 0]);
    assert_eq!(main(grace(-1), grace(2)), ["spec Forbidden"]);
    let deadline = |seconds: Value| json!({"spec": {"activeDeadlineSeconds": seconds}});
    assert_eq!(main(deadline(json!(5)), deadline(Value::Null))[0], "spec.activeDeadlineSeconds Invalid");
    assert_eq!(main(deadline(json!(5)), deadline(json!(4))), [""; 0]);
    let image = json!({"spec": {"containers": [{"name": "c", "image": " j"}]}});
    assert!(main(json!({}), image).contains(&"spec.containers[0].image Invalid".to_string()));
    assert_eq!(main(json!({}), json!({"spec": {"hostname": "h"}})), ["spec Forbidden"]);
}

#[test]
fn changes_of_gated_pods() {
    let required = |terms: Value| json!({"spec": {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}});
    let exists = |keys: &[&str]| json!({"matchExpressions": keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect::<Vec<_>>()});
    let gated = |patch: &Value| {
        let mut patch = patch.clone();
        patch["spec"]["schedulingGates"] = json!([{"name": "a"}]);
        patch
    };
    let run = |before: &Value, after: &Value| update(Subresource::Main, &gated(before), after);
    let none = json!({"spec": {}});
    let one = required(json!([exists(&["a"])]));
    assert_eq!(run(&none, &one), [""; 0]);
    assert_eq!(run(&one, &required(json!([exists(&["a", "b"])]))), [""; 0]);
    let terms = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    assert_eq!(run(&one, &required(json!([exists(&["b"])]))), [format!("{terms}[0] Invalid")]);
    assert_eq!(run(&one, &required(json!([exists(&["a"]), exists(&["b"])]))), [format!("{terms} Invalid")]);
    assert_eq!(run(&one, &json!({"spec": {"affinity": null}})), [format!("{terms} Invalid")]);
    assert_eq!(update(Subresource::Main, &none, &one), ["spec Forbidden"]);
    let pods = json!({"spec": {"affinity": {"podAffinity": {}}}});
    assert_eq!(run(&none, &pods), ["spec Forbidden"]);
}

#[test]
fn resizes() {
    let with =
        |resources: Value| json!({"spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}});
    let run = |before: Value, after: Value| update(Subresource::Resize, &with(before), &with(after));
    let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
    assert_eq!(run(cpu("1"), cpu("2")), [""; 0]);
    assert_eq!(run(cpu("1"), json!({"requests": {"cpu": "1", "memory": "1Gi"}})), [""; 0]);
    let removed = run(json!({"requests": {"cpu": "1", "memory": "1"}}), cpu("1"));
    assert_eq!(removed, ["spec.containers[0].resources.requests Forbidden"]);
    assert_eq!(run(json!({}), cpu("1")), ["spec Invalid"]);
    let device = json!({"requests": {"cpu": "1", "a.b/c": "1"}, "limits": {"a.b/c": "1"}});
    assert_eq!(run(cpu("1"), device), ["spec Forbidden"]);
    let init = |resources: Value, policy: &str| {
        json!({"spec": {"initContainers": [{"name": "i", "image": "i", "resources": resources,
            "resizePolicy": [{"resourceName": "cpu", "restartPolicy": policy}]}],
            "containers": [{"name": "c", "image": "i", "resources": cpu("1")}]}})
    };
    let run = |policy: &str| update(Subresource::Resize, &init(cpu("1"), policy), &init(cpu("2"), policy));
    assert_eq!(run("NotRequired"), [""; 0]);
    assert_eq!(run("RestartContainer"), ["spec.initContainers[0] Forbidden"]);
    let deaf = json!({"status": {"containerStatuses": [{"name": "c", "state": {"running": {}}}]}});
    assert_eq!(update(Subresource::Resize, &deaf, &json!({})), ["spec Forbidden"]);
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}, "spec": {"nodeName": "n"}});
    assert_eq!(update(Subresource::Resize, &mirror, &json!({})), [" Forbidden"]);
}

#[test]
fn changes_of_the_status() {
    let ended = json!({
        "spec": {"restartPolicy": "Never"},
        "status": {"qosClass": "Burstable", "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]},
    });
    let run = |status: Value| update(Subresource::Status, &ended, &json!({"status": status}));
    let running = json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]});
    assert_eq!(run(running), ["status.containerStatuses[0].state Forbidden"]);
    assert_eq!(run(json!({"qosClass": "BestEffort"})), ["status.qosClass Invalid"]);
    assert_eq!(run(json!({"nominatedNodeName": "A"})), ["status.nominatedNodeName Invalid"]);
}
