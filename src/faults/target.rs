//! What a fault is aimed at: processes and components, watch events, requests, by what they are about.

use crate::apiserver::WatchEvent;
use crate::apiserver::watch::EventKind;
use crate::client::process::Process;
use crate::model::{Kind, Labels, Name, Patch, Request, Selector};
use crate::rules::selector_text;

/// A process or a controller in it: `kube-controller-manager`, `kube-scheduler#1`, `kube-scheduler/leader`,
/// `kube-controller-manager/replicaset`.
#[derive(Clone, PartialEq, Debug)]
pub struct ProcessRef {
    /// Name of the process.
    pub process: String,
    /// Replica; `None` for all.
    pub replica: Option<u32>,
    /// Only the replica that acts, if it takes an election to act.
    pub leader: bool,
    /// Component; `None` for all.
    pub component: Option<String>,
}

impl ProcessRef {
    /// All replicas of a process.
    pub fn process(name: &str) -> ProcessRef {
        ProcessRef { process: name.to_string(), replica: None, leader: false, component: None }
    }

    /// Whether the process (and component, where one is named on both sides) is meant.
    pub fn covers(&self, addressee: Addressee<'_>) -> bool {
        let name = addressee.process.as_str();
        let (name, replica) = name.split_once('#').unwrap_or((name, "0"));
        self.process == name
            && self.replica.is_none_or(|wanted| replica.parse() == Ok(wanted))
            && (!self.leader || addressee.acts)
            && match (&self.component, addressee.component) {
                (Some(wanted), Some(component)) => component.as_str() == wanted,
                _ => true,
            }
    }
}

impl ProcessRef {
    /// Whether a component is named on both sides, or by the reference on neither: what belongs to the process as a whole
    /// is no component's.
    fn names_as_closely(&self, who: Addressee<'_>) -> bool {
        self.component.is_none() || who.component.is_some()
    }
}

/// A process, or a component in it: who sends a request or is sent an event.
#[derive(Clone, Copy, Debug)]
pub struct Addressee<'a> {
    /// Name of the process, with `#replica` after the first.
    pub process: &'a Name,
    /// Whether it acts: it leads, or needs no election to act.
    pub acts: bool,
    /// The component; `None` for what belongs to the process as a whole.
    pub component: Option<&'a Name>,
}

impl<'a> Addressee<'a> {
    /// A process as a whole.
    pub fn process(process: &'a Process) -> Addressee<'a> {
        Addressee { process: &process.name, acts: process.acts, component: None }
    }

    /// A component of a process.
    pub fn component(process: &'a Process, component: &'a Name) -> Addressee<'a> {
        Addressee { component: Some(component), ..Addressee::process(process) }
    }
}

/// Which objects.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ObjectTarget {
    /// Of this kind.
    pub kind: Option<Kind>,
    /// In this namespace.
    pub namespace: Option<String>,
    /// With this name.
    pub name: Option<String>,
    /// With these labels: a selector as kubectl writes it, already checked.
    pub selector: Option<String>,
}

impl ObjectTarget {
    /// All objects of a kind.
    pub fn of(kind: Kind) -> ObjectTarget {
        ObjectTarget { kind: Some(kind), ..ObjectTarget::default() }
    }

    /// The selector, ready to match.
    pub fn compiled(&self) -> Option<Selector> {
        let text = self.selector.as_ref()?;
        Some(selector_text::parse_labels(text).expect("the maker of the plan has checked it"))
    }

    pub(super) fn names(&self, kind: Kind, namespace: &str, name: &str) -> bool {
        self.kind.is_none_or(|wanted| wanted == kind)
            && self.namespace.as_ref().is_none_or(|wanted| wanted == namespace)
            && self.name.as_ref().is_none_or(|wanted| wanted == name)
    }
}

/// Which watch events.
#[derive(Clone, PartialEq, Debug)]
pub struct WatchTarget {
    /// To whom.
    pub to: ProcessRef,
    /// About what.
    pub object: ObjectTarget,
    /// Of which type; `None` for all.
    pub event_type: Option<WatchEventType>,
}

impl WatchTarget {
    /// Whether the event is meant; `selector` is that of the target, compiled.
    pub fn covers(&self, to: Addressee<'_>, event: &WatchEvent, selector: Option<&Selector>) -> bool {
        let meta = event.object.meta();
        self.object.names(event.object.kind(), meta.namespace.as_str(), meta.name.as_str())
            && self.event_type.is_none_or(|wanted| wanted.is(event.event_type))
            && self.to.covers(to)
            && selector.is_none_or(|selector| selector.matches(&meta.labels))
    }
}

