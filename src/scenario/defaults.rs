//! What holds when a scenario says nothing: the one table, from which docs/defaults.md is written.

use crate::model::{Distribution, Span};
use crate::sim::plan::{ContainerTimes, KubernetesVersion, Latency, RateLimit};

/// Seed of a run.
pub const SEED: u64 = 0;
/// Whose behaviour is followed.
pub const VERSION: KubernetesVersion = KubernetesVersion::V1_36;
/// The instant at which a run starts.
pub const START_AT: &str = "2026-01-01T00:00:00Z";
/// Latest end of a run without `spec.duration`.
pub const QUIET_LIMIT: Span = Span::from_seconds(3600);
/// A run stops, marked partial, after this many events.
pub const EVENT_BUDGET: u64 = 1_000_000_000;
/// Nodes when none is given.
pub const NODE_COUNT: i64 = 5;
/// CPU of a node.
pub const NODE_CPU: &str = "8";
/// Memory of a node.
pub const NODE_MEMORY: &str = "32Gi";
/// Most pods of a node.
pub const NODE_PODS: i64 = 110;
/// `kubernetes.io/os` of a node.
pub const NODE_OS: &str = "linux";
/// `kubernetes.io/arch` of a node.
pub const NODE_ARCHITECTURE: &str = "amd64";
/// Client to API server.
pub const REQUEST: Span = Span::from_milliseconds(2);
/// Commit to etcd.
pub const COMMIT: Span = Span::from_milliseconds(5);
/// API server to client.
pub const REPLY: Span = Span::from_milliseconds(2);
/// Commit to the informers' caches.
pub const WATCH: Span = Span::from_milliseconds(5);
/// `--max-requests-inflight`.
pub const MAX_REQUESTS_INFLIGHT: u32 = 400;
/// `--max-mutating-requests-inflight`.
pub const MAX_MUTATING_REQUESTS_INFLIGHT: u32 = 200;
/// `--request-timeout`.
pub const REQUEST_TIMEOUT: Span = Span::from_seconds(60);
/// Requests that an API server with a capacity carries out at full speed at the same time.
pub const API_EXECUTORS: u32 = 4;
/// What a crowd of requests costs an API server with a capacity.
pub const API_CONTENTION: f64 = 0.1;
/// Fixed part of a scheduling cycle; for this and the next two see `scheduler::cycle_time`.
pub const SCHEDULING_CYCLE: Span = Span::from_microseconds(100);
/// More for each node that it filters.
pub const SCHEDULING_PER_NODE_FILTERED: Span = Span::from_microseconds(1);
/// More for each node that it scores.
pub const SCHEDULING_PER_NODE_SCORED: Span = Span::from_microseconds(1);
/// Back-off of a pod after its first vain attempt.
pub const POD_INITIAL_BACKOFF: Span = Span::from_seconds(1);
/// Longest back-off of a pod.
pub const POD_MAX_BACKOFF: Span = Span::from_seconds(10);
/// Pull of an image that the node does not have.
pub const IMAGE_PULL: Span = Span::from_seconds(2);
/// Start of a container.
pub const CONTAINER_START: Span = Span::from_seconds(1);
/// Start to ready, without a readiness probe.
pub const CONTAINER_READY: Span = Span::ZERO;
/// From the signal to the end of a container.
pub const CONTAINER_STOP: Span = Span::from_seconds(1);
/// How late a kubelet notices a change of a container.
pub const PLEG_PERIOD: Span = Span::from_seconds(1);
/// Lease renewals of a kubelet.
pub const HEARTBEAT_PERIOD: Span = Span::from_seconds(10);
/// A killed process is noticed by its kubelet (PLEG) and its container starts again.
pub const KILL_RESTART_AFTER: Span = Span::from_seconds(2);
/// A restarted process is down while its container starts.
pub const RESTART_AFTER: Span = Span::from_seconds(1);
/// A process that lost its lease exits, and its kubelet starts it again.
pub const EXIT_RESTART_AFTER: Span = Span::from_seconds(2);
/// `--min-resync-period`.
pub const MIN_RESYNC_PERIOD: Span = Span::from_seconds(12 * 3600);
/// `--concurrent-replicaset-syncs`.
pub const REPLICASET_SYNCS: u32 = 5;
/// `--concurrent-deployment-syncs`.
pub const DEPLOYMENT_SYNCS: u32 = 5;
/// `--concurrent-gc-syncs`.
pub const GC_SYNCS: u32 = 20;
/// Computing time of a reconcile.
pub const RECONCILE_TIME: Span = Span::ZERO;
/// kube-controller-manager's client.
pub const CONTROLLER_MANAGER_CLIENT: RateLimit = RateLimit { qps: 20.0, burst: 30 };
/// kube-scheduler's client, and another one for its Events.
pub const SCHEDULER_CLIENT: RateLimit = RateLimit { qps: 50.0, burst: 100 };
/// Each kubelet's client, and another one for its Events.
pub const KUBELET_CLIENT: RateLimit = RateLimit { qps: 50.0, burst: 100 };

