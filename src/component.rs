//! All that a slice may touch: the trait it implements, what comes in, what it may read, and what goes out.
//!
//! A component is one controller, the scheduler, one set of kubelets. It lives in a process (see [`crate::client`]) and
//! knows what its real counterpart knows: its own memory, its process' informer caches, replies, its node's sensors.
//! In a slice only `component.rs` may name [`Informers`], [`Sensors`] or [`Outbox`]; all else is pure (tests/tidy.rs).

use crate::engine::calendar::Nature;
use crate::model::api::ObjectSelector;
use crate::model::autoscaling::{MetricIdentifier, ScaleTarget};
use crate::model::record::Detail;
use crate::model::scheduling::SchedulingNote;
use crate::model::{
    Action, ApiResult, Cause, EventType, Key, Kind, Name, Object, Pod, Record, RecordId, Request, Rv, Span, Time, Uid,
};

pub use crate::client::informers::Informers;

/// A controller, the scheduler, the kubelets: what runs inside a process.
pub trait Component {
    /// Its name as scenarios address it: `replicaset`, `scheduler`.
    fn name(&self) -> &'static str;

    /// The informers it needs in its process and the resync of its handlers.
    fn watches(&self) -> Vec<WatchSpec>;

    /// Something happened. Everything the component does in answer goes into `ctx.out`.
    fn handle(&mut self, input: Input, ctx: &mut Context<'_>);

    /// Nothing queued, nothing in flight: only events from outside can wake it. A retry that waits for its back-off is idle.
    fn is_idle(&self) -> bool;

    /// Its metrics as of `now`, for probes: name, labels, value.
    fn metrics(&self, now: Time, sink: &mut dyn MetricSink);

    /// Ends those of its background tasks that are meant, asked for one after the other from the youngest on, by their
    /// objects; returns these. Only the teaching orchestrator has tasks.
    fn end_tasks(&mut self, _is_meant: &mut dyn FnMut(&Key) -> bool) -> Vec<Key> {
        Vec::new()
    }

    /// A copy, for clones of the world.
    fn boxed_clone(&self) -> Box<dyn Component>;
}

impl Clone for Box<dyn Component> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

/// An informer that a component needs.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchSpec {
    /// Kind of object.
    pub kind: Kind,
    /// Which of them. All components of a process that watch a kind must give the same selector: the informer is shared.
    pub selector: ObjectSelector,
    /// Whether its handler takes part in the process' resync.
    pub resync: HandlerResync,
}

impl WatchSpec {
    /// All objects of a kind, with the process' resync period.
    pub fn all(kind: Kind) -> WatchSpec {
        WatchSpec { kind, selector: ObjectSelector::everything(), resync: HandlerResync::Default }
    }
}

/// How a handler takes part in resyncs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandlerResync {
    /// With the informer's period.
    Default,
    /// Never.
    Never,
}

/// What a component can be told.
#[derive(Clone, Debug)]
pub enum Input {
    /// The process has started and its caches have their first list: loops may begin.
    Start,
    /// An informer's handler was called.
    Delta(Delta),
    /// An answer to a request, or its failure.
    Reply {
        /// The token given with the request.
        token: u64,
        /// The answer.
        result: ApiResult,
    },
    /// A timer fired.
    Timer {
        /// The token it was set with.
        token: u64,
    },
    /// A container finished a step in the physical world (kubelets only).
    Container(ContainerNotice),
    /// The context of its work is cancelled: it takes nothing new, and what it has in hand ends. The process stops once the
    /// component is idle (operators only).
    Cancel,
}

/// A call of an informer's handler.
#[derive(Clone, Debug)]
pub struct Delta {
    /// What happened to the cached object.
    pub change: Change,
    /// The call comes from a resync: the cache did not change.
    pub is_resync: bool,
    /// The call belongs to the first list.
    pub is_initial: bool,
}

