//! The ReplicaSet controller's handlers and its reconcile, step by step.
//!
//! Claim pods, create or delete some, write the status: each a state, in upstream's order. What a create or a delete
//! brings is handled as each reply arrives, as upstream's goroutines do.

use std::collections::VecDeque;
use std::rc::Rc;

use super::decide::{self, Manage};
use super::rank;
use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, Informers, WatchSpec};
use crate::controllers::claim::{self, Claim};
use crate::controllers::consistency::{Consistency, ConsistencyStore};
use crate::controllers::expectations::Expectations;
use crate::model::api::Reason;
use crate::model::{
    Answer, ApiError, ApiResult, EventType, Key, Kind, Name, Object, OwnerReference, Pod, Preconditions, ReplicaSet,
    ReplicaSetStatus, Request, Span, Time,
};

/// The ReplicaSet controller.
#[derive(Clone, Debug)]
pub struct ReplicaSetController {
    expectations: Expectations,
    consistency: ConsistencyStore,
}

/// What a sync knows from its first step to its last.
#[derive(Clone, Debug)]
pub struct Sync {
    /// The ReplicaSet as the cache held it.
    replica_set: Rc<ReplicaSet>,
    /// The pods it counts.
    active: Vec<Rc<Pod>>,
    /// How many of its pods are being deleted.
    terminating: usize,
    /// No expectation is open: pods may be created or deleted.
    may_manage: bool,
    /// What went wrong with pods.
    failure: Option<String>,
}

/// A pod to adopt or to release.
#[derive(Clone, Debug)]
pub struct Claiming {
    pod: Rc<Pod>,
    claim: Claim,
}

/// Where a reconcile stands.
#[derive(Clone, Debug)]
pub enum State {
    /// Read the ReplicaSet anew before the first adoption.
    Rechecking {
        /// The sync.
        sync: Sync,
        /// Pods to adopt or release, the first now.
        queue: VecDeque<Claiming>,
        /// What went wrong so far.
        errors: Vec<String>,
    },
    /// Patch one pod's owner.
    Claiming {
        /// The sync.
        sync: Sync,
        /// Pods to adopt or release, the first now.
        queue: VecDeque<Claiming>,
        /// What went wrong so far.
        errors: Vec<String>,
        /// The outcome of the recheck, once made: what forbids adoption.
        recheck: Option<Option<String>>,
    },
    /// Create one batch of pods.
    Creating {
        /// The sync.
        sync: Sync,
        /// The size of this batch.
        batch: usize,
        /// Pods to create after it.
        remaining: usize,
    },
    /// Delete pods, all at once.
    Deleting {
        /// The sync.
        sync: Sync,
        /// The pods.
        pods: Vec<Rc<Pod>>,
    },
    /// Write the status.
    Updating {
        /// The sync.
        sync: Sync,
        /// The status.
        status: ReplicaSetStatus,
        /// When it was computed.
        computed_at: Time,
        /// The write is the second try.
        is_retry: bool,
    },
    /// Read the ReplicaSet anew because the write failed.
    Refetching {
        /// The sync.
        sync: Sync,
        /// The status.
        status: ReplicaSetStatus,
        /// When it was computed.
        computed_at: Time,
    },
}

impl ReplicaSetController {
    /// A controller without memory.
    pub fn new(consistency: Consistency) -> ReplicaSetController {
        ReplicaSetController { expectations: Expectations::default(), consistency: ConsistencyStore::new(consistency) }
    }

    fn observe_replica_set(&mut self, change: &Change, keys: &mut Vec<Enqueue>) {
        match change {
            Change::Added(object) => keys.push(Enqueue::Now(object.key())),
            Change::Updated { old, new } => {
                if old.meta().uid != new.meta().uid {
                    self.forget(old);
                    keys.push(Enqueue::Now(old.key()));
                }
                keys.push(Enqueue::Now(new.key()));
            }
            Change::Deleted { last, .. } => {
                self.forget(last);
                keys.push(Enqueue::Now(last.key()));
            }
        }
    }

    /// A new ReplicaSet of the same name starts clean.
    fn forget(&mut self, replica_set: &Object) {
        self.expectations.forget(&replica_set.key());
        self.consistency.forget(&replica_set.key(), Some(&replica_set.meta().uid));
    }