/// `maxConcurrentReconciles` of an operator.
pub const OPERATOR_WORKERS: u32 = 1;
/// Resync of an operator's informers.
pub const OPERATOR_RESYNC: Span = Span::from_seconds(10 * 3600);
/// How long an operator that is told to end waits for reconciles under way.
pub const GRACEFUL_SHUTDOWN_TIMEOUT: Span = Span::from_seconds(30);
/// What is left unsaid of an operator's own client limit: client-go's. Without any it has none.
pub const OPERATOR_CLIENT: RateLimit = RateLimit { qps: 5.0, burst: 10 };
/// First delay of a queue's limiter.
pub const LIMITER_BASE: Span = Span::from_milliseconds(5);
/// Longest delay of a queue's limiter.
pub const LIMITER_MAX: Span = Span::from_seconds(1000);
/// Bucket of a plain queue's limiter.
pub const LIMITER_BUCKET: RateLimit = RateLimit { qps: 10.0, burst: 100 };
/// First delay of an operator's back-off of its own.
pub const ERROR_BACKOFF_BASE: Span = Span::from_milliseconds(500);
/// Longest delay of it.
pub const ERROR_BACKOFF_MAX: Span = Span::from_seconds(300);

/// Latencies of requests and watches.
pub fn latency() -> Latency {
    let constant = |span: Span| Distribution::Constant(span.0);
    Latency { request: constant(REQUEST), commit: constant(COMMIT), reply: constant(REPLY), watch: constant(WATCH) }
}

/// How containers behave.
pub fn containers() -> ContainerTimes {
    let constant = |span: Span| Distribution::Constant(span.0);
    ContainerTimes {
        rules: Vec::new(),
        pull: constant(IMAGE_PULL),
        start: constant(CONTAINER_START),
        ready: constant(CONTAINER_READY),
        stop: constant(CONTAINER_STOP),
    }
}

/// A row of docs/defaults.md.
pub struct Row {
    /// Where a scenario changes it.
    pub setting: &'static str,
    /// The default.
    pub value: String,
    /// What it is.
    pub meaning: &'static str,
    /// `Kubernetes` when the value is a default of Kubernetes, `ours` when no official figure exists.
    pub origin: &'static str,
}

fn row(setting: &'static str, value: impl ToString, origin: &'static str, meaning: &'static str) -> Row {
    Row { setting, value: value.to_string(), meaning, origin }
}

fn limit(limit: RateLimit) -> String {
    format!("{} qps, burst {}", limit.qps, limit.burst)
}

/// All defaults, in the order of docs/defaults.md.
pub fn rows() -> Vec<Row> {
    let mut rows = usual_rows();
    rows.extend(physical_rows());
    rows.extend(api_load_rows());
    rows.extend(election_rows());
    rows.extend(operator_rows());
    rows
}

const OURS: &str = "ours";
const KUBERNETES: &str = "Kubernetes";
const CONTROLLER_RUNTIME: &str = "controller-runtime";

/// What API servers take on and can do.
fn api_load_rows() -> Vec<Row> {
    vec![
        row("`--max-requests-inflight`", MAX_REQUESTS_INFLIGHT, KUBERNETES, "seats of an API server, with the next"),
        row("`--max-mutating-requests-inflight`", MAX_MUTATING_REQUESTS_INFLIGHT, KUBERNETES, "the same"),
        row("`--enable-priority-and-fairness`", true, KUBERNETES, "seats are shared out by priority and fairness"),
        row("`--request-timeout`", REQUEST_TIMEOUT, KUBERNETES, "a request waits for a seat a quarter of it at most"),
        row("`spec.controlPlane.apiServer.capacity`", "without bound", OURS, "requests that a server does in a second"),
        row("`spec.controlPlane.apiServer.capacity.executors`", API_EXECUTORS, OURS, "of them at full speed at a time"),
        row(
            "`spec.controlPlane.apiServer.capacity.contention`",
            API_CONTENTION,
            OURS,
            "what a crowd costs, see docs/api-load.md",
        ),
        row("`spec.controlPlane.apiServer.lag`", Span::ZERO, OURS, "how far watch caches are behind etcd"),
    ]
}

