//! Keys and their state in numbered slots: lists refer to a key by a small number instead of hashing it again.

use std::hash::Hash;

use crate::model::Map;

/// One value per key, addressed by slot number. A slot number stays valid until its key is removed, then it is reused.
/// Nothing here has an order that a caller could see.
#[derive(Clone, Debug)]
pub(super) struct Slots<K, V> {
    by_key: Map<K, u32>,
    entries: Vec<Option<(K, V)>>,
    free: Vec<u32>,
}

impl<K: Clone + Eq + Hash, V> Slots<K, V> {
    pub(super) fn new() -> Slots<K, V> {
        Slots { by_key: Map::default(), entries: Vec::new(), free: Vec::new() }
    }

    /// The slot of a key, if the key is present.
    pub(super) fn find(&self, key: &K) -> Option<u32> {
        self.by_key.get(key).copied()
    }

    /// The slot of a key; an absent key is inserted with the value that `make` gives. Costs one hash of the key.
    pub(super) fn find_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> u32 {
        let entry = match self.by_key.entry(key) {
            indexmap::map::Entry::Occupied(occupied) => return *occupied.get(),
            indexmap::map::Entry::Vacant(vacant) => vacant,
        };
        let filled = Some((entry.key().clone(), make()));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.entries[slot as usize] = filled;
                slot
            }
            None => {
                self.entries.push(filled);
                u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 keys in one queue")
            }
        };
        entry.insert(slot);
        slot
    }

    /// Takes the key and value out of a slot.
    pub(super) fn remove(&mut self, slot: u32) -> (K, V) {
        let (key, value) = self.entries[slot as usize].take().expect("the slot is in use");
        self.by_key.swap_remove(&key);
        self.free.push(slot);
        (key, value)
    }

    pub(super) fn key(&self, slot: u32) -> &K {
        &self.entries[slot as usize].as_ref().expect("the slot is in use").0
    }

    pub(super) fn value(&self, slot: u32) -> &V {
        &self.entries[slot as usize].as_ref().expect("the slot is in use").1
    }

    pub(super) fn value_mut(&mut self, slot: u32) -> &mut V {
        &mut self.entries[slot as usize].as_mut().expect("the slot is in use").1
    }

    pub(super) fn get(&self, key: &K) -> Option<&V> {
        self.find(key).map(|slot| self.value(slot))
    }

    /// All keys and values, in no meaningful order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter().flatten().map(|(key, value)| (key, value))
    }

    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.entries.clear();
        self.free.clear();
    }
}
