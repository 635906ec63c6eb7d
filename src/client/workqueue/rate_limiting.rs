//! The queue that controllers hold: a work queue, delayed adds, and a rate limiter.
//!
//! Upstream: k8s.io/client-go util/workqueue/{delaying_queue,rate_limiting_queue}.go, v1.36.

use std::hash::Hash;

use super::delaying::{Delayed, Delaying};
use super::metrics::Metrics;
use super::queue::{Added, Done, Drain, Got, Queue, Woken};
use super::rate_limiters::RateLimiter;
use crate::model::{Span, Time};

/// A rate-limiting work queue of keys `K` whose entries carry causes `C`.
///
/// The caller drives it: after each call it takes the answers to waiters from [`RateLimitingQueue::next_woken`], and it
/// keeps one timer at [`RateLimitingQueue::next_deadline`], at which it calls [`RateLimitingQueue::add_next_ready`]
/// until that gives `None`.
#[derive(Clone, Debug)]
pub struct RateLimitingQueue<K, C> {
    queue: Queue<K, C>,
    delaying: Delaying<K, C>,
    limiter: RateLimiter<K>,
}

/// What became of an add with a delay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddedLater<C> {
    /// There was no delay: the key was added now.
    Now(Added<C>),
    /// The key will be added at `ready_at`.
    Delayed {
        /// When.
        ready_at: Time,
        /// The cause of a delayed add with a later deadline that this one replaces.
        replaced: Option<C>,
    },
    /// The key already waits for this or an earlier instant; nothing changed.
    Coalesced {
        /// That instant.
        ready_at: Time,
        /// The cause of the add that this one joined.
        first: C,
    },
    /// The queue is shutting down; the add is lost.
    Refused,
}

impl<K: Clone + Eq + Hash, C: Clone> RateLimitingQueue<K, C> {
    /// An empty queue with this limiter.
    pub fn new(limiter: RateLimiter<K>) -> RateLimitingQueue<K, C> {
        RateLimitingQueue { queue: Queue::new(), delaying: Delaying::new(), limiter }
    }

    /// The queue was made at this instant, see [`Queue::created_at`].
    pub fn created_at(mut self, created_at: Time) -> RateLimitingQueue<K, C> {
        self.queue = self.queue.created_at(created_at);
        self
    }

    /// Adds a key now. An add that the key still waits for stays: the key will come once more.
    pub fn add(&mut self, key: K, now: Time, cause: C) -> Added<C> {
        self.queue.add(key, now, cause)
    }

    /// Adds a key after a delay; now, if the delay is not positive. Counts as a retry unless refused.
    pub fn add_after(&mut self, key: K, delay: Span, now: Time, cause: C) -> AddedLater<C> {
        if self.queue.is_shutting_down() {
            return AddedLater::Refused;
        }
        self.queue.count_retry();
        if delay <= Span::ZERO {
            return AddedLater::Now(self.queue.add(key, now, cause));
        }
        let ready_at = now + delay;
        match self.delaying.insert(key, ready_at, cause) {
            Delayed::Inserted => AddedLater::Delayed { ready_at, replaced: None },
            Delayed::Earlier { replaced } => AddedLater::Delayed { ready_at, replaced: Some(replaced) },
            Delayed::Coalesced { ready_at, first } => AddedLater::Coalesced { ready_at, first },
        }
    }

    /// Adds a key after the delay that the limiter gives, which is returned too. The limiter counts the failure even
    /// if the add is refused.
    pub fn add_rate_limited(&mut self, key: K, now: Time, cause: C) -> (Span, AddedLater<C>) {
        let delay = self.limiter.when(&key, now);
        (delay, self.add_after(key, delay, now, cause))
    }

    /// Tells the limiter that the key's failures no longer count. A delayed add of the key stays.
    pub fn forget(&mut self, key: &K) {
        self.limiter.forget(key);
    }

    /// The failures of the key that the limiter has counted.
    pub fn num_requeues(&self, key: &K) -> u32 {
        self.limiter.num_requeues(key)
    }

    /// When the next delayed add is due.
    pub fn next_deadline(&self) -> Option<Time> {
        self.delaying.next_deadline()
    }

    /// Adds one key whose delay is over; `None` if there is none. The cause of the add is that of the delayed add.
    pub fn add_next_ready(&mut self, now: Time) -> Option<(K, Added<C>)> {
        let queue = &mut self.queue;
        self.delaying.pop_ready_with(now, |key, cause, near| (key.clone(), queue.add_near(key, near, now, cause)))
    }

    /// A worker asks for the next key.
    pub fn get(&mut self, worker: u32, now: Time) -> Got<K, C> {
        self.queue.get(worker, now)
    }

    /// A worker has finished with a key.
    pub fn done(&mut self, key: &K, now: Time) -> Done {
        self.queue.done(key, now)
    }

    /// Refuses further adds, drops the delayed ones and wakes all waiters. Queued keys are still handed out.
    pub fn shut_down(&mut self, now: Time) {
        self.delaying.clear();
        self.queue.shut_down(now);
    }

    /// As [`RateLimitingQueue::shut_down`], and the caller (known by `ticket`) waits until no worker holds a key.
    /// Upstream leaves the delayed adds waiting here, but refuses them when they are due.
    pub fn shut_down_with_drain(&mut self, ticket: u32, now: Time) -> Drain {
        self.delaying.clear();
        self.queue.shut_down_with_drain(ticket, now)
    }

