//! Properties: the queue and the delaying structure against twins made of plain lists, written from upstream's rules
//! with no thought of speed.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::delaying::Delaying;
use super::queue::{Added, Done, Drain, Got, Queue, Taken, Woken};
use crate::model::{Span, Time};

/// The work queue as upstream words it: a list, two sets, a line of waiting threads.
#[derive(Clone, Default)]
struct TwinQueue {
    queue: Vec<u8>,
    dirty: Vec<DirtyKey>,
    processing: Vec<(u8, Time)>,
    last_cause: Vec<(u8, u32)>,
    waiting: Vec<(bool, u32)>,
    woken: Vec<Woken<u8, u32>>,
    shutting_down: bool,
    drain: bool,
    depth: i64,
    adds: u64,
    waits_ns: i128,
    work_ns: i128,
}

/// A dirty key: since when, and why.
#[derive(Clone, Copy, PartialEq)]
struct DirtyKey {
    key: u8,
    since: Time,
    cause: u32,
}

impl TwinQueue {
    fn is_processing(&self, key: u8) -> bool {
        self.processing.iter().any(|(held, _)| *held == key)
    }

    fn add(&mut self, key: u8, now: Time, cause: u32) -> Added<u32> {
        if self.shutting_down {
            return Added::Refused;
        }
        if let Some(earlier) = self.dirty.iter().find(|added| added.key == key) {
            return Added::Coalesced { first: earlier.cause };
        }
        self.dirty.push(DirtyKey { key, since: now, cause });
        self.last_cause.retain(|(known, _)| *known != key);
        self.last_cause.push((key, cause));
        self.depth += 1;
        self.adds += 1;
        if self.is_processing(key) {
            return Added::Held;
        }
        self.queue.push(key);
        self.signal(now);
        Added::Queued
    }

    fn take(&mut self, now: Time) -> Taken<u8, u32> {
        let key = self.queue.remove(0);
        self.depth -= 1;
        let added = self.dirty.iter().find(|added| added.key == key).copied();
        self.waits_ns += added.map_or(0, |added| i128::from((now - added.since).0));
        self.dirty.retain(|added| added.key != key);
        self.processing.retain(|(held, _)| *held != key);
        self.processing.push((key, now));
        let cause = self.last_cause.iter().find(|(known, _)| *known == key).map(|(_, cause)| *cause);
        let cause = cause.expect("every queued key was added");
        Taken { key, cause, queued_since: added.map_or(now, |added| added.since) }
    }

    fn get(&mut self, worker: u32, now: Time) -> Got<u8, u32> {
        if !self.queue.is_empty() {
            return Got::Key(self.take(now));
        }
        if self.shutting_down {
            return Got::Shutdown;
        }
        self.waiting.push((false, worker));
        Got::Wait
    }

    fn done(&mut self, key: u8, now: Time) -> Done {
        let taken_at = self.processing.iter().find(|(held, _)| *held == key).map(|(_, at)| *at);
        self.work_ns += taken_at.map_or(0, |at| i128::from((now - at).0));
        self.processing.retain(|(held, _)| *held != key);
        let requeued = self.dirty.iter().any(|added| added.key == key);
        if requeued {
            self.queue.push(key);
        }
        if requeued || self.processing.is_empty() {
            self.signal(now);
        }
        Done { work_duration: taken_at.map(|at| now - at), requeued }
    }

    fn shut_down(&mut self, drain: Option<u32>, now: Time) -> Drain {
        self.drain = drain.is_some();
        self.shutting_down = true;
        for _ in 0..self.waiting.len() {
            self.signal(now);
        }
        match drain {
            Some(ticket) if !self.processing.is_empty() => {
                self.waiting.push((true, ticket));
                Drain::Wait
            }
            _ => Drain::Over,
        }
    }

    fn signal(&mut self, now: Time) {
        if self.waiting.is_empty() {
            return;
        }
        let (is_drain, number) = self.waiting.remove(0);
        if is_drain {
            if self.drain && !self.processing.is_empty() {
                self.waiting.push((true, number));
            } else {
                self.woken.push(Woken::Drained { ticket: number });
            }
        } else if !self.queue.is_empty() {
            let taken = self.take(now);
            self.woken.push(Woken::Key { worker: number, taken });
        } else if self.shutting_down {
            self.woken.push(Woken::Shutdown { worker: number });
        } else {
            self.waiting.push((false, number));
        }
    }
}

/// An operation on both queues.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Add(u8),
    Get,
    Done(u8),
    ShutDown,
    Drain,
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        400 => (0..6_u8).prop_map(Operation::Add),
        300 => Just(Operation::Get),
        300 => (0..6_u8).prop_map(Operation::Done),
        3 => Just(Operation::ShutDown),
        3 => Just(Operation::Drain),
    ];
    prop::collection::vec(operation, 1..120)
}

