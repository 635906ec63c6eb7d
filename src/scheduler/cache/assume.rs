//! Pods placed by this scheduler before their binding is seen.
//!
//! Upstream: pkg/scheduler/backend/cache/cache.go, `AssumePod`, `ForgetPod`, v1.36. Assumed pods never expire.

use std::rc::Rc;

use super::Cache;
use super::cache::CachedPod;
use crate::model::{Name, Uid};
use crate::scheduler::framework::PodInfo;
use crate::scheduler::framework::pod_info::Amounts;

/// Whether an assumed pod takes room on its node at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counted {
    /// As upstream.
    AtOnce,
    /// Only once the informer shows it bound (a teaching variant: what goes wrong without assuming).
    WhenSeenBound,
}

/// Pods that were given a node and are not yet seen bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Assumed {
    /// How many of them take room on their nodes.
    pub pods: usize,
    /// What these request, by the indexes of [`crate::scheduler::framework::pod_info`].
    pub requested: Amounts,
    /// How many take none ([`Counted::WhenSeenBound`]).
    pub uncounted: usize,
}

impl Assumed {
    pub(super) fn enters(&mut self, pod: &CachedPod) {
        self.change(pod, 1);
    }

    pub(super) fn leaves(&mut self, pod: &CachedPod) {
        self.change(pod, -1);
    }

    fn change(&mut self, pod: &CachedPod, sign: i64) {
        if !pod.assumed {
            return;
        }
        let pods = if pod.counted { &mut self.pods } else { &mut self.uncounted };
        *pods = pods.checked_add_signed(sign as isize).expect("it had entered before");
        if pod.counted {
            for (sum, amount) in self.requested.iter_mut().zip(pod.info.requests.amounts) {
                *sum += sign * amount;
            }
        }
    }
}

/// How much a cache holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CacheSize {
    /// Nodes, with those of which only pods are known.
    pub nodes: usize,
    /// Pods on nodes, assumed ones too.
    pub pods: usize,
    /// Assumed pods.
    pub assumed: Assumed,
}

/// The pod is in the cache already, so it cannot be assumed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AssumeError;

impl Cache {
    /// Puts a pod on a node before it is bound.
    ///
    /// # Errors
    /// When the cache holds the pod: it was bound by someone else, or is assumed.
    pub fn assume(&mut self, pod: &Rc<PodInfo>, node: &Name, counted: Counted) -> Result<(), AssumeError> {
        if self.pods.contains_key(&pod.pod.meta.uid) {
            return Err(AssumeError);
        }
        self.place(pod.clone(), node, true, counted == Counted::AtOnce);
        Ok(())
    }

    /// Takes an assumed pod back; does nothing to a confirmed one. Returns it, if it was assumed.
    pub fn forget(&mut self, uid: &Uid) -> Option<Rc<PodInfo>> {
        if self.is_assumed(uid) { self.remove_pod(uid) } else { None }
    }

    /// How much it holds.
    ///
    /// Upstream: pkg/scheduler/backend/cache/cache.go, `updateMetrics`, v1.36.
    pub fn size(&self) -> CacheSize {
        CacheSize { nodes: self.by_name.len(), pods: self.pods.len(), assumed: self.assumed }
    }

