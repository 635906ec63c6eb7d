//! The queue itself: items by readiness, keys that workers hold, and who waits.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;

use crate::client::workqueue::metrics::GaugeSamples;
use crate::client::workqueue::slots::{Slots, Unused};
use crate::client::workqueue::{Added, AddedLater, Done, Drain, Got, Metrics, RateLimiter, Taken, Woken};
use crate::model::{Span, Time};

/// The priority of events of an initial list and of updates that changed nothing.
///
/// Upstream: pkg/handler, `LowPriority`.
pub const LOW_PRIORITY: i32 = -100;

/// How a key is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AddOptions {
    /// Not before this long from now; zero or less for at once.
    pub after: Span,
    /// Counts a failure at the limiter, whose delay counts if it is shorter than `after` or `after` is zero.
    pub rate_limited: bool,
    /// Higher ones are handed out first.
    pub priority: i32,
}

/// A queue of keys `K`; each item carries the cause `C` of the add that made it due, and a priority.
///
/// A blocked Get is a waiter in line. Calls that hand keys to waiters leave the answers in
/// [`PriorityQueue::next_woken`]; the caller empties it after each call. It keeps one timer at
/// [`PriorityQueue::next_deadline`], at which it calls [`PriorityQueue::make_ready`].
#[derive(Clone, Debug)]
pub struct PriorityQueue<K, C> {
    slots: Slots<K, Entry<C>>,
    /// Ready items whose key nobody holds, in the order of handing out.
    ready: BTreeMap<(Reverse<i32>, u64), u32>,
    /// Ready items whose key a worker holds: they count, but wait for that worker's Done.
    held_back: usize,
    /// Items that become ready later.
    waiting: BTreeMap<(Time, Reverse<i32>, u64), u32>,
    /// How many keys workers hold.
    locked: Vec<u32>,
    next_counter: u64,
    waiters: VecDeque<u32>,
    woken: VecDeque<Woken<K, C>>,
    shutting_down: bool,
    limiter: RateLimiter<K>,
    metrics: Metrics,
    samples: GaugeSamples,
}

/// What the queue knows of one key.
#[derive(Clone, Debug)]
struct Entry<C> {
    item: Option<Item<C>>,
    /// The place of the key in `locked`, and since when a worker holds it.
    lock: Option<(u32, Time)>,
    /// The priority with which the key was last handed out.
    taken_priority: i32,
}

#[derive(Clone, Debug)]
struct Item<C> {
    priority: i32,
    /// Orders items of one priority: renewed when the priority rises and when the item becomes ready.
    counter: u64,
    /// When it becomes ready; `None` when it is.
    ready_at: Option<Time>,
    /// When it became ready.
    ready_since: Time,
    cause: C,
}

impl<C> Unused for Entry<C> {
    fn is_unused(&self) -> bool {
        self.item.is_none() && self.lock.is_none()
    }
}

impl<C> Item<C> {
    fn ready_key(&self) -> (Reverse<i32>, u64) {
        (Reverse(self.priority), self.counter)
    }

    fn waiting_key(&self, ready_at: Time) -> (Time, Reverse<i32>, u64) {
        (ready_at, Reverse(self.priority), self.counter)
    }
}

impl<K: Clone + Eq + Hash, C: Clone> PriorityQueue<K, C> {
    /// An empty queue with this limiter; controller-runtime's own is [`RateLimiter::default_controller_item`].
    pub fn new(limiter: RateLimiter<K>) -> PriorityQueue<K, C> {
        PriorityQueue {
            slots: Slots::new(),
            ready: BTreeMap::new(),
            held_back: 0,
            waiting: BTreeMap::new(),
            locked: Vec::new(),
            next_counter: 0,
            waiters: VecDeque::new(),
            woken: VecDeque::new(),
            shutting_down: false,
            limiter,
            metrics: Metrics::default(),
            samples: GaugeSamples::starting(Time(0)),
        }
    }

    /// The queue was made at this instant: its gauges are sampled every 0.5 s from then on.
    pub fn created_at(mut self, created_at: Time) -> PriorityQueue<K, C> {
        self.samples = GaugeSamples::starting(created_at);
        self
    }

