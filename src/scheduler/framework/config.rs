//! What a KubeSchedulerConfiguration says of one profile, and the profile that follows from it.
//!
//! Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, `mergePlugins`, and framework/runtime/framework.go,
//! `expandMultiPointPlugins`, v1.36.

use serde_json::Value;

use super::registry::{DEFAULT_SCHEDULER_NAME, Profile, Registered, Version, registry};
use super::selected::Selected;
use super::{Plugin, names};
use crate::model::Name;
use crate::scheduler::plugins::pod_topology_spread::common::Defaults;

/// An extension point; `MultiPoint` stands for all others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum Point {
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
    MultiPoint,
}

impl Point {
    /// The points, as files name them.
    pub const ALL: [(&'static str, Point); 13] = [
        ("preEnqueue", Point::PreEnqueue),
        ("queueSort", Point::QueueSort),
        ("preFilter", Point::PreFilter),
        ("filter", Point::Filter),
        ("postFilter", Point::PostFilter),
        ("preScore", Point::PreScore),
        ("score", Point::Score),
        ("reserve", Point::Reserve),
        ("permit", Point::Permit),
        ("preBind", Point::PreBind),
        ("bind", Point::Bind),
        ("postBind", Point::PostBind),
        ("multiPoint", Point::MultiPoint),
    ];
}

/// A set of extension points.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Points(u16);

impl Points {
    /// All of them.
    pub const ALL: Points = Points((1 << (Point::ALL.len() - 1)) - 1);

    /// Whether a point is among them.
    pub fn has(self, point: Point) -> bool {
        self.0 & (1 << point as u16) != 0
    }

    fn add(&mut self, point: Point) {
        self.0 |= 1 << point as u16;
    }
}

/// Plugins that are enabled and disabled at a point.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PluginSet {
    /// Names with weights, 0 where none is given.
    pub enabled: Vec<(String, i64)>,
    /// Names; `*` stands for all that are not enabled here.
    pub disabled: Vec<String>,
}

impl PluginSet {
    fn weight(&self, name: &str) -> Option<i64> {
        self.enabled.iter().find(|(other, _)| other == name).map(|(_, weight)| *weight)
    }

    fn disables(&self, name: &str) -> bool {
        self.disabled.iter().any(|other| other == "*" || other == name)
    }
}

/// Arguments of InterPodAffinity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AffinityArgs {
    /// What a required affinity term of a pod that is there weighs, 0 to 100.
    pub hard_pod_affinity_weight: i64,
    /// Whether the preferred terms of pods that are there count only for pods with preferred terms of their own.
    pub ignore_preferred_terms_of_existing_pods: bool,
}

impl Default for AffinityArgs {
    fn default() -> AffinityArgs {
        AffinityArgs { hard_pod_affinity_weight: 1, ignore_preferred_terms_of_existing_pods: false }
    }
}

/// A topology spread constraint of a profile; which pods it counts follows from Services and owners.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DefaultConstraint {
    /// `topologyKey`
    pub topology_key: String,
    /// `maxSkew`
    pub max_skew: i32,
    /// Whether it is hard: `whenUnsatisfiable: DoNotSchedule`.
    pub is_required: bool,
}

/// Arguments of DefaultPreemption: how many candidates the dry run looks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PreemptionArgs {
    /// `minCandidateNodesPercentage`, 0 to 100.
    pub min_candidate_nodes_percentage: usize,
    /// `minCandidateNodesAbsolute`
    pub min_candidate_nodes_absolute: usize,
}

impl Default for PreemptionArgs {
    fn default() -> PreemptionArgs {
        PreemptionArgs { min_candidate_nodes_percentage: 10, min_candidate_nodes_absolute: 100 }
    }
}

