//! What faults are aimed at, and which of the matching events they strike.

use crate::model::Kind;
use crate::rules::selector_text;
use crate::scenario::diagnostic::Code;
use crate::scenario::entry::{Entry, Fields};
use crate::scenario::references;
use crate::sim::plan::{
    ObjectTarget, Occurrences, ProcessRef, RequestTarget, Subresource, Verb, WatchEventType, WatchTarget,
};

/// A field that was given and could not be read makes the whole unreadable; one that was not given does not.
pub(super) fn given<'a, T>(field: Option<Entry<'a>>, read: impl FnOnce(&Entry<'a>) -> Option<T>) -> Option<Option<T>> {
    match field {
        None => Some(None),
        Some(entry) => read(&entry).map(Some),
    }
}

/// `kind`, `namespace`, `name`, `selector`, once the fields were asked for.
struct ObjectFields<'a> {
    kind: Option<Entry<'a>>,
    namespace: Option<Entry<'a>>,
    name: Option<Entry<'a>>,
    selector: Option<Entry<'a>>,
}

impl<'a> ObjectFields<'a> {
    fn of(fields: &mut Fields<'a>, kind: Option<Entry<'a>>) -> ObjectFields<'a> {
        ObjectFields {
            kind,
            namespace: fields.get("namespace"),
            name: fields.get("name"),
            selector: fields.get("selector"),
        }
    }

    fn read(self) -> Option<ObjectTarget> {
        let kind = given(self.kind, references::kind);
        let namespace = given(self.namespace, |entry| entry.text().map(str::to_string));
        let name = given(self.name, |entry| entry.text().map(str::to_string));
        let selector = given(self.selector, selector);
        Some(ObjectTarget { kind: kind?, namespace: namespace?, name: name?, selector: selector? })
    }
}

/// A label selector as kubectl writes it.
fn selector(entry: &Entry<'_>) -> Option<String> {
    let text = entry.text()?;
    match selector_text::parse_labels(text) {
        Ok(_) => Some(text.to_string()),
        Err(problem) => {
            let help = "a label selector is written as kubectl takes it: app=web,tier in (a,b),!old";
            entry.problem(Code::BadValue, format!("`{text}` is not a label selector: {problem}"), Some(help.into()));
            None
        }
    }
}

/// `nth`, `every`, `count`, `probability`.
pub(super) fn occurrences(fields: &mut Fields<'_>) -> Option<Occurrences> {
    let whole = |entry: &Entry<'_>| entry.whole(1..=i64::MAX).map(|number| number as u64);
    let nth = given(fields.get("nth"), whole);
    let every = given(fields.get("every"), whole);
    let count = given(fields.get("count"), whole);
    let probability = probability(fields);
    Some(Occurrences { nth: nth?.unwrap_or(1), every: every?.unwrap_or(1), count: count?, probability: probability? })
}

/// `probability`.
pub(super) fn probability(fields: &mut Fields<'_>) -> Option<Option<f64>> {
    given(fields.get("probability"), |entry| {
        let number = entry.number()?;
        if (0.0..=1.0).contains(&number) {
            return Some(number);
        }
        let help = (1.0..=100.0).contains(&number).then(|| format!("{number} % is {}", number / 100.0));
        entry.problem(Code::BadValue, format!("must be a probability from 0 to 1, not {number}"), help);
        None
    })
}

/// Watch events that a fault is aimed at, with `kind`.
pub(super) struct Aimed {
    /// The target as written.
    pub target: WatchTarget,
    /// Its kind.
    pub kind: Kind,
    /// The process or component, for texts.
    pub to: String,
}

/// `to`, `kind`, `type`, `namespace`, `name`, `selector`.
pub(super) fn watch_target<'a>(fields: &mut Fields<'a>) -> impl FnOnce() -> Option<Aimed> + use<'a> {
    let kind = fields.require("kind");
    let target = any_watch_target(fields, kind);
    move || {
        let target = target()?;
        let (kind, to) = (target.object.kind?, written(&target.to));
        Some(Aimed { target, kind, to })
    }
}

/// The same for a `kind` that may be left out.
pub(super) fn any_watch_target<'a>(
    fields: &mut Fields<'a>,
    kind: Option<Entry<'a>>,
) -> impl FnOnce() -> Option<WatchTarget> + use<'a> {
    let to = fields.require("to");
    let event_type = fields.get("type");
    let object = ObjectFields::of(fields, kind.clone());
    move || {
        let types = [WatchEventType::Added, WatchEventType::Modified, WatchEventType::Deleted]
            .map(|event_type| (event_type.as_str(), event_type));
        let event_type = given(event_type, |entry| entry.word(&types));
        let object = object.read();
        let reference = to.as_ref().and_then(references::process);
        let (object, reference) = (object?, reference?);
        if let (Some(kind), Some(entry)) = (object.kind, &kind) {
            check_watched(&reference, kind, entry)?;
        }
        Some(WatchTarget { to: reference, object, event_type: event_type? })
    }
}

