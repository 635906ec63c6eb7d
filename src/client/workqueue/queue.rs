//! The work queue proper: deduplication, the keys that workers hold, and who waits.
//!
//! A key that is added while queued is not queued twice; a key that is added while a worker holds it is queued again
//! only when that worker is done, so no key is ever in two hands.
//!
//! Upstream: k8s.io/client-go util/workqueue/queue.go, v1.36.

use std::collections::VecDeque;
use std::hash::Hash;

use super::metrics::{GaugeSamples, Metrics};
use super::slots::{Slots, Unused};
use crate::model::{Span, Time};

/// A first-in first-out queue of keys `K`; each entry carries the cause `C` of the first add since the key was last taken.
///
/// A blocked Get or drain is a waiter in line. Calls that wake waiters leave what these receive in [`Queue::next_woken`];
/// the caller empties it after each call.
#[derive(Clone, Debug)]
pub struct Queue<K, C> {
    slots: Slots<K, Entry<C>>,
    fifo: VecDeque<u32>,
    processing: Vec<u32>,
    waiters: VecDeque<Waiter>,
    woken: VecDeque<Woken<K, C>>,
    shutting_down: bool,
    drain: bool,
    metrics: Metrics,
    samples: GaugeSamples,
}

/// What the queue knows of one key: in use while it is dirty, held by a worker or in the FIFO list.
#[derive(Clone, Debug)]
struct Entry<C> {
    /// Since when the key is in the dirty set (needs work that has not been taken); `None`: it is not.
    dirty_since: Option<Time>,
    /// The place of the key in `processing`, or [`NOT_PROCESSING`].
    processing_index: u32,
    /// When the key was last taken; meaningful while it is being processed.
    taken_at: Time,
    /// How many times the key stands in `fifo`: more than once only if Done was called for a key that nobody held.
    queued_copies: u32,
    /// The cause of the first add since the key was last taken; kept after that until the next add.
    cause: Option<C>,
}

const NOT_PROCESSING: u32 = u32::MAX;
/// So many held keys are looked through before a key is hashed.
const FEW: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waiter {
    Get { worker: u32 },
    Drain { ticket: u32 },
}

/// What became of an add.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Added<C> {
    /// The key went to the end of the queue (and perhaps at once to a waiting worker).
    Queued,
    /// A worker holds the key: it will be queued when that worker is done.
    Held,
    /// The key already needed work; nothing changed.
    Coalesced {
        /// The cause of the add that this one joined.
        first: C,
    },
    /// The queue is shutting down; the add is lost.
    Refused,
}

/// A key in the hands of a worker.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Taken<K, C> {
    /// The key.
    pub key: K,
    /// The cause of the first add since the key was last taken.
    pub cause: C,
    /// When that add happened.
    pub queued_since: Time,
}

/// The answer to a Get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Got<K, C> {
    /// The head of the queue.
    Key(Taken<K, C>),
    /// The queue is empty: the worker stands in line, its answer comes by [`Queue::next_woken`].
    Wait,
    /// The queue is empty and shutting down: the worker ends.
    Shutdown,
}

/// The answer that a waiter receives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Woken<K, C> {
    /// A blocked Get returns with a key.
    Key {
        /// The worker that waited.
        worker: u32,
        /// What it got.
        taken: Taken<K, C>,
    },
    /// A blocked Get returns because of the shutdown.
    Shutdown {
        /// The worker that waited.
        worker: u32,
    },
    /// A blocked drain returns.
    Drained {
        /// The number that the caller of the drain gave.
        ticket: u32,
    },
}

/// The answer to a Done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Done {
    /// How long the worker held the key; `None` if nobody held it.
    pub work_duration: Option<Span>,
    /// Whether the key was added meanwhile and went to the end of the queue now.
    pub requeued: bool,
}

/// The answer to a shutdown with drain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Drain {
    /// No worker holds a key: the drain is over (keys may still be queued).
    Over,
    /// The drain waits in line; its end comes by [`Queue::next_woken`].
    Wait,
}

impl<C> Entry<C> {
    fn idle() -> Entry<C> {
        Entry { dirty_since: None, processing_index: NOT_PROCESSING, taken_at: Time(0), queued_copies: 0, cause: None }
    }

    fn is_processing(&self) -> bool {
        self.processing_index != NOT_PROCESSING
    }
}

impl<C> Unused for Entry<C> {
    fn is_unused(&self) -> bool {
        self.dirty_since.is_none() && !self.is_processing() && self.queued_copies == 0
    }
}

impl<K: Clone + Eq + Hash, C: Clone> Default for Queue<K, C> {
    fn default() -> Self {
        Queue::new()
    }
}

