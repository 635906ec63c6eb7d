//! A 4-ary minimum heap of `u128` keys, laid out so that the four children of a node share one cache line.
//!
//! The future event list spends its time here, so the layout is the point. A key is the whole entry: one integer comparison
//! orders two events, and four entries fill a 64-byte line. Nodes are kept in *families* (the four children of one node);
//! the root sits alone in the last seat of family 0, which makes family `p - 2` the children of the node in seat `p`.
//! Empty seats hold a key larger than any real one, so choosing the least child needs no length test and no branch.

use std::hint::select_unpredictable;

/// The key of an empty seat; no real key equals it.
const EMPTY: u128 = u128::MAX;
/// The seat of the root: seats 0 to 2 are never used.
const ROOT: usize = 3;

/// Four sibling keys in one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Family([u128; 4]);

/// A minimum heap of distinct keys below `u128::MAX`.
///
/// A pop leaves the root open, because the next thing an event does is mostly to schedule another: the pushed key then
/// starts at the root, and a key that is soon due stays near it. Only a second pop in a row has to fill the root.
#[derive(Clone, Debug, Default)]
pub(super) struct KeyHeap {
    families: Vec<Family>,
    /// Seats in use from the root on, an open root included.
    used: usize,
    /// Whether the root was popped and waits for a key. Its seat is then empty.
    open: bool,
}

impl KeyHeap {
    /// The number of keys.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.used - usize::from(self.open)
    }

    /// The least key.
    #[inline]
    pub(super) fn min(&self) -> Option<u128> {
        let least = if self.open { least_of(&self.families.get(1)?.0).1 } else { self.families.first()?.0[ROOT] };
        (least != EMPTY).then_some(least)
    }

    /// Adds a key, in O(log n).
    #[inline]
    pub(super) fn push(&mut self, key: u128) {
        debug_assert!(key != EMPTY, "the largest key marks an empty seat");
        if self.open {
            self.open = false;
            self.sink(ROOT, key);
            return;
        }
        let seat = self.used + ROOT;
        self.used += 1;
        if self.families.len() <= seat / 4 {
            self.families.push(Family([EMPTY; 4]));
        }
        self.rise(seat, key);
    }

    /// Removes the least key, in O(log n).
    #[inline]
    pub(super) fn pop(&mut self) -> Option<u128> {
        self.close();
        let least = self.min()?;
        self.put(ROOT, EMPTY);
        self.open = true;
        Some(least)
    }

    /// Keeps the keys for which `keep` holds, in O(n). The order of the rest is that of the keys, so it does not change.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(u128) -> bool) {
        self.close();
        let mut kept = 0;
        for seat in ROOT..self.used + ROOT {
            let key = self.key(seat);
            if keep(key) {
                self.put(kept + ROOT, key);
                kept += 1;
            }
        }
        for seat in kept + ROOT..self.used + ROOT {
            self.put(seat, EMPTY);
        }
        self.used = kept;
        self.families.truncate(if kept == 0 { 0 } else { (kept + ROOT).div_ceil(4) });
        // Floyd's construction: every node that has children sinks, the deepest first.
        for parent in (ROOT..self.families.len() + 2).rev() {
            self.sink(parent, self.key(parent));
        }
    }

    /// Fills an open root with the last key. The hole goes down to a leaf along the least children and the key rises from
    /// there: a key from the bottom nearly always belongs near the bottom, which saves a comparison at every level.
    fn close(&mut self) {
        if !self.open {
            return;
        }
        self.open = false;
        let seat = self.used + ROOT - 1;
        let last = self.key(seat);
        self.put(seat, EMPTY);
        self.used -= 1;
        if seat.is_multiple_of(4) {
            self.families.pop();
        }
        if self.used == 0 {
            return;
        }
        let mut hole = ROOT;
        while let Some(children) = self.families.get(hole - 2) {
            let (child, least) = least_of(&children.0);
            self.put(hole, least);
            hole = (hole - 2) * 4 + child;
        }
        self.rise(hole, last);
    }

    /// Puts `key` in place at or below `hole`, whose own key is taken, moving lesser children up.
    fn sink(&mut self, mut hole: usize, key: u128) {
        while let Some(children) = self.families.get(hole - 2) {
            let (child, least) = least_of(&children.0);
            if key < least {
                break;
            }
            self.put(hole, least);
            hole = (hole - 2) * 4 + child;
        }
        self.put(hole, key);
    }

    /// Puts `key` in place at or above `hole`, moving greater parents down.
    fn rise(&mut self, mut hole: usize, key: u128) {
        while hole > ROOT {
            let parent = hole / 4 + 2;
            let above = self.key(parent);
            if above < key {
                break;
            }
            self.put(hole, above);
            hole = parent;
        }
        self.put(hole, key);
    }

    fn key(&self, seat: usize) -> u128 {
        self.families[seat / 4].0[seat % 4]
    }

    fn put(&mut self, seat: usize, key: u128) {
        self.families[seat / 4].0[seat % 4] = key;
    }
}

/// The place and the key of the least of four, without branches: which child is least is a coin toss no predictor learns.
#[inline]
fn least_of(keys: &[u128; 4]) -> (usize, u128) {
    let left = usize::from(keys[1] < keys[0]);
    let right = 2 + usize::from(keys[3] < keys[2]);
    let place = select_unpredictable(keys[right] < keys[left], right, left);
    (place, keys[place])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_family_is_one_cache_line() {
        assert_eq!((size_of::<Family>(), align_of::<Family>()), (64, 64));
    }

    #[test]
    fn every_small_heap_sorts_every_rotation() {
        for size in 0..70_u128 {
            for first in 0..size.max(1) {
                let mut heap = KeyHeap::default();
                for i in 0..size {
                    // 71 is prime, so multiples of 29 modulo 71 are distinct.
                    heap.push((i + first) * 29 % 71);
                }
                let mut expected: Vec<u128> = (0..size).map(|i| (i + first) * 29 % 71).collect();
                expected.sort_unstable();
                let popped: Vec<u128> = std::iter::from_fn(|| heap.pop()).collect();
                assert_eq!(popped, expected);
                assert_eq!(heap.len(), 0);
            }
        }
    }

    proptest! {
        #[test]
        fn retaining_keeps_order_and_loses_nothing(keys in proptest::collection::btree_set(0_u128..10_000, 0..300), modulus in 1_u128..6) {
            let mut heap = KeyHeap::default();
            for &key in keys.iter().rev() {
                heap.push(key);
            }
            heap.retain(|key| key % modulus == 0);
            let expected: Vec<u128> = keys.iter().copied().filter(|key| key % modulus == 0).collect();
            prop_assert_eq!(heap.len(), expected.len());
            heap.push(20_000);
            let popped: Vec<u128> = std::iter::from_fn(|| heap.pop()).collect();
            prop_assert_eq!(&popped[..expected.len()], &expected[..]);
            prop_assert_eq!(popped.last(), Some(&20_000));
        }
    }
}
