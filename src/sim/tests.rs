//! Processes, faults and people in small worlds.

use std::sync::Arc;

use serde_json::json;

use super::plan::{End, FaultAction, FaultPlan, KubernetesVersion, Plan, ProcessRef, RateLimit, ResyncPlan};
use super::{Ending, Observer, World, lockstep};
use crate::model::{Action, Kind, Name, Record, Span};

/// A world without latencies, and somebody who patches something at 0 s.
fn plan() -> Plan {
    let case = json!({
        "case": "small", "controllers": ["replicaset"], "until": 100,
        "objects": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}],
        "steps": [{"t": 0, "op": "patch", "kind": "ReplicaSet", "name": "web", "patch": {"spec": {"replicas": 1}}}],
    });
    lockstep::plan_of_controller_case(&case).expect("a plan")
}

fn kill(process: &str, at_s: i64, duration_s: Option<i64>) -> FaultPlan {
    let action = FaultAction::Kill { process: ProcessRef::process(process), restart_after: Span::from_seconds(1) };
    FaultPlan::new(Span::from_seconds(at_s), duration_s.map(Span::from_seconds), action, format!("kill {process}"))
}

#[derive(Default)]
struct Seen(Vec<Record>);

impl Observer for Seen {
    fn record(&mut self, record: &Record) {
        self.0.push(record.clone());
    }
}

fn run(plan: Plan) -> (World, Vec<Record>, Ending) {
    let mut world = World::new(Arc::new(plan)).expect("the objects can exist");
    let mut seen = Seen::default();
    let ending = world.run(&mut seen);
    (world, seen.0, ending)
}

fn times(records: &[Record], action: Action, process: &str, plan_start: crate::model::Time) -> Vec<i64> {
    let of = |record: &&Record| record.action == action && record.process == process;
    records.iter().filter(of).map(|record| (record.time - plan_start).0 / 1_000_000_000).collect()
}

#[test]
fn a_process_stays_down_while_any_fault_holds_it() {
    let mut plan = plan();
    let start = plan.start_at;
    // Down from 10 to 40, and from 20 to 80: the first start, at 40, must not come.
    let name = "kube-controller-manager";
    plan.faults = vec![kill(name, 10, Some(30)), kill(name, 20, Some(60))];
    let (_, records, _) = run(plan);
    assert_eq!(times(&records, Action::ProcessStop, name, start), [10]);
    assert_eq!(times(&records, Action::ProcessStart, name, start), [0, 80]);
}

#[test]
fn faults_one_after_the_other_each_strike() {
    let mut plan = plan();
    let start = plan.start_at;
    // The second begins when the process comes back from the first.
    plan.faults = vec![kill("double", 10, Some(10)), kill("double", 20, None)];
    let (_, records, _) = run(plan);
    assert_eq!(times(&records, Action::ProcessStart, "double", start).last(), Some(&21));
}

#[test]
fn what_people_do_while_kubectl_is_down_is_lost_with_a_word() {
    let mut plan = plan();
    plan.timeline[0].at = Span::from_seconds(15);
    plan.faults = vec![kill("kubectl", 10, Some(10))];
    let (_, records, _) = run(plan);
    assert!(records.iter().any(|record| record.action == Action::Decide && record.process == "kubectl"));
    assert!(!records.iter().any(|record| record.action == Action::Patch));
}

#[test]
fn lists_of_informers_wait_for_a_token_and_watches_do_not() {
    let mut plan = plan();
    plan.processes[0].client = Some(RateLimit { qps: 0.125, burst: 1 });
    let (name, start) = ("kube-controller-manager", plan.start_at);
    // One request in 8 s: the second list waits for it, and the components for the list.
    (plan.version, plan.gates) = (KubernetesVersion::V1_32, KubernetesVersion::V1_32.gates());
    let (_, mut records, _) = run(plan.clone());
    // A controller's handler lists too.
    records.retain(|record| record.component.is_empty());
    assert_eq!(times(&records, Action::List, name, start), [0, 8]);
    assert_eq!(times(&records, Action::Watch, name, start), [0, 8]);
    (plan.version, plan.gates) = (KubernetesVersion::V1_36, KubernetesVersion::V1_36.gates());
    let (_, records, _) = run(plan);
    assert_eq!(times(&records, Action::Watch, name, start), [0, 0]);
}

#[test]
fn a_run_of_no_length_ends_where_it_begins() {
    let mut plan = plan();
    plan.end = End::After(Span::ZERO);
    let (world, records, ending) = run(plan);
    assert_eq!((ending, world.elapsed()), (Ending::Duration, Span::ZERO));
    assert!(records.iter().any(|record| record.action == Action::User), "the first instant is whole");
}

#[test]
fn a_resync_period_of_zero_is_none() {
    let mut plan = plan();
    plan.processes[0].resync = ResyncPlan::Every(Span::ZERO);
    plan.event_budget = 10_000;
    assert_eq!(run(plan).2, Ending::Duration);
}

#[test]
fn a_namespace_may_be_described_after_its_objects() {
    let mut plan = plan();
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"a": "b"}}});
    plan.objects.push(Arc::new(namespace));
    let (world, _, _) = run(plan);
    let shop = world.true_object(Kind::Namespace, &Name::EMPTY, &Name::new("shop")).expect("it was created");
    assert_eq!(shop.meta().labels.get_str("a").map(Name::as_str), Some("b"));
}
