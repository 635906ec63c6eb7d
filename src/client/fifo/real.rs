//! The queue that keeps entries in the order in which they came.
//!
//! Upstream: client-go/tools/cache/the_real_fifo.go, v0.36.

use std::collections::VecDeque;

use super::{Entry, EntryType, Population, Taken, Work, missing_from};
use crate::client::informers::Cache;
use crate::model::{Key, Map, Object, Set};

/// Entries in order.
#[derive(Clone, Debug)]
pub struct RealFifo {
    atomic: bool,
    items: VecDeque<Work>,
    pub(super) population: Population,
}

impl RealFifo {
    /// An empty queue. `atomic`: lists and resyncs are one entry each.
    pub fn new(atomic: bool) -> RealFifo {
        RealFifo { atomic, items: VecDeque::new(), population: Population::default() }
    }

    /// A watch event.
    pub fn push(&mut self, entry: Entry) {
        self.population.event();
        self.items.push_back(Work::One(entry));
    }

    /// A list. Where it is not one entry: tombstones for queued keys that it does not hold, tombstones for cached ones,
    /// then an entry an item.
    pub fn replace(&mut self, items: Vec<Object>, cache: &Cache) {
        if self.atomic {
            self.items.push_back(Work::ReplaceAll(items));
        } else {
            self.replace_by_entries(items, cache);
        }
        self.population.list(self.items.len());
    }

    fn replace_by_entries(&mut self, items: Vec<Object>, cache: &Cache) {
        let listed: Set<Key> = items.iter().map(Object::key).collect();
        let queued = self.last_entries();
        let cached = missing_from(cache, |key| listed.contains(key) || queued.contains_key(key));
        let gone = queued.into_iter().filter(|(key, entry)| {
            // A deletion that is queued already says it.
            !listed.contains(key) && entry.entry_type != EntryType::Deleted
        });
        let objects: Vec<Object> = gone.map(|(_, entry)| entry.object).chain(cached).collect();
        self.items.extend(objects.into_iter().map(|object| Work::One(Entry::tombstone(object))));
        self.items.extend(items.into_iter().map(|item| Work::One(Entry::new(EntryType::Replaced, item))));
    }

    /// A resync. Where it is not one entry: one for each cached object with nothing queued.
    pub fn resync(&mut self, cache: &Cache) {
        if self.atomic {
            self.items.push_back(Work::SyncAll);
            return;
        }
        let queued = self.last_entries();
        let objects = missing_from(cache, |key| queued.contains_key(key));
        self.items.extend(objects.into_iter().map(|object| Work::One(Entry::new(EntryType::Sync, object))));
    }

    /// Takes the oldest entry.
    pub fn pop(&mut self) -> Option<Taken> {
        let work = self.items.pop_front()?;
        Some(Taken { is_initial: self.population.pop(), work })
    }

    /// The newest queued entry of each key, in order of the keys' first.
    fn last_entries(&self) -> Map<Key, Entry> {
        let entries = self.items.iter().filter_map(|item| match item {
            Work::One(entry) => Some((entry.object.key(), entry.clone())),
            _ => None,
        });
        entries.collect()
    }
}
