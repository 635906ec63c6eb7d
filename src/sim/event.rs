//! The events of a run: mechanics, not resources. A new controller adds none.

use crate::apiserver::WatchId;
use crate::client::leader_election::Timer;
use crate::component::ContainerNotice;
use crate::model::{Cause, Kind};

/// Index of a process in the world.
pub type ProcessIndex = usize;
/// Index of a component in its process.
pub type ComponentIndex = usize;

/// What can happen next.
#[derive(Clone, Debug)]
pub enum Event {
    /// A request reaches the API server.
    RequestArrives(RequestId),
    /// A write is committed to etcd.
    Commit(RequestId),
    /// An API server goes on with requests that it works on or holds back.
    ServerWakes(u16),
    /// A reply reaches its client.
    ReplyArrives(RequestId),
    /// A client tries a request again.
    RequestRetries(RequestId),
    /// A client gives a request up.
    RequestTimesOut(RequestId),
    /// Changes reach an informer.
    WatchBatch(WatchId),
    /// Calls of handlers that were held back are due.
    HandlersCalled {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation when they were held back.
        incarnation: u64,
        /// Of which informer.
        kind: Kind,
    },
    /// Watches are due to be told the newest version, or to end (one timer for all watches).
    WatchUpkeep,
    /// A reflector's wait is over, or it gives a silent stream up.
    Reflector(Box<ReflectorEvent>),
    /// A component's timer fires.
    Timer(Box<TimerEvent>),
    /// A container finishes a step in the physical world.
    ContainerStep(Box<ContainerEvent>),
    /// A process' informer resyncs.
    Resync {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation when the timer was set.
        incarnation: u64,
        /// Which informer.
        kind: Kind,
    },
    /// A timer of a process' leader elector fires.
    Elector {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation when the timer was set.
        incarnation: u64,
        /// Which of its timers.
        timer: Timer,
    },
    /// A process that was told to stop, or gave up its lease, stops acting.
    HookEnds {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation.
        incarnation: u64,
        /// The record of what ended its work.
        cause: Cause,
    },
    /// A process that was told to end has nothing in hand any more, or waits no longer.
    ShutdownEnds {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation.
        incarnation: u64,
        /// The record of what told it to end.
        cause: Cause,
    },
    /// A process starts.
    ProcessStart {
        /// The process.
        process: ProcessIndex,
        /// The record of what started it.
        cause: Cause,
    },
    /// The writes that arrived in this instant get their commit slots (recordings only).
    CommitSlots,
    /// A starting process looks whether its caches are there (recordings only).
    LoopsBegin {
        /// The process.
        process: ProcessIndex,
        /// Its incarnation.
        incarnation: u64,
        /// The record of what filled its last cache.
        cause: Cause,
    },
    /// Loads and what containers use are counted until now.
    LoadLook,
    /// A fault begins.
    FaultBegins(usize),
    /// A fault ends.
    FaultEnds(usize),
    /// Clients give up streams on which a fault has let nothing pass for too long.
    StreamsGivenUp {
        /// The fault.
        fault: usize,
        /// The record of its beginning.
        cause: Cause,
    },
    /// A fault lets a process die.
    Crash {
        /// The fault.
        fault: usize,
        /// The process.
        process: ProcessIndex,
        /// The record of what it was doing.
        cause: Cause,
    },
    /// Somebody acts: an entry of the timeline.
    Timeline(usize),
}

/// Number of a request in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RequestId(pub u32);

/// A reflector's timer.
#[derive(Clone, Debug)]
pub struct ReflectorEvent {
    /// The process.
    pub process: ProcessIndex,
    /// Its incarnation when the timer was set.
    pub incarnation: u64,
    /// Which informer.
    pub kind: Kind,
    /// The record during which it was set.
    pub cause: Cause,
    /// The stream that is given up if it is still the informer's; `None` when a wait is over.
    pub silent: Option<WatchId>,
}

/// A component's timer.
#[derive(Clone, Debug)]
pub struct TimerEvent {
    /// The process.
    pub process: ProcessIndex,
    /// Its incarnation when the timer was set.
    pub incarnation: u64,
    /// The component.
    pub component: ComponentIndex,
    /// Which of its timers.
    pub token: u64,
    /// The record during which it was set.
    pub cause: Cause,
    /// Periodic by itself: a root.
    pub is_root: bool,
}

/// A container's step.
#[derive(Clone, Debug)]
pub struct ContainerEvent {
    /// The kubelets' process and component.
    pub owner: (ProcessIndex, ComponentIndex),
    /// What finished.
    pub notice: ContainerNotice,
    /// The record that began it.
    pub cause: Cause,
}
