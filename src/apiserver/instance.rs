//! An API server instance: serves requests from etcd and keeps the watches of its clients.

use crate::model::api::{ObjectSelector, Reason};
use crate::model::{Answer, ApiError, ApiResult, Cause, Key, Kind, Kinds, Map, Name, Object, RecordId, Rv, Span, Time};
use crate::rules::admission::AdmittedSpecs;

use super::etcd::{Etcd, LogEntry};
use super::label_patch::Settled;
use super::naming::Naming;
use super::watch::{self, EventKind, Watch, WatchEnd, WatchEvent, WatchId};

/// Where etcd and its one instance are kept together.
#[derive(Clone, Debug)]
pub struct ApiServer {
    pub(super) etcd: Etcd,
    pub(super) naming: Naming,
    pub(super) admitted_specs: AdmittedSpecs,
    pub(super) settled: Settled,
    /// In the order they were opened, which is that of their ids.
    watches: Vec<Watch>,
    next_watch: u64,
    /// The kinds it serves.
    pub kinds: Kinds,
    /// Pods that may exist until an instant: refused creates of the controller recordings.
    pub pod_limit: Option<(usize, Time)>,
    /// It behaves as the API double of the whole-system recordings: a pod that goes at once goes in one write instead of
    /// two, and a write of the status leaves metadata as they are.
    pub is_recorded_double: bool,
    /// A binding moves a pod that has a node already (`model.controlPlane: polling` without compare-and-set).
    pub rebinds: bool,
    /// How many bindings took a pod that had a node already.
    pub rebound: u64,
}

/// A watch's next entry that its client will see.
#[derive(Clone, Debug)]
pub struct NextEntry {
    /// When it was committed.
    pub committed_at: Time,
    /// Its version.
    pub rv: Rv,
    /// How many writes of its object came before, where they are counted.
    pub nth: u32,
    /// What the client is told of it.
    pub event_type: EventKind,
}

impl ApiServer {
    /// An empty cluster.
    pub fn new(naming: Naming) -> ApiServer {
        ApiServer {
            etcd: if naming.is_by_counter() { Etcd::with_counted_writes() } else { Etcd::new() },
            naming,
            admitted_specs: AdmittedSpecs::default(),
            settled: Settled::default(),
            watches: Vec::new(),
            next_watch: 1,
            kinds: Kinds::default(),
            pod_limit: None,
            is_recorded_double: false,
            rebinds: false,
            rebound: 0,
        }
    }

    /// The truth: for the loop, probes and invariants only.
    pub fn truth(&self) -> &Etcd {
        &self.etcd
    }

    /// Objects of a kind in order of namespace and name, as LIST answers.
    pub fn list(&self, kind: Kind, namespace: Option<&Name>, selector: &ObjectSelector) -> Vec<Object> {
        let mut items: Vec<Object> = self
            .etcd
            .iter_for(kind, selector)
            .filter(|object| namespace.is_none_or(|namespace| object.meta().namespace == *namespace))
            .filter(|object| selector.matches(object))
            .cloned()
            .collect();
        sort_by_name(&mut items);
        items
    }

    /// What a LIST from a cache that is as new as `cached` answers: objects as of then, and that version.
    ///
    /// Changes that the log has forgotten are not taken back.
    pub fn list_from_cache(
        &self,
        kind: Kind,
        namespace: Option<&Name>,
        selector: &ObjectSelector,
        cached: Time,
    ) -> (Vec<Object>, Rv) {
        let mut newer = self.etcd.entries_after(kind, cached).peekable();
        if newer.peek().is_none() {
            return (self.list(kind, namespace, selector), self.etcd.revision());
        }
        let mut objects: Map<Key, Object> = self.etcd.iter(kind).map(|object| (object.key(), object.clone())).collect();
        let mut oldest = self.etcd.revision();
        for entry in newer {
            oldest = entry.rv;
            match &entry.old {
                Some(old) => objects.insert(old.key(), old.clone()),
                None => objects.swap_remove(&entry.object.key()),
            };
        }
        let mut items: Vec<Object> = objects
            .into_values()
            .filter(|object| namespace.is_none_or(|namespace| object.meta().namespace == *namespace))
            .filter(|object| selector.matches(object))
            .collect();
        sort_by_name(&mut items);
        (items, Rv(oldest.0.saturating_sub(1)))
    }

