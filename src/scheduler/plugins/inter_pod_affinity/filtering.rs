//! Required terms: of the pod, and anti-affinity of the pods that are there.
//!
//! Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go, v1.36.

use super::{all_own_match, others_term_matches, own_term_matches, value};
use crate::model::{Name, Node, Pod, PodAffinityTerm};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{Filter, ForkedFilter, PodInfo, Status};
use crate::scheduler::plugins::tally::Tally;

/// Why a node is rejected that is not near the pods it should be near.
pub const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
/// Why a node is rejected that is near the pods it should not be near.
pub const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
/// Why a node is rejected that is near a pod which does not want this one.
pub const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

/// Pods by node label and its value.
#[derive(Clone, Default)]
struct Places(Vec<(Name, Tally)>);

impl Places {
    fn get(&self, term: &PodAffinityTerm, value: &Name) -> i64 {
        self.0.iter().find(|(key, _)| *key == term.topology_key).map_or(0, |(_, tally)| tally.get(value))
    }

    /// Counts pods at the node's place; nothing where the node has no such label.
    fn add(&mut self, term: &PodAffinityTerm, node: &Node, pods: i64) {
        let Some(value) = value(node, term) else { return };
        let at = self.0.iter().position(|(key, _)| *key == term.topology_key).unwrap_or_else(|| {
            self.0.push((term.topology_key.clone(), Tally::default()));
            self.0.len() - 1
        });
        self.0[at].1.add(value, pods);
    }

    fn has_pods(&self) -> bool {
        self.0.iter().any(|(_, tally)| tally.has_pods())
    }

    /// Whether there are pods at any place of the node.
    fn holds(&self, node: &Node) -> bool {
        self.0.iter().any(|(key, tally)| node.meta.labels.get(key).is_some_and(|value| tally.get(value) > 0))
    }
}

/// The filter, or its copy in a dry run.
#[derive(Clone)]
pub struct Rules<'a> {
    pod: &'a Pod,
    affinity: &'a [PodAffinityTerm],
    anti_affinity: &'a [PodAffinityTerm],
    /// Pods that match all affinity terms of the pod.
    near: Places,
    /// Pods that match an anti-affinity term of the pod.
    apart: Places,
    /// Pods with an anti-affinity term that matches the pod.
    existing: Places,
}

impl<'a> Rules<'a> {
    /// Counts pods over the cluster; `None` when neither the pod nor another one requires anything.
    pub fn of(pod: &'a Pod, snapshot: &Snapshot<'_>) -> Option<Rules<'a>> {
        let mut rules = Rules {
            pod,
            affinity: &pod.spec.pod_affinity.required,
            anti_affinity: &pod.spec.pod_anti_affinity.required,
            near: Places::default(),
            apart: Places::default(),
            existing: Places::default(),
        };
        let asks_for_nothing = rules.affinity.is_empty() && rules.anti_affinity.is_empty();
        for index in snapshot.nodes() {
            let node = snapshot.node(*index);
            for info in snapshot.pods(*index) {
                if !asks_for_nothing || !info.pod.spec.pod_anti_affinity.required.is_empty() {
                    rules.change(snapshot, &info.pod, node, 1);
                }
            }
        }
        if asks_for_nothing && !rules.existing.has_pods() {
            return None;
        }
        Some(rules)
    }

    fn change(&mut self, snapshot: &Snapshot<'_>, other: &Pod, node: &Node, pods: i64) {
        let selectors = snapshot.selectors();
        let namespace = selectors.namespace_labels(&self.pod.meta.namespace);
        for term in &other.spec.pod_anti_affinity.required {
            if others_term_matches(term, other, self.pod, namespace) {
                self.existing.add(term, node, pods);
            }
        }
        if all_own_match(self.affinity, self.pod, other, selectors) {
            self.affinity.iter().for_each(|term| self.near.add(term, node, pods));
        }
        for term in self.anti_affinity {
            if own_term_matches(term, self.pod, other, selectors) {
                self.apart.add(term, node, pods);
            }
        }
    }

    /// Whether the node is near pods of every affinity term. The first pod of a group that wants to be near its own kind goes
    /// anywhere where it could be found.
    fn is_near(&self, snapshot: &Snapshot<'_>, node: &Node) -> bool {
        let mut pods_exist = true;
        for term in self.affinity {
            let Some(value) = value(node, term) else { return false };
            pods_exist &= self.near.get(term, value) > 0;
        }
        let is_first =
            || !self.near.has_pods() && all_own_match(self.affinity, self.pod, self.pod, snapshot.selectors());
        pods_exist || is_first()
    }

    fn is_apart(&self, node: &Node) -> bool {
        let is_apart = |term| value(node, term).is_none_or(|value| self.apart.get(term, value) <= 0);
        self.anti_affinity.iter().all(is_apart)
    }
}

impl Filter for Rules<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        let node = snapshot.node(node);
        if !self.is_near(snapshot, node) {
            return Err(Status::unresolvable(REASON_AFFINITY));
        }
        if !self.is_apart(node) {
            return Err(Status::unschedulable(REASON_ANTI_AFFINITY));
        }
        if self.existing.holds(node) {
            return Err(Status::unschedulable(REASON_EXISTING));
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn ForkedFilter + '_>> {
        Some(Box::new(self.clone()))
    }
}

impl ForkedFilter for Rules<'_> {
    fn add_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        self.change(snapshot, &other.pod, snapshot.node(node), 1);
    }

    fn remove_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        self.change(snapshot, &other.pod, snapshot.node(node), -1);
    }
}
