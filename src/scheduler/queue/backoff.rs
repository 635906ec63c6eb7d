//! backoffQ: pods that failed and could be tried again, but not so soon. Two queues: rejected pods and error pods.
//!
//! Upstream: pkg/scheduler/backend/queue/backoff_queue.go, v1.36.

use super::QueuedPodInfo;
use super::active::{ActiveKey, SortedPods, active_key};
use crate::model::{Key, Span, Time};

/// How long pods stay back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackoffSettings {
    /// `podInitialBackoffSeconds`
    pub initial: Span,
    /// `podMaxBackoffSeconds`, not below the initial one.
    pub max: Span,
    /// The gate PopFromBackoffQ: ends of back-off are cut to whole seconds and compared with the current second.
    pub pop_from_backoff_q: bool,
}

impl Default for BackoffSettings {
    fn default() -> BackoffSettings {
        BackoffSettings { initial: Span::from_seconds(1), max: Span::from_seconds(10), pop_from_backoff_q: true }
    }
}

impl BackoffSettings {
    /// How long a pod stays back after its last attempt: doubled with each rejection, or with each consecutive error if the
    /// last attempt ended in one. By default 1 s, 2 s, 4 s, 8 s, 10 s.
    pub fn duration(&self, pod: &QueuedPodInfo) -> Span {
        let count = match pod.consecutive_errors_count {
            0 => pod.unschedulable_count,
            errors => errors,
        };
        if count == 0 {
            return Span::ZERO;
        }
        let mut duration = self.initial;
        for _ in 1..count {
            if duration.0 > self.max.0 - duration.0 {
                return self.max;
            }
            duration = Span(duration.0 * 2);
        }
        duration
    }
}

/// The two queues, ordered by the end of back-off and then like activeQ.
#[derive(Clone, Debug, Default)]
pub struct BackoffQueue {
    rejected: SortedPods<(Time, ActiveKey)>,
    errors: SortedPods<(Time, ActiveKey)>,
    settings: BackoffSettings,
}

impl BackoffQueue {
    /// Empty queues.
    pub fn new(settings: BackoffSettings) -> BackoffQueue {
        BackoffQueue { settings, ..BackoffQueue::default() }
    }

    /// How long pods stay back here.
    pub fn settings(&self) -> BackoffSettings {
        self.settings
    }

    /// When the pod's back-off ends.
    pub fn expiry(&self, pod: &QueuedPodInfo) -> Time {
        let end = pod.timestamp + self.settings.duration(pod);
        if self.settings.pop_from_backoff_q { end.truncated_to_seconds() } else { end }
    }

    /// Whether the pod is still backing off: it is until strictly after the end.
    pub fn is_backing_off(&self, pod: &QueuedPodInfo, now: Time) -> bool {
        if self.settings.duration(pod) == Span::ZERO {
            return false;
        }
        self.expiry(pod) >= if self.settings.pop_from_backoff_q { now.truncated_to_seconds() } else { now }
    }

    /// Adds a pod.
    pub fn add(&mut self, pod: QueuedPodInfo) {
        let order = (self.expiry(&pod), active_key(&pod));
        match pod.consecutive_errors_count {
            0 => self.rejected.insert(order, pod),
            _ => self.errors.insert(order, pod),
        }
    }

    /// Takes the first pod whose back-off was over at the last flush, which runs on whole seconds.
    pub fn pop_completed(&mut self, now: Time) -> Option<QueuedPodInfo> {
        let flush = now.truncated_to_seconds();
        for queue in [&mut self.rejected, &mut self.errors] {
            if queue.first_key().is_some_and(|(end, _)| end < flush) {
                return queue.pop_first();
            }
        }
        None
    }

    /// Takes the first rejected pod, whether or not its back-off is over.
    pub fn pop_rejected(&mut self) -> Option<QueuedPodInfo> {
        self.rejected.pop_first()
    }

    /// The next flush that finds something.
    pub fn next_flush(&self) -> Option<Time> {
        let ends = [self.rejected.first_key(), self.errors.first_key()];
        let (end, _) = ends.into_iter().flatten().min()?;
        Some(first_flush_after(end))
    }

    /// The flush that finds the pod.
    pub fn flush_of(&self, pod: &QueuedPodInfo) -> Time {
        first_flush_after(self.expiry(pod))
    }

    /// How many pods.
    pub fn len(&self) -> usize {
        self.rejected.len() + self.errors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a pod.
    pub fn remove(&mut self, key: &Key) -> Option<QueuedPodInfo> {
        self.rejected.remove(key).or_else(|| self.errors.remove(key))
    }

    /// A pod.
    pub fn get(&self, key: &Key) -> Option<&QueuedPodInfo> {
        self.rejected.get(key).or_else(|| self.errors.get(key))
    }

    /// A pod, to change what its order does not depend on.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut QueuedPodInfo> {
        self.rejected.get_mut(key).or_else(|| self.errors.get_mut(key))
    }

    /// The pods: rejected ones in order, then error ones.
    pub fn iter(&self) -> impl Iterator<Item = &QueuedPodInfo> {
        self.rejected.iter().chain(self.errors.iter())
    }
}

/// Flushes run on whole seconds and find what ended before theirs.
fn first_flush_after(end: Time) -> Time {
    end.truncated_to_seconds() + Span::from_seconds(1)
}