impl<K: Clone + Eq + Hash, C: Clone> Queue<K, C> {
    /// An empty queue.
    pub fn new() -> Queue<K, C> {
        Queue {
            slots: Slots::new(),
            fifo: VecDeque::new(),
            processing: Vec::new(),
            waiters: VecDeque::new(),
            woken: VecDeque::new(),
            shutting_down: false,
            drain: false,
            metrics: Metrics::default(),
            samples: GaugeSamples::starting(Time(0)),
        }
    }

    /// The queue was made at this instant: its gauges are sampled every 0.5 s from then on.
    pub fn created_at(mut self, created_at: Time) -> Queue<K, C> {
        self.samples = GaugeSamples::starting(created_at);
        self
    }

    /// Marks a key as needing work, because of `cause`.
    pub fn add(&mut self, key: K, now: Time, cause: C) -> Added<C> {
        if self.shutting_down {
            return Added::Refused;
        }
        let slot = self.slots.find_or_insert_with(key, Entry::idle);
        self.add_slot(slot, now, cause)
    }

    /// As [`Queue::add`], for a key that was in this slot when it was last added so; tells the slot.
    pub(super) fn add_near(&mut self, key: K, near: &mut u32, now: Time, cause: C) -> Added<C> {
        if self.shutting_down {
            return Added::Refused;
        }
        *near = self.slots.find_near_or_insert_with(key, *near, Entry::idle);
        self.add_slot(*near, now, cause)
    }

    fn add_slot(&mut self, slot: u32, now: Time, cause: C) -> Added<C> {
        let entry = self.slots.value_mut(slot);
        if entry.dirty_since.is_some() {
            return Added::Coalesced { first: entry.cause.clone().expect("a dirty key has a cause") };
        }
        entry.dirty_since = Some(now);
        entry.cause = Some(cause);
        let held = entry.is_processing();
        self.metrics.depth += 1;
        self.metrics.adds_total += 1;
        if held {
            return Added::Held;
        }
        self.push(slot);
        self.signal(now);
        Added::Queued
    }

    /// A worker asks for the next key. A worker that already waits must not ask again.
    pub fn get(&mut self, worker: u32, now: Time) -> Got<K, C> {
        match self.take(now) {
            Some(taken) => Got::Key(taken),
            None if self.shutting_down => Got::Shutdown,
            None => {
                self.waiters.push_back(Waiter::Get { worker });
                Got::Wait
            }
        }
    }

    /// A worker has finished with a key. Done for a queued key that nobody holds queues it a second time, as upstream.
    pub fn done(&mut self, key: &K, now: Time) -> Done {
        let slot = self.find_held(key).or_else(|| self.slots.find(key));
        let work_duration = slot.and_then(|slot| self.release(slot, now));
        let requeued = slot.filter(|slot| self.slots.value(*slot).dirty_since.is_some());
        if let Some(slot) = requeued {
            self.push(slot);
            self.signal(now);
        } else {
            if work_duration.is_some() && slot.is_some_and(|slot| self.slots.value(slot).is_unused()) {
                self.retire_one();
            }
            if self.processing.is_empty() {
                // Meant for a drain. It may hit a blocked Get, which then goes to the back of the line.
                self.signal(now);
            }
        }
        Done { work_duration, requeued: requeued.is_some() }
    }

    /// Refuses further adds and wakes all waiters. Queued keys are still handed out.
    pub fn shut_down(&mut self, now: Time) {
        self.drain = false;
        self.begin_shutdown(now);
        self.broadcast(now);
    }

    /// As [`Queue::shut_down`], and the caller (known by `ticket`) waits until no worker holds a key.
    pub fn shut_down_with_drain(&mut self, ticket: u32, now: Time) -> Drain {
        self.drain = true;
        self.begin_shutdown(now);
        self.broadcast(now);
        if self.processing.is_empty() {
            return Drain::Over;
        }
        self.waiters.push_back(Waiter::Drain { ticket });
        Drain::Wait
    }

    /// The next answer to a waiter that earlier calls have woken, in the order of waking.
    pub fn next_woken(&mut self) -> Option<Woken<K, C>> {
        self.woken.pop_front()
    }

    /// Keys that a Get could take now: keys that wait for their own Done are not counted.
    pub fn len(&self) -> usize {
        self.fifo.len()
    }

    /// Whether a Get would find nothing.
    pub fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    /// Whether adds are refused.
    pub fn is_shutting_down(&self) -> bool {
        self.shutting_down
    }

    /// Whether a worker holds this key.
    pub fn is_processing(&self, key: &K) -> bool {
        self.slots.get(key).is_some_and(Entry::is_processing)
    }

    /// The queued keys, the head first.
    pub fn queued_keys(&self) -> impl Iterator<Item = &K> {
        self.fifo.iter().map(|slot| self.slots.key(*slot))
    }