    /// When a cache that lags by `lag` has the state of this version; `None` for a version that does not exist yet.
    pub fn cached_at(&self, kind: Kind, version: Rv, lag: Span) -> Option<Time> {
        if version > self.etcd.revision() {
            return None;
        }
        // What is older than the log was committed long ago.
        let committed = self.etcd.entries_after(kind, Time::default()).find(|entry| entry.rv <= version);
        Some(committed.map_or(Time::default(), |entry| entry.committed_at + lag))
    }

    pub(super) fn get(&self, key: &Key) -> ApiResult {
        self.etcd.get(key).cloned().map(Answer::Object).ok_or_else(|| ApiError::not_found(key))
    }

    /// Opens a watch for changes after `from`. The loop says when its client has it and when it ends.
    ///
    /// # Errors
    /// 410 when changes after `from` are no longer in the window.
    pub fn open_watch(
        &mut self,
        owner: (usize, u64),
        kind: Kind,
        selector: ObjectSelector,
        from: Rv,
    ) -> Result<WatchId, ApiError> {
        let floor = self.etcd.watch_floor(kind);
        if from < floor {
            return Err(ApiError::new(Reason::Expired, format!("too old resource version: {from} ({floor})")));
        }
        let mut cursor = self.etcd.log_end(kind);
        while let Some(entry) = cursor.checked_sub(1).and_then(|number| self.etcd.log_entry(kind, number)) {
            if entry.rv <= from {
                break;
            }
            cursor -= 1;
        }
        let id = WatchId(self.next_watch);
        self.next_watch += 1;
        let watch = Watch {
            id,
            owner,
            kind,
            selector,
            initial: None,
            initial_at: Time::default(),
            is_too_new: false,
            initial_cause: RecordId(0),
            open_since: Time::default(),
            deadline: Time::FAR_FUTURE,
            next_bookmark: Time::FAR_FUTURE,
            end: None,
            cursor,
            last_ready: Time::default(),
            pending: false,
            detached: false,
            missing_since: None,
            lost: Map::default(),
        };
        self.watches.push(watch);
        Ok(id)
    }

    /// Opens a watch that begins with everything there is, and goes on with changes (`sendInitialEvents`).
    pub fn open_watch_list(&mut self, owner: (usize, u64), kind: Kind, selector: ObjectSelector) -> WatchId {
        let revision = self.etcd.revision();
        let items = self.list(kind, None, &selector);
        let id = self.open_watch(owner, kind, selector, revision).expect("the newest version is in the window");
        self.watch_mut(id).expect("just opened").initial = Some((items, revision));
        id
    }

    /// The same from a cache that lags: it begins with the state at `cached`, or with what is newest where the log has
    /// forgotten what came since.
    pub fn open_watch_list_of_cache(
        &mut self,
        owner: (usize, u64),
        kind: Kind,
        selector: ObjectSelector,
        cached: Time,
    ) -> WatchId {
        let (items, version) = self.list_from_cache(kind, None, &selector, cached);
        match self.open_watch(owner, kind, selector.clone(), version) {
            Ok(id) => {
                self.watch_mut(id).expect("just opened").initial = Some((items, version));
                id
            }
            Err(_) => self.open_watch_list(owner, kind, selector),
        }
    }

    /// A watch ends without having sent anything: what it asked for is not there in time.
    pub fn refuse_watch(&mut self, id: WatchId, error: Reason, cause: Cause) {
        let Some(watch) = self.watch_mut(id) else { return };
        watch.end = Some(WatchEnd { before: watch.cursor, error: Some(error), cause });
    }

