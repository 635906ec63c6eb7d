//! The Scenario document: its fields, read one by one, with every mistake collected.

use super::api_server::{self, ApiServerEntry};
use super::client;
use super::defaults;
use super::diagnostic::{Code, Diagnostic};
use super::distribution;
use super::entry::{Entry, Fields};
use super::expectations::{self, ExpectationEntry};
use super::faults::{self, FaultEntry};
use super::flags::{FlagTable, Reader};
use super::loads::{self, DemandEntry, LoadEntry, QueueEntry};
use super::nodes::{self, NodeGroup};
use super::operators::{self, OperatorEntry};
use super::polling::{self, ControlPlaneModel, PollingEntry};
use super::references::{self, ObjectRef};
use super::replicas::{self, Replicas};
use super::schema::shape::Special;
use super::settings::Settings;
use super::yaml::Part;
use crate::model::{Distribution, Span, Time};
use crate::node::RejectedPods;
use crate::polling::settings::Assignment;
use crate::rules::timestamp;
use crate::scheduler::ties::Ties;
use crate::sim::plan::{KubernetesVersion, ModelOptions, ResyncDraw, ResyncModel};

/// `apiVersion` of a Scenario.
pub const API_VERSION: &str = "kubesim.dev/v1alpha1";

/// A Scenario document, typed. What refers to something else is checked in `resolve`; such items keep their path.
#[derive(Clone, Debug, Default)]
pub struct ScenarioFile {
    /// `metadata.name`.
    pub name: Option<String>,
    /// `spec.kubernetesVersion`.
    pub version: Option<KubernetesVersion>,
    /// `spec.startAt`.
    pub start_at: Option<Time>,
    /// `spec.seed`.
    pub seed: Option<u64>,
    /// `spec.replication`.
    pub replication: Option<u64>,
    /// `spec.eventBudget`.
    pub event_budget: Option<u64>,
    /// `spec.duration`.
    pub duration: Option<Span>,
    /// `spec.until`.
    pub until: Option<Span>,
    /// `spec.nodes`.
    pub nodes: Vec<NodeGroup>,
    /// `spec.controlPlane`.
    pub control_plane: ControlPlane,
    /// `spec.operators`.
    pub operators: Vec<OperatorEntry>,
    /// `spec.containers`.
    pub containers: Vec<ContainerEntry>,
    /// `spec.load`.
    pub loads: Vec<LoadEntry>,
    /// `spec.queues`.
    pub queues: Vec<QueueEntry>,
    /// `spec.timeline`.
    pub timeline: Vec<TimelineItem>,
    /// `spec.faults`.
    pub faults: Vec<FaultEntry>,
    /// `spec.expect`.
    pub expect: Vec<ExpectationEntry>,
    /// `spec.model`.
    pub model: Model,
    /// `spec.polling`.
    pub polling: PollingEntry,
}

/// `spec.controlPlane`.
#[derive(Clone, Debug, Default)]
pub struct ControlPlane {
    /// `flags` of each component that has some.
    pub flags: Vec<Listed>,
    /// `controllerManager.reconcileTime.replicaset`.
    pub replicaset_time: Option<Distribution>,
    /// `controllerManager.reconcileTime.deployment`.
    pub deployment_time: Option<Distribution>,
    /// `controllerManager.client.timeout`.
    pub manager_timeout: Option<Span>,
    /// `scheduler.cycleTime.base`.
    pub cycle_base: Option<Distribution>,
    /// `scheduler.cycleTime.perNodeFiltered`.
    pub per_node_filtered: Option<Span>,
    /// `scheduler.cycleTime.perNodeScored`.
    pub per_node_scored: Option<Span>,
    /// `scheduler.client.timeout`.
    pub scheduler_timeout: Option<Span>,
    /// `apiServer`.
    pub api_server: ApiServerEntry,
    /// `controllerManager.replicas` and how they elect one of them.
    pub manager_replicas: Replicas,
    /// `scheduler.replicas` and how they elect one of them.
    pub scheduler_replicas: Replicas,
}

/// Flags of a component, as `spec.controlPlane` lists them.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Whose.
    pub table: FlagTable,
    /// What they set.
    pub settings: Settings,
    /// A problem with the list, still without words.
    pub at: Diagnostic,
}

