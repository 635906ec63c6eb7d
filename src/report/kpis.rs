//! KPIs: what docs/kpis.md names, from the records of a run and the facts that only the loop can count.

use std::collections::BTreeMap;

use super::balance::CpuBalance;
use super::quantile::Sample;
use super::staleness::{self, InformerStaleness};
use super::summary::Value;
use crate::model::record::Detail;
use crate::model::{Action, Kind, Map, Record, RecordId, Span, Time};
use crate::trace::RecordSink;

/// What the loop counts while it runs, because a record does not show it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RunFacts {
    /// When the run started and ended.
    pub start: Time,
    /// See `start`.
    pub end: Time,
    /// Nothing was left to do at the end: no request, no queued key, no timer that does work.
    pub settled: bool,
    /// The last write that changed the cluster: not a lease, not a node's heartbeat, not an Event.
    pub last_write: Option<Time>,
    /// Requests answered, watches and informers' lists included, and those answered 409 Conflict.
    pub requests: u64,
    /// See `requests`.
    pub requests_conflict: u64,
    /// Those answered 429.
    pub requests_429: u64,
    /// Writes of Kubernetes Events: the rows of events.csv.
    pub event_writes: u64,
    /// Pods that are pending without a node at the end.
    pub pods_unscheduled: u64,
    /// Every pod created after the start, in order of creation.
    pub pods: Vec<PodStart>,
    /// Every informer.
    pub staleness: Vec<InformerStaleness>,
    /// How the requested CPU is spread over nodes at the end; `None` without nodes.
    pub balance: Option<CpuBalance>,
    /// The most pods that were assumed at once; `None` when none was.
    pub assumed_pods_max: Option<u64>,
    /// Leaders of elections; `None` when nobody was elected.
    pub leaders: Option<LeaderFacts>,
    /// Requests of clients for pods (`spec.polling.requests`).
    pub pod_requests: Option<RequestFacts>,
    /// Races of the teaching orchestrator for the nodes of pods.
    pub races: Option<RaceFacts>,
}

/// What became of requests for pods.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RequestFacts {
    /// Answered, and for how many the client gave up.
    pub answered: f64,
    /// See `answered`.
    pub given_up: f64,
    /// Median and 99th percentile of the time until the answer, whole milliseconds.
    pub p50_seconds: Option<f64>,
    /// See `p50_seconds`.
    pub p99_seconds: Option<f64>,
}

/// How often a task and the loop both took a pod.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RaceFacts {
    /// Assignments of pods that had a node.
    pub double_assignments: f64,
    /// Assignments that were refused for that.
    pub conflicts: f64,
}

/// What became of the leaders of elections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaderFacts {
    /// Time without a leader since each lease had its first, and the longest such time.
    pub leaderless: (Span, Span),
    /// Time with two leaders, and the longest such time.
    pub overlap: (Span, Span),
    /// How often another replica began to lead.
    pub changes: u64,
}

impl RunFacts {
    /// A sum over the run as a mean over the time in which the cluster was written to.
    fn while_written(&self, sum: f64) -> Option<f64> {
        let span = self.last_write.map(|last| last - self.start).filter(|span| *span > Span::ZERO)?;
        Some(sum / span.as_seconds())
    }
}

/// How a pod came up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PodStart {
    /// Commit of its creation.
    pub created: Time,
    /// Commit of the first status that says Ready; `None` when it never came.
    pub ready: Option<Time>,
    /// How much of the time between was spent pulling its images.
    pub pulled: Span,
}

impl PodStart {
    /// From its creation until it was ready, without `left_out`.
    pub fn took(&self, left_out: Span) -> Option<Span> {
        Some((self.ready? - self.created - left_out).max(Span::ZERO))
    }
}

/// Gathers from the records what KPIs need.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KpiCollector {
    /// Keys that wait in a queue: number of the record that put them there, when, and in which process (its name's hash).
    waiting: BTreeMap<RecordId, (Time, u64)>,
    depth: Depth,
    queue_wait_ns: Vec<i64>,
    reconciles: u64,
    retries: u64,
    pods_removed: u64,
    pods_rejected: u64,
    last_disturbance: Option<Time>,
}

