//! What a scenario says about an operator: plain data that threads can share.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::{Distribution, Kind, Span};

/// An operator.
#[derive(Clone, PartialEq, Debug)]
pub struct OperatorSettings {
    /// Its name: that of its process, its controller and its queue.
    pub name: &'static str,
    /// The kind of custom resource that it works on.
    pub kind: Kind,
    /// Whether updates of its objects that leave the generation alone are ignored (`GenerationChangedPredicate`).
    pub generation_changed: bool,
    /// What a reconcile sends, in this order, each after the answer to the one before.
    pub requests: Vec<RequestSpec>,
    /// When reconciles fail; the first that applies counts.
    pub fails: Vec<FailureRule>,
    /// What follows a reconcile that went well.
    pub afterwards: Afterwards,
    /// A back-off of its own after failures, in place of the queue's limiter.
    pub error_backoff: Option<ErrorBackoff>,
    /// The first delay of the queue's limiter and the longest: what Kubernetes Events about failures name.
    pub retry_delay: (Span, Span),
    /// Whether it waits for what it asked for before it counts its children again.
    pub expectations: bool,
    /// How it ends when it is told to.
    pub shutdown: Shutdown,
}

/// How an operator ends.
///
/// Upstream: sigs.k8s.io/controller-runtime pkg/manager/{manager,internal}.go (`GracefulShutdownTimeout`), v0.24.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shutdown {
    /// How long it waits for reconciles under way.
    pub timeout: Span,
    /// Reconciles do not look at their context, which is cancelled: their requests go on.
    pub without_cancel: bool,
}

/// A request of a reconcile.
#[derive(Clone, PartialEq, Debug)]
pub enum RequestSpec {
    /// GET of the object: what follows works on the answer and not on the cache.
    Get,
    /// LIST of a kind in the object's namespace: children are counted in the answer and not in the cache.
    List(Kind),
    /// PUT of the object, with an annotation that says which generation was seen.
    Update,
    /// PUT of the object's status.
    UpdateStatus(StatusFields),
    /// POST and DELETE of children, as many as are missing or too many.
    Children(Children),
}

/// Fields that are written to a status beside `observedGeneration`. The text `$(NOW)` stands for the instant.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StatusFields(pub Map<String, Value>);

/// Objects that belong to a custom resource.
#[derive(Clone, PartialEq, Debug)]
pub struct Children {
    /// Their kind.
    pub kind: Kind,
    /// Their manifest without a name.
    pub template: Arc<Value>,
    /// How many there should be.
    pub count: Count,
    /// What they are called.
    pub names: ChildNames,
    /// A reconcile that finds one on its way out fails: it comes back until that one is gone.
    pub must_go: bool,
    /// How long a reconcile that made some waits until its cache has seen them; it fails when that is over.
    pub wait_for_cache: Option<Span>,
}

/// How many children an object should have.
#[derive(Clone, PartialEq, Debug)]
pub enum Count {
    /// A number.
    Fixed(usize),
    /// What this field of the object's spec says; none when it says nothing.
    SpecField(String),
}

/// What children are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildNames {
    /// The owner's name with a number from 0: one that is asked for twice is a conflict.
    Deterministic,
    /// The owner's name and letters that the API server draws: one that is asked for twice is there twice.
    Random,
}

/// When reconciles fail: all conditions that are given must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct FailureRule {
    /// Of this object only.
    pub object: Option<String>,
    /// With this probability, drawn for each attempt.
    pub probability: Option<f64>,
    /// From this time on, from the start of the run.
    pub from: Span,
    /// Before this time.
    pub until: Option<Span>,
    /// What the error says.
    pub error: String,
    /// Whether it is not worth a retry (controller-runtime's `TerminalError`).
    pub terminal: bool,
}

/// What follows a reconcile that went well.
#[derive(Clone, PartialEq, Debug)]
pub enum Afterwards {
    /// Nothing.
    Done,
    /// Another one after this long (`RequeueAfter`).
    After(Distribution),
    /// Another one through the limiter, which forgets nothing (`Requeue: true`).
    Requeue,
}

/// min(base x 2^(errors - 1), max), by `RequeueAfter`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorBackoff {
    /// After the first error.
    pub base: Span,
    /// The longest.
    pub max: Span,
}

impl OperatorSettings {
    /// The kinds of its children, each once.
    pub fn child_kinds(&self) -> Vec<Kind> {
        let mut kinds = Vec::new();
        for children in self.children() {
            if children.kind != self.kind && !kinds.contains(&children.kind) {
                kinds.push(children.kind);
            }
        }
        kinds
    }

    /// What it creates.
    pub fn children(&self) -> impl Iterator<Item = &Children> {
        self.requests.iter().filter_map(|request| match request {
            RequestSpec::Children(children) => Some(children),
            _ => None,
        })
    }
}
