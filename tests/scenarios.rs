//! The shipped scenarios show what their comments say: every expectation is met, and without what a scenario is about some
//! expectation is not. An expectation that cannot fail is a defect of the scenario.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use kubesim::component::MetricSink;
use kubesim::experiment::single::{self, NoProgress};
use kubesim::model::{Action, Distribution, Kind, Object, Record, Span};
use kubesim::probes::metrics;
use kubesim::scenario::Overrides;
use kubesim::sim::plan::{CommandVerb, ComponentPlan, DropStage, FaultAction, ResyncPlan, WatchEventType};
use kubesim::sim::{Plan, World};

use common::{label, objects, plan, plans, run, run_until, scenario, scenario_files, shipped};

/// The expectations of a plan that are not met.
fn failures(plan: Plan) -> Vec<String> {
    assert!(!plan.expectations.is_empty(), "{} expects nothing", label(&plan));
    let outcome = single::run(Arc::new(plan), 0, None, &NoProgress).unwrap();
    let failed = outcome.summary.expectations.into_iter().filter(|expectation| !expectation.met);
    failed.map(|expectation| format!("{} {}", expectation.when, expectation.that)).collect()
}

#[test]
fn every_expectation_is_met() {
    for plan in shipped() {
        let label = label(&plan);
        assert_eq!(failures(plan), [""; 0], "{label}");
    }
}

#[test]
#[allow(clippy::disallowed_methods, reason = "how long a run takes is what is tested")]
fn every_scenario_ends_well_within_five_seconds() {
    for file in scenario_files() {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenarios").join(file.file_stem().unwrap());
        let started = Instant::now();
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubesim"));
        command.args(["run", "--quiet", "--out"]).arg(&out).arg(&file).assert().code(0);
        assert!(started.elapsed() < Duration::from_secs(5), "{}: {:?}", file.display(), started.elapsed());
    }
}

#[test]
fn quickstart_fails_without_any_of_its_commands() {
    let whole = plan("quickstart", "");
    assert_eq!(whole.timeline.len(), 3);
    for left_out in 0..whole.timeline.len() {
        let mut without = whole.clone();
        let entry = without.timeline.remove(left_out);
        assert!(!failures(without).is_empty(), "nothing expects `{}`", entry.command.text);
    }
}

#[test]
fn dropped_watch_event_fails_without_its_fault_and_without_the_delete() {
    for variant in ["base", "store", "relist"] {
        let mut without = plan("dropped-watch-event", variant);
        without.faults.clear();
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the fault");
        let mut without = plan("dropped-watch-event", variant);
        without.timeline.clear();
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the delete");
    }
}

#[test]
fn what_heals_in_dropped_watch_event_is_the_resync() {
    for variant in ["base", "relist"] {
        let mut without = plan("dropped-watch-event", variant);
        without.processes.iter_mut().for_each(|process| process.resync = ResyncPlan::Never);
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the resync");
    }
    // A relist would heal what a replay of the cache does not: the variants differ in this alone.
    let mut relisting = plan("dropped-watch-event", "store");
    relisting.model = plan("dropped-watch-event", "relist").model;
    assert!(!failures(relisting).is_empty(), "store: nothing expects that no resync heals it");
}

fn active_pods(world: &World) -> usize {
    world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod).filter(|pod| pod.is_active()).count()
}

#[test]
fn a_lost_deleted_alone_loses_nothing() {
    for variant in ["base", "store"] {
        for grace in [None, Some(0)] {
            let mut plan = plan("dropped-watch-event", variant);
            let [fault] = &mut plan.faults[..] else { panic!("one fault") };
            let FaultAction::DropWatchEvents { event_type, stage, .. } = &mut fault.action else { panic!("a drop") };
            *event_type = Some(WatchEventType::Deleted);
            assert_eq!(*stage == DropStage::Store, variant == "store");
            let CommandVerb::Delete { grace_seconds, .. } = &mut plan.timeline[0].command.verb else {
                panic!("a delete")
            };
            *grace_seconds = grace;
            let what = format!("{variant}, grace period {grace:?}");
            // The delete is at 2m: it is lost for good, and the pods are three again long before any resync.
            let (world, kept) = run_until(&plan, Span::from_seconds(121));
            assert_eq!(active_pods(&world), 3, "{what}");
            let (_, kept) = match grace {
                Some(_) => (world, kept),
                None => run_until(&plan, Span::from_seconds(160)),
            };
            let lost = kept.0.iter().filter(|record| record.action == Action::Lost);
            let lost: Vec<String> = lost.map(|record| record.detail.to_string()).collect();
            assert_eq!(lost.len(), 1, "{what}: {lost:?}");
            assert!(lost[0].starts_with("DELETED lost"), "{what}: {lost:?}");
        }
    }
}

/// `workqueue_adds_total{name="replicaset"}`.
fn adds(world: &World) -> f64 {
    struct Adds(f64);
    impl MetricSink for Adds {
        fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
            if metric == "workqueue_adds_total" && labels == [("name", "replicaset")] {
                self.0 += value;
            }
        }
    }
    let mut adds = Adds(0.0);
    metrics::collect(world, world.now(), &mut adds);
    adds.0
}

