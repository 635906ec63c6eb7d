//! The queue between a reflector and the handlers of its informer, in the three shapes it has had.
//!
//! [`DeltaFifo`] (client-go up to 1.32) keeps a list of entries a key and hands out a key with all of them.
//! [`RealFifo`] keeps entries in the order they came and hands out one at a time; where it is not atomic (1.33 to 1.35) a
//! list or a resync is one entry an object, and where it is atomic (1.36) it is one entry that is resolved against the
//! cache when it is taken.
//!
//! Upstream: client-go/tools/cache/{delta_fifo.go,the_real_fifo.go}, v0.36.

mod delta;
mod real;
#[cfg(test)]
mod tests;

pub use delta::DeltaFifo;
pub use real::RealFifo;

use super::informers::Cache;
use crate::model::{Key, Object};

/// What an entry says of its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryType {
    /// A watch said ADDED.
    Added,
    /// A watch said MODIFIED.
    Updated,
    /// A watch said DELETED, or a list no longer held it.
    Deleted,
    /// A list held it.
    Replaced,
    /// A resync names what the cache holds.
    Sync,
}

/// One entry of the queue.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it says.
    pub entry_type: EntryType,
    /// The object; for a deletion its last known state.
    pub object: Object,
    /// The deletion itself was missed: a list no longer held the object (`DeletedFinalStateUnknown`).
    pub tombstone: bool,
}

impl Entry {
    /// An entry that is no tombstone.
    pub fn new(entry_type: EntryType, object: Object) -> Entry {
        Entry { entry_type, object, tombstone: false }
    }

    fn tombstone(object: Object) -> Entry {
        Entry { entry_type: EntryType::Deleted, object, tombstone: true }
    }
}

/// What was taken from the queue.
#[derive(Clone, Debug)]
pub struct Taken {
    /// It belongs to the first list.
    pub is_initial: bool,
    /// What it is.
    pub work: Work,
}

/// What is to be done with what was taken.
#[derive(Clone, Debug)]
pub enum Work {
    /// Apply one entry.
    One(Entry),
    /// Apply the entries of one key.
    OfKey(Vec<Entry>),
    /// Replace the cache by these objects.
    ReplaceAll(Vec<Object>),
    /// Name everything the cache holds.
    SyncAll,
}

/// Which shape the queue has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// Up to 1.32: entries are kept by key.
    Delta,
    /// 1.33 to 1.35: entries in order; a list is an entry an object.
    Real,
    /// 1.36: entries in order; a list is one entry.
    #[default]
    RealAtomic,
}

/// A queue of one of the shapes.
#[derive(Clone, Debug)]
pub enum Fifo {
    /// Entries by key.
    Delta(DeltaFifo),
    /// Entries in order.
    Real(RealFifo),
}

impl Fifo {
    /// An empty queue.
    pub fn new(shape: Shape) -> Fifo {
        match shape {
            Shape::Delta => Fifo::Delta(DeltaFifo::default()),
            Shape::Real => Fifo::Real(RealFifo::new(false)),
            Shape::RealAtomic => Fifo::Real(RealFifo::new(true)),
        }
    }

    /// A watch event. `cache` is what was taken and applied so far.
    pub fn push(&mut self, entry: Entry, cache: &Cache) {
        match self {
            Fifo::Delta(fifo) => fifo.push(entry, cache),
            Fifo::Real(fifo) => fifo.push(entry),
        }
    }

    /// A list.
    pub fn replace(&mut self, items: Vec<Object>, cache: &Cache) {
        match self {
            Fifo::Delta(fifo) => fifo.replace(items, cache),
            Fifo::Real(fifo) => fifo.replace(items, cache),
        }
    }

    /// A resync.
    pub fn resync(&mut self, cache: &Cache) {
        match self {
            Fifo::Delta(fifo) => fifo.resync(cache),
            Fifo::Real(fifo) => fifo.resync(cache),
        }
    }

    /// Takes what is to be done next.
    pub fn pop(&mut self) -> Option<Taken> {
        match self {
            Fifo::Delta(fifo) => fifo.pop(),
            Fifo::Real(fifo) => fifo.pop(),
        }
    }

    /// Whether the first list has been taken in full.
    pub fn has_synced(&self) -> bool {
        match self {
            Fifo::Delta(fifo) => fifo.population.has_synced(),
            Fifo::Real(fifo) => fifo.population.has_synced(),
        }
    }
}

/// How much of the first list is still queued.
#[derive(Clone, Copy, Debug, Default)]
struct Population {
    began: bool,
    left: usize,
}

impl Population {
    /// An event came before any list: nothing is waited for.
    fn event(&mut self) {
        self.began = true;
    }

    /// A list came; `count` pops belong to it if it is the first.
    fn list(&mut self, count: usize) {
        if !self.began {
            *self = Population { began: true, left: count };
        }
    }

    /// Something is taken; whether it belongs to the first list.
    fn pop(&mut self) -> bool {
        let is_initial = !self.has_synced();
        self.left = self.left.saturating_sub(1);
        is_initial
    }

    fn has_synced(&self) -> bool {
        self.began && self.left == 0
    }
}

/// The cached objects whose keys `is_known` does not hold, in order of namespace and name (upstream: map order).
fn missing_from(cache: &Cache, is_known: impl Fn(&Key) -> bool) -> Vec<Object> {
    cache.sorted().into_iter().filter(|object| !is_known(&object.key())).cloned().collect()
}