/// Does one operation on both and compares the answers. Workers and tickets are numbered by `step`.
fn step_both(queue: &mut Queue<u8, u32>, twin: &mut TwinQueue, operation: Operation, step: u32) {
    let now = Time(i64::from(step) * 10);
    match operation {
        Operation::Add(key) => assert_eq!(queue.add(key, now, step), twin.add(key, now, step)),
        Operation::Get => assert_eq!(queue.get(step, now), twin.get(step, now)),
        Operation::Done(key) => assert_eq!(queue.done(&key, now), twin.done(key, now)),
        Operation::ShutDown => {
            queue.shut_down(now);
            twin.shut_down(None, now);
        }
        Operation::Drain => assert_eq!(queue.shut_down_with_drain(step, now), twin.shut_down(Some(step), now)),
    }
}

fn assert_same(queue: &mut Queue<u8, u32>, twin: &mut TwinQueue, now: Time) {
    let woken: Vec<_> = std::iter::from_fn(|| queue.next_woken()).collect();
    assert_eq!(woken, std::mem::take(&mut twin.woken));
    assert_eq!(queue.queued_keys().copied().collect::<Vec<u8>>(), twin.queue);
    let mut dirty: Vec<u8> = twin.dirty.iter().map(|added| added.key).collect();
    dirty.sort();
    assert_eq!(queue.dirty_keys(), dirty);
    let mut processing: Vec<u8> = twin.processing.iter().map(|(key, _)| *key).collect();
    processing.sort();
    assert_eq!(queue.processing_keys(), processing);
    let metrics = queue.metrics();
    assert_eq!((metrics.depth, metrics.adds_total), (twin.depth, twin.adds));
    assert_eq!((metrics.queue_duration.sum_ns, metrics.work_duration.sum_ns), (twin.waits_ns, twin.work_ns));
    let ages: Vec<i64> = twin.processing.iter().map(|(_, at)| (now - *at).0).collect();
    assert_eq!(queue.unfinished_work(now), Span(ages.iter().sum()));
    assert_eq!(queue.longest_running(now), Span(ages.iter().copied().max().unwrap_or(0)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Any sequence of calls, misuse included, has the same effects on both, and a clone made half-way goes on alike.
    #[test]
    fn the_queue_agrees_with_its_naive_twin(operations in operations()) {
        let mut queue = Queue::new();
        let mut twin = TwinQueue::default();
        for (step, operation) in operations.iter().enumerate() {
            if step == operations.len() / 2 {
                queue = queue.clone();
            }
            let step = step as u32;
            step_both(&mut queue, &mut twin, *operation, step);
            assert_same(&mut queue, &mut twin, Time(i64::from(step) * 10));
        }
    }

    /// Keys become due at their earliest deadline, with its cause, in order of deadlines; ties in any order.
    #[test]
    fn delayed_keys_agree_with_a_plain_list(
        inserts in prop::collection::vec((0..12_u8, 0..30_i64, 0..4_u8), 1..80)
    ) {
        let mut delaying = Delaying::new();
        let mut list: Vec<(Time, u8, u32)> = Vec::new();
        for (number, (key, ready_at, advance)) in inserts.into_iter().enumerate() {
            let cause = number as u32;
            let deadline = Time(ready_at + i64::from(cause));
            delaying.insert(key, deadline, cause);
            match list.iter_mut().find(|(_, waiting, _)| *waiting == key) {
                Some(waiting) if deadline < waiting.0 => *waiting = (deadline, key, cause),
                Some(_) => {}
                None => list.push((deadline, key, cause)),
            }
            if advance == 0 {
                take_due(&mut delaying, &mut list, Time(10 + i64::from(cause)));
            }
        }
        take_due(&mut delaying, &mut list, Time::FAR_FUTURE);
        prop_assert!(delaying.is_empty() && list.is_empty());
    }
}

fn take_due(delaying: &mut Delaying<u8, u32>, list: &mut Vec<(Time, u8, u32)>, now: Time) {
    assert_eq!(delaying.next_deadline(), list.iter().map(|entry| entry.0).min());
    let mut due: Vec<(Time, u8, u32)> = Vec::new();
    while let Some(deadline) = delaying.next_deadline().filter(|deadline| *deadline <= now) {
        let (key, cause) = delaying.pop_ready(now).expect("a deadline has come");
        due.push((deadline, key, cause));
    }
    assert_eq!(delaying.pop_ready(now), None);
    assert!(due.windows(2).all(|pair| pair[0].0 <= pair[1].0));
    let mut expected: Vec<(Time, u8, u32)> = list.iter().copied().filter(|entry| entry.0 <= now).collect();
    list.retain(|entry| entry.0 > now);
    due.sort();
    expected.sort();
    assert_eq!(due, expected);
}
