//! What each request does to the store.
//!
//! Upstream: apiserver/pkg/registry/generic/registry/store.go and the strategies under pkg/registry, v1.36; rules as
//! measured on a real server: optimistic concurrency on resourceVersion, a write that changes nothing commits nothing,
//! status apart from spec, generation for the kinds that have one.

use std::rc::Rc;

use serde_json::Value;

use crate::component::Draws;
use crate::model::api::Reason;
use crate::model::{
    Answer, ApiError, ApiResult, Cause, Custom, Deletion, Deployment, Key, Kind, KubeEvent, Lease, Meta, Name,
    Namespace, Object, Patch, Pod, Preconditions, ReplicaSet, Request, Rv, Time, Uid,
};
use crate::rules::admission::{self, NodeRegistration};
use crate::rules::manifest::{self, ManifestKind, Refusal, Subresource, Surroundings};
use crate::rules::{codec, patch, validation};

use super::instance::ApiServer;
use super::pods;

/// Namespaces that the API server does not let go.
///
/// Upstream: plugin/pkg/admission/namespace/lifecycle/admission.go, v1.36.
const UNDELETABLE_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];

/// Who writes, when, and because of which record.
pub struct Writer<'a> {
    /// The instant of the commit.
    pub now: Time,
    /// The record of the request.
    pub cause: Cause,
    /// For names and uids.
    pub draws: &'a mut dyn Draws,
    /// Whether nodes it creates register now or have been there before the run.
    pub existing: NodeRegistration,
}

/// What a request did.
#[derive(Clone, Debug)]
pub struct Executed {
    /// The answer.
    pub result: ApiResult,
    /// The revision before the request: all later ones are its commits.
    pub revision_before: Rv,
}

impl ApiServer {
    /// Carries a request out at this instant: reads answer from the store, writes commit.
    pub fn execute(&mut self, request: &Request, writer: &mut Writer<'_>) -> Executed {
        let revision_before = self.etcd.revision();
        let result = match request {
            Request::Get(key) => self.get(key),
            Request::List { kind, namespace, selector, .. } => Ok(Answer::List {
                items: self.list(*kind, namespace.as_ref(), selector),
                resource_version: self.etcd.revision(),
            }),
            Request::Watch { .. } => unreachable!("streams are opened by the loop, which delivers them"),
            Request::Create(object) => self.create(object.clone(), writer),
            Request::Update(object) => self.update(object, writer),
            Request::UpdateStatus(object) => self.update_status(object, writer),
            Request::Patch { key, patch } => self.patch(key, patch, writer),
            Request::Delete { key, grace_seconds, preconditions } => {
                self.delete(key, *grace_seconds, preconditions, writer)
            }
            Request::Bind { pod, uid, node } => self.bind(pod, uid, node, writer),
            Request::Evict { pod, grace_seconds } => self.evict(pod, *grace_seconds, writer),
            Request::Scale { key, replicas, resource_version } => self.scale(key, *replicas, *resource_version, writer),
            Request::RenewLeases { keys } => self.renew_leases(keys, writer),
        };
        Executed { result, revision_before }
    }

    /// Creates an object that nobody else holds, for a program that keeps the store itself.
    pub(crate) fn create_owned(&mut self, object: Object, writer: &mut Writer<'_>) -> ApiResult {
        self.create(object, writer)
    }

