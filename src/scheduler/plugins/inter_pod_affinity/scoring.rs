//! Preferred terms, of the pod and of those that are there, and the required affinity of the latter.
//!
//! Upstream: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go, v1.36.

use super::others_term_matches;
use super::places::{Places, amounts, meant_by};
use crate::model::Pod;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::Score;
use crate::scheduler::framework::config::AffinityArgs;
use crate::scheduler::framework::interface::MAX_NODE_SCORE;

/// Sums of weights by node label and its value.
pub struct Preferences(Places);

impl Preferences {
    /// Sums weights over the cluster; `None` when no pod means another, or what others mean is ignored and this one means none.
    pub fn of(pod: &Pod, args: AffinityArgs, snapshot: &Snapshot<'_>) -> Option<Preferences> {
        let has_own = !pod.spec.pod_affinity.preferred.is_empty() || !pod.spec.pod_anti_affinity.preferred.is_empty();
        if args.ignore_preferred_terms_of_existing_pods && !has_own {
            return None;
        }
        let mut preferences = Preferences(Places::default());
        preferences.add_own(pod, snapshot);
        preferences.add_others(pod, args.hard_pod_affinity_weight, snapshot);
        (!preferences.0.is_empty()).then_some(preferences)
    }

    /// The sum of weights at the node's places.
    pub fn weight(&self, node: NodeIndex) -> i64 {
        self.0.total(node)
    }

    /// What the pod thinks of others.
    fn add_own(&mut self, pod: &Pod, snapshot: &Snapshot<'_>) {
        let sides = [(&pod.spec.pod_affinity, 1), (&pod.spec.pod_anti_affinity, -1)];
        for (affinity, sign) in sides {
            for (weight, term) in &affinity.preferred {
                let Some(set) = meant_by(term, pod, snapshot.selectors()) else { continue };
                let weigh = |(node, pods)| (node, sign * i64::from(*weight) * pods);
                self.0.add_all(&term.topology_key, snapshot, amounts(&[set], snapshot).map(weigh));
            }
        }
    }

    /// What others think of the pod.
    fn add_others(&mut self, pod: &Pod, hard_weight: i64, snapshot: &Snapshot<'_>) {
        let namespace = snapshot.selectors().namespace_labels(&pod.meta.namespace);
        for group in snapshot.affinity_groups().iter() {
            let other = group.sample();
            let (near, apart) = (&other.spec.pod_affinity, &other.spec.pod_anti_affinity);
            let hard = near.required.iter().filter(|_| hard_weight > 0).map(|term| (hard_weight, term));
            let soft = near.preferred.iter().map(|(weight, term)| (i64::from(*weight), term));
            let against = apart.preferred.iter().map(|(weight, term)| (-i64::from(*weight), term));
            for (weight, term) in hard.chain(soft).chain(against) {
                if others_term_matches(term, other, pod, namespace) {
                    let weigh = |(node, pods)| (node, weight * pods);
                    self.0.add_all(&term.topology_key, snapshot, group.nodes().map(weigh));
                }
            }
        }
    }
}

impl Score for Preferences {
    fn score(&self, _snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            *score = self.0.total(*node);
        }
    }

    fn normalize_score(&self, scores: &mut [i64]) {
        let (lowest, highest) = (scores.iter().copied().min().unwrap_or(0), scores.iter().copied().max().unwrap_or(0));
        for score in scores {
            *score = match highest - lowest {
                0 => 0,
                range => (MAX_NODE_SCORE as f64 * ((*score - lowest) as f64 / range as f64)) as i64,
            };
        }
    }
}