    /// Adds a key. Returns the delay, zero if there is none, and what became of it. After a shutdown nothing happens at
    /// all: the limiter does not count either.
    pub fn add(&mut self, key: K, options: AddOptions, now: Time, cause: C) -> (Span, AddedLater<C>) {
        if self.shutting_down {
            return (Span::ZERO, AddedLater::Refused);
        }
        let mut after = options.after;
        if options.rate_limited {
            let limited = self.limiter.when(&key, now);
            after = if after == Span::ZERO { limited } else { after.min(limited) };
        }
        let after = after.max(Span::ZERO);
        let ready_at = (after > Span::ZERO).then(|| now + after);
        self.metrics.retries_total += u64::from(ready_at.is_some());
        let unused = || Entry { item: None, lock: None, taken_priority: 0 };
        let slot = self.slots.find_or_insert_with(key, unused);
        let added = if self.slots.value(slot).item.is_some() {
            self.update(slot, ready_at, options.priority, now, cause)
        } else {
            self.insert(slot, ready_at, options.priority, now, cause)
        };
        self.serve(now);
        (after, added)
    }

    fn insert(&mut self, slot: u32, ready_at: Option<Time>, priority: i32, now: Time, cause: C) -> AddedLater<C> {
        let item = Item { priority, counter: self.take_counter(), ready_at, ready_since: now, cause };
        let entry = self.slots.value_mut(slot);
        let key = ready_at.map(|at| item.waiting_key(at));
        entry.item = Some(item);
        match key {
            Some(key) => {
                self.waiting.insert(key, slot);
                AddedLater::Delayed { ready_at: key.0, replaced: None }
            }
            None => AddedLater::Now(self.becomes_ready(slot, now)),
        }
    }

    /// A further add of a queued key: the earlier instant counts, and the higher priority.
    fn update(&mut self, slot: u32, ready_at: Option<Time>, priority: i32, now: Time, cause: C) -> AddedLater<C> {
        let next_counter = self.next_counter;
        let entry = self.slots.value_mut(slot);
        let is_locked = entry.lock.is_some();
        let item = entry.item.as_mut().expect("an update is for a queued key");
        let (old_ready_key, old_ready_at) = (item.ready_key(), item.ready_at);
        if priority > item.priority {
            item.priority = priority;
            item.counter = next_counter;
            self.next_counter += 1;
        }
        let Some(waits_until) = old_ready_at else {
            // It stays ready, whatever the delay.
            if !is_locked && item.ready_key() != old_ready_key {
                self.ready.remove(&old_ready_key);
                self.ready.insert(item.ready_key(), slot);
            }
            return AddedLater::Now(Added::Coalesced { first: item.cause.clone() });
        };
        self.waiting.remove(&(waits_until, old_ready_key.0, old_ready_key.1));
        let Some(ready_at) = ready_at else {
            item.cause = cause;
            return AddedLater::Now(self.becomes_ready(slot, now));
        };
        let earlier = ready_at < waits_until;
        item.ready_at = Some(ready_at.min(waits_until));
        self.waiting.insert(item.waiting_key(ready_at.min(waits_until)), slot);
        if earlier {
            let replaced = std::mem::replace(&mut item.cause, cause);
            return AddedLater::Delayed { ready_at, replaced: Some(replaced) };
        }
        AddedLater::Coalesced { ready_at: waits_until, first: item.cause.clone() }
    }

    /// An item enters the ready ones; it counts as added only now.
    fn becomes_ready(&mut self, slot: u32, now: Time) -> Added<C> {
        self.metrics.depth += 1;
        self.metrics.adds_total += 1;
        let entry = self.slots.value_mut(slot);
        let item = entry.item.as_mut().expect("only a queued key becomes ready");
        item.ready_at = None;
        item.ready_since = now;
        if entry.lock.is_some() {
            self.held_back += 1;
            return Added::Held;
        }
        self.ready.insert(item.ready_key(), slot);
        Added::Queued
    }