    fn create(&mut self, mut object: Object, writer: &mut Writer<'_>) -> ApiResult {
        let kind = object.kind();
        self.check_namespace(kind, object.meta())?;
        if kind == Kind::Pod
            && self.pod_limit.is_some_and(|(pods, until)| self.etcd.count(Kind::Pod) >= pods && writer.now < until)
        {
            return Err(ApiError::new(Reason::Forbidden, "pods is forbidden: exceeded quota: pods"));
        }
        if object.meta().name.is_empty() {
            self.choose_name(&mut object, writer)?;
        }
        let key = object.key();
        // Objects that are there when the run begins may come from `kubectl get -o yaml`, version and all.
        if object.meta().resource_version.0 != 0 && writer.existing == NodeRegistration::New {
            let message = "resourceVersion should not be set on objects to be created";
            return Err(ApiError::new(Reason::InternalError, message));
        }
        if self.etcd.get(&key).is_some() {
            let message = format!("{} \"{}\" already exists", kind.qualified_plural(), key.name);
            return Err(ApiError::new(Reason::AlreadyExists, message));
        }
        // What is there when the run begins was checked when it was read.
        if writer.existing == NodeRegistration::New {
            validate(&object)?;
        }
        let uid = self.naming.next_uid(kind.as_str(), object.meta(), writer.draws);
        let meta = object.meta_mut();
        meta.uid = uid;
        meta.creation = writer.now.truncated_to_seconds();
        meta.deletion = None;
        meta.generation = i64::from(has_generation(kind));
        // Nobody counts the pods of a budget: one that was there before the run keeps what its status allows.
        if !(kind == Kind::PodDisruptionBudget && writer.existing == NodeRegistration::Existing) {
            reset_status(&mut object);
        }
        self.admit(&mut object, writer.existing);
        Ok(Answer::Object(self.etcd.put(object, writer.now, writer.cause)))
    }

    /// Mutating admission of new objects.
    fn admit(&mut self, object: &mut Object, existing: NodeRegistration) {
        match object {
            Object::Pod(pod) => {
                let kind = Kind::PriorityClass;
                self.admitted_specs.see_classes(self.etcd.kind_revision(kind), self.etcd.iter(kind));
                admission::admit_pod(Rc::make_mut(pod), &mut self.admitted_specs);
            }
            Object::Node(node) => admission::admit_node(Rc::make_mut(node), existing),
            _ => {}
        }
    }

    /// DIVERGES: Events and Leases are taken in namespaces that nobody has made: those of the system are not simulated.
    fn check_namespace(&self, kind: Kind, meta: &Meta) -> Result<(), ApiError> {
        if !kind.info().namespaced || matches!(kind, Kind::Event | Kind::Lease) {
            return Ok(());
        }
        let key = Key::new(Kind::Namespace, Name::EMPTY, meta.namespace.clone());
        match self.etcd.get(&key).and_then(Object::as_namespace) {
            None => Err(ApiError::not_found(&key)),
            Some(namespace) if namespace.terminating => Err(ApiError::new(
                Reason::NamespaceTerminating,
                format!("unable to create new content in namespace {} because it is being terminated", meta.namespace),
            )),
            Some(_) => Ok(()),
        }
    }

    fn choose_name(&mut self, object: &mut Object, writer: &mut Writer<'_>) -> Result<(), ApiError> {
        let (prefix, namespace) = (object.meta().generate_name.clone(), object.meta().namespace.clone());
        if prefix.is_empty() {
            return Err(ApiError::new(
                Reason::Invalid,
                "metadata.name: Required value: name or generateName is required",
            ));
        }
        // The real server tries eight times; 27^5 names make a second clash rare.
        for _ in 0..8 {
            let name = self.naming.next_name(&prefix, &namespace, writer.draws);
            let key = Key { kind: object.kind(), namespace: namespace.clone(), name: name.clone() };
            if self.etcd.get(&key).is_none() {
                object.meta_mut().name = name;
                return Ok(());
            }
        }
        Err(ApiError::new(Reason::AlreadyExists, "the server was not able to generate a unique name"))
    }

    /// The stored object a write is about, if the version the writer has seen is still the newest.
    fn current(&self, key: &Key, expected: Rv) -> Result<Object, ApiError> {
        let stored = self.etcd.get(key).ok_or_else(|| ApiError::not_found(key))?;
        if expected.0 != 0 && stored.meta().resource_version != expected {
            return Err(stale(key));
        }
        Ok(stored.clone())
    }

    fn update(&mut self, new: &Object, writer: &mut Writer<'_>) -> ApiResult {
        let key = new.key();
        // Upstream: of the simulated kinds only the Lease strategy allows to create by an update.
        if key.kind == Kind::Lease && self.etcd.get(&key).is_none() {
            return self.create(new.clone(), writer);
        }
        check_unconditional(new)?;
        let stored = self.current(&key, new.meta().resource_version)?;
        check_uid(&new.meta().uid, &stored)?;
        let mut merged = new.clone();
        keep_server_fields(&mut merged, &stored);
        keep_status(&mut merged, &stored);
        self.commit_change(&stored, merged, writer)
    }

