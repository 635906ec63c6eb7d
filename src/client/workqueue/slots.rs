//! Keys and their state in numbered slots: lists refer to a key by a small number instead of hashing it again.
//!
//! A key that is no longer in use keeps its slot, since most keys come back; when unused slots prevail and new keys come
//! nevertheless they are removed all at once. So neither coming nor going costs a change of the table.

use std::hash::Hash;

use crate::model::Map;

/// One value per key, addressed by slot number. Nothing here has an order that a caller could see.
#[derive(Clone, Debug)]
pub(in crate::client) struct Slots<K, V> {
    /// The slot number is the index.
    entries: Map<K, V>,
    /// How many of the entries are unused.
    unused: usize,
    /// A new key has come while unused slots prevailed: they are not waiting for their own keys.
    crowded: bool,
    /// The slot after the last that came into use.
    next: u32,
    /// The last key stood at `next`: keys come in the order of their slots, as in a resync, so that the following one is
    /// looked for there before it is hashed.
    in_order: bool,
}

/// A value that can be told to be of no use any more.
pub(in crate::client) trait Unused {
    /// Whether the slot may be removed.
    fn is_unused(&self) -> bool;
}

/// The new slot of a removed one.
pub(in crate::client) const REMOVED: u32 = u32::MAX;

/// Fewer unused slots than this are not worth a removal. Tests remove early, so that the twins see it happen.
const WORTH_REMOVING: usize = if cfg!(test) { 2 } else { 1_024 };

impl<K: Clone + Eq + Hash, V: Unused> Slots<K, V> {
    pub(in crate::client) fn new() -> Slots<K, V> {
        Slots { entries: Map::default(), unused: 0, crowded: false, next: 0, in_order: false }
    }

    /// The slot of a key, if it has one.
    pub(in crate::client) fn find(&self, key: &K) -> Option<u32> {
        self.entries.get_index_of(key).map(slot_number)
    }

    /// The slot of a key that comes into use; a new one gets the value that `make` gives, which must be unused, as the
    /// value of an old one may be. The caller puts it to use at once.
    pub(in crate::client) fn find_or_insert_with(&mut self, key: K, make: impl FnOnce() -> V) -> u32 {
        let guess = if self.in_order { self.next } else { REMOVED };
        let slot = self.find_near_or_insert_with(key, guess, make);
        self.in_order = slot == self.next;
        self.next = slot + 1;
        slot
    }

    /// As [`Slots::find_or_insert_with`], for a key that probably has this slot.
    pub(in crate::client) fn find_near_or_insert_with(&mut self, key: K, guess: u32, make: impl FnOnce() -> V) -> u32 {
        let slot = match self.entries.get_index(guess as usize) {
            Some((found, _)) if *found == key => guess,
            _ => self.find_or_insert_hashed(key, make),
        };
        self.unused -= usize::from(self.value(slot).is_unused());
        slot
    }

    fn find_or_insert_hashed(&mut self, key: K, make: impl FnOnce() -> V) -> u32 {
        let len = self.entries.len();
        let entry = self.entries.entry(key);
        let slot = slot_number(entry.index());
        if let indexmap::map::Entry::Vacant(vacant) = entry {
            vacant.insert(make());
            self.crowded |= self.unused >= WORTH_REMOVING && self.unused * 2 >= len;
            self.unused += 1;
        }
        slot
    }

    pub(in crate::client) fn key(&self, slot: u32) -> &K {
        self.entries.get_index(slot as usize).expect("slots in use are not removed").0
    }

    pub(in crate::client) fn value(&self, slot: u32) -> &V {
        &self.entries[slot as usize]
    }

    pub(in crate::client) fn value_mut(&mut self, slot: u32) -> &mut V {
        &mut self.entries[slot as usize]
    }

    pub(in crate::client) fn get(&self, key: &K) -> Option<&V> {
        self.entries.get(key)
    }

    /// All keys and values, unused ones too, in no meaningful order.
    pub(in crate::client) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.entries.iter()
    }

    /// Tells that a value has just become unused. If too many are, they are removed, and the answer gives the new
    /// number of each old slot, which the caller must put in its lists.
    #[must_use]
    pub(in crate::client) fn retire_one(&mut self) -> Option<Vec<u32>> {
        self.unused += 1;
        // At least half of the table goes, so a removal visits at most two entries for each retirement since the last.
        if !self.crowded || self.unused < WORTH_REMOVING || self.unused * 2 < self.entries.len() {
            return None;
        }
        self.crowded = false;
        let mut kept = 0;
        let new_slots = self.entries.values().map(|value| {
            let slot = if value.is_unused() { REMOVED } else { kept };
            kept += u32::from(slot != REMOVED);
            slot
        });
        let new_slots = new_slots.collect();
        self.entries.retain(|_, value| !value.is_unused());
        self.unused = 0;
        Some(new_slots)
    }

    pub(in crate::client) fn clear(&mut self) {
        self.entries.clear();
        self.unused = 0;
        self.crowded = false;
    }
}

fn slot_number(index: usize) -> u32 {
    u32::try_from(index).ok().filter(|slot| *slot != REMOVED).expect("fewer than 2^32 keys in one queue")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Unused for bool {
        fn is_unused(&self) -> bool {
            !*self
        }
    }

    #[test]
    fn unused_slots_go_when_they_prevail_and_the_others_are_renumbered() {
        let mut slots: Slots<&str, bool> = Slots::new();
        for key in ["a", "b", "c", "d"] {
            let slot = slots.find_or_insert_with(key, || false);
            *slots.value_mut(slot) = true;
        }
        *slots.value_mut(0) = false;
        assert_eq!(slots.retire_one(), None);
        // "a" comes back to its slot and leaves again; with "c" two of four are unused.
        assert_eq!(slots.find_or_insert_with("a", || false), 0);
        assert_eq!(slots.retire_one(), None);
        *slots.value_mut(2) = false;
        // All have been there before: their slots stay, until a new key comes. With it three of five are unused.
        assert_eq!(slots.retire_one(), None);
        assert_eq!(slots.find_or_insert_with("e", || false), 4);
        assert_eq!(slots.retire_one(), Some(vec![REMOVED, 0, REMOVED, 1, REMOVED]));
        assert_eq!((slots.key(0), slots.key(1), slots.find(&"d"), slots.find(&"a")), (&"b", &"d", Some(1), None));
    }

    #[test]
    fn keys_are_found_whatever_the_order_they_come_in() {
        let mut slots: Slots<u32, bool> = Slots::new();
        for key in 0..6 {
            let slot = slots.find_or_insert_with(key, || false);
            *slots.value_mut(slot) = true;
        }
        assert_eq!(slots.find_near_or_insert_with(4, 4, || false), 4);
        assert_eq!(slots.find_near_or_insert_with(4, 2, || false), 4);
        // In order, out of order, over the end, one again, and a new one where 1 would be next.
        let found: Vec<u32> =
            [0, 1, 2, 5, 0, 1, 1, 2, 4, 5, 0, 9].map(|key| slots.find_or_insert_with(key, || false)).to_vec();
        assert_eq!(found, [0, 1, 2, 5, 0, 1, 1, 2, 4, 5, 0, 6]);
    }

    #[test]
    fn keys_that_never_come_back_do_not_pile_up() {
        let mut slots: Slots<u32, bool> = Slots::new();
        for key in 0..1_000 {
            slots.find_or_insert_with(key, || false);
            let _ = slots.retire_one();
        }
        assert!(slots.iter().count() <= WORTH_REMOVING);
    }
}