    /// Makes all items ready whose time has come, and adds their keys to `keys` in that order. After a shutdown nobody
    /// looks at them any more: they neither become ready nor count.
    pub fn make_ready(&mut self, now: Time, keys: &mut Vec<K>) {
        if self.shutting_down {
            return;
        }
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let slot = entry.remove();
            let counter = self.take_counter();
            self.slots.value_mut(slot).item.as_mut().expect("a waiting key is queued").counter = counter;
            self.becomes_ready(slot, now);
            keys.push(self.slots.key(slot).clone());
        }
        self.serve(now);
    }

    /// A worker asks for the next key. A worker that already waits must not ask again.
    pub fn get(&mut self, worker: u32, now: Time) -> Got<K, C> {
        if self.shutting_down {
            return Got::Shutdown;
        }
        // Items that are ready are handed out as long as somebody waits, so nobody is ahead of this worker.
        match self.take(now) {
            Some(taken) => Got::Key(taken),
            None => {
                self.waiters.push_back(worker);
                Got::Wait
            }
        }
    }

    /// A worker has finished with a key, which becomes free for the next.
    pub fn done(&mut self, key: &K, now: Time) -> Done {
        self.sample(now);
        let held = self.slots.find(key).and_then(|slot| Some((slot, self.slots.value_mut(slot).lock.take()?)));
        let Some((slot, (index, since))) = held else {
            return Done { work_duration: None, requeued: false };
        };
        let work_duration = now - since;
        self.metrics.work_duration.observe(work_duration);
        self.unlock(index);
        let entry = self.slots.value_mut(slot);
        let ready_key = entry.item.as_ref().filter(|item| item.ready_at.is_none()).map(Item::ready_key);
        if let Some(ready_key) = ready_key {
            self.held_back -= 1;
            self.ready.insert(ready_key, slot);
            self.serve(now);
        } else if entry.is_unused() {
            self.retire_one();
        }
        Done { work_duration: Some(work_duration), requeued: ready_key.is_some() }
    }

    /// Takes a place out of `locked`; the last takes it over.
    fn unlock(&mut self, index: u32) {
        self.locked.swap_remove(index as usize);
        if let Some(moved) = self.locked.get(index as usize) {
            let lock = self.slots.value_mut(*moved).lock.as_mut().expect("it is locked");
            lock.0 = index;
        }
    }

    /// Refuses further adds; every Get ends, waiting ones too. Queued keys are not handed out any more, and keys that wait
    /// do not become ready.
    pub fn shut_down(&mut self, now: Time) {
        self.sample(now);
        self.samples.stop();
        self.shutting_down = true;
        self.woken.extend(self.waiters.drain(..).map(|worker| Woken::Shutdown { worker }));
    }

    /// As [`PriorityQueue::shut_down`]: upstream does not wait for anybody.
    pub fn shut_down_with_drain(&mut self, now: Time) -> Drain {
        self.shut_down(now);
        Drain::Over
    }

    /// The next answer to a waiter that earlier calls have served, in the order of serving.
    pub fn next_woken(&mut self) -> Option<Woken<K, C>> {
        self.woken.pop_front()
    }

    /// The priority with which a key was last handed out; 0 if it is not known. A retry keeps it.
    pub fn taken_priority(&self, key: &K) -> i32 {
        self.slots.get(key).map_or(0, |entry| entry.taken_priority)
    }

    /// The priority of a queued key.
    pub fn priority_of(&self, key: &K) -> Option<i32> {
        self.slots.get(key)?.item.as_ref().map(|item| item.priority)
    }

    /// Whether the key becomes ready later.
    pub fn is_waiting(&self, key: &K) -> bool {
        let item = self.slots.get(key).and_then(|entry| entry.item.as_ref());
        item.is_some_and(|item| item.ready_at.is_some())
    }

    /// Tells the limiter that the key's failures no longer count.
    pub fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    /// The failures of the key that the limiter has counted.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }

    /// When the next item becomes ready; after a shutdown none does.
    pub fn next_deadline(&self) -> Option<Time> {
        self.waiting.first_key_value().map(|(key, _)| key.0).filter(|_| !self.shutting_down)
    }

    /// Ready keys, those held back until their Done too.
    pub fn len(&self) -> usize {
        self.ready.len() + self.held_back
    }

    /// Whether no key is ready.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a Get would find something.
    pub fn has_next(&self) -> bool {
        !self.shutting_down && !self.ready.is_empty()
    }

    /// Keys that become ready later.
    pub fn delayed_len(&self) -> usize {
        self.waiting.len()
    }

    /// The counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// As [`crate::client::workqueue::Queue::sampled_gauges`].
    pub fn sampled_gauges(&self, now: Time) -> (Span, Span) {
        self.samples.due(now).map_or_else(|| self.samples.last(), |at| self.gauges(at))
    }

    /// The sum and the longest of the times that keys have been held.
    fn gauges(&self, now: Time) -> (Span, Span) {
        let ages = self.locked.iter().map(|slot| now - self.slots.value(*slot).lock.expect("it is locked").1);
        ages.fold((Span::ZERO, Span::ZERO), |(sum, longest), age| (sum + age, longest.max(age)))
    }

    /// Takes the sample that is due before the set of held keys changes.
    fn sample(&mut self, now: Time) {
        if let Some(at) = self.samples.due(now) {
            let (unfinished, longest) = self.gauges(at);
            self.samples.take(at, unfinished, longest);
        }
    }

    /// Hands ready items to waiters, the longest waiting first.
    fn serve(&mut self, now: Time) {
        while !self.waiters.is_empty() && !self.shutting_down {
            let Some(taken) = self.take(now) else { return };
            let worker = self.waiters.pop_front().expect("somebody waits");
            self.woken.push_back(Woken::Key { worker, taken });
        }
    }

    fn take(&mut self, now: Time) -> Option<Taken<K, C>> {
        let (_, slot) = self.ready.pop_first()?;
        self.sample(now);
        let index = u32::try_from(self.locked.len()).expect("fewer than 2^32 workers");
        self.locked.push(slot);
        let entry = self.slots.value_mut(slot);
        let item = entry.item.take().expect("a ready key is queued");
        entry.lock = Some((index, now));
        entry.taken_priority = item.priority;
        self.metrics.depth -= 1;
        self.metrics.queue_duration.observe(now - item.ready_since);
        Some(Taken { key: self.slots.key(slot).clone(), cause: item.cause, queued_since: item.ready_since })
    }

    fn take_counter(&mut self) -> u64 {
        self.next_counter += 1;
        self.next_counter - 1
    }

    /// A key has come out of use.
    fn retire_one(&mut self) {
        if let Some(new_slots) = self.slots.retire_one() {
            let slots = self.ready.values_mut().chain(self.waiting.values_mut()).chain(&mut self.locked);
            for slot in slots {
                *slot = new_slots[*slot as usize];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> PriorityQueue<&'static str, u32> {
        PriorityQueue::new(RateLimiter::default_controller_item())
    }

    fn at(priority: i32) -> AddOptions {
        AddOptions { priority, ..AddOptions::default() }
    }

    fn after(span_ns: i64) -> AddOptions {
        AddOptions { after: Span(span_ns), ..AddOptions::default() }
    }

    fn take(queue: &mut PriorityQueue<&'static str, u32>, now: i64) -> (&'static str, u32) {
        match queue.get(0, Time(now)) {
            Got::Key(taken) => (taken.key, taken.cause),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn low_priorities_wait_for_all_others() {
        let mut queue = queue();
        queue.add("listed", at(LOW_PRIORITY), Time(0), 1);
        queue.add("changed", at(0), Time(1), 2);
        queue.add("raised", at(LOW_PRIORITY), Time(2), 3);
        queue.add("raised", at(0), Time(3), 4);
        assert_eq!(take(&mut queue, 4), ("changed", 2));
        // Raised to the end of the higher priority; the first add stays its cause.
        assert_eq!(take(&mut queue, 4), ("raised", 3));
        assert_eq!(take(&mut queue, 4), ("listed", 1));
        assert_eq!(queue.taken_priority(&"listed"), LOW_PRIORITY);
    }

    #[test]
    fn an_add_absorbs_a_delayed_one() {
        let mut queue = queue();
        let delayed = AddedLater::Delayed { ready_at: Time(10), replaced: None };
        assert_eq!(queue.add("a", after(10), Time(0), 1), (Span(10), delayed));
        assert_eq!(queue.add("a", at(0), Time(1), 2), (Span::ZERO, AddedLater::Now(Added::Queued)));
        assert_eq!(take(&mut queue, 2), ("a", 2));
        assert_eq!((queue.next_deadline(), queue.metrics().retries_total), (None, 1));
    }

    #[test]
    fn a_held_key_counts_but_waits_for_its_worker() {
        let mut queue = queue();
        queue.add("a", at(0), Time(0), 1);
        take(&mut queue, 0);
        assert_eq!(queue.add("a", at(0), Time(1), 2).1, AddedLater::Now(Added::Held));
        assert_eq!((queue.len(), queue.has_next(), queue.metrics().depth), (1, false, 1));
        assert_eq!(queue.get(1, Time(2)), Got::Wait);
        assert_eq!(queue.done(&"a", Time(5)), Done { work_duration: Some(Span(5)), requeued: true });
        let taken = Taken { key: "a", cause: 2, queued_since: Time(1) };
        assert_eq!(queue.next_woken(), Some(Woken::Key { worker: 1, taken }));
    }

    #[test]
    fn keys_that_become_ready_together_are_ordered_by_priority() {
        let mut queue = queue();
        queue.add("a", after(5), Time(0), 1);
        queue.add("b", AddOptions { priority: 7, ..after(5) }, Time(0), 2);
        let mut keys = Vec::new();
        queue.make_ready(Time(5), &mut keys);
        assert_eq!(keys, ["b", "a"]);
    }

    #[test]
    fn nothing_is_handed_out_after_a_shutdown() {
        let mut queue = queue();
        assert_eq!(queue.get(3, Time(0)), Got::Wait);
        queue.shut_down(Time(0));
        assert_eq!(queue.next_woken(), Some(Woken::Shutdown { worker: 3 }));
        let limited = AddOptions { rate_limited: true, ..at(0) };
        assert_eq!(queue.add("a", limited, Time(1), 1), (Span::ZERO, AddedLater::Refused));
        assert_eq!((queue.num_requeues(&"a"), queue.get(3, Time(1))), (0, Got::Shutdown));
    }

    #[test]
    fn what_waits_at_a_shutdown_never_becomes_ready() {
        let mut queue = queue();
        queue.add("now", at(0), Time(0), 1);
        queue.add("later", after(10), Time(0), 2);
        queue.shut_down(Time(5));
        let mut keys = Vec::new();
        queue.make_ready(Time(10), &mut keys);
        // Only `now` was ever counted: it stays queued for good.
        let metrics = queue.metrics();
        assert_eq!((keys.len(), queue.len(), metrics.depth, metrics.adds_total), (0, 1, 1, 1));
        assert_eq!((queue.next_deadline(), queue.has_next()), (None, false));
    }

    #[test]
    fn of_a_limiters_delay_and_a_wish_the_shorter_counts() {
        // Failures 0, 1, 2 of each key: 5, 10, 20 ms; a wish of 0 is none, one below 0 is for at once.
        const MS: i64 = 1_000_000;
        for (wish, delays) in [(0, [5, 10, 20]), (7, [5, 7, 7]), (100, [5, 10, 20]), (-1, [0, 0, 0])] {
            let mut queue = queue();
            let options = AddOptions { rate_limited: true, ..after(wish * MS) };
            let got = [0, 1, 2].map(|now| queue.add("a", options, Time(now), 0).0.0 / MS);
            assert_eq!((got, queue.num_requeues(&"a")), (delays, 3), "wish {wish}");
            // Every delay above zero is a retry, also one that is not kept because the key is already due earlier.
            assert_eq!(queue.metrics().retries_total, delays.iter().filter(|delay| **delay > 0).count() as u64);
        }
    }

    #[test]
    fn a_ready_key_stays_ready_whatever_the_delay() {
        let mut queue = queue();
        queue.add("a", at(0), Time(0), 1);
        let later = AddOptions { priority: 3, ..after(100) };
        assert_eq!(queue.add("a", later, Time(1), 2).1, AddedLater::Now(Added::Coalesced { first: 1 }));
        assert_eq!((queue.len(), queue.delayed_len(), queue.priority_of(&"a")), (1, 0, Some(3)));
        assert_eq!(take(&mut queue, 2), ("a", 1));
        // Held: a delayed add waits on its own and becomes ready while the key is held.
        queue.add("a", after(8), Time(2), 3);
        assert_eq!((queue.len(), queue.is_waiting(&"a")), (0, true));
        queue.make_ready(Time(10), &mut Vec::new());
        assert_eq!((queue.len(), queue.has_next()), (1, false));
        assert!(queue.done(&"a", Time(11)).requeued);
        assert_eq!(take(&mut queue, 11), ("a", 3));
    }

    #[test]
    fn forgetting_and_finishing_unknown_keys_change_nothing() {
        let mut queue = queue();
        queue.forget(&"x");
        assert_eq!((queue.num_requeues(&"x"), queue.taken_priority(&"x"), queue.priority_of(&"x")), (0, 0, None));
        assert_eq!(queue.done(&"x", Time(1)), Done { work_duration: None, requeued: false });
        queue.add("x", at(0), Time(1), 1);
        // Done for a queued key that nobody holds: here, unlike in client-go's queue, it is not queued twice.
        assert_eq!(queue.done(&"x", Time(2)), Done { work_duration: None, requeued: false });
        assert_eq!((queue.len(), queue.metrics().depth), (1, 1));
    }
}