    fn update_status(&mut self, new: &Object, writer: &mut Writer<'_>) -> ApiResult {
        check_unconditional(new)?;
        let stored = self.current(&new.key(), new.meta().resource_version)?;
        check_uid(&new.meta().uid, &stored)?;
        let mut merged = new.clone();
        keep_server_fields(&mut merged, &stored);
        keep_spec(&mut merged, &stored);
        truncate_times(&mut merged);
        if self.is_recorded_double {
            *merged.meta_mut() = stored.meta().clone();
        }
        if let (Object::Deployment(merged), Object::Deployment(stored)) = (&mut merged, &stored) {
            Rc::make_mut(merged).meta.labels = stored.meta.labels.clone();
        }
        // The status subresource of a custom resource leaves all metadata alone.
        if let (Object::Custom(merged), Object::Custom(stored)) = (&mut merged, &stored) {
            Rc::make_mut(merged).meta = stored.meta.clone();
        }
        self.commit_status(&stored, merged, writer)
    }

    /// Stores a change of metadata or spec: generation rises when the spec changed, a finished deletion removes.
    fn commit_change(&mut self, stored: &Object, mut merged: Object, writer: &mut Writer<'_>) -> ApiResult {
        if merged == *stored {
            return Ok(Answer::Object(stored.clone()));
        }
        check_finalizers(&merged, stored)?;
        validate_change(&merged, stored)?;
        if has_generation(stored.kind()) && spec_differs(stored, &merged) {
            merged.meta_mut().generation += 1;
        }
        let was_held = stored.meta().is_deleting() && stored.meta().has_finalizers();
        if was_held && !merged.meta().has_finalizers() && stored.meta().deletion.is_some_and(|d| d.grace_seconds == 0) {
            let key = stored.key();
            return Ok(self.etcd.remove(&key, writer.now, writer.cause).map_or(Answer::Done(Rv(0)), Answer::Object));
        }
        Ok(Answer::Object(self.etcd.put(merged, writer.now, writer.cause)))
    }

    fn commit_status(&mut self, stored: &Object, merged: Object, writer: &mut Writer<'_>) -> ApiResult {
        if merged == *stored {
            return Ok(Answer::Object(stored.clone()));
        }
        Ok(Answer::Object(self.etcd.put(merged, writer.now, writer.cause)))
    }

    fn patch(&mut self, key: &Key, patch: &Patch, writer: &mut Writer<'_>) -> ApiResult {
        let stored = self.current(key, Rv(0))?;
        match (patch, &stored) {
            (Patch::PodStatus { uid, status }, Object::Pod(pod)) => {
                check_uid(uid, &stored)?;
                let merged = Pod { status: pods::merge_kubelet_status(&pod.status, status), ..(**pod).clone() };
                self.commit_status(&stored, merged.into(), writer)
            }
            (Patch::PodCondition { condition, nominated_node_name }, Object::Pod(pod)) => {
                let mut merged = (**pod).clone();
                pods::set_condition(&mut merged.status.conditions, condition.clone());
                if let Some(nominated) = nominated_node_name {
                    merged.status.nominated_node_name = nominated.clone();
                }
                self.commit_status(&stored, merged.into(), writer)
            }
            (Patch::Nomination(node), Object::Pod(pod)) => {
                let mut merged = (**pod).clone();
                merged.status.nominated_node_name = node.clone();
                self.commit_status(&stored, merged.into(), writer)
            }
            (Patch::Unbind { uid, reason, message }, Object::Pod(pod)) => {
                check_uid(uid, &stored)?;
                let unbound = pods::unbind(pod, reason, message, writer.now)?;
                self.commit_status(&stored, unbound.into(), writer)
            }
            (Patch::EventCount { count, message }, Object::Event(event)) => {
                let merged = KubeEvent {
                    count: *count,
                    message: message.clone(),
                    last: writer.now.truncated_to_seconds(),
                    ..(**event).clone()
                };
                self.commit_status(&stored, merged.into(), writer)
            }
            (Patch::Strategic(_), Object::Custom(_)) => Err(no_strategic_patch()),
            (Patch::Merge(value) | Patch::Strategic(value), _) => {
                let is_strategic = matches!(patch, Patch::Strategic(_));
                let merged = match self.settled.patched(&stored, value) {
                    Some(merged) => {
                        debug_assert_eq!(self.patched(&stored, value, is_strategic).as_ref(), Ok(&merged));
                        merged
                    }
                    None => {
                        let merged = self.patched(&stored, value, is_strategic)?;
                        self.settled.learn(&stored, &merged, value);
                        merged
                    }
                };
                self.commit_change(&stored, merged, writer)
            }
            _ => Err(ApiError::new(Reason::BadRequest, format!("this patch does not apply to {key}"))),
        }
    }

