//! Same scenario, seed and version: the same records, whoever looks, however often, on however many threads; and what is
//! added to a world changes nobody else's luck.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;
#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubesim::experiment::single::{self, NoProgress};
use kubesim::model::{Action, Distribution, Key, Kind, Object, Span, Time};
use kubesim::report::OutputFolder;
use kubesim::sim::plan::{ComponentPlan, End, Expectation, When};
use kubesim::sim::{NoObserver, Observer, Plan, World};

use common::{
    Keep, assert_same_end, assert_same_records, finish, hash, label, plan_of, run, run_until, shipped, workload,
};
use program::bytes;

#[test]
fn two_runs_of_a_plan_are_the_same() {
    for plan in shipped() {
        let (first, second) = (run(&plan), run(&plan));
        assert_same_records(&label(&plan), &first.records, &second.records);
        assert_same_end(&label(&plan), &first.world, &second.world);
        assert_eq!(first.ending, second.ending);
    }
}

#[test]
fn another_seed_is_another_run() {
    for plan in shipped() {
        let other = Plan { seed: plan.seed + 1, ..plan.clone() };
        let hash_of = |plan: &Plan| hash(&run(plan).records, plan.start_at);
        // All times of these are constant, and nobody makes names.
        let has_no_luck = plan.processes.iter().all(|process| process.name != "kubelet")
            && ["polling", "polling-lost-task", "polling-no-room"].contains(&plan.name.as_str());
        assert_eq!(hash_of(&plan) == hash_of(&other), has_no_luck, "{}", label(&plan));
    }
}

#[test]
fn a_clone_in_mid_run_goes_on_to_the_same_end() {
    for plan in shipped() {
        let whole = run(&plan);
        let length = whole.world.ended_at() - plan.start_at;
        // While pods are created, started and made Ready; in the middle of the shipped faults; and late.
        for at in
            [0, 12, 50, 2_100, 3_702, 120_008, 150_000, length.0 / 1_000_000 * 9 / 10].map(Span::from_milliseconds)
        {
            if at >= length {
                continue;
            }
            let what = format!("{} cloned at {at}", label(&plan));
            let (world, kept) = run_until(&plan, at);
            let cloned = finish(world.clone(), Keep(kept.0.clone()));
            let original = finish(world, kept);
            assert_same_records(&what, &cloned.records, &original.records);
            assert_same_records(&what, &cloned.records, &whole.records);
            assert_same_end(&what, &cloned.world, &original.world);
            assert_same_end(&what, &cloned.world, &whole.world);
        }
    }
}

#[test]
fn one_and_two_threads_write_the_same_bytes() {
    let plans: Vec<Plan> = shipped().into_iter().filter(|plan| plan.name == "dropped-watch-event").collect();
    assert_eq!(plans.len(), 3, "variants run side by side");
    let mut outcomes = Vec::new();
    for threads in [1, 2] {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("determinism-{threads}"));
        let _ = fs::remove_dir_all(&target);
        let folder = OutputFolder::begin(&target).unwrap();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| single::run_all(plans.clone(), Some(&folder), single::Keep::All, &NoProgress)).unwrap();
        folder.commit().unwrap();
        outcomes.push(bytes(&target));
    }
    let names = |files: &[(PathBuf, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&outcomes[0]), names(&outcomes[1]));
    assert!(outcomes[0].len() > 10, "four files a variant, and those on top");
    let pairs = outcomes[0].iter().zip(&outcomes[1]);
    let differ: Vec<_> = pairs.filter(|(one, two)| one.1 != two.1).map(|(one, _)| &one.0).collect();
    assert!(differ.is_empty(), "{differ:?}");
}

#[test]
fn who_looks_changes_nothing() {
    for plan in shipped() {
        let kept = run(&plan);
        let expected = hash(&kept.records, plan.start_at);
        // Everything looks: probes, expectations, staleness, KPIs.
        let watched = single::run(Arc::new(plan.clone()), 0, None, single::Keep::All, &NoProgress).unwrap();
        assert_eq!(watched.summary.hash, expected, "{} with a watcher", label(&plan));
        // One more question, asked at an instant at which nothing happens.
        let mut asked = plan.clone();
        let when = When::At(Span(77_777_777_777));
        asked.expectations.push(Expectation { when, that: "count(\"pods\") >= 0".into(), only_in: Vec::new() });
        let asked = single::run(Arc::new(asked), 0, None, single::Keep::All, &NoProgress).unwrap();
        assert_eq!(asked.summary.hash, expected, "{} with one more expectation", label(&plan));
        assert_eq!(asked.summary.events, watched.summary.events);
        // Nobody looks.
        let mut alone = World::new(Arc::new(plan.clone())).unwrap();
        assert_eq!(alone.run(&mut NoObserver), kept.ending);
        assert_same_end(&label(&plan), &alone, &kept.world);
    }
}

#[test]
fn an_earlier_end_gives_a_prefix() {
    for plan in shipped() {
        let whole = run(&plan);
        let length = whole.world.ended_at() - plan.start_at;
        for end in [Span::from_milliseconds(30), Span::from_seconds(2), Span(length.0 / 2), Span(length.0 - 1)] {
            let shorter = Plan { end: End::After(end), ..plan.clone() };
            let short = run(&shorter);
            let until = plan.start_at + end;
            let expected: Vec<_> = whole.records.iter().filter(|record| record.time <= until).cloned().collect();
            assert_same_records(&format!("{} until {end}", label(&plan)), &short.records, &expected);
        }
    }
}

const TWENTY: usize = 20;

/// Twenty ReplicaSets of one pod each, reconciled in exponential times, without a client limit that would add waits.
fn twenty_replica_sets(workers: u32) -> Plan {
    let mut text = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: workers}}
