//! The Plan: a resolved scenario. Everything a run depends on, in plain data that threads can share.
//!
//! `scenario` makes it from files, `sim::lockstep` from recordings; [`crate::sim::World`] is built from it.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use super::load_plan::LoadPlans;
pub use super::lockstep::TransportPlan;
use super::lockstep::{KubeletDoublePlan, UserAction};
pub use crate::client::leader_election::ElectionSettings;
pub use crate::client::queue_settings::{
    HandlerAdd, LimiterSettings, QueueKind, QueueSettings as QueuePlan, WorkerLoop,
};
pub use crate::controllers::custom::OperatorSettings;
pub use crate::faults::{
    ApiServerFault, Crash, CrashPoint, Cut, CutWatch, DelayReplies, DelayWatch, DropStage, DropWatchEvents,
    DuplicateWatchEvents, FaultAction, KillTasks, LoseReplies, ObjectTarget, Occurrences, Partition, ProcessRef,
    Reconnect, RefuseConnections, ReorderWatches, Repeat, RequestTarget, Respond, SlowRequests, StallWatch,
    Subresource, Trigger, TriggerEvent, Verb, Victims, WatchEventType, WatchTarget,
};
pub use crate::kubectl::command::{Command, CommandVerb, Target};

pub use crate::apiserver::settings::{ApiServerSettings, Capacity, Limits, VerbTimes};

use crate::autoscaling::hpa::settings::Settings as HpaSettings;
use crate::client::rest::ClientLimit;
use crate::client::token_bucket::TokenBucket;
use crate::model::distribution::Distribution;
use crate::model::{ComponentGates, Gate, Gates, Kind, Kinds, Span, Time};
use crate::node::RejectedPods;
pub use crate::polling::Settings as PollingSettings;
use crate::scheduler::cycle_time::CycleTime;
use crate::scheduler::framework::ProfileConfig;
use crate::scheduler::ties::Ties;

/// A resolved scenario: one world to run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the scenario.
    pub name: String,
    /// Name of the variant; empty when there is one world only.
    pub variant: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Replication number, part of the key of all draws.
    pub replication: u64,
    /// Whose behaviour is followed.
    pub version: KubernetesVersion,
    /// The instant at which the run starts.
    pub start_at: Time,
    /// When the run ends.
    pub end: End,
    /// The run stops, marked partial, after this many events.
    pub event_budget: u64,
    /// The kinds of objects that the cluster serves.
    pub kinds: Kinds,
    /// What is in etcd when the run starts, in order: manifests as JSON, not yet defaulted.
    pub objects: Vec<Arc<Value>>,
    /// How long the pieces of a request take.
    pub latency: Latency,
    /// Latencies of single processes, by name, where they differ.
    pub process_latency: Vec<(String, Latency)>,
    /// What the API servers take on and can do.
    pub api_server: ApiServerSettings,
    /// What runs.
    pub processes: Vec<ProcessPlan>,
    /// How the physical world behaves.
    pub containers: ContainerTimes,
    /// Requests and messages, and what they cost.
    pub load: LoadPlans,
    /// What people do, in order of time.
    pub timeline: Vec<TimelineEntry>,
    /// What happens to the world.
    pub faults: Vec<FaultPlan>,
    /// What the user wants to know.
    pub expectations: Vec<Expectation>,
    /// Feature gates that are on, by component.
    pub gates: ComponentGates,
    /// Where we leave reality on purpose.
    pub model: ModelOptions,
    /// Pod creates the API server refuses (recordings only).
    pub admission_limit: Option<AdmissionLimit>,
    /// Names and uids by counter instead of by draw (recordings only).
    pub names_by_counter: bool,
    /// How requests and watch events travel, in place of the latencies (recordings only).
    pub transport: Option<Arc<TransportPlan>>,
    /// Things the user should know about how the scenario was read.
    pub notices: Vec<String>,
}

/// A version of Kubernetes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum KubernetesVersion {
    /// 1.32
    V1_32,
    /// 1.35
    V1_35,
    /// 1.36
    V1_36,
}