/// Type of a watch event, as the watcher would see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WatchEventType {
    /// ADDED
    Added,
    /// MODIFIED
    Modified,
    /// DELETED
    Deleted,
}

impl WatchEventType {
    /// As watches write it.
    pub fn as_str(self) -> &'static str {
        match self {
            WatchEventType::Added => "ADDED",
            WatchEventType::Modified => "MODIFIED",
            WatchEventType::Deleted => "DELETED",
        }
    }

    fn is(self, event: EventKind) -> bool {
        matches!(
            (self, event),
            (WatchEventType::Added, EventKind::Added)
                | (WatchEventType::Modified, EventKind::Modified)
                | (WatchEventType::Deleted, EventKind::Deleted)
        )
    }
}

/// What a request wants, in the API's words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    /// GET of an object.
    Get,
    /// GET of a collection.
    List,
    /// A watch is opened.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH.
    Patch,
    /// DELETE.
    Delete,
}

impl Verb {
    /// All verbs with their words.
    pub const ALL: [(&'static str, Verb); 7] = [
        ("get", Verb::Get),
        ("list", Verb::List),
        ("watch", Verb::Watch),
        ("create", Verb::Create),
        ("update", Verb::Update),
        ("patch", Verb::Patch),
        ("delete", Verb::Delete),
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        Verb::ALL[self as usize].0
    }

    /// The verb of a request.
    pub fn of(request: &Request) -> Verb {
        match request.verb() {
            "GET" => Verb::Get,
            "LIST" => Verb::List,
            "WATCH" => Verb::Watch,
            "POST" => Verb::Create,
            "PUT" => Verb::Update,
            "PATCH" => Verb::Patch,
            "DELETE" => Verb::Delete,
            other => unreachable!("no request has the verb {other}"),
        }
    }
}

/// A part of an object with a path of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subresource {
    /// `/status`
    Status,
    /// `/scale`
    Scale,
    /// `/binding` of a pod
    Binding,
    /// `/eviction` of a pod
    Eviction,
}

impl Subresource {
    /// All subresources with their words.
    pub const ALL: [(&'static str, Subresource); 4] = [
        ("status", Subresource::Status),
        ("scale", Subresource::Scale),
        ("binding", Subresource::Binding),
        ("eviction", Subresource::Eviction),
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        Subresource::ALL[self as usize].0
    }

    /// The subresource of a request, if it has one.
    pub fn of(request: &Request) -> Option<Subresource> {
        match request {
            Request::UpdateStatus(_)
            | Request::Patch {
                patch: Patch::PodStatus { .. } | Patch::PodCondition { .. } | Patch::Nomination(_),
                ..
            } => Some(Subresource::Status),
            Request::Scale { .. } => Some(Subresource::Scale),
            Request::Bind { .. } => Some(Subresource::Binding),
            Request::Evict { .. } => Some(Subresource::Eviction),
            _ => None,
        }
    }
}

/// Which requests.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RequestTarget {
    /// By whom; `None` for everybody.
    pub from: Option<ProcessRef>,
    /// With this verb.
    pub verb: Option<Verb>,
    /// Of this subresource; `None` for any and none.
    pub subresource: Option<Subresource>,
    /// About what.
    pub object: ObjectTarget,
}

impl RequestTarget {
    /// Whether the request is meant. `labels` are those of the object it is about, where there is one.
    pub fn covers(
        &self,
        from: Addressee<'_>,
        request: &Request,
        labels: Option<&Labels>,
        selector: Option<&Selector>,
    ) -> bool {
        let is_named = |key: &crate::model::Key| {
            // A batch of renewals is about many leases.
            let is_batch = matches!(request, Request::RenewLeases { .. });
            let name = if is_batch { self.object.name.as_deref().unwrap_or_default() } else { key.name.as_str() };
            self.object.names(key.kind, key.namespace.as_str(), name)
        };
        self.verb.is_none_or(|wanted| wanted == Verb::of(request))
            && self.subresource.is_none_or(|wanted| Subresource::of(request) == Some(wanted))
            && self.from.as_ref().is_none_or(|wanted| wanted.covers(from) && wanted.names_as_closely(from))
            && is_named(&request.key())
            && selector.is_none_or(|selector| labels.is_some_and(|labels| selector.matches(labels)))
    }
}
