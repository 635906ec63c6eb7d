//! Profiles of a KubeSchedulerConfiguration. They are judged in full; plugins that are not simulated give a notice.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::diagnostic::Code;
use super::super::entry::{Entry, Fields, shown};
use super::super::flags::notice;
use super::{plugin_args, scheduler};
use crate::rules::suggest;
use crate::scheduler::framework::config::{PluginArgs, PluginSet, Point, ProfileConfig};
use crate::scheduler::framework::registry::{self, DEFAULT_SCHEDULER_NAME};
use crate::scheduler::framework::{Version, names};

/// Plugins of kube-scheduler.
///
/// Upstream: pkg/scheduler/framework/plugins/registry.go, v1.36
const PLUGINS: &[&str] = &[
    "DefaultBinder",
    "DefaultPreemption",
    "DynamicResources",
    "GangScheduling",
    "ImageLocality",
    "InterPodAffinity",
    "NodeAffinity",
    "NodeDeclaredFeatures",
    "NodeName",
    "NodePorts",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit",
    "NodeUnschedulable",
    "NodeVolumeLimits",
    "PodTopologySpread",
    "PrioritySort",
    "SchedulingGates",
    "TaintToleration",
    "VolumeBinding",
    "VolumeRestrictions",
    "VolumeZone",
];

/// Plugins that version v1 of the file refuses.
const REFUSED: &[&str] = &["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// Whether a plugin of this name runs here: it is registered, or the component plays it.
fn is_simulated(name: &str) -> bool {
    let registered = registry::registry(Version::default(), &PluginArgs::default());
    let played = [names::DEFAULT_BINDER, names::DEFAULT_PREEMPTION];
    played.contains(&name) || registered.iter().any(|one| one.plugin.name() == name)
}

/// Reads `profiles`.
pub fn read(list: &Entry<'_>) -> Vec<ProfileConfig> {
    let items = list.items();
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut profiles = Vec::new();
    let mut sorts: Vec<Value> = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(mut fields) = item.fields() else { continue };
        let mut profile = ProfileConfig::default();
        // A single profile may go without a name.
        let name = if items.len() == 1 { fields.get("schedulerName") } else { fields.require("schedulerName") };
        if let Some(entry) = name
            && let Some(name) = entry.text()
        {
            if name.is_empty() && items.len() > 1 {
                entry.problem(Code::MissingField, "`schedulerName` must be given", None);
            } else if let Some(first) = names.get(name) {
                let help = format!("profiles[{first}] has this name");
                entry.problem(Code::BadValue, format!("duplicate value {}", shown(entry.value)), Some(help));
            }
            names.entry(name.to_string()).or_insert(index);
            profile.scheduler_name = name.to_string();
        }
        profile.percentage_of_nodes_to_score =
            fields.get("percentageOfNodesToScore").and_then(|entry| scheduler::percentage(&entry));
        let sets = fields.get("plugins");
        let sort = sets.as_ref().and_then(|entry| plugins(entry, &mut profile)).unwrap_or(Value::Null);
        if let Some((entry, problem)) = sets.as_ref().zip(profile.problem()) {
            entry.problem(Code::BadValue, problem, None);
        }
        if sorts.first().is_some_and(|first| *first != sort) {
            let path = format!("{}.plugins.queueSort", item.path);
            let problem = item.document.problem(
                Code::BadValue,
                &path,
                super::super::yaml::Part::Value,
                "must be the same for all profiles",
            );
            item.add(problem);
        }
        sorts.push(sort);
        if let Some(entry) = fields.get("pluginConfig") {
            plugin_config(&entry, &mut profile.args);
        }
        fields.finish();
        profiles.push(profile);
    }
    if !profiles.is_empty() && !profiles.iter().any(|profile| is_default(&profile.scheduler_name)) {
        let message =
            format!("no profile is called {DEFAULT_SCHEDULER_NAME}: pods that name no scheduler stay Pending");
        notice(list, message);
    }
    profiles
}

fn is_default(name: &str) -> bool {
    matches!(name, "" | DEFAULT_SCHEDULER_NAME)
}