    /// A watch is to end behind what was committed so far; an end that is already planned stays.
    pub fn end_watch(&mut self, id: WatchId, error: Option<Reason>, cause: Cause) {
        let Some(place) = self.place_of(id) else { return };
        let watch = &mut self.watches[place];
        let before = self.etcd.log_end(watch.kind);
        watch.end.get_or_insert(WatchEnd { before, error, cause });
    }

    /// The end of a watch whose client was sent all that came before it.
    pub fn reached_end(&mut self, id: WatchId) -> Option<WatchEnd> {
        let end = self.watch(id)?.end?;
        self.next_entry(id).is_none().then_some(end)
    }

    /// No watch may begin before now: the server has started anew, or its history was compacted.
    pub fn forget_history(&mut self) {
        self.etcd.forget_history();
    }

    /// A watch's client is told nothing more: its stream has ended, or nothing arrives on it.
    pub fn detach_watch(&mut self, id: WatchId) {
        let Some(watch) = self.watch_mut(id) else { return };
        let missing_since = watch.missing_since;
        (watch.end, watch.initial, watch.detached, watch.pending) = (None, None, true, true);
        (watch.deadline, watch.next_bookmark) = (Time::FAR_FUTURE, Time::FAR_FUTURE);
        let missed = self.next_entry(id).map(|entry| entry.committed_at);
        self.watch_mut(id).expect("just seen").missing_since = missing_since.or(missed);
    }

    /// A new watch takes the place of the informer's last one, and misses what that missed: what is not replayed, or all
    /// of it until its beginning has arrived.
    pub fn take_place(&mut self, id: WatchId) {
        let new = self.watch(id).expect("just opened");
        // More than one: the answer to a WATCH was lost, and its client asked again.
        let of_same = |watch: &&Watch| watch.id != id && watch.owner == new.owner && watch.kind == new.kind;
        let replaced: Vec<WatchId> = self.watches.iter().filter(of_same).map(|watch| watch.id).collect();
        for old in replaced {
            let old = self.watches.remove(self.place_of(old).expect("just found"));
            let new = self.watch_mut(id).expect("just opened");
            if new.initial.is_some() || new.is_too_new {
                let missed = old.missing_since.into_iter().chain(old.lost.into_values());
                new.missing_since = new.missing_since.into_iter().chain(missed).min();
            } else {
                new.lost.extend(old.lost);
            }
        }
    }

    /// A list has replaced the cache of an informer that is cut off: it misses nothing of what was before.
    pub fn listed_while_detached(&mut self, owner: (usize, u64), kind: Kind) {
        let end = self.etcd.log_end(kind);
        let of_same = |watch: &&mut Watch| watch.detached && watch.owner == owner && watch.kind == kind;
        if let Some(watch) = self.watches.iter_mut().find(of_same) {
            (watch.missing_since, watch.cursor) = (None, end);
            watch.lost.clear();
        }
    }

    /// Closes a watch.
    pub fn close_watch(&mut self, id: WatchId) {
        if let Some(place) = self.place_of(id) {
            self.watches.remove(place);
        }
    }

    fn place_of(&self, id: WatchId) -> Option<usize> {
        self.watches.binary_search_by_key(&id.0, |watch| watch.id.0).ok()
    }

    /// An open watch.
    pub fn watch(&self, id: WatchId) -> Option<&Watch> {
        self.place_of(id).map(|place| &self.watches[place])
    }

    /// An open watch, to change what the loop keeps there.
    pub fn watch_mut(&mut self, id: WatchId) -> Option<&mut Watch> {
        self.place_of(id).map(|place| &mut self.watches[place])
    }

    /// How many watches are open.
    pub fn watch_count(&self) -> usize {
        self.watches.len()
    }

    /// All open watches, in the order they were opened.
    pub fn watches(&self) -> impl Iterator<Item = &Watch> {
        self.watches.iter()
    }

