//! Names of the plugins, as messages and metrics write them.
//!
//! Upstream: pkg/scheduler/framework/plugins/names/names.go, v1.36.

/// Pods of high priority are tried first.
pub const PRIORITY_SORT: &str = "PrioritySort";
/// Holds pods with scheduling gates back.
pub const SCHEDULING_GATES: &str = "SchedulingGates";
/// Cordoned nodes.
pub const NODE_UNSCHEDULABLE: &str = "NodeUnschedulable";
/// A pod that names its node.
pub const NODE_NAME: &str = "NodeName";
/// Taints.
pub const TAINT_TOLERATION: &str = "TaintToleration";
/// Node selectors and node affinity.
pub const NODE_AFFINITY: &str = "NodeAffinity";
/// Ports of the node.
pub const NODE_PORTS: &str = "NodePorts";
/// Room for the pod's requests.
pub const NODE_RESOURCES_FIT: &str = "NodeResourcesFit";
/// Pods over nodes and zones.
pub const POD_TOPOLOGY_SPREAD: &str = "PodTopologySpread";
/// CPU and memory used in like shares.
pub const NODE_RESOURCES_BALANCED_ALLOCATION: &str = "NodeResourcesBalancedAllocation";
/// Nearness to other pods.
pub const INTER_POD_AFFINITY: &str = "InterPodAffinity";
/// Images that nodes have.
pub const IMAGE_LOCALITY: &str = "ImageLocality";
/// Creates the binding (the component itself plays it).
pub const DEFAULT_BINDER: &str = "DefaultBinder";
/// Resource claims, which are not simulated; only its word in messages is.
pub const DYNAMIC_RESOURCES: &str = "DynamicResources";
/// Makes room for pods that fit nowhere (the component and `preemption` play it).
pub const DEFAULT_PREEMPTION: &str = "DefaultPreemption";
