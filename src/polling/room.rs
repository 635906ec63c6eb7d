//! Which node has room for a pod: the rule of the teaching orchestrator, far simpler than a scheduler's.
//!
//! A node has room when CPU, memory and the number of pods allow it; of those that have, the one with the fewest pods is
//! taken, of equals the one with the smallest name. Taints, affinity and readiness of pods play no part.

use std::collections::BTreeMap;

use crate::model::{Name, Node, Pod, Resources};
use crate::rules::pod_requests;

/// CPU, memory and pods: of a node, or what a pod takes of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Amounts {
    /// Thousandths of a core.
    pub cpu_milli: i64,
    /// Bytes.
    pub memory_bytes: i64,
    /// Pods.
    pub pods: i64,
}

impl Amounts {
    /// What a node can give.
    fn of(resources: &Resources) -> Amounts {
        Amounts {
            cpu_milli: resources.cpu_milli.unwrap_or(0),
            memory_bytes: resources.memory_bytes.unwrap_or(0),
            pods: resources.pods.unwrap_or(0),
        }
    }

    /// What a pod takes.
    pub fn of_pod(pod: &Pod) -> Amounts {
        Amounts { pods: 1, ..Amounts::of(&pod_requests::requests(&pod.spec)) }
    }

    fn add(&mut self, other: Amounts, sign: i64) {
        self.cpu_milli += sign * other.cpu_milli;
        self.memory_bytes += sign * other.memory_bytes;
        self.pods += sign * other.pods;
    }
}

/// A node, and what its pods take.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// What it can give; `None` while no such node is known or it is not ready.
    allocatable: Option<Amounts>,
    taken: Amounts,
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    rows: BTreeMap<Name, Row>,
}

impl Rooms {
    /// A node is there, or has changed.
    pub fn set_node(&mut self, node: &Node) {
        let usable = node.is_ready() && !node.unschedulable;
        let row = self.rows.entry(node.meta.name.clone()).or_default();
        row.allocatable = usable.then(|| Amounts::of(&node.allocatable));
    }

    /// A node is gone.
    pub fn remove_node(&mut self, node: &Name) {
        if let Some(row) = self.rows.get_mut(node) {
            row.allocatable = None;
        }
    }

    /// A pod takes its place on a node.
    pub fn take(&mut self, node: &Name, amounts: Amounts) {
        self.rows.entry(node.clone()).or_default().taken.add(amounts, 1);
    }

    /// A pod gives its place back.
    pub fn give_back(&mut self, node: &Name, amounts: Amounts) {
        self.rows.entry(node.clone()).or_default().taken.add(amounts, -1);
    }

    /// The node for a pod that asks for so much.
    pub fn choose(&self, wanted: Amounts) -> Option<&Name> {
        let fits = |row: &Row| {
            row.allocatable.is_some_and(|has| {
                let taken = row.taken;
                taken.cpu_milli + wanted.cpu_milli <= has.cpu_milli
                    && taken.memory_bytes + wanted.memory_bytes <= has.memory_bytes
                    && taken.pods + wanted.pods <= has.pods
            })
        };
        self.rows.iter().filter(|(_, row)| fits(row)).min_by_key(|(_, row)| row.taken.pods).map(|(name, _)| name)
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.rows.values().filter(|row| row.allocatable.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    fn rooms() -> Rooms {
        let has = Amounts { cpu_milli: 2_000, memory_bytes: 4 * GIB, pods: 3 };
        let row = Row { allocatable: Some(has), taken: Amounts::default() };
        Rooms { rows: ["a", "b"].map(|name| (Name::from(name), row)).into() }
    }

    #[test]
    fn the_emptier_node_is_taken_and_the_smaller_name_of_equals() {
        let mut rooms = rooms();
        let wanted = Amounts { cpu_milli: 500, memory_bytes: GIB, pods: 1 };
        let mut chosen = Vec::new();
        for _ in 0..7 {
            let node = rooms.choose(wanted).cloned();
            chosen.push(node.as_ref().map_or("-".to_string(), Name::to_string));
            if let Some(node) = node {
                rooms.take(&node, wanted);
            }
        }
        // Each has room for three pods (4 x 500m of CPU would do for four, 3 pods are its limit).
        assert_eq!(chosen, ["a", "b", "a", "b", "a", "b", "-"]);
        rooms.give_back(&"b".into(), wanted);
        assert_eq!(rooms.choose(wanted).map(Name::as_str), Some("b"));
    }

    #[test]
    fn each_of_the_amounts_can_be_what_lacks() {
        let rooms = rooms();
        let fits = |cpu_milli, memory_bytes| rooms.choose(Amounts { cpu_milli, memory_bytes, pods: 1 }).is_some();
        assert!(fits(2_000, 4 * GIB));
        assert!(!fits(2_001, 4 * GIB));
        assert!(!fits(2_000, 4 * GIB + 1));
    }
}
