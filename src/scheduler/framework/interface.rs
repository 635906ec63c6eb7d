//! The extension points.
//!
//! A [`Plugin`] is asked once an attempt at PreFilter and PreScore, and answers with an object that holds what it computed
//! for this pod: a [`Filter`] for the nodes, a [`Score`] for the feasible ones. (Upstream passes such state through
//! `CycleState`.) Filter and Score work on slices of nodes: one virtual call for thousands of nodes.
//!
//! Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go, v1.36. Bind is the component's.

use super::{ClusterEvent, PodInfo, Status};
use crate::model::{Name, Set, Span, Time, Uid};
use crate::scheduler::cache::{NodeIndex, Snapshot};

/// The highest score of a node after normalization.
pub const MAX_NODE_SCORE: i64 = 100;

/// What a plugin's verdict on a node and the node's raw score follow from, besides the plugin's settings. PreFilter and PreScore of a
/// plugin that depends on less than the cluster look at nothing but the pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DependsOn {
    /// From the node object; and of the pod from nothing but its node's name, node selector, node affinity and tolerations.
    NodeObject,
    /// From the node object and the pods on the node; and of the pod from nothing but its spec and requests.
    NodeAndPods,
    /// From anything. What such a plugin says is never remembered.
    Cluster,
}

/// The place of a pod in activeQ: the smallest key is tried first.
pub type SortKey = [i64; 2];

/// What Permit says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Permit {
    /// The pod may be bound.
    Allow,
    /// The pod may be bound, and so may these that wait for this plugin.
    AllowWith(Vec<Uid>),
    /// The pod keeps its room and waits, no longer than this, until an attempt for another pod allows it.
    Wait(Span),
    /// The pod gives its room back.
    Reject(Status),
}

/// A pod that has a node and waits for its permit.
#[derive(Clone, Copy, Debug)]
pub struct WaitingPod<'a> {
    /// The pod.
    pub pod: &'a PodInfo,
    /// Its node.
    pub node: &'a Name,
}

/// A plugin: stateless but for its settings, shared by all attempts.
pub trait Plugin {
    /// Its name.
    fn name(&self) -> &'static str;

    /// What its answers about a node follow from: what may be remembered of them (see [`crate::scheduler::memo`]).
    fn depends_on(&self) -> DependsOn {
        DependsOn::Cluster
    }

    /// PreEnqueue: whether the pod may be tried at all. It is asked again when an event that
    /// [`reconsiders_gated`](Plugin::reconsiders_gated) comes.
    ///
    /// # Errors
    /// Why it is held back.
    fn pre_enqueue(&self, _pod: &PodInfo) -> Result<(), Status> {
        Ok(())
    }

    /// Whether pods that this plugin holds back are looked at again after `event`: it is registered for such events.
    fn reconsiders_gated(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        self.is_worth_requeuing(pod, event)
    }

    /// QueueSort: the pod's place in activeQ. `timestamp`: when it was queued first, or when its last attempt failed.
    /// `None` for plugins that do not sort.
    fn queue_sort(&self, _pod: &PodInfo, _timestamp: Time) -> Option<SortKey> {
        None
    }

    /// PreFilter: looks at the pod (and the cluster as a whole) and prepares the Filter.
    fn pre_filter<'a>(&'a self, _pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        PreFilterResult::Skip
    }

    /// PreScore: prepares the Score of the feasible `nodes`; `None` skips the plugin for this pod (it then adds nothing).
    fn pre_score<'a>(
        &'a self,
        _pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        None
    }

    /// Reserve: the pod is assumed on `node`.
    ///
    /// # Errors
    /// Why it cannot be: everything that was reserved is given back, and the attempt failed.
    fn reserve(&self, _pod: &PodInfo, _node: &Name) -> Result<(), Status> {
        Ok(())
    }

    /// Unreserve: the pod will not be bound to `node`. Also called for plugins whose Reserve was not.
    fn unreserve(&self, _pod: &PodInfo, _node: &Name) {}

    /// Permit: whether the pod may be bound now. `waiting`: the other pods that wait for a permit, in the order they came.
    fn permit(&self, _pod: &PodInfo, _node: &Name, _waiting: &[WaitingPod<'_>]) -> Permit {
        Permit::Allow
    }

    /// PreBindPreFlight: whether PreBind has something to do for the pod. It is not asked otherwise; and when some plugin has,
    /// the node is written to the pod's status before.
    fn pre_bind_pre_flight(&self, _pod: &PodInfo, _node: &Name) -> bool {
        false
    }

    /// PreBind: what must be done before the binding, and how long that takes.
    ///
    /// # Errors
    /// Why it cannot be done.
    fn pre_bind(&self, _pod: &PodInfo, _node: &Name) -> Result<Span, Status> {
        Ok(Span::ZERO)
    }

    /// PostBind: the pod is bound.
    fn post_bind(&self, _pod: &PodInfo, _node: &Name) {}

    /// The queueing hint: whether `event` may make the pod, which this plugin rejected, schedulable.
    fn is_worth_requeuing(&self, _pod: &PodInfo, _event: &ClusterEvent) -> bool {
        false
    }
}

