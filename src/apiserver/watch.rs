//! Watches: what one client is sent of the log of a kind, and when.
//!
//! Each log entry is ready for a watch at its commit plus the watch's delay, never before an earlier entry of the same
//! watch. The loop keeps one event pending a watch and delivers all entries that are ready at its instant.
//!
//! Upstream: apiserver/pkg/storage/cacher (cache_watcher.go), v1.36: a change that makes an object match a selector is
//! ADDED, one that makes it stop matching is DELETED with the old content and the new resourceVersion.

use crate::model::api::{ObjectSelector, Reason};
use crate::model::{Cause, Key, Kind, Map, Object, Rv, Span, Time};

use super::etcd::LogEntry;

/// Number of a watch, never reused in a run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WatchId(pub u64);

/// An open watch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Its number.
    pub id: WatchId,
    /// Whose it is: the index of the process and its incarnation, for the loop.
    pub owner: (usize, u64),
    /// Kind of object.
    pub kind: Kind,
    /// Which of them.
    pub selector: ObjectSelector,
    /// Everything there was when it was opened, and the version, until that is on its way (`sendInitialEvents`).
    pub initial: Option<(Vec<Object>, Rv)>,
    /// When the cache of its server is as new as it asked for.
    pub initial_at: Time,
    /// It will not be in time: its client is told so then.
    pub is_too_new: bool,
    /// The record of what is told then.
    pub initial_cause: Cause,
    /// When its client has it open: nothing arrives earlier.
    pub open_since: Time,
    /// When the server ends it.
    pub deadline: Time,
    /// When it is sent the next bookmark.
    pub next_bookmark: Time,
    /// How it ends, once its client was sent all that came before.
    pub(super) end: Option<WatchEnd>,
    /// Number of the next log entry to look at.
    pub(super) cursor: u64,
    /// When the last delivered entry was ready: later ones are never earlier.
    pub(super) last_ready: Time,
    /// A delivery is scheduled.
    pub pending: bool,
    /// Its client is told nothing more, though it may believe otherwise. It stays until the informer has a new one, so that
    /// probes can say how old the cache is.
    pub(super) detached: bool,
    /// The oldest change that its client misses because it is cut off: for probes only.
    pub(super) missing_since: Option<Time>,
    /// What a fault took from this watch and no later event has healed: for probes only. Key and commit of the first loss.
    pub lost: Map<Key, Time>,
}

/// The end of a watch, behind the last entry its client is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchEnd {
    /// Number of the first log entry that its client is not sent.
    pub(super) before: u64,
    /// The ERROR event; `None` when the stream just ends.
    pub error: Option<Reason>,
    /// The record of what ended it.
    pub cause: Cause,
}

impl Watch {
    /// Whether its client is cut off.
    pub fn is_detached(&self) -> bool {
        self.detached
    }

    /// Its client has everything there was at its beginning.
    pub fn begins(&mut self) {
        self.missing_since = None;
    }

    /// When the loop has to look at it: its next bookmark or its end.
    pub fn due_at(&self) -> Time {
        self.next_bookmark.min(self.deadline)
    }

    /// Plans the next bookmark: a minute from now, or 2 s before the deadline, on the grid of seconds by which the
    /// server keeps them.
    ///
    /// Upstream: apiserver/pkg/storage/cacher/{cache_watcher.go (nextBookmarkTime),cacher.go}, v1.36.
    pub fn plan_bookmark(&mut self, now: Time) {
        let last = self.deadline - BOOKMARK_BEFORE_END;
        let next = if now + BOOKMARK_PERIOD < last { now + BOOKMARK_PERIOD } else { last };
        let on_grid = next.truncated_to_seconds();
        self.next_bookmark = if on_grid > now { on_grid } else { Time::FAR_FUTURE };
    }
}

/// How often a watch is told the newest version.
const BOOKMARK_PERIOD: Span = Span::from_seconds(60);
/// The last bookmark comes this long before the server ends the watch.
const BOOKMARK_BEFORE_END: Span = Span::from_seconds(2);

/// An event of a watch, as its client gets it.
#[derive(Clone, Debug)]
pub struct WatchEvent {
    /// ADDED, MODIFIED or DELETED.
    pub event_type: EventKind,
    /// The object; its resourceVersion is the event's.
    pub object: Object,
    /// When it was committed.
    pub committed_at: Time,
    /// The record of the request that wrote it.
    pub cause: Cause,
}

/// Type of a watch event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// The object is new to this watch.
    Added,
    /// It changed.
    Modified,
    /// It is gone, or no longer selected.
    Deleted,
}

impl EventKind {
    /// As watches write it.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
        }
    }
}

/// How a watch with this selector sees a log entry; `None` when it does not.
pub(super) fn visible(entry: &LogEntry, selector: &ObjectSelector) -> Option<EventKind> {
    let was = entry.old.as_ref().is_some_and(|old| selector.matches(old));
    let is = !entry.deleted && selector.matches(&entry.object);
    match (was, is) {
        (false, true) => Some(EventKind::Added),
        (true, true) => Some(EventKind::Modified),
        (true, false) => Some(EventKind::Deleted),
        (false, false) => None,
    }
}

/// The event a client is sent for a log entry.
pub(super) fn event_of(entry: &LogEntry, event_type: EventKind) -> WatchEvent {
    let object = match (event_type, &entry.old) {
        (EventKind::Deleted, Some(old)) => {
            let mut last = old.clone();
            last.meta_mut().resource_version = entry.rv;
            last
        }
        _ => entry.object.clone(),
    };
    WatchEvent { event_type, object, committed_at: entry.committed_at, cause: entry.cause }
}
