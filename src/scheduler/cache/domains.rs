//! The nodes by their values of a label, and sums over all nodes of a value.

use std::rc::Rc;

use super::generations::Generation;
use super::{NodeIndex, Snapshot};
use crate::model::{Map, Name};

/// In no domain: the node has no such label.
const NOWHERE: u32 = u32::MAX;

/// The nodes by their values of one label. Domains have numbers, and keep them.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    key: Name,
    values: Map<Name, ()>,
    of: Vec<u32>,
    seen: Vec<Generation>,
    as_of: Generation,
}

impl Domains {
    pub(super) fn new(key: &Name) -> Domains {
        Domains { key: key.clone(), ..Domains::default() }
    }

    /// The label.
    pub fn key(&self) -> &Name {
        &self.key
    }

    /// The number of the node's domain, less than [`Domains::limit`]; `None` when it does not have the label.
    pub fn of(&self, node: NodeIndex) -> Option<usize> {
        let domain = self.of[node.0 as usize];
        (domain != NOWHERE).then_some(domain as usize)
    }

    /// How many numbers there are; some may be of domains that no node is in any more.
    pub fn limit(&self) -> usize {
        self.values.len()
    }

    /// The value of the label there.
    pub fn value(&self, domain: usize) -> &Name {
        self.values.get_index(domain).expect("a number that `of` gave").0
    }

    /// The number of the domain with this value, if some node was ever in it.
    pub fn find(&self, value: &Name) -> Option<usize> {
        self.values.get_index_of(value)
    }

    pub(super) fn is_fresh(&self, snapshot: &Snapshot<'_>) -> bool {
        self.as_of == snapshot.generations().last_object()
    }

    pub(super) fn refresh(&mut self, snapshot: &Snapshot<'_>) {
        let generations = snapshot.generations().objects();
        self.of.resize(generations.len(), NOWHERE);
        self.seen.resize(generations.len(), 0);
        for node in snapshot.nodes() {
            let at = node.0 as usize;
            if self.seen[at] == generations[at] {
                continue;
            }
            self.seen[at] = generations[at];
            self.of[at] = match snapshot.node(*node).meta.labels.get(&self.key) {
                None => NOWHERE,
                Some(value) => u32::try_from(self.values.insert_full(value.clone(), ()).0).expect("fewer than 2^32"),
            };
        }
        self.as_of = snapshot.generations().last_object();
    }
}

/// A sum for each domain. A copy for a dry run keeps its changes to itself.
#[derive(Clone, Debug)]
pub struct DomainSums {
    domains: Rc<Domains>,
    sums: Rc<Vec<i64>>,
    /// Sums that are others than the shared ones.
    changed: Vec<(usize, i64)>,
}

impl DomainSums {
    /// Zero everywhere.
    pub fn new(domains: Rc<Domains>) -> DomainSums {
        let sums = Rc::new(vec![0; domains.limit()]);
        DomainSums { domains, sums, changed: Vec::new() }
    }

    /// Adds an amount for each of these nodes, before copies are made.
    pub fn add_all(&mut self, amounts: impl IntoIterator<Item = (NodeIndex, i64)>) {
        let sums = Rc::make_mut(&mut self.sums);
        for (node, amount) in amounts {
            if let Some(domain) = self.domains.of(node) {
                sums[domain] += amount;
            }
        }
    }

    /// The domains.
    pub fn domains(&self) -> &Domains {
        &self.domains
    }

    /// The sum of a domain.
    pub fn get(&self, domain: usize) -> i64 {
        let changed = self.changed.iter().find(|(other, _)| *other == domain);
        changed.map_or_else(|| self.sums[domain], |(_, sum)| *sum)
    }

    /// The sum of the node's domain; `None` when it does not have the label.
    pub fn at(&self, node: NodeIndex) -> Option<i64> {
        self.domains.of(node).map(|domain| self.get(domain))
    }

    /// Adds to the sum of the node's domain. Returns the domain and its new sum.
    pub fn add(&mut self, node: NodeIndex, amount: i64) -> Option<(usize, i64)> {
        let domain = self.domains.of(node)?;
        let sum = self.get(domain) + amount;
        match self.changed.iter_mut().find(|(other, _)| *other == domain) {
            Some((_, changed)) => *changed = sum,
            None => self.changed.push((domain, sum)),
        }
        Some((domain, sum))
    }

    /// Whether some sum is more than zero.
    pub fn any_positive(&self) -> bool {
        self.changed.iter().any(|(_, sum)| *sum > 0)
            || self.sums.iter().enumerate().any(|(domain, sum)| *sum > 0 && self.get(domain) > 0)
    }
}
