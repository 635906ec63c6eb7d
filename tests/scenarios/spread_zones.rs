//! spread-zones.yaml: who keeps zones even, and what happens when one is full.

use super::common::{objects, plan, plans, run, scenario};
use super::failures;
use kubesim::model::{Name, Object};
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(path: &str, value: &str, variant: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("spread-zones"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

const CONSTRAINT: &str = "deployment/web:spec.template.spec.topologySpreadConstraints[0]";

#[test]
fn spread_zones_depends_on_the_constraint() {
    // Two more are allowed: nobody waits. Other pods are counted: nobody is spread. Nodes instead of zones.
    assert!(!failures(with(&format!("{CONSTRAINT}.maxSkew"), "2", "base")).is_empty());
    assert!(!failures(with(&format!("{CONSTRAINT}.labelSelector"), "{matchLabels: {app: other}}", "base")).is_empty());
    assert!(!failures(with(&format!("{CONSTRAINT}.topologyKey"), "kubernetes.io/hostname", "base")).is_empty());
    // Without one the defaults share with free room, which is elsewhere now.
    assert!(!failures(with("spec.nodes[2].cpu", "\"64\"", "none")).is_empty());
}

#[test]
fn spread_zones_depends_on_the_full_zone() {
    assert!(!failures(with("spec.nodes[2].cpu", "\"4\"", "base")).is_empty());
    let mut without = plan("spread-zones", "base");
    without.timeline.pop();
    assert!(!failures(without).is_empty());
}

#[test]
fn spread_zones_moves_nobody() {
    // Whoever was bound before there is room is where it was.
    let nodes = |plan: &Plan| -> Vec<(Name, Name)> {
        let all = objects(&run(plan).world);
        let pods = all.iter().filter_map(Object::as_pod).filter(|pod| pod.meta.name.as_str().starts_with("web-"));
        pods.map(|pod| (pod.meta.name.clone(), pod.node_name.clone())).collect()
    };
    for variant in ["base", "anyway", "none"] {
        let plan = plan("spread-zones", variant);
        let mut before = plan.clone();
        before.timeline.pop();
        let (before, after) = (nodes(&before), nodes(&plan));
        assert_eq!(before.len(), 15);
        for (earlier, later) in before.iter().zip(&after) {
            assert!(earlier.0 == later.0 && (earlier.1.is_empty() || earlier.1 == later.1), "{earlier:?} {later:?}");
        }
    }
}
