//! Requests to the API server and its replies. Kubernetes errors are data.

use std::fmt;
use std::rc::Rc;

use serde_json::Value;

use super::{Condition, Key, Kind, Name, Object, PodStatus, Rv, Selector, Uid};

/// A request, as a client sends it.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// GET of one object.
    Get(Key),
    /// LIST of a kind.
    List {
        /// The kind.
        kind: Kind,
        /// One namespace, or all.
        namespace: Option<Name>,
        /// Which objects.
        selector: ObjectSelector,
        /// How new it must be.
        version: ListVersion,
    },
    /// WATCH of a kind.
    Watch {
        /// The kind.
        kind: Kind,
        /// Which objects.
        selector: ObjectSelector,
        /// Changes after this version; `None` for the newest.
        version: Option<Rv>,
        /// The stream begins with everything there is (`sendInitialEvents`).
        initial_events: bool,
        /// `timeoutSeconds`: the server ends the stream then.
        timeout_seconds: i64,
    },
    /// POST. `meta.name`, or `meta.generate_name` to let the server choose.
    Create(Object),
    /// PUT of metadata and spec. With `meta.resource_version` 0 the last write wins.
    Update(Object),
    /// PUT of `/status`.
    UpdateStatus(Object),
    /// PATCH.
    Patch {
        /// Of what.
        key: Key,
        /// How.
        patch: Patch,
    },
    /// DELETE.
    Delete {
        /// Of what.
        key: Key,
        /// `gracePeriodSeconds`; `None` takes the object's own.
        grace_seconds: Option<i64>,
        /// What must hold.
        preconditions: Preconditions,
    },
    /// POST of `pods/NAME/binding`.
    Bind {
        /// The pod.
        pod: Key,
        /// Its uid.
        uid: Uid,
        /// The node.
        node: Name,
    },
    /// POST of `pods/NAME/eviction`.
    Evict {
        /// The pod.
        pod: Key,
        /// `deleteOptions.gracePeriodSeconds`; `None` takes the pod's own.
        grace_seconds: Option<i64>,
    },
    /// PUT of `/scale`.
    Scale {
        /// Of what.
        key: Key,
        /// `spec.replicas`.
        replicas: i32,
        /// Expected version; 0 for none.
        resource_version: Rv,
    },
    /// Lease renewals of many nodes at once: what their kubelets send in one heartbeat period.
    RenewLeases {
        /// The leases, all of kind Lease.
        keys: Rc<[Key]>,
    },
}

/// `resourceVersion` of a list (with the match that clients mean by it).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListVersion {
    /// None: as of now.
    Newest,
    /// "0": whatever the server has in its cache.
    Any,
    /// From the cache once it is as new as this.
    NotOlderThan(Rv),
}

/// A change to an object.
#[derive(Clone, PartialEq, Debug)]
pub enum Patch {
    /// JSON merge patch (RFC 7386) of the whole object.
    Merge(Rc<Value>),
    /// Strategic merge patch: as merge, but lists with a merge key merge by it.
    Strategic(Rc<Value>),
    /// A kubelet's write of a pod's status: phase, conditions it owns, containers, start time, addresses.
    PodStatus {
        /// The pod that is meant: another one under the same name is a 409.
        uid: Uid,
        /// What the kubelet knows.
        status: Box<PodStatus>,
    },
    /// The scheduler's write: one condition and `nominatedNodeName` (`None` leaves it).
    PodCondition {
        /// The condition.
        condition: Condition,
        /// The nomination.
        nominated_node_name: Option<Name>,
    },
    /// The scheduler's write of `nominatedNodeName` alone.
    Nomination(Name),
    /// A kubelet's refusal under `model: {rejectedPods: pending}`: the pod has no node again. No real API server takes that.
    Unbind {
        /// The pod that is meant: another one under the same name is a 409.
        uid: Uid,
        /// Why, e.g. `OutOfmemory`.
        reason: Name,
        /// In words.
        message: Name,
    },
    /// An event recorder's write: one more of the same.
    EventCount {
        /// New count.
        count: i32,
        /// New text (aggregation changes it).
        message: Name,
    },
}

