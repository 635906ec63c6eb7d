//! Keys that are to be added later.
//!
//! A binary heap that takes the very steps of Go's `container/heap`: it compares deadlines only, so the order of keys
//! with one deadline is the order that these steps produce (neither sorted nor first-come).
//!
//! Upstream: k8s.io/client-go util/workqueue/delaying_queue.go, v1.36; Go container/heap.

use std::hash::Hash;

use super::slots::{REMOVED, Slots, Unused};
use crate::model::Time;

/// Keys `K` with a deadline each, and the cause `C` of the call that set it.
#[derive(Clone, Debug)]
pub struct Delaying<K, C> {
    slots: Slots<K, Entry<C>>,
    heap: Vec<Node>,
    /// The place of each slot's key in the heap. A list of its own, because each step of a sift writes to it: beside the
    /// keys every write would be a cache miss.
    places: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Entry<C> {
    /// `None` if the key does not wait.
    cause: Option<C>,
    /// Where its queue found the key when it was last added: it is looked for there before it is hashed.
    queue_slot: u32,
}

impl<C> Unused for Entry<C> {
    fn is_unused(&self) -> bool {
        self.cause.is_none()
    }
}

#[derive(Clone, Copy, Debug)]
struct Node {
    ready_at: Time,
    slot: u32,
}

/// What became of a delayed add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Delayed<C> {
    /// The key did not wait before.
    Inserted,
    /// The key waited for a later deadline, which this one replaces together with its cause.
    Earlier {
        /// The cause that was replaced.
        replaced: C,
    },
    /// The key already waits for this or an earlier deadline; nothing changed.
    Coalesced {
        /// The deadline that stays.
        ready_at: Time,
        /// The cause that stays.
        first: C,
    },
}

impl<K: Clone + Eq + Hash, C: Clone> Default for Delaying<K, C> {
    fn default() -> Self {
        Delaying::new()
    }
}

impl<K: Clone + Eq + Hash, C: Clone> Delaying<K, C> {
    /// No keys.
    pub fn new() -> Delaying<K, C> {
        Delaying { slots: Slots::new(), heap: Vec::new(), places: Vec::new() }
    }

    /// Lets a key wait until `ready_at`; of several deadlines for one key the earliest counts.
    pub fn insert(&mut self, key: K, ready_at: Time, cause: C) -> Delayed<C> {
        let bottom = self.heap.len();
        let slot = self.slots.find_or_insert_with(key, || Entry { cause: None, queue_slot: REMOVED });
        if self.places.len() <= slot as usize {
            self.places.resize(slot as usize + 1, 0);
        }
        let entry = self.slots.value_mut(slot);
        let Some(first) = &mut entry.cause else {
            entry.cause = Some(cause);
            self.heap.push(Node { ready_at, slot });
            self.sift_up(bottom);
            return Delayed::Inserted;
        };
        let index = self.places[slot as usize] as usize;
        let waiting_until = self.heap[index].ready_at;
        if waiting_until <= ready_at {
            return Delayed::Coalesced { ready_at: waiting_until, first: first.clone() };
        }
        let replaced = std::mem::replace(first, cause);
        self.heap[index].ready_at = ready_at;
        if !self.sift_down(index, bottom) {
            self.sift_up(index);
        }
        Delayed::Earlier { replaced }
    }

    /// The earliest deadline.
    pub fn next_deadline(&self) -> Option<Time> {
        self.heap.first().map(|node| node.ready_at)
    }

    /// Takes out a key whose deadline has come: the one at the top of the heap, with its cause.
    pub fn pop_ready(&mut self, now: Time) -> Option<(K, C)> {
        self.pop_ready_with(now, |key, cause, _| (key, cause))
    }