impl RecordSink for KpiCollector {
    fn record(&mut self, record: &Record) {
        match record.action {
            Action::Enqueue => {
                self.depth.add_up(record.time, self.waiting.len());
                self.waiting.insert(record.id, (record.time, record.process.stable_hash()));
            }
            Action::Reconcile => {
                self.reconciles += 1;
                // A reconcile is caused by the add that put its key in the queue; later adds are `coalesced`.
                self.depth.add_up(record.time, self.waiting.len());
                if let Some((added, _)) = self.waiting.remove(&record.cause) {
                    self.queue_wait_ns.push((record.time - added).0);
                }
            }
            Action::ReconcileError => self.retries += 1,
            Action::ProcessStop => {
                // Its queues are gone with it.
                self.depth.add_up(record.time, self.waiting.len());
                let process = record.process.stable_hash();
                self.waiting.retain(|_, (_, of)| *of != process);
            }
            Action::Admit if record.detail != Detail::Words("admitted") => self.pods_rejected += 1,
            Action::Remove if record.key.as_ref().is_some_and(|key| key.kind == Kind::Pod) => self.pods_removed += 1,
            Action::User | Action::Fault | Action::Load => self.last_disturbance = Some(record.time),
            _ => {}
        }
        if is_change(record) {
            self.depth.add_up(record.time, self.waiting.len());
            self.depth.until_last_change = (self.depth.key_ns, record.time);
        }
    }
}

/// A write that was carried out, of anything but Leases and Events.
fn is_change(record: &Record) -> bool {
    use Action::{Bind, Create, Delete, Evict, Patch, Scale, Update, UpdateStatus};
    matches!(record.action, Create | Update | UpdateStatus | Patch | Delete | Bind | Evict | Scale)
        && record.detail.is_of_success()
        && record.key.as_ref().is_some_and(|key| !matches!(key.kind, Kind::Event | Kind::Lease))
}

/// How many keys wait, added up over time.
#[derive(Clone, PartialEq, Debug, Default)]
struct Depth {
    key_ns: i128,
    at: Time,
    /// The sum at the last write that was carried out, and when that was.
    until_last_change: (i128, Time),
}

impl Depth {
    /// So many keys have waited until now since the last call.
    fn add_up(&mut self, now: Time, keys: usize) {
        self.key_ns += i128::from((now - self.at).0) * keys as i128;
        self.at = now;
    }

    /// Keys that waited at a time, from the start to the last write.
    fn mean(&self, start: Time) -> Option<f64> {
        let (key_ns, last) = self.until_last_change;
        (last > start).then(|| key_ns as f64 / (last - start).0 as f64)
    }
}

impl KpiCollector {
    /// All KPIs, in the order of docs/kpis.md. One without a measurement is `None`, never 0.
    pub fn finish(self, facts: &RunFacts) -> Map<String, Value> {
        let mut kpis = Kpis(Map::default());
        kpis.add("convergence_seconds", self.convergence_seconds(facts));
        kpis.count("reconciles_total", self.reconciles);
        kpis.count("retries_total", self.retries);
        let depth = self.depth.mean(facts.start);
        let wait = Sample::new(self.queue_wait_ns);
        kpis.add("queue_wait_seconds_mean", wait.mean().map(|mean_ns| mean_ns / 1e9));
        kpis.add("queue_wait_seconds_p99", wait.percentile(99).map(seconds));
        kpis.add("queue_wait_seconds_max", wait.max().map(seconds));
        kpis.add("queue_depth_mean", depth);
        kpis.add("staleness_seconds_mean", staleness::mean_seconds(&facts.staleness));
        kpis.add("staleness_seconds_max", staleness::max_seconds(&facts.staleness));
        kpis.percentiles("pod_start_seconds", &facts.pods, |_| Span::ZERO);
        kpis.percentiles("pod_start_sli_seconds", &facts.pods, |pod| pod.pulled);
        kpis.count("pods_created_total", facts.pods.len() as u64);
        kpis.count("pods_started_total", facts.pods.iter().filter(|pod| pod.ready.is_some()).count() as u64);
        kpis.count("pods_deleted_total", self.pods_removed);
        kpis.count("pods_unscheduled", facts.pods_unscheduled);
        let balance = facts.balance.as_ref();
        kpis.add("node_cpu_requested_max", balance.map(|balance| balance.max));
        kpis.add("node_cpu_requested_deviation", balance.map(|balance| balance.deviation));
        kpis.count("pods_rejected_total", self.pods_rejected);
        kpis.add("assumed_pods_max", facts.assumed_pods_max.map(|pods| pods as f64));
        kpis.count("requests_total", facts.requests);
        kpis.count("requests_conflict", facts.requests_conflict);
        kpis.count("requests_429", facts.requests_429);
        kpis.add("requests_429_per_second", facts.while_written(facts.requests_429 as f64));
        kpis.count("events_total", facts.event_writes);
        let leaders = facts.leaders.as_ref();
        kpis.add("leaderless_seconds", leaders.map(|leaders| leaders.leaderless.0.as_seconds()));
        kpis.add("leaderless_seconds_max", leaders.map(|leaders| leaders.leaderless.1.as_seconds()));
        kpis.add("leader_overlap_seconds", leaders.map(|leaders| leaders.overlap.0.as_seconds()));
        kpis.add("leader_overlap_seconds_max", leaders.map(|leaders| leaders.overlap.1.as_seconds()));
        kpis.add("leader_changes_total", leaders.map(|leaders| leaders.changes as f64));
        let requests = facts.pod_requests.as_ref();
        kpis.add("pod_requests_answered_total", requests.map(|requests| requests.answered));
        kpis.add("pod_requests_given_up_total", requests.map(|requests| requests.given_up));
        kpis.add("pod_request_seconds_p50", requests.and_then(|requests| requests.p50_seconds));
        kpis.add("pod_request_seconds_p99", requests.and_then(|requests| requests.p99_seconds));
        kpis.add("double_assignments_total", facts.races.map(|races| races.double_assignments));
        kpis.add("assignment_conflicts_total", facts.races.map(|races| races.conflicts));
        kpis.0
    }

