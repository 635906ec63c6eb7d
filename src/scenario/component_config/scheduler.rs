//! KubeSchedulerConfiguration: every field is judged; what the scheduler here does not follow gives a notice.
//!
//! Upstream: pkg/scheduler/apis/config/{v1/defaults.go,validation/validation.go}, v1.36.

use super::super::diagnostic::Code;
use super::super::entry::Entry;
use super::super::settings::Settings;
use super::parts::{self, whole};
use super::profiles;
use crate::model::{Set, Span};
use crate::rules::names;
use crate::scenario::defaults;
use crate::scenario::flags::notice;

/// Longest back-off that is taken, in seconds: about 30 years.
const BACKOFF_MAX_S: i64 = 1_000_000_000;

/// Reads the document.
pub fn read(root: &Entry<'_>) -> Settings {
    let mut settings = Settings::default();
    let Some(mut fields) = parts::begin(root) else { return settings };
    if let Some(entry) = fields.get("parallelism")
        && whole(&entry).is_some_and(|number| number <= 0)
    {
        entry.problem(Code::BadValue, "should be an integer value greater than zero", None);
    }
    if let Some(entry) = fields.get("leaderElection") {
        settings.election = parts::leader_election(&entry);
    }
    if let Some(entry) = fields.get("clientConnection") {
        parts::client_connection(&entry, &mut settings);
    }
    for name in ["enableProfiling", "enableContentionProfiling"] {
        fields.get(name).and_then(|entry| entry.truth());
    }
    if let Some(entry) = fields.get("delayCacheUntilActive")
        && entry.truth() == Some(true)
    {
        notice(&entry, "delayCacheUntilActive is not simulated yet: caches of standby schedulers are warm".to_string());
    }
    let percentage = fields.get("percentageOfNodesToScore").and_then(|entry| percentage(&entry));
    let initial = fields.get("podInitialBackoffSeconds");
    let max = fields.get("podMaxBackoffSeconds");
    backoff(initial.as_ref(), max.as_ref(), &mut settings);
    settings.percentage_of_nodes_to_score = percentage;
    settings.profiles = fields.get("profiles").map(|entry| profiles::read(&entry)).unwrap_or_default();
    if let Some(entry) = fields.get("extenders") {
        extenders(&entry);
    }
    fields.finish();
    settings
}

/// A percentage of nodes.
pub(super) fn percentage(entry: &Entry<'_>) -> Option<u32> {
    let percentage = entry.whole(0..=100)?;
    u32::try_from(percentage).ok()
}

fn backoff(initial: Option<&Entry<'_>>, max: Option<&Entry<'_>>, settings: &mut Settings) {
    let seconds =
        |entry: Option<&Entry<'_>>| entry.and_then(|entry| entry.whole(1..=BACKOFF_MAX_S)).map(Span::from_seconds);
    settings.pod_initial_backoff = seconds(initial);
    settings.pod_max_backoff = seconds(max);
    let given = [(initial, settings.pod_initial_backoff), (max, settings.pod_max_backoff)];
    if given.iter().any(|(entry, span)| entry.is_some() && span.is_none()) {
        return;
    }
    let shortest = settings.pod_initial_backoff.unwrap_or(defaults::POD_INITIAL_BACKOFF);
    let longest = settings.pod_max_backoff.unwrap_or(defaults::POD_MAX_BACKOFF);
    if longest < shortest
        && let Some(entry) = max.or(initial)
    {
        let message = format!(
            "podMaxBackoffSeconds ({longest}) must be greater than or equal to podInitialBackoffSeconds ({shortest})"
        );
        entry.problem(Code::BadValue, message, None);
    }
}

fn extenders(list: &Entry<'_>) {
    let mut binders = 0;
    let mut managed: Set<String> = Set::default();
    for item in list.items() {
        let Some(mut fields) = item.fields() else { continue };
        fields.get("urlPrefix").and_then(|entry| entry.text());
        let mut verb =
            |name: &'static str| fields.get(name).and_then(|entry| entry.text()).is_some_and(|verb| !verb.is_empty());
        let (_, _) = (verb("filterVerb"), verb("preemptVerb"));
        let prioritizes = verb("prioritizeVerb");
        binders += usize::from(verb("bindVerb"));
        let weight = fields.get("weight");
        let heavy = weight.as_ref().and_then(whole).unwrap_or(0) > 0;
        if prioritizes && !heavy {
            let place = weight.as_ref().unwrap_or(&item);
            place.problem(Code::BadValue, "must have a positive weight applied to it", None);
        }
        for name in ["enableHTTPS", "nodeCacheCapable", "ignorable"] {
            fields.get(name).and_then(|entry| entry.truth());
        }
        fields.get("httpTimeout").and_then(|entry| parts::duration(&entry));
        parts::unused(&mut fields, &["tlsConfig"]);
        for resource in fields.get("managedResources").map(|entry| entry.items()).unwrap_or_default() {
            let Some(mut fields) = resource.fields() else { continue };
            fields.get("ignoredByScheduler").and_then(|entry| entry.truth());
            if let Some(entry) = fields.require("name")
                && let Some(name) = entry.text()
            {
                if !name.contains('/') || !names::is_qualified_name(name) {
                    entry.problem(Code::BadValue, format!("`{name}` is an invalid extended resource name"), None);
                } else if !managed.insert(name.to_string()) {
                    entry.problem(Code::BadValue, "duplicate extender managed resource name", None);
                }
            }
            fields.finish();
        }
        fields.finish();
    }
    if binders > 1 {
        list.problem(Code::BadValue, format!("found {binders} extenders implementing bind: only one can"), None);
    }
    if list.value.as_array().is_some_and(|list| !list.is_empty()) {
        notice(list, "extenders are not simulated yet: the scheduler decides alone".to_string());
    }
}