    /// The keys that workers hold, sorted.
    pub fn processing_keys(&self) -> Vec<K>
    where
        K: Ord,
    {
        let mut keys: Vec<K> = self.processing.iter().map(|slot| self.slots.key(*slot).clone()).collect();
        keys.sort();
        keys
    }

    /// The keys that need work nobody has taken, sorted.
    pub fn dirty_keys(&self) -> Vec<K>
    where
        K: Ord,
    {
        let dirty = self.slots.iter().filter(|(_, entry)| entry.dirty_since.is_some());
        let mut keys: Vec<K> = dirty.map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    }

    /// The counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Counts an AddAfter that was not refused.
    pub(super) fn count_retry(&mut self) {
        self.metrics.retries_total += 1;
    }

    /// `workqueue_unfinished_work_seconds` and `workqueue_longest_running_processor_seconds` as upstream shows them: of
    /// the last of the samples that it takes every 0.5 s from the queue's creation until its shutdown.
    pub fn sampled_gauges(&self, now: Time) -> (Span, Span) {
        match self.samples.due(now) {
            Some(at) => (self.unfinished_work(at), self.longest_running(at)),
            None => self.samples.last(),
        }
    }

    /// How long the held keys have been held, summed.
    pub fn unfinished_work(&self, now: Time) -> Span {
        self.processing.iter().fold(Span::ZERO, |sum, slot| sum + (now - self.slots.value(*slot).taken_at))
    }

    /// The longest of these.
    pub fn longest_running(&self, now: Time) -> Span {
        let ages = self.processing.iter().map(|slot| now - self.slots.value(*slot).taken_at);
        ages.max().unwrap_or(Span::ZERO)
    }

    /// Takes the sample that is due before the set of held keys changes.
    fn sample(&mut self, now: Time) {
        if let Some(at) = self.samples.due(now) {
            let (unfinished, longest) = (self.unfinished_work(at), self.longest_running(at));
            self.samples.take(at, unfinished, longest);
        }
    }

    fn begin_shutdown(&mut self, now: Time) {
        self.sample(now);
        self.samples.stop();
        self.shutting_down = true;
    }

    fn push(&mut self, slot: u32) {
        self.slots.value_mut(slot).queued_copies += 1;
        self.fifo.push_back(slot);
    }

    /// The slot of a key, if it is held by one of so few workers that looking at what they hold is less than hashing it.
    fn find_held(&self, key: &K) -> Option<u32> {
        if self.processing.len() > FEW {
            return None;
        }
        self.processing.iter().copied().find(|slot| self.slots.key(*slot) == key)
    }

    /// Takes the head of the queue into processing.
    fn take(&mut self, now: Time) -> Option<Taken<K, C>> {
        let slot = self.fifo.pop_front()?;
        self.sample(now);
        let entry = self.slots.value_mut(slot);
        self.metrics.depth -= 1;
        if let Some(since) = entry.dirty_since {
            self.metrics.queue_duration.observe(now - since);
        }
        // A second copy of a key (see `done`) has no add of its own: it counts from now.
        let queued_since = entry.dirty_since.take().unwrap_or(now);
        entry.queued_copies -= 1;
        entry.taken_at = now;
        if !entry.is_processing() {
            entry.processing_index = u32::try_from(self.processing.len()).expect("fewer than 2^32 workers");
            self.processing.push(slot);
        }
        let cause = entry.cause.clone().expect("a queued key has been added");
        Some(Taken { key: self.slots.key(slot).clone(), cause, queued_since })
    }

    /// A key has come out of use.
    fn retire_one(&mut self) {
        if let Some(new_slots) = self.slots.retire_one() {
            for slot in self.fifo.iter_mut().chain(&mut self.processing) {
                *slot = new_slots[*slot as usize];
            }
        }
    }

    /// Takes a key out of processing; `None` if it was not in.
    fn release(&mut self, slot: u32, now: Time) -> Option<Span> {
        self.sample(now);
        let entry = self.slots.value_mut(slot);
        if !entry.is_processing() {
            return None;
        }
        let index = entry.processing_index;
        entry.processing_index = NOT_PROCESSING;
        let work_duration = now - entry.taken_at;
        self.metrics.work_duration.observe(work_duration);
        self.processing.swap_remove(index as usize);
        if let Some(moved) = self.processing.get(index as usize) {
            self.slots.value_mut(*moved).processing_index = index;
        }
        Some(work_duration)
    }

    /// Wakes the waiter that has waited longest.
    fn signal(&mut self, now: Time) {
        let Some(waiter) = self.waiters.pop_front() else { return };
        match waiter {
            Waiter::Get { worker } => match self.take(now) {
                Some(taken) => self.woken.push_back(Woken::Key { worker, taken }),
                None if self.shutting_down => self.woken.push_back(Woken::Shutdown { worker }),
                // Nothing there: it waits again, behind the others.
                None => self.waiters.push_back(waiter),
            },
            Waiter::Drain { .. } if self.drain && !self.processing.is_empty() => self.waiters.push_back(waiter),
            Waiter::Drain { ticket } => self.woken.push_back(Woken::Drained { ticket }),
        }
    }