    /// From the last thing that people, faults or load did (else the start) to the last write that changed the cluster.
    fn convergence_seconds(&self, facts: &RunFacts) -> Option<f64> {
        let from = self.last_disturbance.unwrap_or(facts.start);
        let to = facts.last_write.unwrap_or(from);
        facts.settled.then(|| (to - from).max(Span::ZERO).as_seconds())
    }
}

/// The names of all KPIs, in the order of docs/kpis.md.
pub const NAMES: [&str; 39] = [
    "convergence_seconds",
    "reconciles_total",
    "retries_total",
    "queue_wait_seconds_mean",
    "queue_wait_seconds_p99",
    "queue_wait_seconds_max",
    "queue_depth_mean",
    "staleness_seconds_mean",
    "staleness_seconds_max",
    "pod_start_seconds_p50",
    "pod_start_seconds_p90",
    "pod_start_seconds_p99",
    "pod_start_sli_seconds_p50",
    "pod_start_sli_seconds_p90",
    "pod_start_sli_seconds_p99",
    "pods_created_total",
    "pods_started_total",
    "pods_deleted_total",
    "pods_unscheduled",
    "node_cpu_requested_max",
    "node_cpu_requested_deviation",
    "pods_rejected_total",
    "assumed_pods_max",
    "requests_total",
    "requests_conflict",
    "requests_429",
    "requests_429_per_second",
    "events_total",
    "leaderless_seconds",
    "leaderless_seconds_max",
    "leader_overlap_seconds",
    "leader_overlap_seconds_max",
    "leader_changes_total",
    "pod_requests_answered_total",
    "pod_requests_given_up_total",
    "pod_request_seconds_p50",
    "pod_request_seconds_p99",
    "double_assignments_total",
    "assignment_conflicts_total",
];

struct Kpis(Map<String, Value>);

impl Kpis {
    fn add(&mut self, name: &str, value: Option<f64>) {
        self.0.insert(name.to_string(), Value(value));
    }

    fn count(&mut self, name: &str, count: u64) {
        self.add(name, Some(count as f64));
    }

    fn percentiles(&mut self, name: &str, pods: &[PodStart], left_out: impl Fn(&PodStart) -> Span) {
        let starts = pods.iter().filter_map(|pod| Some(pod.took(left_out(pod))?.0));
        let sample = Sample::new(starts.collect());
        for percent in [50, 90, 99] {
            self.add(&format!("{name}_p{percent}"), sample.percentile(percent).map(seconds));
        }
    }
}

