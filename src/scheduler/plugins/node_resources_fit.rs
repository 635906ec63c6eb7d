//! NodeResourcesFit: room for the pod's requests, and the more of it is left the better (LeastAllocated).
//!
//! Upstream: pkg/scheduler/framework/plugins/noderesources/{fit,least_allocated,resource_allocation}.go, v1.36.
//! Not modelled: other scoring strategies, ignored resources, device classes that map extended resources.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::model::{Name, Node, Resources};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::pod_info::{Amounts, CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amount_of};
use crate::scheduler::framework::status::Reason;
use crate::scheduler::framework::{
    ClusterEvent, Code, Filter, Plugin, PodInfo, PreFilterResult, Requests, Score, Status, names,
};

/// The shortages of the fixed resources, in the order they are looked at.
const INSUFFICIENT: [(usize, &str); 3] =
    [(CPU, "Insufficient cpu"), (MEMORY, "Insufficient memory"), (EPHEMERAL_STORAGE, "Insufficient ephemeral-storage")];

/// The plugin.
pub struct NodeResourcesFit;

impl Plugin for NodeResourcesFit {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_FIT
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        PreFilterResult::Filter(Box::new(Fits(&pod.requests)))
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        Some(Box::new(LeastAllocated(pod.requests.nonzero)))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        match event {
            ClusterEvent::AssignedPodDeleted(_) => true,
            ClusterEvent::AssignedPodScaledDown { old, new } => {
                shrank_in_a_requested_resource(&pod.requests, &Requests::of(old), &Requests::of(new))
            }
            ClusterEvent::PodUpdated { old, new } => {
                shrank_in_a_requested_resource(&Requests::of(old), &Requests::of(old), &Requests::of(new))
            }
            ClusterEvent::NodeAdded(node) => fits_empty(&pod.requests, node),
            ClusterEvent::NodeUpdated { old, new } => {
                fits_empty(&pod.requests, new) && grew_for(&pod.requests, &old.allocatable, &new.allocatable)
            }
            ClusterEvent::AssignedPodAdded(_) => false,
        }
    }
}

/// What a node can give: its allocatable by index. Also of a node that is not in the cache.
pub fn allocatable_amounts(allocatable: &Resources) -> Amounts {
    [
        allocatable.cpu_milli.unwrap_or(0),
        allocatable.memory_bytes.unwrap_or(0),
        allocatable.ephemeral_storage_bytes.unwrap_or(0),
        allocatable.pods.unwrap_or(0),
    ]
}

/// Everything the node lacks for the pod; `None` when it fits.
///
/// The number of pods is looked at first and never makes the lack unresolvable; any other lack that even the empty node has does.
fn shortage(
    requests: &Requests,
    allocatable: &Amounts,
    requested: &Amounts,
    extended_allocatable: &[(Name, i64)],
    extended_requested: &[(Name, i64)],
) -> Option<Status> {
    let mut reasons: SmallVec<[Reason; 1]> = SmallVec::new();
    let mut code = Code::Unschedulable;
    if requested[PODS] + 1 > allocatable[PODS] {
        reasons.push(Cow::Borrowed("Too many pods"));
    }
    let mut lack = |amount: i64, allocatable: i64, requested: i64| {
        let lacks = amount > 0 && amount > allocatable - requested;
        if lacks && amount > allocatable {
            code = Code::UnschedulableAndUnresolvable;
        }
        lacks
    };
    for (index, reason) in INSUFFICIENT {
        if lack(requests.amounts[index], allocatable[index], requested[index]) {
            reasons.push(Cow::Borrowed(reason));
        }
    }
    for (name, amount) in &requests.extended {
        if lack(*amount, amount_of(extended_allocatable, name), amount_of(extended_requested, name)) {
            reasons.push(Cow::Owned(format!("Insufficient {name}")));
        }
    }
    (!reasons.is_empty()).then_some(Status { code, reasons })
}

/// Whether the pod fits the node when nothing else runs there.
fn fits_empty(requests: &Requests, node: &Node) -> bool {
    let allocatable = allocatable_amounts(&node.allocatable);
    shortage(requests, &allocatable, &[0; 4], &node.allocatable.extended, &[]).is_none()
}

/// Whether allocatable grew in something the pod requests, or in the number of pods.
fn grew_for(requests: &Requests, old: &Resources, new: &Resources) -> bool {
    let (before, after) = (allocatable_amounts(old), allocatable_amounts(new));
    (CPU..=PODS).any(|index| requests.amounts[index] > 0 && after[index] > before[index])
        || requests
            .extended
            .iter()
            .any(|(name, amount)| *amount > 0 && amount_of(&new.extended, name) > amount_of(&old.extended, name))
}

/// Whether a pod that went from `old` to `new` freed some of what `pod` requests.
fn shrank_in_a_requested_resource(pod: &Requests, old: &Requests, new: &Requests) -> bool {
    (CPU..PODS).any(|index| pod.amounts[index] > 0 && new.amounts[index] < old.amounts[index])
        || pod.extended.iter().any(|(name, amount)| *amount > 0 && new.extended(name) < old.extended(name))
}

struct Fits<'a>(&'a Requests);

impl Filter for Fits<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        let sums = snapshot.sums(node);
        let extended = snapshot.extended_requested(node);
        let allocatable = &snapshot.node(node).allocatable.extended;
        match shortage(self.0, &sums.allocatable, &sums.requested, allocatable, extended) {
            None => Ok(()),
            Some(status) => Err(status),
        }
    }
}

/// LeastAllocated with the pod's non-zero requests.
struct LeastAllocated([i64; 2]);

impl Score for LeastAllocated {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let sums = snapshot.sums(*node);
            let requested = [sums.nonzero[CPU] + self.0[CPU], sums.nonzero[MEMORY] + self.0[MEMORY]];
            *score = least_allocated(requested, [sums.allocatable[CPU], sums.allocatable[MEMORY]]);
        }
    }
}

/// The mean over CPU and memory of the percentage left, each and the mean rounded down; resources the node does not have are
/// left out.
fn least_allocated(requested: [i64; 2], allocatable: [i64; 2]) -> i64 {
    let (mut sum, mut count) = (0, 0);
    for (requested, allocatable) in requested.into_iter().zip(allocatable) {
        if allocatable == 0 {
            continue;
        }
        count += 1;
        if requested <= allocatable {
            sum += (allocatable - requested) * MAX_NODE_SCORE / allocatable;
        }
    }
    if count == 0 { 0 } else { sum / count }
}
