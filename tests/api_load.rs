//! API servers under load, from a scenario file to the end of the run.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::sync::Arc;

use common::{Keep, Ran, assert_same_records, plan, plan_of, run, workload};
use kubesim::apiserver::flow_control::LevelName;
use kubesim::model::api::ObjectSelector;
use kubesim::model::{Action, Kind, Object, Span};
use kubesim::sim::plan::{ApiServerSettings, Limits};
use kubesim::sim::{Plan, World};

/// 60 ReplicaSets without pods: one status write each. 30 workers, no client limit, 1 ms each way, no commit time.
fn many(test: &str, server: &str) -> Plan {
    let sets: String = (0..60).map(|number| workload("ReplicaSet", &format!("key-{number:02}"), 0)).collect();
    let scenario = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
spec:
  duration: 10m
  nodes: [{{count: 1}}]
  controlPlane:
    controllerManager: {{flags: [--concurrent-replicaset-syncs=30, --kube-api-qps=-1]}}
    apiServer: {{request: 1ms, commit: 0s, reply: 1ms, {server}}}
{sets}"#
    );
    plan_of(test, &scenario)
}

/// From the first status write's arrival to the last one's effect, in ms.
fn writes(ran: &Ran) -> (f64, f64) {
    let of = |record: &&kubesim::model::Record| {
        record.action == Action::UpdateStatus && record.detail.to_string().is_empty()
    };
    let times: Vec<f64> =
        ran.records.iter().filter(of).map(|r| (r.time - ran.records[0].time).as_seconds() * 1e3).collect();
    assert_eq!(times.len(), 60, "every key is written once");
    (times[0], times[59])
}

fn observed(world: &World) -> usize {
    let everything = ObjectSelector::everything();
    let sets = world.api().list(Kind::ReplicaSet, None, &everything);
    let seen = |object: &&Object| object.as_replica_set().unwrap().status.observed_generation == 1;
    sets.iter().filter(seen).count()
}

#[test]
fn a_server_far_from_full_does_what_a_server_without_limits_does() {
    let limited = plan("quickstart", "");
    assert!(matches!(limited.api_server.limits, Limits::PriorityAndFairness { seats: 600, .. }));
    let free = Plan { api_server: ApiServerSettings::UNLIMITED, ..limited.clone() };
    assert_same_records("quickstart", &run(&limited).records, &run(&free).records);
}

#[test]
fn a_server_does_so_many_requests_a_second() {
    // Writes of 10 ms on 2 executors, 30 at a time: they share and end together after 150 ms; a reply and the next request
    // of each worker take 2 ms, then 150 ms for the other 30.
    let ran = run(&many("rate", "capacity: {requestsPerSecond: 200, executors: 2, contention: 0}"));
    let (first, last) = writes(&ran);
    assert!((last - first - 152.0).abs() < 1e-3, "from {first} to {last}");
    assert_eq!(observed(&ran.world), 60);
}

#[test]
fn a_crowd_is_slower_than_a_few() {
    let last = |workers: u32| {
        let mut plan = many("crowd", "capacity: {requestsPerSecond: 200, executors: 2, contention: 0.1}");
        let kubesim::sim::plan::ComponentPlan::ReplicaSet(queue) = &mut plan.processes[0].components[0] else {
            panic!()
        };
        queue.workers = workers;
        writes(&run(&plan)).1
    };
    // One worker leaves an executor idle: 60 rounds of 12 ms. Three cost 10 * 3 / 2 * (1 + 0.1 / 2) = 15.75 ms and 2 ms of
    // travel a round: 20 rounds, 355 ms. 30 at a time cost 150 ms * (1 + 0.1 * 28 / 2) = 360 ms, twice.
    let (few, best, many) = (last(1), last(3), last(30));
    assert!(best < few && best < many / 1.5, "{few} {best} {many}");
}

#[test]
fn the_older_limit_refuses_and_everything_is_done_in_the_end() {
    let flags = "flags: [--enable-priority-and-fairness=false, --max-mutating-requests-inflight=5]";
    let ran = run(&many("older", &format!("capacity: {{work: 20ms, executors: 5}}, {flags}")));
    assert!(ran.world.counters().refused > 0);
    let refused = ran.records.iter().filter(|record| record.detail.to_string().starts_with("429 ")).count() as u64;
    assert_eq!(refused, ran.world.counters().refused);
    assert_eq!(observed(&ran.world), 60);
    // At most five were in work at any time, so nobody was slowed down.
    let answers: u64 = ran
        .world
        .answers()
        .filter(|((verb, kind, code), _)| (*verb, *kind, *code) == ("PUT", Kind::ReplicaSet, 429))
        .map(|(_, n)| *n)
        .sum();
    assert_eq!(answers, refused);
}

