//! Events of the cluster that may make a rejected pod schedulable.
//!
//! Upstream: pkg/scheduler/framework/events.go, v1.36. Upstream emits one event per changed property and looks up the
//! plugins registered for it; here an update carries old and new and each plugin's hint looks at the property it registered.

use std::rc::Rc;

use super::pod_info::Requests;
use crate::model::{Node, Pod};

/// What happened.
#[derive(Clone, Debug)]
pub enum ClusterEvent {
    /// A node is new.
    NodeAdded(Rc<Node>),
    /// A node changed in a way that matters to scheduling.
    NodeUpdated {
        /// Before.
        old: Rc<Node>,
        /// After.
        new: Rc<Node>,
    },
    /// A node is gone.
    NodeDeleted(Rc<Node>),
    /// A bound pod is new (also the scheduler's own binding, once the informer shows it).
    AssignedPodAdded(Rc<Pod>),
    /// A bound pod asks for less than before.
    AssignedPodScaledDown {
        /// Before.
        old: Rc<Pod>,
        /// After.
        new: Rc<Pod>,
    },
    /// A bound pod has other labels than before.
    AssignedPodRelabelled {
        /// Before.
        old: Rc<Pod>,
        /// After.
        new: Rc<Pod>,
    },
    /// A bound pod is gone, or an assumed pod was taken back. Also a pending pod that was nominated (it names no node then)
    /// and is gone, or is nominated elsewhere: others had left it its room.
    AssignedPodDeleted(Rc<Pod>),
    /// The pending pod itself changed; asked only of that pod.
    PodUpdated {
        /// Before.
        old: Rc<Pod>,
        /// After.
        new: Rc<Pod>,
    },
}

impl ClusterEvent {
    /// The event of a node's update; `None` when nothing that scheduling looks at changed (heartbeats, images).
    ///
    /// DIVERGES: changes of conditions and annotations make no event: no modelled plugin asks for them.
    pub fn of_node_update(old: &Rc<Node>, new: &Rc<Node>) -> Option<ClusterEvent> {
        let same = old.unschedulable == new.unschedulable
            && (Rc::ptr_eq(&old.taints, &new.taints) || old.taints == new.taints)
            && (Rc::ptr_eq(&old.allocatable, &new.allocatable) || old.allocatable == new.allocatable)
            && old.meta.labels == new.meta.labels;
        (!same).then(|| ClusterEvent::NodeUpdated { old: old.clone(), new: new.clone() })
    }

    /// The events of a bound pod's update: it has other labels, some request shrank.
    ///
    /// Upstream: `PodSchedulingPropertiesChange`; what else it looks at matters to pending pods only.
    pub fn of_assigned_pod_update(old: &Rc<Pod>, new: &Rc<Pod>) -> Vec<ClusterEvent> {
        let mut events = Vec::new();
        if old.meta.labels != new.meta.labels {
            events.push(ClusterEvent::AssignedPodRelabelled { old: old.clone(), new: new.clone() });
        }
        if may_be_scaled_down(old, new) && scaled_down(&Requests::of(old), &Requests::of(new)) {
            events.push(ClusterEvent::AssignedPodScaledDown { old: old.clone(), new: new.clone() });
        }
        events
    }
}

/// Requests come from the spec and, while a pod is resized, from its status.
fn may_be_scaled_down(old: &Rc<Pod>, new: &Rc<Pod>) -> bool {
    let is_resized = || old.status.containers.iter().chain(&old.status.init_containers).any(|one| one.held.is_some());
    !Rc::ptr_eq(&old.spec, &new.spec) || is_resized()
}

/// Whether any request of `new` is below that of `old`.
pub fn scaled_down(old: &Requests, new: &Requests) -> bool {
    old.amounts.iter().zip(new.amounts).any(|(old, new)| new < *old)
        || old.extended.iter().any(|(name, amount)| new.extended(name) < *amount)
}
