//! A typed scenario and its manifests to a Plan: defaults filled in, references checked.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::defaults;
use super::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use super::entry::join;
use super::faults::FaultEntry;
use super::file::{ContainerEntry, ScenarioFile, TimelineItem};
use super::files::{self, NotFound};
use super::load::Input;
use super::manifests::{self, Manifest};
use super::nodes;
use super::references::ObjectRef;
use super::resolved::AppliedFiles;
use super::yaml::{self, Document, Part, Place};
use crate::kubectl::parser::{self, CommandError, Context};
use crate::model::{Kind, Kinds, Span, Time};
use crate::rules::manifest::{ManifestKind, Reason, types};
use crate::rules::{suggest, timestamp};
use crate::sim::plan::{
    Command, CommandVerb, ContainerRule, ContainerTimes, End, Expectation, FaultPlan, Plan, TimelineEntry,
};

/// One world of a scenario: the base or a variant, with its values set.
pub(super) struct World<'a> {
    /// What all worlds share.
    pub input: &'a Input,
    /// The Scenario document of this world.
    pub scenario: &'a Document,
    /// The same, typed.
    pub file: ScenarioFile,
    /// The manifests of this world, without static Pods of components.
    pub manifests: Vec<Manifest>,
    /// Static Pods of components.
    pub static_pods: Vec<Manifest>,
    /// Where problems go.
    pub problems: &'a RefCell<Diagnostics>,
    /// What the files that commands name hold.
    pub applied: &'a RefCell<AppliedFiles>,
}

