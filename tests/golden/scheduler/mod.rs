//! The scheduler: one pod against a cluster, as the real plugins, scores and messages have it; and the queue over time.

pub mod input;
pub mod preemption;
pub mod sequence;
pub mod timeline;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::{Value, json};

use crate::READERS;
use crate::case::{Disagreement, compare, field, list, text};
use input::{cluster, nominator, pod_of};
use kubesim::model::{Name, Node, Object, Pod};
use kubesim::rules::{codec, label_keys};
use kubesim::scheduler::cache::Snapshot;
use kubesim::scheduler::framework::{PodInfo, Profile, Version};
use kubesim::scheduler::queue::Nominator;
use kubesim::scheduler::schedule_one::{Search, find_nodes_that_fit, prioritize_nodes, schedule_pod};

/// Plugins of the default profile that are not here, and what each gives every node when nothing in a case concerns it. A
/// case that does concern one of them disagrees.
const NEUTRAL_SCORES: [(&str, i64); 1] = [("DynamicResources", 0)];

/// Nodes, bound pods and a pod -> what each filter says of each node, all scores, the choice, the message.
pub fn one_pod(case: &Value) -> Result<(), Disagreement> {
    one_pod_of(Version::V1_36, case)
}

fn one_pod_of(version: Version, case: &Value) -> Result<(), Disagreement> {
    let (input, expected) = (field(case, "input")?, field(case, "expect")?);
    let mut cache = cluster(input)?;
    let nominated = nominator(input)?;
    let pod = pod_of(field(input, "pod")?, input)?;
    let priority = &field(expected, "podEffective")?["priority"];
    compare("priority", priority, &json!(pod.spec.priority), 0.0)?;
    let pod = PodInfo::new(pod);
    let profile = Profile::default_profile(version);
    let snapshot = cache.snapshot();
    let search = Search { next_start_node_index: 0, percentage_of_nodes_to_score: 100 };
    let cluster = Cluster { profile: &profile, snapshot: &snapshot, nominated: &nominated };
    filters(&cluster, &pod, search, expected)?;
    choice(&cluster, &pod, search, expected)?;
    preemption::agree(&profile, &pod, &snapshot, &nominated, expected)
}

/// What a pod is tried against.
struct Cluster<'a> {
    profile: &'a Profile,
    snapshot: &'a Snapshot<'a>,
    nominated: &'a Nominator,
}

fn decode(manifest: &Value) -> Result<Object, Disagreement> {
    codec::decode(manifest).map_err(|problems| Disagreement::new("a readable manifest", format!("{problems:?}")))
}

fn node(manifest: &Value) -> Result<Rc<Node>, Disagreement> {
    decode(manifest)?.as_node().cloned().ok_or_else(|| Disagreement::new("a node", manifest))
}

/// A pod as the API server would have stored it, whose uid is its name where none is given.
fn pod(recorded: &Value) -> Result<Rc<Pod>, Disagreement> {
    let mut manifest = recorded.clone();
    let metadata = manifest["metadata"].as_object_mut().ok_or_else(|| Disagreement::new("metadata", recorded))?;
    let namespace = metadata.entry("namespace").or_insert_with(|| json!("default")).clone();
    let uid = format!("{}/{}", namespace.as_str().unwrap_or_default(), text(&recorded["metadata"], "name")?);
    metadata.entry("uid").or_insert_with(|| json!(uid));
    let decoded = decode(&manifest)?;
    let mut pod = decoded.as_pod().cloned().ok_or_else(|| Disagreement::new("a pod", manifest))?;
    if label_keys::has_keys(&pod.spec) {
        let pod = Rc::make_mut(&mut pod);
        label_keys::merge(Rc::make_mut(&mut pod.spec), &pod.meta.labels);
    }
    Ok(pod)
}

