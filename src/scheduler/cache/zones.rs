//! The order of nodes in a snapshot: zones interleaved.
//!
//! Upstream: pkg/scheduler/backend/cache/node_tree.go, v1.36.

use super::NodeIndex;
use crate::model::{Name, Node};

/// Nodes by zone; zones in the order they first had a node, nodes in the order they came.
#[derive(Clone, Debug, Default)]
pub struct NodeTree {
    zones: Vec<(Zone, Vec<NodeIndex>)>,
}

/// Region and zone of a node, both empty when it has no such labels.
pub type Zone = (Name, Name);

/// The zone of a node, the beta labels before the stable ones as upstream reads them.
///
/// Upstream: component-helpers/node/topology/helpers.go, `GetZoneKey`, v0.36.
pub fn zone_of(node: &Node) -> Zone {
    let label = |beta: &str, stable: &str| {
        let labels = &node.meta.labels;
        labels.get_str(beta).or_else(|| labels.get_str(stable)).cloned().unwrap_or_default()
    };
    (
        label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
        label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    )
}

impl NodeTree {
    /// Adds a node at the end of its zone.
    pub fn add(&mut self, zone: Zone, node: NodeIndex) {
        match self.zones.iter_mut().find(|(other, _)| *other == zone) {
            Some((_, nodes)) => nodes.push(node),
            None => self.zones.push((zone, vec![node])),
        }
    }

    /// Takes a node out; a zone without nodes is forgotten.
    pub fn remove(&mut self, zone: &Zone, node: NodeIndex) {
        if let Some((_, nodes)) = self.zones.iter_mut().find(|(other, _)| other == zone) {
            nodes.retain(|other| *other != node);
        }
        self.zones.retain(|(_, nodes)| !nodes.is_empty());
    }

    /// Writes all nodes: the first of each zone, the second of each, and so on.
    pub fn list_into(&self, order: &mut Vec<NodeIndex>) {
        order.clear();
        let longest = self.zones.iter().map(|(_, nodes)| nodes.len()).max().unwrap_or(0);
        for round in 0..longest {
            order.extend(self.zones.iter().filter_map(|(_, nodes)| nodes.get(round)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_interleaved() {
        let zone = |name: &str| (Name::EMPTY, Name::new(name));
        let mut tree = NodeTree::default();
        for (name, node) in [("b", 0), ("b", 1), ("b", 2), ("a", 3), ("", 4), ("a", 5)] {
            tree.add(zone(name), NodeIndex(node));
        }
        let list = |tree: &NodeTree| {
            let mut order = Vec::new();
            tree.list_into(&mut order);
            order.into_iter().map(|node| node.0).collect::<Vec<_>>()
        };
        // Zones b: 0 1 2, a: 3 5, none: 4. Rounds: (0 3 4) (1 5) (2).
        assert_eq!(list(&tree), [0, 3, 4, 1, 5, 2]);
        tree.remove(&zone("b"), NodeIndex(0));
        tree.remove(&zone(""), NodeIndex(4));
        assert_eq!(list(&tree), [1, 3, 2, 5]);
        // A zone that comes back comes last.
        tree.remove(&zone("b"), NodeIndex(1));
        tree.remove(&zone("b"), NodeIndex(2));
        tree.add(zone("b"), NodeIndex(0));
        assert_eq!(list(&tree), [3, 0, 5]);
    }
}
