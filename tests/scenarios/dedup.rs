//! dedup.yaml: a queue holds a key once.

use super::common::{plan, plans, run, run_until, scenario};
use super::failures;
use kubesim::component::MetricSink;
use kubesim::model::{Action, Kind, Record, Span};
use kubesim::probes::metrics;
use kubesim::scenario::Overrides;
use kubesim::sim::World;
use kubesim::sim::plan::ResyncPlan;

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