    /// Applies a patch to the object's JSON and types the result again.
    fn patched(&self, stored: &Object, patch: &Value, is_strategic: bool) -> Result<Object, ApiError> {
        let base = codec::encode(stored);
        let patched = match is_strategic {
            true => patch::strategic_merge(&base, patch).map_err(|error| ApiError::new(Reason::BadRequest, error))?,
            false => patch::merge(&base, patch),
        };
        check_identity(&base, &patched, stored)?;
        let merged = match ManifestKind::of(stored.kind()) {
            Some(kind) => codec::decode_judged(judge_patched(kind, &base, &patched)?, &self.kinds),
            None => codec::decode_among(&patched, &self.kinds),
        };
        let mut merged = merged.map_err(|problems| {
            let texts: Vec<_> =
                problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect();
            ApiError::new(Reason::Invalid, texts.join("; "))
        })?;
        keep_server_fields(&mut merged, stored);
        keep_status(&mut merged, stored);
        if !spec_differs(stored, &merged) {
            keep_spec(&mut merged, stored);
        }
        Ok(merged)
    }

    fn delete(
        &mut self,
        key: &Key,
        grace_seconds: Option<i64>,
        preconditions: &Preconditions,
        writer: &mut Writer<'_>,
    ) -> ApiResult {
        let stored = self.current(key, Rv(0))?;
        let meta = stored.meta();
        check_preconditions(preconditions, &stored)?;
        if let Object::Pod(pod) = &stored {
            return Ok(self.delete_pod(pod, grace_seconds, writer));
        }
        if let Object::Namespace(namespace) = &stored {
            return self.delete_namespace(namespace, writer);
        }
        if meta.has_finalizers() {
            if meta.is_deleting() {
                return Ok(Answer::Object(stored));
            }
            let mut marked = stored.clone();
            marked.meta_mut().deletion = Some(Deletion { at: writer.now.truncated_to_seconds(), grace_seconds: 0 });
            return Ok(Answer::Object(self.etcd.put(marked, writer.now, writer.cause)));
        }
        Ok(self.etcd.remove(key, writer.now, writer.cause).map_or(Answer::Done(Rv(0)), Answer::Object))
    }

    /// DIVERGES: nobody empties a namespace that is being deleted, so it stays Terminating with its objects.
    fn delete_namespace(&mut self, namespace: &Rc<Namespace>, writer: &mut Writer<'_>) -> ApiResult {
        let name = &namespace.meta.name;
        if UNDELETABLE_NAMESPACES.iter().any(|undeletable| name == *undeletable) {
            let message = format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted");
            return Err(ApiError::new(Reason::Forbidden, message));
        }
        if namespace.terminating {
            return Ok(Answer::Object(namespace.clone().into()));
        }
        let mut marked = (**namespace).clone();
        marked.terminating = true;
        marked.meta.deletion = Some(Deletion { at: writer.now.truncated_to_seconds(), grace_seconds: 0 });
        Ok(Answer::Object(self.etcd.put(marked.into(), writer.now, writer.cause)))
    }