impl KubernetesVersion {
    /// All versions we follow.
    pub const ALL: [KubernetesVersion; 3] =
        [KubernetesVersion::V1_32, KubernetesVersion::V1_35, KubernetesVersion::V1_36];

    /// As scenarios write it.
    pub fn as_str(self) -> &'static str {
        match self {
            KubernetesVersion::V1_32 => "1.32",
            KubernetesVersion::V1_35 => "1.35",
            KubernetesVersion::V1_36 => "1.36",
        }
    }
}

impl KubernetesVersion {
    /// The minor version.
    pub fn minor(self) -> u8 {
        match self {
            KubernetesVersion::V1_32 => 32,
            KubernetesVersion::V1_35 => 35,
            KubernetesVersion::V1_36 => 36,
        }
    }

    /// The gates that are on when nobody says otherwise.
    pub fn gates(self) -> ComponentGates {
        let on = |gates: Gates, gate: Gate| {
            let is_on = gate.state_in(self.minor()).is_some_and(|state| state.is_on);
            gates.with(gate, is_on)
        };
        ComponentGates::all(Gate::ALL.into_iter().fold(Gates::default(), on))
    }
}

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum End {
    /// After this long.
    After(Span),
    /// When quiet or at the last bound of an expectation, whichever is later, and at `limit` at the latest.
    Quiet {
        /// Latest end, counted from the start.
        limit: Span,
    },
}

/// How long the pieces of a request take.
#[derive(Clone, PartialEq, Debug)]
pub struct Latency {
    /// Client to API server.
    pub request: Distribution,
    /// Commit to etcd, writes only.
    pub commit: Distribution,
    /// API server to client.
    pub reply: Distribution,
    /// Commit to the informer's cache.
    pub watch: Distribution,
}

impl Latency {
    /// No time at all.
    pub const ZERO: Latency = Latency {
        request: Distribution::ZERO,
        commit: Distribution::ZERO,
        reply: Distribution::ZERO,
        watch: Distribution::ZERO,
    };
}

/// A process: a binary with its components.
#[derive(Clone, Debug)]
pub struct ProcessPlan {
    /// `kube-controller-manager`
    pub name: String,
    /// Replica number, from 0.
    pub replica: u32,
    /// What runs in it.
    pub components: Vec<ComponentPlan>,
    /// Resync of its informers.
    pub resync: ResyncPlan,
    /// Rate limit of each API client; `None` for none.
    pub client: Option<RateLimit>,
    /// Longest time of a request with all its attempts (`rest.Config.Timeout`); `None` without limit.
    pub request_timeout: Option<Span>,
    /// Whether Kubernetes Events use a client of their own, with this limit; otherwise they share the main one.
    pub events_client: Option<RateLimit>,
    /// Its Events are in the store at once: a program that keeps the store itself needs no recorder and no request.
    pub own_events: bool,
    /// It is the main program of the pods of this object, by kind, namespace and name: it starts and ends with a container
    /// of theirs, and not by itself.
    pub runs_in: Option<(Kind, String, String)>,
    /// How its replicas agree on who acts; `None` if each acts by itself.
    pub election: Option<ElectionPlan>,
    /// The clock of its host.
    pub clock: ClockPlan,
}

impl ProcessPlan {
    /// The only replica of a process with these components: no resync, no limit of its clients, no election, a host whose
    /// clock is right.
    pub fn new(name: impl Into<String>, components: Vec<ComponentPlan>) -> ProcessPlan {
        ProcessPlan {
            name: name.into(),
            replica: 0,
            components,
            resync: ResyncPlan::Never,
            client: None,
            request_timeout: None,
            events_client: None,
            own_events: false,
            runs_in: None,
            election: None,
            clock: ClockPlan::default(),
        }
    }
}

/// How the replicas of a process agree on who acts.
#[derive(Clone, PartialEq, Debug)]
pub struct ElectionPlan {
    /// Times of the election.
    pub settings: ElectionSettings,
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// When its informers start.
    pub caches: CacheStart,
    /// How long it goes on acting after it was told to stop or gave up the lease.
    pub stop_hook: Span,
    /// From its end, when it lost the lease, to its next start.
    pub restart_after: Span,
}

