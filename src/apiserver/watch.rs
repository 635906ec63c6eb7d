//! Watches: what one client is sent of the log of a kind, and when.
//!
//! Each log entry is ready for a watch at its commit plus the watch's delay, never before an earlier entry of the same
//! watch. The loop keeps one event pending a watch and delivers all entries that are ready at its instant.
//!
//! Upstream: apiserver/pkg/storage/cacher (cache_watcher.go), v1.36: a change that makes an object match a selector is
//! ADDED, one that makes it stop matching is DELETED with the old content and the new resourceVersion.

use crate::model::api::ObjectSelector;
use crate::model::{Cause, Key, Kind, Map, Object, Time};

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
    /// Number of the next log entry to look at.
    pub(super) cursor: u64,
    /// When the last delivered entry was ready: later ones are never earlier.
    pub(super) last_ready: Time,
    /// A delivery is scheduled.
    pub pending: bool,
    /// What a fault took from this watch and no later event has healed: for probes only. Key and commit of the first loss.
    pub lost: Map<Key, Time>,
}

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
