//! Node leases: what tells the control plane that a node lives.
//!
//! DIVERGES: the renewals of all nodes in a period arrive in one request and are one commit, without jitter; upstream each
//! kubelet renews on its own every 10 s times a factor of up to 1.04.
//!
//! Upstream: pkg/kubelet/kubelet.go (`setupNodeLease`), component-helpers/apimachinery/lease/controller.go, v1.36.

use std::rc::Rc;

use crate::model::{ConditionStatus, Key, Kind, Name, Node, find_condition};

/// Where node leases live.
pub const NAMESPACE: &str = "kube-node-lease";

/// The leases of these nodes.
pub fn lease_keys<'a>(nodes: impl Iterator<Item = &'a Name>) -> Rc<[Key]> {
    let namespace = Name::from(NAMESPACE);
    nodes.map(|node| Key { kind: Kind::Lease, namespace: namespace.clone(), name: node.clone() }).collect()
}

/// Whether the node has a kubelet that runs and reports. One whose manifest says that it is not ready (False or Unknown) has
/// none: no lease is renewed, no pod of it starts or ends, and nobody makes it ready.
pub fn has_kubelet(node: &Node) -> bool {
    find_condition(&node.conditions, "Ready").is_none_or(|ready| ready.status == ConditionStatus::True)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_named_after_its_node() {
        let nodes = [Name::from("n2"), Name::from("n1")];
        let keys = lease_keys(nodes.iter());
        assert_eq!(*keys, [Key::new(Kind::Lease, NAMESPACE, "n2"), Key::new(Kind::Lease, NAMESPACE, "n1")]);
    }
}
