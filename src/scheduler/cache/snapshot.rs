//! The cache as one attempt sees it: borrowed, in the order nodes are looked at.
//!
//! Upstream: pkg/scheduler/backend/cache/snapshot.go, v1.36 (there a copy, refreshed by generations).

use std::cell::RefCell;
use std::rc::Rc;

use super::budgets::Budgets;
use super::generations::Generations;
use super::images::{ImageState, Images};
use super::indexes::Indexes;
use super::node_row::{NodeRow, Overlay};
use super::selectors::Selectors;
use super::{Cache, NodeIndex, NodeSums};
use crate::model::{Map, Name, Node};
use crate::scheduler::framework::PodInfo;
use crate::scheduler::framework::pod_info::HostPort;

/// The nodes and what is on them.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    rows: &'a [NodeRow],
    sums: &'a [NodeSums],
    name_hashes: &'a [u64],
    order: &'a [NodeIndex],
    by_name: &'a Map<Name, NodeIndex>,
    selectors: &'a Selectors,
    images: &'a Images,
    generations: &'a Generations,
    indexes: &'a RefCell<Indexes>,
    budgets: &'a Budgets,
    overlay: Option<&'a Overlay>,
}

impl Cache {
    /// The cache for one attempt.
    pub fn snapshot(&mut self) -> Snapshot<'_> {
        self.refresh_order();
        Snapshot {
            rows: &self.rows,
            sums: &self.sums,
            name_hashes: &self.name_hashes,
            order: &self.order,
            by_name: &self.by_name,
            selectors: &self.selectors,
            images: &self.images,
            generations: &self.generations,
            indexes: &self.indexes,
            budgets: &self.budgets,
            overlay: None,
        }
    }
}

impl<'a> Snapshot<'a> {
    /// The same, with one node as it would be.
    pub fn under<'b>(&self, overlay: &'b Overlay) -> Snapshot<'b>
    where
        'a: 'b,
    {
        Snapshot { overlay: Some(overlay), ..*self }
    }

    /// The nodes, zones interleaved.
    pub fn nodes(&self) -> &'a [NodeIndex] {
        self.order
    }

    pub(super) fn row(&self, index: NodeIndex) -> &'a NodeRow {
        match self.overlay {
            Some(overlay) if overlay.index == index => &overlay.row,
            _ => &self.rows[index.0 as usize],
        }
    }

    /// The node object.
    pub fn node(&self, index: NodeIndex) -> &'a Node {
        self.row(index).node.as_ref().expect("a snapshot lists nodes that have an object")
    }

    /// The node's name.
    pub fn name(&self, index: NodeIndex) -> &'a Name {
        &self.row(index).name
    }

    /// [`Name::stable_hash`] of its name.
    pub fn name_hash(&self, index: NodeIndex) -> u64 {
        self.name_hashes[index.0 as usize]
    }

    /// What the node gives and what is taken.
    pub fn sums(&self, index: NodeIndex) -> &'a NodeSums {
        match self.overlay {
            Some(overlay) if overlay.index == index => &overlay.sums,
            _ => &self.sums[index.0 as usize],
        }
    }

    /// Extended resources requested on the node, sorted by name.
    pub fn extended_requested(&self, index: NodeIndex) -> &'a [(Name, i64)] {
        &self.row(index).extended_requested
    }

    /// Its pods, assumed ones included, in the order of upstream's cache.
    pub fn pods(&self, index: NodeIndex) -> &'a [Rc<PodInfo>] {
        &self.row(index).pods
    }

    /// Host ports that the node's pods take.
    pub fn used_ports(&self, index: NodeIndex) -> &'a [HostPort] {
        &self.row(index).used_ports
    }

    /// What Services and the owners of pods select, and labels of namespaces.
    pub fn selectors(&self) -> &'a Selectors {
        self.selectors
    }

    /// An image, by one of its names, if some node has it.
    pub fn image(&self, name: &Name) -> Option<&'a ImageState> {
        self.images.get(name)
    }

    /// When each node was changed last; what an overlay shows has none.
    pub fn generations(&self) -> &'a Generations {
        self.generations
    }

    pub(super) fn indexes(&self) -> &'a RefCell<Indexes> {
        self.indexes
    }

    /// PodDisruptionBudgets.
    pub fn budgets(&self) -> &'a Budgets {
        self.budgets
    }

    /// The node with this name.
    pub fn find(&self, name: &Name) -> Option<NodeIndex> {
        self.by_name.get(name).copied().filter(|index| self.rows[index.0 as usize].node.is_some())
    }
}
