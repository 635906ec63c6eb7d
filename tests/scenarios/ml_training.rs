//! ml-training.yaml: why a pod is where it is.

use super::common::{objects, plan, plans, run, scenario};
use super::failures;
use kubesim::model::{Kind, Object};
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

/// Where the pod is at the end.
fn node_of_training(plan: &Plan) -> String {
    let ran = run(plan);
    let pods: Vec<Object> = objects(&ran.world).into_iter().filter(|object| object.kind() == Kind::Pod).collect();
    let pod = pods.iter().filter_map(Object::as_pod).find(|pod| pod.meta.name == "ml-training").unwrap();
    pod.node_name.to_string()
}

fn training_with(set: &[(&str, &str)], variant: &str) -> Plan {
    let set = set.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    plans(&scenario("ml-training"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

#[test]
fn ml_training_depends_on_each_of_its_obstacles() {
    // More memory in use on node-4 than on node-3: the other one.
    let crowded = training_with(&[("pod/batch-4:spec.containers[0].resources.requests.memory", "80Gi")], "base");
    assert_eq!(node_of_training(&crowded), "node-3");
    assert!(!failures(crowded).is_empty());
    // Without its obstacle each of the others is better than node-4: nothing runs there.
    for (path, value, node) in [
        ("spec.nodes[0].cpu", "\"16\"", "node-1"),
        ("spec.nodes[1].labels", "{accelerator: gpu}", "node-2"),
        ("spec.nodes[4].conditions", "{}", "node-5"),
    ] {
        let lifted = training_with(&[(path, value)], "base");
        assert_eq!(node_of_training(&lifted), node);
        assert!(!failures(lifted).is_empty(), "{path}");
        let lifted = training_with(&[(path, value)], "full");
        assert!(!failures(lifted).is_empty(), "{path}");
    }
}

#[test]
fn ml_training_waits_for_room_and_for_nothing_else() {
    let mut without = plan("ml-training", "full");
    without.timeline.clear();
    assert_eq!(node_of_training(&without), "");
    assert_eq!(failures(without).len(), 2, "bound, and Running");
    let intolerant = training_with(&[("pod/ml-training:spec.tolerations", "[]")], "full");
    assert_eq!(node_of_training(&intolerant), "");
}
