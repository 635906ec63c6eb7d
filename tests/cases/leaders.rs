//! Leader election: hand-overs, clocks, stop hooks and timings.

use std::sync::Arc;

use kubesim::model::{Distribution, Key, Kind, Object};
use kubesim::sim::invariants::Invariants;
use kubesim::sim::plan::Latency;
use kubesim::sim::{Ending, Plan, World};

use crate::common::{plan_of, workload};

/// A finished run of `text`, in which the invariants held.
fn run(test: &str, text: &str, replication: u64) -> World {
    run_plan(test, Plan { replication, ..plan_of(test, text) })
}

fn run_plan(test: &str, plan: Plan) -> World {
    let replication = plan.replication;
    let mut world = World::new(Arc::new(plan)).unwrap();
    let mut invariants = Invariants::new();
    let ending = world.run(&mut invariants);
    assert_eq!((ending, invariants.violation), (Ending::Duration, None), "{test}, replication {replication}");
    world
}

/// Longest time without a leader.
fn gap(world: &World) -> f64 {
    world.leadership().leaderless(world.ended_at()).1.as_seconds()
}

/// All calls of the default latencies take 4 or 9 ms; a takeover needs two.
const CALLS: f64 = 0.02;

fn scenario(control_plane: &str, faults: &str) -> String {
    format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 4m\n  nodes: [{{count: 2}}]\n  \
         controlPlane: {{{control_plane}}}\n  faults: [{faults}]\n"
    )
}

/// kubernetes-sigs/agent-sandbox#1249: a rolling update leaves no leader for a full lease.
#[test]
fn c07_a_rolling_update_leaves_no_leader_for_a_lease_unless_it_is_given_back() {
    let with = |release: bool| {
        let election = format!("scheduler: {{replicas: 2, leaderElection: {{releaseOnCancel: {release}}}}}");
        scenario(&election, "{at: 60s, restart: kube-scheduler/leader}")
    };
    let (mut shortest, mut longest) = (f64::INFINITY, 0.0_f64);
    for replication in 0..30 {
        let world = run("c07-off", &with(false), replication);
        let gap = gap(&world);
        // The last renewal was at most a retry period ago; the standby saw it up to 4.4 s later and asks each 4.4 s.
        assert!((15.0 - 2.0 - CALLS..=15.0 + 2.0 * 4.4 + 3.0 * CALLS).contains(&gap), "{gap}");
        (shortest, longest) = (shortest.min(gap), longest.max(gap));
        let world = run("c07-on", &with(true), replication);
        let gap = self::gap(&world);
        assert!(gap <= 4.4 + 3.0 * CALLS, "{gap}");
        assert_eq!(world.leadership().changes(), 1);
    }
    // The textbook's bound, a lease and a retry period, is not the worst case.
    assert!(shortest < 17.0 && longest > 17.0, "{shortest} {longest}");
}

/// kubernetes/kubernetes#125761: a step of the wall clock makes two schedulers act.
///
/// Today a step alone does nothing. Go measures spans by a clock that no step moves; and even where spans follow the step,
/// a standby that finds a renewed lease counts from that look. It takes a leader whose renewals come more rarely than the
/// standby looks. As reported the old leader gave up after about 2 s; v1.36's goes on trying until its deadline, even when
/// it has read another holder.
#[test]
fn c09_a_clock_step_makes_two_leaders_where_spans_follow_it_and_renewals_are_slow() {
    let with = |monotonic: bool| {
        let step = format!("{{at: 60s, clock: {{of: kube-scheduler#1, step: 1h, monotonic: {monotonic}}}}}");
        let faults = format!("{{at: 0s, duration: 30s, kill: kube-scheduler#1}}, {step}");
        scenario("scheduler: {replicas: 2}", &faults)
            .replace("spec:\n", "spec:\n  timeline: [{at: 61s, kubectl: kubectl scale deployment/web --replicas=24}]\n")
            + &workload("Deployment", "web", 4)
    };
    let mut lengths = Vec::new();
    for replication in 0..10 {
        for (test, monotonic, slow) in [("c09-go", true, true), ("c09-prompt", false, false), ("c09", false, true)] {
            let mut plan = Plan { replication, ..plan_of(test, &with(monotonic)) };
            if slow {
                // The answers to the first replica take 3 s: it renews each 5 s, and the other looks each 2 to 4.4 s.
                let latency = Latency { reply: Distribution::Constant(3_000_000_000), ..plan.latency.clone() };
                plan.process_latency.push(("kube-scheduler".to_string(), latency));
            }
            let world = run_plan(test, plan);
            let overlaps = world.leadership().overlaps();
            if !slow || monotonic {
                assert_eq!((world.leadership().changes(), overlaps.len()), (0, 0), "{test}");
                let lease = world.api().truth().get(&Key::new(Kind::Lease, "kube-system", "kube-scheduler"));
                let lease = lease.and_then(Object::as_lease).unwrap();
                assert_eq!((lease.holder.as_str(), lease.transitions), ("kube-scheduler_1", Some(0)));
            }
            for overlap in overlaps {
                assert_eq!(world.processes()[overlap.new].name, "kube-scheduler#1");
                assert_eq!(overlap.reason, Some("clocks that run apart"));
                lengths.push((overlap.to.unwrap() - overlap.from).as_seconds());
            }
            let bound = world.api().truth().iter(Kind::Pod).filter(|pod| !pod.as_pod().unwrap().node_name.is_empty());
            assert_eq!(bound.count(), 24, "{test}: every pod is bound, and (an invariant) none twice");
        }
    }
    assert!(!lengths.is_empty());
    // A renewal's answer, a retry period, a renew deadline, and the look at the lease it can no longer give back.
    let longest = 3.0 + 2.0 + 10.0 + 3.0 + CALLS;
    assert!(lengths.iter().all(|length| *length > 0.0 && *length <= longest), "{lengths:?}");
}