/// A change of a cached object.
#[derive(Clone, Debug)]
pub enum Change {
    /// It is new to the cache.
    Added(Object),
    /// It replaced an older version (or the same one: resync, relist).
    Updated {
        /// What the cache held.
        old: Object,
        /// What it holds now.
        new: Object,
    },
    /// It left the cache. With `tombstone` the deletion itself was missed and this is the last known state.
    Deleted {
        /// The last state.
        last: Object,
        /// Whether the deletion event was missed.
        tombstone: bool,
    },
}

impl Change {
    /// The newest state known.
    pub fn object(&self) -> &Object {
        match self {
            Change::Added(object) => object,
            Change::Updated { new, .. } => new,
            Change::Deleted { last, .. } => last,
        }
    }
}

/// A container finished a step.
#[derive(Clone, PartialEq, Debug)]
pub struct ContainerNotice {
    /// Its node.
    pub node: Name,
    /// Its pod.
    pub pod: Key,
    /// The pod's uid.
    pub uid: Uid,
    /// Index into the pod's containers (init containers first).
    pub container: u32,
    /// What it finished.
    pub step: ContainerStep,
}

/// What is done with a container in the physical world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContainerStep {
    /// Its image is pulled to the node.
    Pull,
    /// It starts.
    Start,
    /// It becomes ready (its readiness probe would succeed).
    Ready,
    /// It runs to its end by itself (init containers).
    Complete,
    /// It is asked to stop and ends within this many seconds.
    Stop {
        /// Grace.
        grace_seconds: i64,
    },
}

/// What a node's kubelet can measure.
pub trait Sensors {
    /// Whether the node has the image.
    fn has_image(&self, node: &Name, image: &Name) -> bool;
    /// Whether the container has started and not stopped, and since when.
    fn running_since(&self, uid: &Uid, container: u32) -> Option<Time>;
    /// How the container ended, when it has started and ended and was not removed since.
    fn ended(&self, _uid: &Uid, _container: u32) -> Option<ContainerEnd> {
        None
    }
    /// What the metrics APIs have published for a namespace, as of `now`; `None` where there are none.
    fn published(&self, _namespace: &Name, _now: Time) -> Option<Box<dyn PublishedMetrics + '_>> {
        None
    }

    /// The counters of a running container, when its use of CPU and memory is part of the run.
    fn usage(&self, _uid: &Uid, _container: u32) -> Option<UsageReading> {
        None
    }
}

/// One published number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Thousandths of a unit (memory: bytes x 1000).
    pub value_milli: i64,
    /// When it was measured: the end of its window.
    pub at: Time,
    /// Over how long.
    pub window: Span,
}

/// The metrics APIs of a cluster, as of now. Nothing published is `None` (or no series).
pub trait PublishedMetrics {
    /// `cpu` or `memory` of a pod, or of one container of it. A pod has a sample when each of its containers has one.
    fn pod_resource(&self, pod: &Pod, container: Option<&str>, resource: &str) -> Option<Sample>;
    /// A custom metric of a pod.
    fn pod_metric(&self, pod: &Pod, metric: &MetricIdentifier) -> Option<Sample>;
    /// A custom metric of an object in the namespace of the autoscaler.
    fn object_metric(&self, described: &ScaleTarget, metric: &MetricIdentifier) -> Option<Sample>;
    /// The series of an external metric; none: the query fails.
    fn external_metric(&self, metric: &MetricIdentifier) -> Vec<Sample>;
}

/// Counters of a running container.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UsageReading {
    /// CPU since its start, in core-ns.
    pub cpu_ns: i64,
    /// Memory that it holds, in bytes.
    pub memory_bytes: i64,
    /// When it started.
    pub started_at: Time,
}

/// How a container ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ContainerEnd {
    /// When it had started.
    pub started_at: Time,
    /// When it ended.
    pub finished_at: Time,
    /// Exit code of its main program: 0 when it ended well, 137 when it was killed.
    pub exit_code: i32,
    /// The kernel has killed it for want of memory (`OOMKilled`).
    pub is_out_of_memory: bool,
}