impl World<'_> {
    /// The plan; it is only good for a run when no errors were collected.
    pub fn plan(self, variant: &str) -> Plan {
        let file = &self.file;
        let mut notices = self.input.manifests.notices.clone();
        let (end, last) = self.end(&mut notices);
        let start_at = file.start_at.unwrap_or_else(|| timestamp::parse(defaults::START_AT).unwrap_or_default());
        let settings = self.settings(&mut notices);
        let commands = self.commands(start_at);
        let (objects, mut known) = self.objects(&commands, &mut notices);
        known.extend(commands.iter().flat_map(|(_, entry)| applied(&entry.command, &self.input.known.kinds)));
        self.check_targets(&commands, &known);
        self.check_images(&commands);
        notices.extend(self.unmodelled(&commands));
        let mut timeline: Vec<TimelineEntry> = commands.into_iter().map(|(_, entry)| entry).collect();
        timeline.sort_by_key(|entry| entry.at);
        for item in &file.timeline {
            self.check_time(&item.path, "at", item.at, last);
        }
        Plan {
            name: file.name.clone().unwrap_or_else(|| self.input.default_name.clone()),
            variant: variant.to_string(),
            seed: self.input.overrides.seed.or(file.seed).unwrap_or(defaults::SEED),
            replication: file.replication.unwrap_or(0),
            version: file.version.unwrap_or(defaults::VERSION),
            start_at,
            end,
            event_budget: file.event_budget.unwrap_or(defaults::EVENT_BUDGET),
            kinds: self.input.known.kinds.clone(),
            objects,
            latency: file.control_plane.api_server.latency(),
            process_latency: Vec::new(),
            api_server: file.control_plane.api_server.settings(&settings.api_server),
            processes: self.processes(&settings).into_iter().chain(self.operator_processes(&known)).collect(),
            containers: self.containers(&known),
            timeline,
            faults: self.faults(last, &mut notices),
            expectations: self.expectations(last, &known),
            gates: self.gates(&settings),
            model: file.model.options,
            admission_limit: None,
            transport: None,
            names_by_counter: false,
            notices,
        }
    }

    pub(super) fn problem(&self, code: Code, path: &str, message: String) -> Diagnostic {
        self.scenario.problem(code, path, Part::Value, message)
    }

    pub(super) fn add(&self, problem: Diagnostic) {
        self.problems.borrow_mut().push(problem);
    }

    /// The end of the run, and the last instant that the scenario itself allows (`--until` makes nothing wrong).
    fn end(&self, notices: &mut Vec<String>) -> (End, Span) {
        let until = self.input.overrides.until.or(self.file.until);
        let Some(duration) = self.file.duration else {
            let limit = until.unwrap_or(defaults::QUIET_LIMIT);
            return (End::Quiet { limit }, limit.max(defaults::QUIET_LIMIT));
        };
        match until {
            Some(until) if until > duration => {
                notices.push(format!("--until {until} lies after the end of the scenario ({duration}), which counts"));
                (End::After(duration), duration)
            }
            Some(until) => (End::After(until), duration),
            None => (End::After(duration), duration),
        }
    }

    fn check_time(&self, path: &str, field: &str, time: Span, last: Span) {
        if time <= last {
            return;
        }
        let why = match self.file.duration {
            Some(duration) => format!("the run ends at {duration}"),
            None => format!("a run without `spec.duration` ends at {last} at the latest"),
        };
        let problem =
            self.problem(Code::NeverHappens, &format!("{path}.{field}"), format!("{time} is after the end: {why}"));
        self.add(problem.help("lengthen `spec.duration`, or take an earlier time"));
    }

    /// What is in etcd at the start (namespaces, nodes, then the rest in the order of the files), and what all of it is
    /// called.
    fn objects(
        &self,
        commands: &[(String, TimelineEntry)],
        notices: &mut Vec<String>,
    ) -> (Vec<Arc<Value>>, BTreeSet<ObjectRef>) {
        let mut known: BTreeSet<ObjectRef> = self.manifests.iter().map(|manifest| manifest.object.clone()).collect();
        let of_kind = |kind| self.manifests.iter().filter(move |manifest| manifest.object.kind == kind);
        let value = |manifest: &Manifest| Arc::new(manifest.document.value.clone());
        let mut objects = Vec::new();
        let used = self.manifests.iter().map(|manifest| manifest.object.namespace.clone());
        let applied = commands
            .iter()
            .flat_map(|(_, entry)| applied(&entry.command, &self.input.known.kinds))
            .map(|object| object.namespace);
        let mut namespaces: Vec<String> = vec!["default".into()];
        namespaces.extend(used.chain(applied).filter(|namespace| !namespace.is_empty()));
        for name in namespaces {
            let object = ObjectRef { kind: Kind::Namespace, namespace: String::new(), name: name.clone() };
            if known.insert(object) {
                objects.push(Arc::new(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})));
                if name != "default" && !name.starts_with("kube-") {
                    notices.push(format!("namespace {name} is in no file: it is there from the start"));
                }
            }
        }
        objects.extend(of_kind(Kind::Namespace).map(value));
        objects.extend(of_kind(Kind::Node).map(value));
        let groups = match &self.input.nodes {
            Some(group) => vec![group.clone()],
            None => self.file.nodes.clone(),
        };
        let is_silent = groups.is_empty() && self.scenario.value["spec"]["nodes"].is_null();
        let groups = if is_silent && of_kind(Kind::Node).next().is_none() {
            let (count, cpu, memory) = (defaults::NODE_COUNT, defaults::NODE_CPU, defaults::NODE_MEMORY);
            notices
                .push(format!("no Node is given: {count} nodes of {cpu} CPU, {memory}, {} pods", defaults::NODE_PODS));
            vec![nodes::default_group()]
        } else {
            groups
        };
        for node in nodes::manifests(&groups) {
            let name = node["metadata"]["name"].as_str().unwrap_or_default().to_string();
            let object = ObjectRef { kind: Kind::Node, namespace: String::new(), name: name.clone() };
            if known.insert(object) {
                objects.push(Arc::new(node));
            } else {
                let message = format!("node/{name} is given twice");
                let help = "give the group another `name`; without one nodes are called node-1, node-2 ...";
                self.add(self.problem(Code::DuplicateObject, "spec.nodes", message).help(help));
            }
        }
        let rest =
            self.manifests.iter().filter(|manifest| !matches!(manifest.object.kind, Kind::Namespace | Kind::Node));
        objects.extend(rest.map(value));
        self.operator_objects(&mut known, &mut objects);
        (objects, known)
    }

    /// What manifests, applied ones included, say and nobody models.
    fn unmodelled(&self, commands: &[(String, TimelineEntry)]) -> Vec<String> {
        let later = commands.iter().flat_map(|(_, entry)| match &entry.command.verb {
            CommandVerb::Apply { objects } => objects.as_slice(),
            _ => &[],
        });
        let later: Vec<(ObjectRef, &Value)> =
            later.filter_map(|value| Some((object_of(value, &self.input.known.kinds)?, value.as_ref()))).collect();
        let given = self.manifests.iter().map(|manifest| (&manifest.object, &manifest.document.value));
        manifests::unmodelled_notices(given.chain(later.iter().map(|(object, value)| (object, *value))))
    }

    fn containers(&self, known: &BTreeSet<ObjectRef>) -> ContainerTimes {
        let rule = |entry: &ContainerEntry| {
            self.check_object(&entry.path, &entry.of, known);
            ContainerRule {
                of: (entry.of.kind, entry.of.namespace.clone(), entry.of.name.clone()),
                pull: entry.pull.clone(),
                start: entry.start.clone(),
                ready: entry.ready.clone(),
                stop: entry.stop.clone(),
            }
        };
        ContainerTimes { rules: self.file.containers.iter().map(rule).collect(), ..defaults::containers() }
    }

    pub(super) fn check_object(&self, path: &str, object: &ObjectRef, known: &BTreeSet<ObjectRef>) {
        if known.contains(object) {
            return;
        }
        let texts: Vec<String> =
            known.iter().filter(|other| other.kind == object.kind).map(ObjectRef::to_string).collect();
        let help = suggest::help(&object.to_string(), texts.iter().map(String::as_str));
        self.add(self.problem(Code::UnknownObject, path, format!("no file describes {object}")).maybe_help(help));
    }

    /// The timeline with the path of each item.
    fn commands(&self, start_at: Time) -> Vec<(String, TimelineEntry)> {
        let command = |item: &TimelineItem| {
            let context = Context {
                namespace: "default",
                kinds: &self.input.known.kinds,
                now: start_at + item.at,
                read_file: &|named| self.read_objects(named),
                read_value: &yaml::parse_value,
            };
            let path = format!("{}.kubectl", item.path);
            let mut command = match parser::parse(&item.kubectl, &context) {
                Ok(command) => command,
                Err(CommandError { message, help }) => {
                    self.add(self.problem(Code::BadCommand, &path, message).maybe_help(help));
                    return None;
                }
            };
            if let CommandVerb::Patch { target, patch, .. } = &command.verb {
                let kind = ManifestKind::of(target.kind);
                for error in kind.map(|kind| types::read_patch(kind, patch)).unwrap_or_default() {
                    let (code, what) = match error.reason {
                        Reason::UnknownField => (Code::UnknownField, format!("unknown field `{}`", error.path)),
                        _ => (Code::BadCommand, error.to_string()),
                    };
                    let message = format!("{what} in the patch of a {}", target.kind);
                    self.add(self.problem(code, &path, message).maybe_help(error.help));
                }
            }
            match (&mut command.verb, item.pick) {
                (CommandVerb::Delete { pick, .. }, Some(_)) => *pick = item.pick,
                (_, Some(_)) => {
                    let path = format!("{}.pick", item.path);
                    self.add(self.problem(Code::Contradiction, &path, "`pick` goes with `kubectl delete`".into()));
                }
                _ => {}
            }
            Some((path, TimelineEntry { at: item.at, command }))
        };
        self.file.timeline.iter().filter_map(command).collect()
    }

    /// The manifests of a file that a command names: those of `spec.files`, or those beside the scenario.
    fn read_objects(&self, named: &str) -> Result<Vec<Arc<Value>>, CommandError> {
        let mut problems = Diagnostics::default();
        let documents = match self.scenario.value["spec"]["files"].get(named) {
            Some(given) => self.documents_of(given, &join("spec.files", named)),
            None => self.read_documents(named, &mut problems)?,
        };
        let mut found: Vec<Arc<Value>> = Vec::new();
        for documents in documents {
            let manifests = manifests::collect(documents, &self.input.known.kinds, &mut problems);
            for notice in &manifests.notices {
                let mut notice = Diagnostic::error(Code::NotSimulated, format!("`{named}`: {notice}"));
                notice.severity = Severity::Notice;
                problems.push(notice);
            }
            let beside = &self.input.manifests.others;
            manifests::check_all(&manifests.list, &manifests.others, beside, &mut problems);
            found.extend(manifests.list.into_iter().map(|manifest| Arc::new(manifest.document.value)));
        }
        let failed = problems.has_errors();
        self.problems.borrow_mut().extend(problems);
        if found.is_empty() && !failed {
            return Err(CommandError::new(format!("`{named}` holds no object that is simulated")));
        }
        self.applied.borrow_mut().insert(named.to_string(), found.clone());
        Ok(found)
    }

    /// The items of a list of manifests as documents of their own.
    fn documents_of(&self, list: &Value, path: &str) -> Vec<Vec<Document>> {
        let items = list.as_array().map_or(std::slice::from_ref(list), Vec::as_slice);
        let document = |(index, item): (usize, &Value)| {
            let (source, value) = self.scenario.find(&format!("{path}[{index}]"), Part::Value);
            let place = Place { value, ..Place::default() };
            Document { source, value: item.clone(), place, item: String::new(), set_at: Vec::new() }
        };
        vec![items.iter().enumerate().map(document).collect()]
    }

    /// The documents of the files that a name stands for.
    fn read_documents(&self, named: &str, problems: &mut Diagnostics) -> Result<Vec<Vec<Document>>, CommandError> {
        let found = files::find(&self.input.folder, named, self.input.overrides.allow_outside);
        let paths = found.map_err(|NotFound { message, help, .. }| {
            CommandError::new(message).help(help.unwrap_or("files are looked for beside the scenario".into()))
        })?;
        Ok(paths.iter().map(|path| files::read(path, problems)).collect())
    }

    /// Names that commands act on must exist: deployments and nodes are made by nobody but the user.
    fn check_targets(&self, commands: &[(String, TimelineEntry)], known: &BTreeSet<ObjectRef>) {
        for (path, entry) in commands {
            let (target, node);
            let target = match &entry.command.verb {
                CommandVerb::Delete { target, .. }
                | CommandVerb::Scale { target, .. }
                | CommandVerb::Patch { target, .. } => target,
                CommandVerb::Cordon { node: name, .. } => {
                    node = name.clone();
                    target = crate::sim::plan::Target {
                        kind: Kind::Node,
                        namespace: String::new(),
                        names: vec![node],
                        selector: None,
                    };
                    &target
                }
                CommandVerb::Apply { .. } => continue,
            };
            if !is_made_by_users(target.kind) {
                continue;
            }
            for name in &target.names {
                let object = ObjectRef { kind: target.kind, namespace: target.namespace.clone(), name: name.clone() };
                self.check_object(path, &object, known);
            }
        }
    }

    /// `set image` names containers that its target has.
    fn check_images(&self, commands: &[(String, TimelineEntry)]) {
        let is_set = |command: &Command| command.text.trim_start_matches("kubectl ").trim_start().starts_with("set ");
        let applied = commands.iter().flat_map(|(_, entry)| match &entry.command.verb {
            CommandVerb::Apply { objects } => objects.as_slice(),
            _ => &[],
        });
        let applied = applied.filter_map(|value| Some((object_of(value, &self.input.known.kinds)?, value.as_ref())));
        let mut objects: Vec<(ObjectRef, &Value)> =
            self.manifests.iter().map(|manifest| (manifest.object.clone(), &manifest.document.value)).collect();
        objects.extend(applied);
        for (path, entry) in commands.iter().filter(|(_, entry)| is_set(&entry.command)) {
            let CommandVerb::Patch { target, patch, .. } = &entry.command.verb else { continue };
            for name in &target.names {
                let object = ObjectRef { kind: target.kind, namespace: target.namespace.clone(), name: name.clone() };
                let of_target = objects.iter().filter(|(other, _)| *other == object);
                let names: Vec<&str> = of_target.flat_map(|(_, value)| container_names(target.kind, value)).collect();
                // Targets that no file describes are reported elsewhere, or made by a controller.
                let wanted = container_names(target.kind, patch).into_iter().filter(|_| !names.is_empty());
                for container in wanted.filter(|container| !names.contains(container)) {
                    let message = format!("unable to find container named \"{container}\"");
                    let help = format!("containers of {object}: {}", names.join(", "));
                    self.add(self.problem(Code::BadCommand, path, message).help(help));
                }
            }
        }
    }

    /// A replica that a fault names must run.
    fn check_replica(&self, entry: &FaultEntry) {
        let Some(process) = entry.plan.action.process() else { return };
        let plane = &self.file.control_plane;
        let count = match process.process.as_str() {
            "kube-controller-manager" => plane.manager_replicas.count.unwrap_or(1),
            "kube-scheduler" => plane.scheduler_replicas.count.unwrap_or(1),
            _ => 1,
        };
        if let Some(replica) = process.replica.filter(|replica| *replica >= count) {
            let name = &process.process;
            let message = match count {
                1 => format!("`{name}` runs once: there is no replica #{replica}"),
                _ => format!("`{name}` has {count} replicas: there is no #{replica}"),
            };
            self.add(self.problem(Code::UnknownProcess, &entry.path, message).help("replicas are numbered from 0"));
        }
    }

    fn faults(&self, last: Span, notices: &mut Vec<String>) -> Vec<FaultPlan> {
        let mut faults: Vec<FaultPlan> = Vec::new();
        for entry in &self.file.faults {
            self.check_replica(entry);
            self.check_time(&entry.path, "at", entry.plan.at, last);
            notices.extend(entry.notices.iter().cloned());
            faults.push(entry.plan.clone());
        }
        faults
    }

    fn expectations(&self, last: Span, known: &BTreeSet<ObjectRef>) -> Vec<Expectation> {
        let mut expectations = Vec::new();
        for entry in &self.file.expect {
            if let Some(bound) = entry.when.last_bound() {
                let field = match entry.when {
                    crate::sim::plan::When::At(_) => "at",
                    crate::sim::plan::When::Until(_) => "until",
                    _ => "within",
                };
                self.check_time(&entry.path, field, bound, last);
            }
            if let Some((path, name)) = &entry.only_in
                && !self.input.variants.contains(name)
            {
                let help = match self.input.variants.is_empty() {
                    true => Some("the scenario has no `spec.variants`".to_string()),
                    false => suggest::help(name, self.input.variants.iter().map(String::as_str)),
                };
                self.add(
                    self.problem(Code::UnknownObject, path, format!("no variant is named `{name}`")).maybe_help(help),
                );
            }
            // Nobody but the user makes these: one that no file describes never comes to be.
            for key in entry.objects.iter().filter(|key| is_made_by_users(key.kind)) {
                let (namespace, name) = (key.namespace.as_str().to_string(), key.name.as_str().to_string());
                self.check_object(&entry.path_of_condition, &ObjectRef { kind: key.kind, namespace, name }, known);
            }
            let only_in = entry.only_in.as_ref().map(|(_, name)| name.clone());
            expectations.push(Expectation { when: entry.when, that: entry.that.clone(), only_in });
        }
        expectations
    }
}