/// A kind that nobody there watches cannot be hit.
pub(super) fn check_watched(to: &ProcessRef, kind: Kind, entry: &Entry<'_>) -> Option<()> {
    let watched = references::watched(to, entry.known);
    if watched.contains(&kind) {
        return Some(());
    }
    let who = to.component.as_ref().unwrap_or(&to.process);
    let list: Vec<&str> = watched.iter().map(|kind| kind.as_str()).collect();
    let message = format!("`{who}` does not watch {kind}: nothing would be lost");
    entry.problem(Code::BadValue, message, Some(format!("it watches {}", list.join(", "))));
    None
}

/// `from`, `verb`, `kind`, `subresource`, `namespace`, `name`, `selector`.
pub(super) fn request_target(fields: &mut Fields<'_>) -> Option<RequestTarget> {
    let from = given(fields.get("from"), references::process);
    let target = requests_of(fields)?;
    Some(RequestTarget { from: from?, ..target })
}

/// The same without `from`.
pub(super) fn requests_of(fields: &mut Fields<'_>) -> Option<RequestTarget> {
    let verb = given(fields.get("verb"), |entry| entry.word(&Verb::ALL));
    let subresource_entry = fields.get("subresource");
    let kind = fields.get("kind");
    let object = ObjectFields::of(fields, kind).read();
    let subresource = given(subresource_entry.clone(), |entry| entry.word(&Subresource::ALL));
    let target = RequestTarget { from: None, verb: verb?, subresource: subresource?, object: object? };
    check_exists(&target, subresource_entry.as_ref())?;
    Some(target)
}

/// Tasks by the pods that they are for: `namespace`, `name`, `selector`, `count`.
pub(super) fn tasks_of(fields: &mut Fields<'_>) -> Option<(ObjectTarget, Option<u64>)> {
    let object = ObjectFields::of(fields, None).read();
    let count = given(fields.get("count"), |entry| entry.whole(1..=i64::MAX).map(|number| number as u64));
    Some((ObjectTarget { kind: Some(Kind::Pod), ..object? }, count?))
}

/// Some subresources exist of some kinds only, and are written by some verbs only.
fn check_exists(target: &RequestTarget, entry: Option<&Entry<'_>>) -> Option<()> {
    let (Some(subresource), Some(entry)) = (target.subresource, entry) else { return Some(()) };
    let verbs: &[Verb] = match subresource {
        Subresource::Status => &[Verb::Update, Verb::Patch],
        Subresource::Scale => &[Verb::Update],
        Subresource::Binding | Subresource::Eviction => &[Verb::Create],
    };
    let kinds: &[Kind] = match subresource {
        Subresource::Status => &[Kind::Pod, Kind::Node, Kind::ReplicaSet, Kind::Deployment],
        Subresource::Scale => &[Kind::ReplicaSet, Kind::Deployment],
        Subresource::Binding | Subresource::Eviction => &[Kind::Pod],
    };
    let word = subresource.as_str();
    if let Some(verb) = target.verb.filter(|verb| !verbs.contains(verb)) {
        let known: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
        let message = format!("no request has the verb {} and the subresource {word}", verb.as_str());
        entry.problem(Code::Contradiction, message, Some(format!("{word} goes with {}", known.join(" and "))));
        return None;
    }
    if let Some(kind) = target.object.kind.filter(|kind| !kinds.contains(kind)) {
        let message = format!("no component here writes the subresource {word} of a {kind}");
        entry.problem(Code::Contradiction, message, None);
        return None;
    }
    Some(())
}

/// A request target in words: `create Pod of kube-controller-manager`.
pub(super) fn words(target: &RequestTarget) -> String {
    let verb = target.verb.map_or("requests", Verb::as_str);
    let mut text = verb.to_string();
    if let Some(kind) = target.object.kind {
        text = format!("{text} {kind}");
    }
    if let Some(subresource) = target.subresource {
        text = format!("{text}/{}", subresource.as_str());
    }
    if let Some(name) = &target.object.name {
        text = format!("{text} {name}");
    }
    if let Some(selector) = &target.object.selector {
        text = format!("{text} ({selector})");
    }
    match &target.from {
        Some(from) => format!("{text} of {}", written(from)),
        None => text,
    }
}

/// A reference to a process as a scenario writes it.
pub(super) fn written(reference: &ProcessRef) -> String {
    let mut text = reference.process.clone();
    if let Some(replica) = reference.replica {
        text = format!("{text}#{replica}");
    }
    match &reference.component {
        Some(component) => format!("{text}/{component}"),
        None if reference.leader => format!("{text}/leader"),
        None => text,
    }
}