    fn delete_pod(&mut self, pod: &Rc<Pod>, grace_seconds: Option<i64>, writer: &mut Writer<'_>) -> Answer {
        match pods::deletion(pod, grace_seconds, writer.now) {
            pods::DeletionStep::Nothing => Answer::Object(Object::Pod(pod.clone())),
            pods::DeletionStep::Mark(marked) => Answer::Object(self.etcd.put(marked.into(), writer.now, writer.cause)),
            pods::DeletionStep::MarkAndRemove(_) if self.is_recorded_double => {
                let key = Object::Pod(pod.clone()).key();
                let removed = self.etcd.remove(&key, writer.now, writer.cause);
                Answer::Object(removed.unwrap_or_else(|| pod.clone().into()))
            }
            pods::DeletionStep::MarkAndRemove(marked) => {
                let stored = self.etcd.put(marked.into(), writer.now, writer.cause);
                let removed = self.etcd.remove(&stored.key(), writer.now, writer.cause);
                Answer::Object(removed.unwrap_or(stored))
            }
        }
    }

    /// The pod is told why it goes, and deleted; nothing limits disruptions yet.
    ///
    /// Upstream: pkg/registry/core/pod/storage/eviction.go (`addConditionAndDeletePod`), v1.36: two writes.
    fn evict(&mut self, key: &Key, grace_seconds: Option<i64>, writer: &mut Writer<'_>) -> ApiResult {
        let stored = self.current(key, Rv(0))?;
        let pod = stored.as_pod().ok_or_else(|| ApiError::new(Reason::BadRequest, "only pods are evicted"))?;
        let marked = pods::disrupted(pod, writer.now);
        let marked = if marked.status == pod.status {
            pod.clone()
        } else {
            let written = self.etcd.put(marked.into(), writer.now, writer.cause);
            written.as_pod().cloned().expect("a pod was written")
        };
        Ok(self.delete_pod(&marked, grace_seconds, writer))
    }

    fn bind(&mut self, key: &Key, uid: &Name, node: &Name, writer: &mut Writer<'_>) -> ApiResult {
        let stored = self.current(key, Rv(0))?;
        let pod = stored.as_pod().ok_or_else(|| ApiError::new(Reason::BadRequest, "only pods are bound"))?;
        if node.is_empty() {
            return Err(ApiError::new(Reason::InternalError, "target.name: Required value"));
        }
        let bound = pods::bind(pod, uid, node, writer.now, self.rebinds)?;
        self.rebound += u64::from(!pod.node_name.is_empty());
        let stored = self.etcd.put(bound.into(), writer.now, writer.cause);
        Ok(Answer::Done(stored.meta().resource_version))
    }

    fn scale(&mut self, key: &Key, replicas: i32, expected: Rv, writer: &mut Writer<'_>) -> ApiResult {
        let stored = self.current(key, expected)?;
        if replicas < 0 {
            let message = format!("spec.replicas: Invalid value: {replicas}: must be greater than or equal to 0");
            return Err(ApiError::new(Reason::Invalid, message));
        }
        let merged: Object = match &stored {
            Object::ReplicaSet(set) => {
                let mut set: ReplicaSet = (**set).clone();
                set.spec.replicas = replicas;
                set.into()
            }
            Object::Deployment(deployment) => {
                let mut deployment: Deployment = (**deployment).clone();
                deployment.spec.replicas = replicas;
                deployment.into()
            }
            _ => return Err(ApiError::not_found(key)),
        };
        self.commit_change(&stored, merged, writer)
    }

    /// DIVERGES: all renewals of a heartbeat period are one commit with one revision and no watch event; nobody in this
    /// version watches leases, and 5,000 nodes then cost what one costs.
    fn renew_leases(&mut self, keys: &[Key], writer: &mut Writer<'_>) -> ApiResult {
        let revision = self.etcd.bump();
        for key in keys {
            let lease = match self.etcd.get(key).and_then(Object::as_lease) {
                Some(lease) => Lease { renew_time: Some(writer.now), ..(**lease).clone() },
                None => {
                    let mut meta = Meta::named(key.namespace.clone(), key.name.clone());
                    meta.uid = self.naming.next_uid("Lease", &meta, writer.draws);
                    meta.creation = writer.now.truncated_to_seconds();
                    Lease {
                        meta,
                        holder: key.name.clone(),
                        duration_seconds: 40,
                        acquire_time: None,
                        renew_time: Some(writer.now),
                        transitions: None,
                    }
                }
            };
            self.etcd.put_silently(lease.into());
        }
        Ok(Answer::Done(revision))
    }
}