fn seconds(ns: i64) -> f64 {
    Span(ns).as_seconds()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::record::HELD_BACK;
    use crate::model::{Key, Name, Rv};

    fn at(milliseconds: i64) -> Time {
        Time(milliseconds * 1_000_000)
    }

    fn record(id: u64, cause: u64, milliseconds: i64, action: Action, kind: Kind) -> Record {
        Record {
            id: RecordId(id),
            time: at(milliseconds),
            cause: RecordId(cause),
            process: Name::EMPTY,
            component: Name::EMPTY,
            action,
            key: Some(Key::new(kind, "default", "x")),
            detail: Detail::None,
            seen_rv: Rv(0),
            truth_rv: Rv(0),
        }
    }

    fn collect(records: &[Record]) -> KpiCollector {
        let mut collector = KpiCollector::default();
        for record in records {
            collector.record(record);
        }
        collector
    }

    #[test]
    fn queues_retries_and_removals_are_counted_from_records() {
        let collector = collect(&[
            record(1, 0, 0, Action::User, Kind::ReplicaSet),
            record(2, 1, 10, Action::Enqueue, Kind::ReplicaSet),
            record(3, 1, 12, Action::Coalesced, Kind::ReplicaSet),
            record(4, 2, 14, Action::Reconcile, Kind::ReplicaSet),
            record(5, 4, 15, Action::ReconcileError, Kind::ReplicaSet),
            record(6, 5, 20, Action::Enqueue, Kind::ReplicaSet),
            record(7, 6, 22, Action::Reconcile, Kind::ReplicaSet),
            record(8, 7, 30, Action::Remove, Kind::Pod),
            record(9, 7, 30, Action::Remove, Kind::ReplicaSet),
            // It waited for its client's limiter, and was carried out; the next was not.
            Record {
                detail: Detail::Span(HELD_BACK, Span(5)),
                ..record(10, 9, 30, Action::UpdateStatus, Kind::ReplicaSet)
            },
            Record { detail: Detail::Words("Conflict"), ..record(13, 9, 35, Action::UpdateStatus, Kind::ReplicaSet) },
            // What waits after the last write does not count for the depth, nor does what a dead process had queued.
            record(11, 10, 30, Action::Enqueue, Kind::ReplicaSet),
            Record { detail: Detail::Words("OutOfcpu"), ..record(14, 10, 31, Action::Admit, Kind::Pod) },
            Record { detail: Detail::Words("admitted"), ..record(15, 10, 32, Action::Admit, Kind::Pod) },
            record(12, 0, 40, Action::ProcessStop, Kind::ReplicaSet),
        ]);
        let last_write = Some(at(30));
        let facts = RunFacts { start: at(0), last_write, requests_429: 6, ..RunFacts::default() };
        let kpis = collector.finish(&facts);
        // Waits: 14 - 10 = 4 ms and 22 - 20 = 2 ms; the mean is 3 ms; rank of p99 = ceil(1.98) = 2: 4 ms. In 30 ms there
        // were 6 ms of waiting, 0.2 keys at a time, and 6 refusals are 200 a second.
        for (name, value) in [
            ("queue_wait_seconds_mean", 0.003),
            ("queue_wait_seconds_p99", 0.004),
            ("queue_wait_seconds_max", 0.004),
            ("queue_depth_mean", 0.2),
            ("requests_429_per_second", 200.0),
            ("reconciles_total", 2.0),
            ("retries_total", 1.0),
            ("pods_deleted_total", 1.0),
            ("pods_rejected_total", 1.0),
        ] {
            assert_eq!(kpis[name], Value(Some(value)), "{name}");
        }
    }

    #[test]
    fn convergence_counts_from_the_last_disturbance() {
        let collector = collect(&[
            record(1, 0, 1_000, Action::User, Kind::Pod),
            record(2, 0, 4_000, Action::Fault, Kind::Pod),
            record(3, 0, 9_000, Action::Timer, Kind::Pod),
        ]);
        let mut facts = RunFacts { last_write: Some(at(6_500)), settled: true, ..RunFacts::default() };
        assert_eq!(collector.convergence_seconds(&facts), Some(2.5));
        facts.last_write = Some(at(3_000));
        assert_eq!(collector.convergence_seconds(&facts), Some(0.0));
        facts.settled = false;
        assert_eq!(collector.convergence_seconds(&facts), None);
    }

    #[test]
    fn pods_that_never_became_ready_are_created_but_have_no_start() {
        let pod = |ready, pulled| PodStart { created: at(0), ready, pulled: Span::from_milliseconds(pulled) };
        let facts = RunFacts {
            pods: vec![pod(Some(at(3_000)), 2_000), pod(Some(at(1_000)), 0), pod(None, 500)],
            pods_unscheduled: 1,
            ..RunFacts::default()
        };
        let kpis = KpiCollector::default().finish(&facts);
        // Starts 1 s and 3 s, without pulls 1 s and 1 s: p50 has rank 1, p90 rank 2.
        for (name, value) in [
            ("pods_created_total", Some(3.0)),
            ("pods_unscheduled", Some(1.0)),
            ("pod_start_seconds_p50", Some(1.0)),
            ("pod_start_seconds_p90", Some(3.0)),
            ("pod_start_sli_seconds_p99", Some(1.0)),
            ("queue_wait_seconds_mean", None),
            ("staleness_seconds_max", None),
        ] {
            assert_eq!(kpis[name], Value(value), "{name}");
        }
    }

    #[test]
    fn every_kpi_is_documented() {
        let documented = include_str!("../../docs/kpis.md");
        let kpis = KpiCollector::default().finish(&RunFacts::default());
        assert!(kpis.keys().eq(NAMES.iter()), "{:?}", kpis.keys());
        for name in NAMES {
            assert!(documented.contains(&format!("`{name}`")), "docs/kpis.md does not name {name}");
        }
    }
}