/// Random draws, each a function of what is drawn for whom, never of who came first.
pub trait Draws {
    /// 64 uniform bits for `occurrence` number n of `purpose` for `entity`.
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64;
}

/// What a draw is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Purpose(pub &'static str);

/// Receives metrics.
pub trait MetricSink {
    /// One sample. `labels` are pairs in the metric's own order.
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64);
}

/// Which of a component's API clients sends a request: each has its own rate limit.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ClientRow(pub u32);

/// What a component sees while it handles an input.
pub struct Context<'a> {
    /// Its host's clock.
    pub now: Time,
    /// Its process' caches.
    pub informers: &'a Informers,
    /// Its node's sensors.
    pub sensors: &'a dyn Sensors,
    /// Random draws.
    pub draws: &'a mut dyn Draws,
    /// What goes out.
    pub out: &'a mut Outbox,
}

/// What a component does in answer to an input. The loop carries it out afterwards, in order.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    /// The record that caused the input; what is emitted is caused by it unless another cause is set.
    cause: Cause,
    next_record: u64,
    /// Nobody is told of records: they are counted and numbered, not kept.
    unheard: bool,
    /// How many reconciles began, and how many ended in an error.
    pub(crate) reconciles: (u64, u64),
    /// Records made, complete but for time, process, component and versions, which the loop fills in.
    pub(crate) records: Vec<Record>,
    /// Everything else, in order.
    pub(crate) effects: Vec<(Cause, Effect)>,
    /// What the scheduler thought, when a plan asks: neither a record nor an effect.
    pub(crate) notes: Vec<SchedulingNote>,
}

/// What a Kubernetes Event is about, when it is not all of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The object.
    pub key: Key,
    /// Its uid.
    pub uid: Uid,
    /// Which version of it the reporter had in hand; 0 where that plays no part.
    pub version: Rv,
    /// The part, e.g. `spec.containers{web}`; empty for all of it.
    pub field_path: Name,
}

/// One effect.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send a request; the reply comes with the token.
    Request {
        /// Which client.
        row: ClientRow,
        /// The request.
        request: Request,
        /// Comes back with the reply.
        token: u64,
    },
    /// Set the timer with this token, replacing one that is pending.
    SetTimer {
        /// Comes back when it fires.
        token: u64,
        /// When, on the component's clock.
        at: Time,
        /// Whether a pending timer keeps the run from being quiet.
        nature: Nature,
        /// The timer is periodic by itself: firing makes a root record.
        is_root: bool,
    },
    /// Forget the timer with this token.
    ClearTimer {
        /// The token.
        token: u64,
    },
    /// Report a Kubernetes Event through the component's recorder.
    Event {
        /// Which client.
        row: ClientRow,
        /// About what.
        regarding: Key,
        /// Its uid.
        uid: Uid,
        /// Which version of it the reporter had in hand; 0 where that plays no part.
        version: Rv,
        /// The part of it that is meant, e.g. `spec.containers{web}`; empty for all of it.
        field_path: Name,
        /// Normal or Warning.
        event_type: EventType,
        /// Reason.
        reason: &'static str,
        /// Text.
        message: String,
    },
    /// Do something with a container of this node.
    Container {
        /// What a notice will repeat.
        notice: ContainerNotice,
        /// Image to pull (for `Pull`).
        image: Name,
        /// What draws of its times belong to: the pod's owner and its ordinal among the owner's pods.
        entity: u64,
    },
}

impl Outbox {
    /// An outbox for one input. `next_record` is the number the next record will get.
    pub fn new(cause: Cause, next_record: u64) -> Outbox {
        Outbox { cause, next_record, ..Outbox::default() }
    }

    /// An outbox for another input in the room of an earlier one, which must have been emptied; `unheard` if nobody is told
    /// of records.
    pub(crate) fn reusing(emptied: Outbox, cause: Cause, next_record: u64, unheard: bool) -> Outbox {
        debug_assert!(emptied.records.is_empty() && emptied.effects.is_empty() && emptied.notes.is_empty());
        Outbox { cause, next_record, unheard, reconciles: (0, 0), ..emptied }
    }

