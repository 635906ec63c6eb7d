//! NodeResourcesFit and NodeResourcesBalancedAllocation with arguments: other strategies, other resources.
//!
//! Upstream: pkg/scheduler/framework/plugins/noderesources/{fit,least_allocated,most_allocated,requested_to_capacity_ratio,
//! resource_allocation,balanced_allocation}.go, v1.36.

use std::rc::Rc;

use super::NodeResourcesFit;
use super::node_resources_fit::{FitsOwned, scored_requests};
use crate::model::Name;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::config::{FitArgs, Strategy};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::pod_info::{CPU, EPHEMERAL_STORAGE, MEMORY, amount_of};
use crate::scheduler::framework::{
    ClusterEvent, DependsOn, Plugin, PodInfo, PreFilterResult, Requests, Score, Version, names,
};

/// The highest score of a point of a curve.
const MAX_CURVE_SCORE: i64 = 10;

/// A resource that is scored.
#[derive(Clone, Debug)]
enum Resource {
    /// By its index in arrays of amounts.
    Fixed(usize),
    /// An extended one, or huge pages: it counts for pods that ask for it.
    Extended(Name),
}

impl Resource {
    fn named(name: &str) -> Resource {
        match name {
            "cpu" => Resource::Fixed(CPU),
            "memory" => Resource::Fixed(MEMORY),
            "ephemeral-storage" => Resource::Fixed(EPHEMERAL_STORAGE),
            other => Resource::Extended(Name::new(other)),
        }
    }

    /// What the pod asks for. `scored`: CPU and memory with amounts for containers that name none.
    fn wanted(&self, pod: &PodInfo, scored: Option<[i64; 2]>) -> i64 {
        match (self, scored) {
            (Resource::Fixed(index @ (0 | 1)), Some(scored)) => scored[*index],
            (Resource::Fixed(index), _) => pod.requests.amounts[*index],
            (Resource::Extended(name), _) => pod.requests.extended(name),
        }
    }

    /// What of the node is taken, and what it has.
    fn on(&self, snapshot: &Snapshot<'_>, node: NodeIndex, is_scored: bool) -> (i64, i64) {
        let sums = snapshot.sums(node);
        match self {
            Resource::Fixed(index @ (0 | 1)) if is_scored => (sums.nonzero[*index], sums.allocatable[*index]),
            Resource::Fixed(index) => (sums.requested[*index], sums.allocatable[*index]),
            Resource::Extended(name) => {
                let taken = amount_of(snapshot.extended_requested(node), name);
                (taken, amount_of(&snapshot.node(node).allocatable.extended, name))
            }
        }
    }

    fn is_extended(&self) -> bool {
        matches!(self, Resource::Extended(_))
    }
}

/// NodeResourcesFit with arguments.
pub struct ConfiguredFit {
    args: FitArgs,
    resources: Vec<(Resource, i64)>,
}

impl ConfiguredFit {
    /// With these.
    pub fn new(args: &FitArgs) -> ConfiguredFit {
        let mut resources: Vec<_> =
            args.resources.iter().map(|(name, weight)| (Resource::named(name), (*weight).max(1))).collect();
        if resources.is_empty() {
            resources = vec![(Resource::Fixed(CPU), 1), (Resource::Fixed(MEMORY), 1)];
        }
        ConfiguredFit { args: args.clone(), resources }
    }

    fn ignores(&self, name: &Name) -> bool {
        let Some((group, _)) = name.as_str().split_once('/') else { return false };
        self.args.ignored_resources.iter().any(|ignored| *name == ignored.as_str())
            || self.args.ignored_resource_groups.iter().any(|ignored| ignored == group)
    }

    /// The pod's requests without those that are ignored.
    fn filtered(&self, requests: &Requests) -> Requests {
        let mut requests = requests.clone();
        requests.extended.retain(|(name, _)| !self.ignores(name));
        requests
    }
}

impl Plugin for ConfiguredFit {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_FIT
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeAndPods
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        PreFilterResult::Filter(Box::new(FitsOwned(self.filtered(&pod.requests))))
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let scored = scored_requests(pod);
        let wanted = |(resource, weight): &(Resource, i64)| {
            let amount = resource.wanted(pod, Some(scored));
            // Extended resources that the pod does not ask for are left out.
            (amount > 0 || !resource.is_extended()).then(|| (resource.clone(), *weight, amount))
        };
        let wanted = self.resources.iter().filter_map(wanted).collect();
        Some(Box::new(Allocated { strategy: &self.args.strategy, wanted }))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let filtered = PodInfo { requests: self.filtered(&pod.requests), ..pod.clone() };
        NodeResourcesFit.is_worth_requeuing(&filtered, event)
    }
}