    fn pod_added(&mut self, pod: &Pod, informers: &Informers, keys: &mut Vec<Enqueue>) {
        if pod.meta.is_deleting() {
            return self.pod_deleted(pod, informers, keys);
        }
        match pod.meta.controller() {
            Some(owner) => {
                if let Some(replica_set) = resolve(informers, &pod.meta.namespace, owner) {
                    let key = key_of(replica_set);
                    self.expectations.creation_observed(&key);
                    keys.push(Enqueue::Now(key));
                }
            }
            None => enqueue_candidates(pod, informers, keys),
        }
    }

    fn pod_updated(&mut self, old: &Pod, new: &Pod, informers: &Informers, keys: &mut Vec<Enqueue>) {
        if old.meta.resource_version == new.meta.resource_version {
            return;
        }
        let labels_changed = old.meta.labels != new.meta.labels;
        if new.meta.is_deleting() {
            self.pod_deleted(new, informers, keys);
            if labels_changed {
                self.pod_deleted(old, informers, keys);
            }
            return;
        }
        let owner_changed = old.meta.controller() != new.meta.controller();
        if owner_changed && let Some(owner) = old.meta.controller() {
            keys.extend(resolve(informers, &old.meta.namespace, owner).map(|set| Enqueue::Now(key_of(set))));
        }
        let Some(owner) = new.meta.controller() else {
            if labels_changed || owner_changed {
                enqueue_candidates(new, informers, keys);
            }
            return;
        };
        if let Some(replica_set) = resolve(informers, &new.meta.namespace, owner) {
            let min_ready_seconds = replica_set.spec.min_ready_seconds;
            keys.push(Enqueue::Now(key_of(replica_set)));
            if !old.is_ready() && new.is_ready() && min_ready_seconds > 0 {
                let after = Span::from_seconds(i64::from(min_ready_seconds) + 1);
                keys.push(Enqueue::After(key_of(replica_set), after));
            }
        }
    }

    fn pod_deleted(&mut self, pod: &Pod, informers: &Informers, keys: &mut Vec<Enqueue>) {
        let Some(owner) = pod.meta.controller() else { return };
        if let Some(replica_set) = resolve(informers, &pod.meta.namespace, owner) {
            let key = key_of(replica_set);
            self.expectations.deletion_observed(&key, &pod.meta.name);
            keys.push(Enqueue::Now(key));
        }
    }

    /// The next adoption or release, or what follows when none is left.
    fn claim_next(
        &mut self,
        key: &Key,
        sync: Sync,
        mut queue: VecDeque<Claiming>,
        mut errors: Vec<String>,
        recheck: Option<Option<String>>,
        ctx: &mut Context<'_>,
    ) -> Step<State> {
        while let Some(next) = queue.front() {
            let meta = &next.pod.meta;
            let owner = Object::ReplicaSet(sync.replica_set.clone());
            let patch = match (next.claim, &recheck) {
                (Claim::Adopt, None) => {
                    let requests = vec![Request::Get(key.clone())];
                    return Step::Call { requests, state: State::Rechecking { sync, queue, errors } };
                }
                (Claim::Adopt, Some(Some(problem))) => {
                    errors.push(format!("can't adopt Pod {}/{} ({}): {problem}", meta.namespace, meta.name, meta.uid));
                    queue.pop_front();
                    continue;
                }
                (Claim::Adopt, _) => claim::adopt_patch(&owner, meta),
                _ => claim::release_patch(owner.meta(), meta),
            };
            let requests = vec![Request::Patch { key: pod_key(meta.namespace.clone(), meta.name.clone()), patch }];
            return Step::Call { requests, state: State::Claiming { sync, queue, errors, recheck } };
        }
        if !errors.is_empty() {
            return Step::Finish(Outcome::error(errors.join(", ")));
        }
        self.manage(key, sync, ctx)
    }

    fn manage(&mut self, key: &Key, sync: Sync, ctx: &mut Context<'_>) -> Step<State> {
        if !sync.may_manage || sync.replica_set.meta.is_deleting() {
            return self.write_status(sync, ctx);
        }
        match decide::manage(sync.active.len(), sync.replica_set.spec.replicas) {
            Manage::Nothing => self.write_status(sync, ctx),
            Manage::Create(count) => {
                self.expectations.expect_creations(key, count, ctx.now);
                create_batch(sync, None, count)
            }
            Manage::Delete(count) => {
                let mut pods = sync.active.clone();
                if count < pods.len() {
                    let related = related_pods(&sync.replica_set, ctx.informers);
                    let order = rank::deletion_order(&pods, &related, ctx.now);
                    pods = order.into_iter().take(count).map(|index| pods[index].clone()).collect();
                }
                self.expectations.expect_deletions(key, pods.iter().map(|pod| pod.meta.name.clone()), ctx.now);
                let requests = pods.iter().map(|pod| delete_request(pod)).collect();
                Step::Call { requests, state: State::Deleting { sync, pods } }
            }
        }
    }

