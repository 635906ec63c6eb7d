//! Required terms: of the pod, and anti-affinity of the pods that are there.
//!
//! Upstream: pkg/scheduler/framework/plugins/interpodaffinity/filtering.go, v1.36.

use super::places::{Places, amounts, meant_by};
use super::{all_own_match, others_term_matches, own_term_matches};
use crate::model::{Pod, PodAffinityTerm};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{Filter, ForkedFilter, PodInfo, Status};

/// Why a node is rejected that is not near the pods it should be near.
pub const REASON_AFFINITY: &str = "node(s) didn't match pod affinity rules";
/// Why a node is rejected that is near the pods it should not be near.
pub const REASON_ANTI_AFFINITY: &str = "node(s) didn't match pod anti-affinity rules";
/// Why a node is rejected that is near a pod which does not want this one.
pub const REASON_EXISTING: &str = "node(s) didn't satisfy existing pods anti-affinity rules";

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
    /// Whether the affinity terms mean no pod but the pod itself.
    is_first: bool,
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
            is_first: false,
        };
        rules.count_existing(snapshot);
        let asks_for_nothing = rules.affinity.is_empty() && rules.anti_affinity.is_empty();
        if asks_for_nothing && !rules.existing.any_positive() {
            return None;
        }
        rules.count_own(snapshot);
        rules.is_first = rules.finds_no_other(snapshot);
        Some(rules)
    }

    /// Counts the pods that do not want this one.
    fn count_existing(&mut self, snapshot: &Snapshot<'_>) {
        let namespace = snapshot.selectors().namespace_labels(&self.pod.meta.namespace);
        for group in snapshot.affinity_groups().iter() {
            let other = group.sample();
            for term in &other.spec.pod_anti_affinity.required {
                if others_term_matches(term, other, self.pod, namespace) {
                    self.existing.add_all(&term.topology_key, snapshot, group.nodes());
                }
            }
        }
    }

    /// Counts the pods that the pod's terms mean.
    fn count_own(&mut self, snapshot: &Snapshot<'_>) {
        let meant = |term| meant_by(term, self.pod, snapshot.selectors());
        if let Some(sets) = self.affinity.iter().map(meant).collect::<Option<Vec<_>>>() {
            for term in self.affinity {
                self.near.add_all(&term.topology_key, snapshot, amounts(&sets, snapshot));
            }
        }
        for term in self.anti_affinity {
            if let Some(set) = meant(term) {
                self.apart.add_all(&term.topology_key, snapshot, amounts(&[set], snapshot));
            }
        }
    }

    fn finds_no_other(&self, snapshot: &Snapshot<'_>) -> bool {
        all_own_match(self.affinity, self.pod, self.pod, snapshot.selectors()) && !self.near.any_positive()
    }

    fn change(&mut self, snapshot: &Snapshot<'_>, other: &Pod, node: NodeIndex, pods: i64) {
        let selectors = snapshot.selectors();
        let namespace = selectors.namespace_labels(&self.pod.meta.namespace);
        for term in &other.spec.pod_anti_affinity.required {
            if others_term_matches(term, other, self.pod, namespace) {
                self.existing.add(&term.topology_key, snapshot, node, pods);
            }
        }
        if all_own_match(self.affinity, self.pod, other, selectors) {
            self.affinity.iter().for_each(|term| self.near.add(&term.topology_key, snapshot, node, pods));
            self.is_first = self.finds_no_other(snapshot);
        }
        for term in self.anti_affinity {
            if own_term_matches(term, self.pod, other, selectors) {
                self.apart.add(&term.topology_key, snapshot, node, pods);
            }
        }
    }

    /// Whether the node is near pods of every affinity term. The first pod of a group that wants to be near its own kind goes
    /// anywhere where it could be found.
    fn is_near(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> bool {
        let mut pods_exist = true;
        for term in self.affinity {
            if snapshot.node(node).meta.labels.get(&term.topology_key).is_none() {
                return false;
            }
            pods_exist &= self.near.get(&term.topology_key, node) > 0;
        }
        pods_exist || self.is_first
    }

    fn is_apart(&self, node: NodeIndex) -> bool {
        // Only labels of the pod's own terms are among them.
        !self.apart.any_positive_at(node)
    }
}

impl Filter for Rules<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        if !self.is_near(snapshot, node) {
            return Err(Status::unresolvable(REASON_AFFINITY));
        }
        if !self.is_apart(node) {
            return Err(Status::unschedulable(REASON_ANTI_AFFINITY));
        }
        if self.existing.any_positive_at(node) {
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
        self.change(snapshot, &other.pod, node, 1);
    }

    fn remove_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        self.change(snapshot, &other.pod, node, -1);
    }
}