/// When the informers of a process with an election start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CacheStart {
    /// When it leads: its caches are cold (kube-controller-manager).
    OnElection,
    /// With the process, before it takes part in the election: its caches are warm, only its workers wait
    /// (kube-scheduler, controller-runtime).
    AtOnce,
}

/// The clock of a host.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClockPlan {
    /// How much it is ahead at the start of the run.
    pub offset: Span,
    /// Seconds it shows for a true second; above zero.
    pub rate: f64,
    /// Whether spans are measured by a reading that no step moves, as Go does.
    pub monotonic: bool,
}

impl Default for ClockPlan {
    fn default() -> ClockPlan {
        ClockPlan { offset: Span::ZERO, rate: 1.0, monotonic: true }
    }
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateLimit {
    /// Tokens a second.
    pub qps: f64,
    /// Most tokens.
    pub burst: i64,
}

impl RateLimit {
    /// The bucket of a client with this limit, by the rules of a client's configuration.
    pub fn bucket(self) -> Option<TokenBucket> {
        ClientLimit { qps: self.qps as f32, burst: u32::try_from(self.burst).unwrap_or(0) }.bucket()
    }
}

/// Resync of a process' informers.
#[derive(Clone, PartialEq, Debug)]
pub enum ResyncPlan {
    /// None.
    Never,
    /// A fixed period.
    Every(Span),
    /// kube-controller-manager's: the minimum times a factor in [1, 2), drawn once a process (or once a controller,
    /// `model.resyncDraw`).
    AtLeast(Span),
}

/// A component and its settings.
#[derive(Clone, Debug)]
pub enum ComponentPlan {
    /// The ReplicaSet controller.
    ReplicaSet(QueuePlan),
    /// The Deployment controller.
    Deployment(QueuePlan),
    /// The horizontal pod autoscaler: settings, and computing time of a sync.
    HorizontalPodAutoscaler(HpaSettings, Distribution),
    /// The garbage collector.
    GarbageCollector(QueuePlan),
    /// The EndpointSlice controller.
    EndpointSlice(QueuePlan, crate::controllers::endpoint_slice::Settings),
    /// An operator of the scenario's own.
    Operator(QueuePlan, Arc<OperatorSettings>),
    /// kube-scheduler.
    Scheduler(SchedulerPlan),
    /// The kubelets of all nodes.
    Kubelets(KubeletPlan),
    /// kubectl: carries out the timeline.
    Kubectl,
    /// Scheduler and kubelet double of the controller recordings.
    PodDouble(PodDoublePlan),
    /// A part of the teaching orchestrator that polls.
    Polling(PollingPlan),
    /// Kubelets of the whole-system recordings.
    KubeletDouble(KubeletDoublePlan),
    /// Garbage collector of the whole-system recordings.
    OwnerDouble,
    /// User of the whole-system recordings: what is done when, from the start of the run.
    UserDouble(Vec<(Span, UserAction)>),
    /// A controller double whose keys come by themselves (tests of queues only).
    Arrivals(ArrivalsPlan),
    /// A controller double that looks at every object and does nothing (measurements only).
    Onlooker(QueuePlan),
}

/// A part of the teaching orchestrator.
#[derive(Clone, Debug)]
pub struct PollingPlan {
    /// Which.
    pub part: PollingPart,
    /// Settings of the whole.
    pub settings: Arc<PollingSettings>,
}

/// The parts of the teaching orchestrator.
#[derive(Clone, Debug)]
pub enum PollingPart {
    /// Clients and the server's workers.
    Front {
        /// The pod that clients ask for.
        template: Option<Arc<Value>>,
    },
    /// The background tasks.
    Tasks,
    /// The loop over pending pods.
    Loop,
    /// The agents of all nodes.
    Agents,
}

/// A controller double whose keys come by themselves, see `sim::arrivals`.
#[derive(Clone, Debug)]
pub struct ArrivalsPlan {
    /// Its queue; the computing time is the service time.
    pub queue: QueuePlan,
    /// Times between two keys.
    pub between: Distribution,
    /// How many keys come.
    pub count: u64,
}

/// Settings of the scheduler.
#[derive(Clone, Debug)]
pub struct SchedulerPlan {
    /// Computing time of a scheduling cycle.
    pub cycle: CycleTime,
    /// `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: u32,
    /// `podInitialBackoffSeconds`
    pub pod_initial_backoff: Span,
    /// `podMaxBackoffSeconds`
    pub pod_max_backoff: Span,
    /// Whether a pod counts on its node before the binding is confirmed (`model.assume`).
    pub assume: bool,
    /// Profiles; empty for the default one.
    pub profiles: Vec<ProfileConfig>,
    /// Which of several best nodes a pod gets (`model.ties`).
    pub ties: Ties,
    /// The pod, by namespace and name, of which observers are told what the scheduler thinks. It changes no result.
    pub explain: Option<(String, String)>,
}

/// Settings of the kubelets.
#[derive(Clone, Debug)]
pub struct KubeletPlan {
    /// Period of the relist of containers (PLEG): how late a change of a container is noticed.
    pub pleg_period: Span,
    /// Period of lease renewals.
    pub heartbeat_period: Span,
    /// What becomes of pods that they refuse (`model.rejectedPods`).
    pub rejected_pods: RejectedPods,
}

/// The controller recordings' own model of scheduler and kubelet (vectors/controllers/README.md).
#[derive(Clone, Debug)]
pub struct PodDoublePlan {
    /// Creation to binding.
    pub bind_after: Span,
    /// Added to binding, times (n mod 16).
    pub stagger: Span,
    /// Binding to Running.
    pub start_after: Span,
    /// Running to Ready.
    pub ready_after: Span,
    /// Deletion to gone, at most the grace period.
    pub terminate_after: Span,
}

/// How containers behave, by which pods they belong to.
#[derive(Clone, Debug)]
pub struct ContainerTimes {
    /// Rules in the order of the scenario; the first that applies wins, field by field the default fills in.
    pub rules: Vec<ContainerRule>,
    /// Pull of an image that the node does not have.
    pub pull: Distribution,
    /// Start of a container.
    pub start: Distribution,
    /// Start to ready.
    pub ready: Distribution,
    /// From the signal to the end of a container.
    pub stop: Distribution,
}

impl ContainerTimes {
    /// No time at all.
    pub const ZERO: ContainerTimes = ContainerTimes {
        rules: Vec::new(),
        pull: Distribution::ZERO,
        start: Distribution::ZERO,
        ready: Distribution::ZERO,
        stop: Distribution::ZERO,
    };
}

/// How the containers of some pods behave (`spec.containers`).
#[derive(Clone, Debug)]
pub struct ContainerRule {
    /// Owner of the pods: kind, namespace, name; a Deployment covers the pods of its ReplicaSets.
    pub of: (Kind, String, String),
    /// Pull of the image.
    pub pull: Option<Distribution>,
    /// Start of a container.
    pub start: Option<Distribution>,
    /// Start to ready.
    pub ready: Option<Distribution>,
    /// From the signal to the end.
    pub stop: Option<Distribution>,
}

/// What somebody does at some time.
#[derive(Clone, Debug)]
pub struct TimelineEntry {
    /// When, from the start.
    pub at: Span,
    /// A kubectl command line, parsed (see `crate::kubectl`), or objects to write directly.
    pub command: Command,
}

/// Something that happens to the world.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    /// Whose draws its draws are: the name that the user gave it, or the word of its action.
    pub name: String,
    /// When, from the start; with `when`, not before.
    pub at: Span,
    /// It begins at the end of the first instant at which this holds.
    pub when: Option<FaultCondition>,
    /// It begins with such an event.
    pub after: Option<Trigger>,
    /// How often it begins.
    pub repeat: Repeat,
    /// How long; `None` until the end of the run (or as the action says).
    pub duration: Option<Span>,
    /// What.
    pub action: FaultAction,
    /// As the user wrote it, for trace and charts.
    pub text: String,
}

