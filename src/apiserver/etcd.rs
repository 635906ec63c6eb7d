//! etcd: the objects, one counter of revisions for all kinds, and the log of changes that watches read.
//!
//! Upstream: etcd's mvcc as the API server uses it; resourceVersion rises by one a commit across all kinds.

use std::collections::VecDeque;

use super::pod_tallies::PodTallies;
use super::pods_by_node::PodsByNode;
use crate::model::api::ObjectSelector;
use crate::model::{Cause, Key, Kind, Map, Object, Place, PlaceRef, Rv, Set, Span, Time};

/// One change of one object.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// Its revision.
    pub rv: Rv,
    /// When it was committed.
    pub committed_at: Time,
    /// The record of the request that wrote it.
    pub cause: Cause,
    /// The object before; `None` when it was created.
    pub old: Option<Object>,
    /// The object after; for a deletion the last content, with the deletion's revision.
    pub object: Object,
    /// Whether the object is gone.
    pub deleted: bool,
    /// How many writes of the object came before, where they are counted.
    pub nth: u32,
}

/// The log of one kind. Entries have absolute numbers, so that cursors survive compaction.
#[derive(Clone, Debug, Default)]
struct Log {
    first: u64,
    entries: VecDeque<LogEntry>,
    /// Number of the oldest entry that a new watch may begin with.
    window: u64,
    /// How many entries the window holds at most.
    capacity: usize,
    /// A watch may begin after this revision or a later one.
    floor: Rv,
}

/// Bounds of the window, and how old its oldest entry is meant to be at least.
///
/// Upstream: apiserver/pkg/storage/cacher/watch_cache.go, v1.36: a minute between bookmarks and 15 s.
const WINDOW: std::ops::RangeInclusive<usize> = 100..=102_400;
const FRESH: Span = Span::from_seconds(75);

impl Log {
    /// Takes an entry in. The window doubles when it is full of young entries, halves when a quarter of it is old.
    fn append(&mut self, entry: LogEntry) {
        let capacity = self.capacity.max(*WINDOW.start());
        let age = |log: &Log, number: u64| {
            let index = usize::try_from(number - log.first).expect("the window lies within the log");
            entry.committed_at - log.entries[index].committed_at
        };
        let end = self.first + self.entries.len() as u64;
        self.capacity = capacity;
        if (end - self.window) as usize >= capacity {
            if age(self, self.window) < FRESH {
                self.capacity = (capacity * 2).min(*WINDOW.end());
            } else if age(self, end - capacity as u64 / 4) > FRESH {
                self.capacity = (capacity / 2).max(*WINDOW.start());
            }
            let over = ((end - self.window) as usize + 1).saturating_sub(self.capacity) as u64;
            if over > 0 {
                self.window += over;
                self.floor = Rv(self.entries[(self.window - self.first) as usize].rv.0 - 1);
            }
        }
        self.entries.push_back(entry);
    }
}

/// The store.
#[derive(Clone, Debug)]
pub struct Etcd {
    revision: Rv,
    /// By kind, then by namespace and name.
    objects: Vec<Map<Place, Object>>,
    logs: Vec<Log>,
    /// The keys of objects that were deleted.
    gone: Set<Key>,
    last_write: Time,
    kind_revision: [Rv; Kind::COUNT],
    /// The kinds of custom resources that it has held, in order.
    custom_kinds: Vec<Kind>,
    /// Writes of each object, where they are counted.
    writes: Option<Map<Key, u32>>,
    pods_by_node: PodsByNode,
    pod_tallies: PodTallies,
}

impl Etcd {
    /// An empty store.
    pub fn new() -> Etcd {
        Etcd {
            revision: Rv(0),
            objects: vec![Map::default(); Kind::COUNT],
            logs: vec![Log::default(); Kind::COUNT],
            gone: Set::default(),
            last_write: Time::default(),
            kind_revision: [Rv(0); Kind::COUNT],
            custom_kinds: Vec::new(),
            writes: None,
            pods_by_node: PodsByNode::default(),
            pod_tallies: PodTallies::default(),
        }
    }

    /// An empty store that counts the writes of each object.
    pub(super) fn with_counted_writes() -> Etcd {
        Etcd { writes: Some(Map::default()), ..Etcd::new() }
    }

    /// The newest revision.
    pub fn revision(&self) -> Rv {
        self.revision
    }

