//! Preferred terms, of the pod and of those that are there, and the required affinity of the latter.
//!
//! Upstream: pkg/scheduler/framework/plugins/interpodaffinity/scoring.go, v1.36.

use super::{others_term_matches, own_term_matches, value};
use crate::model::{Map, Name, Node, Pod, PodAffinityTerm};
use crate::scheduler::cache::{NodeIndex, Selectors, Snapshot};
use crate::scheduler::framework::Score;
use crate::scheduler::framework::interface::MAX_NODE_SCORE;

/// What a required affinity term of a pod that is there weighs (`hardPodAffinityWeight`).
const HARD_POD_AFFINITY_WEIGHT: i64 = 1;

/// Sums of weights by node label and its value.
pub struct Preferences(Vec<(Name, Map<Name, i64>)>);

impl Preferences {
    /// Sums weights over the cluster; `None` when no pod means another.
    pub fn of(pod: &Pod, snapshot: &Snapshot<'_>) -> Option<Preferences> {
        let has_own = !pod.spec.pod_affinity.preferred.is_empty() || !pod.spec.pod_anti_affinity.preferred.is_empty();
        let mut preferences = Preferences(Vec::new());
        for index in snapshot.nodes() {
            let node = snapshot.node(*index);
            for info in snapshot.pods(*index) {
                if has_own {
                    preferences.add_own(pod, &info.pod, node, snapshot.selectors());
                }
                preferences.add_others(&info.pod, pod, node, snapshot.selectors());
            }
        }
        (!preferences.0.is_empty()).then_some(preferences)
    }

    /// What the pod thinks of another one.
    fn add_own(&mut self, pod: &Pod, other: &Pod, node: &Node, selectors: &Selectors) {
        let sides = [(&pod.spec.pod_affinity, 1), (&pod.spec.pod_anti_affinity, -1)];
        for (affinity, sign) in sides {
            for (weight, term) in &affinity.preferred {
                if own_term_matches(term, pod, other, selectors) {
                    self.add(term, node, sign * i64::from(*weight));
                }
            }
        }
    }

    /// What another one thinks of the pod.
    fn add_others(&mut self, other: &Pod, pod: &Pod, node: &Node, selectors: &Selectors) {
        let (near, apart) = (&other.spec.pod_affinity, &other.spec.pod_anti_affinity);
        if near.is_empty() && apart.preferred.is_empty() {
            return;
        }
        let namespace = selectors.namespace_labels(&pod.meta.namespace);
        let hard = near.required.iter().map(|term| (HARD_POD_AFFINITY_WEIGHT, term));
        let soft = near.preferred.iter().map(|(weight, term)| (i64::from(*weight), term));
        let against = apart.preferred.iter().map(|(weight, term)| (-i64::from(*weight), term));
        for (weight, term) in hard.chain(soft).chain(against) {
            if others_term_matches(term, other, pod, namespace) {
                self.add(term, node, weight);
            }
        }
    }

    fn add(&mut self, term: &PodAffinityTerm, node: &Node, weight: i64) {
        let Some(value) = value(node, term) else { return };
        let at = self.0.iter().position(|(key, _)| *key == term.topology_key).unwrap_or_else(|| {
            self.0.push((term.topology_key.clone(), Map::default()));
            self.0.len() - 1
        });
        *self.0[at].1.entry(value.clone()).or_default() += weight;
    }
}

impl Score for Preferences {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let labels = &snapshot.node(*node).meta.labels;
            let at = |(key, sums): &(Name, Map<Name, i64>)| labels.get(key).and_then(|value| sums.get(value)).copied();
            *score = self.0.iter().filter_map(at).sum();
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
