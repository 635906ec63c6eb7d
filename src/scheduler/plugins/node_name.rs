//! NodeName: a pod that names its node runs nowhere else.
//!
//! Upstream: pkg/scheduler/framework/plugins/nodename/node_name.go, v1.36.

use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{ClusterEvent, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Status, names};

/// Why a node is rejected.
pub const REASON: &str = "node(s) didn't match the requested node name";

/// The plugin.
pub struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        names::NODE_NAME
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeObject
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        if pod.pod.node_name.is_empty() {
            return PreFilterResult::Skip;
        }
        PreFilterResult::Filter(Box::new(Named(pod)))
    }

    fn is_worth_requeuing(&self, _pod: &PodInfo, event: &ClusterEvent) -> bool {
        matches!(event, ClusterEvent::NodeAdded(_))
    }
}

struct Named<'a>(&'a PodInfo);

impl Filter for Named<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        match *snapshot.name(node) == self.0.pod.node_name {
            true => Ok(()),
            false => Err(Status::unresolvable(REASON)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::verdicts;

    #[test]
    fn only_the_named_node_passes() {
        let mut named = pod("p");
        named.node_name = "b".into();
        let mut cache = cluster([node("a"), node("b")], []);
        assert_eq!(
            verdicts(&NodeName, named, &mut cache),
            [
                ("a", "UnschedulableAndUnresolvable: node(s) didn't match the requested node name".to_string()),
                ("b", "ok".into())
            ]
            .map(|(name, text)| (name.to_string(), text))
        );
        assert!(verdicts(&NodeName, pod("p"), &mut cache).is_empty(), "no filter for a pod without a node");
    }
}