/// What a reconcile sent: the requests it caused, Kubernetes Events among them.
fn requests_of<'a>(records: &'a [Record], reconcile: &Record) -> Vec<&'a Record> {
    let caused = records.iter().filter(|record| record.cause == reconcile.id);
    let is_request = |action| {
        use Action::{Bind, Create, Delete, Get, List, Patch, Scale, Update, UpdateStatus};
        matches!(action, Create | Update | UpdateStatus | Scale | Patch | Delete | Bind | Get | List)
    };
    caused.filter(|record| is_request(record.action)).collect()
}

fn of_replica_set_controller(record: &&Record) -> bool {
    record.component == "replicaset" && record.key.as_ref().is_some_and(|key| key.kind == Kind::ReplicaSet)
}

#[test]
fn dedup_queues_a_key_once_for_three_ready_pods() {
    let plan = plan("dedup", "");
    let ran = run(&plan);
    // Three pods become Ready in one instant.
    let patches: Vec<&Record> = (ran.records.iter())
        .filter(|r| r.action == Action::Patch && r.process == "kubelet" && r.key.as_ref().unwrap().kind == Kind::Pod)
        .collect();
    let ready_at = patches.last().unwrap().time;
    let together: Vec<_> = patches.iter().filter(|record| record.time == ready_at).collect();
    assert_eq!(together.len(), 3);
    // Three calls of the handler, one entry.
    let arrives = ready_at + Span::from_milliseconds(5);
    let at_once: Vec<&Record> =
        ran.records.iter().filter(|r| r.time == arrives).filter(of_replica_set_controller).collect();
    let actions: Vec<Action> = at_once.iter().map(|record| record.action).collect();
    assert_eq!(actions, [Action::Enqueue, Action::Coalesced, Action::Coalesced, Action::Reconcile]);
    for coalesced in &at_once[1..3] {
        assert_eq!(coalesced.detail.to_string(), format!("first added by {}", at_once[0].id.0));
    }
    let elapsed = arrives - plan.start_at;
    let (before, _) = run_until(&plan, elapsed - Span(1));
    let (after, _) = run_until(&plan, elapsed);
    assert_eq!(adds(&after) - adds(&before), 1.0);
    // The one reconcile creates and deletes nothing; it writes the status.
    let reconcile = at_once[3];
    assert_eq!(reconcile.cause, at_once[0].id);
    let sent: Vec<Action> = requests_of(&ran.records, reconcile).iter().map(|record| record.action).collect();
    assert_eq!(sent, [Action::UpdateStatus]);
}

#[test]
fn dedup_resyncs_send_no_request() {
    let ran = run(&plan("dedup", ""));
    let resyncs: Vec<&Record> = (ran.records.iter())
        .filter(|r| r.action == Action::Timer && r.detail.to_string() == "resync of the cache: replicasets")
        .collect();
    assert!(!resyncs.is_empty());
    for resync in resyncs {
        let added = ran.records.iter().find(|record| record.cause == resync.id).unwrap();
        assert_eq!(added.action, Action::Enqueue);
        let reconcile = ran.records.iter().find(|record| record.cause == added.id).unwrap();
        assert_eq!(reconcile.action, Action::Reconcile);
        assert_eq!(requests_of(&ran.records, reconcile), Vec::<&Record>::new());
    }
}

#[test]
fn dedup_fails_without_resync_and_with_pods_that_become_ready_one_by_one() {
    let mut without = plan("dedup", "");
    without.processes.iter_mut().for_each(|process| process.resync = ResyncPlan::Never);
    assert!(!failures(without).is_empty(), "nothing expects the resync");
    let spread = Overrides { nodes: Some("3x4cpu,16Gi".into()), ..Overrides::default() };
    for plan in plans(&scenario("dedup"), &spread) {
        assert!(!failures(plan).is_empty(), "nothing expects one add for three pods");
    }
}

/// Swarm: a command at 0s found kubectl not yet started.
#[test]
fn a_command_at_the_first_instant_is_carried_out() {
    let mut early = plan("quickstart", "");
    early.timeline[0].at = Span::ZERO;
    let (world, _) = run_until(&early, Span::from_seconds(30));
    assert_eq!(active_pods(&world), 5);
}

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

#[test]
fn the_keys_of_sweep_workers_wait_for_workers_and_client_only() {
    let mut without = plan("sweep-workers", "");
    without.processes[0].client = None;
    let ComponentPlan::ReplicaSet(queue) = &mut without.processes[0].components[0] else { panic!("another order") };
    queue.reconcile_time = Distribution::ZERO;
    let waits = "metric(\"workqueue_depth\", {\"name\": \"replicaset\"}) > 0.0";
    assert_eq!(failures(without), [format!("at 1s {waits}")]);
}

#[test]
fn every_shipped_scenario_has_a_counter_test() {
    let names: Vec<_> = scenario_files().iter().map(|file| file.file_stem().unwrap().to_owned()).collect();
    assert_eq!(
        names,
        ["dedup", "dropped-watch-event", "ml-training", "quickstart", "sweep-workers"],
        "write a counter-test here for the new one"
    );
}
