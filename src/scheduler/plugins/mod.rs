//! The plugins, one a file, with the exact texts and codes of upstream.
//!
//! Upstream: pkg/scheduler/framework/plugins, v1.36.

pub mod image_locality;
pub mod inter_pod_affinity;
pub mod node_affinity;
pub mod node_affinity_added;
pub mod node_name;
pub mod node_ports;
pub mod node_resources_balanced_allocation;
pub mod node_resources_configured;
pub mod node_resources_fit;
pub mod node_unschedulable;
pub mod pod_topology_spread;
pub mod priority_sort;
pub mod scheduling_gates;
pub mod taint_toleration;

pub use image_locality::ImageLocality;
pub use inter_pod_affinity::InterPodAffinity;
pub use node_affinity::NodeAffinity;
pub use node_affinity_added::NodeAffinityAdded;
pub use node_name::NodeName;
pub use node_ports::NodePorts;
pub use node_resources_balanced_allocation::NodeResourcesBalancedAllocation;
pub use node_resources_configured::{ConfiguredBalance, ConfiguredFit};
pub use node_resources_fit::NodeResourcesFit;
pub use node_unschedulable::NodeUnschedulable;
pub use pod_topology_spread::PodTopologySpread;
pub use priority_sort::PrioritySort;
pub use scheduling_gates::SchedulingGates;
pub use taint_toleration::TaintToleration;

use crate::model::Pod;
use crate::scheduler::framework::Version;

#[cfg(test)]
mod node_number;
#[cfg(test)]
pub(crate) mod testing;

/// Whether hints about placed pods look at this one: pods that are only nominated count since 1.36 (kubernetes#135392).
fn counts_as_placed(pod: &Pod, version: Version) -> bool {
    let is_only_nominated = pod.node_name.is_empty() && !pod.status.nominated_node_name.is_empty();
    version >= Version::V1_36 || !is_only_nominated
}