impl FaultPlan {
    /// A fault that begins by itself.
    pub fn new(at: Span, duration: Option<Span>, action: FaultAction, text: impl Into<String>) -> FaultPlan {
        let text = text.into();
        FaultPlan { name: text.clone(), at, when: None, after: None, repeat: Repeat::default(), duration, action, text }
    }
}

impl FaultPlan {
    /// Whether it begins at its time, whatever happens until then.
    pub fn begins_for_sure(&self) -> bool {
        self.when.is_none() && self.after.is_none() && self.repeat.probability.is_none()
    }
}

/// A condition over the observed state for which a fault waits.
#[derive(Clone, Debug)]
pub struct FaultCondition {
    /// As the user wrote it.
    pub text: String,
    /// Makes a judge of the text, which was checked. Judges live in `probes`, which this room must not know.
    pub judge: fn(&str, &Kinds) -> Rc<dyn WorldCondition>,
}

/// A question to the observed state of a world.
pub trait WorldCondition: std::fmt::Debug {
    /// Whether it holds now, at the end of an instant. What cannot be answered (there is no such object) does not hold.
    fn holds(&self, world: &super::World) -> bool;

    /// Whether a change of an object of this kind can change the answer.
    fn depends_on(&self, kind: Kind) -> bool;

    /// Whether the answer can change without any object changing.
    fn depends_on_metrics(&self) -> bool;
}

