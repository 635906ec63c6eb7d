//! What can go wrong on purpose: when a fault strikes, what it strikes, and what becomes of that.
//!
//! A fault has windows of time ([`beginning`]) and an action ([`FaultAction`], one file a kind). Within a window it strikes
//! those requests, watch events or processes that its [`target`] names, thinned out by its [`trigger`]. [`Faults`] is the state
//! of all faults of a run: the loop asks it at the few places where something can be hit (a request leaves, arrives,
//! answers; a watch event is on its way) and carries out what it says. All of it is decided from data and keyed draws: no
//! clock, no world. A fault that strikes nothing takes no draw that anybody else takes.
//!
//! When a window begins by a condition over the observed state or with an event, `sim` says so ([`Faults::begin`]):
//! conditions are questions to the truth, which nothing here may ask.

pub mod api_server;
pub mod beginning;
pub mod crash;
pub mod cut_watch;
pub mod delay_replies;
pub mod delay_watch;
pub mod drop_watch_events;
pub mod duplicate_watch_events;
pub mod kill_tasks;
pub mod lose_replies;
mod on_watches;
mod onset;
pub mod partition;
pub mod reconnect;
pub mod refuse_connections;
pub mod reorder_watches;
pub mod respond;
pub mod slow_requests;
pub mod stall_watch;
mod state;
pub mod target;
#[cfg(test)]
mod tests;
pub mod trigger;

pub use api_server::ApiServerFault;
pub use beginning::{Begun, Repeat, Trigger, TriggerEvent};
pub use crash::{Crash, CrashPoint};
pub use cut_watch::{Cut, CutWatch};
pub use delay_replies::DelayReplies;
pub use delay_watch::DelayWatch;
pub use drop_watch_events::{DropStage, DropWatchEvents};
pub use duplicate_watch_events::DuplicateWatchEvents;
pub use kill_tasks::KillTasks;
pub use lose_replies::LoseReplies;
pub use partition::Partition;
pub use reconnect::Reconnect;
pub use refuse_connections::RefuseConnections;
pub use reorder_watches::ReorderWatches;
pub use respond::Respond;
pub use slow_requests::SlowRequests;
pub use stall_watch::StallWatch;
pub use state::{AtReply, AtServer, ChangeSeen, Fault, Faults, RequestSeen};
pub use target::{Addressee, ObjectTarget, ProcessRef, RequestTarget, Subresource, Verb, WatchEventType, WatchTarget};
pub use trigger::Occurrences;

use crate::model::{Kind, Span};

/// Whose containers a fault kills.
#[derive(Clone, PartialEq, Debug)]
pub enum Victims {
    /// Those that these processes run in.
    Processes(ProcessRef),
    /// Those of the pods of an object: kind, namespace, name.
    Pods(Kind, String, String),
}

/// What a fault does.
#[derive(Clone, PartialEq, Debug)]
pub enum FaultAction {
    /// Watch events vanish on the way to a process or a controller.
    DropWatchEvents(DropWatchEvents),
    /// Watch events come twice.
    DuplicateWatchEvents(DuplicateWatchEvents),
    /// Watch events come later.
    DelayWatch(DelayWatch),
    /// Events of different kinds overtake each other.
    ReorderWatches(ReorderWatches),
    /// Streams end.
    CutWatch(CutWatch),
    /// Streams fall silent.
    StallWatch(StallWatch),
    /// Connections go to an API server whose cache lags.
    Reconnect(Reconnect),
    /// Requests are answered by an error.
    Respond(Respond),
    /// Connections are refused.
    RefuseConnections(RefuseConnections),
    /// Requests are carried out, but their replies are lost.
    LoseReplies(LoseReplies),
    /// Replies come later.
    DelayReplies(DelayReplies),
    /// Requests take longer.
    SlowRequests(SlowRequests),
    /// Nothing passes between a process and the API server.
    Partition(Partition),
    /// Something is wrong with the API server as a whole.
    ApiServer(ApiServerFault),
    /// A process dies at a certain point of a reconcile.
    Crash(Crash),
    /// The process dies; it is started again after the fault's duration, or after `restart_after` without one.
    Kill {
        /// Which.
        process: ProcessRef,
        /// Time to start again when the fault has no duration.
        restart_after: Span,
    },
    /// Background tasks of a process die, and it goes on.
    KillTasks(KillTasks),
    /// The process is asked to end (SIGTERM): a leader may give its lease back first. It starts again as after a kill.
    Stop {
        /// Which.
        process: ProcessRef,
        /// Time to start again when the fault has no duration.
        restart_after: Span,
    },
    /// The kernel kills the main container of pods for want of memory; their kubelet starts it again.
    OomKill(Victims),
    /// The host of a process stands still for the fault's duration: nothing on it happens, and then all that waited.
    Pause {
        /// Whose.
        process: ProcessRef,
    },
    /// The clock of a process' host changes.
    Clock {
        /// Whose.
        process: ProcessRef,
        /// Somebody sets it so much ahead, or back.
        step: Span,
        /// It runs at this rate while the fault lasts.
        rate: Option<f64>,
        /// Whether spans are measured by a reading that no step moves.
        monotonic: bool,
    },
}

impl FaultAction {
    /// The process that it is aimed at; `None` for what hits everybody.
    pub fn process(&self) -> Option<&ProcessRef> {
        match self {
            FaultAction::DropWatchEvents(of) => Some(&of.target.to),
            FaultAction::DuplicateWatchEvents(of) => Some(&of.target.to),
            FaultAction::DelayWatch(of) => Some(&of.target.to),
            FaultAction::ReorderWatches(of) => Some(&of.to),
            FaultAction::CutWatch(of) => Some(&of.to),
            FaultAction::StallWatch(of) => Some(&of.to),
            FaultAction::Reconnect(of) => Some(&of.of),
            FaultAction::Respond(of) => of.target.from.as_ref(),
            FaultAction::RefuseConnections(of) => of.target.from.as_ref(),
            FaultAction::LoseReplies(of) => of.target.from.as_ref(),
            FaultAction::DelayReplies(of) => of.target.from.as_ref(),
            FaultAction::SlowRequests(of) => of.target.from.as_ref(),
            FaultAction::Partition(of) => Some(&of.of),
            FaultAction::ApiServer(_) | FaultAction::OomKill(Victims::Pods(..)) => None,
            FaultAction::OomKill(Victims::Processes(of)) => Some(of),
            FaultAction::Crash(of) => Some(&of.of),
            FaultAction::KillTasks(of) => Some(&of.process),
            FaultAction::Kill { process, .. }
            | FaultAction::Stop { process, .. }
            | FaultAction::Pause { process }
            | FaultAction::Clock { process, .. } => Some(process),
        }
    }

    /// Whether it waits for something to strike, so that it may end without having struck anything.
    pub fn waits_for_something(&self) -> bool {
        !matches!(
            self,
            FaultAction::Kill { .. }
                | FaultAction::Stop { .. }
                | FaultAction::OomKill(_)
                | FaultAction::Pause { .. }
                | FaultAction::Clock { .. }
        )
    }
}
