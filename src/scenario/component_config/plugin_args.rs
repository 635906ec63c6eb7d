//! Arguments of the scheduler's plugins: fields, types and ranges.
//!
//! Upstream: kube-scheduler/config/v1/types_pluginargs.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go,
//! v1.36.

use super::super::diagnostic::Code;
use super::super::entry::{Entry, Fields, shown};
use super::super::schema::shape::Special;
use super::parts;
use crate::scheduler::framework::config::{
    AffinityArgs, DefaultConstraint, FitArgs, PluginArgs, PreemptionArgs, Strategy,
};
use crate::scheduler::plugins::node_affinity_added;

/// Judges the arguments of a plugin. Says whether they are simulated.
pub fn read(plugin: &str, args: &Entry<'_>, known: &mut PluginArgs) -> bool {
    let Some(mut fields) = parts::begin(args) else { return true };
    let mut is_simulated = false;
    match plugin {
        "DefaultPreemption" => {
            is_simulated = true;
            known.preemption = default_preemption(&mut fields);
        }
        "InterPodAffinity" => {
            is_simulated = true;
            let weight = in_range(&mut fields, "hardPodAffinityWeight", 0, 100);
            let ignores = fields.get("ignorePreferredTermsOfExistingPods").and_then(|entry| entry.truth());
            let default = AffinityArgs::default();
            known.affinity = AffinityArgs {
                hard_pod_affinity_weight: weight.unwrap_or(default.hard_pod_affinity_weight),
                ignore_preferred_terms_of_existing_pods: ignores
                    .unwrap_or(default.ignore_preferred_terms_of_existing_pods),
            };
        }
        "NodeAffinity" => {
            is_simulated = true;
            if let Some(entry) = fields.get("addedAffinity") {
                entry.is_a(Special::Anything);
                if let Err(why) = node_affinity_added::read(entry.value) {
                    entry.problem(Code::BadValue, format!("it is no node affinity: {why}"), None);
                }
                known.added_affinity = Some(entry.value.clone());
            }
        }
        "NodeResourcesFit" => {
            is_simulated = true;
            known.fit = Some(node_resources_fit(&mut fields));
        }
        "NodeResourcesBalancedAllocation" => {
            is_simulated = true;
            let given = resources(&mut fields, "resources", 1);
            known.balanced_resources = (!given.is_empty()).then(|| given.into_iter().map(|(name, _)| name).collect());
        }
        "PodTopologySpread" => {
            is_simulated = true;
            known.default_constraints = pod_topology_spread(&mut fields);
        }
        "VolumeBinding" => {
            if let Some(entry) = fields.get("bindTimeoutSeconds") {
                entry.whole(0..=i64::MAX);
            }
            shape(&mut fields);
        }
        "DynamicResources" => {
            for name in ["filterTimeout", "bindingTimeout"] {
                if let Some(entry) = fields.get(name) {
                    entry.duration();
                }
            }
        }
        _ => return false,
    }
    fields.finish();
    is_simulated
}

fn in_range(fields: &mut Fields<'_>, name: &'static str, least: i64, most: i64) -> Option<i64> {
    fields.get(name).and_then(|entry| entry.whole(least..=most))
}

fn default_preemption(fields: &mut Fields<'_>) -> PreemptionArgs {
    let percentage = in_range(fields, "minCandidateNodesPercentage", 0, 100);
    let absolute = in_range(fields, "minCandidateNodesAbsolute", 0, i64::from(i32::MAX));
    if percentage == Some(0) && absolute == Some(0) {
        let message = "minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero";
        fields.entry.problem(Code::BadValue, message, None);
    }
    let default = PreemptionArgs::default();
    let or = |given: Option<i64>, default| given.and_then(|given| usize::try_from(given).ok()).unwrap_or(default);
    PreemptionArgs {
        min_candidate_nodes_percentage: or(percentage, default.min_candidate_nodes_percentage),
        min_candidate_nodes_absolute: or(absolute, default.min_candidate_nodes_absolute),
    }
}

/// Resources with a weight from 1 to 100, at most `weight_max` of it.
fn resources(fields: &mut Fields<'_>, name: &'static str, weight_max: i64) -> Vec<(String, i64)> {
    let mut resources = Vec::new();
    for item in fields.get(name).map(|entry| entry.items()).unwrap_or_default() {
        let Some(mut resource) = item.fields() else { continue };
        let name = resource.require("name").and_then(|entry| entry.text().map(str::to_string));
        let weight = in_range(&mut resource, "weight", 1, weight_max).unwrap_or(1);
        resource.finish();
        resources.extend(name.map(|name| (name, weight)));
    }
    resources
}