/// What PreFilter and Filter say of the pod and of each node, and the scores of those that fit.
fn filters(cluster: &Cluster<'_>, pod: &PodInfo, mut search: Search, expected: &Value) -> Result<(), Disagreement> {
    let Cluster { profile, snapshot, nominated } = *cluster;
    // All nodes are looked at, whichever was promised to the pod.
    let mut without_promise = Pod::clone(&pod.pod);
    without_promise.status.nominated_node_name = Name::EMPTY;
    let pod = &pod.with_pod(Rc::new(without_promise));
    let found = find_nodes_that_fit(profile, pod, snapshot, nominated, &mut search);
    let rejected = &found.diagnosis.pre_filter;
    let pre_filter = rejected.as_ref().map(
        |(plugin, status)| json!({"ok": false, "plugin": plugin, "code": status.code.as_str(), "reasons": sorted(&status.reasons)}),
    );
    compare("preFilter", expected.get("preFilter").unwrap_or(&Value::Null), &json!(pre_filter), 0.0)?;
    let mut got: BTreeMap<&str, Value> = BTreeMap::new();
    for (node, plugin, status) in &found.diagnosis.rejected {
        let reasons = sorted(&status.reasons);
        let verdict = json!({"ok": false, "plugin": plugin, "code": status.code.as_str(), "reasons": reasons});
        got.insert(snapshot.name(*node).as_str(), verdict);
    }
    for node in &found.feasible {
        got.insert(snapshot.name(*node).as_str(), json!({"ok": true}));
    }
    // Nodes that PreFilter left out were looked at by no filter.
    let nodes = field(expected, "nodes")?.as_object().into_iter().flatten();
    let filtered = nodes.filter(|(_, verdict)| verdict["byPreFilter"] != true);
    let filtered: BTreeMap<&str, &Value> = filtered.map(|(name, verdict)| (name.as_str(), verdict)).collect();
    compare("nodes", &json!(filtered), &json!(got), 0.0)?;
    if found.feasible.is_empty() {
        return compare("scores", &Value::Null, expected.get("scores").unwrap_or(&Value::Null), 0.0);
    }
    let scores = prioritize_nodes(profile, pod, snapshot, found.feasible);
    let mut got: BTreeMap<&str, Value> = BTreeMap::new();
    for (index, node) in scores.nodes.iter().enumerate() {
        let own = scores.plugins.iter().map(|(plugin, _, scores)| (*plugin, scores[index]));
        let name = snapshot.name(*node).as_str();
        let recorded = &expected["scores"][name]["plugins"];
        let neutral = NEUTRAL_SCORES.into_iter().filter(|(plugin, _)| recorded.get(*plugin).is_some());
        let plugins: BTreeMap<&str, i64> = own.chain(neutral).collect();
        got.insert(name, json!({"plugins": plugins, "total": scores.totals[index]}));
    }
    compare("scores", field(expected, "scores")?, &json!(got), 0.0)
}

fn sorted(reasons: &[std::borrow::Cow<'static, str>]) -> Vec<String> {
    let mut sorted: Vec<String> = reasons.iter().map(ToString::to_string).collect();
    sorted.sort();
    sorted
}

/// The node, one of the best; or the message and the plugins whose hints are asked.
fn choice(cluster: &Cluster<'_>, pod: &PodInfo, mut search: Search, expected: &Value) -> Result<(), Disagreement> {
    let Cluster { profile, snapshot, nominated } = *cluster;
    match schedule_pod(profile, pod, snapshot, nominated, &mut search) {
        Ok(result) => {
            compare("result", field(expected, "result")?, &json!("scheduled"), 0.0)?;
            let via_nominated = result.evaluated == 1 && result.node == pod.pod.status.nominated_node_name;
            let recorded = expected.get("viaNominatedNode").unwrap_or(&Value::Bool(false));
            compare("viaNominatedNode", recorded, &json!(via_nominated), 0.0)?;
            let best = list(expected, "best")?;
            match best.iter().any(|node| node == result.node.as_str()) {
                true => Ok(()),
                false => Err(Disagreement::new(json!(best), result.node)),
            }
        }
        Err(error) => {
            compare("result", field(expected, "result")?, &json!("unschedulable"), 0.0)?;
            // While nothing is preempted, a pod that might preempt gets no second part.
            let mut message = text(expected, "message")?;
            if message != error.message()
                && let Some(second) = expected["preemption"]["message"].as_str()
            {
                message = message.trim_end_matches(second).trim_end();
            }
            compare("message", &json!(message), &json!(error.message()), 0.0)?;
            let mut plugins = error.unschedulable_plugins().to_vec();
            plugins.sort_unstable();
            let recorded = expected.get("unschedulablePlugins").cloned().unwrap_or_else(|| json!([]));
            compare("unschedulablePlugins", &recorded, &json!(plugins), 0.0)
        }
    }
}

/// `version-1.35.jsonl` holds what differs there; all other cases are equal in both versions.
#[test]
fn the_older_version_agrees_too() {
    let chosen = std::env::var_os("KUBESIM_VECTORS").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let folder = chosen.as_deref().unwrap_or(&own).join("scheduler");
    let read = |stem: &str| -> Vec<Value> {
        let text = fs::read_to_string(folder.join(format!("{stem}.jsonl"))).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let older = read("version-1.35");
    let (mut agreeing, mut disagreeing) = (0, Vec::new());
    for (slice, stem, _) in READERS.iter().filter(|(slice, stem, _)| *slice == "scheduler" && !is_timeline(stem)) {
        for mut case in read(stem) {
            if let Some(other) = older.iter().find(|other| other["id"] == case["id"]) {
                case["expect"] = other["expect"].clone();
            }
            let replay = if *stem == "sequence" { sequence::replay_of } else { one_pod_of };
            match replay(Version::V1_35, &case) {
                Ok(()) => agreeing += 1,
                Err(error) => disagreeing.push(format!("{slice}/{stem} {}: {error:?}", case["id"])),
            }
        }
    }
    assert!(disagreeing.is_empty(), "{}", disagreeing.join("\n"));
    assert!(agreeing > 0 || chosen.is_some(), "no vectors found");
}

fn is_timeline(stem: &str) -> bool {
    matches!(stem, "timeline" | "gates")
}
