//! The resolved scenario: the whole input of a run as one YAML stream, with every default filled in. Running the stream
//! gives the same traces, so a folder of results that holds it can be asked again.
//!
//! Only what is not given is filled in, and lists keep the order of their items: paths of `set` mean the same as before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::flags::FlagTable;
use super::load::Overrides;
use super::manifests::{Manifest, Other};
use super::nodes::NodeGroup;
use super::polling;
use super::set;
use super::yaml::Document;
use super::{defaults, distribution};
use crate::model::Distribution;
use crate::rules::manifest::admission;
use crate::rules::yaml_text::{self, Remarks};

/// The name of the file in a folder of results.
pub const FILE_NAME: &str = "scenario.yaml";

/// Fields of `spec` in the order in which they are shown; others follow.
const FIELDS: [&str; 20] = [
    "kubernetesVersion",
    "startAt",
    "seed",
    "replication",
    "duration",
    "until",
    "eventBudget",
    "nodes",
    "controlPlane",
    "containers",
    "load",
    "queues",
    "timeline",
    "files",
    "faults",
    "expect",
    "model",
    "polling",
    "variants",
    "sweep",
];
const DEFAULT: &str = "default";

/// Manifests that commands of the timeline apply, by the name that the command gives.
pub type AppliedFiles = BTreeMap<String, Vec<Arc<Value>>>;

/// A resolved scenario.
#[derive(Clone, Debug, Default)]
pub struct Resolved {
    scenario: Value,
    remarks: Remarks,
    /// Manifests of simulated kinds, with what the command line set in them.
    manifests: Vec<(Value, Remarks)>,
    /// What the stream itself cannot say.
    head: Vec<String>,
}

/// What a resolved scenario is made of.
pub(super) struct Parts<'a> {
    /// The Scenario document, `--set` included.
    pub scenario: &'a Document,
    /// Manifests in the order of the files, `--set` included.
    pub manifests: Vec<Manifest>,
    /// Configuration files of components.
    pub configs: Vec<Document>,
    /// Components whose settings come from a static Pod or a configuration file.
    pub elsewhere: Vec<FlagTable>,
    /// Manifests of kinds that are not simulated. Those by which others are judged stay in the stream.
    pub others: Vec<Other>,
    /// Name when the scenario has none.
    pub default_name: &'a str,
    /// `--nodes`.
    pub nodes: Option<&'a NodeGroup>,
    /// The rest of the command line.
    pub overrides: &'a Overrides,
    /// Files that the timeline's commands name.
    pub applied: AppliedFiles,
}

impl Resolved {
    pub(super) fn new(parts: Parts<'_>) -> Resolved {
        let has_nodes = parts.manifests.iter().any(|manifest| manifest.object.kind == crate::model::Kind::Node);
        let fields = |value: &Value, key: &str| value[key].as_object().cloned().unwrap_or_default();
        let (mut metadata, given) = (fields(&parts.scenario.value, "metadata"), fields(&parts.scenario.value, "spec"));
        let mut filler = Filler { remarks: Remarks::default(), paths: set_paths(&given) };
        for (path, _, _) in &parts.scenario.set_at {
            remark_path(&mut filler.remarks, path, "--set");
        }
        filler.fill(&mut metadata, &["metadata"], "name", json!(parts.default_name));
        let head = head(&given);
        let spec = filler.spec(given, has_nodes, &parts);
        let scenario = json!({
            "apiVersion": parts.scenario.value["apiVersion"],
            "kind": "Scenario",
            "metadata": metadata,
            "spec": spec,
        });
        let with_remarks = |document: Document| {
            let mut remarks = Remarks::default();
            for (path, _, _) in &document.set_at {
                remark_path(&mut remarks, path, "--set");
            }
            (document.value, remarks)
        };
        let manifests = parts.manifests.into_iter().map(|manifest| with_remarks(manifest.document));
        let others = parts.others.into_iter().map(|other| other.document.value).filter(admission::is_looked_at);
        let configs = parts.configs.into_iter().map(with_remarks);
        let manifests = configs.chain(manifests).chain(others.map(|value| (value, Remarks::default()))).collect();
        Resolved { scenario, remarks: filler.remarks, manifests, head }
    }

    /// A field of `spec` that the command line gives instead of the files, in variants too.
    pub fn replace(&mut self, path: &[&str], value: Value, remark: &'static str) {
        let spec = &mut self.scenario["spec"];
        *path.iter().fold(&mut *spec, |place, step| &mut place[*step]) = value;
        if let Some(spec) = spec.as_object_mut() {
            forget_in_variants(spec, &[format!("spec.{}", path.join("."))]);
        }
        self.remarks.add(["spec"].into_iter().chain(path.iter().copied()), remark);
    }

