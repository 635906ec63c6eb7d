//! The plugins, one a file, with the exact texts and codes of upstream.
//!
//! Upstream: pkg/scheduler/framework/plugins, v1.36.

pub mod node_affinity;
pub mod node_name;
pub mod node_resources_balanced_allocation;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod pod_topology_spread;
pub mod taint_toleration;

pub use node_affinity::NodeAffinity;
pub use node_name::NodeName;
pub use node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
pub use node_resources_fit::NodeResourcesFit;
pub use node_unschedulable::NodeUnschedulable;
pub use pod_topology_spread::PodTopologySpread;
pub use taint_toleration::TaintToleration;

#[cfg(test)]
pub(crate) mod testing;