/// Arguments of plugins; `None` where a plugin has its defaults.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PluginArgs {
    /// InterPodAffinity.
    pub affinity: AffinityArgs,
    /// PodTopologySpread: `defaultConstraints` with `defaultingType: List`.
    pub default_constraints: Option<Vec<DefaultConstraint>>,
    /// DefaultPreemption.
    pub preemption: PreemptionArgs,
    /// NodeResourcesFit.
    pub fit: Option<FitArgs>,
    /// NodeResourcesBalancedAllocation: its resources.
    pub balanced_resources: Option<Vec<String>>,
    /// NodeAffinity: `addedAffinity`, as a manifest has it.
    pub added_affinity: Option<Value>,
}

/// How NodeResourcesFit turns use into a score.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// The more is left the better.
    #[default]
    LeastAllocated,
    /// The less is left the better.
    MostAllocated,
    /// A curve: points of use in percent, rising, with scores from 0 to 10.
    RequestedToCapacityRatio(Vec<(i64, i64)>),
}

/// Arguments of NodeResourcesFit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FitArgs {
    /// `scoringStrategy.type`, with its curve.
    pub strategy: Strategy,
    /// `scoringStrategy.resources` with weights; empty: CPU and memory, each 1.
    pub resources: Vec<(String, i64)>,
    /// `ignoredResources`
    pub ignored_resources: Vec<String>,
    /// `ignoredResourceGroups`
    pub ignored_resource_groups: Vec<String>,
}

/// A profile as a file describes it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ProfileConfig {
    /// `schedulerName`; empty for the default one.
    pub scheduler_name: String,
    /// `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// `plugins`
    pub sets: Vec<(Point, PluginSet)>,
    /// `pluginConfig`
    pub args: PluginArgs,
}

impl ProfileConfig {
    fn set(&self, point: Point) -> Option<&PluginSet> {
        self.sets.iter().find(|(other, _)| *other == point).map(|(_, set)| set)
    }

    /// Whether a plugin runs at a point; `by_default`: it does in the default profile.
    pub fn enables(&self, point: Point, name: &str, by_default: bool) -> bool {
        let is_multi = self.is_multi(name, by_default);
        match self.set(point) {
            Some(set) => set.weight(name).is_some() || is_multi && !set.disables(name),
            None => is_multi,
        }
    }

    /// Whether `multiPoint` enables a plugin.
    fn is_multi(&self, name: &str, by_default: bool) -> bool {
        let everywhere = self.set(Point::MultiPoint);
        let is_kept = by_default && !everywhere.is_some_and(|set| set.disables(name));
        is_kept || everywhere.is_some_and(|set| set.weight(name).is_some())
    }

    /// Why kube-scheduler would not start with this profile.
    ///
    /// Upstream: framework/runtime/framework.go, `NewFramework`.
    pub fn problem(&self) -> Option<String> {
        let name = self.name();
        let names_one = |point| self.set(point).is_some_and(|set| !set.enabled.is_empty());
        let sorts = names_one(Point::QueueSort) || self.enables(Point::QueueSort, names::PRIORITY_SORT, true);
        if !sorts {
            return Some(format!(
                "only one queue sort plugin required for profile with scheduler name \"{name}\", but got 0"
            ));
        }
        let binds = names_one(Point::Bind) || self.enables(Point::Bind, names::DEFAULT_BINDER, true);
        (!binds).then(|| format!("at least one bind plugin is needed for profile with scheduler name \"{name}\""))
    }

    fn name(&self) -> &str {
        if self.scheduler_name.is_empty() { DEFAULT_SCHEDULER_NAME } else { &self.scheduler_name }
    }

    /// The profile, with the plugins of the registry.
    pub fn profile(&self, version: Version) -> Profile {
        self.assemble(registry(version, &self.args))
    }