/// Operators of a scenario's own.
fn operator_rows() -> Vec<Row> {
    vec![
        row("`spec.operators[].reconcile.takes`", RECONCILE_TIME, OURS, "computing time of an operator's reconcile"),
        row(
            "`spec.operators[].maxConcurrentReconciles`",
            OPERATOR_WORKERS,
            CONTROLLER_RUNTIME,
            "workers of an operator",
        ),
        row("`spec.operators[].resync`", OPERATOR_RESYNC, CONTROLLER_RUNTIME, "resync of an operator's informers"),
        row(
            "`spec.operators[].gracefulShutdownTimeout`",
            GRACEFUL_SHUTDOWN_TIMEOUT,
            CONTROLLER_RUNTIME,
            "wait of an operator that is told to end",
        ),
        row("`spec.operators[].queue`", "priority", CONTROLLER_RUNTIME, "queue of an operator"),
        row(
            "`spec.operators[].rateLimiter`",
            format!("{LIMITER_BASE} to {LIMITER_MAX}"),
            CONTROLLER_RUNTIME,
            "first and longest delay of an object that fails",
        ),
        row(
            "`spec.operators[].rateLimiter.qps`, `.burst`",
            format!("{} with a plain queue, else none", limit(LIMITER_BUCKET)),
            CONTROLLER_RUNTIME,
            "bucket for all objects that are added through the limiter",
        ),
        row(
            "`spec.operators[].client`",
            format!("none; of what is given only in part {}", limit(OPERATOR_CLIENT)),
            CONTROLLER_RUNTIME,
            "client of an operator",
        ),
        row(
            "`spec.operators[].errorBackoff`",
            format!("{ERROR_BACKOFF_BASE} to {ERROR_BACKOFF_MAX} where it is given"),
            OURS,
            "a back-off of an operator's own",
        ),
    ]
}

fn usual_rows() -> Vec<Row> {
    vec![
        row("`spec.seed`", SEED, OURS, "seed of all draws"),
        row("`spec.kubernetesVersion`", VERSION.as_str(), OURS, "whose behaviour is followed"),
        row("`spec.startAt`", START_AT, OURS, "the instant at which the run starts"),
        row("`spec.duration`", format!("until quiet, at most {QUIET_LIMIT}"), OURS, "end of the run"),
        row("`spec.eventBudget`", EVENT_BUDGET, OURS, "events after which a run stops, marked partial"),
        row("`spec.nodes`", NODE_COUNT, OURS, "nodes when no Node is given (with a notice)"),
        row("`spec.nodes[].cpu`", NODE_CPU, OURS, "CPU of a node"),
        row("`spec.nodes[].memory`", NODE_MEMORY, OURS, "memory of a node"),
        row("`spec.nodes[].pods`", NODE_PODS, KUBERNETES, "most pods of a node (kubelet's maxPods)"),
        row(
            "`kubernetes.io/os` of a node",
            NODE_OS,
            OURS,
            "label of nodes that have none, `beta.kubernetes.io/os` too",
        ),
        row("`kubernetes.io/arch` of a node", NODE_ARCHITECTURE, OURS, "the same, `beta.kubernetes.io/arch` too"),
        row("`spec.controlPlane.apiServer.request`", REQUEST, OURS, "client to API server"),
        row("`spec.controlPlane.apiServer.commit`", COMMIT, OURS, "commit to etcd, writes only"),
        row("`spec.controlPlane.apiServer.reply`", REPLY, OURS, "API server to client"),
        row("`spec.controlPlane.apiServer.watch`", WATCH, OURS, "commit to the informers' caches"),
        row(
            "`--min-resync-period`",
            MIN_RESYNC_PERIOD,
            KUBERNETES,
            "resync of kube-controller-manager, times a factor in [1, 2)",
        ),
        row("`--concurrent-replicaset-syncs`", REPLICASET_SYNCS, KUBERNETES, "workers of the ReplicaSet controller"),
        row("`--concurrent-deployment-syncs`", DEPLOYMENT_SYNCS, KUBERNETES, "workers of the Deployment controller"),
        row("`--concurrent-gc-syncs`", GC_SYNCS, KUBERNETES, "workers of the garbage collector"),
        row(
            "`spec.controlPlane.controllerManager.reconcileTime`",
            RECONCILE_TIME,
            OURS,
            "computing time of a reconcile",
        ),
        row(
            "`--kube-api-qps`, `--kube-api-burst`",
            limit(CONTROLLER_MANAGER_CLIENT),
            KUBERNETES,
            "a client for each controller of kube-controller-manager, shared by the controller's Events",
        ),
        row(
            "`--kube-api-qps`, `--kube-api-burst`",
            limit(SCHEDULER_CLIENT),
            KUBERNETES,
            "client of kube-scheduler; its Events have another one like it",
        ),
        row("(none)", limit(KUBELET_CLIENT), KUBERNETES, "client of each kubelet; its Events have another one like it"),
        row(
            "`spec.controlPlane.scheduler.cycleTime.base`",
            SCHEDULING_CYCLE,
            OURS,
            "fixed part of a scheduling cycle; this and the next two follow measurements of the real code",
        ),
        row(
            "`spec.controlPlane.scheduler.cycleTime.perNodeFiltered`",
            SCHEDULING_PER_NODE_FILTERED,
            OURS,
            "more for each node that it filters, and for each that a preemption looks at",
        ),
        row(
            "`spec.controlPlane.scheduler.cycleTime.perNodeScored`",
            SCHEDULING_PER_NODE_SCORED,
            OURS,
            "more for each node that it scores",
        ),
    ]
}