/// cilium/cilium#42920: stop hooks outlive the time between the renew deadline and the end of the lease.
#[test]
fn c10_a_stop_hook_makes_two_leaders_when_it_outlives_the_lease() {
    let with = |hook: u32| {
        let election = format!("{{releaseOnCancel: false, stopHook: {hook}s}}");
        let scheduler = format!("scheduler: {{replicas: 2, leaderElection: {election}}}");
        scenario(&scheduler, "{at: 60s, refuseConnections: {from: kube-scheduler#0}}")
    };
    let mut with_two = 0;
    for replication in 0..5 {
        // Without a hook nobody leads from the old one's end to the new one's beginning: all luck is the same with one.
        let gap = gap(&run("c10", &with(0), replication));
        // 15 s from a look after the last renewal; a retry period and 10 s from that renewal's answer.
        assert!(gap > 15.0 - 2.0 - 10.0 - CALLS, "{gap}");
        for hook in 0..=10 {
            let world = run("c10", &with(hook), replication);
            let (length, _) = world.leadership().overlap(world.ended_at());
            let expected = (f64::from(hook) - gap).max(0.0);
            assert!((length.as_seconds() - expected).abs() < 1e-6, "hook {hook} s, gap {gap} s: {length}");
            let reasons = world.leadership().overlaps().iter().map(|overlap| overlap.reason);
            assert!(reasons.eq((expected > 0.0).then_some(Some("a stop hook that outlives the lease"))));
            with_two += u32::from(expected > 0.0);
        }
    }
    // Neither all nor none of the 55 runs: the gap is 3 s at least and 3 + 2 + 2 x 4.4 s at most.
    assert!((1..5 * 8).contains(&with_two), "{with_two}");
}

/// ovn-kubernetes/ovn-kubernetes#3959: timings that allow one retry only lose the lease in a brown-out.
#[test]
fn c11_a_longer_renew_deadline_bears_a_brown_out_and_makes_failovers_longer() {
    let with = |lease: u32, renew: u32, fault: &str| {
        let times =
            format!("leaseDuration: {lease}s, renewDeadline: {renew}s, retryPeriod: 20s, releaseOnCancel: false");
        let scheduler = format!("scheduler: {{replicas: 2, leaderElection: {{{times}}}}}");
        scenario(&scheduler, fault).replace("duration: 4m\n", "duration: 10m\n")
    };
    let changes = |lease, renew, at: u32| {
        // For 25 s the leader's calls take longer than it waits for them.
        let fault =
            format!("{{at: {at}s, duration: 25s, slowRequests: {{from: kube-scheduler#0, kind: Lease, by: 50s}}}}");
        run("c11", &with(lease, renew, &fault), 0).leadership().changes()
    };
    // 30 s allow two calls of 15 s: when the first begins within 10 s of the brown-out, the second is lost as well.
    let before: Vec<u64> = (120..140).step_by(4).map(|at| changes(60, 30, at)).collect();
    assert!(before.contains(&1), "{before:?}");
    let after: Vec<u64> = (120..140).step_by(4).map(|at| changes(100, 90, at)).collect();
    assert_eq!(after, [0; 5]);
    let takeover = |lease, renew| {
        let fault = "{at: 2m, duration: 10m, kill: kube-scheduler/leader}";
        let gaps: Vec<f64> =
            (0..20).map(|replication| gap(&run("c11", &with(lease, renew, fault), replication))).collect();
        // A lease after a look that is up to 44 s late, and found out up to 44 s later.
        assert!(
            gaps.iter().all(|gap| (f64::from(lease) - 20.0 - CALLS..=f64::from(lease) + 88.0 + CALLS).contains(gap))
        );
        gaps.iter().sum::<f64>() / gaps.len() as f64
    };
    let longer = takeover(100, 90) - takeover(60, 30);
    assert!((longer - 40.0).abs() < 10.0, "{longer}");
}
