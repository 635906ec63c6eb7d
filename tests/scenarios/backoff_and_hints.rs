//! backoff-and-hints.yaml: what wakes a pod.

use super::common::{plan, plans, scenario};
use super::failures;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

fn with(variant: &str, path: &str, value: &str) -> Plan {
    let overrides = Overrides { set: vec![(path.to_string(), value.to_string())], ..Overrides::default() };
    plans(&scenario("backoff-and-hints"), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

#[test]
fn patient_pods_are_woken_by_room_only() {
    // Node-3 is large enough: they do not sleep through it.
    let large = with("base", "spec.files[\"node-3.yaml\"][0].status.allocatable.cpu", "2");
    assert!(failures(large).iter().any(|failure| failure.starts_with("at 59s")));
    // Nobody leaves: nothing wakes them.
    let mut quiet = plan("backoff-and-hints", "base");
    quiet.timeline.truncate(4);
    let failed = failures(quiet);
    assert!(failed.iter().any(|failure| failure.contains("AssignedPodDelete")), "{failed:?}");
    assert!(failed.iter().any(|failure| failure.contains("spec.nodeName=node-2")), "{failed:?}");
}

#[test]
fn the_gate_decides_whether_back_off_is_waited_for() {
    let on = "[\"--feature-gates=SchedulerPopFromBackoffQ=true\"]";
    let failed = failures(with("base", "spec.controlPlane.scheduler.flags", on));
    assert_eq!(failed, [""; 0]);
    let off = "[\"--feature-gates=SchedulerPopFromBackoffQ=false\"]";
    let failed = failures(with("base", "spec.controlPlane.scheduler.flags", off));
    assert!(failed.iter().any(|failure| failure.starts_with("at 1m32s")), "{failed:?}");
}

#[test]
fn a_hint_that_asks_for_all_terms_is_what_misses_the_deletion() {
    // With one term only the deletion wakes the pod at once, and the flush finds nobody.
    let terms = "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    let one = "[{labelSelector: {matchLabels: {app: guarded}}, topologyKey: topology.kubernetes.io/zone}]";
    let failed = failures(with("missed", &format!("pod/guard:{terms}"), one));
    assert!(failed.iter().any(|failure| failure.starts_with("at 5m29s")), "{failed:?}");
    assert!(failed.iter().any(|failure| failure.contains("UnschedulableTimeout")), "{failed:?}");
}
