//! optimistic-assume.yaml: what a scheduler gives away that counts pods only once they are bound.

use super::common::{plan, plans, run, scenario};
use super::failures;
use kubesim::model::{Action, Record};
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(variant: &str, path: &str, value: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("optimistic-assume"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

#[test]
fn nothing_is_sold_twice_where_bindings_are_seen_at_once_or_there_is_room() {
    // 1 ms to all caches: the first pods are seen bound before the last are placed.
    assert!(!failures(with("no-assume", "spec.controlPlane.apiServer.watch", "1ms")).is_empty());
    // 24Gi: room for all twelve.
    for variant in ["base", "no-assume", "textbook"] {
        assert!(!failures(with(variant, "spec.nodes.0.memory", "24Gi")).is_empty(), "{variant}");
    }
    // What the variants are about.
    assert!(!failures(with("base", "spec.model.assume", "false")).is_empty());
    assert!(!failures(with("base", "deployment/cache:spec.template.spec.containers.0.resources", "{}")).is_empty());
}

fn of(records: &[Record], action: Action) -> Vec<&Record> {
    records.iter().filter(|record| record.action == action && record.process != "kubectl").collect()
}

#[test]
fn the_kubelet_refuses_in_the_order_in_which_it_is_told() {
    let ran = run(&plan("optimistic-assume", "no-assume"));
    let verdicts: Vec<String> =
        of(&ran.records, Action::Admit).iter().map(|record| record.detail.to_string()).collect();
    // Four of 2Gi fill 8Gi.
    assert_eq!(verdicts[..4], ["admitted"; 4]);
    assert_eq!(verdicts[4..], ["OutOfmemory"; 8]);
    assert!(of(&ran.records, Action::Assume).is_empty() && of(&ran.records, Action::Forget).is_empty());
    let ran = run(&plan("optimistic-assume", "base"));
    assert_eq!(of(&ran.records, Action::Assume).len(), 4);
    assert_eq!(of(&ran.records, Action::Admit).len(), 4);
}
