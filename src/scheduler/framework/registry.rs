//! The default profile: which plugins run, in which order, with which weights.
//!
//! Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/scheduler/framework/plugins/registry.go, v1.36.
//! To add a plugin of your own: one file that implements [`Plugin`], one line in [`Profile::default_profile`].

use std::fmt;

use super::{ClusterEvent, Plugin, PodInfo, SortKey};
use crate::model::{Name, Time};
use crate::scheduler::plugins::{
    ImageLocality, InterPodAffinity, NodeAffinity, NodeName, NodePorts, NodeResourcesBalancedAllocation,
    NodeResourcesFit, NodeUnschedulable, PodTopologySpread, PrioritySort, SchedulingGates, TaintToleration,
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
}

/// A scheduler profile. Plugins run in order of the list at every point: upstream's order of Filter, which its orders of
/// PreFilter and PreScore follow as far as anything shows.
pub struct Profile {
    /// `schedulerName` of the pods it is responsible for.
    pub scheduler_name: Name,
    /// Its own `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// The plugins.
    pub plugins: Vec<Registered>,
}

impl Profile {
    /// `default-scheduler`.
    pub fn default_profile(version: Version) -> Profile {
        let plugins = vec![
            register(SchedulingGates, 0),
            register(PrioritySort, 0),
            register(NodeUnschedulable, 0),
            register(NodeName, 0),
            register(TaintToleration, 3),
            register(NodeAffinity, 2),
            register(NodePorts, 0),
            register(NodeResourcesFit, 1),
            register(PodTopologySpread { version }, 2),
            register(InterPodAffinity { version }, 2),
            register(NodeResourcesBalancedAllocation { version }, 1),
            register(ImageLocality { version }, 1),
        ];
        Profile { scheduler_name: Name::from(DEFAULT_SCHEDULER_NAME), percentage_of_nodes_to_score: None, plugins }
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
        let holds_back = |registered: &&Registered| registered.plugin.pre_enqueue(pod).is_err();
        self.plugins.iter().find(holds_back).map(|registered| registered.plugin.name())
    }

    /// Whether a pod that `plugin` holds back is looked at again after the event.
    pub fn reconsiders_gated(&self, plugin: &str, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let gating = self.plugins.iter().find(|registered| registered.plugin.name() == plugin);
        gating.is_some_and(|registered| registered.plugin.reconsiders_gated(pod, event))
    }

    /// The pod's place in activeQ, as the first plugin that sorts has it.
    pub fn queue_sort(&self, pod: &PodInfo, timestamp: Time) -> SortKey {
        let key = self.plugins.iter().find_map(|registered| registered.plugin.queue_sort(pod, timestamp));
        key.unwrap_or([0, timestamp.0])
    }
}

fn register(plugin: impl Plugin + 'static, weight: i64) -> Registered {
    Registered { plugin: Box::new(plugin), weight }
}

impl fmt::Debug for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.plugins.iter().map(|registered| registered.plugin.name())).finish()
    }
}
