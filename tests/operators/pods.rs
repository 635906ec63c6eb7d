//! What a delete, a drain, a rollout and a lack of memory do to an operator that runs in pods: to reconciles under way, to
//! its queue, its lease and its container.

use kubesim::model::{Action, Kind, Object, Pod, Record, Span, Time};

use crate::common::{Ran, plan_of, run, run_until, workload};

/// A run of `op`, which runs in the pods of a Deployment.
struct Lived {
    ran: Ran,
    start: Time,
}

impl Lived {
    fn new(test: &str, fields: &str, spec: &str, replicas: i32) -> Lived {
        let plan = plan(test, fields, spec, replicas);
        Lived { start: plan.start_at, ran: run(&plan) }
    }

    fn second(&self, record: &Record) -> f64 {
        (record.time - self.start).0 as f64 / 1e9
    }

    /// What a process did, in seconds.
    fn of(&self, process: &str, action: Action) -> Vec<f64> {
        let records = self.ran.records.iter().filter(|record| record.process == process && record.action == action);
        records.map(|record| self.second(record)).collect()
    }

    /// The same of its controller: not of its informers, its elector and its events.
    fn own(&self, process: &str, action: Action) -> Vec<f64> {
        let is_event = |record: &Record| record.key.as_ref().is_some_and(|key| key.kind == Kind::Event);
        let records = self.ran.records.iter().filter(|record| record.process == process && record.action == action);
        let own = records.filter(|record| record.component == "op" && !is_event(record));
        own.map(|record| self.second(record)).collect()
    }

    fn ends(&self, process: &str) -> Vec<f64> {
        self.of(process, Action::ProcessStop)
    }

    /// When something was said, by whom.
    fn said(&self, words: &str) -> Vec<(f64, String)> {
        let records = self.ran.records.iter().filter(|record| record.detail.to_string().contains(words));
        records.map(|record| (self.second(record), record.process.to_string())).collect()
    }

    fn pods(&self) -> Vec<Pod> {
        let pods = self.ran.world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod);
        pods.map(|pod| (**pod).clone()).collect()
    }
}

fn plan(test: &str, fields: &str, spec: &str, replicas: i32) -> kubesim::sim::Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 3m\n  nodes: [{{count: 2}}]\n  operators: \
         [{{name: op, runsIn: deployment/op, {fields}}}]\n  {spec}\n"
    );
    plan_of(&format!("operator-pods-{test}"), &(text + &workload("Deployment", "op", replicas)))
}

/// One object, looked at each 8 s, for 6 s of which it computes.
const LONG: &str = "of: {kind: Database, count: 1}, generationChangedPredicate: true, reconcile: {takes: 6s, requests: \
                    [{update-status: {at: $(NOW)}}], requeueAfter: 2s";
const DELETE: &str = "timeline: [{at: 62s, kubectl: delete pod -l app=op}]";

/// When the reconcile began that was under way at 62 s.
fn under_way(lived: &Lived) -> f64 {
    let begun = lived.own("op", Action::Reconcile).into_iter().filter(|at| *at < 62.0).fold(0.0, f64::max);
    assert!(begun > 56.0, "one is under way at 62 s: {begun}");
    begun
}

#[test]
fn a_reconcile_under_way_ends_but_its_context_is_cancelled() {
    let lived = Lived::new("cancelled", &format!("{LONG}}}"), DELETE, 1);
    let begun = under_way(&lived);
    let end = lived.ends("op")[0];
    assert!((end - (begun + 6.0)).abs() < 0.1, "it computes to its end: {begun}, {end}");
    let errors = lived.said("context canceled");
    assert!(errors.iter().any(|(at, process)| (at - end).abs() < 0.1 && process == "op"), "{errors:?}");
    assert!(!lived.own("op", Action::UpdateStatus).iter().any(|at| (62.0..end + 1.0).contains(at)));
}