/// What must hold for a DELETE.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Preconditions {
    /// The object's uid, empty for any.
    pub uid: Uid,
    /// The object's version, 0 for any.
    pub resource_version: Rv,
}

/// A field that a field selector can name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// `metadata.name`
    MetadataName,
    /// `metadata.namespace`
    MetadataNamespace,
    /// `spec.nodeName` of a pod
    SpecNodeName,
    /// `status.phase` of a pod
    StatusPhase,
    /// `spec.schedulerName` of a pod
    SpecSchedulerName,
    /// `status.podIP` of a pod
    StatusPodIp,
    /// `status.nominatedNodeName` of a pod
    StatusNominatedNodeName,
    /// `spec.restartPolicy` of a pod
    SpecRestartPolicy,
    /// `spec.unschedulable` of a node
    SpecUnschedulable,
}

/// `field=value` or `field!=value`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldRequirement {
    /// The field.
    pub field: Field,
    /// The value.
    pub value: Name,
    /// `!=` instead of `=`.
    pub negated: bool,
}

/// Which objects a list or watch is for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ObjectSelector {
    /// On labels.
    pub labels: Selector,
    /// On fields; all must hold.
    pub fields: Vec<FieldRequirement>,
}

impl ObjectSelector {
    /// Selects everything.
    pub fn everything() -> ObjectSelector {
        ObjectSelector::default()
    }

    /// Whether the object is selected. A field its kind does not have never matches.
    pub fn matches(&self, object: &Object) -> bool {
        // Most select everything: then the object is not even looked at.
        (self.labels.requirements.is_empty() || self.labels.matches(&object.meta().labels))
            && self.fields.iter().all(|requirement| requirement.matches(object))
    }
}

impl FieldRequirement {
    fn matches(&self, object: &Object) -> bool {
        let pod = object.as_pod();
        let value: Option<&str> = match self.field {
            Field::MetadataName => Some(object.meta().name.as_str()),
            Field::MetadataNamespace => Some(object.meta().namespace.as_str()),
            Field::SpecNodeName => pod.map(|pod| pod.node_name.as_str()),
            Field::StatusPhase => pod.map(|pod| pod.status.phase.as_str()),
            Field::SpecSchedulerName => pod.map(|pod| pod.spec.scheduler_name.as_str()),
            Field::StatusPodIp => pod.map(|pod| pod.status.pod_ip.as_str()),
            Field::StatusNominatedNodeName => pod.map(|pod| pod.status.nominated_node_name.as_str()),
            Field::SpecRestartPolicy => pod.map(|pod| pod.spec.restart_policy.as_str()),
            Field::SpecUnschedulable => object.as_node().map(|node| if node.unschedulable { "true" } else { "false" }),
        };
        value.is_some_and(|value| (value == self.value.as_str()) != self.negated)
    }
}

/// A good reply.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The object read or written.
    Object(Object),
    /// A list in order of namespace and name, with the version it is of.
    List {
        /// The objects.
        items: Vec<Object>,
        /// The list's version.
        resource_version: Rv,
    },
    /// A stream is open: the number of the watch.
    Stream(u64),
    /// Done; the version of the commit, 0 when nothing was committed.
    Done(Rv),
}

impl Answer {
    /// The object of the reply, if it holds one.
    pub fn object(&self) -> Option<&Object> {
        match self {
            Answer::Object(object) => Some(object),
            _ => None,
        }
    }
}

/// Reason of a `Status` failure, or what went wrong below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// 400
    BadRequest,
    /// 403
    Forbidden,
    /// 403 with the cause NamespaceTerminating
    NamespaceTerminating,
    /// 404
    NotFound,
    /// 409 on create
    AlreadyExists,
    /// 409 on a stale version, a binding or a precondition
    Conflict,
    /// 410
    Expired,
    /// 415
    UnsupportedMediaType,
    /// 422
    Invalid,
    /// 429
    TooManyRequests,
    /// 500
    InternalError,
    /// 503
    ServiceUnavailable,
    /// 504
    Timeout,
    /// No answer: the connection was lost; whether the request took effect is not known.
    ConnectionLost,
    /// No answer: nobody listens.
    ConnectionRefused,
    /// No answer in the time that the client gives a call.
    DeadlineExceeded,
    /// No answer: the caller has cancelled the call.
    Canceled,
}

