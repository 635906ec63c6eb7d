//! What the reports about leaders take for granted: clocks, pauses, stop hooks, caches after a failover, and whom
//! `/leader` means.

use kubesim::model::{Action, Kind, Record};
use kubesim::sim::Plan;

use crate::common::{self, Ran, plan_of, workload};

/// Calls of the default latencies take 4 or 9 ms; a takeover needs two.
const CALLS: f64 = 0.02;

/// A finished run of two schedulers and two controller managers.
fn run(test: &str, scheduler: &str, faults: &str, replication: u64) -> Ran {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 4m\n  nodes: [{{count: 1}}]\n  \
         timeline: [{{at: 61s, kubectl: kubectl scale deployment/web --replicas=5}}]\n  controlPlane:\n    \
         scheduler: {{replicas: 2{scheduler}}}\n    controllerManager: {{replicas: 2}}\n  faults: [{faults}]\n{}",
        workload("Deployment", "web", 2)
    );
    common::run(&Plan { replication, ..plan_of(test, &text) })
}

fn gap(ran: &Ran) -> f64 {
    ran.world.leadership().leaderless(ran.world.ended_at()).1.as_seconds()
}

/// When records of a process were made, from the start.
fn times(ran: &Ran, process: &str, wanted: impl Fn(&Record) -> bool) -> Vec<f64> {
    let start = ran.world.plan().start_at;
    let of = ran.records.iter().filter(|record| record.process.as_str() == process && wanted(record));
    of.map(|record| (record.time - start).as_seconds()).collect()
}

/// Beginnings and ends of the times with two leaders, and why.
fn overlaps(ran: &Ran) -> Vec<(f64, f64, Option<&'static str>)> {
    let start = ran.world.plan().start_at;
    let second = |time: kubesim::model::Time| (time - start).as_seconds();
    let overlaps = ran.world.leadership().overlaps().iter();
    overlaps.map(|overlap| (second(overlap.from), second(overlap.to.unwrap()), overlap.reason)).collect()
}

#[test]
fn a_standby_counts_the_lease_by_its_own_clock() {
    for (rate, test) in [(0.5, "elections-slow"), (1.0, "elections-true"), (2.0, "elections-fast")] {
        for replication in 0..5 {
            let clocks = format!(", clocks: [{{}}, {{rate: {rate}}}]");
            let ran = run(test, &clocks, "{at: 60s, duration: 5m, kill: kube-scheduler#0}", replication);
            // It looks each 2 to 4.4 s and waits for 15 s, all of its own; the last renewal was up to 2 true seconds ago.
            let bounds = 15.0 / rate - 2.0 - CALLS..=(15.0 + 2.0 * 4.4) / rate + 3.0 * CALLS;
            assert!(bounds.contains(&gap(&ran)), "{rate}: {}", gap(&ran));
            assert_eq!((ran.world.leadership().changes(), overlaps(&ran).len()), (1, 0));
        }
    }
}

#[test]
fn a_standby_whose_clock_runs_away_takes_a_lease_that_is_renewed() {
    for replication in 0..5 {
        let fault = "{at: 60s, duration: 30s, clock: {of: kube-scheduler#1, rate: 10}}";
        let ran = run("elections-runs-away", "", fault, replication);
        // 15 s of it are 1.5 s, less than a retry period. The old leader notices nothing before it fails to renew: it was
        // there for a retry period at most, and tries for 10 s.
        let [(from, to, reason)] = overlaps(&ran)[..] else { panic!("{:?}", overlaps(&ran)) };
        assert!((60.0..60.0 + 4.4 + 2.0 + 2.0).contains(&from), "{from}");
        assert!((10.0 - CALLS..=12.0 + CALLS).contains(&(to - from)), "{from} {to}");
        assert_eq!((reason, ran.world.leadership().changes()), (Some("clocks that run apart"), 1));
    }
}

#[test]
fn a_leader_that_stood_still_acts_beside_its_successor() {
    for replication in 0..5 {
        let ran = run("elections-pause", "", "{at: 60s, duration: 30s, pause: kube-scheduler#0}", replication);
        let [(from, to, reason)] = overlaps(&ran)[..] else { panic!("{:?}", overlaps(&ran)) };
        // It leads in its own eyes until it looks again, and then tries for a renew deadline.
        assert!((60.0 + 15.0 - 2.0 - CALLS..=60.0 + 15.0 + 2.0 * 4.4 + 3.0 * CALLS).contains(&from), "{from}");
        assert!((90.0..=90.0 + 2.0 + 10.0 + CALLS).contains(&to), "{to}");
        assert_eq!((reason, ran.world.leadership().changes()), (Some("a host that stood still"), 1));
        let during = times(&ran, "kube-scheduler", |record| record.action == Action::Timer);
        assert!(during.iter().all(|time| *time < 60.0 || *time >= 90.0), "{during:?}");
        assert!(during.iter().any(|time| *time < 60.0) && during.iter().any(|time| *time >= 90.0));
        // The lease outlasts a short pause.
        let ran = run("elections-nap", "", "{at: 60s, duration: 5s, pause: kube-scheduler#0}", replication);
        assert_eq!((ran.world.leadership().changes(), gap(&ran)), (0, 0.0));
    }
}

