//! The pool of pods that wait for an event, and of gated pods.
//!
//! Upstream: pkg/scheduler/backend/queue/unschedulable_pods.go, v1.36.

use super::QueuedPodInfo;
use crate::model::{Key, Map, Span, Time};

/// `podMaxInUnschedulablePodsDuration`: pods that waited longer are tried again whatever happened.
pub const MAX_IN_POOL: Span = Span::from_seconds(300);
/// How often the pool is looked through for them.
pub const FLUSH_PERIOD: Span = Span::from_seconds(30);

/// The pool.
#[derive(Clone, Debug, Default)]
pub struct UnschedulablePods {
    pods: Map<Key, QueuedPodInfo>,
    gated: usize,
}

impl UnschedulablePods {
    /// Adds a pod.
    pub fn add(&mut self, pod: QueuedPodInfo) {
        self.gated += usize::from(pod.gated);
        let before = self.pods.insert(pod.key(), pod);
        assert!(before.is_none(), "a pod is in the pool twice");
    }

    /// Takes a pod.
    pub fn remove(&mut self, key: &Key) -> Option<QueuedPodInfo> {
        // The order of the pool shows nowhere: what leaves it is sorted where it goes.
        let pod = self.pods.swap_remove(key)?;
        self.gated -= usize::from(pod.gated);
        Some(pod)
    }

    /// A pod.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut QueuedPodInfo> {
        self.pods.get_mut(key)
    }

    /// Takes all pods for which `moves` holds, in order of their keys.
    pub fn drain_where(&mut self, mut moves: impl FnMut(&QueuedPodInfo) -> bool) -> Vec<QueuedPodInfo> {
        let chosen = self.pods.iter().filter(|(_, pod)| moves(pod));
        let mut keys: Vec<Key> = chosen.map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys.iter().filter_map(|key| self.remove(key)).collect()
    }

    /// The first flush, of those at `origin + k * 30 s` after `now`, that finds a pod; `None` when no pod waits.
    pub fn next_flush(&self, origin: Time, now: Time) -> Option<Time> {
        let oldest = self.iter().filter(|pod| !pod.gated).map(|pod| pod.timestamp).min()?;
        Some(flush_of(oldest, origin, now))
    }

    /// A pod.
    pub fn get(&self, key: &Key) -> Option<&QueuedPodInfo> {
        self.pods.get(key)
    }

    /// How many pods wait for an event.
    pub fn waiting(&self) -> usize {
        self.pods.len() - self.gated
    }

    /// How many are gated.
    pub fn gated(&self) -> usize {
        self.gated
    }

    /// The pods, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &QueuedPodInfo> {
        self.pods.values()
    }
}

/// The first flush after `now` that finds a pod whose last attempt failed at `timestamp`.
pub fn flush_of(timestamp: Time, origin: Time, now: Time) -> Time {
    // Strictly older than five minutes.
    let ready = (timestamp + MAX_IN_POOL + Span(1)).max(now + Span(1));
    let periods = (ready - origin).0.max(1).unsigned_abs().div_ceil(FLUSH_PERIOD.0.unsigned_abs());
    origin + Span(periods as i64 * FLUSH_PERIOD.0)
}