    /// Whether the pod is assumed and not yet seen bound.
    pub fn is_assumed(&self, uid: &Uid) -> bool {
        self.pods.get(uid).is_some_and(|cached| cached.assumed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cache::testing::{bound, cluster, node, pod_with};
    use crate::scheduler::framework::pod_info::{CPU, PODS};

    fn taken(cache: &Cache, node: &str) -> Option<(i64, i64)> {
        cache.sums_of(&node.into()).map(|sums| (sums.requested[CPU], sums.requested[PODS]))
    }

    #[test]
    fn an_assumed_pod_counts_until_forgotten_or_confirmed() {
        let mut cache = cluster([node("a"), node("b")], [bound("x", "a", 300, 0)]);
        let info = Rc::new(PodInfo::new(Rc::new(pod_with("p", 500, 0))));
        let uid = info.pod.meta.uid.clone();
        assert_eq!(cache.assume(&info, &"a".into(), Counted::AtOnce), Ok(()));
        assert_eq!(cache.assume(&info, &"b".into(), Counted::AtOnce), Err(AssumeError));
        assert_eq!(taken(&cache, "a"), Some((800, 2)));
        // Of the 800 m 500 are assumed; x is one of the two pods.
        let size = cache.size();
        assert_eq!((size.nodes, size.pods, size.assumed.pods, size.assumed.requested[CPU]), (2, 2, 1, 500));
        assert!(cache.forget(&uid).is_some());
        assert_eq!(taken(&cache, "a"), Some((300, 1)));
        assert_eq!(cache.size().assumed, Assumed::default());
        // Confirmed on another node than assumed: the room moves with it.
        cache.assume(&info, &"a".into(), Counted::AtOnce).expect("not in the cache");
        cache.add_pod(&Rc::new(bound("p", "b", 500, 0)));
        assert_eq!((taken(&cache, "a"), taken(&cache, "b")), (Some((300, 1)), Some((500, 1))));
        assert!(!cache.is_assumed(&uid));
        assert_eq!(cache.size().assumed, Assumed::default());
        assert!(cache.forget(&uid).is_none(), "a confirmed pod is not forgotten");
    }

    #[test]
    fn without_assuming_a_pod_counts_when_seen_bound() {
        let mut cache = cluster([node("a")], []);
        let info = Rc::new(PodInfo::new(Rc::new(pod_with("p", 500, 0))));
        cache.assume(&info, &"a".into(), Counted::WhenSeenBound).expect("not in the cache");
        assert!(cache.is_assumed(&info.pod.meta.uid));
        assert_eq!(taken(&cache, "a"), Some((0, 0)));
        assert_eq!(cache.size().assumed, Assumed { uncounted: 1, ..Assumed::default() });
        cache.add_pod(&Rc::new(bound("p", "a", 500, 0)));
        assert_eq!(taken(&cache, "a"), Some((500, 1)));
        assert_eq!(cache.size().assumed, Assumed::default());
    }

    #[test]
    fn a_pod_that_changed_is_the_last_of_its_node() {
        let mut cache = cluster([node("n")], ["a", "b", "c"].map(|name| bound(name, "n", 100, 0)));
        let order = |cache: &mut Cache| -> String {
            let snapshot = cache.snapshot();
            snapshot.pods(snapshot.nodes()[0]).iter().map(|info| info.pod.meta.name.as_str()).collect()
        };
        assert_eq!(order(&mut cache), "abc");
        // One that goes leaves its place to the last: abc -> cb, and comes back behind.
        let mut seen = Vec::new();
        for name in ["a", "b", "c"] {
            let spec = cache.pods[&Uid::from(format!("default/{name}"))].info.pod.spec.clone();
            let mut changed = bound(name, "n", 100, 0);
            changed.spec = spec;
            cache.update_pod(&Rc::new(changed));
            seen.push(order(&mut cache));
        }
        assert_eq!(seen, ["cba", "cab", "bac"]);
        // The same with other requests.
        cache.update_pod(&Rc::new(bound("b", "n", 200, 0)));
        assert_eq!(order(&mut cache), "cab");
    }

    #[test]
    fn pods_outlive_their_node_in_the_cache() {
        let mut cache = cluster([node("a"), node("b")], [bound("x", "a", 300, 0), bound("early", "late", 100, 0)]);
        cache.remove_node(&"a".into());
        assert_eq!(cache.snapshot().nodes().len(), 1);
        assert_eq!(taken(&cache, "a"), Some((300, 1)));
        cache.set_node(&Rc::new(node("a")));
        cache.set_node(&Rc::new(node("late")));
        assert_eq!(cache.snapshot().nodes().len(), 3);
        assert_eq!((taken(&cache, "a"), taken(&cache, "late")), (Some((300, 1)), Some((100, 1))));
        cache.remove_node(&"a".into());
        cache.remove_pod(&"default/x".into());
        assert_eq!(taken(&cache, "a"), None);
        // The free row is taken by the next node, empty.
        cache.set_node(&Rc::new(node("c")));
        assert_eq!(taken(&cache, "c"), Some((0, 0)));
    }
}