#[test]
fn without_cancel_its_requests_are_sent() {
    let lived = Lived::new("without-cancel", &format!("{LONG}, withoutCancel: true}}"), DELETE, 1);
    let begun = under_way(&lived);
    let end = lived.ends("op")[0];
    let writes: Vec<f64> = lived.own("op", Action::UpdateStatus);
    assert!(writes.iter().any(|at| (begun + 6.0..end + 0.001).contains(at)), "{begun} {end}: {writes:?}");
    assert!(lived.said("context canceled").is_empty());
}

#[test]
fn it_waits_no_longer_than_its_time_out() {
    let short = Lived::new("time-out", &format!("{LONG}}}, gracefulShutdownTimeout: 1s"), DELETE, 1);
    let told = short.said("SIGTERM")[0].0;
    assert!((short.ends("op")[0] - told - 1.0).abs() < 0.001, "{told}: {:?}", short.ends("op"));
    assert_eq!(short.said("reconciles under way are cut off").len(), 1);
    let none = Lived::new("no-wait", &format!("{LONG}}}, gracefulShutdownTimeout: 0s"), DELETE, 1);
    assert!(none.said("SIGTERM").is_empty() && none.ends("op")[0] < 62.5, "{:?}", none.ends("op"));
}

#[test]
fn the_end_of_the_grace_period_cuts_it_off() {
    let delete = "timeline: [{at: 62s, kubectl: delete pod -l app=op --grace-period=2}]";
    let lived = Lived::new("grace", &format!("{LONG}}}"), delete, 1);
    let (told, end) = (lived.said("SIGTERM")[0].0, lived.ends("op")[0]);
    assert!((end - told - 2.0).abs() < 0.001, "SIGKILL 2 s after SIGTERM: {told}, {end}");
    assert!(lived.said("context canceled").is_empty(), "nothing of it ends");
}

#[test]
fn keys_in_the_queue_stay_there_unless_the_queue_is_plain() {
    let taken = |test: &str, queue: &str| {
        let fields = format!(
            "of: {{kind: Database, count: 10}}, generationChangedPredicate: true, queue: {queue}, \
             reconcile: {{takes: 500ms, requests: [get], requeueAfter: 100ms}}"
        );
        let lived = Lived::new(test, &fields, DELETE, 1);
        let told = lived.said("SIGTERM")[0].0;
        let later =
            lived.own("op", Action::Reconcile).into_iter().filter(|at| (told + 0.001..told + 20.0).contains(at));
        let end = lived.ends("op")[0];
        later.filter(|at| *at <= end).count()
    };
    assert_eq!(taken("queue-priority", "priority"), 0);
    // All but the one in hand wait for the one worker; each is looked at in vain, and fails.
    let plain = taken("queue-plain", "plain");
    assert!((8..=10).contains(&plain), "{plain}");
}

const ELECTS: &str = "of: {kind: Database, count: 1}, generationChangedPredicate: true, reconcile: {takes: 200ms, requests: \
                      [get], requeueAfter: 1s}, leaderElection: {leaderElect: true";

/// The leader at a time, and who acts after it.
fn leaders(lived: &Lived) -> Vec<(f64, String)> {
    lived.said("leads: ")
}

/// Deletes the leader's pod at 62 s.
fn without_leader(test: &str, release: bool) -> (f64, f64) {
    let fields = format!("{ELECTS}, releaseOnCancel: {release}}}");
    let (world, keep) = run_until(&plan(&format!("{test}-before"), &fields, "", 2), Span::from_seconds(60));
    let leader = keep.0.iter().find(|record| record.detail.to_string().starts_with("leads: ")).unwrap();
    let starts = |record: &&Record| record.action == Action::ProcessStart && record.process == leader.process;
    let start = keep.0.iter().find(starts).unwrap();
    let cause = keep.0.iter().find(|record| record.id == start.cause).unwrap();
    let pod = cause.key.clone().unwrap().name;
    assert_eq!(world.now() - world.plan().start_at, Span::from_seconds(60));
    let delete = format!("timeline: [{{at: 62s, kubectl: delete pod {pod}}}]");
    let lived = Lived::new(test, &fields, &delete, 2);
    let leaders = leaders(&lived);
    assert_eq!(leaders[0].1, leader.process.to_string());
    let end = lived.ends(&leaders[0].1)[0];
    let [_, second, ..] = &leaders[..] else { panic!("somebody takes over: {leaders:?}") };
    (end, second.0)
}