/// A failure, as the client sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiError {
    /// The reason.
    pub reason: Reason,
    /// The message, in the server's words.
    pub message: String,
    /// `Retry-After`, seconds.
    pub retry_after_seconds: Option<u32>,
}

impl ApiError {
    /// A failure without Retry-After.
    pub fn new(reason: Reason, message: impl Into<String>) -> ApiError {
        ApiError { reason, message: message.into(), retry_after_seconds: None }
    }

    /// 404 as the server words it.
    pub fn not_found(key: &Key) -> ApiError {
        ApiError::new(Reason::NotFound, format!("{} \"{}\" not found", key.kind.qualified_plural(), key.name))
    }

    /// What is left of a call whose context was cancelled.
    pub fn canceled() -> ApiError {
        ApiError::new(Reason::Canceled, "context canceled")
    }

    /// The HTTP status code; 0 when there was no answer.
    pub fn code(&self) -> u16 {
        match self.reason {
            Reason::BadRequest => 400,
            Reason::Forbidden | Reason::NamespaceTerminating => 403,
            Reason::NotFound => 404,
            Reason::AlreadyExists | Reason::Conflict => 409,
            Reason::Expired => 410,
            Reason::UnsupportedMediaType => 415,
            Reason::Invalid => 422,
            Reason::TooManyRequests => 429,
            Reason::InternalError => 500,
            Reason::ServiceUnavailable => 503,
            Reason::Timeout => 504,
            Reason::ConnectionLost | Reason::ConnectionRefused | Reason::DeadlineExceeded | Reason::Canceled => 0,
        }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a client gets back.
pub type ApiResult = Result<Answer, ApiError>;

impl Request {
    /// The object the request names; for a create without a name, one with the generateName prefix.
    pub fn key(&self) -> Key {
        match self {
            Request::Get(key)
            | Request::Patch { key, .. }
            | Request::Delete { key, .. }
            | Request::Scale { key, .. } => key.clone(),
            Request::Bind { pod, .. } | Request::Evict { pod, .. } => pod.clone(),
            Request::List { kind, namespace, .. } => {
                Key::new(*kind, namespace.clone().unwrap_or_default(), Name::EMPTY)
            }
            Request::Watch { kind, .. } => Key::new(*kind, Name::EMPTY, Name::EMPTY),
            Request::Create(object) if object.meta().name.is_empty() => {
                Key::new(object.kind(), object.meta().namespace.clone(), object.meta().generate_name.clone())
            }
            Request::Create(object) | Request::Update(object) | Request::UpdateStatus(object) => object.key(),
            Request::RenewLeases { .. } => Key::new(Kind::Lease, "kube-node-lease", Name::EMPTY),
        }
    }

    /// Kind of object it is about.
    pub fn kind(&self) -> Kind {
        match self {
            Request::List { kind, .. } | Request::Watch { kind, .. } => *kind,
            Request::RenewLeases { .. } => Kind::Lease,
            Request::Get(key)
            | Request::Patch { key, .. }
            | Request::Delete { key, .. }
            | Request::Scale { key, .. } => key.kind,
            Request::Bind { pod, .. } | Request::Evict { pod, .. } => pod.kind,
            Request::Create(object) | Request::Update(object) | Request::UpdateStatus(object) => object.kind(),
        }
    }

    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        !matches!(self, Request::Get(_) | Request::List { .. } | Request::Watch { .. })
    }

    /// The verb as API metrics label it.
    pub fn verb(&self) -> &'static str {
        match self {
            Request::Get(_) => "GET",
            Request::List { .. } => "LIST",
            Request::Watch { .. } => "WATCH",
            Request::Create(_) | Request::Bind { .. } | Request::Evict { .. } => "POST",
            Request::Update(_) | Request::UpdateStatus(_) | Request::Scale { .. } | Request::RenewLeases { .. } => {
                "PUT"
            }
            Request::Patch { .. } => "PATCH",
            Request::Delete { .. } => "DELETE",
        }
    }
}
