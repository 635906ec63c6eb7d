//! preemption.yaml: who makes room for a pod of high priority.

use super::common::{objects, plan, plans, run, scenario};
use super::failures;
use kubesim::model::Object;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(path: &str, value: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("preemption"), &overrides).into_iter().find(|plan| plan.variant == "base").unwrap()
}

#[test]
fn preemption_depends_on_priority() {
    // As important as the others: nobody is evicted.
    assert!(!failures(with("priorityclass/critical:value", "100")).is_empty());
    // The batch pod matters more than the shop: one of the shop's goes instead.
    assert!(!failures(with("priorityclass/batch:value", "5000")).is_empty());
    // Nobody comes.
    let mut without = plan("preemption", "base");
    without.timeline.clear();
    assert!(!failures(without).is_empty());
}

#[test]
fn preemption_moves_no_bound_pod() {
    for variant in ["base", "never", "equal"] {
        let plan = plan("preemption", variant);
        let at_start: Vec<(String, String)> = [("web", "node-1"), ("shop-1", "node-2"), ("shop-2", "node-2")]
            .map(|(pod, node)| (pod.to_string(), node.to_string()))
            .to_vec();
        let all = objects(&run(&plan).world);
        for (name, node) in at_start {
            let pod = all.iter().filter_map(Object::as_pod).find(|pod| pod.meta.name == name.as_str()).unwrap();
            assert_eq!(pod.node_name, node.as_str(), "{variant}: {name}");
        }
    }
}
