//! NodeResourcesFit: room for the pod's requests, and the more of it is left the better (LeastAllocated).
//!
//! Upstream: pkg/scheduler/framework/plugins/noderesources/{fit,least_allocated,resource_allocation}.go, v1.36.
//! Not modelled: other scoring strategies, ignored resources, device classes that map extended resources.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::model::{Name, Node, Resources};
use crate::rules::pod_requests;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::pod_info::{Amounts, CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amount_of};
use crate::scheduler::framework::status::Reason;
use crate::scheduler::framework::{
    ClusterEvent, Code, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Requests, Score, Status, names,
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

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeAndPods
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
        Some(Box::new(LeastAllocated(scored_requests(pod))))
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
            ClusterEvent::AssignedPodAdded(_)
            | ClusterEvent::AssignedPodRelabelled { .. }
            | ClusterEvent::NodeDeleted(_) => false,
        }
    }
}

/// The requests a pod is scored with. Upstream leaves requests at pod level out here, though not in the sums of a node: its
/// `resourceAllocationScorer` is made without them for this plugin.
pub(in crate::scheduler) fn scored_requests(pod: &PodInfo) -> [i64; 2] {
    let spec = &pod.pod.spec;
    if spec.pod_requests.is_none() {
        return pod.requests.nonzero;
    }
    let defaults = Resources {
        cpu_milli: Some(pod_requests::DEFAULT_CPU_MILLI),
        memory_bytes: Some(pod_requests::DEFAULT_MEMORY_BYTES),
        ..Resources::default()
    };
    let mut total = pod_requests::aggregate(spec, &defaults);
    if let Some(overhead) = &spec.overhead {
        total = pod_requests::sum(&total, overhead);
    }
    [total.cpu_milli.unwrap_or(0), total.memory_bytes.unwrap_or(0)]
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

/// The filter for these requests.
pub(super) struct FitsOwned(pub(super) Requests);

impl Filter for FitsOwned {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        Fits(&self.0).filter(snapshot, node)
    }
}