fn node_resources_fit(fields: &mut Fields<'_>) -> FitArgs {
    let mut texts = |name: &'static str| -> Vec<String> {
        let items = fields.get(name).map(|entry| entry.items()).unwrap_or_default();
        items.iter().filter_map(|item| item.text().map(str::to_string)).collect()
    };
    let mut args = FitArgs {
        ignored_resources: texts("ignoredResources"),
        ignored_resource_groups: texts("ignoredResourceGroups"),
        ..FitArgs::default()
    };
    let Some(mut strategy) = fields.get("scoringStrategy").and_then(|entry| entry.fields()) else { return args };
    let words = [("LeastAllocated", 0), ("MostAllocated", 1), ("RequestedToCapacityRatio", 2)];
    let kind = strategy.get("type").and_then(|entry| entry.word(&words)).unwrap_or(0);
    args.resources = resources(&mut strategy, "resources", 100);
    let ratio =
        if kind == 2 { strategy.require("requestedToCapacityRatio") } else { strategy.get("requestedToCapacityRatio") };
    let mut curve = Vec::new();
    if let Some(mut ratio) = ratio.and_then(|entry| entry.fields()) {
        curve = shape(&mut ratio);
        ratio.finish();
    }
    args.strategy = match kind {
        0 => Strategy::LeastAllocated,
        1 => Strategy::MostAllocated,
        _ => Strategy::RequestedToCapacityRatio(curve),
    };
    strategy.finish();
    args
}

/// Points of a curve: use from 0 to 100, rising, with scores from 0 to 10.
fn shape(fields: &mut Fields<'_>) -> Vec<(i64, i64)> {
    let mut curve = Vec::new();
    let mut last = None;
    for item in fields.get("shape").map(|entry| entry.items()).unwrap_or_default() {
        let Some(mut point) = item.fields() else { continue };
        let mut used = None;
        if let Some(entry) = point.require("utilization")
            && let Some(utilization) = entry.whole(0..=100)
        {
            used = Some(utilization);
            if last.is_some_and(|last| utilization <= last) {
                entry.problem(Code::BadValue, "utilization values must be sorted in increasing order", None);
            }
            last = Some(utilization);
        }
        let score = point.require("score").and_then(|entry| entry.whole(0..=10));
        point.finish();
        curve.extend(used.zip(score));
    }
    curve
}

/// The default constraints; `None` for the built-in ones.
fn pod_topology_spread(fields: &mut Fields<'_>) -> Option<Vec<DefaultConstraint>> {
    let words = [("System", true), ("List", false)];
    let by_system = fields.get("defaultingType").and_then(|entry| entry.word(&words)).unwrap_or(true);
    let mut constraints = Vec::new();
    let Some(list) = fields.get("defaultConstraints") else { return (!by_system).then_some(constraints) };
    let items = list.items();
    if by_system && !items.is_empty() {
        let message = "when .defaultingType is System, .defaultConstraints must be empty";
        list.problem(Code::BadValue, message, Some("write `defaultingType: List`".to_string()));
    }
    for item in items {
        let Some(mut constraint) = item.fields() else { continue };
        let skew = constraint.require("maxSkew").and_then(|entry| entry.whole(1..=i64::from(i32::MAX)));
        let key = constraint.require("topologyKey").and_then(|entry| entry.text().map(str::to_string));
        let words = [("DoNotSchedule", true), ("ScheduleAnyway", false)];
        let is_required = constraint.require("whenUnsatisfiable").and_then(|entry| entry.word(&words));
        if let Some(entry) = constraint.get("labelSelector") {
            let message = format!(
                "constraint must not define a selector, as they are deduced for each pod: {}",
                shown(entry.value)
            );
            entry.problem(Code::BadValue, message, None);
        }
        parts::unused(&mut constraint, &["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"]);
        constraint.finish();
        if let (Some(max_skew), Some(topology_key), Some(is_required)) =
            (skew.and_then(|skew| i32::try_from(skew).ok()), key, is_required)
        {
            constraints.push(DefaultConstraint { topology_key, max_skew, is_required });
        }
    }
    (!by_system).then_some(constraints)
}
