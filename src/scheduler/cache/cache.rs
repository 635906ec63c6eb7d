//! Node infos, kept up to date by every change instead of being counted anew.
//!
//! Numbers that filters and scores read for thousands of nodes lie flat in one vector of [`NodeSums`]; everything else about
//! a node lies beside it. A [`super::Snapshot`] borrows both: there is no copy per attempt.
//!
//! Upstream: pkg/scheduler/backend/cache/cache.go, v1.36.

use std::cell::RefCell;
use std::rc::Rc;

use super::assume::Assumed;
use super::budgets::Budgets;
use super::generations::Generations;
use super::images::Images;
use super::indexes::Indexes;
use super::node_row::{NodeRow, NodeSums};
use super::selectors::Selectors;
use super::zones::{NodeTree, zone_of};
use crate::model::{Map, Name, Node, Pod, Uid};
use crate::scheduler::framework::PodInfo;
use crate::scheduler::framework::pod_info::Amounts;
use crate::scheduler::plugins::node_resources_fit::allocatable_amounts;

/// The place of a node in the cache; good until the next change of the cache.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeIndex(pub u32);

/// A pod on a node.
#[derive(Clone, Debug)]
pub(super) struct CachedPod {
    pub(super) node: NodeIndex,
    pub(super) info: Rc<PodInfo>,
    /// Placed by this scheduler and not yet seen bound.
    pub(super) assumed: bool,
    /// Whether its requests count on the node.
    pub(super) counted: bool,
}

/// The scheduler's cache.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    pub(super) rows: Vec<NodeRow>,
    pub(super) sums: Vec<NodeSums>,
    /// Hashes of the nodes' names.
    pub(super) name_hashes: Vec<u64>,
    pub(super) by_name: Map<Name, NodeIndex>,
    pub(super) pods: Map<Uid, CachedPod>,
    pub(super) assumed: Assumed,
    pub(super) order: Vec<NodeIndex>,
    pub(super) order_is_stale: bool,
    pub(super) generations: Generations,
    /// Kept for plugins that ask through a snapshot, which only borrows.
    pub(super) indexes: RefCell<Indexes>,
    free: Vec<NodeIndex>,
    tree: NodeTree,
    /// What Services and the owners of pods select, and labels of namespaces.
    pub selectors: Selectors,
    pub(super) images: Images,
    /// PodDisruptionBudgets.
    pub budgets: Budgets,
}

impl Cache {
    /// An empty cache.
    pub fn new() -> Cache {
        Cache::default()
    }

    /// A node is new, or changed.
    pub fn set_node(&mut self, node: &Rc<Node>) {
        let index = self.index_for(&node.meta.name);
        let old = self.rows[index.0 as usize].node.replace(node.clone());
        if !old.as_ref().is_some_and(|old| Rc::ptr_eq(&old.images, &node.images)) {
            self.images.replace(old.as_deref(), Some(node));
        }
        self.sums[index.0 as usize].allocatable = allocatable_amounts(&node.allocatable);
        self.generations.object_changed(index);
        let zone = zone_of(node);
        match old.as_deref().map(zone_of) {
            Some(old_zone) if old_zone == zone => return,
            Some(old_zone) => self.tree.remove(&old_zone, index),
            None => {}
        }
        self.tree.add(zone, index);
        self.order_is_stale = true;
    }

    /// A node is gone. Its pods stay until their own deletion is seen; the node is in no snapshot.
    pub fn remove_node(&mut self, name: &Name) {
        let Some(index) = self.by_name.get(name).copied() else { return };
        if let Some(node) = self.rows[index.0 as usize].node.take() {
            self.tree.remove(&zone_of(&node), index);
            self.images.replace(Some(&node), None);
            self.order_is_stale = true;
        }
        self.sums[index.0 as usize].allocatable = Amounts::default();
        self.generations.object_changed(index);
        self.free_if_unused(index);
    }

    /// A bound pod is new or was seen bound: confirms an assumed one, on whichever node it is.
    pub fn add_pod(&mut self, pod: &Rc<Pod>) {
        self.remove_pod(&pod.meta.uid);
        self.place(Rc::new(PodInfo::new(pod.clone())), &pod.node_name, false, true);
    }

    /// A bound pod changed.
    pub fn update_pod(&mut self, pod: &Rc<Pod>) {
        let same_requests = self.pods.get(&pod.meta.uid).is_some_and(|cached| {
            !cached.assumed
                && Rc::ptr_eq(&cached.info.pod.spec, &pod.spec)
                && self.rows[cached.node.0 as usize].name == pod.node_name
        });
        if !same_requests {
            return self.add_pod(pod);
        }
        let cached = self.pods.get_mut(&pod.meta.uid).expect("it was found above");
        let info = Rc::new(cached.info.with_pod(pod.clone()));
        let before = std::mem::replace(&mut cached.info, info.clone());
        self.rows[cached.node.0 as usize].update_pod(&before, info);
        self.generations.pods_changed(cached.node);
    }

    /// A bound or assumed pod is gone. Returns it, if it was there.
    pub fn remove_pod(&mut self, uid: &Uid) -> Option<Rc<PodInfo>> {
        // The order of `pods` shows nowhere.
        let cached = self.pods.swap_remove(uid)?;
        self.assumed.leaves(&cached);
        if cached.counted {
            let at = cached.node.0 as usize;
            self.rows[at].remove_pod(&mut self.sums[at], &cached.info);
            self.generations.pods_changed(cached.node);
        }
        self.free_if_unused(cached.node);
        Some(cached.info)
    }

    /// What is taken of a node, and how many of its pods are known.
    pub fn sums_of(&self, node: &Name) -> Option<&NodeSums> {
        self.by_name.get(node).map(|index| &self.sums[index.0 as usize])
    }

    /// Puts a pod on a node.
    pub(super) fn place(&mut self, info: Rc<PodInfo>, node: &Name, assumed: bool, counted: bool) {
        let node = self.index_for(node);
        if counted {
            let at = node.0 as usize;
            self.rows[at].add_pod(&mut self.sums[at], info.clone());
            self.generations.pods_changed(node);
        }
        let uid = info.pod.meta.uid.clone();
        let cached = CachedPod { node, info, assumed, counted };
        self.assumed.enters(&cached);
        self.pods.insert(uid, cached);
    }

    pub(super) fn refresh_order(&mut self) {
        if std::mem::take(&mut self.order_is_stale) {
            self.tree.list_into(&mut self.order);
        }
    }

    fn index_for(&mut self, name: &Name) -> NodeIndex {
        if let Some(index) = self.by_name.get(name) {
            return *index;
        }
        let row = NodeRow::new(name.clone());
        let index = match self.free.pop() {
            Some(index) => {
                self.rows[index.0 as usize] = row;
                self.sums[index.0 as usize] = NodeSums::default();
                self.name_hashes[index.0 as usize] = name.stable_hash();
                index
            }
            None => {
                self.rows.push(row);
                self.sums.push(NodeSums::default());
                self.name_hashes.push(name.stable_hash());
                NodeIndex(u32::try_from(self.rows.len() - 1).expect("fewer than 2^32 nodes"))
            }
        };
        self.by_name.insert(name.clone(), index);
        self.generations.object_changed(index);
        index
    }

    fn free_if_unused(&mut self, index: NodeIndex) {
        let row = &self.rows[index.0 as usize];
        if row.node.is_some() || !row.pods.is_empty() {
            return;
        }
        // A pod that does not count yet is not among the row's pods but names it.
        if !self.pods.values().any(|cached| cached.node == index) {
            self.by_name.swap_remove(&row.name);
            self.free.push(index);
        }
    }
}
