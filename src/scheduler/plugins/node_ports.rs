//! NodePorts: two pods cannot take the same port of a node.
//!
//! Upstream: pkg/scheduler/framework/plugins/nodeports/node_ports.go, and `HostPortInfo.CheckConflict` of
//! pkg/scheduler/framework/types.go, v1.36.

use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{
    ClusterEvent, DependsOn, Filter, HostPort, Plugin, PodInfo, PreFilterResult, Status, names,
};

/// Why a node is rejected.
pub const REASON: &str = "node(s) didn't have free ports for the requested pod ports";
/// An address that stands for all addresses of a node.
const ANY: &str = "0.0.0.0";

/// The plugin.
pub struct NodePorts;

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        names::NODE_PORTS
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeAndPods
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match pod.host_ports.is_empty() {
            true => PreFilterResult::Skip,
            false => PreFilterResult::Filter(Box::new(Free(&pod.host_ports))),
        }
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        match event {
            ClusterEvent::NodeAdded(_) => true,
            ClusterEvent::AssignedPodDeleted(gone) => conflict(&pod.host_ports, &PodInfo::new(gone.clone()).host_ports),
            _ => false,
        }
    }
}

/// Whether some wanted port is taken.
pub fn conflict(wanted: &[HostPort], used: &[HostPort]) -> bool {
    wanted.iter().any(|wanted| {
        used.iter().any(|used| {
            used.port == wanted.port
                && used.protocol == wanted.protocol
                && (used.ip == wanted.ip || used.ip == ANY || wanted.ip == ANY)
        })
    })
}

struct Free<'a>(&'a [HostPort]);

impl Filter for Free<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        match conflict(self.0, snapshot.used_ports(node)) {
            false => Ok(()),
            true => Err(Status::unschedulable(REASON)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{ContainerPort, Pod};
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::verdicts;

    fn with_port(name: &str, on: &str, ip: &str, protocol: &str, port: i32) -> Pod {
        let mut pod = Pod { node_name: on.into(), ..pod(name) };
        let taken = ContainerPort {
            container_port: 80,
            host_port: port,
            host_ip: ip.into(),
            protocol: protocol.into(),
            ..ContainerPort::default()
        };
        Rc::make_mut(&mut pod.spec).containers[0].ports = vec![taken];
        pod
    }

    #[test]
    fn a_port_is_taken_once_an_address_and_protocol() {
        let others = [
            with_port("p1", "a", "", "TCP", 80),
            with_port("p2", "b", "10.0.0.1", "TCP", 80),
            with_port("p3", "c", "", "UDP", 80),
        ];
        let mut cache = cluster([node("a"), node("b"), node("c")], others);
        let taken = "Unschedulable: node(s) didn't have free ports for the requested pod ports";
        for (wanted, expected) in [
            (with_port("p", "", "", "", 80), vec![taken, taken, "ok"]),
            (with_port("p", "", "10.0.0.1", "TCP", 80), vec![taken, taken, "ok"]),
            (with_port("p", "", "10.0.0.2", "TCP", 80), vec![taken, "ok", "ok"]),
            (with_port("p", "", "10.0.0.2", "UDP", 80), vec!["ok", "ok", taken]),
            (with_port("p", "", "", "TCP", 81), vec!["ok", "ok", "ok"]),
            (with_port("p", "", "", "TCP", 0), vec![]),
        ] {
            let verdicts = verdicts(&NodePorts, wanted.clone(), &mut cache);
            let texts: Vec<&str> = verdicts.iter().map(|(_, text)| text.as_str()).collect();
            assert_eq!(texts, expected, "{:?}", wanted.spec.containers[0].ports);
        }
    }

    #[test]
    fn a_port_given_back_wakes() {
        let info = PodInfo::new(Rc::new(with_port("p", "", "", "TCP", 80)));
        let other = |port| Rc::new(with_port("q", "a", "10.0.0.1", "TCP", port));
        for (event, wakes) in [
            (ClusterEvent::AssignedPodDeleted(other(80)), true),
            (ClusterEvent::AssignedPodDeleted(other(81)), false),
            (ClusterEvent::AssignedPodDeleted(other(0)), false),
            (ClusterEvent::AssignedPodAdded(other(80)), false),
            (ClusterEvent::NodeAdded(Rc::new(node("b"))), true),
        ] {
            assert_eq!(NodePorts.is_worth_requeuing(&info, &event), wakes, "{event:?}");
        }
    }
}