struct Allocated<'a> {
    strategy: &'a Strategy,
    /// Resource, weight, what the pod asks for.
    wanted: Vec<(Resource, i64, i64)>,
}

impl Score for Allocated<'_> {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let rows = self.wanted.iter().map(|(resource, weight, wanted)| {
                let (taken, all) = resource.on(snapshot, *node, true);
                (*weight, taken + wanted, all)
            });
            *score = score_of(self.strategy, rows);
        }
    }
}

/// The weighted mean over resources: weight, requested with the pod, allocatable. Resources the node does not have are left out.
fn score_of(strategy: &Strategy, rows: impl Iterator<Item = (i64, i64, i64)>) -> i64 {
    let (mut sum, mut weights) = (0, 0);
    for (weight, requested, all) in rows.filter(|(_, _, all)| *all != 0) {
        let score = match strategy {
            Strategy::LeastAllocated if requested > all => 0,
            Strategy::LeastAllocated => (all - requested) * MAX_NODE_SCORE / all,
            Strategy::MostAllocated => requested.min(all) * MAX_NODE_SCORE / all,
            Strategy::RequestedToCapacityRatio(curve) => {
                let used = if requested > all { 100 } else { requested * 100 / all };
                let score = on_curve(curve, used);
                // Resources that score nothing do not count, not even in the mean.
                if score <= 0 {
                    continue;
                }
                score
            }
        };
        sum += weight * score;
        weights += weight;
    }
    match strategy {
        _ if weights == 0 => 0,
        Strategy::RequestedToCapacityRatio(_) => (sum as f64 / weights as f64).round() as i64,
        _ => sum / weights,
    }
}

/// The score at a use in percent: straight lines between the points, level outside.
fn on_curve(curve: &[(i64, i64)], used: i64) -> i64 {
    let scaled = |score: i64| score * (MAX_NODE_SCORE / MAX_CURVE_SCORE);
    let mut before: Option<(i64, i64)> = None;
    for (at, score) in curve {
        let score = scaled(*score);
        if used <= *at {
            return match before {
                None => score,
                Some((from, low)) => low + (score - low) * (used - from) / (at - from),
            };
        }
        before = Some((*at, score));
    }
    before.map_or(0, |(_, score)| score)
}

/// NodeResourcesBalancedAllocation over resources of one's own choice.
pub struct ConfiguredBalance {
    version: Version,
    resources: Rc<[Resource]>,
}

impl ConfiguredBalance {
    /// Over these resources.
    pub fn new(version: Version, resources: &[String]) -> ConfiguredBalance {
        ConfiguredBalance { version, resources: resources.iter().map(|name| Resource::named(name)).collect() }
    }
}

impl Plugin for ConfiguredBalance {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_BALANCED_ALLOCATION
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeAndPods
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let wanted: Vec<_> =
            self.resources.iter().map(|resource| (resource.clone(), resource.wanted(pod, None))).collect();
        if wanted.iter().all(|(_, amount)| *amount == 0) {
            return None;
        }
        let counts = |(resource, amount): &(Resource, i64)| *amount > 0 || !resource.is_extended();
        let wanted = wanted.into_iter().filter(counts).collect();
        Some(Box::new(Balanced { version: self.version, wanted }))
    }
}

struct Balanced {
    version: Version,
    wanted: Vec<(Resource, i64)>,
}

impl Score for Balanced {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let shares = |with_pod: bool| {
                let share = |(resource, wanted): &(Resource, i64)| {
                    let (taken, all) = resource.on(snapshot, *node, false);
                    let used = if with_pod { taken + wanted } else { taken };
                    (all != 0).then(|| (used as f64 / all as f64).min(1.0))
                };
                self.wanted.iter().filter_map(share).collect::<Vec<f64>>()
            };
            let with = balance(&shares(true));
            *score = match self.version {
                Version::V1_35 => with,
                Version::V1_36 => {
                    let half = MAX_NODE_SCORE / 2;
                    half + (half + with - balance(&shares(false))) / 2
                }
            };
        }
    }
}

