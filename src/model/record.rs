//! Records: what happened, when, to what, and because of what. A trace row is a record.

use std::fmt;

use super::{Cause, Key, Name, RecordId, Rv, Span, Time};

/// What happened. The words are those of the trace's `action` column.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// A person or the scenario acted. A root.
    User,
    /// A fault began or ended. A root.
    Fault,
    /// Load changed or arrived. A root.
    Load,
    /// A periodic timer fired (resync, heartbeat, housekeeping). A root.
    Timer,
    /// A process started.
    ProcessStart,
    /// A process stopped.
    ProcessStop,
    /// An informer's list replaced its cache.
    Relist,
    /// A watch event was applied to an informer's cache.
    Deliver,
    /// A watch event, a request or a reply was lost on its way, or is held back from one handler.
    Lost,
    /// A resync handed a cached object to a handler again.
    Resync,
    /// A key entered a work queue.
    Enqueue,
    /// A key was added that the queue already held.
    Coalesced,
    /// A key was added to the delaying queue.
    EnqueueAfter,
    /// A worker took a key and read its caches.
    Reconcile,
    /// A reconcile ended in an error and will be retried.
    ReconcileError,
    /// A reconcile's work was decided, in words.
    Decide,
    /// POST answered.
    Create,
    /// PUT answered.
    Update,
    /// PUT of /status answered.
    UpdateStatus,
    /// PUT of /scale answered.
    Scale,
    /// PATCH answered.
    Patch,
    /// DELETE answered.
    Delete,
    /// POST of a binding answered.
    Bind,
    /// POST of an eviction answered.
    Evict,
    /// GET answered.
    Get,
    /// LIST answered.
    List,
    /// WATCH answered: a stream is open.
    Watch,
    /// Lease renewals answered.
    Renew,
    /// A client did not give an answer to its caller: it tries again, or has given the call up.
    Retry,
    /// The object is gone from the store.
    Remove,
    /// The scheduler took a pod.
    Schedule,
    /// The scheduler put a pod on a node in its own cache.
    Assume,
    /// The scheduler took an assumed pod back.
    Forget,
    /// A kubelet admitted or rejected a pod.
    Admit,
    /// A step of a container in the physical world.
    Container,
}

impl Action {
    /// The word in the trace.
    pub fn as_str(self) -> &'static str {
        match self {
            Action::User => "user",
            Action::Fault => "fault",
            Action::Load => "load",
            Action::Timer => "timer",
            Action::ProcessStart => "process-start",
            Action::ProcessStop => "process-stop",
            Action::Relist => "relist",
            Action::Deliver => "deliver",
            Action::Lost => "lost",
            Action::Resync => "resync",
            Action::Enqueue => "enqueue",
            Action::Coalesced => "coalesced",
            Action::EnqueueAfter => "enqueue-after",
            Action::Reconcile => "reconcile",
            Action::ReconcileError => "reconcile-error",
            Action::Decide => "decide",
            Action::Create => "create",
            Action::Update => "update",
            Action::UpdateStatus => "update-status",
            Action::Scale => "scale",
            Action::Patch => "patch",
            Action::Delete => "delete",
            Action::Bind => "bind",
            Action::Evict => "evict",
            Action::Get => "get",
            Action::List => "list",
            Action::Watch => "watch",
            Action::Renew => "renew",
            Action::Retry => "retry",
            Action::Remove => "remove",
            Action::Schedule => "schedule",
            Action::Assume => "assume",
            Action::Forget => "forget",
            Action::Admit => "admit",
            Action::Container => "container",
        }
    }

    /// Whether a chain of causes may end here.
    pub fn is_root(self) -> bool {
        matches!(self, Action::User | Action::Fault | Action::Load | Action::Timer)
    }
}

/// Words beside an action, without an allocation where there are few different ones.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Detail {
    /// Nothing to add.
    #[default]
    None,
    /// Fixed words.
    Words(&'static str),
    /// Words and a number, e.g. `worker 3`.
    Number(&'static str, i64),
    /// Words and a span, e.g. `after 5ms`.
    Span(&'static str, Span),
    /// Words and the record meant, e.g. `first added by` for a coalesced add.
    Record(&'static str, RecordId),
    /// Any text.
    Text(Name),
}

/// Detail of a request that its client's limiter let wait.
pub const HELD_BACK: &str = "held back by the client's rate limit for";
/// Detail of a request that is tried again, with the number of the attempt.
pub const ATTEMPT: &str = "attempt";

impl Detail {
    /// Whether the record of a request with this detail is of one that was carried out: a refused one has its error here, one
    /// that waited or was tried again says so.
    pub fn is_of_success(&self) -> bool {
        match self {
            Detail::None => true,
            Detail::Number(words, _) => *words == ATTEMPT,
            Detail::Span(words, _) => *words == HELD_BACK,
            _ => false,
        }
    }

    /// The same of a detail that was written out.
    pub fn is_text_of_success(text: &str) -> bool {
        text.is_empty() || [ATTEMPT, HELD_BACK].iter().any(|words| text.starts_with(words))
    }
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Detail::None => Ok(()),
            Detail::Words(words) => f.write_str(words),
            Detail::Number(words, number) => write!(f, "{words} {number}"),
            Detail::Span(words, span) => write!(f, "{words} {span}"),
            Detail::Record(words, id) => write!(f, "{words} {}", id.0),
            Detail::Text(text) => f.write_str(text.as_str()),
        }
    }
}

impl From<&'static str> for Detail {
    fn from(words: &'static str) -> Detail {
        Detail::Words(words)
    }
}

impl From<String> for Detail {
    fn from(text: String) -> Detail {
        Detail::Text(Name::from(text))
    }
}

/// One record.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its number; records are numbered from 1 in the order they are made.
    pub id: RecordId,
    /// True time (not a host's clock).
    pub time: Time,
    /// The record that caused it; 0 only for roots.
    pub cause: Cause,
    /// Process, e.g. `kube-controller-manager`; `kubectl` for users; empty for the world itself.
    pub process: Name,
    /// Component, e.g. `replicaset`.
    pub component: Name,
    /// What happened.
    pub action: Action,
    /// To what.
    pub key: Option<Key>,
    /// More words.
    pub detail: Detail,
    /// The newest version of the kind that the process had seen; 0 when it watches none.
    pub seen_rv: Rv,
    /// The newest version of the kind in the store.
    pub truth_rv: Rv,
}

impl Record {
    /// A record that the loop has yet to complete with its time, who made it, and versions.
    pub fn new(id: RecordId, cause: Cause, action: Action, key: Option<Key>, detail: Detail) -> Record {
        Record {
            id,
            time: Time::default(),
            cause,
            process: Name::EMPTY,
            component: Name::EMPTY,
            action,
            key,
            detail,
            seen_rv: Rv(0),
            truth_rv: Rv(0),
        }
    }
}