/// Kinds whose `metadata.generation` counts changes of the spec.
fn has_generation(kind: Kind) -> bool {
    matches!(kind, Kind::Pod | Kind::ReplicaSet | Kind::Deployment | Kind::Custom(_))
}

/// Times are written to whole seconds, whatever the writer's memory holds.
fn truncate_times(object: &mut Object) {
    let conditions = match object {
        Object::ReplicaSet(set) => &mut Rc::make_mut(set).status.conditions,
        Object::Deployment(deployment) => &mut Rc::make_mut(deployment).status.conditions,
        _ => return,
    };
    for condition in conditions {
        condition.last_transition = condition.last_transition.truncated_to_seconds();
        condition.last_update = condition.last_update.map(Time::truncated_to_seconds);
    }
}

/// A new object has no status of the client's making.
fn reset_status(object: &mut Object) {
    match object {
        Object::Pod(pod) => Rc::make_mut(pod).status = crate::model::PodStatus::default(),
        Object::ReplicaSet(set) => Rc::make_mut(set).status = crate::model::ReplicaSetStatus::default(),
        Object::Deployment(deployment) => {
            Rc::make_mut(deployment).status = crate::model::DeploymentStatus::default();
        }
        Object::Custom(custom) => Rc::make_mut(custom).status = Rc::new(Value::Null),
        // Nodes register with their status; the others have none.
        Object::PodDisruptionBudget(budget) => {
            Rc::make_mut(budget).status = crate::model::DisruptionStatus::default();
        }
        Object::Node(_)
        | Object::Namespace(_)
        | Object::Event(_)
        | Object::Lease(_)
        | Object::Service(_)
        | Object::PriorityClass(_)
        | Object::EndpointSlice(_) => {}
        Object::HorizontalPodAutoscaler(autoscaler) => {
            Rc::make_mut(autoscaler).status = crate::model::autoscaling::HorizontalPodAutoscalerStatus::default();
        }
    }
}

/// A write that names another uid means an object that is gone.
fn check_uid(uid: &Uid, stored: &Object) -> Result<(), ApiError> {
    let meta = stored.meta();
    if uid.is_empty() || *uid == meta.uid {
        return Ok(());
    }
    let message = format!(
        "Operation cannot be fulfilled on {} \"{}\": Precondition failed: UID in precondition: {}, UID in object meta: {}",
        stored.kind().qualified_plural(),
        meta.name,
        uid,
        meta.uid
    );
    Err(ApiError::new(Reason::Conflict, message))
}

/// A delete may name the uid and the version that it means.
///
/// Upstream: apimachinery/pkg/apis/meta/v1 `Preconditions`, checked by apiserver/pkg/storage/interfaces.go, v1.36.
fn check_preconditions(wanted: &Preconditions, stored: &Object) -> Result<(), ApiError> {
    let meta = stored.meta();
    let (field, wanted, found) = if !wanted.uid.is_empty() && wanted.uid != meta.uid {
        ("UID", wanted.uid.to_string(), meta.uid.to_string())
    } else if wanted.resource_version.0 != 0 && wanted.resource_version != meta.resource_version {
        ("ResourceVersion", wanted.resource_version.to_string(), meta.resource_version.to_string())
    } else {
        return Ok(());
    };
    let message = format!("Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}");
    Err(ApiError::new(Reason::Conflict, message))
}

/// The object that a patch makes, judged as an update of the stored one.
fn judge_patched(kind: ManifestKind, base: &Value, patched: &Value) -> Result<Value, ApiError> {
    // Classes and quotas play no part in updates of what is simulated.
    let around = Surroundings { any_namespace: true, ..Surroundings::default() };
    manifest::update(kind, base, patched, Subresource::Main, &around).map_err(|refusal| {
        let texts: Vec<String> = refusal.errors().iter().map(ToString::to_string).collect();
        let reason = match refusal {
            Refusal::BadRequest(_) => Reason::BadRequest,
            Refusal::Forbidden(_) => Reason::Forbidden,
            Refusal::Invalid(_) => Reason::Invalid,
        };
        ApiError::new(reason, texts.join("; "))
    })
}