/// An item of `spec.containers`.
#[derive(Clone, Debug)]
pub struct ContainerEntry {
    /// Path of `of`.
    pub path: String,
    /// Owner of the pods.
    pub of: ObjectRef,
    /// Pull of the image.
    pub pull: Option<Distribution>,
    /// Start of a container.
    pub start: Option<Distribution>,
    /// Start to ready.
    pub ready: Option<Distribution>,
    /// From the signal to the end.
    pub stop: Option<Distribution>,
    /// What its work costs.
    pub demand: Option<DemandEntry>,
}

/// An item of `spec.timeline`.
#[derive(Clone, Debug)]
pub struct TimelineItem {
    /// Path of the item.
    pub path: String,
    /// When.
    pub at: Span,
    /// The command line.
    pub kubectl: String,
    /// Of the objects found only this many.
    pub pick: Option<usize>,
}

/// `spec.model`.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Resyncs.
    pub options: ModelOptions,
    /// Whether the scheduler assumes.
    pub assume: bool,
    /// What becomes of pods that kubelets refuse.
    pub rejected_pods: RejectedPods,
    /// Which of several best nodes it takes.
    pub ties: Ties,
    /// Who runs the pods.
    pub control_plane: ControlPlaneModel,
}

impl Default for Model {
    fn default() -> Model {
        Model {
            options: ModelOptions::default(),
            assume: true,
            rejected_pods: RejectedPods::default(),
            ties: Ties::default(),
            control_plane: ControlPlaneModel::default(),
        }
    }
}

/// Reads a Scenario document. Problems are collected behind the entry; what is given back is complete when there are none.
pub fn read(root: &Entry<'_>) -> ScenarioFile {
    let mut file = ScenarioFile::default();
    let Some(mut top) = root.fields() else { return file };
    if let Some(version) = top.require("apiVersion") {
        version.is_a(Special::ApiVersion);
        if version.value != API_VERSION {
            let message = format!("unknown version {} of the format", super::entry::shown(version.value));
            version.problem(Code::UnknownVersion, message, Some(format!("this program reads {API_VERSION}")));
        }
    }
    top.require("kind").and_then(|kind| kind.word(&[("Scenario", ())]));
    if let Some(mut metadata) = top.get("metadata").and_then(|entry| entry.fields()) {
        file.name = metadata.get("name").and_then(|entry| name(&entry));
        // What Kubernetes objects may carry and a scenario makes no use of.
        for unused in ["labels", "annotations"] {
            metadata.get(unused).inspect(|entry| entry.is_a(Special::Anything));
        }
        metadata.finish();
    }
    if let Some(spec) = top.get("spec").and_then(|entry| entry.fields()) {
        read_spec(spec, &mut file);
    }
    top.finish();
    file
}

fn read_spec(mut spec: Fields<'_>, file: &mut ScenarioFile) {
    spec.later(&["network", "images", "plant"]);
    file.version = spec.get("kubernetesVersion").and_then(|entry| version(&entry));
    file.start_at = spec.get("startAt").and_then(|entry| instant(&entry));
    file.seed = spec.get("seed").and_then(|entry| seed(&entry));
    file.replication = spec.get("replication").and_then(|entry| seed(&entry));
    file.event_budget = spec.get("eventBudget").and_then(|entry| entry.whole(1..=i64::MAX)).map(|events| events as u64);
    file.duration = spec.get("duration").and_then(|entry| entry.duration());
    file.until = spec.get("until").and_then(|entry| entry.duration());
    file.nodes = list(&mut spec, "nodes", nodes::read);
    // Read where they are used: files are loaded, variants and points of a sweep set before the document is typed, commands
    // name files later.
    spec.get("include");
    spec.get("files").inspect(|entry| entry.is_a(Special::Files));
    spec.get("variants");
    spec.get("sweep");
    if let Some(fields) = spec.get("controlPlane").and_then(|entry| entry.fields()) {
        file.control_plane = control_plane(fields, file.version.unwrap_or(defaults::VERSION));
    }
    file.operators = list(&mut spec, "operators", operators::read);
    file.containers = list(&mut spec, "containers", container);
    file.loads = list(&mut spec, "load", loads::read);
    file.queues = list(&mut spec, "queues", loads::queue);
    file.timeline = list(&mut spec, "timeline", timeline_item);
    file.faults = list(&mut spec, "faults", faults::read);
    file.expect = list(&mut spec, "expect", expectations::read);
    if let Some(fields) = spec.get("model").and_then(|entry| entry.fields()) {
        file.model = model(fields);
    }
    file.polling = spec.get("polling").and_then(|entry| polling::read(&entry)).unwrap_or_default();
    let polls = file.model.control_plane == ControlPlaneModel::Polling;
    file.model.options.rebinds = polls && file.polling.settings.assignment == Assignment::Overwrite;
    file.model.options.tells_of_new_pods = polls;
    spec.finish();
}

