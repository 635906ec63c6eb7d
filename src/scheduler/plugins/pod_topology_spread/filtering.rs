//! Hard constraints: a domain may not have many more matching pods than the one with fewest.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/filtering.go, v1.36.

use std::borrow::Cow;

use super::common::{Defaults, Eligible, constraints, counts, selects};
use crate::model::{Pod, TopologySpreadConstraint};
use crate::scheduler::cache::{DomainSums, NodeIndex, Snapshot};
use crate::scheduler::framework::{Filter, ForkedFilter, PodInfo, Status};

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
    constraint: Cow<'a, TopologySpreadConstraint>,
    /// 1 if the pod counts itself.
    own: i64,
    eligible: Eligible,
    pods: DomainSums,
    /// Domains with nodes that count.
    len: usize,
    /// The domain with fewest pods and the next: enough to know the fewest while the count of one domain changes, which is
    /// what a dry run does.
    lowest: [(usize, i64); 2],
}

impl<'a> Spread<'a> {
    /// Counts matching pods over the cluster; `None` when the pod has no hard constraint, nor a default one.
    pub fn of(pod: &'a Pod, defaults: &Defaults, snapshot: &Snapshot<'_>) -> Option<Spread<'a>> {
        let constraints: Vec<_> = match pod.spec.topology_spread_constraints.is_empty() {
            false => constraints(pod, true).map(Cow::Borrowed).collect(),
            true => defaults.constraints(pod, true, snapshot).into_iter().map(Cow::Owned).collect(),
        };
        if constraints.is_empty() {
            return None;
        }
        let mut domains: Vec<Domains<'a>> =
            constraints.into_iter().map(|constraint| Domains::new(constraint, pod, snapshot)).collect();
        for at in 0..domains.len() {
            let amounts = domains[at].amounts(&domains, pod, snapshot);
            domains[at].count(amounts);
        }
        Some(Spread { pod, domains })
    }

    /// Why the constraints keep the pod from the node, in numbers: `zone=a has 3 of them, the fewest is 2, 3 + 1 - 2 > 1`.
    pub fn excess(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Option<String> {
        self.domains.iter().find_map(|domains| {
            let (key, skew) = (&domains.constraint.topology_key, domains.constraint.max_skew);
            let Some(pods) = domains.pods.at(node) else { return Some(format!("the node has no label {key}")) };
            let (own, min) = (domains.own, domains.min());
            let place = snapshot.node(node).meta.labels.get(key).map_or("", |value| value.as_str());
            let is_over = pods + own - min > i64::from(skew);
            is_over.then(|| {
                let few = match domains.len < domains.constraint.min_domains.unwrap_or(1) as usize {
                    true => format!("0 count as the fewest for want of domains ({})", domains.len),
                    false => format!("the fewest is {min}"),
                };
                format!("{key}={place} has {pods}, {few}: {pods} + {own} - {min} > maxSkew {skew}")
            })
        })
    }

    fn change(&mut self, snapshot: &Snapshot<'_>, other: &Pod, node: NodeIndex, pods: i64) {
        if other.meta.namespace != self.pod.meta.namespace || !has_all_keys(&self.domains, node) {
            return;
        }
        for domains in &mut self.domains {
            if selects(&domains.constraint, &other.meta.labels)
                && domains.eligible.includes(self.pod, snapshot, node)
                && let Some((domain, count)) = domains.pods.add(node, pods)
            {
                domains.follow(domain, count);
            }
        }
    }
}

/// Whether the node is in a domain of every constraint.
fn has_all_keys(domains: &[Domains<'_>], node: NodeIndex) -> bool {
    domains.iter().all(|domains| domains.pods.domains().of(node).is_some())
}

impl<'a> Domains<'a> {
    fn new(constraint: Cow<'a, TopologySpreadConstraint>, pod: &Pod, snapshot: &Snapshot<'_>) -> Domains<'a> {
        let own = i64::from(selects(&constraint, &pod.meta.labels));
        let pods = DomainSums::new(snapshot.domains(&constraint.topology_key));
        let eligible = Eligible::of(&constraint, pod);
        // No domain has the number of the limit.
        let none = (usize::MAX, i64::from(i32::MAX));
        Domains { constraint, own, eligible, pods, len: 0, lowest: [none; 2] }
    }

    /// Matching pods on each node that counts.
    fn amounts(&self, all: &[Domains<'_>], pod: &Pod, snapshot: &Snapshot<'_>) -> Vec<(NodeIndex, i64)> {
        let counts = counts(&self.constraint, pod, snapshot);
        let counted = snapshot
            .nodes()
            .iter()
            .filter(|node| has_all_keys(all, **node) && self.eligible.includes(pod, snapshot, **node));
        counted.map(|node| (*node, counts.as_ref().map_or(0, |counts| counts.on(*node)))).collect()
    }

    fn count(&mut self, amounts: Vec<(NodeIndex, i64)>) {
        self.pods.add_all(amounts.iter().copied());
        let mut is_known = vec![false; self.pods.domains().limit()];
        for (node, _) in amounts {
            let domain = self.pods.domains().of(node).expect("a node that counts has the label");
            if !std::mem::replace(&mut is_known[domain], true) {
                self.len += 1;
                self.follow(domain, self.pods.get(domain));
            }
        }
    }

    /// A domain has this many matching pods now.
    fn follow(&mut self, domain: usize, count: i64) {
        let [first, second] = &mut self.lowest;
        if domain == first.0 {
            first.1 = count;
        } else if domain == second.0 {
            second.1 = count;
        } else if count < first.1 {
            *second = std::mem::replace(first, (domain, count));
        } else if count < second.1 {
            *second = (domain, count);
        }
        if first.1 > second.1 {
            std::mem::swap(first, second);
        }
    }

    /// The fewest matching pods in a domain; 0 when there are fewer domains than wanted.
    fn min(&self) -> i64 {
        match self.len < self.constraint.min_domains.unwrap_or(1) as usize {
            true => 0,
            false => self.lowest[0].1,
        }
    }
}

impl Filter for Spread<'_> {
    fn filter(&self, _snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        for domains in &self.domains {
            let Some(pods) = domains.pods.at(node) else {
                return Err(Status::unresolvable(REASON_LABEL));
            };
            if pods + domains.own - domains.min() > i64::from(domains.constraint.max_skew) {
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
