//! Hard constraints: a domain may not have many more matching pods than the one with fewest.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go, v1.36.

use super::common::{constraints, count_matching, has_all_keys, includes, selects};
use crate::model::{Map, Name, Pod, TopologySpreadConstraint};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{Filter, ForkedFilter, PodInfo, Status};
use crate::scheduler::plugins::tally::Tally;

/// Why a node is rejected that would have too many pods.
pub const REASON: &str = "node(s) didn't match pod topology spread constraints";
/// Why a node is rejected that is in no domain.
pub const REASON_LABEL: &str = "node(s) didn't match pod topology spread constraints (missing required label)";

/// The filter, or its copy in a dry run.
#[derive(Clone)]
pub struct Spread<'a> {
    pod: &'a Pod,
    domains: Vec<Domains<'a>>,
}

/// A constraint with matching pods by domain.
#[derive(Clone)]
struct Domains<'a> {
    constraint: &'a TopologySpreadConstraint,
    /// 1 if the pod counts itself.
    own: i64,
    pods: Tally,
    /// The domain with fewest pods and the next: enough to know the fewest while the count of one domain changes, which is
    /// what a dry run does.
    lowest: [(Name, i64); 2],
}

impl<'a> Spread<'a> {
    /// Counts matching pods over the cluster; `None` when the pod has no hard constraint.
    pub fn of(pod: &'a Pod, snapshot: &Snapshot<'_>) -> Option<Spread<'a>> {
        let constraints: Vec<_> = constraints(pod, true).collect();
        if constraints.is_empty() {
            return None;
        }
        let mut counts: Vec<Map<Name, i64>> = vec![Map::default(); constraints.len()];
        for index in snapshot.nodes() {
            let node = snapshot.node(*index);
            if !has_all_keys(&node.meta.labels, constraints.iter().copied()) {
                continue;
            }
            for (constraint, counts) in constraints.iter().zip(&mut counts) {
                let Some(value) = node.meta.labels.get(&constraint.topology_key) else { continue };
                if includes(constraint, pod, node) {
                    let pods = snapshot.pods(*index);
                    let count = count_matching(constraint.selector.as_ref(), &pod.meta.namespace, pods);
                    *counts.entry(value.clone()).or_default() += count;
                }
            }
        }
        let domains = constraints.into_iter().zip(counts).map(|(constraint, counts)| {
            Domains::new(constraint, i64::from(selects(constraint, &pod.meta.labels)), counts)
        });
        Some(Spread { pod, domains: domains.collect() })
    }

    fn change(&mut self, snapshot: &Snapshot<'_>, other: &Pod, node: NodeIndex, pods: i64) {
        let node = snapshot.node(node);
        let constraints = self.domains.iter().map(|domains| domains.constraint);
        if other.meta.namespace != self.pod.meta.namespace || !has_all_keys(&node.meta.labels, constraints) {
            return;
        }
        for domains in &mut self.domains {
            let constraint = domains.constraint;
            let Some(value) = node.meta.labels.get(&constraint.topology_key) else { continue };
            if selects(constraint, &other.meta.labels) && includes(constraint, self.pod, node) {
                let count = domains.pods.add(value, pods);
                domains.follow(value, count);
            }
        }
    }
}

impl<'a> Domains<'a> {
    fn new(constraint: &'a TopologySpreadConstraint, own: i64, counts: Map<Name, i64>) -> Domains<'a> {
        let none = || (Name::EMPTY, i64::from(i32::MAX));
        let mut domains = Domains { constraint, own, pods: Tally::default(), lowest: [none(), none()] };
        for (value, count) in &counts {
            domains.follow(value, *count);
        }
        domains.pods = Tally::new(counts);
        domains
    }

    /// A domain has this many matching pods now.
    fn follow(&mut self, value: &Name, count: i64) {
        let [first, second] = &mut self.lowest;
        if *value == first.0 {
            first.1 = count;
        } else if *value == second.0 {
            second.1 = count;
        } else if count < first.1 {
            *second = std::mem::replace(first, (value.clone(), count));
        } else if count < second.1 {
            *second = (value.clone(), count);
        }
        if first.1 > second.1 {
            std::mem::swap(first, second);
        }
    }

    /// The fewest matching pods in a domain; 0 when there are fewer domains than wanted.
    fn min(&self) -> i64 {
        match self.pods.len() < self.constraint.min_domains.unwrap_or(1) as usize {
            true => 0,
            false => self.lowest[0].1,
        }
    }
}

impl Filter for Spread<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        let labels = &snapshot.node(node).meta.labels;
        for domains in &self.domains {
            let Some(value) = labels.get(&domains.constraint.topology_key) else {
                return Err(Status::unresolvable(REASON_LABEL));
            };
            let skew = domains.pods.get(value) + domains.own - domains.min();
            if skew > i64::from(domains.constraint.max_skew) {
                return Err(Status::unschedulable(REASON));
            }
        }
        Ok(())
    }

    fn fork(&self) -> Option<Box<dyn ForkedFilter + '_>> {
        Some(Box::new(self.clone()))
    }
}

impl ForkedFilter for Spread<'_> {
    fn add_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        self.change(snapshot, &other.pod, node, 1);
    }

    fn remove_pod(&mut self, snapshot: &Snapshot<'_>, other: &PodInfo, node: NodeIndex) {
        self.change(snapshot, &other.pod, node, -1);
    }
}