fn list<T>(spec: &mut Fields<'_>, name: &'static str, read: fn(&Entry<'_>) -> Option<T>) -> Vec<T> {
    let items = spec.get(name).map(|entry| entry.items()).unwrap_or_default();
    items.iter().filter_map(read).collect()
}

/// A name that can be part of a file name: a DNS subdomain, as Kubernetes wants names.
pub fn name(entry: &Entry<'_>) -> Option<String> {
    entry.is_a(Special::Name);
    let text = entry.text()?;
    if crate::rules::names::is_dns_subdomain(text) {
        return Some(text.to_string());
    }
    let help = "names have lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit";
    entry.problem(Code::BadName, format!("`{text}` is not a name"), Some(help.into()));
    None
}

/// A name by which `set` addresses an item.
pub fn label(entry: &Entry<'_>) -> Option<String> {
    entry.text().map(str::to_string)
}

fn version(entry: &Entry<'_>) -> Option<KubernetesVersion> {
    entry.is_a(Special::KubernetesVersion);
    let text = entry.text_or_number()?;
    let found = KubernetesVersion::ALL.into_iter().find(|version| version.as_str() == text.trim_start_matches('v'));
    if found.is_none() {
        let known: Vec<&str> = KubernetesVersion::ALL.iter().map(|version| version.as_str()).collect();
        let help = format!("followed are {}", known.join(", "));
        entry.problem(Code::UnknownVersion, format!("Kubernetes {text} is not followed"), Some(help));
    }
    found
}

fn instant(entry: &Entry<'_>) -> Option<Time> {
    entry.is_a(Special::Instant);
    let text = entry.text()?;
    let found = timestamp::parse(text);
    if found.is_none() {
        let help = format!("an instant is written as {}", defaults::START_AT);
        entry.problem(Code::BadValue, format!("`{text}` is not an instant"), Some(help));
    }
    found
}

fn seed(entry: &Entry<'_>) -> Option<u64> {
    entry.is_a(Special::Seed);
    let seed = entry.value.as_u64();
    if seed.is_none() {
        let message = format!("must be a whole number from 0, not {}", super::entry::shown(entry.value));
        entry.problem(Code::BadValue, message, None);
    }
    seed
}

fn control_plane(mut fields: Fields<'_>, version: KubernetesVersion) -> ControlPlane {
    let mut plane = ControlPlane::default();
    fields.later(&["kubelet", "etcd", "hpa", "autoscaler"]);
    if let Some(mut manager) = fields.get("controllerManager").and_then(|entry| entry.fields()) {
        plane.manager_replicas = replicas::read(&mut manager);
        plane.flags.extend(flags(&mut manager, FlagTable::ControllerManager, version));
        plane.manager_timeout = client::of_component(&mut manager);
        if let Some(mut times) = manager.get("reconcileTime").and_then(|entry| entry.fields()) {
            plane.replicaset_time = time(&mut times, "replicaset");
            plane.deployment_time = time(&mut times, "deployment");
            times.finish();
        }
        manager.finish();
    }
    if let Some(mut scheduler) = fields.get("scheduler").and_then(|entry| entry.fields()) {
        plane.scheduler_replicas = replicas::read(&mut scheduler);
        plane.flags.extend(flags(&mut scheduler, FlagTable::Scheduler, version));
        plane.scheduler_timeout = client::of_component(&mut scheduler);
        if let Some(mut times) = scheduler.get("cycleTime").and_then(|entry| entry.fields()) {
            plane.cycle_base = time(&mut times, "base");
            plane.per_node_filtered = times.get("perNodeFiltered").and_then(|entry| entry.duration());
            plane.per_node_scored = times.get("perNodeScored").and_then(|entry| entry.duration());
            times.finish();
        }
        scheduler.finish();
    }
    if let Some(mut server) = fields.get("apiServer").and_then(|entry| entry.fields()) {
        plane.flags.extend(flags(&mut server, FlagTable::ApiServer, version));
        plane.api_server = api_server::read(server);
    }
    fields.finish();
    plane
}

/// `flags` of a component; an empty list says nothing.
fn flags(fields: &mut Fields<'_>, table: FlagTable, version: KubernetesVersion) -> Option<Listed> {
    let list = fields.get("flags")?;
    if !list.value.is_array() {
        let message = format!("must be a list of flags, not {}", super::entry::shown(list.value));
        list.problem(
            Code::BadValue,
            message,
            Some("for example [\"--kube-api-qps=20\", \"--kube-api-burst=30\"]".into()),
        );
        return None;
    }
    let items = list.items();
    let is_empty = items.is_empty();
    let settings = Reader { table, version, written_for: None, groups_notices: false }.read(items);
    let at = list.document.problem(Code::Contradiction, &list.path, Part::Value, "");
    (!is_empty).then_some(Listed { table, settings, at })
}

fn time(fields: &mut Fields<'_>, name: &'static str) -> Option<Distribution> {
    fields.get(name).and_then(|entry| distribution::read(&entry))
}

fn container(entry: &Entry<'_>) -> Option<ContainerEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["fails", "exits", "probe"]);
    let of = fields.require("of");
    let path = of.as_ref().map_or(String::new(), |of| of.path.clone());
    let of = of.and_then(|of| references::object(&of));
    let [pull, start, ready, stop] = ["pull", "start", "ready", "stop"].map(|name| time(&mut fields, name));
    let demand = loads::demand(&mut fields);
    fields.finish();
    Some(ContainerEntry { path, of: of?, pull, start, ready, stop, demand })
}

fn timeline_item(entry: &Entry<'_>) -> Option<TimelineItem> {
    let mut fields = entry.fields()?;
    fields.get("name").and_then(|name| label(&name));
    let at = fields.require("at").and_then(|at| at.duration());
    let kubectl = fields.require("kubectl").and_then(|line| line.text().map(str::to_string));
    let pick = fields.get("pick").and_then(|pick| pick.whole(1..=i64::MAX)).map(|pick| pick as usize);
    fields.finish();
    Some(TimelineItem { path: entry.path.clone(), at: at?, kubectl: kubectl?, pick })
}

fn model(mut fields: Fields<'_>) -> Model {
    let mut model = Model::default();
    fields.later(&["autoscaler"]);
    let planes = [("kubernetes", ControlPlaneModel::Kubernetes), ("polling", ControlPlaneModel::Polling)];
    model.control_plane = fields.get("controlPlane").and_then(|entry| entry.word(&planes)).unwrap_or_default();
    let resync = [("replay", ResyncModel::Replay), ("relist", ResyncModel::Relist)];
    model.options.resync = fields.get("resync").and_then(|entry| entry.word(&resync)).unwrap_or_default();
    let draw = [("perProcess", ResyncDraw::PerProcess), ("perController", ResyncDraw::PerController)];
    model.options.resync_draw = fields.get("resyncDraw").and_then(|entry| entry.word(&draw)).unwrap_or_default();
    let ties = [("random", Ties::Drawn), ("name", Ties::ByName)];
    model.ties = fields.get("ties").and_then(|entry| entry.word(&ties)).unwrap_or_default();
    let rejected = [("failed", RejectedPods::Failed), ("pending", RejectedPods::Pending)];
    model.rejected_pods = fields.get("rejectedPods").and_then(|entry| entry.word(&rejected)).unwrap_or_default();
    model.assume = fields.get("assume").and_then(|entry| entry.truth()).unwrap_or(true);
    fields.finish();
    model
}
