//! docs/operators.md is run as it stands there, and operators that run in pods live and die with them.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "operators/fields.rs"]
mod fields;
#[path = "operators/pods.rs"]
mod pods;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kubesim::experiment::single;
use kubesim::model::{Action, Kind, Object, Record, Span, Time};
use kubesim::sim::{Plan, World};

use common::{plan_of, run, run_until, workload};

/// The page's scenario.
fn example() -> String {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/operators.md")).unwrap();
    let blocks: Vec<&str> = text.split("```").skip(1).step_by(2).collect();
    assert_eq!(blocks.len(), 1, "run the other examples, too");
    blocks[0].strip_prefix("yaml\n").unwrap().to_string()
}

fn unmet(plan: Plan) -> Vec<String> {
    let summary = single::measure(&Arc::new(plan)).unwrap();
    assert!(!summary.expectations.is_empty(), "it expects something");
    let unmet = summary.expectations.into_iter().filter(|expectation| !expectation.met);
    unmet.map(|unmet| format!("{} {}: {}", unmet.that, unmet.when, unmet.detail)).collect()
}

#[test]
fn the_example_of_the_page_is_true() {
    assert_eq!(unmet(plan_of("operators-page", &example())), [""; 0]);
}

#[test]
fn the_example_of_the_page_can_fail() {
    let fewer = example().replacen("spec: {replicas: 2}", "spec: {replicas: 1}", 1);
    assert_eq!(unmet(plan_of("operators-page-fewer", &fewer)).len(), 1, "the number of pods");
    let for_ever = example().replacen(", until: 2m", "", 1);
    let unmet = unmet(plan_of("operators-page-for-ever", &for_ever));
    assert_eq!(unmet.len(), 2, "database-7 has neither a status nor pods: {unmet:?}");
}

/// Pods whose creation waited for the client's limiter count as any: one token in 2 s, two objects with a pod each.
#[test]
fn what_the_clients_limit_holds_back_counts_once_it_happens() {
    let plan = plan_of(
        "operators-held-back",
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 2m\n  nodes: [{count: 2}]\n  operators: \
         [{name: op, of: {kind: Database, count: 2}, client: {qps: 0.5, burst: 1}, reconcile: {requests: [{create: \
         {count: 1, template: {apiVersion: v1, kind: Pod, spec: {containers: [{name: c, image: i}]}}}}]}}]\n",
    );
    let records = run(&plan).records;
    let creates = records.iter().filter(|record| record.action == Action::Create && record.process == "op");
    let details: Vec<String> = creates.map(|record| record.detail.to_string()).collect();
    assert!(details.iter().any(|detail| detail.starts_with("held back by the client's rate limit for")), "{details:?}");
    let summary = single::measure(&Arc::new(plan)).unwrap();
    assert_eq!(summary.kpis["pods_created_total"].0, Some(2.0));
    assert!(summary.kpis["pod_start_seconds_p99"].0.is_some_and(|seconds| seconds > 0.0));
}

/// controller-runtime's caches are warm before the election, and its controllers, with their queues, begin after it.
#[test]
fn a_standby_has_warm_caches_and_an_empty_queue() {
    let text = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 2m\n  nodes: [{count: 2}]\n  operators: \
                [{name: op, replicas: 2, generationChangedPredicate: true, of: {kind: Database, count: 3}, reconcile: {requests: [{update-status: {phase: \
                Ready}}]}}]\n  faults: [{at: 60s, duration: 1h, kill: op/leader}]\n";
    let plan = plan_of("operators-standby", text);
    let records = run(&plan).records;
    let died = records.iter().find(|record| record.action == Action::ProcessStop).expect("the leader is killed");
    let of = |action: Action, is_standby: bool| {
        let records =
            records.iter().filter(move |record| record.action == action && record.process.as_str().starts_with("op"));
        records.filter(move |record| (record.process != died.process) == is_standby).collect::<Vec<_>>()
    };
    assert_eq!(of(Action::Enqueue, false).len(), 3);
    // The standby lists when it starts, and hears of the objects when it leads, without a request.
    let [heard, listed] = [of(Action::Enqueue, true), of(Action::Relist, true)];
    assert_eq!((heard.len(), listed.len()), (3, 1), "{heard:?} {listed:?}");
    assert!(listed[0].time < died.time && heard.iter().all(|enqueue| enqueue.time > died.time));
}

/// An operator in the pod of a Deployment, which looks at its objects every two seconds.
fn in_a_pod(test: &str, disturbance: &str) -> Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 2m\n  nodes: [{{count: 2}}]\n  operators:\n  \
         - {{name: op, runsIn: deployment/op, of: {{kind: Database, count: 3}}, reconcile: {{requeueAfter: 2s}}}}\n  \
         {disturbance}\n"
    );
    plan_of(&format!("operators-{test}"), &(text + &workload("Deployment", "op", 1)))
}

