//! taints.yaml: what keeps a pod away, what puts it off, and what a toleration does.

use super::common::{plan, plans, scenario};
use super::failures;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(path: &str, value: &str, variant: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("taints"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

#[test]
fn taints_depends_on_each_taint_and_toleration() {
    // Only discouraged, and not at all.
    assert!(!failures(with("spec.nodes[1].taints", "[\"gpu=true:PreferNoSchedule\"]", "base")).is_empty());
    assert!(!failures(with("spec.nodes[1].taints", "[]", "base")).is_empty());
    assert!(!failures(with("spec.nodes[2].taints", "[]", "base")).is_empty());
    // train no longer may, or wants, to be on the GPU node.
    let tolerations = "deployment/train:spec.template.spec.tolerations";
    assert!(!failures(with(tolerations, "[]", "dedicated")).is_empty());
    assert!(!failures(with("spec.nodes[1].labels", "{}", "dedicated")).is_empty());
}

#[test]
fn taints_depends_on_the_taint_that_goes() {
    for variant in ["base", "strict"] {
        let mut without = plan("taints", variant);
        without.timeline.pop();
        assert!(!failures(without).is_empty(), "{variant}");
    }
}