/// Kinds of which no controller makes objects.
fn is_made_by_users(kind: Kind) -> bool {
    matches!(kind, Kind::Deployment | Kind::Node | Kind::Namespace)
}

/// Names of the regular containers of a pod, a template or a patch of them.
fn container_names(kind: Kind, value: &Value) -> Vec<&str> {
    let spec = if kind == Kind::Pod { &value["spec"] } else { &value["spec"]["template"]["spec"] };
    spec["containers"].as_array().into_iter().flatten().filter_map(|container| container["name"].as_str()).collect()
}

/// What an apply would make.
fn applied(command: &Command, kinds: &Kinds) -> Vec<ObjectRef> {
    let CommandVerb::Apply { objects } = &command.verb else { return Vec::new() };
    objects.iter().filter_map(|value| object_of(value, kinds)).collect()
}

/// What a manifest describes; `None` for a kind that is not simulated.
fn object_of(value: &Value, kinds: &Kinds) -> Option<ObjectRef> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let kind = kinds.from_manifest(value["apiVersion"].as_str()?, value["kind"].as_str()?)?;
    let namespace = if kind.info().namespaced { text(&value["metadata"]["namespace"]) } else { String::new() };
    Some(ObjectRef { kind, namespace, name: text(&value["metadata"]["name"]) })
}
