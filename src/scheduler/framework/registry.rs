//! The default profile: which plugins run, in which order, with which weights.
//!
//! Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/scheduler/framework/plugins/registry.go, v1.36.
//! To add a plugin of your own: one file that implements [`Plugin`], one line in [`registry`].

use std::fmt;

use super::config::{AffinityArgs, PluginArgs, Point, PreemptionArgs};
use super::{ClusterEvent, Plugin, PodInfo, ProfileConfig, SortKey};
use crate::model::{Name, Time};
use crate::scheduler::plugins::pod_topology_spread::common::Defaults;
use crate::scheduler::plugins::{
    ConfiguredBalance, ConfiguredFit, ImageLocality, InterPodAffinity, NodeAffinity, NodeAffinityAdded, NodeName,
    NodePorts, NodeResourcesBalancedAllocation, NodeResourcesFit, NodeUnschedulable, PodTopologySpread, PrioritySort,
    SchedulingGates, TaintToleration,
};

/// The version of Kubernetes whose rules hold where they differ.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Version {
    /// 1.35
    V1_35,
    /// 1.36
    #[default]
    V1_36,
}

/// The name of the default profile.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

/// A plugin of a profile.
pub struct Registered {
    /// The plugin.
    pub plugin: Box<dyn Plugin>,
    /// Weight of its normalized score.
    pub weight: i64,
    /// Whether it is in the default profile; others run where a configuration enables them.
    pub by_default: bool,
}

/// A scheduler profile. Plugins run in order of the list unless a point has an order of its own: upstream's order of Filter,
/// which its default orders of PreFilter and PreScore follow as far as anything shows.
pub struct Profile {
    /// `schedulerName` of the pods it is responsible for.
    pub scheduler_name: Name,
    /// Its own `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// The plugins.
    pub plugins: Vec<Registered>,
    /// Points with an order of their own, as places in the list.
    pub orders: Vec<(Point, Vec<usize>)>,
    /// Whether, and how, DefaultPreemption makes room for pods that fit nowhere.
    pub preemption: Option<PreemptionArgs>,
    /// Whether DynamicResources has its say in PostFilter: that there are no claims to give up.
    pub looks_at_claims: bool,
    /// Default constraints of PodTopologySpread.
    pub spread_defaults: Defaults,
    /// Arguments of InterPodAffinity.
    pub affinity: AffinityArgs,
}

impl Profile {
    /// `default-scheduler`.
    pub fn default_profile(version: Version) -> Profile {
        ProfileConfig::default().profile(version)
    }

    /// The plugins in their order at a point, with their places in the list.
    pub fn at(&self, point: Point) -> impl DoubleEndedIterator<Item = (usize, &Registered)> {
        let order = self.orders.iter().find(|(other, _)| *other == point).map(|(_, order)| order);
        let place = move |index: usize| order.map_or(index, |order| order[index]);
        (0..self.plugins.len()).map(place).map(|place| (place, &self.plugins[place]))
    }

    /// Whether one of the plugins that rejected the pod thinks that the event may help.
    ///
    /// Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, `isPodWorthRequeuing`, v1.36.
    pub fn is_worth_requeuing(&self, pod: &PodInfo, rejected_by: &[&'static str], event: &ClusterEvent) -> bool {
        rejected_by.is_empty()
            || self.plugins.iter().any(|registered| {
                rejected_by.contains(&registered.plugin.name()) && registered.plugin.is_worth_requeuing(pod, event)
            })
    }

    /// Runs PreEnqueue; the name of the first plugin that holds the pod back.
    pub fn pre_enqueue(&self, pod: &PodInfo) -> Option<&'static str> {
        let holds_back = |(_, registered): &(usize, &Registered)| registered.plugin.pre_enqueue(pod).is_err();
        self.at(Point::PreEnqueue).find(holds_back).map(|(_, registered)| registered.plugin.name())
    }

    /// Whether a pod that `plugin` holds back is looked at again after the event.
    pub fn reconsiders_gated(&self, plugin: &str, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let gating = self.plugins.iter().find(|registered| registered.plugin.name() == plugin);
        gating.is_some_and(|registered| registered.plugin.reconsiders_gated(pod, event))
    }

    /// The pod's place in activeQ, as the first plugin that sorts has it.
    pub fn queue_sort(&self, pod: &PodInfo, timestamp: Time) -> SortKey {
        let key = self.plugins.iter().find_map(|registered| registered.plugin.queue_sort(pod, timestamp));
        key.unwrap_or([-i64::from(pod.pod.spec.priority), timestamp.0])
    }
}

/// All plugins there are, in upstream's order of Filter, with their arguments.
pub fn registry(version: Version, args: &PluginArgs) -> Vec<Registered> {
    vec![
        register(SchedulingGates, 0),
        register(PrioritySort, 0),
        register(NodeUnschedulable, 0),
        register(NodeName, 0),
        register(TaintToleration, 3),
        match &args.added_affinity {
            None => register(NodeAffinity, 2),
            Some(manifest) => register(NodeAffinityAdded::new(manifest), 2),
        },
        register(NodePorts, 0),
        match &args.fit {
            None => register(NodeResourcesFit, 1),
            Some(args) => register(ConfiguredFit::new(args), 1),
        },
        register(PodTopologySpread { version, defaults: Defaults::new(args.default_constraints.as_deref()) }, 2),
        register(InterPodAffinity { version, args: args.affinity }, 2),
        match &args.balanced_resources {
            None => register(NodeResourcesBalancedAllocation { version }, 1),
            Some(resources) => register(ConfiguredBalance::new(version, resources), 1),
        },
        register(ImageLocality { version }, 1),
    ]
}

/// A plugin of the default profile.
fn register(plugin: impl Plugin + 'static, weight: i64) -> Registered {
    Registered { plugin: Box::new(plugin), weight, by_default: true }
}

/// A plugin that runs where a configuration enables it.
pub fn optional(plugin: impl Plugin + 'static) -> Registered {
    Registered { plugin: Box::new(plugin), weight: 1, by_default: false }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plugins.iter().map(|registered| registered.plugin.name())).finish()
    }
}