#[test]
fn a_stop_hook_holds_the_process_after_its_lease_is_given_back() {
    for hook in [0, 3, 8] {
        let election = format!(", leaderElection: {{releaseOnCancel: true, stopHook: {hook}s}}");
        let ran = run("elections-hook", &election, "{at: 60s, restart: kube-scheduler/leader}", 0);
        let ended = times(&ran, "kube-scheduler", |record| record.action == Action::ProcessStop);
        let started = times(&ran, "kube-scheduler", |record| record.action == Action::ProcessStart);
        let hook = f64::from(hook);
        assert!(ended.len() == 1 && (60.0 + hook..=60.0 + hook + CALLS).contains(&ended[0]), "{ended:?}");
        // A restart takes a second.
        assert_eq!(started, [0.0, ended[0] + 1.0]);
        // The other one takes what is given back at its next look, 4.4 s later at most, and does not wait for the hook.
        let leads = times(&ran, "kube-scheduler#1", |record| record.detail.to_string().starts_with("leads:"));
        assert!(leads.len() == 1 && leads[0] <= 60.0 + 4.4 + 3.0 * CALLS, "{leads:?}");
        let together = overlaps(&ran);
        match leads[0] < 60.0 + hook {
            true => assert_eq!(together, [(leads[0], 60.0 + hook, Some("a stop hook that outlives the lease"))]),
            false => assert_eq!(together, []),
        }
    }
}

#[test]
fn caches_of_a_controller_manager_start_after_its_election_and_those_of_a_scheduler_before() {
    let faults =
        "{at: 60s, duration: 5m, kill: kube-controller-manager#0}, {at: 60s, duration: 5m, kill: kube-scheduler#0}";
    let ran = run("elections-cold", "", faults, 0);
    let first = |process: &str, wanted: &dyn Fn(&Record) -> bool| times(&ran, process, wanted)[0];
    let is_watch = |record: &Record| record.action == Action::Watch;
    let leads = |record: &Record| record.detail.to_string().starts_with("leads:");
    let (cold, warm) = ("kube-controller-manager#1", "kube-scheduler#1");
    assert!(first(warm, &is_watch) < 1.0 && first(warm, &leads) > 73.0);
    assert!(first(cold, &leads) > 73.0 && first(cold, &is_watch) > first(cold, &leads));
    // Its controllers do nothing before the lists are there; then the pods that were asked for at 61 s are made.
    let lists = times(&ran, cold, |record| record.action == Action::Relist);
    let makes_pod = |record: &Record| {
        record.action == Action::Create && record.key.as_ref().is_some_and(|key| key.kind == Kind::Pod)
    };
    let creates = times(&ran, cold, makes_pod);
    let last_first_list = lists.iter().copied().fold(0.0, f64::max);
    assert!(creates.len() == 3 && creates[0] > last_first_list, "{lists:?} {creates:?}");
}

#[test]
fn leader_means_the_replica_that_acts_when_the_fault_strikes() {
    // Killed while it leads, and its successor while that leads.
    let faults =
        "{at: 60s, duration: 10s, kill: kube-scheduler/leader}, {at: 2m, duration: 10s, kill: kube-scheduler/leader}";
    let ran = run("elections-leader", "", faults, 0);
    let ended = |process: &str| times(&ran, process, |record| record.action == Action::ProcessStop);
    assert_eq!((ended("kube-scheduler"), ended("kube-scheduler#1")), (vec![60.0], vec![120.0]));
    // Requests of the leader fail, those of the standby do not.
    let faults = "{at: 40s, duration: 8s, respond: {from: kube-scheduler/leader, kind: Lease, code: 503}}";
    let ran = run("elections-requests", "", faults, 0);
    let failed = |process: &str| times(&ran, process, |record| record.detail.to_string().starts_with("503"));
    assert!(!failed("kube-scheduler").is_empty() && failed("kube-scheduler#1").is_empty());
    let looked = times(&ran, "kube-scheduler#1", |record| record.action == Action::Get);
    assert!(looked.iter().any(|time| (40.0..48.0).contains(time)), "{looked:?}");
    // Without an election each replica acts.
    let ran =
        run("elections-none", ", leaderElection: {leaderElect: false}", "{at: 60s, kill: kube-scheduler/leader}", 0);
    let ended = |process: &str| times(&ran, process, |record| record.action == Action::ProcessStop);
    assert_eq!((ended("kube-scheduler"), ended("kube-scheduler#1")), (vec![60.0], vec![60.0]));
}
