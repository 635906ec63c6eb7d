//! activeQ: pods to try, in the order of QueueSort.
//!
//! Upstream: pkg/scheduler/backend/queue/active_queue.go, v1.36.

use std::collections::BTreeMap;

use super::QueuedPodInfo;
use crate::model::{Key, Map, Meta, Rv, Time};
use crate::scheduler::framework::SortKey;

/// The order of the QueueSort plugin (see [`crate::scheduler::plugins::PrioritySort`]), then age.
///
/// DIVERGES: pods that QueueSort holds for equal are tried in the order of their creation; upstream's heap leaves it open.
/// They are many only when pods wait already while the scheduler starts: its first list names them all at one instant of
/// virtual time. Upstream's takes some microseconds for each, in order of their keys.
pub type ActiveKey = (SortKey, Age);

/// What tells the order in which pods were created: `creationTimestamp`, which has whole seconds; then the version of the
/// pod when it was seen first, which is that of its creation unless the scheduler came later; then the order of arrival.
pub type Age = (Time, Rv, u64);

/// The age of a pod that is seen for the first time.
pub fn age(meta: &Meta, sequence: u64) -> Age {
    (meta.creation, meta.resource_version, sequence)
}

/// The order key of a pod.
pub fn active_key(pod: &QueuedPodInfo) -> ActiveKey {
    (pod.order, pod.age)
}

/// Pods in order of a key.
#[derive(Clone, Debug)]
pub struct SortedPods<K> {
    pods: BTreeMap<K, QueuedPodInfo>,
    keys: Map<Key, K>,
}

impl<K> Default for SortedPods<K> {
    fn default() -> SortedPods<K> {
        SortedPods { pods: BTreeMap::new(), keys: Map::default() }
    }
}

impl<K: Ord + Copy> SortedPods<K> {
    /// How many pods.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// Adds a pod that is not there.
    pub fn insert(&mut self, order: K, pod: QueuedPodInfo) {
        let before = self.keys.insert(pod.key(), order);
        assert!(before.is_none(), "{} is queued twice", pod.key());
        self.pods.insert(order, pod);
    }

    /// The key of the first pod.
    pub fn first_key(&self) -> Option<K> {
        self.pods.first_key_value().map(|(order, _)| *order)
    }

    /// Takes the first pod.
    pub fn pop_first(&mut self) -> Option<QueuedPodInfo> {
        let (_, pod) = self.pods.pop_first()?;
        self.keys.swap_remove(&pod.key());
        Some(pod)
    }

    /// Takes a pod.
    pub fn remove(&mut self, key: &Key) -> Option<QueuedPodInfo> {
        let order = self.keys.swap_remove(key)?;
        self.pods.remove(&order)
    }

    /// A pod.
    pub fn get(&self, key: &Key) -> Option<&QueuedPodInfo> {
        self.pods.get(self.keys.get(key)?)
    }

    /// A pod, to change what its order does not depend on.
    pub fn get_mut(&mut self, key: &Key) -> Option<&mut QueuedPodInfo> {
        self.pods.get_mut(self.keys.get(key)?)
    }

    /// The pods in order.
    pub fn iter(&self) -> impl Iterator<Item = &QueuedPodInfo> {
        self.pods.values()
    }
}

/// activeQ.
pub type ActiveQueue = SortedPods<ActiveKey>;