/// Custom resources and leases know no unconditional update.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go (`AllowUnconditionalUpdate`) with
/// apimachinery/pkg/api/validation/objectmeta.go, and pkg/registry/coordination/lease/strategy.go with
/// apiserver/pkg/registry/generic/registry/store.go (which shows the version as an unsigned number), v1.36.
fn check_unconditional(new: &Object) -> Result<(), ApiError> {
    let shown = match new.kind() {
        Kind::Lease => "0x0",
        kind if kind.is_custom() => "0",
        _ => return Ok(()),
    };
    if new.meta().resource_version.0 != 0 {
        return Ok(());
    }
    let message = format!(
        "{} \"{}\" is invalid: metadata.resourceVersion: Invalid value: {shown}: must be specified for an update",
        new.kind().qualified_plural(),
        new.meta().name
    );
    Err(ApiError::new(Reason::Invalid, message))
}

/// Upstream: apiextensions-apiserver/pkg/apiserver/customresource_handler.go (`supportedTypes`), v1.36.
fn no_strategic_patch() -> ApiError {
    let known = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    let message = format!("the body of the request was in an unknown format - accepted media types include: {known}");
    ApiError::new(Reason::UnsupportedMediaType, message)
}

/// A patch cannot make an object another one, and may say which version it is for.
fn check_identity(base: &Value, patched: &Value, stored: &Object) -> Result<(), ApiError> {
    for field in ["/kind", "/apiVersion", "/metadata/name", "/metadata/namespace"] {
        let (new, old) = (patched.pointer(field), base.pointer(field));
        if new != old {
            let shown = |value: Option<&Value>| value.map_or("nothing".to_string(), ToString::to_string);
            let path = field.trim_start_matches('/').replace('/', ".");
            let message = format!("{path}: {} does not match the URL, which has {}", shown(new), shown(old));
            return Err(ApiError::new(Reason::BadRequest, message));
        }
    }
    let word = |field: &str| patched.pointer(field).and_then(Value::as_str).unwrap_or_default();
    check_uid(&Uid::new(word("/metadata/uid")), stored)?;
    let version = word("/metadata/resourceVersion");
    if !matches!(version, "" | "0") && version != stored.meta().resource_version.0.to_string() {
        return Err(stale(&stored.key()));
    }
    Ok(())
}

fn stale(key: &Key) -> ApiError {
    let message = format!(
        "Operation cannot be fulfilled on {} \"{}\": the object has been modified; please apply your changes to the latest \
         version and try again",
        key.kind.qualified_plural(),
        key.name
    );
    ApiError::new(Reason::Conflict, message)
}

/// The rules on values: what is stored must be something its controllers can work on.
fn validate(object: &Object) -> Result<(), ApiError> {
    let problems = validation::check(object);
    if problems.is_empty() {
        return Ok(());
    }
    let texts: Vec<_> = problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect();
    Err(ApiError::new(Reason::Invalid, texts.join("; ")))
}

/// The rules on a change of a workload.
///
/// Upstream: pkg/apis/apps/validation/validation.go, v1.36.
fn validate_change(merged: &Object, stored: &Object) -> Result<(), ApiError> {
    let selector = |object: &Object| match object {
        Object::Deployment(deployment) => Some(deployment.spec.selector.clone()),
        Object::ReplicaSet(set) => Some(set.spec.selector.clone()),
        _ => None,
    };
    if selector(merged) != selector(stored) {
        return Err(ApiError::new(Reason::Invalid, "spec.selector: Invalid value: field is immutable"));
    }
    match merged {
        Object::Deployment(_) | Object::ReplicaSet(_) if spec_differs(stored, merged) => validate(merged),
        _ => Ok(()),
    }
}

