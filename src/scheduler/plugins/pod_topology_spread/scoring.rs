//! Soft constraints: the fewer matching pods in a node's domains the better.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, v1.36.

use super::common::{HOSTNAME, constraints, count_matching, default_constraints, has_all_keys, includes};
use crate::model::{Map, Name, Pod, TopologySpreadConstraint};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::Score;
use crate::scheduler::framework::interface::MAX_NODE_SCORE;

/// The raw score of a node that lacks a key.
const IGNORED: i64 = -1;

/// The score.
pub struct Spread<'a> {
    pod: &'a Pod,
    domains: Vec<Domains>,
    /// Whether nodes without some key are left out: not with the default constraints, so that nodes without a zone are still
    /// spread over.
    requires_all_keys: bool,
}

/// A constraint with matching pods by domain of the feasible nodes; for hostnames they are counted node by node instead.
struct Domains {
    constraint: TopologySpreadConstraint,
    pods: Map<Name, i64>,
    /// The logarithm of the number of domains: pods weigh the more the more domains there are.
    weight: f64,
}

impl<'a> Spread<'a> {
    /// Counts matching pods over the cluster; `None` when the pod has no soft constraint, nor a default one.
    pub fn of(pod: &'a Pod, snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) -> Option<Spread<'a>> {
        let requires_all_keys = !pod.spec.topology_spread_constraints.is_empty();
        let constraints = match requires_all_keys {
            true => constraints(pod, false).cloned().collect(),
            false => default_constraints(pod, snapshot),
        };
        if constraints.is_empty() {
            return None;
        }
        let domain = |constraint| Domains { constraint, pods: Map::default(), weight: 0.0 };
        let mut spread = Spread { pod, domains: constraints.into_iter().map(domain).collect(), requires_all_keys };
        let scored = spread.find_domains(snapshot, nodes);
        for domains in &mut spread.domains {
            let count = if domains.is_by_node() { scored } else { domains.pods.len() };
            domains.weight = libm::log((count + 2) as f64);
        }
        spread.count(snapshot);
        Some(spread)
    }

    /// Notes the domains of the feasible nodes; a key's absence is one, the empty value. Returns how many nodes have scores.
    fn find_domains(&mut self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) -> usize {
        let mut scored = 0;
        for node in nodes.iter().filter(|node| !self.ignores(snapshot, **node)).copied().collect::<Vec<_>>() {
            scored += 1;
            let labels = &snapshot.node(node).meta.labels;
            for domains in self.domains.iter_mut().filter(|domains| !domains.is_by_node()) {
                let value = labels.get(&domains.constraint.topology_key).unwrap_or(&Name::EMPTY);
                if !domains.pods.contains_key(value) {
                    domains.pods.insert(value.clone(), 0);
                }
            }
        }
        scored
    }

    /// Counts matching pods of all nodes, feasible or not, in those domains.
    fn count(&mut self, snapshot: &Snapshot<'_>) {
        for index in snapshot.nodes() {
            if self.ignores(snapshot, *index) {
                continue;
            }
            let node = snapshot.node(*index);
            for domains in &mut self.domains {
                let Domains { constraint, pods, .. } = domains;
                let value = node.meta.labels.get(&constraint.topology_key).unwrap_or(&Name::EMPTY);
                let Some(count) = pods.get_mut(value) else { continue };
                if includes(constraint, self.pod, node) {
                    let selector = constraint.selector.as_ref();
                    *count += count_matching(selector, &self.pod.meta.namespace, snapshot.pods(*index));
                }
            }
        }
    }

    fn ignores(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> bool {
        let constraints = self.domains.iter().map(|domains| &domains.constraint);
        self.requires_all_keys && !has_all_keys(&snapshot.node(node).meta.labels, constraints)
    }
}

impl Domains {
    fn is_by_node(&self) -> bool {
        self.constraint.topology_key == HOSTNAME
    }
}

impl Score for Spread<'_> {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            if self.ignores(snapshot, *node) {
                *score = IGNORED;
                continue;
            }
            let labels = &snapshot.node(*node).meta.labels;
            let mut sum = 0.0;
            for domains in &self.domains {
                let Some(value) = labels.get(&domains.constraint.topology_key) else { continue };
                let count = match domains.is_by_node() {
                    true => {
                        let selector = domains.constraint.selector.as_ref();
                        count_matching(selector, &self.pod.meta.namespace, snapshot.pods(*node))
                    }
                    false => domains.pods.get(value).copied().unwrap_or(0),
                };
                sum += count as f64 * domains.weight + f64::from(domains.constraint.max_skew - 1);
            }
            *score = sum.round() as i64;
        }
    }

    fn normalize_score(&self, scores: &mut [i64]) {
        let counted = || scores.iter().copied().filter(|score| *score != IGNORED);
        let (lowest, highest) = (counted().min().unwrap_or(0), counted().max().unwrap_or(0));
        for score in scores {
            *score = match (*score, highest) {
                (IGNORED, _) => 0,
                (_, 0) => MAX_NODE_SCORE,
                (score, highest) => MAX_NODE_SCORE * (highest + lowest - score) / highest,
            };
        }
    }
}
