//! The shipped scenarios show what their comments say: every expectation is met, and without what a scenario is about some
//! expectation is not. An expectation that cannot fail is a defect of the scenario. One file a scenario.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;

mod affinity_zones;
mod backoff_and_hints;
mod bind_race;
mod concurrency_curve;
mod dedup;
mod dropped_watch_event;
mod finalizer_stuck;
mod late_reply;
mod leader_failover;
mod lost_replicaset;
mod ml_training;
mod node_sampling;
mod operator_500;
mod optimistic_assume;
mod poll_vs_watch;
mod polling;
mod polling_lost_task;
mod polling_no_room;
mod polling_race;
mod preemption;
mod quickstart;
mod requeue_forever;
mod restart_storm;
mod rolling_operator;
mod self_conflict;
mod spread_zones;
mod stale_controller;
mod sweep_workers;
mod sync_vs_async;
mod taints;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use assert_cmd::Command;
use kubesim::experiment::single::{self, Keep, NoProgress};
use kubesim::report::summary::Value;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

use common::{label, plans, scenario, scenario_files, shipped};

/// The expectations of a plan that are not met.
fn failures(plan: Plan) -> Vec<String> {
    assert!(!plan.expectations.is_empty(), "{} expects nothing", label(&plan));
    let outcome = single::run(Arc::new(plan), 0, None, Keep::All, &NoProgress).unwrap();
    let failed = outcome.summary.expectations.into_iter().filter(|expectation| !expectation.met);
    failed.map(|expectation| format!("{} {}", expectation.when, expectation.that)).collect()
}

/// A world of a shipped scenario with values set.
fn with(name: &str, variant: &str, values: &[(&str, &str)]) -> Plan {
    let set = values.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let overrides = Overrides { set, ..Overrides::default() };
    plans(&scenario(name), &overrides).into_iter().find(|plan| plan.variant == variant).unwrap()
}

/// What a run of the plan measured.
fn kpi(plan: Plan, name: &str) -> f64 {
    let kpis = single::run(Arc::new(plan), 0, None, Keep::WorthAWord, &NoProgress).unwrap().summary.kpis;
    let Value(value) = kpis[name];
    value.unwrap_or_else(|| panic!("{name} was not measured"))
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
fn every_shipped_scenario_has_a_counter_test() {
    let of_tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let main = include_str!("main.rs");
    for file in scenario_files() {
        let name = file.file_stem().unwrap().to_str().unwrap().replace('-', "_");
        let written = of_tests.join(format!("{name}.rs")).is_file() && main.contains(&format!("mod {name};"));
        assert!(written, "write tests/scenarios/{name}.rs, which takes away what {} is about", file.display());
    }
}