    /// The current cause.
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Makes `cause` the cause of what follows.
    pub fn set_cause(&mut self, cause: Cause) {
        self.cause = cause;
    }

    /// The number the next record will get.
    pub fn next_record(&self) -> u64 {
        self.next_record
    }

    /// Records that something happened; it becomes nobody's cause unless the caller sets it.
    pub fn record(&mut self, action: Action, key: Option<Key>, detail: impl Into<Detail>) -> RecordId {
        let id = RecordId(self.next_record);
        self.next_record += 1;
        match action {
            Action::Reconcile => self.reconciles.0 += 1,
            Action::ReconcileError => self.reconciles.1 += 1,
            _ => {}
        }
        if self.unheard {
            return id;
        }
        self.records.push(Record::new(id, self.cause, action, key, detail.into()));
        id
    }

    /// Tells observers what the scheduler thought. It takes no number and changes nothing.
    pub fn explain(&mut self, note: SchedulingNote) {
        self.notes.push(note);
    }

    /// Sends a request from the component's main client.
    pub fn request(&mut self, request: Request, token: u64) {
        self.request_from(ClientRow(0), request, token);
    }

    /// Sends a request from the client of this row.
    pub fn request_from(&mut self, row: ClientRow, request: Request, token: u64) {
        self.push(Effect::Request { row, request, token });
    }

    /// Sets a timer.
    pub fn set_timer(&mut self, token: u64, at: Time, nature: Nature) {
        self.push(Effect::SetTimer { token, at, nature, is_root: false });
    }

    /// Sets a timer of a periodic activity: what it does is caused by the timer itself.
    pub fn set_periodic_timer(&mut self, token: u64, at: Time) {
        self.push(Effect::SetTimer { token, at, nature: Nature::Upkeep, is_root: true });
    }

    /// Forgets a timer.
    pub fn clear_timer(&mut self, token: u64) {
        self.push(Effect::ClearTimer { token });
    }

    /// Reports a Kubernetes Event about an object.
    pub fn event(&mut self, regarding: &Object, event_type: EventType, reason: &'static str, message: String) {
        let (key, meta) = (regarding.key(), regarding.meta());
        let part = Part { key, uid: meta.uid.clone(), version: meta.resource_version, field_path: Name::EMPTY };
        self.part_event_from(ClientRow(0), part, event_type, reason, message);
    }

    /// Reports a Kubernetes Event from the client of this row.
    pub fn event_from(
        &mut self,
        row: ClientRow,
        regarding: Key,
        uid: Uid,
        event_type: EventType,
        reason: &'static str,
        message: String,
    ) {
        let part = Part { key: regarding, uid, version: Rv(0), field_path: Name::EMPTY };
        self.part_event_from(row, part, event_type, reason, message);
    }

    /// Reports a Kubernetes Event about a part of an object from the client of this row.
    pub fn part_event_from(
        &mut self,
        row: ClientRow,
        part: Part,
        event_type: EventType,
        reason: &'static str,
        message: String,
    ) {
        let Part { key: regarding, uid, version, field_path } = part;
        self.push(Effect::Event { row, regarding, uid, version, field_path, event_type, reason, message });
    }

    /// Starts a step of a container.
    pub fn container(&mut self, notice: ContainerNotice, image: Name, entity: u64) {
        self.push(Effect::Container { notice, image, entity });
    }

    fn push(&mut self, effect: Effect) {
        self.effects.push((self.cause, effect));
    }
}

/// A span from now, as a draw: `distribution` sampled with the bits of this purpose, entity and occurrence.
pub fn draw_span(
    draws: &mut dyn Draws,
    distribution: &crate::model::distribution::Distribution,
    purpose: Purpose,
    entity: u64,
    occurrence: u64,
) -> Span {
    if let crate::model::distribution::Distribution::Constant(ns) = distribution {
        return Span(*ns);
    }
    crate::engine::sampling::sample(distribution, draws.bits(purpose, entity, occurrence), occurrence)
}
