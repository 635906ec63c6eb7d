//! What the queue counts for metrics: pods that entered a queue, by what put them there, and pods that plugins rejected.
//!
//! Upstream: pkg/scheduler/metrics/metrics.go, `SchedulerQueueIncomingPods`, `UnschedulableReason`;
//! pkg/scheduler/framework/events.go for the labels of events, v1.36.

use std::collections::BTreeMap;

use super::{Place, QueuedPodInfo};
use crate::model::{Name, Node, Pod};
use crate::scheduler::framework::event::scaled_down;
use crate::scheduler::framework::{ClusterEvent, Requests};

/// A pod is new.
pub const POD_ADD: &str = "UnschedulablePodAdd";
/// A pod that was in no queue changed.
pub const POD_UPDATE: &str = "UnschedulablePodUpdate";
/// An attempt failed.
pub const SCHEDULE_ATTEMPT_FAILURE: &str = "ScheduleAttemptFailure";
/// A back-off is over.
pub const BACKOFF_COMPLETE: &str = "BackoffComplete";
/// activeQ was empty.
pub const POP_FROM_BACKOFF_Q: &str = "PopFromBackoffQ";
/// A plugin asked for it.
pub const FORCE_ACTIVATE: &str = "ForceActivate";
/// The pod had been in the pool for five minutes.
pub const UNSCHEDULABLE_TIMEOUT: &str = "UnschedulableTimeout";

/// Counters of the queue.
#[derive(Clone, Debug, Default)]
pub struct QueueCounters {
    incoming: BTreeMap<(&'static str, &'static str), u64>,
    rejected: BTreeMap<(&'static str, Name), u64>,
}

impl QueueCounters {
    /// A pod entered a queue because of this.
    pub fn entered(&mut self, place: Place, event: &'static str) {
        *self.incoming.entry((event, place.label())).or_default() += 1;
    }

    /// Pods that entered a queue, by event and queue.
    pub fn incoming(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
        self.incoming.iter().map(|((event, queue), count)| (*event, *queue, *count))
    }

    /// A plugin rejected a pod of this profile, which is in some queue now.
    pub fn rejected(&mut self, plugin: &'static str, profile: &Name) {
        *self.rejected.entry((plugin, profile.clone())).or_default() += 1;
    }

    /// The pod is tried again, or is gone: nobody rejects it now.
    pub fn left(&mut self, pod: &QueuedPodInfo) {
        let profile = &pod.info.pod.spec.scheduler_name;
        for plugin in &pod.unschedulable_plugins {
            let count = self.rejected.get_mut(&(*plugin, profile.clone())).expect("its rejection was counted");
            *count -= 1;
        }
    }

    /// Pods in the queues that a plugin rejected at their last attempt, by plugin and profile. One pod counts for each plugin
    /// that did.
    pub fn unschedulable(&self) -> impl Iterator<Item = (&'static str, &Name, u64)> {
        self.rejected.iter().map(|((plugin, profile), count)| (*plugin, profile, *count))
    }
}

/// The event's label. Upstream has an event for each property that changed; an update of several has here the label of the
/// first.
pub fn label(event: &ClusterEvent) -> &'static str {
    match event {
        ClusterEvent::NodeAdded(_) => "NodeAdd",
        ClusterEvent::NodeUpdated { old, new } => node_label(old, new),
        ClusterEvent::NodeDeleted(_) => "NodeDelete",
        ClusterEvent::AssignedPodAdded(_) => "AssignedPodAdd",
        ClusterEvent::AssignedPodScaledDown { .. } => "AssignedPodUpdatePodScaleDown",
        ClusterEvent::AssignedPodRelabelled { .. } => "AssignedPodUpdatePodLabel",
        ClusterEvent::AssignedPodDeleted(_) => "AssignedPodDelete",
        ClusterEvent::PodUpdated { old, new } => pod_label(old, new),
    }
}

/// Upstream: `NodeSchedulingPropertiesChange`.
fn node_label(old: &Node, new: &Node) -> &'static str {
    if old.unschedulable && !new.unschedulable {
        "NodeUpdateNodeTaint"
    } else if old.allocatable != new.allocatable {
        "NodeUpdateNodeAllocatable"
    } else if old.meta.labels != new.meta.labels {
        "NodeUpdateNodeLabel"
    } else {
        "NodeUpdateNodeTaint"
    }
}