    fn write_status(&mut self, sync: Sync, ctx: &mut Context<'_>) -> Step<State> {
        let replica_set = &sync.replica_set;
        let (active, failure) = (&sync.active, sync.failure.as_deref());
        let mut status = decide::new_status(replica_set, active, sync.terminating, failure, ctx.now);
        let computed_at = ctx.now;
        if !decide::status_needs_write(replica_set, &status) {
            return self.finish(&sync, &sync.replica_set, computed_at, ctx);
        }
        status.observed_generation = replica_set.meta.generation;
        let requests = vec![status_request(replica_set, &status)];
        Step::Call { requests, state: State::Updating { sync, status, computed_at, is_retry: false } }
    }

    /// `written` is the ReplicaSet with the new status.
    fn finish(&mut self, sync: &Sync, written: &ReplicaSet, computed_at: Time, ctx: &Context<'_>) -> Step<State> {
        let key = key_of(&sync.replica_set);
        let version = written.meta.resource_version;
        self.consistency.wrote_at(&key, &sync.replica_set.meta.uid, Kind::ReplicaSet, version);
        Step::Finish(match &sync.failure {
            Some(message) => Outcome::error(message.clone()),
            None => Outcome::Done { requeue_after: decide::requeue_after(written, &sync.active, computed_at, ctx.now) },
        })
    }

    /// What a create's reply brings: its Event, and the version to wait for.
    fn pod_create_answered(&mut self, key: &Key, sync: &Sync, result: &ApiResult, ctx: &mut Context<'_>) {
        let owner = Object::ReplicaSet(sync.replica_set.clone());
        match result {
            Ok(answer) => {
                let Some(pod) = answer.object().map(Object::meta) else { return };
                self.consistency.wrote_at(key, &owner.meta().uid, Kind::Pod, pod.resource_version);
                let message = format!("Created pod: {}", pod.name);
                ctx.out.event(&owner, EventType::Normal, "SuccessfulCreate", message);
            }
            Err(error) if error.reason == Reason::NamespaceTerminating => {}
            Err(error) => {
                ctx.out.event(&owner, EventType::Warning, "FailedCreate", format!("Error creating: {error}"));
            }
        }
    }

    /// What a delete's reply brings: its Event, and after a failure one expectation less.
    fn pod_delete_answered(&mut self, key: &Key, sync: &Sync, pod: &Pod, result: &ApiResult, ctx: &mut Context<'_>) {
        let owner = Object::ReplicaSet(sync.replica_set.clone());
        match result {
            // The client's Delete gives no version back, so upstream has none to wait for.
            Ok(_) => {
                let message = format!("Deleted pod: {}", pod.meta.name);
                ctx.out.event(&owner, EventType::Normal, "SuccessfulDelete", message);
            }
            Err(error) => {
                if error.reason != Reason::NotFound {
                    let message = format!("Error deleting: {error}");
                    ctx.out.event(&owner, EventType::Warning, "FailedDelete", message);
                }
                self.expectations.deletion_observed(key, &pod.meta.name);
            }
        }
    }

    fn batch_created(
        &mut self,
        key: &Key,
        mut sync: Sync,
        (batch, remaining): (usize, usize),
        replies: &[ApiResult],
        ctx: &mut Context<'_>,
    ) -> Step<State> {
        // In a namespace that goes away every create fails: upstream counts that as success and waits.
        let failed = |result: &&ApiResult| matches!(result, Err(error) if error.reason != Reason::NamespaceTerminating);
        let failures = replies.iter().filter(failed).count();
        if failures == 0 && remaining > 0 {
            return create_batch(sync, Some(batch), remaining);
        }
        if failures > 0 {
            for _ in 0..failures + remaining {
                self.expectations.creation_observed(key);
            }
            sync.failure = replies.iter().filter(failed).find_map(|result| Some(result.as_ref().err()?.to_string()));
        }
        self.write_status(sync, ctx)
    }
}

impl Reconciler for ReplicaSetController {
    type State = State;

