//! What people do during a run: `kubectl` commands of the timeline, read and checked before it starts.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use super::entry::join;
use super::file::TimelineItem;
use super::files::{self, NotFound};
use super::manifests;
use super::references::ObjectRef;
use super::resolve::{World, is_made_by_users};
use super::yaml::{self, Document, Part, Place};
use crate::kubectl::parser::{self, CommandError, Context};
use crate::model::{Kind, Kinds, Time};
use crate::rules::manifest::{ManifestKind, Reason, types};
use crate::sim::plan::{Command, CommandVerb, Target, TimelineEntry};

/// An object that a command applies, and its manifest.
pub(super) type Applied<'a> = (ObjectRef, &'a Value);

impl World<'_> {
    /// The timeline with the path of each command.
    pub(super) fn commands(&self, start_at: Time) -> Vec<(String, TimelineEntry)> {
        let command = |item: &TimelineItem| {
            let path = format!("{}.kubectl", item.path);
            let command = self.command(item, &path, start_at)?;
            Some((path, TimelineEntry { at: item.at, command }))
        };
        self.file.timeline.iter().filter_map(command).collect()
    }

    fn command(&self, item: &TimelineItem, path: &str, start_at: Time) -> Option<Command> {
        let context = Context {
            namespace: "default",
            kinds: &self.input.known.kinds,
            now: start_at + item.at,
            read_file: &|named| self.read_objects(named),
            read_value: &yaml::parse_value,
        };
        let mut command = match parser::parse(&item.kubectl, &context) {
            Ok(command) => command,
            Err(CommandError { message, help }) => {
                self.add(self.problem(Code::BadCommand, path, message).maybe_help(help));
                return None;
            }
        };
        match &mut command.verb {
            CommandVerb::Delete { pick, .. } => *pick = item.pick,
            _ if item.pick.is_some() => {
                let path = format!("{}.pick", item.path);
                self.add(self.problem(Code::Contradiction, &path, "`pick` goes with `kubectl delete`".into()));
            }
            _ => {}
        }
        if let CommandVerb::Patch { target, patch, .. } = &command.verb {
            self.check_patch(path, target.kind, patch);
        }
        Some(command)
    }

    /// The fields of a patch are those of its kind.
    fn check_patch(&self, path: &str, kind: Kind, patch: &Value) {
        let errors = ManifestKind::of(kind).map(|kind| types::read_patch(kind, patch));
        for error in errors.unwrap_or_default() {
            let (code, what) = match error.reason {
                Reason::UnknownField => (Code::UnknownField, format!("unknown field `{}`", error.path)),
                _ => (Code::BadCommand, error.to_string()),
            };
            self.add(self.problem(code, path, format!("{what} in the patch of a {kind}")).maybe_help(error.help));
        }
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
            let beside = &self.input.manifests;
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

    /// What the commands apply, in their order; not what is of a kind that is not simulated.
    pub(super) fn applied_objects<'a>(&self, commands: &'a [(String, TimelineEntry)]) -> Vec<Applied<'a>> {
        let objects = commands.iter().flat_map(|(_, entry)| match &entry.command.verb {
            CommandVerb::Apply { objects, .. } => objects.as_slice(),
            _ => &[],
        });
        objects.filter_map(|value| Some((object_of(value, &self.input.known.kinds)?, value.as_ref()))).collect()
    }

    /// Names that commands act on must exist where nobody but the user makes such objects.
    pub(super) fn check_targets(&self, commands: &[(String, TimelineEntry)], known: &BTreeSet<ObjectRef>) {
        for (path, entry) in commands {
            let targets = match &entry.command.verb {
                CommandVerb::Delete { target, .. }
                | CommandVerb::Scale { target, .. }
                | CommandVerb::Wait { target, .. }
                | CommandVerb::Patch { target, .. } => named(target),
                CommandVerb::Cordon { node, .. } | CommandVerb::Drain { node, .. } => {
                    vec![ObjectRef { kind: Kind::Node, namespace: String::new(), name: node.clone() }]
                }
                CommandVerb::Apply { .. } => Vec::new(),
            };
            for object in targets.iter().filter(|object| is_made_by_users(object.kind)) {
                self.check_object(path, object, known);
            }
        }
    }

    /// `set image` names containers that its target has.
    pub(super) fn check_images(&self, commands: &[(String, TimelineEntry)], applied: &[Applied<'_>]) {
        let is_set = |command: &Command| command.text.trim_start_matches("kubectl ").trim_start().starts_with("set ");
        let given = self.manifests.iter().map(|manifest| (&manifest.object, &manifest.document.value));
        let objects: Vec<(&ObjectRef, &Value)> =
            given.chain(applied.iter().map(|(object, value)| (object, *value))).collect();
        for (path, entry) in commands.iter().filter(|(_, entry)| is_set(&entry.command)) {
            let CommandVerb::Patch { target, patch, .. } = &entry.command.verb else { continue };
            for object in named(target) {
                let of_target = objects.iter().filter(|(other, _)| **other == object);
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
}

/// The objects that a target names one by one.
fn named(target: &Target) -> Vec<ObjectRef> {
    let object =
        |name: &String| ObjectRef { kind: target.kind, namespace: target.namespace.clone(), name: name.clone() };
    target.names.iter().map(object).collect()
}

/// Names of the regular containers of a pod, a template or a patch of them.
fn container_names(kind: Kind, value: &Value) -> Vec<&str> {
    let spec = if kind == Kind::Pod { &value["spec"] } else { &value["spec"]["template"]["spec"] };
    spec["containers"].as_array().into_iter().flatten().filter_map(|container| container["name"].as_str()).collect()
}

/// What a manifest describes; `None` for a kind that is not simulated.
fn object_of(value: &Value, kinds: &Kinds) -> Option<ObjectRef> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let kind = kinds.from_manifest(value["apiVersion"].as_str()?, value["kind"].as_str()?)?;
    let namespace = if kind.info().namespaced { text(&value["metadata"]["namespace"]) } else { String::new() };
    Some(ObjectRef { kind, namespace, name: text(&value["metadata"]["name"]) })
}
