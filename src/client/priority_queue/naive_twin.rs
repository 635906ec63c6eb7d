//! Property: the queue against a twin made of one plain list, written from upstream's rules with no thought of speed.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::{AddOptions, PriorityQueue};
use crate::client::workqueue::{Added, AddedLater, Done, Got, RateLimiter, Taken, Woken};
use crate::model::{Span, Time};

const FIRST_DELAY: Span = Span::from_milliseconds(5);
const LONGEST_DELAY: Span = Span::from_milliseconds(70);

/// An item as upstream keeps it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct TwinItem {
    key: u8,
    priority: i32,
    counter: u64,
    ready_at: Option<Time>,
    ready_since: Time,
    cause: u32,
}

#[derive(Clone, Default)]
struct TwinQueue {
    /// All items, in no order: whoever needs one sorts.
    items: Vec<TwinItem>,
    locked: Vec<(u8, Time)>,
    waiters: Vec<u32>,
    woken: Vec<Woken<u8, u32>>,
    failures: Vec<u8>,
    counter: u64,
    shutting_down: bool,
    depth: i64,
    adds: u64,
    retries: u64,
    waits_ns: i128,
    work_ns: i128,
}

impl TwinQueue {
    fn next_counter(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    fn is_locked(&self, key: u8) -> bool {
        self.locked.iter().any(|(held, _)| *held == key)
    }

    fn failures_of(&self, key: u8) -> u32 {
        self.failures.iter().filter(|failed| **failed == key).count() as u32
    }

    fn add(&mut self, key: u8, options: AddOptions, now: Time, cause: u32) -> (Span, AddedLater<u32>) {
        if self.shutting_down {
            return (Span::ZERO, AddedLater::Refused);
        }
        let mut after = options.after;
        if options.rate_limited {
            let limited = Span(FIRST_DELAY.0 << self.failures_of(key).min(20)).min(LONGEST_DELAY);
            self.failures.push(key);
            if after == Span::ZERO || limited < after {
                after = limited;
            }
        }
        let ready_at = (after > Span::ZERO).then(|| now + after);
        self.retries += u64::from(ready_at.is_some());
        let added = match self.items.iter().position(|item| item.key == key) {
            None => self.insert(key, ready_at, options.priority, now, cause),
            Some(index) => self.update(index, ready_at, options.priority, now, cause),
        };
        self.serve(now);
        (after.max(Span::ZERO), added)
    }

    fn insert(&mut self, key: u8, ready_at: Option<Time>, priority: i32, now: Time, cause: u32) -> AddedLater<u32> {
        let counter = self.next_counter();
        self.items.push(TwinItem { key, priority, counter, ready_at, ready_since: now, cause });
        match ready_at {
            Some(ready_at) => AddedLater::Delayed { ready_at, replaced: None },
            None => AddedLater::Now(self.count_ready(key)),
        }
    }

    fn update(
        &mut self,
        index: usize,
        ready_at: Option<Time>,
        priority: i32,
        now: Time,
        cause: u32,
    ) -> AddedLater<u32> {
        let old = self.items[index];
        if priority > old.priority {
            self.items[index].priority = priority;
            self.items[index].counter = self.next_counter();
        }
        match (old.ready_at, ready_at) {
            (None, _) => AddedLater::Now(Added::Coalesced { first: old.cause }),
            (Some(_), None) => {
                let item = &mut self.items[index];
                (item.ready_at, item.ready_since, item.cause) = (None, now, cause);
                AddedLater::Now(self.count_ready(old.key))
            }
            (Some(waits_until), Some(ready_at)) if ready_at < waits_until => {
                let item = &mut self.items[index];
                (item.ready_at, item.cause) = (Some(ready_at), cause);
                AddedLater::Delayed { ready_at, replaced: Some(old.cause) }
            }
            (Some(ready_at), Some(_)) => AddedLater::Coalesced { ready_at, first: old.cause },
        }
    }

    fn count_ready(&mut self, key: u8) -> Added<u32> {
        self.depth += 1;
        self.adds += 1;
        if self.is_locked(key) { Added::Held } else { Added::Queued }
    }

    /// What becomes ready by `now`, in that order.
    fn make_ready(&mut self, now: Time) -> Vec<u8> {
        if self.shutting_down {
            return Vec::new();
        }
        self.items.sort_by_key(|item| (item.ready_at, -item.priority, item.counter));
        let mut keys = Vec::new();
        for index in 0..self.items.len() {
            if self.items[index].ready_at.is_some_and(|ready_at| ready_at <= now) {
                self.items[index].counter = self.next_counter();
                self.items[index].ready_at = None;
                self.items[index].ready_since = now;
                self.count_ready(self.items[index].key);
                keys.push(self.items[index].key);
            }
        }
        self.serve(now);
        keys
    }

    /// The first ready item that nobody holds.
    fn take(&mut self, now: Time) -> Option<Taken<u8, u32>> {
        self.items.sort_by_key(|item| (item.ready_at.is_some(), -item.priority, item.counter));
        let index = self.items.iter().position(|item| item.ready_at.is_none() && !self.is_locked(item.key))?;
        let item = self.items.remove(index);
        self.locked.push((item.key, now));
        self.depth -= 1;
        self.waits_ns += i128::from((now - item.ready_since).0);
        Some(Taken { key: item.key, cause: item.cause, queued_since: item.ready_since })
    }

    fn serve(&mut self, now: Time) {
        while !self.waiters.is_empty() && !self.shutting_down {
            let Some(taken) = self.take(now) else { return };
            let worker = self.waiters.remove(0);
            self.woken.push(Woken::Key { worker, taken });
        }
    }

    fn get(&mut self, worker: u32, now: Time) -> Got<u8, u32> {
        if self.shutting_down {
            return Got::Shutdown;
        }
        self.take(now).map_or_else(
            || {
                self.waiters.push(worker);
                Got::Wait
            },
            Got::Key,
        )
    }

    fn done(&mut self, key: u8, now: Time) -> Done {
        let Some(index) = self.locked.iter().position(|(held, _)| *held == key) else {
            return Done { work_duration: None, requeued: false };
        };
        let (_, since) = self.locked.remove(index);
        self.work_ns += i128::from((now - since).0);
        let requeued = self.items.iter().any(|item| item.key == key && item.ready_at.is_none());
        self.serve(now);
        Done { work_duration: Some(now - since), requeued }
    }

    fn shut_down(&mut self) {
        self.shutting_down = true;
        self.woken.extend(self.waiters.drain(..).map(|worker| Woken::Shutdown { worker }));
    }
}

/// An operation on both queues; each comes some milliseconds after the one before.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Add(u8, AddOptions),
    Get,
    Done(u8),
    Forget(u8),
    ShutDown,
}

