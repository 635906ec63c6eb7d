//! The queue of a controller: client-go's or controller-runtime's, behind the calls that a worker loop makes.

use crate::model::{Cause, Key, Span, Time};

use super::priority_queue::{AddOptions, PriorityQueue};
use super::queue_settings::{QueueKind, QueueSettings};
use super::workqueue::{Added, AddedLater, Got, Metrics, RateLimitingQueue};

/// A queue of keys. Priorities have no effect on client-go's.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one a controller, and the large one is the usual one")]
pub(super) enum ControllerQueue {
    /// client-go's.
    Plain(RateLimitingQueue<Key, Cause>),
    /// controller-runtime's.
    Priority(Box<PriorityQueue<Key, Cause>>),
}

impl ControllerQueue {
    pub(super) fn new(settings: &QueueSettings, created_at: Time) -> ControllerQueue {
        let limiter = settings.limiter.build();
        match settings.kind {
            QueueKind::WorkQueue => ControllerQueue::Plain(RateLimitingQueue::new(limiter).created_at(created_at)),
            QueueKind::Priority => {
                ControllerQueue::Priority(Box::new(PriorityQueue::new(limiter).created_at(created_at)))
            }
        }
    }

    pub(super) fn add(&mut self, key: Key, priority: i32, now: Time, cause: Cause) -> Added<Cause> {
        match self {
            ControllerQueue::Plain(queue) => queue.add(key, now, cause),
            ControllerQueue::Priority(queue) => {
                let options = AddOptions { priority, ..AddOptions::default() };
                match queue.add(key, options, now, cause).1 {
                    AddedLater::Now(added) => added,
                    AddedLater::Coalesced { first, .. } => Added::Coalesced { first },
                    AddedLater::Delayed { .. } | AddedLater::Refused => Added::Refused,
                }
            }
        }
    }

    pub(super) fn add_after(
        &mut self,
        key: Key,
        after: Span,
        priority: i32,
        now: Time,
        cause: Cause,
    ) -> AddedLater<Cause> {
        match self {
            ControllerQueue::Plain(queue) => queue.add_after(key, after, now, cause),
            ControllerQueue::Priority(queue) => {
                let options = AddOptions { after, priority, ..AddOptions::default() };
                queue.add(key, options, now, cause).1
            }
        }
    }

    pub(super) fn add_rate_limited(
        &mut self,
        key: Key,
        priority: i32,
        now: Time,
        cause: Cause,
    ) -> (Span, AddedLater<Cause>) {
        match self {
            ControllerQueue::Plain(queue) => queue.add_rate_limited(key, now, cause),
            ControllerQueue::Priority(queue) => {
                let options = AddOptions { rate_limited: true, priority, ..AddOptions::default() };
                queue.add(key, options, now, cause)
            }
        }
    }

    /// The priority that a requeue of a key in a worker's hands keeps.
    pub(super) fn taken_priority(&self, key: &Key) -> i32 {
        match self {
            ControllerQueue::Plain(_) => 0,
            ControllerQueue::Priority(queue) => queue.taken_priority(key),
        }
    }

    pub(super) fn forget(&mut self, key: &Key) {
        match self {
            ControllerQueue::Plain(queue) => queue.forget(key),
            ControllerQueue::Priority(queue) => queue.forget(key),
        }
    }

    pub(super) fn num_requeues(&self, key: &Key) -> u32 {
        match self {
            ControllerQueue::Plain(queue) => queue.num_requeues(key),
            ControllerQueue::Priority(queue) => queue.num_requeues(key),
        }
    }

    /// The next key; `Wait` when there is none, without standing in line.
    pub(super) fn take(&mut self, worker: u32, now: Time) -> Got<Key, Cause> {
        match self {
            _ if !self.has_next() => Got::Wait,
            ControllerQueue::Plain(queue) => queue.get(worker, now),
            ControllerQueue::Priority(queue) => queue.get(worker, now),
        }
    }

    pub(super) fn done(&mut self, key: &Key, now: Time) {
        match self {
            ControllerQueue::Plain(queue) => queue.done(key, now),
            ControllerQueue::Priority(queue) => queue.done(key, now),
        };
    }

    /// No key comes in any more; client-go's queue hands out what it holds, controller-runtime's does not.
    pub(super) fn shut_down(&mut self, now: Time) {
        match self {
            ControllerQueue::Plain(queue) => queue.shut_down(now),
            ControllerQueue::Priority(queue) => queue.shut_down(now),
        }
    }

    pub(super) fn has_next(&self) -> bool {
        match self {
            ControllerQueue::Plain(queue) => !queue.is_empty(),
            ControllerQueue::Priority(queue) => queue.has_next(),
        }
    }

    /// Whether a key's delayed add is gone because a direct one absorbed it: client-go's queue never does that.
    pub(super) fn deadline_is_gone(&self, key: &Key) -> bool {
        match self {
            ControllerQueue::Plain(_) => false,
            ControllerQueue::Priority(queue) => !queue.is_waiting(key),
        }
    }

    pub(super) fn next_deadline(&self) -> Option<Time> {
        match self {
            ControllerQueue::Plain(queue) => queue.next_deadline(),
            ControllerQueue::Priority(queue) => queue.next_deadline(),
        }
    }

    /// Adds the keys whose time has come, and tells which.
    pub(super) fn make_ready(&mut self, now: Time, keys: &mut Vec<Key>) {
        match self {
            ControllerQueue::Plain(queue) => {
                while let Some((key, _)) = queue.add_next_ready(now) {
                    keys.push(key);
                }
            }
            ControllerQueue::Priority(queue) => queue.make_ready(now, keys),
        }
    }

    pub(super) fn metrics(&self) -> &Metrics {
        match self {
            ControllerQueue::Plain(queue) => queue.metrics(),
            ControllerQueue::Priority(queue) => queue.metrics(),
        }
    }

    /// `workqueue_unfinished_work_seconds` and `workqueue_longest_running_processor_seconds` of the last sample.
    pub(super) fn sampled_gauges(&self, now: Time) -> (Span, Span) {
        match self {
            ControllerQueue::Plain(queue) => queue.queue().sampled_gauges(now),
            ControllerQueue::Priority(queue) => queue.sampled_gauges(now),
        }
    }
}
