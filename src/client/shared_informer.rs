//! A shared informer: one reflector, one queue, one cache, and the handlers of all who share it.
//!
//! What the reflector hears goes through the queue; [`Informer::next_call`] takes it out, applies it to the cache and
//! says which calls of handlers follow. Without a clock: instants come in with each input.
//!
//! Upstream: client-go/tools/cache/{shared_informer.go,controller.go}, v0.36.

use std::collections::VecDeque;

use super::fifo::{Entry, EntryType, Fifo, Shape, Work};
use super::informers::Cache;
use super::processor::Processor;
use super::reflector::{Ask, Failure, Mode, Next, Reflector, StreamEnd};
use crate::component::{Change, Delta, Draws};
use crate::model::api::ObjectSelector;
use crate::model::{Key, Kind, Map, Object, Rv, Set, Span, Time};

/// How an informer is made.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct InformerSettings {
    /// How it gets everything there is.
    pub mode: Mode,
    /// Which queue it has.
    pub shape: Shape,
    /// Its resync period; zero for never, also for its handlers.
    pub resync: Span,
    /// When it is made.
    pub now: Time,
    /// The entity of its draws, and the occurrence before the first.
    pub draws_for: (u64, u64),
}

/// One shared informer.
#[derive(Clone, Debug)]
pub struct Informer {
    /// Kind of object.
    pub kind: Kind,
    /// Which of them.
    pub selector: ObjectSelector,
    /// The objects.
    pub cache: Cache,
    /// The number of its open stream, for the caller.
    pub stream: Option<u64>,
    /// Its handlers.
    pub processor: Processor,
    reflector: Reflector,
    fifo: Fifo,
    /// The beginning of a streaming list, so far.
    collected: Map<Key, Object>,
    calls: VecDeque<Call>,
    /// The place in the cache that a resync has come to.
    resync_at: Option<usize>,
    started: bool,
}

/// Calls of handlers that follow from one change.
#[derive(Clone, Debug)]
pub struct Call {
    /// What they are told.
    pub delta: Delta,
    /// An update between equal versions, which only syncing handlers are told of.
    pub is_sync: bool,
    /// Only this handler, because it came late.
    pub only: Option<usize>,
}

impl Informer {
    /// An informer that has seen nothing.
    pub fn new(kind: Kind, selector: ObjectSelector, settings: InformerSettings) -> Informer {
        Informer {
            kind,
            selector,
            cache: Cache::default(),
            stream: None,
            processor: Processor::new(settings.resync),
            reflector: Reflector::new(settings.mode, settings.now, settings.draws_for),
            fifo: Fifo::new(settings.shape),
            collected: Map::default(),
            calls: VecDeque::new(),
            resync_at: None,
            started: false,
        }
    }

    /// The newest version seen, of an event, a bookmark or a list; 0 before the first list.
    pub fn last_rv(&self) -> Rv {
        self.reflector.last_sync().unwrap_or(Rv(0))
    }

    /// Whether the first list is in the cache and handlers were told.
    pub fn has_synced(&self) -> bool {
        self.fifo.has_synced() && self.calls.is_empty()
    }

    /// For doubles that fill a cache by hand: this version was seen.
    #[cfg(test)]
    pub(crate) fn saw(&mut self, version: Rv) {
        self.reflector.saw(self.last_rv().max(version));
    }

    /// Its reflector, to look at.
    pub fn reflector(&self) -> &Reflector {
        &self.reflector
    }

    /// Adds a handler; returns its number. One that comes after the start is told of everything the cache holds.
    pub fn add_handler(&mut self, owner: usize, resync: Span, now: Time) -> usize {
        let handler = self.processor.add(owner, resync, now);
        if self.started {
            let adds = self.cache.sorted().into_iter().cloned().map(|object| Call {
                delta: Delta { change: Change::Added(object), is_resync: false, is_initial: true },
                is_sync: false,
                only: Some(handler),
            });
            self.calls.extend(adds);
        }
        handler
    }

    /// It starts: the first request.
    pub fn start(&mut self, now: Time, draws: &mut dyn Draws) -> Ask {
        self.started = true;
        self.reflector.set_resync_period(self.processor.start());
        self.reflector.start(now, draws)
    }

    /// A list was answered.
    pub fn listed(&mut self, now: Time, answer: Result<(Vec<Object>, Rv), Failure>, draws: &mut dyn Draws) -> Next {
        let result = answer.map(|(items, version)| {
            self.fifo.replace(items, &self.cache);
            version
        });
        self.reflector.listed(now, result, draws)
    }

    /// A watch was answered: its stream is open, or what follows a failure.
    pub fn opened(&mut self, now: Time, result: Result<(), Failure>, draws: &mut dyn Draws) -> Option<Next> {
        self.collected.clear();
        self.reflector.opened(now, result, draws)
    }

    /// A list or the opening of a watch failed.
    pub fn failed(&mut self, now: Time, failure: Failure, draws: &mut dyn Draws) -> Next {
        self.reflector.failed(now, failure, draws)
    }