/// What PreFilter says.
pub enum PreFilterResult<'a> {
    /// The plugin has no Filter for this pod.
    Skip,
    /// Every node must pass this.
    Filter(Box<dyn Filter + 'a>),
    /// Every node must pass this, and only nodes with these names can.
    FilterAmong(Box<dyn Filter + 'a>, Set<Name>),
    /// No node can take the pod.
    Reject(Status),
}

/// Filter: whether the pod may run on a node.
///
/// What PreFilter counted over the whole cluster lies in the filter; what it reads of the node itself comes from the snapshot,
/// which may show the node with other pods ([`Snapshot::under`]). A filter of the first sort has a [`fork`](Filter::fork).
pub trait Filter {
    /// Whether the node passes.
    ///
    /// # Errors
    /// Why it does not.
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status>;

    /// A copy that can be told of pods that come and go in a dry run; `None` when the filter remembers nothing of other pods.
    ///
    /// Upstream: `PreFilterExtensions`.
    fn fork(&self) -> Option<Box<dyn ForkedFilter + '_>> {
        None
    }

    /// Keeps the nodes that pass, in order, and reports the others.
    fn filter_slice(
        &self,
        snapshot: &Snapshot<'_>,
        nodes: &mut Vec<NodeIndex>,
        reject: &mut dyn FnMut(NodeIndex, Status),
    ) {
        nodes.retain(|node| match self.filter(snapshot, *node) {
            Ok(()) => true,
            Err(status) => {
                reject(*node, status);
                false
            }
        });
    }
}

/// A filter in a dry run: as PreFilter would have made it with these pods there, or not.
pub trait ForkedFilter: Filter {
    /// `other` is on `node` now.
    fn add_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex);
    /// `other` is no longer on `node`.
    fn remove_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex);
}

/// Score: how well feasible nodes suit the pod.
pub trait Score {
    /// Writes the raw score of `nodes[i]` into `scores[i]`.
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]);

    /// NormalizeScore: brings raw scores of all feasible nodes into 0..=100. Does nothing unless overridden.
    fn normalize_score(&self, _scores: &mut [i64]) {}
}

/// Scales scores so that the highest becomes `max`; with `reverse` the lowest raw score becomes the best.
///
/// Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go, v1.36.
pub fn default_normalize_score(max: i64, reverse: bool, scores: &mut [i64]) {
    let highest = scores.iter().copied().max().unwrap_or(0).max(0);
    for score in scores {
        *score = match (highest, reverse) {
            (0, true) => max,
            (0, false) => *score,
            (highest, true) => max - max * *score / highest,
            (highest, false) => max * *score / highest,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_are_scaled_to_the_highest() {
        // 100*30/80 = 37.5 -> 37; reversed 100 - 37 = 63. Three taints of at most three: 100 - 100 = 0.
        for (reverse, raw, normalized) in [
            (false, vec![80, 30, 0], vec![100, 37, 0]),
            (true, vec![80, 30, 0], vec![0, 63, 100]),
            (false, vec![0, 0], vec![0, 0]),
            (true, vec![0, 0], vec![100, 100]),
            (true, vec![3], vec![0]),
        ] {
            let mut scores = raw;
            default_normalize_score(MAX_NODE_SCORE, reverse, &mut scores);
            assert_eq!(scores, normalized);
        }
    }
}
