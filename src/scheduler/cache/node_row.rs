//! What is known of one node: the object, its pods and what they take.
//!
//! Upstream: pkg/scheduler/framework/types.go, `NodeInfo`, v1.36.

use std::rc::Rc;

use super::{NodeIndex, Snapshot};
use crate::model::{Name, Node, Uid};
use crate::scheduler::framework::PodInfo;
use crate::scheduler::framework::pod_info::{Amounts, HostPort};

/// What a node gives and what is taken, by the indexes of [`crate::scheduler::framework::pod_info`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeSums {
    /// Allocatable.
    pub allocatable: Amounts,
    /// Requests of its pods, and their number.
    pub requested: Amounts,
    /// CPU and memory with assumed amounts for containers that name none.
    pub nonzero: [i64; 2],
}

/// The rest of what is known about a node.
#[derive(Clone, Debug)]
pub(super) struct NodeRow {
    pub(super) name: Name,
    /// `None` while only pods on it are known.
    pub(super) node: Option<Rc<Node>>,
    /// In upstream's order, which shows where preemption finds pods alike: the last takes the place of one that goes, and a pod
    /// that changed goes and comes.
    pub(super) pods: Vec<Rc<PodInfo>>,
    /// Extended resources requested by its pods, sorted by name.
    pub(super) extended_requested: Vec<(Name, i64)>,
    /// Host ports that its pods take: a set, as upstream's `HostPortInfo`. One that two pods take (bound past the scheduler) is
    /// free when either goes.
    pub(super) used_ports: Vec<HostPort>,
}

impl NodeRow {
    pub(super) fn new(name: Name) -> NodeRow {
        NodeRow { name, node: None, pods: Vec::new(), extended_requested: Vec::new(), used_ports: Vec::new() }
    }

    /// Counts a pod on the node.
    pub(super) fn add_pod(&mut self, sums: &mut NodeSums, info: Rc<PodInfo>) {
        self.count(sums, &info, 1);
        for port in &info.host_ports {
            if !self.used_ports.contains(port) {
                self.used_ports.push(port.clone());
            }
        }
        self.pods.push(info);
    }

    /// No longer counts a pod.
    pub(super) fn remove_pod(&mut self, sums: &mut NodeSums, info: &Rc<PodInfo>) {
        self.count(sums, info, -1);
        self.used_ports.retain(|used| !info.host_ports.contains(used));
        if let Some(place) = self.pods.iter().position(|other| Rc::ptr_eq(other, info)) {
            self.pods.swap_remove(place);
        }
    }

    /// The same pod with the same requests, changed otherwise.
    pub(super) fn update_pod(&mut self, before: &Rc<PodInfo>, info: Rc<PodInfo>) {
        if let Some(place) = self.pods.iter().position(|other| Rc::ptr_eq(other, before)) {
            self.pods.swap_remove(place);
            self.pods.push(info);
        }
    }

    fn count(&mut self, sums: &mut NodeSums, info: &PodInfo, sign: i64) {
        for (sum, amount) in sums.requested.iter_mut().zip(info.requests.amounts) {
            *sum += sign * amount;
        }
        for (sum, amount) in sums.nonzero.iter_mut().zip(info.requests.nonzero) {
            *sum += sign * amount;
        }
        for (name, amount) in &info.requests.extended {
            match self.extended_requested.binary_search_by(|(other, _)| other.cmp(name)) {
                Ok(at) => self.extended_requested[at].1 += sign * amount,
                Err(at) => self.extended_requested.insert(at, (name.clone(), sign * amount)),
            }
        }
    }
}

/// A node as it would be with other pods on it: what dry runs look at, through [`Snapshot::under`].
#[derive(Clone, Debug)]
pub struct Overlay {
    pub(super) index: NodeIndex,
    pub(super) row: NodeRow,
    pub(super) sums: NodeSums,
}

impl Overlay {
    /// A copy of the node as it is.
    pub fn of(snapshot: &Snapshot<'_>, index: NodeIndex) -> Overlay {
        Overlay { index, row: snapshot.row(index).clone(), sums: *snapshot.sums(index) }
    }

    /// The node.
    pub fn index(&self) -> NodeIndex {
        self.index
    }

    /// Its pods.
    pub fn pods(&self) -> &[Rc<PodInfo>] {
        &self.row.pods
    }

    /// Puts a pod on it.
    pub fn add_pod(&mut self, info: Rc<PodInfo>) {
        self.row.add_pod(&mut self.sums, info);
    }

    /// Takes a pod off it. Returns it, if it was there.
    pub fn remove_pod(&mut self, uid: &Uid) -> Option<Rc<PodInfo>> {
        let info = self.row.pods.iter().find(|info| info.pod.meta.uid == *uid).cloned()?;
        self.row.remove_pod(&mut self.sums, &info);
        Some(info)
    }
}