/// Nobody may begin to hold an object that is on its way out.
fn check_finalizers(merged: &Object, stored: &Object) -> Result<(), ApiError> {
    if !stored.meta().is_deleting() {
        return Ok(());
    }
    let held: &[Name] = stored.meta().finalizers.as_deref().unwrap_or_default();
    let new =
        merged.meta().finalizers.iter().flat_map(|finalizers| finalizers.iter()).find(|name| !held.contains(name));
    match new {
        None => Ok(()),
        Some(name) => Err(ApiError::new(
            Reason::Invalid,
            format!(
                "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new \
                 finalizers [{name}]"
            ),
        )),
    }
}

/// Metadata that only the server changes.
fn keep_server_fields(merged: &mut Object, stored: &Object) {
    let from = stored.meta();
    let meta = merged.meta_mut();
    meta.resource_version = from.resource_version;
    meta.uid = from.uid.clone();
    meta.creation = from.creation;
    meta.generation = from.generation;
    meta.deletion = from.deletion;
    meta.generate_name = from.generate_name.clone();
}

fn keep_status(merged: &mut Object, stored: &Object) {
    match (merged, stored) {
        (Object::Pod(merged), Object::Pod(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.status = stored.status.clone();
            merged.node_name = stored.node_name.clone();
        }
        (Object::ReplicaSet(merged), Object::ReplicaSet(stored)) => {
            Rc::make_mut(merged).status = stored.status.clone();
        }
        (Object::Deployment(merged), Object::Deployment(stored)) => {
            Rc::make_mut(merged).status = stored.status.clone();
        }
        (Object::HorizontalPodAutoscaler(merged), Object::HorizontalPodAutoscaler(stored)) => {
            Rc::make_mut(merged).status = stored.status.clone();
        }
        (Object::Node(merged), Object::Node(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.conditions = stored.conditions.clone();
            merged.capacity = stored.capacity.clone();
            merged.allocatable = stored.allocatable.clone();
            merged.images = stored.images.clone();
        }
        (Object::Custom(merged), Object::Custom(stored)) => Rc::make_mut(merged).status = stored.status.clone(),
        _ => {}
    }
}

fn keep_spec(merged: &mut Object, stored: &Object) {
    match (merged, stored) {
        (Object::Pod(merged), Object::Pod(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.spec = stored.spec.clone();
            merged.node_name = stored.node_name.clone();
            merged.source = stored.source.clone();
        }
        (Object::ReplicaSet(merged), Object::ReplicaSet(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.spec = stored.spec.clone();
            merged.source = stored.source.clone();
        }
        (Object::Deployment(merged), Object::Deployment(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.spec = stored.spec.clone();
            merged.source = stored.source.clone();
        }
        (Object::HorizontalPodAutoscaler(merged), Object::HorizontalPodAutoscaler(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.spec = stored.spec.clone();
            merged.source = stored.source.clone();
        }
        (Object::Node(merged), Object::Node(stored)) => {
            let merged = Rc::make_mut(merged);
            merged.unschedulable = stored.unschedulable;
            merged.taints = stored.taints.clone();
            merged.source = stored.source.clone();
        }
        (Object::Custom(merged), Object::Custom(stored)) => Rc::make_mut(merged).source = stored.source.clone(),
        _ => {}
    }
}

/// Whether the generation rises. For a Deployment an annotation change raises it too (measured).
fn spec_differs(a: &Object, b: &Object) -> bool {
    match (a, b) {
        (Object::Pod(a), Object::Pod(b)) => a.spec != b.spec,
        (Object::ReplicaSet(a), Object::ReplicaSet(b)) => a.spec != b.spec,
        (Object::Deployment(a), Object::Deployment(b)) => a.spec != b.spec || a.meta.annotations != b.meta.annotations,
        (Object::Node(a), Object::Node(b)) => a.unschedulable != b.unschedulable || a.taints != b.taints,
        (Object::Custom(a), Object::Custom(b)) => contents(a) != contents(b),
        _ => false,
    }
}

/// All of a custom resource but metadata and status: any change of it raises the generation.
///
/// Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go (`PrepareForUpdate`), v1.36.
fn contents(custom: &Custom) -> Vec<(&String, &Value)> {
    let fields = custom.source.iter().flat_map(|source| source.as_object().into_iter().flatten());
    let mut contents: Vec<_> = fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status")).collect();
    contents.sort_by_key(|(name, _)| *name);
    contents
}
