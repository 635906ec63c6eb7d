//! Soft constraints: the fewer matching pods in a node's domains the better.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, v1.36.

use std::rc::Rc;

use super::common::{Defaults, Eligible, HOSTNAME, constraints, counts};
use crate::model::{Name, Pod, TopologySpreadConstraint};
use crate::scheduler::cache::{self, Counts, NodeIndex, Snapshot};
use crate::scheduler::framework::Score;
use crate::scheduler::framework::interface::MAX_NODE_SCORE;

/// The raw score of a node that lacks a key.
const IGNORED: i64 = -1;

/// The score.
pub struct Spread {
    domains: Vec<Domains>,
    /// Whether nodes without some key are left out: not with the built-in defaults, so that nodes without a zone are still
    /// spread over.
    requires_all_keys: bool,
}

/// A constraint with matching pods by domain of the feasible nodes; for hostnames they are counted node by node instead.
struct Domains {
    constraint: TopologySpreadConstraint,
    is_by_node: bool,
    nodes: Rc<cache::Domains>,
    counts: Option<Rc<Counts>>,
    /// The place in `pods` of nodes without the key: they are together, and with those whose value is empty.
    absent: usize,
    /// Matching pods by domain; `None` for domains without feasible nodes.
    pods: Vec<Option<i64>>,
    /// The logarithm of the number of domains: pods weigh the more the more domains there are.
    weight: f64,
}

impl Spread {
    /// Counts matching pods over the cluster; `None` when the pod has no soft constraint, nor a default one.
    pub fn of(pod: &Pod, defaults: &Defaults, snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) -> Option<Spread> {
        let has_own = !pod.spec.topology_spread_constraints.is_empty();
        let requires_all_keys = has_own || !defaults.are_built_in;
        let constraints: Vec<_> = match has_own {
            true => constraints(pod, false).cloned().collect(),
            false => defaults.constraints(pod, false, snapshot),
        };
        if constraints.is_empty() {
            return None;
        }
        let domains = constraints.into_iter().map(|constraint| Domains::new(constraint, pod, snapshot)).collect();
        let mut spread = Spread { domains, requires_all_keys };
        let scored = nodes.iter().filter(|node| !spread.ignores(**node)).count();
        for at in 0..spread.domains.len() {
            if spread.domains[at].is_by_node {
                spread.domains[at].weight = libm::log((scored + 2) as f64);
                continue;
            }
            let mut pods = vec![None; spread.domains[at].nodes.limit() + 1];
            let mut found = 0;
            for node in nodes.iter().filter(|node| !spread.ignores(**node)) {
                let pods = &mut pods[spread.domains[at].place(*node)];
                found += usize::from(pods.is_none());
                *pods = Some(0);
            }
            spread.count(at, &mut pods, pod, snapshot);
            spread.domains[at].pods = pods;
            spread.domains[at].weight = libm::log((found + 2) as f64);
        }
        Some(spread)
    }

    /// Counts matching pods of all nodes, feasible or not, in those domains.
    fn count(&self, at: usize, pods: &mut [Option<i64>], pod: &Pod, snapshot: &Snapshot<'_>) {
        let domains = &self.domains[at];
        let Some(counts) = &domains.counts else { return };
        let eligible = Eligible::of(&domains.constraint, pod);
        for node in snapshot.nodes() {
            let on_node = counts.on(*node);
            if on_node == 0 || self.ignores(*node) {
                continue;
            }
            if let Some(pods) = &mut pods[domains.place(*node)]
                && eligible.includes(pod, snapshot, *node)
            {
                *pods += on_node;
            }
        }
    }

    /// Matching pods in the node's domains: label and count; without the labels that the node lacks.
    pub fn matching(&self, node: NodeIndex) -> impl Iterator<Item = (&Name, i64)> {
        let known = self.domains.iter().filter(move |domains| domains.nodes.of(node).is_some());
        known.map(move |domains| (&domains.constraint.topology_key, domains.matching(node)))
    }

    fn ignores(&self, node: NodeIndex) -> bool {
        self.requires_all_keys && self.domains.iter().any(|domains| domains.nodes.of(node).is_none())
    }
}

impl Domains {
    fn new(constraint: TopologySpreadConstraint, pod: &Pod, snapshot: &Snapshot<'_>) -> Domains {
        let nodes = snapshot.domains(&constraint.topology_key);
        let counts = counts(&constraint, pod, snapshot);
        let is_by_node = constraint.topology_key == HOSTNAME;
        let absent = nodes.find(&Name::EMPTY).unwrap_or(nodes.limit());
        Domains { constraint, is_by_node, nodes, counts, absent, pods: Vec::new(), weight: 0.0 }
    }

    fn place(&self, node: NodeIndex) -> usize {
        self.nodes.of(node).unwrap_or(self.absent)
    }

    /// Matching pods in the node's domain; none without one.
    fn matching(&self, node: NodeIndex) -> i64 {
        match (self.nodes.of(node), self.is_by_node) {
            (None, _) => 0,
            (_, true) => self.counts.as_ref().map_or(0, |counts| counts.on(node)),
            (Some(place), _) => self.pods[place].unwrap_or(0),
        }
    }

    /// Matching pods in the node's domain, weighed.
    fn weigh(&self, node: NodeIndex) -> f64 {
        if self.nodes.of(node).is_none() {
            return 0.0;
        }
        self.matching(node) as f64 * self.weight + f64::from(self.constraint.max_skew - 1)
    }
}

impl Score for Spread {
    fn score(&self, _snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            if self.ignores(*node) {
                *score = IGNORED;
                continue;
            }
            let mut sum = 0.0;
            for domains in &self.domains {
                sum += domains.weigh(*node);
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