    /// As [`Delaying::pop_ready`], and hands it on to a queue that is told, and tells, the slot it has there.
    pub(super) fn pop_ready_with<T>(&mut self, now: Time, hand_on: impl FnOnce(K, C, &mut u32) -> T) -> Option<T> {
        let top = *self.heap.first().filter(|node| node.ready_at <= now)?;
        let last = self.heap.len() - 1;
        self.heap.swap(0, last);
        self.heap.pop();
        if last > 0 {
            self.sift_down(0, last);
        }
        let key = self.slots.key(top.slot).clone();
        let entry = self.slots.value_mut(top.slot);
        let cause = entry.cause.take().expect("a key in the heap waits");
        let handed_on = hand_on(key, cause, &mut entry.queue_slot);
        if let Some(new_slots) = self.slots.retire_one() {
            for index in 0..self.heap.len() {
                self.heap[index].slot = new_slots[self.heap[index].slot as usize];
                self.place(index, self.heap[index]);
            }
        }
        Some(handed_on)
    }

    /// Until when this key waits, if it does.
    pub fn deadline_of(&self, key: &K) -> Option<Time> {
        let slot = self.slots.find(key).filter(|slot| !self.slots.value(*slot).is_unused())?;
        Some(self.heap[self.places[slot as usize] as usize].ready_at)
    }

    /// Keys that wait.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no key waits.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Forgets all keys.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.heap.clear();
        self.places.clear();
    }

    /// Moves the node at `index` up past every parent that is strictly later. The moving node is held aside and
    /// written once, which compares the same pairs as swapping step by step.
    fn sift_up(&mut self, mut index: usize) {
        let node = self.heap[index];
        while index > 0 {
            let parent = (index - 1) / 2;
            if node.ready_at >= self.heap[parent].ready_at {
                break;
            }
            self.place(index, self.heap[parent]);
            index = parent;
        }
        self.place(index, node);
    }

    /// Moves the node at `start` down among the first `len` nodes: the right child is chosen only if strictly earlier
    /// than the left, and passed only if strictly earlier than the node. Tells whether the node moved.
    fn sift_down(&mut self, start: usize, len: usize) -> bool {
        let node = self.heap[start];
        let mut index = start;
        loop {
            let left = 2 * index + 1;
            if left >= len {
                break;
            }
            let right = left + 1;
            let right_first = right < len && self.heap[right].ready_at < self.heap[left].ready_at;
            let child = if right_first { right } else { left };
            if self.heap[child].ready_at >= node.ready_at {
                break;
            }
            self.place(index, self.heap[child]);
            index = child;
        }
        self.place(index, node);
        index > start
    }

    fn place(&mut self, index: usize, node: Node) {
        self.heap[index] = node;
        self.places[node.slot as usize] = index as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_deadlines_come_out_in_the_order_of_the_heap() {
        let mut delaying = Delaying::new();
        for key in ["a", "b", "c", "d", "e", "f", "g"] {
            delaying.insert(key, Time(5), ());
        }
        // a leaves, the last (g) takes its place and stays there, being not later than its children; then f, and so on.
        let order: Vec<&str> = std::iter::from_fn(|| delaying.pop_ready(Time(5))).map(|(key, ())| key).collect();
        assert_eq!(order, ["a", "g", "f", "e", "d", "c", "b"]);
    }

    #[test]
    fn the_earliest_deadline_and_its_cause_win() {
        let mut delaying = Delaying::new();
        assert_eq!(delaying.insert("a", Time(10), 1), Delayed::Inserted);
        assert_eq!(delaying.insert("a", Time(10), 2), Delayed::Coalesced { ready_at: Time(10), first: 1 });
        assert_eq!(delaying.insert("a", Time(12), 3), Delayed::Coalesced { ready_at: Time(10), first: 1 });
        assert_eq!(delaying.insert("a", Time(7), 4), Delayed::Earlier { replaced: 1 });
        assert_eq!(delaying.next_deadline(), Some(Time(7)));
        assert_eq!(delaying.deadline_of(&"a"), Some(Time(7)));
        assert_eq!(delaying.pop_ready(Time(6)), None);
        assert_eq!(delaying.pop_ready(Time(7)), Some(("a", 4)));
        assert!(delaying.is_empty() && delaying.next_deadline().is_none());
    }
}