    /// The next answer to a waiter that earlier calls have woken, in the order of waking.
    pub fn next_woken(&mut self) -> Option<Woken<K, C>> {
        self.queue.next_woken()
    }

    /// Keys that a Get could take now.
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// Whether a Get would find nothing.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Keys that wait for a delayed add.
    pub fn delayed_len(&self) -> usize {
        self.delaying.len()
    }

    /// The counters.
    pub fn metrics(&self) -> &Metrics {
        self.queue.metrics()
    }

    /// The work queue itself, to look at.
    pub fn queue(&self) -> &Queue<K, C> {
        &self.queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> RateLimitingQueue<&'static str, u32> {
        RateLimitingQueue::new(RateLimiter::default_controller_item())
    }

    #[test]
    fn a_direct_add_does_not_absorb_a_delayed_one() {
        let mut queue = queue();
        let ready_at = Time(10);
        assert_eq!(queue.add_after("a", Span(10), Time(0), 1), AddedLater::Delayed { ready_at, replaced: None });
        queue.add("a", Time(1), 2);
        assert!(matches!(queue.get(0, Time(1)), Got::Key(taken) if taken.cause == 2));
        queue.done(&"a", Time(2));
        assert_eq!(queue.next_deadline(), Some(ready_at));
        assert_eq!(queue.add_next_ready(Time(9)), None);
        assert_eq!(queue.add_next_ready(ready_at), Some(("a", Added::Queued)));
        assert!(matches!(queue.get(0, ready_at), Got::Key(taken) if taken.cause == 1));
    }

    #[test]
    fn no_delay_or_less_is_an_add() {
        let mut queue = queue();
        for (key, delay) in [("a", 0), ("b", -1), ("c", i64::MIN)] {
            assert_eq!(queue.add_after(key, Span(delay), Time(5), 0), AddedLater::Now(Added::Queued));
        }
        let again = AddedLater::Now(Added::Coalesced { first: 0 });
        assert_eq!(queue.add_after("a", Span(-7), Time(6), 1), again);
        let metrics = queue.metrics();
        assert_eq!((queue.len(), metrics.adds_total, metrics.retries_total, queue.delayed_len()), (3, 3, 4, 0));
    }

    #[test]
    fn a_drain_loses_delayed_keys_and_ends_by_done_or_shutdown() {
        for ends_by_done in [true, false] {
            let mut queue = queue();
            queue.add("a", Time(0), 0);
            queue.get(0, Time(0));
            queue.add("a", Time(1), 1);
            queue.add_after("b", Span(10), Time(1), 2);
            assert_eq!(queue.shut_down_with_drain(9, Time(2)), Drain::Wait);
            // Refused, and not counted.
            assert_eq!(queue.add("c", Time(3), 3), Added::Refused);
            assert_eq!(queue.add_after("c", Span(1), Time(3), 3), AddedLater::Refused);
            assert_eq!((queue.metrics().retries_total, queue.next_deadline()), (1, None));
            if ends_by_done {
                // It was added while held, before the shutdown: it comes again, and the drain looks at nothing else.
                assert!(queue.done(&"a", Time(20)).requeued);
            } else {
                queue.shut_down(Time(20));
                queue.done(&"a", Time(21));
            }
            assert_eq!(queue.next_woken(), Some(Woken::Drained { ticket: 9 }));
            assert!(matches!(queue.get(0, Time(22)), Got::Key(taken) if (taken.key, taken.cause) == ("a", 1)));
        }
    }

    #[test]
    fn forgetting_leaves_delayed_adds_and_unknown_keys_alone() {
        let mut queue = queue();
        // 5 ms, then 10 ms from 1 ms on: the earlier stays.
        queue.add_rate_limited("a", Time(0), 0);
        let (delay, later) = queue.add_rate_limited("a", Time(1_000_000), 1);
        assert_eq!(delay, Span::from_milliseconds(10));
        assert_eq!(later, AddedLater::Coalesced { ready_at: Time(5_000_000), first: 0 });
        queue.forget(&"a");
        queue.forget(&"x");
        assert_eq!((queue.num_requeues(&"a"), queue.num_requeues(&"x")), (0, 0));
        assert_eq!(queue.next_deadline(), Some(Time(5_000_000)));
    }

    #[test]
    fn every_add_after_counts_as_a_retry_until_shutdown() {
        let mut queue = queue();
        assert_eq!(queue.add_after("a", Span::ZERO, Time(0), 1), AddedLater::Now(Added::Queued));
        assert_eq!(
            queue.add_after("b", Span(9), Time(0), 2),
            AddedLater::Delayed { ready_at: Time(9), replaced: None }
        );
        assert_eq!(queue.add_after("b", Span(9), Time(1), 3), AddedLater::Coalesced { ready_at: Time(9), first: 2 });
        queue.shut_down(Time(2));
        // The limiter counts although the queue refuses.
        assert_eq!(queue.add_rate_limited("c", Time(3), 4), (Span::from_milliseconds(5), AddedLater::Refused));
        assert_eq!((queue.num_requeues(&"c"), queue.metrics().retries_total), (1, 3));
        assert_eq!((queue.next_deadline(), queue.delayed_len()), (None, 0));
    }
}