#[test]
fn a_lease_that_is_given_back_is_taken_at_the_next_poll() {
    let (end, next) = without_leader("released", true);
    // A poll each 2 s x (1 to 2.2).
    assert!(end < 63.0 && next > end - 0.1 && next < end + 5.0, "{end}, {next}");
}

#[test]
fn a_lease_that_is_kept_runs_out() {
    let (end, next) = without_leader("kept", false);
    assert!(end < 63.0 && next > end + 10.0 && next < end + 25.0, "{end}, {next}");
}

#[test]
fn out_of_memory_kills_the_container_and_its_kubelet_starts_it_again() {
    let fields = "of: {kind: Database, count: 3}, reconcile: {requests: [get], requeueAfter: 1s}";
    let faults = "faults: [{at: 60s, oomKill: op}, {at: 70s, oomKill: deployment/op}]";
    let lived = Lived::new("oom", fields, faults, 1);
    assert_eq!(lived.ends("op"), [60.0, 70.0], "SIGKILL: nothing of it ends in order");
    let starts = lived.of("op", Action::ProcessStart);
    let [_, second, third] = starts[..] else { panic!("it starts three times: {starts:?}") };
    // Noticed by a relist within a second, and 1 s to start; the second time after 10 s of back-off, up to 15 s with jitter.
    assert!((61.0..62.1).contains(&second) && (81.0..87.1).contains(&third), "{starts:?}");
    let pods = lived.pods();
    let [pod] = &pods[..] else { panic!("the same pod: {pods:?}") };
    let status = &pod.status.containers[0];
    assert_eq!((status.restart_count, status.ready), (2, true));
    let last = format!("{:?}", status.last);
    assert!(last.contains("OOMKilled") && last.contains("137"), "{last}");
    let events = lived.ran.world.api().truth().iter(Kind::Event);
    let told = events.filter(|event| format!("{event:?}").contains("Back-off restarting failed container c in pod"));
    assert_eq!(told.count(), 1);
}

#[test]
fn a_container_in_back_off_says_so() {
    let fields = "of: {kind: Database, count: 1}, reconcile: {requests: [get], requeueAfter: 1s}";
    let plan = plan("crash-loop", fields, "faults: [{at: 60s, oomKill: op}, {at: 70s, oomKill: op}]", 1);
    let (world, _) = run_until(&plan, Span::from_seconds(75));
    let pods: Vec<_> = world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod).collect();
    let state = format!("{:?}", pods[0].status.containers[0]);
    assert!(state.contains("CrashLoopBackOff") && state.contains("OOMKilled"), "{state}");
    assert!(pods[0].status.phase.as_str() == "Running");
}

#[test]
fn a_rollout_hands_over_when_the_old_container_is_told_to_stop() {
    let rollout = "timeline: [{at: 60s, kubectl: 'set image deployment/op c=registry.example/op:2'}]";
    let fields = format!("{ELECTS}, releaseOnCancel: true}}");
    let lived = Lived::new("rollout", &fields, rollout, 1);
    let (end, leaders) = (lived.ends("op")[0], leaders(&lived));
    assert_eq!(leaders.len(), 2, "{leaders:?}");
    // The new one runs beside the old one, and waits for the lease that it gives back at its end.
    let start = lived.of("op#1", Action::ProcessStart)[0];
    assert!(start < end && leaders[1].1 == "op#1", "{start} {end} {leaders:?}");
    assert!(leaders[1].0 > end - 0.1 && leaders[1].0 < end + 5.0, "{end} {leaders:?}");
    assert!(lived.own("op#1", Action::Reconcile).iter().all(|at| *at >= leaders[1].0));
}