/// What must hold, and when.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// When.
    pub when: When,
    /// A CEL condition over the observed state.
    pub that: String,
    /// For these variants only; for all if empty.
    pub only_in: Vec<String>,
}

/// When an expectation is judged. Times count from the start.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum When {
    /// Holds at the end of this instant.
    At(Span),
    /// Holds at some instant of the window.
    Within {
        /// Start of the window.
        from: Span,
        /// Length of the window.
        within: Span,
    },
    /// Holds at every instant of the run.
    Always,
    /// Holds at no instant.
    Never,
    /// Holds at some instant before the run ends.
    Eventually,
    /// Holds from the start until this instant.
    Until(Span),
}

impl When {
    /// The last instant at which it has to be looked at, if it has one of its own.
    pub fn last_bound(self) -> Option<Span> {
        match self {
            When::At(at) | When::Until(at) => Some(at),
            When::Within { from, within } => Some(from + within),
            When::Always | When::Never | When::Eventually => None,
        }
    }
}

/// Deliberate departures from reality (`spec.model`).
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ModelOptions {
    /// What a resync does.
    pub resync: ResyncModel,
    /// Who draws the resync period.
    pub resync_draw: ResyncDraw,
    /// How streams behave.
    pub streams: StreamModel,
    /// A binding moves a pod that has a node already: the teaching orchestrator without compare-and-set.
    pub rebinds: bool,
    /// The server says of each new pod, by an Event, that it is created: the teaching orchestrator.
    pub tells_of_new_pods: bool,
}

/// What a resync does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResyncModel {
    /// Replays the cache to the handlers, as client-go does.
    #[default]
    Replay,
    /// Lists again and replaces the cache, as textbooks tell it.
    Relist,
}

/// How the streams of watches behave.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum StreamModel {
    /// As a real API server's: bookmarks, time-outs, and what was there before is sent when the stream is open.
    #[default]
    Real,
    /// As the whole-system recordings' (vectors/e2e/README.md): no bookmarks, no end by itself, and what was there before
    /// takes the watch's delay once the stream is open.
    Recording,
}

/// Who draws the resync period.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResyncDraw {
    /// One draw a process.
    #[default]
    PerProcess,
    /// One draw a controller.
    PerController,
}

/// Pod creates beyond a number are refused for a while.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AdmissionLimit {
    /// Pods that may exist.
    pub pods: usize,
    /// Until when, from the start.
    pub until: Span,
}

/// The last instant at which an expectation has to be looked at: a run that ends when quiet goes on until then.
pub fn last_bound(plan: &Plan) -> Time {
    let bounds = plan.expectations.iter().filter_map(|expectation| expectation.when.last_bound());
    plan.start_at + bounds.max().unwrap_or(Span::ZERO)
}
