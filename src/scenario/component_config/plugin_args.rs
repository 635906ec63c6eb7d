//! Arguments of the scheduler's plugins: fields, types and ranges.
//!
//! Upstream: kube-scheduler/config/v1/types_pluginargs.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go,
//! v1.36.

use super::super::diagnostic::Code;
use super::super::entry::{Entry, Fields, shown};
use super::parts;

/// Judges the arguments of a plugin.
pub fn check(plugin: &str, args: &Entry<'_>) {
    let Some(mut fields) = parts::begin(args) else { return };
    match plugin {
        "DefaultPreemption" => default_preemption(&mut fields),
        "InterPodAffinity" => {
            in_range(&mut fields, "hardPodAffinityWeight", 0, 100);
            fields.get("ignorePreferredTermsOfExistingPods").and_then(|entry| entry.truth());
        }
        "NodeAffinity" => parts::unused(&mut fields, &["addedAffinity"]),
        "NodeResourcesFit" => node_resources_fit(&mut fields),
        "NodeResourcesBalancedAllocation" => resources(&mut fields, "resources", 1),
        "PodTopologySpread" => pod_topology_spread(&mut fields),
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
        _ => return,
    }
    fields.finish();
}

fn in_range(fields: &mut Fields<'_>, name: &'static str, least: i64, most: i64) -> Option<i64> {
    fields.get(name).and_then(|entry| entry.whole(least..=most))
}

fn default_preemption(fields: &mut Fields<'_>) {
    let percentage = in_range(fields, "minCandidateNodesPercentage", 0, 100);
    let absolute = in_range(fields, "minCandidateNodesAbsolute", 0, i64::from(i32::MAX));
    if percentage == Some(0) && absolute == Some(0) {
        let message = "minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero";
        fields.entry.problem(Code::BadValue, message, None);
    }
}

/// Resources with a weight from 1 to 100, at most `weight_max` of it.
fn resources(fields: &mut Fields<'_>, name: &'static str, weight_max: i64) {
    for item in fields.get(name).map(|entry| entry.items()).unwrap_or_default() {
        let Some(mut resource) = item.fields() else { continue };
        resource.require("name").and_then(|entry| entry.text());
        in_range(&mut resource, "weight", 1, weight_max);
        resource.finish();
    }
}

fn node_resources_fit(fields: &mut Fields<'_>) {
    for name in ["ignoredResources", "ignoredResourceGroups"] {
        for item in fields.get(name).map(|entry| entry.items()).unwrap_or_default() {
            item.text();
        }
    }
    let Some(mut strategy) = fields.get("scoringStrategy").and_then(|entry| entry.fields()) else { return };
    let words = [("LeastAllocated", false), ("MostAllocated", false), ("RequestedToCapacityRatio", true)];
    let by_ratio = strategy.get("type").and_then(|entry| entry.word(&words)).unwrap_or(false);
    resources(&mut strategy, "resources", 100);
    let ratio =
        if by_ratio { strategy.require("requestedToCapacityRatio") } else { strategy.get("requestedToCapacityRatio") };
    if let Some(mut ratio) = ratio.and_then(|entry| entry.fields()) {
        shape(&mut ratio);
        ratio.finish();
    }
    strategy.finish();
}

/// Points of a curve: use from 0 to 100, rising, with scores from 0 to 10.
fn shape(fields: &mut Fields<'_>) {
    let mut last = None;
    for item in fields.get("shape").map(|entry| entry.items()).unwrap_or_default() {
        let Some(mut point) = item.fields() else { continue };
        if let Some(entry) = point.require("utilization")
            && let Some(utilization) = entry.whole(0..=100)
        {
            if last.is_some_and(|last| utilization <= last) {
                entry.problem(Code::BadValue, "utilization values must be sorted in increasing order", None);
            }
            last = Some(utilization);
        }
        point.require("score").and_then(|entry| entry.whole(0..=10));
        point.finish();
    }
}

fn pod_topology_spread(fields: &mut Fields<'_>) {
    let words = [("System", true), ("List", false)];
    let by_system = fields.get("defaultingType").and_then(|entry| entry.word(&words)).unwrap_or(true);
    let Some(list) = fields.get("defaultConstraints") else { return };
    let items = list.items();
    if by_system && !items.is_empty() {
        let message = "when .defaultingType is System, .defaultConstraints must be empty";
        list.problem(Code::BadValue, message, Some("write `defaultingType: List`".to_string()));
    }
    for item in items {
        let Some(mut constraint) = item.fields() else { continue };
        in_range(&mut constraint, "maxSkew", 1, i64::from(i32::MAX));
        constraint.require("topologyKey").and_then(|entry| entry.text());
        let words = [("DoNotSchedule", ()), ("ScheduleAnyway", ())];
        constraint.require("whenUnsatisfiable").and_then(|entry| entry.word(&words));
        if let Some(entry) = constraint.get("labelSelector") {
            let message = format!(
                "constraint must not define a selector, as they are deduced for each pod: {}",
                shown(entry.value)
            );
            entry.problem(Code::BadValue, message, None);
        }
        parts::unused(&mut constraint, &["minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy", "matchLabelKeys"]);
        constraint.finish();
    }
}