    /// The stream, as it lies in a folder of results.
    pub fn to_yaml(&self) -> String {
        let mut text = yaml_text::to_text(&self.scenario);
        for (manifest, _) in &self.manifests {
            text.push_str("---\n");
            text.push_str(&yaml_text::to_text(manifest));
        }
        text
    }

    /// The stream with comments that say what no file says.
    pub fn explained(&self) -> String {
        let mut text = self.head.iter().fold(String::new(), |text, line| text + "# " + line + "\n");
        text.push_str(&yaml_text::remarked(&self.scenario, &self.remarks));
        for (manifest, remarks) in &self.manifests {
            text.push_str("---\n");
            text.push_str(&yaml_text::remarked(manifest, remarks));
        }
        text
    }
}

/// What is not a field of the format: how a run without duration ends, and settings that nobody can change yet.
fn head(spec: &Map<String, Value>) -> Vec<String> {
    let mut lines = vec![
        "The resolved scenario: a run of this stream gives the same traces.".to_string(),
        format!("`# {DEFAULT}` marks what no file says (docs/defaults.md), `# --OPTION` what the command line says."),
    ];
    if spec.get("duration").is_none_or(Value::is_null) {
        let limit = defaults::QUIET_LIMIT;
        lines.push(format!("Without `duration` the run ends when nothing is left to do, after {limit} at the latest."));
    }
    let usual = defaults::containers();
    let times = [("pull", usual.pull), ("start", usual.start), ("ready", usual.ready), ("stop", usual.stop)];
    let mut line = "Pods that no item of `containers` covers:".to_string();
    for (name, time) in times {
        let shown = distribution::write(&time);
        let _ = write!(line, " {name} {},", shown.as_str().unwrap_or("varies"));
    }
    lines.push(line.trim_end_matches(',').to_string() + ".");
    lines.push("Fixed in this version:".to_string());
    for row in defaults::rows().iter().filter(|row| row.setting == "(none)") {
        lines.push(format!("  {}: {}", row.meaning, row.value));
    }
    lines
}