fn operations() -> impl Strategy<Value = Vec<(i64, Operation)>> {
    let priority = prop_oneof![Just(-100), Just(0), Just(0), Just(5), Just(10)];
    let after = prop_oneof![3 => Just(0_i64), 2 => 1..40_i64, 1 => Just(-1_i64)];
    let options = (after, any::<bool>(), priority).prop_map(|(after_ms, limited, priority)| AddOptions {
        after: Span::from_milliseconds(after_ms),
        rate_limited: limited,
        priority,
    });
    let operation = prop_oneof![
        500 => (0..6_u8, options).prop_map(|(key, options)| Operation::Add(key, options)),
        250 => Just(Operation::Get),
        250 => (0..6_u8).prop_map(Operation::Done),
        40 => (0..6_u8).prop_map(Operation::Forget),
        3 => Just(Operation::ShutDown),
    ];
    prop::collection::vec((0..12_i64, operation), 1..120)
}

/// Lets items become ready one deadline after the other, on both.
fn advance_both(queue: &mut PriorityQueue<u8, u32>, twin: &mut TwinQueue, now: Time) {
    while let Some(deadline) = queue.next_deadline().filter(|deadline| *deadline <= now) {
        let earliest = twin.items.iter().filter_map(|item| item.ready_at).min();
        assert_eq!(Some(deadline), earliest);
        let mut keys = Vec::new();
        queue.make_ready(deadline, &mut keys);
        assert_eq!(keys, twin.make_ready(deadline));
        assert_same(queue, twin);
    }
    assert_eq!(twin.clone().make_ready(now), [0_u8; 0], "the twin has nothing left to make ready");
}

/// Does one operation on both and compares the answers. Workers are numbered by `step`.
fn step_both(queue: &mut PriorityQueue<u8, u32>, twin: &mut TwinQueue, operation: Operation, step: u32, now: Time) {
    match operation {
        Operation::Add(key, options) => {
            assert_eq!(queue.add(key, options, now, step), twin.add(key, options, now, step));
        }
        Operation::Get => assert_eq!(queue.get(step, now), twin.get(step, now)),
        Operation::Done(key) => assert_eq!(queue.done(&key, now), twin.done(key, now)),
        Operation::Forget(key) => {
            queue.forget(&key);
            twin.failures.retain(|failed| *failed != key);
        }
        Operation::ShutDown => {
            queue.shut_down(now);
            twin.shut_down();
        }
    }
}

fn assert_same(queue: &mut PriorityQueue<u8, u32>, twin: &mut TwinQueue) {
    let woken: Vec<_> = std::iter::from_fn(|| queue.next_woken()).collect();
    assert_eq!(woken, std::mem::take(&mut twin.woken));
    let is_ready = |item: &&TwinItem| item.ready_at.is_none();
    assert_eq!(queue.len(), twin.items.iter().filter(is_ready).count());
    assert_eq!(queue.delayed_len(), twin.items.iter().filter(|item| !is_ready(item)).count());
    let handed_out = |item: &TwinItem| item.ready_at.is_none() && !twin.is_locked(item.key);
    assert_eq!(queue.has_next(), !twin.shutting_down && twin.items.iter().any(handed_out));
    for key in 0..6 {
        let item = twin.items.iter().find(|item| item.key == key);
        assert_eq!(queue.priority_of(&key), item.map(|item| item.priority));
        assert_eq!(queue.is_waiting(&key), item.is_some_and(|item| item.ready_at.is_some()));
        assert_eq!(queue.num_requeues(&key), twin.failures_of(key));
    }
    let metrics = queue.metrics();
    assert_eq!((metrics.depth, metrics.adds_total, metrics.retries_total), (twin.depth, twin.adds, twin.retries));
    assert_eq!((metrics.queue_duration.sum_ns, metrics.work_duration.sum_ns), (twin.waits_ns, twin.work_ns));
}

proptest! {
    // PROPTEST_CASES makes it longer.
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Any sequence of calls, misuse included, has the same effects on both, and a clone made half-way goes on alike.
    #[test]
    fn the_queue_agrees_with_its_naive_twin(operations in operations()) {
        let mut queue = PriorityQueue::new(RateLimiter::item_exponential(FIRST_DELAY, LONGEST_DELAY));
        let mut twin = TwinQueue::default();
        let mut now = Time(0);
        for (step, (wait_ms, operation)) in operations.iter().enumerate() {
            if step == operations.len() / 2 {
                queue = queue.clone();
            }
            now += Span::from_milliseconds(*wait_ms);
            advance_both(&mut queue, &mut twin, now);
            step_both(&mut queue, &mut twin, *operation, step as u32, now);
            assert_same(&mut queue, &mut twin);
        }
        advance_both(&mut queue, &mut twin, now + Span::from_seconds(1));
    }
}