    /// The profile, of these plugins. Names of others are left out.
    pub fn assemble(&self, registered: Vec<Registered>) -> Profile {
        let everywhere = self.set(Point::MultiPoint);
        let kept = |one: &Registered| one.by_default && !everywhere.is_some_and(|set| set.disables(one.plugin.name()));
        let (mut list, mut others): (Vec<_>, Vec<_>) = registered.into_iter().partition(kept);
        let multi = everywhere.into_iter();
        let points = self.sets.iter().filter(|(point, _)| *point != Point::MultiPoint).map(|(_, set)| set);
        for (name, _) in multi.chain(points).flat_map(|set| &set.enabled) {
            if let Some(at) = others.iter().position(|one| one.plugin.name() == name) {
                list.push(others.remove(at));
            }
        }
        let plugins: Vec<Registered> = list.into_iter().filter_map(|one| self.select(one)).collect();
        let post_filters = |name| self.enables(Point::PostFilter, name, true);
        Profile {
            scheduler_name: Name::new(self.name()),
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            orders: self.orders(&plugins),
            plugins,
            preemption: post_filters(names::DEFAULT_PREEMPTION).then_some(self.args.preemption),
            looks_at_claims: post_filters(names::DYNAMIC_RESOURCES),
            spread_defaults: Defaults::new(self.args.default_constraints.as_deref()),
            affinity: self.args.affinity,
        }
    }

    /// The order of plugins at points whose own set enables some: first those of the set that `multiPoint` enables too, as the
    /// set has them; then the others of `multiPoint`; last the others of the set.
    fn orders(&self, plugins: &[Registered]) -> Vec<(Point, Vec<usize>)> {
        let sets = self.sets.iter().filter(|(point, set)| *point != Point::MultiPoint && !set.enabled.is_empty());
        let order = |set: &PluginSet| {
            let place = |index: &usize| {
                let one = &plugins[*index];
                let name = one.plugin.name();
                let here = set.enabled.iter().position(|(other, _)| other == name);
                let is_multi = !set.disables(name) && self.is_multi(name, one.by_default);
                match (here, is_multi) {
                    (Some(here), true) => (0, here),
                    (None, _) => (1, *index),
                    (Some(here), false) => (2, here),
                }
            };
            let mut order: Vec<usize> = (0..plugins.len()).collect();
            order.sort_by_key(place);
            order
        };
        sets.map(|(point, set)| (*point, order(set))).collect()
    }

    /// A plugin with its points and its weight; `None` when it has no point.
    fn select(&self, one: Registered) -> Option<Registered> {
        let name = one.plugin.name();
        let mut points = Points::default();
        for (_, point) in Point::ALL.into_iter().filter(|(_, point)| *point != Point::MultiPoint) {
            if self.enables(point, name, one.by_default) {
                points.add(point);
            }
        }
        let given = |point| self.set(point).and_then(|set| set.weight(name));
        // A weight that is not given, or zero, is 1 once the plugin is named.
        let weight = given(Point::Score).or(given(Point::MultiPoint)).map_or(one.weight, |weight| weight.max(1));
        let plugin = match points {
            Points::ALL => one.plugin,
            Points(0) => return None,
            points => Box::new(Selected { plugin: one.plugin, points }) as Box<dyn Plugin>,
        };
        Some(Registered { plugin, weight, by_default: one.by_default })
    }
}

#[cfg(test)]
mod tests {
    use super::super::registry::optional;
    use super::*;

    struct Own;

