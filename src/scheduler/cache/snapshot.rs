//! The cache as one attempt sees it: borrowed, in the order nodes are looked at.
//!
//! Upstream: pkg/scheduler/backend/cache/snapshot.go, v1.36 (there a copy, refreshed by generations).

use std::rc::Rc;

use super::cache::NodeRow;
use super::{Cache, NodeIndex, NodeSums};
use crate::model::{Key, Map, Name, Node, Pod, Selector};
use crate::scheduler::framework::PodInfo;

/// The nodes and what is on them.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    rows: &'a [NodeRow],
    sums: &'a [NodeSums],
    order: &'a [NodeIndex],
    by_name: &'a Map<Name, NodeIndex>,
    owners: &'a Map<Key, Rc<Selector>>,
}

impl Cache {
    /// The cache for one attempt.
    pub fn snapshot(&mut self) -> Snapshot<'_> {
        self.refresh_order();
        Snapshot {
            rows: &self.rows,
            sums: &self.sums,
            order: &self.order,
            by_name: &self.by_name,
            owners: &self.owners,
        }
    }
}

impl<'a> Snapshot<'a> {
    /// The nodes, zones interleaved.
    pub fn nodes(&self) -> &'a [NodeIndex] {
        self.order
    }

    /// The node object.
    pub fn node(&self, index: NodeIndex) -> &'a Node {
        self.rows[index.0 as usize].node.as_ref().expect("a snapshot lists nodes that have an object")
    }

    /// The node's name.
    pub fn name(&self, index: NodeIndex) -> &'a Name {
        &self.rows[index.0 as usize].name
    }

    /// What the node gives and what is taken.
    pub fn sums(&self, index: NodeIndex) -> &'a NodeSums {
        &self.sums[index.0 as usize]
    }

    /// Extended resources requested on the node, sorted by name.
    pub fn extended_requested(&self, index: NodeIndex) -> &'a [(Name, i64)] {
        &self.rows[index.0 as usize].extended_requested
    }

    /// Its pods, assumed ones included, in no order that means anything.
    pub fn pods(&self, index: NodeIndex) -> &'a [Rc<PodInfo>] {
        &self.rows[index.0 as usize].pods
    }

    /// What the ReplicaSet that controls the pod selects, if it is known.
    pub fn owner_selector(&self, pod: &Pod) -> Option<&'a Selector> {
        let owner = pod.meta.controller()?;
        let key = Key { kind: owner.kind?, namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        self.owners.get(&key).map(|selector| &**selector)
    }

    /// The node with this name.
    pub fn find(&self, name: &Name) -> Option<NodeIndex> {
        self.by_name.get(name).copied().filter(|index| self.rows[index.0 as usize].node.is_some())
    }
}
