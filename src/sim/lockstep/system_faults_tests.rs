use serde_json::json;

use super::*;
use crate::sim::lockstep::plan_of_system_case;

fn targets(fault: Value) -> Vec<RequestTarget> {
    request_targets(&fault, ObjectTarget { kind: resource(&fault).unwrap(), ..ObjectTarget::default() }).unwrap()
}

/// Process, component, verb and kind that a fault is aimed at.
fn words(fault: Value) -> Vec<String> {
    let word = |target: RequestTarget| {
        let from = target.from.expect("a sender is always named");
        let component = from.component.unwrap_or_else(|| "*".into());
        let verb = target.verb.map_or("*", Verb::as_str);
        let kind = target.object.kind.map_or("*", |kind| kind.info().plural);
        format!("{}/{component} {verb} {kind}", from.process)
    };
    targets(fault).into_iter().map(word).collect()
}

#[test]
fn faults_are_aimed_at_processes_and_at_single_clients() {
    assert_eq!(words(json!({"to": "kcm", "verb": "update"})), ["kcm/* update *"]);
    assert_eq!(
        words(json!({"actor": "replicaset", "verb": "create", "resource": "pods"})),
        ["kcm/replicaset create pods"]
    );
    assert_eq!(words(json!({"actor": "b/deployment"})), ["kcm-b/deployment * *"]);
    assert_eq!(words(json!({"actor": "kubelet"})), ["kubelet/kubelet * *"]);
    assert_eq!(words(json!({"actor": "scheduler-events"})), ["scheduler/scheduler * events"]);
    assert_eq!(words(json!({"actor": "informers"})), ["kcm/* list *", "kcm/* watch *"]);
    assert_eq!(words(json!({"actor": "informers", "verb": "watch", "resource": "pods"})), ["kcm/* watch pods"]);
    // Its Events have a client of their own, its informers have not.
    assert_eq!(
        words(json!({"actor": "scheduler"})),
        ["scheduler/* * pods", "scheduler/* * nodes", "scheduler/* * replicasets"]
    );
    assert_eq!(words(json!({"actor": "scheduler", "verb": "patch", "count": 2})), ["scheduler/* patch pods"]);
}

#[test]
fn a_broken_connection_is_told_with_its_path() {
    let key = |kind, name: &str| crate::model::Key::new(kind, "default", name);
    let text = crate::sim::lockstep::transport::connection_reset;
    let bind = crate::model::Request::Bind { pod: key(Kind::Pod, "web-1"), uid: "u1".into(), node: "n1".into() };
    let path = "http://api/api/v1/namespaces/default/pods/web-1/binding";
    assert_eq!(text(&bind), format!("Post \"{path}\": connection reset by peer"));
    let scale = crate::model::Request::Scale {
        key: key(Kind::Deployment, "web"),
        replicas: 3,
        resource_version: crate::model::Rv(0),
    };
    let path = "http://api/apis/apps/v1/namespaces/default/deployments/web/scale";
    assert_eq!(text(&scale), format!("Put \"{path}\": connection reset by peer"));
    let get = crate::model::Request::Get(crate::model::Key::new(Kind::Node, "", "n1"));
    assert_eq!(text(&get), "Get \"http://api/api/v1/nodes/n1\": connection reset by peer");
}

#[test]
fn what_is_unknown_is_refused_by_name() {
    let case = |fault: Value, action: Value| json!({"input": {"components": ["deployment"], "until": 1, "faults": [fault], "actions": [action]}});
    let error = |fault, action| plan_of_system_case(&case(fault, action)).unwrap_err();
    let (no_fault, no_action) = (json!({"kind": "lostResponse", "to": "kcm"}), json!({"verb": "crash", "t": 0}));
    assert_eq!(error(json!({"kind": "flipBits"}), no_action.clone()), "no fault flipBits yet");
    assert_eq!(error(json!({"kind": "respond", "to": "kcm", "code": 418}), no_action.clone()), "no answer 418 yet");
    assert_eq!(
        error(json!({"kind": "respond", "to": "kcm", "code": 500, "verb": "defragment"}), no_action),
        "no word defragment yet"
    );
    assert_eq!(error(no_fault, json!({"verb": "drain", "t": 0})), "no action drain yet");
}