    fn name(&self) -> &'static str {
        "replicaset"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec::all(Kind::ReplicaSet), WatchSpec::all(Kind::Pod)]
    }

    fn observe(&mut self, delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        match (&delta.change, delta.change.object()) {
            (change, Object::ReplicaSet(_)) => self.observe_replica_set(change, keys),
            (Change::Added(Object::Pod(pod)), _) => self.pod_added(pod, ctx.informers, keys),
            (Change::Updated { old: Object::Pod(old), new: Object::Pod(new) }, _) => {
                self.pod_updated(old, new, ctx.informers, keys);
            }
            (Change::Deleted { last: Object::Pod(pod), .. }, _) => self.pod_deleted(pod, ctx.informers, keys),
            _ => {}
        }
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        let Some(replica_set) = ctx.informers.replica_set(key).cloned() else {
            self.expectations.forget(key);
            self.consistency.forget(key, None);
            return Step::Finish(Outcome::DONE);
        };
        if let Err(message) = self.consistency.ensure_ready(key, |kind| ctx.informers.last_rv(kind)) {
            return Step::Finish(Outcome::error(message));
        }
        let may_manage = self.expectations.are_satisfied(key, ctx.now);
        let mut sync = Sync { replica_set, active: Vec::new(), terminating: 0, may_manage, failure: None };
        let mut queue = VecDeque::new();
        let (owner, selector) = (&sync.replica_set.meta, &sync.replica_set.spec.selector);
        for pod in own_and_orphan_pods(&sync.replica_set, ctx.informers) {
            let claim = claim::classify(owner, selector, &pod.meta);
            match claim {
                _ if pod.is_terminal() => {}
                Claim::Keep if pod.meta.is_deleting() => sync.terminating += 1,
                _ if pod.meta.is_deleting() => {}
                Claim::Keep => sync.active.push(pod.clone()),
                Claim::Adopt | Claim::Release => queue.push_back(Claiming { pod: pod.clone(), claim }),
                Claim::Ignore => {}
            }
        }
        self.claim_next(key, sync, queue, Vec::new(), None, ctx)
    }

    fn on_reply(&mut self, key: &Key, state: &mut State, index: usize, result: &ApiResult, ctx: &mut Context<'_>) {
        match state {
            State::Creating { sync, .. } => self.pod_create_answered(key, sync, result, ctx),
            State::Deleting { sync, pods } => self.pod_delete_answered(key, sync, &pods[index], result, ctx),
            _ => {}
        }
    }

    fn resume(&mut self, key: &Key, state: State, mut replies: Vec<ApiResult>, ctx: &mut Context<'_>) -> Step<State> {
        match state {
            State::Creating { sync, batch, remaining } => {
                self.batch_created(key, sync, (batch, remaining), &replies, ctx)
            }
            State::Deleting { mut sync, .. } => {
                let mut errors = replies.iter().filter_map(|result| result.as_ref().err());
                let first = errors.find(|error| error.reason != Reason::NotFound);
                sync.failure = first.map(|error| format!("unable to delete pods: {error}"));
                self.write_status(sync, ctx)
            }
            State::Rechecking { sync, queue, errors } => {
                let owner = Object::ReplicaSet(sync.replica_set.clone());
                let problem = match object_of(replies.remove(0)) {
                    Ok(fresh) => claim::adoption_problem(&owner, &fresh),
                    Err(error) => Some(error.message),
                };
                self.claim_next(key, sync, queue, errors, Some(problem), ctx)
            }
            State::Claiming { mut sync, mut queue, mut errors, recheck } => {
                let Claiming { pod, claim } = queue.pop_front().expect("the pod of the patch is still first");
                match (replies.remove(0), claim) {
                    (Ok(_), Claim::Adopt) => sync.active.push(pod),
                    (Ok(_), _) => {}
                    (Err(error), _) if error.reason == Reason::NotFound => {}
                    (Err(error), Claim::Release) if error.reason == Reason::Invalid => {}
                    (Err(error), _) => errors.push(error.message),
                }
                self.claim_next(key, sync, queue, errors, recheck, ctx)
            }
            State::Updating { sync, status, computed_at, is_retry } => match object_of(replies.remove(0)) {
                Ok(Object::ReplicaSet(written)) => self.finish(&sync, &written, computed_at, ctx),
                Ok(other) => unreachable!("a ReplicaSet's status write answered with {}", other.kind()),
                Err(error) if is_retry => Step::Finish(Outcome::error(error.message)),
                Err(_) => {
                    let requests = vec![Request::Get(key.clone())];
                    Step::Call { requests, state: State::Refetching { sync, status, computed_at } }
                }
            },
            State::Refetching { sync, status, computed_at } => match object_of(replies.remove(0)) {
                Ok(Object::ReplicaSet(fresh)) => {
                    let requests = vec![status_request(&fresh, &status)];
                    Step::Call { requests, state: State::Updating { sync, status, computed_at, is_retry: true } }
                }
                Ok(other) => unreachable!("a GET of a ReplicaSet answered with {}", other.kind()),
                Err(error) => Step::Finish(Outcome::error(error.message)),
            },
        }
    }
}