    /// Wakes all waiters, the longest waiting first.
    fn broadcast(&mut self, now: Time) {
        for _ in 0..self.waiters.len() {
            self.signal(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Time = Time(0);

    fn key_of(got: Got<&'static str, u32>) -> (&'static str, u32) {
        match got {
            Got::Key(taken) => (taken.key, taken.cause),
            other => panic!("no key: {other:?}"),
        }
    }

    #[test]
    fn the_first_cause_stays_until_the_key_is_taken() {
        let mut queue = Queue::new();
        assert_eq!(queue.add("a", NOW, 1), Added::Queued);
        assert_eq!(queue.add("a", NOW, 2), Added::Coalesced { first: 1 });
        assert_eq!(key_of(queue.get(0, NOW)), ("a", 1));
        // Added while held: the first of these causes is the one of the requeue at Done.
        assert_eq!(queue.add("a", NOW, 3), Added::Held);
        assert_eq!(queue.add("a", NOW, 4), Added::Coalesced { first: 3 });
        assert!(queue.done(&"a", NOW).requeued);
        assert_eq!(key_of(queue.get(0, NOW)), ("a", 3));
        assert!(!queue.done(&"a", NOW).requeued);
        assert!(queue.dirty_keys().is_empty() && queue.processing_keys().is_empty() && queue.is_empty());
    }

    #[test]
    fn a_readded_key_queues_at_done_behind_later_adds() {
        let mut queue = Queue::new();
        queue.add("a", NOW, 0);
        queue.get(0, NOW);
        queue.add("a", NOW, 0);
        queue.add("b", NOW, 0);
        queue.done(&"a", NOW);
        assert_eq!(queue.queued_keys().copied().collect::<Vec<_>>(), ["b", "a"]);
    }

    #[test]
    fn the_clock_of_a_readd_starts_at_the_readd() {
        let mut queue = Queue::new();
        queue.add("a", Time(1), 0);
        queue.get(0, Time(2));
        queue.add("a", Time(3), 0);
        assert_eq!(queue.done(&"a", Time(9)), Done { work_duration: Some(Span(7)), requeued: true });
        let Got::Key(taken) = queue.get(0, Time(10)) else { panic!("no key") };
        assert_eq!(taken.queued_since, Time(3));
        // Two waits: 2 - 1 = 1 and 10 - 3 = 7.
        assert_eq!((queue.metrics().queue_duration.count, queue.metrics().queue_duration.sum_ns), (2, 8));
    }

    #[test]
    fn gauges_sum_and_compare_the_time_keys_have_been_held() {
        let mut queue = Queue::new();
        queue.add("a", Time(0), 0);
        queue.add("b", Time(0), 0);
        queue.get(0, Time(10));
        queue.get(1, Time(15));
        // At 20: a for 10, b for 5.
        assert_eq!((queue.unfinished_work(Time(20)), queue.longest_running(Time(20))), (Span(15), Span(10)));
        queue.done(&"a", Time(20));
        queue.done(&"b", Time(20));
        assert_eq!((queue.unfinished_work(Time(20)), queue.longest_running(Time(20))), (Span::ZERO, Span::ZERO));
    }

    #[test]
    fn waiters_are_served_in_line_and_a_vain_wake_up_sends_to_the_back() {
        let mut queue = Queue::new();
        queue.add("x", NOW, 0);
        queue.get(0, NOW);
        assert_eq!(queue.get(1, NOW), Got::Wait);
        assert_eq!(queue.get(2, NOW), Got::Wait);
        // Done empties the processing set: worker 1 is woken for nothing and now stands behind worker 2.
        queue.done(&"x", NOW);
        assert_eq!(queue.next_woken(), None);
        queue.add("a", NOW, 7);
        let taken = Taken { key: "a", cause: 7, queued_since: NOW };
        assert_eq!(queue.next_woken(), Some(Woken::Key { worker: 2, taken }));
        queue.shut_down(NOW);
        assert_eq!(queue.next_woken(), Some(Woken::Shutdown { worker: 1 }));
        assert_eq!(queue.add("b", NOW, 0), Added::Refused);
    }

    #[test]
    fn a_drain_waits_for_held_keys_only() {
        let mut queue = Queue::new();
        queue.add("a", NOW, 0);
        queue.add("b", NOW, 0);
        queue.get(0, NOW);
        assert_eq!(queue.shut_down_with_drain(3, NOW), Drain::Wait);
        queue.done(&"a", NOW);
        assert_eq!(queue.next_woken(), Some(Woken::Drained { ticket: 3 }));
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.shut_down_with_drain(4, NOW), Drain::Over);
    }
}