    impl Plugin for Own {
        fn name(&self) -> &'static str {
            "Own"
        }
    }

    fn set(enabled: &[(&str, i64)], disabled: &[&str]) -> PluginSet {
        PluginSet {
            enabled: enabled.iter().map(|(name, weight)| ((*name).to_string(), *weight)).collect(),
            disabled: disabled.iter().map(|name| (*name).to_string()).collect(),
        }
    }

    fn profile(sets: &[(Point, PluginSet)]) -> Vec<(&'static str, i64)> {
        let config = ProfileConfig { sets: sets.to_vec(), ..ProfileConfig::default() };
        let mut plugins = registry(Version::V1_36, &config.args);
        plugins.push(optional(Own));
        let profile = config.assemble(plugins);
        profile.plugins.iter().map(|one| (one.plugin.name(), one.weight)).collect()
    }

    #[test]
    fn files_choose_plugins_and_weights() {
        let default = profile(&[]);
        assert!(default.contains(&(names::TAINT_TOLERATION, 3)) && !default.contains(&("Own", 1)));
        // A plugin of one's own joins at the end; without a weight it has 1.
        let own = profile(&[(Point::MultiPoint, set(&[("Own", 0)], &[]))]);
        assert_eq!((own.len(), own.last()), (default.len() + 1, Some(&("Own", 1))));
        // Nothing but what is named; a point of its own has its own weight.
        let few = [
            (Point::MultiPoint, set(&[(names::NODE_AFFINITY, 4), (names::NODE_NAME, 0)], &["*"])),
            (Point::Score, set(&[(names::NODE_AFFINITY, 7)], &[])),
        ];
        assert_eq!(profile(&few), [(names::NODE_AFFINITY, 7), (names::NODE_NAME, 1)]);
        // Disabled for scores alone the plugin stays, elsewhere.
        let silent = ProfileConfig {
            sets: vec![(Point::Score, set(&[], &[names::NODE_RESOURCES_FIT]))],
            ..ProfileConfig::default()
        };
        assert!(silent.enables(Point::Filter, names::NODE_RESOURCES_FIT, true));
        assert!(!silent.enables(Point::Score, names::NODE_RESOURCES_FIT, true));
        assert_eq!(silent.problem(), None);
    }

    #[test]
    fn a_point_has_its_own_plugins_first() {
        let order = |sets: &[(Point, PluginSet)]| -> Vec<&'static str> {
            let config = ProfileConfig { sets: sets.to_vec(), ..ProfileConfig::default() };
            let mut plugins = registry(Version::V1_36, &config.args);
            plugins.push(optional(Own));
            let profile = config.assemble(plugins);
            profile.at(Point::Filter).map(|(_, one)| one.plugin.name()).collect()
        };
        let default = order(&[]);
        // Named at the point and in multiPoint: the former's order. The others keep theirs; what only the point names is last.
        let named = order(&[(Point::Filter, set(&[(names::NODE_PORTS, 0), ("Own", 0), (names::NODE_NAME, 0)], &[]))]);
        let rest = default.iter().filter(|name| ![names::NODE_PORTS, names::NODE_NAME].contains(name));
        let expected: Vec<_> =
            [names::NODE_PORTS, names::NODE_NAME].iter().chain(rest).chain(&["Own"]).copied().collect();
        assert_eq!(named, expected);
        // One that is disabled and enabled at the point is no longer that of multiPoint.
        let moved = order(&[(Point::Filter, set(&[(names::NODE_PORTS, 0)], &[names::NODE_PORTS]))]);
        assert_eq!((moved.len(), moved.last()), (default.len(), Some(&names::NODE_PORTS)));
        // A custom one of multiPoint comes after the default ones; named at the point it comes before them.
        let own = (Point::MultiPoint, set(&[("Own", 0)], &[]));
        assert_eq!(order(std::slice::from_ref(&own)).last(), Some(&"Own"));
        assert_eq!(order(&[own, (Point::Filter, set(&[("Own", 0)], &[]))])[0], "Own");
    }

    #[test]
    fn preemption_is_a_plugin_that_can_be_disabled() {
        let of = |sets: &[(Point, PluginSet)]| {
            let profile = ProfileConfig { sets: sets.to_vec(), ..ProfileConfig::default() }.profile(Version::V1_36);
            (profile.preemption.is_some(), profile.looks_at_claims)
        };
        assert_eq!(of(&[]), (true, true));
        assert_eq!(of(&[(Point::PostFilter, set(&[], &[names::DEFAULT_PREEMPTION]))]), (false, true));
        assert_eq!(of(&[(Point::MultiPoint, set(&[], &[names::DEFAULT_PREEMPTION]))]), (false, true));
        assert_eq!(of(&[(Point::PostFilter, set(&[], &["*"]))]), (false, false));
        assert_eq!(of(&[(Point::PostFilter, set(&[(names::DEFAULT_PREEMPTION, 0)], &["*"]))]), (true, false));
    }
}