/// A start or an end of a process of the operator.
#[derive(Debug, PartialEq)]
struct Turn {
    second: i64,
    process: String,
    starts: bool,
}

fn turns(records: &[Record], start: Time) -> Vec<Turn> {
    let turn = |record: &Record| {
        let starts = match record.action {
            Action::ProcessStart => true,
            Action::ProcessStop => false,
            _ => return None,
        };
        let process = record.process.to_string();
        let second = (record.time - start).0 / 1_000_000_000;
        (process == "op" || process.starts_with("op#")).then_some(Turn { second, process, starts })
    };
    records.iter().filter_map(turn).collect()
}

/// Runs it, checks that it works before and after and never while none of its processes runs; gives the turns.
fn lives(test: &str, disturbance: &str) -> (Vec<Turn>, World) {
    let plan = in_a_pod(test, disturbance);
    let ran = run(&plan);
    let turns = turns(&ran.records, plan.start_at);
    let reconciles = ran.records.iter().filter(|r| r.action == Action::Reconcile && r.component == "op");
    let mut before_and_after = (0, 0);
    for reconcile in reconciles {
        let of_process = |record: &&Record| record.process == reconcile.process && record.id < reconcile.id;
        let last = ran
            .records
            .iter()
            .filter(of_process)
            .rfind(|record| matches!(record.action, Action::ProcessStart | Action::ProcessStop));
        assert_eq!(last.map(|last| last.action), Some(Action::ProcessStart), "{test}: {reconcile:?}");
        match (reconcile.time - plan.start_at).0 / 1_000_000_000 {
            ..60 => before_and_after.0 += 1,
            _ => before_and_after.1 += 1,
        }
    }
    assert!(before_and_after.0 > 30 && before_and_after.1 > 30, "{test}: {before_and_after:?}");
    (turns, ran.world)
}

/// The node of the operator's pod that stays.
fn node(world: &World) -> String {
    let pods = world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod);
    let nodes: Vec<String> = pods.filter(|pod| !pod.meta.is_deleting()).map(|pod| pod.node_name.to_string()).collect();
    assert_eq!(nodes.len(), 1);
    nodes[0].clone()
}

/// One process, an end within some seconds from 1m on, and a successor after it.
fn assert_hand_over(test: &str, turns: &[Turn]) {
    let [first, end, successor] = turns else { panic!("{test}: {turns:?}") };
    assert!(first.starts && first.second < 15 && first.process == "op", "{test}: {turns:?}");
    assert!(!end.starts && (60..65).contains(&end.second) && end.process == "op", "{test}: {turns:?}");
    assert!(successor.starts && (end.second..end.second + 15).contains(&successor.second), "{test}: {turns:?}");
}

#[test]
fn an_operator_in_a_pod_starts_with_its_container() {
    let plan = in_a_pod("alone", "");
    let ran = run(&plan);
    let turns = turns(&ran.records, plan.start_at);
    assert!(matches!(&turns[..], [only] if only.starts && only.process == "op"), "{turns:?}");
    let start = ran.records.iter().find(|r| r.action == Action::ProcessStart && r.process == "op").unwrap();
    let cause = ran.records.iter().find(|record| record.id == start.cause).unwrap();
    assert_eq!(cause.key.as_ref().map(|key| key.kind), Some(Kind::Pod), "{cause:?}");
}

#[test]
fn a_killed_operator_in_a_pod_comes_back() {
    assert_hand_over("kill", &lives("kill", "faults: [{at: 1m, duration: 5s, kill: op}]").0);
}

#[test]
fn an_operator_ends_with_its_pod_and_the_next_pod_runs_the_next() {
    let (turns, _) = lives("delete", "timeline: [{at: 1m, kubectl: delete pod -l app=op}]");
    assert_hand_over("delete", &turns);
}

/// kubectl drain, as it can be written: cordon the node, and delete its pods.
#[test]
fn an_operator_goes_through_a_drain_of_its_node() {
    let (before, _) = run_until(&in_a_pod("drain-before", ""), Span::from_seconds(59));
    let drained = node(&before);
    let (turns, after) = lives(
        "drain",
        &format!("timeline: [{{at: 1m, kubectl: cordon {drained}}}, {{at: 61s, kubectl: delete pod -l app=op}}]"),
    );
    assert_hand_over("drain", &turns);
    assert_ne!(node(&after), drained);
}

#[test]
fn an_operator_scaled_to_zero_stops_and_scaled_up_starts() {
    let (turns, _) = lives(
        "scale",
        "timeline: [{at: 1m, kubectl: scale deployment/op --replicas=0}, {at: 65s, kubectl: scale deployment/op --replicas=1}]",
    );
    assert_hand_over("scale", &turns);
}
