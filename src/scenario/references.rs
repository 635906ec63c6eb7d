//! References to objects (`deployment/api`, `shop/deployment/api`) and to processes (`kube-controller-manager/replicaset`).

use super::diagnostic::Code;
use super::entry::Entry;
use super::known::Known;
use super::polling;
use super::schema::shape::Special;
use crate::model::{Kind, Kinds};
use crate::rules::reference::{self, NoReference};
use crate::rules::suggest;
use crate::sim::plan::ProcessRef;

/// A reference to an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ObjectRef {
    /// Kind.
    pub kind: Kind,
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if !self.namespace.is_empty() && self.namespace != "default" {
            write!(f, "{}/", self.namespace)?;
        }
        write!(f, "{}/{}", self.kind.singular(), self.name)
    }
}

/// Reads `KIND/NAME` or `NAMESPACE/KIND/NAME`.
///
/// # Errors
/// What is wrong, and what to do about it.
pub fn parse_object(text: &str, kinds: &Kinds) -> Result<ObjectRef, NoReference> {
    let key = reference::object(text, kinds)?;
    Ok(ObjectRef { kind: key.kind, namespace: key.namespace.to_string(), name: key.name.to_string() })
}

/// Reads a reference to an object.
pub fn object(entry: &Entry<'_>) -> Option<ObjectRef> {
    entry.is_a(Special::Object);
    match parse_object(entry.text()?, &entry.known.kinds) {
        Ok(reference) => Some(reference),
        Err(NoReference { message, help }) => {
            entry.problem(Code::UnknownObject, message, help);
            None
        }
    }
}

/// The kind that a field names.
pub fn kind(entry: &Entry<'_>) -> Option<Kind> {
    entry.is_a(Special::Kind);
    let text = entry.text()?;
    let found = entry.known.kinds.from_user(text);
    if found.is_none() {
        let help = suggest::help(text, entry.known.kinds.iter().map(Kind::as_str));
        entry.problem(Code::UnknownKind, format!("unknown kind `{text}`"), help);
    }
    found
}

/// A component and the kinds that it watches.
pub type Watcher = (&'static str, &'static [Kind]);

/// The processes that run, their components, and the kinds that each component watches.
pub const PROCESSES: &[(&str, &[Watcher])] = &[
    (
        "kube-controller-manager",
        &[
            ("replicaset", &[Kind::ReplicaSet, Kind::Pod]),
            ("deployment", &[Kind::Deployment, Kind::ReplicaSet, Kind::Pod]),
            ("garbagecollector", &[Kind::Deployment, Kind::ReplicaSet, Kind::Pod]),
        ],
    ),
    ("kube-scheduler", &[("scheduler", &[Kind::Pod, Kind::Node])]),
    ("kubelet", &[("kubelet", &[Kind::Pod, Kind::Node])]),
    (polling::TASKS, &[("tasks", &[Kind::Pod, Kind::Node])]),
    (polling::SCHEDULER, &[("loop", &[Kind::Pod, Kind::Node])]),
    (polling::AGENTS, &[("agent", &[Kind::Node])]),
];

/// The kinds that a process, or one component of it, watches.
pub fn watched(reference: &ProcessRef, known: &Known) -> Vec<Kind> {
    if let Some(operator) = known.operators.iter().find(|operator| operator.name == reference.process) {
        return operator.watches.clone();
    }
    let components = PROCESSES.iter().find(|(name, _)| *name == reference.process).map_or(&[][..], |(_, list)| list);
    let chosen =
        components.iter().filter(|(name, _)| reference.component.as_deref().is_none_or(|wanted| wanted == *name));
    let mut kinds: Vec<Kind> = chosen.flat_map(|(_, kinds)| kinds.iter().copied()).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// The components of a process that watch one of these kinds.
pub fn components_that_watch(process: &str, kinds: &[Kind]) -> Vec<&'static str> {
    let components = PROCESSES.iter().find(|(name, _)| *name == process).map_or(&[][..], |(_, list)| list);
    let watches = components.iter().filter(|(_, watched)| kinds.iter().any(|kind| watched.contains(kind)));
    watches.map(|(name, _)| *name).collect()
}

/// Reads a reference to a process: `NAME`, `NAME#REPLICA`, `NAME/leader`, `NAME/COMPONENT`.
pub fn process(entry: &Entry<'_>) -> Option<ProcessRef> {
    entry.is_a(Special::Process);
    let text = entry.text()?;
    if text.contains('@') {
        let message = format!("`{text}`: a single kubelet cannot be addressed yet");
        entry.problem(Code::NotSimulated, message, Some("`kubelet` addresses the kubelets of all nodes".into()));
        return None;
    }
    let (head, tail) = text.split_once('/').map_or((text, None), |(head, tail)| (head, Some(tail)));
    let (name, number) = head.split_once('#').map_or((head, None), |(name, number)| (name, Some(number)));
    let operators = || entry.known.operators.iter().map(|operator| operator.name);
    let of_operator = operators().find(|operator| *operator == name).map(|operator| [(operator, &[][..])]);
    let built_in = PROCESSES.iter().find(|(known, _)| *known == name).map(|(_, components)| *components);
    let Some(components) = of_operator.as_ref().map(|watcher| &watcher[..]).or(built_in) else {
        let help = suggest::help(name, PROCESSES.iter().map(|(known, _)| *known).chain(operators()));
        entry.problem(Code::UnknownProcess, format!("no process `{name}` runs in this scenario"), help);
        return None;
    };
    let mut reference = ProcessRef { process: name.to_string(), replica: None, leader: false, component: None };
    if let Some(number) = number {
        let Ok(replica) = number.parse() else {
            entry.problem(Code::UnknownProcess, format!("`#{number}` is no number of a replica"), None);
            return None;
        };
        reference.replica = Some(replica);
    }
    match tail {
        None => {}
        Some("leader") => reference.leader = true,
        Some(component) if components.iter().any(|(known, _)| *known == component) => {
            reference.component = Some(component.to_string());
        }
        Some(component) => {
            let help = suggest::help(component, components.iter().map(|(known, _)| *known).chain(["leader"]));
            entry.problem(Code::UnknownProcess, format!("`{name}` has no component `{component}`"), help);
            return None;
        }
    }
    Some(reference)
}
