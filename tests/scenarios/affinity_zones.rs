//! affinity-zones.yaml: which nodes a pod may have, and which it wants.

use super::common::{plan, plans, scenario};
use super::failures;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(path: &str, value: &str, variant: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("affinity-zones"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

const AFFINITY: &str = "deployment/web:spec.template.spec.affinity";

#[test]
fn affinity_zones_depends_on_each_rule() {
    // Any zone will do: pods go to zone-c.
    let required = format!(
        "{AFFINITY}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator"
    );
    let values = required.replace("operator", "values");
    assert!(!failures(with(&values, "[zone-a, zone-b, zone-c]", "base")).is_empty());
    assert!(!failures(with(&required, "NotIn", "base")).is_empty());
    // Another type is wanted: the loaded nodes are the worst.
    let wanted = format!(
        "{AFFINITY}.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[0].values"
    );
    assert!(!failures(with(&wanted, "[general]", "base")).is_empty());
    // Pods share nodes: nobody waits.
    assert!(!failures(with(&format!("{AFFINITY}.podAntiAffinity"), "null", "base")).is_empty());
    // Without a wish the pods follow free room: the loads change sides.
    let mut moved = plan("affinity-zones", "no-wish");
    for (object, node) in [("load-a", "node-1"), ("load-b", "node-3")] {
        let pod = moved.objects.iter_mut().find(|pod| pod["metadata"]["name"] == object).unwrap();
        std::sync::Arc::make_mut(pod)["spec"]["nodeName"] = node.into();
    }
    assert!(!failures(moved).is_empty());
}

#[test]
fn affinity_zones_depends_on_one_pod_too_many() {
    for variant in ["base", "wider", "soft"] {
        let mut fewer = plan("affinity-zones", variant);
        fewer.timeline.pop();
        assert!(!failures(fewer).is_empty(), "{variant}");
    }
}