/// 100 times (1 - standard deviation of the used shares), cut off to whole numbers.
fn balance(shares: &[f64]) -> i64 {
    let deviation = match shares {
        [] | [_] => 0.0,
        [one, other] => ((one - other) / 2.0).abs(),
        many => {
            let mean = many.iter().sum::<f64>() / many.len() as f64;
            let squares: f64 = many.iter().map(|share| (share - mean) * (share - mean)).sum();
            libm::sqrt(squares / many.len() as f64)
        }
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Node, Pod};
    use crate::scheduler::cache::testing::{bound, cluster, node, pod_with};
    use crate::scheduler::plugins::NodeResourcesBalancedAllocation;
    use crate::scheduler::plugins::testing::{scores, verdicts};

    const GPU: &str = "nvidia.com/gpu";
    const GIB: i64 = 1 << 30;

    fn with_gpus(name: &str, gpus: i64) -> Node {
        let mut node = node(name);
        Rc::make_mut(&mut node.allocatable).extended = vec![(GPU.into(), gpus)];
        node
    }

    fn asking(gpus: i64) -> Pod {
        let mut pod = pod_with("p", 2_000, 5 * GIB);
        Rc::make_mut(&mut pod.spec).containers[0].requests.extended = vec![(GPU.into(), gpus)];
        pod
    }

    fn fit(strategy: Strategy, resources: &[(&str, i64)]) -> ConfiguredFit {
        let resources = resources.iter().map(|(name, weight)| ((*name).to_string(), *weight)).collect();
        ConfiguredFit::new(&FitArgs { strategy, resources, ..FitArgs::default() })
    }

    #[test]
    fn strategies_score_as_named() {
        // 10 CPU, 10 GiB, 4 GPUs; a has 1 CPU and 0 GiB (200 MiB assumed) taken. The pod: 2 CPU, 5 GiB, 1 GPU.
        let mut cache = cluster([with_gpus("a", 4), node("b")], [bound("x", "a", 1_000, 0)]);
        let mut said = |strategy, resources: &[_]| scores(&fit(strategy, resources), asking(1), &mut cache);
        // a: CPU 70, memory (10240-200-5120)*100/10240 = 48 (48.05): 118/2 = 59. b: 80 and 50: 65.
        assert_eq!(said(Strategy::LeastAllocated, &[]), Some(vec![59, 65]));
        // a: 30 and 51 (51.95): 40. b: 20 and 50: 35.
        assert_eq!(said(Strategy::MostAllocated, &[]), Some(vec![40, 35]));
        // GPU 25 with weight 3, CPU 30: (75 + 30)/4 = 26; b has no GPU: 20.
        assert_eq!(said(Strategy::MostAllocated, &[(GPU, 3), ("cpu", 1)]), Some(vec![26, 20]));
        // From 0 at 0 % to 10 at 100 %: the use itself; CPU 30, GPU 25: 27.5 -> 28. b: 20.
        let curve = vec![(0, 0), (100, 10)];
        assert_eq!(said(Strategy::RequestedToCapacityRatio(curve), &[("cpu", 1), (GPU, 1)]), Some(vec![28, 20]));
    }

    #[test]
    fn curves_are_straight_between_their_points() {
        let falling = [(20, 10), (80, 0)];
        // 100 before 20 %; at 50 % half way: 100 - 100*30/60 = 50; at 33 %: 100 - 1300/60 = 100 - 21; 0 after 80 %.
        for (used, score) in [(0, 100), (20, 100), (50, 50), (33, 79), (80, 0), (100, 0)] {
            assert_eq!(on_curve(&falling, used), score, "{used} %");
        }
    }

    #[test]
    fn ignored_resources_do_not_filter() {
        let mut cache = cluster([node("a")], []);
        let said = |args: FitArgs, cache: &mut _| verdicts(&ConfiguredFit::new(&args), asking(1), cache).remove(0).1;
        assert_eq!(said(FitArgs::default(), &mut cache), "UnschedulableAndUnresolvable: Insufficient nvidia.com/gpu");
        let by_name = FitArgs { ignored_resources: vec![GPU.into()], ..FitArgs::default() };
        let by_group = FitArgs { ignored_resource_groups: vec!["nvidia.com".into()], ..FitArgs::default() };
        assert_eq!([said(by_name, &mut cache), said(by_group, &mut cache)], ["ok", "ok"]);
    }

    #[test]
    fn balance_over_chosen_resources() {
        // Shares 0.2, 0.5, 0.25: mean 0.31667, squares 0.01361 + 0.03361 + 0.00444 = 0.05167, /3, root 0.13123: 86 (86.88).
        assert_eq!(balance(&[0.2, 0.5, 0.25]), 86);
        assert_eq!(balance(&[0.7]), 100);
        let mut cache = cluster([with_gpus("a", 4)], []);
        let three = ["cpu", "memory", GPU].map(str::to_string);
        let mut said = |version, pod| scores(&ConfiguredBalance::new(version, &three), pod, &mut cache);
        assert_eq!(said(Version::V1_35, asking(1)), Some(vec![86]));
        // 50 + (50 + 86 - 100)/2 = 68.
        assert_eq!(said(Version::V1_36, asking(1)), Some(vec![68]));
        // Without GPUs as the plugin without arguments has it.
        let plain = NodeResourcesBalancedAllocation { version: Version::V1_36 };
        let pod = pod_with("p", 2_000, 5 * GIB);
        let configured = said(Version::V1_36, pod.clone());
        assert_eq!(configured, scores(&plain, pod, &mut cache));
    }
}