#[test]
fn requests_wait_for_seats_of_their_level() {
    // 30 seats in all: workload-high has 30 * 40 / 245 = 4.9, so 5. Each request takes 20 ms. Controller manager and scheduler
    // open six watches: five at 1 ms, the sixth at 21 ms. Writes begin at 23 ms on the four other seats and end at 43, 63,
    // ... ms; on the seat of the sixth watch from 41 ms on, and end at 61, 81, ... ms. Until 281 ms that is 4 * 12 + 12 = 60.
    let flags = "flags: [--max-requests-inflight=20, --max-mutating-requests-inflight=10]";
    let ran = run(&many("seats", &format!("capacity: {{work: 20ms, executors: 100}}, {flags}")));
    // A reply and the next request of a worker take 2 ms, in which others are served: no seat is ever free.
    let (first, last) = writes(&ran);
    assert!((last - first - 238.0).abs() < 1e-3, "from {first} to {last}");
    assert_eq!(ran.world.counters().refused, 0);
    let level =
        ran.world.servers().flow_controls().next().unwrap().counts().nth(LevelName::WorkloadHigh as usize).unwrap();
    assert!(level.dispatched >= 60 && level.waiting == 0 && level.seats_in_use == 0);
}

#[test]
fn whoever_waits_too_long_is_refused() {
    // One seat of workload-high, work of 1 s, and nobody waits longer than 4 s / 4.
    let flags = "flags: [--max-requests-inflight=3, --max-mutating-requests-inflight=2, --request-timeout=4s]";
    let ran = run(&many(
        "time-out",
        &format!("capacity: {{work: 10ms, workByVerb: {{update: 1s}}, executors: 100}}, {flags}"),
    ));
    let late = ran.records.iter().filter(|record| record.detail.to_string().contains("(time-out)")).count();
    assert!(late > 0);
    assert_eq!(observed(&ran.world), 60, "everything is done in the end");
}

#[test]
fn a_server_that_lags_shows_changes_later() {
    let lags = |server: &str| {
        let ran = run(&many("lag", server));
        let seen = |record: &&kubesim::model::Record| {
            record.action == Action::Deliver
                && record.process == "kube-controller-manager"
                && record.key.as_ref().unwrap().kind == Kind::ReplicaSet
        };
        ran.records.iter().filter(seen).map(|record| record.time - ran.records[0].time).max().unwrap()
    };
    // kube-controller-manager is the first process and uses the first server.
    let (fresh, late) = (lags("watch: 0s"), lags("watch: 0s, replicas: 2, lag: [300ms, 0s]"));
    // Without a lag its caches begin when its streams are open, at 2 ms; with it when its server has what was there at the
    // start, at 300 ms. So it writes 298 ms later, and hears of that 300 ms after it.
    assert_eq!(late - fresh, Span::from_milliseconds(598));
    assert_eq!(lags("watch: 0s, replicas: 2, lag: [0s, 300ms]"), fresh);
}

#[test]
fn processes_are_spread_over_the_servers() {
    let plan = many("spread", "replicas: 2");
    let world = World::new(Arc::new(plan.clone())).unwrap();
    let servers: Vec<u16> = (0..plan.processes.len()).map(|process| world.servers().of(process)).collect();
    assert_eq!(servers, [0, 1, 0, 1]);
}

#[test]
fn a_clone_in_mid_run_keeps_who_waits() {
    let flags = "flags: [--max-requests-inflight=20, --max-mutating-requests-inflight=10]";
    let plan = many("clone", &format!("capacity: {{work: 20ms, executors: 4}}, {flags}"));
    let whole = run(&plan);
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    let mut keep = Keep::default();
    world.run_until(plan.start_at + Span::from_milliseconds(100), &mut keep);
    let rest = common::finish(world.clone(), keep);
    assert_same_records("clone", &whole.records, &rest.records);
}