    /// The kinds it may hold objects of: the built-in ones, and those of the custom resources it has held.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        Kind::BUILT_IN.into_iter().chain(self.custom_kinds.iter().copied())
    }

    /// The newest revision that touched a kind.
    pub fn kind_revision(&self, kind: Kind) -> Rv {
        self.kind_revision[kind.index()]
    }

    /// When the last change of an object other than an Event or a Lease was committed.
    pub fn last_write(&self) -> Time {
        self.last_write
    }

    /// The object with this key.
    pub fn get(&self, key: &Key) -> Option<&Object> {
        self.objects[key.kind.index()].get(&PlaceRef::of(key))
    }

    /// Whether an object with this key ever existed.
    pub fn ever_existed(&self, key: &Key) -> bool {
        self.get(key).is_some() || self.gone.contains(key)
    }

    /// The objects of a kind, in no meaningful order.
    pub fn iter(&self, kind: Kind) -> impl Iterator<Item = &Object> {
        self.objects[kind.index()].values()
    }

    /// The objects of a kind that a selector may find, in no meaningful order: all, or those of a node that it names.
    pub(super) fn iter_for<'a>(
        &'a self,
        kind: Kind,
        selector: &ObjectSelector,
    ) -> Box<dyn Iterator<Item = &'a Object> + 'a> {
        let candidates = (kind == Kind::Pod).then(|| self.pods_by_node.candidates(selector)).flatten();
        match candidates {
            None => Box::new(self.iter(kind)),
            Some(places) => Box::new(places.filter_map(move |place| self.objects[kind.index()].get(place))),
        }
    }

    /// Sums over all pods.
    pub fn pod_tallies(&self) -> &PodTallies {
        &self.pod_tallies
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: Kind) -> usize {
        self.objects[kind.index()].len()
    }

    /// Commits a new version of an object; its resourceVersion is set. Returns what is stored.
    pub(super) fn put(&mut self, mut object: Object, now: Time, cause: Cause) -> Object {
        self.revision.0 += 1;
        object.meta_mut().resource_version = self.revision;
        let key = object.key();
        let kind = key.kind;
        let old = self.objects[kind.index()].insert(key.into_place(), object.clone());
        self.pods_by_node.replace(old.as_ref(), Some(&object));
        self.pod_tallies.replace(old.as_ref(), Some(&object));
        if old.is_none() {
            self.hold(kind);
        }
        self.append(LogEntry {
            rv: self.revision,
            committed_at: now,
            cause,
            old,
            object: object.clone(),
            deleted: false,
            nth: 0,
        });
        object
    }

    fn hold(&mut self, kind: Kind) {
        if kind.is_custom()
            && let Err(place) = self.custom_kinds.binary_search(&kind)
        {
            self.custom_kinds.insert(place, kind);
        }
    }

    /// Commits a deletion; returns the last content with the deletion's revision.
    pub(super) fn remove(&mut self, key: &Key, now: Time, cause: Cause) -> Option<Object> {
        // Order is not used: every list is sorted.
        let old = self.objects[key.kind.index()].swap_remove(&PlaceRef::of(key))?;
        self.gone.insert(key.clone());
        self.pods_by_node.replace(Some(&old), None);
        self.pod_tallies.replace(Some(&old), None);
        self.revision.0 += 1;
        let mut last = old.clone();
        last.meta_mut().resource_version = self.revision;
        self.append(LogEntry {
            rv: self.revision,
            committed_at: now,
            cause,
            old: Some(old),
            object: last.clone(),
            deleted: true,
            nth: 0,
        });
        Some(last)
    }

    /// Changes an object without a log entry: lease renewals, which nobody watches.
    pub(super) fn put_silently(&mut self, mut object: Object) {
        object.meta_mut().resource_version = self.revision;
        let key = object.key();
        self.objects[key.kind.index()].insert(key.into_place(), object);
    }

    /// A revision without a change of any object we hold.
    pub(super) fn bump(&mut self) -> Rv {
        self.revision.0 += 1;
        self.revision
    }

    fn append(&mut self, mut entry: LogEntry) {
        let kind = entry.object.kind();
        if let Some(writes) = &mut self.writes {
            let count = writes.entry(entry.object.key()).or_insert(0);
            *count += 1;
            entry.nth = *count;
        }
        self.kind_revision[kind.index()] = entry.rv;
        if !matches!(kind, Kind::Event | Kind::Lease) {
            self.last_write = entry.committed_at;
        }
        self.logs[kind.index()].append(entry);
    }

    /// The number the next log entry of a kind will get.
    pub(super) fn log_end(&self, kind: Kind) -> u64 {
        let log = &self.logs[kind.index()];
        log.first + log.entries.len() as u64
    }

    /// The log entry with this number, if it is not compacted.
    pub(super) fn log_entry(&self, kind: Kind, number: u64) -> Option<&LogEntry> {
        let log = &self.logs[kind.index()];
        log.entries.get(usize::try_from(number.checked_sub(log.first)?).ok()?)
    }

    /// The log entries of a kind from this number on, and the number after the last: for observers.
    pub fn changes_since(&self, kind: Kind, number: u64) -> (impl Iterator<Item = &LogEntry>, u64) {
        let log = &self.logs[kind.index()];
        let skipped = usize::try_from(number.saturating_sub(log.first)).unwrap_or(usize::MAX);
        (log.entries.iter().skip(skipped), self.log_end(kind))
    }

    /// The log entries of a kind that were committed after an instant, newest first, as far as it goes back.
    pub(super) fn entries_after(&self, kind: Kind, after: Time) -> impl Iterator<Item = &LogEntry> {
        self.logs[kind.index()].entries.iter().rev().take_while(move |entry| entry.committed_at > after)
    }

    /// A watch of a kind may begin after this revision or a later one; 0 when nothing was forgotten.
    pub(super) fn watch_floor(&self, kind: Kind) -> Rv {
        self.logs[kind.index()].floor
    }

    /// Forgets the log entries of a kind before this number that lie outside the window.
    pub(super) fn compact(&mut self, kind: Kind, before: u64) {
        let log = &mut self.logs[kind.index()];
        while log.first < before.min(log.window) && log.entries.pop_front().is_some() {
            log.first += 1;
        }
    }

    /// No watch may begin before now: the server has started anew, or its history was compacted.
    pub(super) fn forget_history(&mut self) {
        for log in &mut self.logs {
            log.window = log.first + log.entries.len() as u64;
            log.floor = self.revision;
        }
    }
}

impl Default for Etcd {
    fn default() -> Self {
        Etcd::new()
    }
}
