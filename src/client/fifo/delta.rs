//! The queue that keeps a list of entries a key.
//!
//! Upstream: client-go/tools/cache/delta_fifo.go, the informers' queue up to v0.32.

use std::collections::VecDeque;

use super::{Entry, EntryType, Population, Taken, Work, missing_from};
use crate::client::informers::Cache;
use crate::model::{Key, Map, Object, Set};

/// Entries by key; keys in the order in which they were first queued.
#[derive(Clone, Debug, Default)]
pub struct DeltaFifo {
    entries: Map<Key, Vec<Entry>>,
    order: VecDeque<Key>,
    pub(super) population: Population,
}

impl DeltaFifo {
    /// A watch event. The deletion of a key that is neither queued nor cached says nothing new.
    pub fn push(&mut self, entry: Entry, cache: &Cache) {
        self.population.event();
        if entry.entry_type == EntryType::Deleted {
            let key = entry.object.key();
            if cache.get(&key).is_none() && !self.entries.contains_key(&key) {
                return;
            }
        }
        self.queue(entry);
    }

    /// A list: an entry for each item, then tombstones for queued keys and for cached keys that it does not hold.
    pub fn replace(&mut self, items: Vec<Object>, cache: &Cache) {
        let listed: Set<Key> = items.iter().map(Object::key).collect();
        for item in items {
            self.queue(Entry::new(EntryType::Replaced, item));
        }
        let absent = |entries: &(&Key, &Vec<Entry>)| !listed.contains(entries.0);
        let newest = |entries: &Vec<Entry>| entries.last().expect("a queued key has entries").object.clone();
        let queued: Vec<Object> = self.entries.iter().filter(absent).map(|(_, entries)| newest(entries)).collect();
        let cached = missing_from(cache, |key| listed.contains(key) || self.entries.contains_key(key));
        let count = listed.len() + queued.len() + cached.len();
        for object in queued.into_iter().chain(cached) {
            self.queue(Entry::tombstone(object));
        }
        self.population.list(count);
    }

    /// A resync: an entry for each cached object with nothing queued.
    pub fn resync(&mut self, cache: &Cache) {
        for object in missing_from(cache, |key| self.entries.contains_key(key)) {
            self.queue(Entry::new(EntryType::Sync, object));
        }
    }

    /// Takes the first key with all its entries.
    pub fn pop(&mut self) -> Option<Taken> {
        let key = self.order.pop_front()?;
        let is_initial = self.population.pop();
        // The order of the map shows in tombstones only, which keep the order of queueing.
        let entries = self.entries.shift_remove(&key).expect("a key in order has entries");
        Some(Taken { is_initial, work: Work::OfKey(entries) })
    }

    fn queue(&mut self, entry: Entry) {
        let key = entry.object.key();
        let Some(entries) = self.entries.get_mut(&key) else {
            self.order.push_back(key.clone());
            self.entries.insert(key, vec![entry]);
            return;
        };
        // Of two deletions in a row the older stays, unless it is a tombstone.
        match entries.last_mut() {
            Some(last) if last.entry_type == EntryType::Deleted && entry.entry_type == EntryType::Deleted => {
                if last.tombstone {
                    *last = entry;
                }
            }
            _ => entries.push(entry),
        }
    }
}