impl Filter for Fits<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        let sums = snapshot.sums(node);
        // Most pods want none, and their sums lie flat: the node itself need not be read.
        let (allocatable, requested): (&[_], &[_]) = match self.0.extended.is_empty() {
            true => (&[], &[]),
            false => (&snapshot.node(node).allocatable.extended, snapshot.extended_requested(node)),
        };
        match shortage(self.0, &sums.allocatable, &sums.requested, allocatable, requested) {
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

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::Pod;
    use crate::scheduler::cache::testing::{bound, cluster, node, pod, pod_with, sized_node};
    use crate::scheduler::plugins::testing::{scores, verdicts};

    const GIB: i64 = 1 << 30;

    fn with_gpus(mut pod: Pod, gpus: i64) -> Pod {
        Rc::make_mut(&mut pod.spec).containers[0].requests.extended = vec![("nvidia.com/gpu".into(), gpus)];
        pod
    }

    fn limited(name: &str, pods: i64, gpus: i64) -> Node {
        let mut node = sized_node(name, 2_000, 2 * GIB);
        let allocatable = Rc::make_mut(&mut node.allocatable);
        allocatable.pods = Some(pods);
        allocatable.extended = vec![("nvidia.com/gpu".into(), gpus)];
        node
    }

    #[test]
    fn every_shortage_is_named_and_the_code_says_whether_room_could_be_made() {
        // 2 CPU, 2 GiB, 1 pod, 1 GPU; one pod with 500m, 1 GiB and the GPU runs.
        let mut cache = cluster([limited("a", 1, 1)], [with_gpus(bound("x", "a", 500, GIB), 1)]);
        for (pod, expected) in [
            // 1500m and 1 GiB are left: only the number of pods is in the way, which never is unresolvable.
            (pod_with("p", 1_500, GIB), "Unschedulable: Too many pods"),
            // 1501 > 1500 left but <= 2000 of the empty node.
            (pod_with("p", 1_501, GIB), "Unschedulable: Too many pods, Insufficient cpu"),
            // 2001 > 2000: unresolvable; 1 GiB + 1 > 1 GiB.
            (
                pod_with("p", 2_001, GIB + 1),
                "UnschedulableAndUnresolvable: Too many pods, Insufficient cpu, Insufficient memory",
            ),
            (with_gpus(pod("p"), 1), "Unschedulable: Too many pods, Insufficient nvidia.com/gpu"),
            (with_gpus(pod("p"), 2), "UnschedulableAndUnresolvable: Too many pods, Insufficient nvidia.com/gpu"),
            (with_gpus(pod("p"), 0), "Unschedulable: Too many pods"),
        ] {
            assert_eq!(verdicts(&NodeResourcesFit, pod, &mut cache)[0].1, expected);
        }
        let mut roomy = cluster([limited("a", 2, 1)], [bound("x", "a", 500, GIB)]);
        assert_eq!(verdicts(&NodeResourcesFit, with_gpus(pod_with("p", 1_500, GIB), 1), &mut roomy)[0].1, "ok");
    }

    #[test]
    fn least_allocated_takes_the_mean_of_what_is_left() {
        // (10000-3000)*100/10000 = 70 and (8-5)*100/8 = 37 (37.5): mean 107/2 = 53.
        assert_eq!(least_allocated([3_000, 5 * GIB], [10_000, 8 * GIB]), 53);
        // More than there is scores 0: (0 + 50)/2.
        assert_eq!(least_allocated([3_000, GIB], [2_000, 2 * GIB]), 25);
        // A resource the node does not have is left out.
        assert_eq!(least_allocated([500, GIB], [1_000, 0]), 50);
        assert_eq!(least_allocated([500, GIB], [0, 0]), 0);
    }

    #[test]
    fn scores_assume_requests_where_none_are_named() {
        // Node 10 CPU, 10 GiB; x and p name nothing: each 100m and 200 MiB.
        // (10000-200)*100/10000 = 98; (10240-400)*100/10240 = 96 (96.09): 194/2 = 97. On b p alone: 99 and 98 (98.05): 98.
        let mut cache = cluster([node("a"), node("b")], [bound("x", "a", 0, 0)]);
        assert_eq!(scores(&NodeResourcesFit, pod("p"), &mut cache), Some(vec![97, 98]));
    }

    #[test]
    fn requests_at_pod_level_are_not_scored() {
        // As if the container alone asked: 100m and 200 MiB: (4000-100)/40 = 97, (8192-200)/81.92 = 97: 97, not 50 and 93.
        let mut whole = pod("p");
        Rc::make_mut(&mut whole.spec).pod_requests =
            Some(Resources { cpu_milli: Some(2_000), memory_bytes: Some(GIB / 2), ..Resources::default() });
        let mut cache = cluster([sized_node("a", 4_000, 8 * GIB)], []);
        assert_eq!(scores(&NodeResourcesFit, whole, &mut cache), Some(vec![97]));
    }

    #[test]
    fn room_that_appears_wakes() {
        let info = PodInfo::new(Rc::new(pod_with("p", 1_000, 0)));
        let sized = |cpu, memory| Rc::new(sized_node("a", cpu, memory));
        let update = |old, new| ClusterEvent::NodeUpdated { old, new };
        for (event, wakes) in [
            (ClusterEvent::AssignedPodDeleted(Rc::new(bound("x", "a", 1, 0))), true),
            (ClusterEvent::AssignedPodAdded(Rc::new(bound("x", "a", 1, 0))), false),
            (ClusterEvent::NodeAdded(sized(1_000, 0)), true),
            (ClusterEvent::NodeAdded(sized(999, 0)), false),
            (update(sized(1_000, 0), sized(1_001, 0)), true),
            // Too small even when empty.
            (update(sized(500, 0), sized(999, 0)), false),
            // Only memory grew, which the pod does not request.
            (update(sized(1_000, 0), sized(1_000, GIB)), false),
        ] {
            assert_eq!(NodeResourcesFit.is_worth_requeuing(&info, &event), wakes, "{event:?}");
        }
    }
}
