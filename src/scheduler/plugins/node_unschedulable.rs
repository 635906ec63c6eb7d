//! NodeUnschedulable: cordoned nodes take no new pods, unless the pod tolerates the taint that cordoning stands for.
//!
//! Upstream: pkg/scheduler/framework/plugins/nodeunschedulable/node_unschedulable.go, v1.36.

use crate::model::{Pod, Taint, TaintEffect};
use crate::rules::tolerations;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{ClusterEvent, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Status, names};

/// Why a node is rejected.
pub const REASON: &str = "node(s) were unschedulable";

/// The plugin.
pub struct NodeUnschedulable;

/// Whether the pod may run on cordoned nodes.
fn tolerates_unschedulable(pod: &Pod) -> bool {
    let taint = Taint {
        key: "node.kubernetes.io/unschedulable".into(),
        value: Default::default(),
        effect: TaintEffect::NoSchedule,
        time_added: None,
    };
    tolerations::tolerates(&pod.spec.tolerations, &taint)
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        names::NODE_UNSCHEDULABLE
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeObject
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        if tolerates_unschedulable(&pod.pod) {
            return PreFilterResult::Skip;
        }
        PreFilterResult::Filter(Box::new(Schedulable))
    }

    fn is_worth_requeuing(&self, _pod: &PodInfo, event: &ClusterEvent) -> bool {
        match event {
            ClusterEvent::NodeAdded(node) => !node.unschedulable,
            ClusterEvent::NodeUpdated { old, new } => old.unschedulable && !new.unschedulable,
            ClusterEvent::PodUpdated { old, new } => {
                old.spec.tolerations != new.spec.tolerations && tolerates_unschedulable(new)
            }
            _ => false,
        }
    }
}

struct Schedulable;

impl Filter for Schedulable {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        match snapshot.node(node).unschedulable {
            false => Ok(()),
            true => Err(Status::unresolvable(REASON)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::{cluster, node, pod, toleration};
    use crate::scheduler::plugins::testing::verdicts;

    #[test]
    fn cordoned_nodes_are_rejected_unless_tolerated() {
        let mut cordoned = node("a");
        cordoned.unschedulable = true;
        let mut cache = cluster([cordoned, node("b")], []);
        let got = verdicts(&NodeUnschedulable, pod("p"), &mut cache);
        assert_eq!(got[0].1, "UnschedulableAndUnresolvable: node(s) were unschedulable");
        assert_eq!(got[1].1, "ok");
        let mut tolerant = pod("p");
        let spec = Rc::make_mut(&mut tolerant.spec);
        spec.tolerations = vec![toleration("node.kubernetes.io/unschedulable", "", None)];
        assert!(verdicts(&NodeUnschedulable, tolerant, &mut cache).is_empty());
    }

    #[test]
    fn uncordoning_wakes() {
        let (open, mut cordoned) = (Rc::new(node("a")), node("a"));
        cordoned.unschedulable = true;
        let cordoned = Rc::new(cordoned);
        let info = PodInfo::new(Rc::new(pod("p")));
        for (event, wakes) in [
            (ClusterEvent::NodeAdded(open.clone()), true),
            (ClusterEvent::NodeAdded(cordoned.clone()), false),
            (ClusterEvent::NodeUpdated { old: cordoned.clone(), new: open.clone() }, true),
            (ClusterEvent::NodeUpdated { old: open, new: cordoned }, false),
        ] {
            assert_eq!(NodeUnschedulable.is_worth_requeuing(&info, &event), wakes, "{event:?}");
        }
    }
}