/// Every path that a variant sets or a sweep varies; names that are no paths do no harm.
fn set_paths(spec: &Map<String, Value>) -> Vec<String> {
    fn words(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => found.push(set::full(text)),
            Value::Array(items) => items.iter().for_each(|item| words(item, found)),
            Value::Object(fields) => fields.iter().for_each(|(key, value)| {
                found.push(set::full(key));
                words(value, found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    ["variants", "sweep"].iter().filter_map(|key| spec.get(*key)).for_each(|value| words(value, &mut found));
    found
}

fn remark_path(remarks: &mut Remarks, path: &str, remark: &'static str) {
    let steps = set::steps(path).unwrap_or_default();
    remarks.add(steps.iter().map(String::as_str), remark);
}

struct Filler {
    remarks: Remarks,
    paths: Vec<String>,
}

impl Filler {
    /// Puts a default where nothing is given.
    fn fill(&mut self, fields: &mut Map<String, Value>, path: &[&str], key: &str, value: Value) {
        if fields.get(key).is_none_or(Value::is_null) {
            self.put(fields, path, key, value, DEFAULT);
        }
    }

    fn put(&mut self, fields: &mut Map<String, Value>, path: &[&str], key: &str, value: Value, remark: &'static str) {
        fields.insert(key.to_string(), value);
        self.remarks.add(path.iter().copied().chain([key]), remark);
    }

    /// The mapping at a key, made when it is not there; `None` when something else is there, which is reported elsewhere.
    fn mapping<'m>(fields: &'m mut Map<String, Value>, key: &str) -> Option<&'m mut Map<String, Value>> {
        let value = fields.entry(key).or_insert(Value::Null);
        if value.is_null() {
            *value = json!({});
        }
        value.as_object_mut()
    }

    /// Whether a variant sets, or a sweep varies, something that begins so.
    fn is_set(&self, path: &str) -> bool {
        self.paths.iter().any(|set| set.starts_with(path))
    }

    fn spec(&mut self, mut given: Map<String, Value>, has_nodes: bool, parts: &Parts<'_>) -> Map<String, Value> {
        let spec = &["spec"];
        given.shift_remove("include");
        self.fill(&mut given, spec, "kubernetesVersion", json!(defaults::VERSION.as_str()));
        self.fill(&mut given, spec, "startAt", json!(defaults::START_AT));
        self.overrides(&mut given, parts);
        self.fill(&mut given, spec, "seed", json!(defaults::SEED));
        self.fill(&mut given, spec, "replication", json!(0));
        self.fill(&mut given, spec, "eventBudget", json!(defaults::EVENT_BUDGET));
        let no_node = if has_nodes { json!([]) } else { json!([nodes_item(&super::nodes::default_group())]) };
        self.fill(&mut given, spec, "nodes", no_node);
        let usual = NodeGroup::default();
        self.fill_items(&mut given, "nodes", &nodes_item(&usual));
        if let Some(plane) = Filler::mapping(&mut given, "controlPlane") {
            self.control_plane(plane, &parts.elsewhere);
        }
        let times = defaults::containers();
        let times = json!({
            "pull": distribution::write(&times.pull),
            "start": distribution::write(&times.start),
            "ready": distribution::write(&times.ready),
            "stop": distribution::write(&times.stop),
        });
        self.fill(&mut given, spec, "containers", json!([]));
        self.fill_items(&mut given, "containers", times.as_object().unwrap_or(&Map::new()));
        if let Some(model) = Filler::mapping(&mut given, "model") {
            let path = &["spec", "model"];
            self.fill(model, path, "resync", json!("replay"));
            self.fill(model, path, "resyncDraw", json!("perProcess"));
            self.fill(model, path, "assume", json!(true));
            self.fill(model, path, "rejectedPods", json!("failed"));
            self.fill(model, path, "ties", json!("random"));
            self.fill(model, path, "controlPlane", json!("kubernetes"));
        }
        self.polling(&mut given);
        for list in ["timeline", "faults", "expect"] {
            self.fill(&mut given, spec, list, json!([]));
        }
        if !parts.applied.is_empty() {
            given.insert("files".to_string(), json!(parts.applied));
        }
        let mut ordered = Map::new();
        for key in FIELDS {
            ordered.extend(given.shift_remove_entry(key).filter(|(_, value)| !value.is_null()));
        }
        ordered.extend(given);
        ordered
    }

    /// The settings of the teaching orchestrator, where it runs or some of them are given.
    fn polling(&mut self, spec: &mut Map<String, Value>) {
        let runs = spec.get("model").is_some_and(|model| model["controlPlane"] == "polling");
        if !runs && spec.get("polling").is_none_or(Value::is_null) {
            return;
        }
        let Some(polling) = Filler::mapping(spec, "polling") else { return };
        for (path, value) in polling::written_defaults() {
            match path {
                [key] => self.fill(polling, &["spec", "polling"], key, value),
                [group, key] => {
                    if let Some(fields) = Filler::mapping(polling, group) {
                        self.fill(fields, &["spec", "polling", group], key, value);
                    }
                }
                _ => unreachable!("settings lie at most two levels deep"),
            }
        }
    }

    /// What the command line says instead of the files, in variants too.
    fn overrides(&mut self, spec: &mut Map<String, Value>, parts: &Parts<'_>) {
        let mut replaced = Vec::new();
        if let Some(seed) = parts.overrides.seed {
            self.put(spec, &["spec"], "seed", json!(seed), "--seed");
            replaced.push("spec.seed".to_string());
        }
        if let Some(until) = parts.overrides.until {
            self.put(spec, &["spec"], "until", json!(until.to_string()), "--until");
            replaced.push("spec.until".to_string());
        }
        if let Some(group) = parts.nodes {
            self.put(spec, &["spec"], "nodes", json!([nodes_item(group)]), "--nodes");
            replaced.push("spec.nodes".to_string());
        }
        forget_in_variants(spec, &replaced);
    }

    /// Fills in the fields of every item of a list.
    fn fill_items(&mut self, spec: &mut Map<String, Value>, list: &str, usual: &Map<String, Value>) {
        for (index, item) in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten().enumerate() {
            let Some(item) = item.as_object_mut() else { continue };
            for (key, value) in usual {
                self.fill(item, &["spec", list, &index.to_string()], key, value.clone());
            }
        }
    }

    fn control_plane(&mut self, plane: &mut Map<String, Value>, elsewhere: &[FlagTable]) {
        if let Some(server) = Filler::mapping(plane, "apiServer") {
            let path = &["spec", "controlPlane", "apiServer"];
            let usual = defaults::latency();
            // `latency` and `request` exclude each other, in variants too.
            let set = |word: &str| self.is_set(&format!("spec.controlPlane.apiServer.{word}"));
            let request = match set("latency") || server.get("latency").is_some_and(|given| !given.is_null()) {
                true => "latency",
                false => "request",
            };
            if !(set("latency") && set("request")) {
                self.fill(server, path, request, distribution::write(&usual.request));
            }
            for (word, time) in [("commit", usual.commit), ("reply", usual.reply), ("watch", usual.watch)] {
                self.fill(server, path, word, distribution::write(&time));
            }
            let usual = [
                ("--max-requests-inflight", defaults::MAX_REQUESTS_INFLIGHT.to_string()),
                ("--max-mutating-requests-inflight", defaults::MAX_MUTATING_REQUESTS_INFLIGHT.to_string()),
                ("--enable-priority-and-fairness", true.to_string()),
                ("--request-timeout", defaults::REQUEST_TIMEOUT.to_string()),
            ];
            if !elsewhere.contains(&FlagTable::ApiServer) {
                self.flags(server, "apiServer", &usual);
                self.fill(server, path, "replicas", json!(1));
            }
        }
        if let Some(manager) = Filler::mapping(plane, "controllerManager") {
            let limit = defaults::CONTROLLER_MANAGER_CLIENT;
            let usual = [
                ("--min-resync-period", defaults::MIN_RESYNC_PERIOD.to_string()),
                ("--concurrent-replicaset-syncs", defaults::REPLICASET_SYNCS.to_string()),
                ("--concurrent-deployment-syncs", defaults::DEPLOYMENT_SYNCS.to_string()),
                ("--concurrent-gc-syncs", defaults::GC_SYNCS.to_string()),
                ("--kube-api-qps", limit.qps.to_string()),
                ("--kube-api-burst", limit.burst.to_string()),
            ];
            if !elsewhere.contains(&FlagTable::ControllerManager) {
                self.flags(manager, "controllerManager", &usual);
            }
            if let Some(times) = Filler::mapping(manager, "reconcileTime") {
                let path = &["spec", "controlPlane", "controllerManager", "reconcileTime"];
                let usual = distribution::write(&Distribution::Constant(defaults::RECONCILE_TIME.0));
                for controller in ["replicaset", "deployment"] {
                    self.fill(times, path, controller, usual.clone());
                }
            }
        }
        if let Some(scheduler) = Filler::mapping(plane, "scheduler") {
            let limit = defaults::SCHEDULER_CLIENT;
            let usual = [("--kube-api-qps", limit.qps.to_string()), ("--kube-api-burst", limit.burst.to_string())];
            if !elsewhere.contains(&FlagTable::Scheduler) {
                self.flags(scheduler, "scheduler", &usual);
            }
            if let Some(times) = Filler::mapping(scheduler, "cycleTime") {
                let path = &["spec", "controlPlane", "scheduler", "cycleTime"];
                let usual = [
                    ("base", defaults::SCHEDULING_CYCLE),
                    ("perNodeFiltered", defaults::SCHEDULING_PER_NODE_FILTERED),
                    ("perNodeScored", defaults::SCHEDULING_PER_NODE_SCORED),
                ];
                for (field, span) in usual {
                    self.fill(times, path, field, distribution::write(&Distribution::Constant(span.0)));
                }
            }
        }
    }

    /// Flags that are not given follow those that are.
    fn flags(&mut self, fields: &mut Map<String, Value>, process: &str, usual: &[(&str, String)]) {
        // A flag that a variant puts in the place of another must not meet its own default behind it: the last one counts.
        let list = format!("spec.controlPlane.{process}.flags");
        let by_place = |path: &String| {
            let step = path.strip_prefix(&list).map(|rest| rest.trim_start_matches(['[', '.']));
            step.is_some_and(|step| step.starts_with(|c: char| c.is_ascii_digit()))
        };
        if self.paths.iter().any(by_place) {
            return;
        }
        let list = fields.entry("flags").or_insert(Value::Null);
        if list.is_null() {
            *list = json!([]);
        }
        let Some(list) = list.as_array_mut() else { return };
        for (flag, value) in usual {
            let is_given = list.iter().filter_map(Value::as_str).any(|given| {
                given.trim().strip_prefix(flag).is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', ' ']))
            });
            if !is_given {
                let steps = ["spec", "controlPlane", process, "flags", &list.len().to_string()];
                self.remarks.add(steps, DEFAULT);
                list.push(json!(format!("{flag}={value}")));
            }
        }
    }
}

/// Takes paths out of what variants set.
fn forget_in_variants(spec: &mut Map<String, Value>, paths: &[String]) {
    let is_forgotten = |path: &str| {
        let rest = paths.iter().filter_map(|field| path.strip_prefix(field.as_str()));
        rest.into_iter().any(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    for variant in spec.get_mut("variants").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(set) = variant.get_mut("set").and_then(Value::as_object_mut) {
            set.retain(|path, _| !is_forgotten(&set::full(path)));
        }
    }
}

/// A group of nodes as scenarios write it, without labels and taints.
fn nodes_item(group: &NodeGroup) -> Map<String, Value> {
    let item = [
        ("count", json!(group.count)),
        ("cpu", json!(group.cpu)),
        ("memory", json!(group.memory)),
        ("pods", json!(group.pods)),
    ];
    item.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}