#[test]
fn kubectl_drains_a_node_by_evictions() {
    let fields = "of: {kind: Database, count: 1}, reconcile: {requests: [get], requeueAfter: 1s}";
    let (world, _) = run_until(&plan("drain-before", fields, "", 1), Span::from_seconds(59));
    let node = world.api().truth().iter(Kind::Pod).find_map(Object::as_pod).unwrap().node_name.to_string();
    let drain = format!(
        "timeline: [{{at: 60s, kubectl: drain {node} --ignore-daemonsets}}, {{at: 120s, kubectl: uncordon {node}}}]"
    );
    let lived = Lived::new("drain", fields, &drain, 1);
    assert_eq!(lived.of("kubectl", Action::Evict).len(), 1);
    let polls = lived.of("kubectl", Action::Get);
    assert!(polls.len() >= 2 && polls.windows(2).all(|pair| pair[1] - pair[0] > 0.99), "each second: {polls:?}");
    let starts = lived.of("op", Action::ProcessStart).len() + lived.of("op#1", Action::ProcessStart).len();
    assert_eq!(starts, 2, "a successor");
    assert_ne!(lived.pods()[0].node_name, node.as_str());
    let node = lived
        .ran
        .world
        .api()
        .truth()
        .iter(Kind::Node)
        .filter_map(Object::as_node)
        .find(|n| n.meta.name == node.as_str());
    assert!(!node.unwrap().unschedulable, "and the node is open again");
}

#[test]
fn an_eviction_that_is_refused_is_tried_each_five_seconds() {
    let fields = "of: {kind: Database, count: 1}, reconcile: {requests: [get], requeueAfter: 1s}";
    let (world, _) = run_until(&plan("refused-before", fields, "", 1), Span::from_seconds(59));
    let node = world.api().truth().iter(Kind::Pod).find_map(Object::as_pod).unwrap().node_name.to_string();
    let spec = |flags: &str| {
        format!(
            "timeline: [{{at: 60s, kubectl: drain {node} {flags}}}]\n  \
             faults: [{{at: 60s, duration: 12s, respond: {{subresource: eviction, code: 429}}}}]"
        )
    };
    let lived = Lived::new("refused", fields, &spec(""), 1);
    let tries = lived.of("kubectl", Action::Evict);
    assert_eq!(tries.iter().map(|at| *at as i64).collect::<Vec<_>>(), [60, 65, 70, 75], "{tries:?}");
    assert!((75.0..77.0).contains(&lived.ends("op")[0]));
    let given_up = Lived::new("given-up", fields, &spec("--timeout=7s"), 1);
    assert_eq!(given_up.of("kubectl", Action::Evict).len(), 2);
    assert!(given_up.ends("op").is_empty() && given_up.said("global timeout reached").len() == 1);
}

#[test]
fn a_drain_that_may_not_take_a_pod_takes_none() {
    let fields = "of: {kind: Database, count: 1}, reconcile: {requests: [get], requeueAfter: 1s}";
    let bare = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: bare}\nspec: {containers: [{name: c, image: i}]}\n";
    let evicted = |test: &str, flags: &str| {
        let spec = format!(
            "timeline: [{{at: 60s, kubectl: drain node-1 {flags}}}, {{at: 61s, kubectl: drain node-2 {flags}}}]"
        );
        let plan = plan_of(
            &format!("operator-pods-{test}"),
            &format!(
                "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 3m\n  nodes: [{{count: 2}}]\n  operators: \
                 [{{name: op, runsIn: deployment/op, {fields}}}]\n  {spec}\n{}{bare}",
                workload("Deployment", "op", 2)
            ),
        );
        let ran = run(&plan);
        let refused = ran.records.iter().filter(|r| r.detail.to_string().contains("declare no controller")).count();
        (ran.records.iter().filter(|record| record.action == Action::Evict).count(), refused)
    };
    let (some, refused) = evicted("bare", "");
    assert_eq!(refused, 1, "the node of the bare pod stays as it is");
    let (all, refused) = evicted("bare-forced", "--force");
    assert!(refused == 0 && all > some, "{all} {some}");
}