spec:
  duration: 1m
  nodes: [{{count: 4, cpu: "16", memory: 64Gi}}]
  controlPlane:
    controllerManager:
      flags: ["--concurrent-replicaset-syncs={workers}"]
      reconcileTime: {{replicaset: {{exponential: 100ms}}}}
"#
    );
    for number in 0..TWENTY {
        text.push_str(&workload("ReplicaSet", &format!("set-{number:02}"), 1));
    }
    let mut plan = plan_of(&format!("workers-{workers}"), &text);
    plan.processes.iter_mut().for_each(|process| process.client = None);
    plan
}

/// Computing time by object and attempt, where the attempt sent a request: the time from taking the key to the commit of
/// the first request, less the 2 ms + 5 ms that it travels and is committed.
fn computing_times(plan: &Plan) -> BTreeMap<(Key, usize), Span> {
    let ran = run(plan);
    let mut attempts: BTreeMap<Key, usize> = BTreeMap::new();
    let mut times = BTreeMap::new();
    for taken in ran.records.iter().filter(|r| r.action == Action::Reconcile && r.component == "replicaset") {
        let key = taken.key.clone().unwrap();
        let attempt = attempts.entry(key.clone()).or_insert(0);
        *attempt += 1;
        let is_request = |action| matches!(action, Action::Create | Action::UpdateStatus);
        let about = |kind| matches!(kind, Kind::Pod | Kind::ReplicaSet);
        let sent = ran.records.iter().find(|record| {
            record.cause == taken.id && is_request(record.action) && record.key.as_ref().is_some_and(|k| about(k.kind))
        });
        if let Some(sent) = sent {
            times.insert((key, *attempt), sent.time - taken.time - Span::from_milliseconds(7));
        }
    }
    times
}

#[test]
fn one_and_five_workers_give_an_object_the_same_reconcile_time() {
    let (one, five) = (computing_times(&twenty_replica_sets(1)), computing_times(&twenty_replica_sets(5)));
    let both: Vec<_> = one.keys().filter(|key| five.contains_key(key)).collect();
    assert_eq!(both.iter().filter(|(_, attempt)| *attempt == 1).count(), TWENTY, "each begins by creating its pod");
    for key in &both {
        assert_eq!(one[key], five[key], "{key:?}");
    }
    let mut different: Vec<Span> = both.iter().map(|key| one[key]).collect();
    different.sort();
    different.dedup();
    assert!(different.len() >= TWENTY, "the times are draws: {different:?}");
    // The workers do matter to when it happens, or this test would show nothing.
    let created = |workers| {
        let ran = run(&twenty_replica_sets(workers));
        let is_create = |action| action == Action::Create;
        let pods = ran.records.into_iter().filter(move |r| {
            is_create(r.action) && r.process == "kube-controller-manager" && r.key.as_ref().unwrap().kind == Kind::Pod
        });
        pods.map(|record| record.time).max().unwrap()
    };
    assert!(created(1) > created(5));
}

/// A pod's name, uid and the time from its binding to Ready, which is its container's start time and constant latencies.
type Luck = BTreeMap<String, (String, Span)>;

#[derive(Default)]
struct Starts {
    app: &'static str,
    bound: BTreeMap<String, Time>,
    luck: Luck,
}

impl Observer for Starts {
    fn instant_ends(&mut self, now: Time, world: &World) {
        for pod in world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod) {
            let name = pod.meta.name.to_string();
            if !name.starts_with(self.app) || pod.node_name.is_empty() || self.luck.contains_key(&name) {
                continue;
            }
            let bound = *self.bound.entry(name.clone()).or_insert(now);
            if pod.is_ready() {
                self.luck.insert(name, (pod.meta.uid.to_string(), now - bound));
            }
        }
    }
}

/// The luck of the pods of Deployment `web`, scaled from 6 to 9 and restarted, beside `others`.
fn luck(test: &str, nodes: u32, others: &[&str], seed: u64) -> Luck {
    let mut text = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: luck}}
spec:
  duration: 5m
  seed: {seed}
  nodes: [{{count: {nodes}, cpu: "16", memory: 64Gi}}]
  containers: [{{of: deployment/web, start: {{exponential: 2s}}}}]
  timeline:
    - {{at: 1m, kubectl: kubectl scale deployment/web --replicas=9}}
"#
    );
    text.push_str(&workload("Deployment", "web", 6));
    others.iter().for_each(|other| text.push_str(&workload("Deployment", other, 4)));
    let mut plan = plan_of(test, &text);
    plan.containers.pull = Distribution::Constant(0);
    for process in &mut plan.processes {
        process.client = None;
        for component in &mut process.components {
            if let ComponentPlan::Kubelets(kubelet) = component {
                kubelet.pleg_period = Span::ZERO;
            }
        }
    }
    let mut starts = Starts { app: "web-", ..Starts::default() };
    World::new(Arc::new(plan)).unwrap().run(&mut starts);
    starts.luck
}

#[test]
fn one_more_node_changes_no_other_draw() {
    let before = luck("nodes-2", 2, &[], 0);
    assert_eq!(before.len(), 9);
    let mut times: Vec<Span> = before.values().map(|(_, time)| *time).collect();
    times.sort();
    times.dedup();
    assert_eq!(times.len(), 9, "start times are draws");
    assert_eq!(luck("nodes-3", 3, &[], 0), before);
    assert_ne!(luck("nodes-2-seed", 2, &[], 1), before);
}

#[test]
fn one_more_deployment_changes_no_draw_of_another() {
    let before = luck("alone", 2, &[], 0);
    assert_eq!(luck("beside-a-later-one", 2, &["zoo"], 0), before);
    assert_eq!(luck("beside-an-earlier-one", 2, &["api"], 0), before);
}