    /// The stream brought ADDED, MODIFIED or DELETED. The version is the object's.
    pub fn stream_event(&mut self, entry_type: EntryType, object: Object) {
        self.reflector.event(object.meta().resource_version);
        if !self.reflector.is_collecting() {
            self.fifo.push(Entry::new(entry_type, object), &self.cache);
        } else if entry_type == EntryType::Deleted {
            self.collected.shift_remove(&object.key());
        } else {
            self.collected.insert(object.key(), object);
        }
    }

    /// The stream brought a BOOKMARK; `initial_events_end` as its annotation says.
    pub fn bookmark(&mut self, now: Time, version: Rv, initial_events_end: bool) {
        self.reflector.event(version);
        if initial_events_end && self.reflector.is_collecting() {
            let items = std::mem::take(&mut self.collected).into_values().collect();
            self.fifo.replace(items, &self.cache);
            self.reflector.initial_events_end(now, version);
        }
    }

    /// The stream ended.
    pub fn ended(&mut self, now: Time, end: StreamEnd, draws: &mut dyn Draws) -> Next {
        self.reflector.ended(now, end, draws)
    }

    /// The reflector's wait is over.
    pub fn timer(&mut self, now: Time, draws: &mut dyn Draws) -> Ask {
        self.reflector.timer(now, draws)
    }

    /// Begins a round at once: a resync as textbooks tell it.
    pub fn restart(&mut self, now: Time, draws: &mut dyn Draws) -> Ask {
        self.reflector.start(now, draws)
    }

    /// Begins a round without a word of what was seen: the cache may go back in time.
    pub fn restart_from_anything(&mut self) -> Ask {
        self.reflector.start_from_anything()
    }

    /// A resync is due: handlers whose time it is are told of everything the cache holds.
    pub fn resync(&mut self, now: Time) {
        if self.processor.resync_due(now) {
            self.fifo.resync(&self.cache);
        }
        self.reflector.resynced(now);
    }

    /// Takes the next thing from the queue, applies it, and gives the calls that follow; `None` when all is applied.
    pub fn next_call(&mut self) -> Option<Call> {
        loop {
            if let Some(call) = self.calls.pop_front() {
                return Some(call);
            }
            if let Some(call) = self.next_resynced() {
                return Some(call);
            }
            let taken = self.fifo.pop()?;
            match taken.work {
                Work::One(entry) => return Some(self.apply(entry, taken.is_initial)),
                Work::OfKey(entries) => {
                    for entry in entries {
                        let call = self.apply(entry, taken.is_initial);
                        self.calls.push_back(call);
                    }
                }
                Work::ReplaceAll(items) => self.replace_all(items, taken.is_initial),
                Work::SyncAll => {
                    self.cache.sort();
                    self.resync_at = Some(0);
                }
            }
        }
    }

    /// Handlers are told of a deletion even if the cache never held the object (inf-rnd-054 of the recordings).
    fn apply(&mut self, entry: Entry, is_initial: bool) -> Call {
        if entry.entry_type == EntryType::Deleted {
            self.cache.remove(&entry.object.key());
            return call(Change::Deleted { last: entry.object, tombstone: entry.tombstone }, is_initial);
        }
        let mut call = call(self.upsert(entry.object), is_initial);
        call.delta.is_resync = entry.entry_type == EntryType::Sync;
        call
    }

    fn upsert(&mut self, object: Object) -> Change {
        match self.cache.insert(object.clone()) {
            Some(old) => Change::Updated { old, new: object },
            None => Change::Added(object),
        }
    }

    /// The cache becomes the list before any handler is told: first of what is gone, then of each item.
    fn replace_all(&mut self, items: Vec<Object>, is_initial: bool) {
        if !self.cache.is_empty() {
            let listed: Set<Key> = items.iter().map(Object::key).collect();
            for key in self.cache.keys_sorted() {
                if !listed.contains(&key) {
                    let last = self.cache.remove(&key).expect("its own key");
                    self.calls.push_back(call(Change::Deleted { last, tombstone: true }, is_initial));
                }
            }
        }
        for item in items {
            let change = self.upsert(item);
            self.calls.push_back(call(change, is_initial));
        }
    }

    /// The cache stays as it is while a resync goes through it: nothing is taken from the queue meanwhile.
    fn next_resynced(&mut self) -> Option<Call> {
        let place = self.resync_at?;
        let Some(object) = self.cache.at(place) else {
            self.resync_at = None;
            return None;
        };
        self.resync_at = Some(place + 1);
        let mut call = call(Change::Updated { old: object.clone(), new: object.clone() }, false);
        call.delta.is_resync = true;
        Some(call)
    }
}

fn call(change: Change, is_initial: bool) -> Call {
    let is_sync = match &change {
        Change::Updated { old, new } => old.meta().resource_version == new.meta().resource_version,
        _ => false,
    };
    Call { delta: Delta { change, is_resync: false, is_initial }, is_sync, only: None }
}