/// The physical world, and processes that die.
fn physical_rows() -> Vec<Row> {
    vec![
        row("`spec.containers[].pull`", IMAGE_PULL, OURS, "pull of an image that the node does not have"),
        row("`spec.containers[].start`", CONTAINER_START, OURS, "start of a container"),
        row("`spec.containers[].ready`", CONTAINER_READY, OURS, "start to ready, without a readiness probe"),
        row(
            "`spec.containers[].stop`",
            CONTAINER_STOP,
            OURS,
            "signal to the end of a container, at most its grace period",
        ),
        row("(none)", PLEG_PERIOD, KUBERNETES, "relist of containers: how late a kubelet notices a change"),
        row("(none)", HEARTBEAT_PERIOD, KUBERNETES, "lease renewals of a kubelet"),
        row("`duration` of a `kill`", KILL_RESTART_AFTER, OURS, "until a killed process starts again"),
        row("`duration` of a `restart`", RESTART_AFTER, OURS, "until a restarted process starts again"),
    ]
}

/// Defaults of replicas and their elections.
fn election_rows() -> Vec<Row> {
    const OURS: &str = "ours";
    const KUBERNETES: &str = "Kubernetes";
    vec![
        row(
            "`spec.controlPlane.*.leaderElection.{leaseDuration, renewDeadline, retryPeriod}`",
            "15s, 10s, 2s",
            KUBERNETES,
            "how replicas elect one of them",
        ),
        row(
            "`spec.controlPlane.*.leaderElection.leaderElect`",
            "with more than one replica",
            OURS,
            "whether they do (the real components elect with one replica too)",
        ),
        row(
            "`spec.controlPlane.*.leaderElection.restartAfter`",
            EXIT_RESTART_AFTER,
            OURS,
            "from the end of a process that lost its lease to its next start",
        ),
    ]
}

/// The text of docs/defaults.md.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Defaults\n\nWhat holds when a scenario says nothing. All times are constants unless a scenario gives a distribution. \
         No official figures exist for most\ndelays: those are ours. Written from src/scenario/defaults.rs; a test holds the two equal.\n\n\
         | setting | default | origin | what it is |\n| --- | --- | --- | --- |\n",
    );
    for row in rows() {
        text.push_str(&format!("| {} | {} | {} | {} |\n", row.setting, row.value, row.origin, row.meaning));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `KUBESIM_WRITE_DOCS=1 cargo test --lib defaults` writes the file anew.
    #[test]
    fn the_page_is_written_from_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/defaults.md");
        if std::env::var_os("KUBESIM_WRITE_DOCS").is_some() {
            std::fs::write(path, markdown()).expect("docs/ can be written");
        }
        assert_eq!(std::fs::read_to_string(path).expect("docs/defaults.md is there"), markdown());
    }

    #[test]
    fn the_default_start_is_an_instant() {
        // 2026-01-01: 56 years with 14 leap days after 1970 = 20454 days.
        let start = crate::rules::timestamp::parse(START_AT).map(|time| time.0);
        assert_eq!(start, Some(20_454 * 86_400 * 1_000_000_000));
    }
}