/// Upstream: `PodSchedulingPropertiesChange`.
fn pod_label(old: &Pod, new: &Pod) -> &'static str {
    if old.meta.labels != new.meta.labels {
        "UnschedulablePodUpdatePodLabel"
    } else if scaled_down(&Requests::of(old), &Requests::of(new)) {
        "UnschedulablePodUpdatePodScaleDown"
    } else if new.spec.scheduling_gates.is_empty() && !old.spec.scheduling_gates.is_empty() {
        "UnschedulablePodUpdatePodSchedulingGatesEliminated"
    } else if old.spec.tolerations.len() != new.spec.tolerations.len() {
        "UnschedulablePodUpdatePodToleration"
    } else {
        POD_UPDATE
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{Labels, RecordId, TaintEffect, Time};
    use crate::scheduler::cache::testing::{bound, node, pod, pod_with, sized_node, taint, toleration};
    use crate::scheduler::framework::{Profile, Version, names};
    use crate::scheduler::queue::{BackoffSettings, Failure, SchedulingQueue};

    #[test]
    fn events_have_upstreams_labels() {
        let of_node = |change: &dyn Fn(&mut Node)| {
            let mut new = node("a");
            change(&mut new);
            label(&ClusterEvent::NodeUpdated { old: Rc::new(node("a")), new: Rc::new(new) })
        };
        assert_eq!(of_node(&|new| new.meta.labels = Labels::default().with("a", "b")), "NodeUpdateNodeLabel");
        assert_eq!(
            of_node(&|new| new.taints = Rc::new([taint("a", "", TaintEffect::NoSchedule)])),
            "NodeUpdateNodeTaint"
        );
        assert_eq!(of_node(&|new| *new = sized_node("a", 1, 1)), "NodeUpdateNodeAllocatable");
        let cordoned = Node { unschedulable: true, ..node("a") };
        let uncordoned = ClusterEvent::NodeUpdated { old: Rc::new(cordoned), new: Rc::new(node("a")) };
        assert_eq!(label(&uncordoned), "NodeUpdateNodeTaint");
        let of_pod = |change: &dyn Fn(&mut Pod)| {
            let old = pod_with("p", 100, 0);
            let mut new = old.clone();
            change(&mut new);
            label(&ClusterEvent::PodUpdated { old: Rc::new(old), new: Rc::new(new) })
        };
        let spec = |new: &mut Pod| new.spec.as_ref().clone();
        assert_eq!(of_pod(&|new| new.meta.labels = Labels::default().with("a", "b")), "UnschedulablePodUpdatePodLabel");
        assert_eq!(of_pod(&|new| *new = pod_with("p", 50, 0)), "UnschedulablePodUpdatePodScaleDown");
        let tolerant = |new: &mut Pod| {
            let mut spec = spec(new);
            spec.tolerations.push(toleration("", "", None));
            new.spec = Rc::new(spec);
        };
        assert_eq!(of_pod(&tolerant), "UnschedulablePodUpdatePodToleration");
        assert_eq!(of_pod(&|new| new.status.nominated_node_name = "a".into()), "UnschedulablePodUpdate");
        assert_eq!(label(&ClusterEvent::AssignedPodDeleted(Rc::new(pod("p")))), "AssignedPodDelete");
    }

    #[test]
    fn pods_are_counted_where_they_enter_and_by_who_rejects_them() {
        let (mut queue, mut now) =
            (SchedulingQueue::new(Rc::new(Profile::default_profile(Version::V1_36)), BackoffSettings::default()), 0);
        let mut at = || {
            now += 1;
            Time(now)
        };
        let rejected = |queue: &SchedulingQueue| -> Vec<(&'static str, u64)> {
            queue.counters().unschedulable().map(|(plugin, _, count)| (plugin, count)).collect()
        };
        queue.add(&Rc::new(pod("p")), RecordId(1), at());
        let queued = queue.pop(at()).expect("one pod");
        let plugins = vec![names::NODE_RESOURCES_FIT, names::TAINT_TOLERATION];
        let pod = queued.info.pod.clone();
        queue.add_unschedulable(queued, &pod, Failure::Rejected(plugins), RecordId(1), at());
        assert_eq!(rejected(&queue), [("NodeResourcesFit", 1), ("TaintToleration", 1)]);
        // Woken within its back-off of a second, and taken at once since activeQ is empty.
        queue.move_on_event(ClusterEvent::AssignedPodDeleted(Rc::new(bound("x", "a", 1, 0))), RecordId(2), at());
        assert_eq!(rejected(&queue), [("NodeResourcesFit", 1), ("TaintToleration", 1)]);
        let queued = queue.pop(at()).expect("popped from backoffQ");
        assert_eq!(rejected(&queue), [("NodeResourcesFit", 0), ("TaintToleration", 0)]);
        queue.add_unschedulable(queued, &pod, Failure::Error, RecordId(1), at());
        assert_eq!(rejected(&queue), [("NodeResourcesFit", 0), ("TaintToleration", 0)]);
        assert_eq!(queue.pop(Time(2_000_000_000)).map(|queued| queued.attempts), Some(3));
        assert_eq!(
            queue.counters().incoming().collect::<Vec<_>>(),
            [
                ("AssignedPodDelete", "backoff", 1),
                ("BackoffComplete", "active", 1),
                ("PopFromBackoffQ", "active", 1),
                ("ScheduleAttemptFailure", "backoff", 1),
                ("ScheduleAttemptFailure", "unschedulable", 1),
                ("UnschedulablePodAdd", "active", 1),
            ]
        );
    }

    #[test]
    fn a_pod_that_is_held_back_counts_for_its_gate_until_it_is_gone() {
        let mut queue =
            SchedulingQueue::new(Rc::new(Profile::default_profile(Version::V1_36)), BackoffSettings::default());
        let mut gated = pod("p");
        Rc::make_mut(&mut gated.spec).scheduling_gates = vec!["a".into()];
        queue.add(&Rc::new(gated.clone()), RecordId(1), Time(1));
        let counts = |queue: &SchedulingQueue| -> Vec<(&'static str, u64)> {
            queue.counters().unschedulable().map(|(plugin, _, count)| (plugin, count)).collect()
        };
        assert_eq!(counts(&queue), [("SchedulingGates", 1)]);
        queue.delete(&crate::scheduler::queue::queue::key_of(&gated));
        assert_eq!(counts(&queue), [("SchedulingGates", 0)]);
    }
}