/// Gives what is said of the queue's order.
fn plugins(entry: &Entry<'_>, profile: &mut ProfileConfig) -> Option<Value> {
    let mut fields = entry.fields()?;
    let mut sort = None;
    for (name, point) in Point::ALL {
        let Some(set) = fields.get(name) else { continue };
        if point == Point::QueueSort {
            sort = Some(set.value.clone());
        }
        if let Some(set) = set.fields() {
            profile.sets.push((point, plugin_set(set, name)));
        }
    }
    fields.finish();
    sort
}

fn plugin_set(mut fields: Fields<'_>, point: &str) -> PluginSet {
    let mut set = PluginSet::default();
    let enabled = fields.get("enabled").map(|entry| entry.items()).unwrap_or_default();
    if point == "queueSort" && enabled.len() > 1 {
        let message = format!("only one queue sort plugin can be enabled, not {}", enabled.len());
        fields.entry.problem(Code::BadValue, message, None);
    }
    let mut seen: Vec<String> = Vec::new();
    for item in enabled {
        let Some(mut plugin) = item.fields() else { continue };
        let name = plugin.require("name").and_then(|entry| entry.text().map(|name| (entry.clone(), name)));
        let mut given = 0;
        if let Some(weight) = plugin.get("weight") {
            given = super::parts::whole(&weight).unwrap_or(0);
            if given < 0 {
                weight.problem(Code::BadValue, format!("must not be negative: {}", shown(weight.value)), None);
            }
        }
        plugin.finish();
        let Some((entry, name)) = name else { continue };
        set.enabled.push((name.to_string(), given));
        if seen.iter().any(|other| other == name) {
            entry.problem(Code::BadValue, format!("the plugin {name} is enabled twice for {point}"), None);
        }
        seen.push(name.to_string());
        named(&entry, name, "enabled", point);
    }
    for item in fields.get("disabled").map(|entry| entry.items()).unwrap_or_default() {
        let Some(mut plugin) = item.fields() else { continue };
        let name = plugin.require("name").and_then(|entry| entry.text().map(|name| (entry.clone(), name)));
        // Upstream's type has a weight here, too.
        plugin.get("weight").and_then(|weight| super::parts::whole(&weight));
        plugin.finish();
        if let Some((entry, name)) = name {
            set.disabled.push(name.to_string());
            named(&entry, name, "disabled", point);
        }
    }
    fields.finish();
    set
}

/// A plugin that a profile enables or disables.
fn named(entry: &Entry<'_>, name: &str, what: &str, point: &str) {
    if REFUSED.contains(&name) && what == "enabled" {
        let message = format!("the plugin {name} is invalid in v1: NodeVolumeLimits does its work");
        return entry.problem(Code::BadValue, message, None);
    }
    // Of resource claims the scheduler only says that there are none, and not even that without the plugin.
    let says_less =
        name == names::DYNAMIC_RESOURCES && what == "disabled" && matches!(point, "postFilter" | "multiPoint");
    if name == "*" || is_simulated(name) || says_less {
        return;
    }
    if !PLUGINS.contains(&name) {
        let help =
            suggest::did_you_mean(name, PLUGINS.iter().copied()).map(|help| format!(" ({help})")).unwrap_or_default();
        return notice(entry, format!("kube-scheduler has no plugin {name}{help}: it is left out"));
    }
    notice(entry, format!("plugin {name} {what} for {point}: it is not simulated, so that nothing changes"));
}

fn plugin_config(list: &Entry<'_>, known: &mut PluginArgs) {
    let mut seen: Vec<String> = Vec::new();
    for item in list.items() {
        let Some(mut fields) = item.fields() else { continue };
        let name = fields.require("name").and_then(|entry| entry.text().map(|name| (entry.clone(), name)));
        let args = fields.get("args");
        fields.finish();
        let Some((entry, name)) = name else { continue };
        if seen.iter().any(|other| other == name) {
            entry.problem(Code::BadValue, format!("duplicate value {}", shown(entry.value)), None);
        }
        seen.push(name.to_string());
        if REFUSED.contains(&name) {
            entry.problem(Code::BadValue, format!("the plugin {name} is invalid in v1"), None);
        } else if !PLUGINS.contains(&name) {
            notice(&entry, format!("kube-scheduler has no plugin {name}: its arguments are left out"));
        } else if let Some(args) = args
            && !plugin_args::read(name, &args, known)
        {
            notice(&entry, format!("arguments of the plugin {name} are not simulated yet: its defaults hold"));
        }
    }
}