fn create_batch(sync: Sync, previous: Option<usize>, remaining: usize) -> Step<State> {
    let batch = decide::next_batch(previous, remaining);
    let pod = Rc::new(decide::new_pod(&sync.replica_set));
    let requests = (0..batch).map(|_| Request::Create(Object::Pod(pod.clone()))).collect();
    Step::Call { requests, state: State::Creating { sync, batch, remaining: remaining - batch } }
}

fn delete_request(pod: &Pod) -> Request {
    Request::Delete {
        key: pod_key(pod.meta.namespace.clone(), pod.meta.name.clone()),
        grace_seconds: None,
        preconditions: Preconditions::default(),
    }
}

fn status_request(replica_set: &ReplicaSet, status: &ReplicaSetStatus) -> Request {
    Request::UpdateStatus(ReplicaSet { status: status.clone(), ..replica_set.clone() }.into())
}

fn object_of(result: ApiResult) -> Result<Object, ApiError> {
    match result? {
        Answer::Object(object) => Ok(object),
        other => unreachable!("an object was asked for, the answer was {other:?}"),
    }
}

fn pod_key(namespace: Name, name: Name) -> Key {
    Key { kind: Kind::Pod, namespace, name }
}

fn key_of(replica_set: &ReplicaSet) -> Key {
    let meta = &replica_set.meta;
    Key { kind: Kind::ReplicaSet, namespace: meta.namespace.clone(), name: meta.name.clone() }
}

/// The cached ReplicaSet that an owner reference means: the name must be of the same uid.
fn resolve<'a>(informers: &'a Informers, namespace: &Name, owner: &OwnerReference) -> Option<&'a Rc<ReplicaSet>> {
    if owner.kind != Some(Kind::ReplicaSet) {
        return None;
    }
    let key = Key { kind: Kind::ReplicaSet, namespace: namespace.clone(), name: owner.name.clone() };
    informers.replica_set(&key).filter(|replica_set| replica_set.meta.uid == owner.uid)
}

/// Wakes all ReplicaSets that might adopt the pod.
fn enqueue_candidates(pod: &Pod, informers: &Informers, keys: &mut Vec<Enqueue>) {
    if pod.meta.labels.is_empty() {
        return;
    }
    let sets = informers.list_namespace(Kind::ReplicaSet, &pod.meta.namespace);
    for set in sets.into_iter().filter_map(Object::as_replica_set) {
        let selector = &set.spec.selector;
        if !selector.requirements.is_empty() && selector.matches(&pod.meta.labels) {
            keys.push(Enqueue::Now(key_of(set)));
        }
    }
}

/// The pods of its namespace that it controls, then those that nobody controls.
fn own_and_orphan_pods<'a>(replica_set: &'a ReplicaSet, informers: &'a Informers) -> impl Iterator<Item = &'a Rc<Pod>> {
    let own = informers.controlled_by(Kind::Pod, &replica_set.meta.uid);
    let orphans = informers.controlled_by(Kind::Pod, &Name::EMPTY);
    let namespace = &replica_set.meta.namespace;
    own.chain(orphans).filter_map(Object::as_pod).filter(move |pod| pod.meta.namespace == *namespace)
}

/// The pods of all ReplicaSets with the same controller; none when it has no controller.
///
/// Upstream takes those that the ReplicaSets' selectors match; their owners differ only while labels are being changed.
fn related_pods(replica_set: &ReplicaSet, informers: &Informers) -> Vec<Rc<Pod>> {
    let Some(owner) = replica_set.meta.controller() else { return Vec::new() };
    let family = informers.controlled_by(Kind::ReplicaSet, &owner.uid);
    family
        .flat_map(|member| informers.controlled_by(Kind::Pod, &member.meta().uid))
        .filter_map(|pod| pod.as_pod().cloned())
        .collect()
}