    /// The watches of a kind that have no delivery scheduled, in the order they were opened. There was a change.
    pub fn idle_watches(&mut self, kind: Kind, into: &mut Vec<WatchId>) {
        for watch in self.watches.iter_mut().filter(|watch| watch.kind == kind) {
            if !watch.pending {
                into.push(watch.id);
            } else if watch.detached && watch.missing_since.is_none() {
                let newest = self.etcd.log_end(kind).checked_sub(1);
                let entry = newest.and_then(|number| self.etcd.log_entry(kind, number));
                let seen = entry.filter(|entry| watch::visible(entry, &watch.selector).is_some());
                watch.missing_since = seen.map(|entry| entry.committed_at);
            }
        }
    }

    /// Moves a watch past entries it does not see; the next one it sees, if there is one.
    pub fn next_entry(&mut self, id: WatchId) -> Option<NextEntry> {
        let place = self.place_of(id)?;
        let watch = &mut self.watches[place];
        while let Some(entry) = self.etcd.log_entry(watch.kind, watch.cursor) {
            if watch.end.is_some_and(|end| watch.cursor >= end.before) {
                return None;
            }
            if let Some(event_type) = watch::visible(entry, &watch.selector) {
                return Some(NextEntry { committed_at: entry.committed_at, rv: entry.rv, nth: entry.nth, event_type });
            }
            watch.cursor += 1;
        }
        None
    }

    /// The watch's next entry as its client will get it.
    pub fn peek_entry(&mut self, id: WatchId) -> Option<WatchEvent> {
        let next = self.next_entry(id)?;
        let watch = self.watch(id)?;
        let entry = self.etcd.log_entry(watch.kind, watch.cursor)?;
        Some(watch::event_of(entry, next.event_type))
    }

    /// The commit of the oldest change that has not reached a watch's client: on its way, or lost on it. For probes.
    pub fn oldest_missing(&self, watch: &Watch) -> Option<Time> {
        let on_its_way = (watch.pending && !watch.detached).then(|| self.etcd.log_entry(watch.kind, watch.cursor));
        let on_its_way = on_its_way.flatten().map(|entry| entry.committed_at);
        let lost = watch.lost.values().copied().min();
        on_its_way.into_iter().chain(lost).chain(watch.missing_since).min()
    }

    /// When the watch's next entry is ready, given its own delay: never before the one delivered last.
    pub fn ready_at(&self, id: WatchId, undisturbed: Time) -> Time {
        self.watch(id).map_or(undisturbed, |watch| undisturbed.max(watch.last_ready))
    }

    /// Takes the watch's `next` entry, as [`ApiServer::next_entry`] has just given it, which is ready at `ready`.
    pub fn take_entry(&mut self, id: WatchId, next: &NextEntry, ready: Time) -> Option<WatchEvent> {
        let place = self.place_of(id)?;
        let watch = &mut self.watches[place];
        let entry: &LogEntry = self.etcd.log_entry(watch.kind, watch.cursor)?;
        debug_assert_eq!(entry.rv, next.rv);
        watch.cursor += 1;
        watch.last_ready = ready;
        Some(watch::event_of(entry, next.event_type))
    }

    /// Forgets log entries that every open watch has passed and no new one may begin with.
    pub fn trim_logs(&mut self) {
        let kinds: Vec<Kind> = self.etcd.kinds().collect();
        for kind in kinds {
            let open = self.watches.iter().filter(|watch| watch.kind == kind && !watch.detached);
            let slowest = open.map(|watch| watch.cursor).min();
            self.etcd.compact(kind, slowest.unwrap_or(self.etcd.log_end(kind)));
        }
    }
}

fn sort_by_name(items: &mut [Object]) {
    items.sort_by(|a, b| {
        let (a, b) = (a.meta(), b.meta());
        a.namespace.cmp(&b.namespace).then_with(|| a.name.cmp(&b.name))
    });
}
