//! SchedulingGates: a pod with gates is not tried before the last of them is gone.
//!
//! Upstream: pkg/scheduler/framework/plugins/schedulinggates/scheduling_gates.go, v1.36.

use crate::scheduler::framework::{ClusterEvent, Plugin, PodInfo, Status, names};

/// The plugin.
pub struct SchedulingGates;

impl Plugin for SchedulingGates {
    fn name(&self) -> &'static str {
        names::SCHEDULING_GATES
    }

    fn pre_enqueue(&self, pod: &PodInfo) -> Result<(), Status> {
        let gates: Vec<&str> = pod.pod.spec.scheduling_gates.iter().map(|gate| gate.as_str()).collect();
        match gates.as_slice() {
            [] => Ok(()),
            gates => Err(Status::unresolvable(format!("waiting for scheduling gates: [{}]", gates.join(" ")))),
        }
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::PodUpdated { new, .. } if new.meta.uid == pod.pod.meta.uid
            && new.spec.scheduling_gates.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::Pod;
    use crate::scheduler::cache::testing::{node, pod};

    #[test]
    fn a_pod_waits_for_its_last_gate() {
        let mut gated = pod("p");
        let free = Rc::new(gated.clone());
        Rc::make_mut(&mut gated.spec).scheduling_gates = vec!["a".into(), "b".into()];
        let two = Rc::new(gated.clone());
        Rc::make_mut(&mut gated.spec).scheduling_gates = vec!["a".into()];
        let one = Rc::new(gated);
        let info = PodInfo::new(two.clone());
        let status = SchedulingGates.pre_enqueue(&info).expect_err("it has gates");
        assert_eq!(status.message(), "waiting for scheduling gates: [a b]");
        assert_eq!(SchedulingGates.pre_enqueue(&PodInfo::new(free.clone())), Ok(()));
        let updated = |new: &Rc<Pod>| ClusterEvent::PodUpdated { old: two.clone(), new: new.clone() };
        assert!(!SchedulingGates.is_worth_requeuing(&info, &updated(&one)));
        assert!(SchedulingGates.is_worth_requeuing(&info, &updated(&free)));
        assert!(!SchedulingGates.reconsiders_gated(&info, &ClusterEvent::NodeAdded(Rc::new(node("a")))));
    }
}
