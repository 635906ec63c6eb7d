//! Which node has room for a pod: the rule of the teaching orchestrator, far simpler than a scheduler's.
//!
//! A node has room when CPU, memory and the number of pods allow it; of those that have, the one with the fewest pods is
//! taken, of equals the one with the smallest name. Taints, affinity and readiness of pods play no part.

use std::collections::BTreeSet;

use crate::model::{Map, Name, Node, Pod, Resources};
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

impl Row {
    fn fits(&self, wanted: Amounts) -> bool {
        let taken = self.taken;
        self.allocatable.is_some_and(|has| {
            taken.cpu_milli + wanted.cpu_milli <= has.cpu_milli
                && taken.memory_bytes + wanted.memory_bytes <= has.memory_bytes
                && taken.pods + wanted.pods <= has.pods
        })
    }
}

/// All nodes.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    rows: Map<Name, Row>,
    /// Nodes that can be used, by their pods and then their names.
    by_pods: BTreeSet<(i64, Name)>,
}

impl Rooms {
    /// A node is there, or has changed.
    pub fn set_node(&mut self, node: &Node) {
        let usable = node.is_ready() && !node.unschedulable;
        self.change(&node.meta.name, |row| row.allocatable = usable.then(|| Amounts::of(&node.allocatable)));
    }

    /// A node is gone.
    pub fn remove_node(&mut self, node: &Name) {
        if self.rows.contains_key(node) {
            self.change(node, |row| row.allocatable = None);
        }
    }

    /// A pod takes its place on a node.
    pub fn take(&mut self, node: &Name, amounts: Amounts) {
        self.change(node, |row| row.taken.add(amounts, 1));
    }

    /// A pod gives its place back.
    pub fn give_back(&mut self, node: &Name, amounts: Amounts) {
        self.change(node, |row| row.taken.add(amounts, -1));
    }

    fn change(&mut self, node: &Name, how: impl FnOnce(&mut Row)) {
        let index = match self.rows.get_index_of(node) {
            Some(index) => index,
            None => self.rows.insert_full(node.clone(), Row::default()).0,
        };
        let row = &mut self.rows[index];
        let place = |row: &Row| row.allocatable.map(|_| row.taken.pods);
        let before = place(row);
        how(row);
        let after = place(row);
        if before != after {
            before.map(|pods| self.by_pods.remove(&(pods, node.clone())));
            after.map(|pods| self.by_pods.insert((pods, node.clone())));
        }
    }

    /// The node for a pod that asks for so much.
    pub fn choose(&self, wanted: Amounts) -> Option<&Name> {
        self.by_pods.iter().map(|(_, name)| name).find(|name| self.rows[*name].fits(wanted))
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.by_pods.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: i64 = 1 << 30;

    fn rooms() -> Rooms {
        let has = Amounts { cpu_milli: 2_000, memory_bytes: 4 * GIB, pods: 3 };
        let mut rooms = Rooms::default();
        for name in ["b", "a"] {
            rooms.change(&name.into(), |row| row.allocatable = Some(has));
        }
        rooms
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

    #[test]
    fn the_order_is_that_of_looking_at_all_nodes() {
        let naive = |rooms: &Rooms, wanted: Amounts| {
            let fitting = rooms.rows.iter().filter(|(_, row)| row.fits(wanted));
            fitting.min_by_key(|(name, row)| (row.taken.pods, (*name).clone())).map(|(name, _)| name.clone())
        };
        let mut rooms = Rooms::default();
        let names = ["a", "b", "c", "d", "e"].map(Name::from);
        // What happens follows from a counter: 7 and 11 have no factor in common with the five nodes.
        for step in 0..2_000_i64 {
            let name = &names[(step * step * 7 + step / 3) as usize % 5];
            let amounts = Amounts { cpu_milli: step % 11 * 100, memory_bytes: step % 7, pods: 1 };
            match step % 13 {
                0 => rooms.change(name, |row| {
                    row.allocatable = Some(Amounts { cpu_milli: step * 10, memory_bytes: 4 * step, pods: step / 3 })
                }),
                1 if step % 3 == 0 => rooms.remove_node(name),
                2..6 => rooms.give_back(name, amounts),
                _ => rooms.take(name, amounts),
            }
            assert_eq!(rooms.choose(amounts).cloned(), naive(&rooms, amounts), "step {step}");
        }
    }
}
