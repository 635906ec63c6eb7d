//! Sums over nodes by the value of a label, for several labels, and which pods a term means.

use crate::model::{Name, Pod, PodAffinityTerm};
use crate::scheduler::cache::{DomainSums, NodeIndex, PodSet, Selectors, Snapshot};

/// Sums by node label and its value.
#[derive(Clone, Default)]
pub struct Places(Vec<DomainSums>);

impl Places {
    /// Adds amounts at the places of nodes, as a term sees them; nothing where a node has no such label.
    pub fn add_all(&mut self, key: &Name, snapshot: &Snapshot<'_>, amounts: impl Iterator<Item = (NodeIndex, i64)>) {
        let known = self.0.iter().position(|sums| sums.domains().key() == key);
        let domains = snapshot.domains(key);
        let mut amounts = amounts.filter(|(node, _)| domains.of(*node).is_some()).peekable();
        if amounts.peek().is_none() {
            return;
        }
        let at = known.unwrap_or_else(|| {
            self.0.push(DomainSums::new(domains.clone()));
            self.0.len() - 1
        });
        self.0[at].add_all(amounts);
    }

    /// Adds an amount at the node's place; nothing where the node has no such label.
    pub fn add(&mut self, key: &Name, snapshot: &Snapshot<'_>, node: NodeIndex, amount: i64) {
        let at = self.0.iter().position(|sums| sums.domains().key() == key).unwrap_or_else(|| {
            self.0.push(DomainSums::new(snapshot.domains(key)));
            self.0.len() - 1
        });
        self.0[at].add(node, amount);
    }

    /// The sum at the node's place.
    pub fn get(&self, key: &Name, node: NodeIndex) -> i64 {
        let sums = self.0.iter().find(|sums| sums.domains().key() == key);
        sums.and_then(|sums| sums.at(node)).unwrap_or(0)
    }

    /// The sum over all labels at the node's places.
    pub fn total(&self, node: NodeIndex) -> i64 {
        self.0.iter().filter_map(|sums| sums.at(node)).sum()
    }

    /// Whether some sum is more than zero.
    pub fn any_positive(&self) -> bool {
        self.0.iter().any(DomainSums::any_positive)
    }

    /// Whether some sum at the node's places is more than zero.
    pub fn any_positive_at(&self, node: NodeIndex) -> bool {
        self.0.iter().any(|sums| sums.at(node).is_some_and(|sum| sum > 0))
    }

    /// Whether nothing was ever added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The pods that a term of the pod that is to be placed means; `None` when it means none.
pub fn meant_by(term: &PodAffinityTerm, pod: &Pod, selectors: &Selectors) -> Option<PodSet> {
    let namespaces = match (term.namespaces.as_slice(), &term.namespace_selector) {
        ([], None) => Some(vec![pod.meta.namespace.clone()]),
        (_, Some(selector)) if selector.requirements.is_empty() => None,
        (names, selector) => {
            let selected = selector.iter().flat_map(|selector| selectors.namespaces_matching(selector));
            Some(names.iter().chain(selected).cloned().collect())
        }
    };
    Some(PodSet { namespaces, selector: term.selector.clone()?, with_leaving: true })
}

/// Those pods by node.
pub fn amounts<'a>(sets: &[PodSet], snapshot: &Snapshot<'a>) -> impl Iterator<Item = (NodeIndex, i64)> + use<'a> {
    let counts = snapshot.matching_pods(sets);
    snapshot.nodes().iter().map(move |node| (*node, counts.on(*node))).filter(|(_, pods)| *pods > 0)
}
