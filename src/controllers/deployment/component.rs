//! The Deployment controller's handlers, and the glue between caches, [`super::sync`] and requests.

use std::collections::VecDeque;
use std::rc::Rc;

use super::journal::{Entry, Failure, Journal, Stop};
use super::sync::{self, Snapshot};
use crate::client::reconciler::{Enqueue, HANDLER_CALL, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, Informers, WatchSpec};
use crate::model::api::{ListVersion, ObjectSelector, Reason};
use crate::model::{
    Answer, ApiResult, Deployment, DeploymentStrategy, Key, Kind, Name, Object, OwnerReference, Pod, ReplicaSet,
    Request,
};

/// How often a failing Deployment is retried before it waits for the next event.
const MAX_RETRIES: u32 = 15;

/// The Deployment controller. It remembers nothing between syncs.
#[derive(Clone, Debug, Default)]
pub struct DeploymentController {
    /// Pods whose deletion the handler was told of and has not looked at: it looks at one after the other.
    deleted: VecDeque<Rc<Pod>>,
    /// The Deployment for which the handler waits for a list of ReplicaSets.
    listing: Option<Rc<Deployment>>,
}

/// A sync that waits for an answer.
#[derive(Clone, Debug)]
pub struct State {
    snapshot: Rc<Snapshot>,
    /// The answers so far.
    answered: Vec<Entry>,
    /// Events reported so far.
    reported: usize,
    /// The ReplicaSet that is being created, if that is what is asked for.
    creating: Option<Key>,
    /// The sync ends with the answer.
    is_last: bool,
}

impl DeploymentController {
    /// The controller.
    pub fn new() -> DeploymentController {
        DeploymentController::default()
    }

    /// Looks at deleted pods until one needs a list.
    ///
    /// Upstream: pkg/controller/deployment/deployment_controller.go, `deletePod`, v1.36: the handler asks the API server for
    /// the ReplicaSets of a Recreate Deployment, and its other calls wait meanwhile.
    fn look_at_deleted(&mut self, ctx: &mut Context<'_>) {
        while self.listing.is_none()
            && let Some(pod) = self.deleted.pop_front()
        {
            let Some(deployment) = recreate_deployment_of(&pod, ctx.informers) else { continue };
            let selector = ObjectSelector { labels: (*deployment.spec.selector).clone(), fields: Vec::new() };
            let namespace = Some(deployment.meta.namespace.clone());
            let request = Request::List { kind: Kind::ReplicaSet, namespace, selector, version: ListVersion::Newest };
            self.listing = Some(deployment.clone());
            ctx.out.request(request, HANDLER_CALL);
        }
    }

    /// Runs the sync until it needs an answer or ends.
    fn advance(&self, mut state: State, ctx: &mut Context<'_>) -> Step<State> {
        let snapshot = state.snapshot.clone();
        let mut journal = Journal::new(&state.answered, snapshot.started);
        let result = sync::sync_deployment(&snapshot, &mut journal);
        let events = journal.into_events();
        let regarding = Object::Deployment(snapshot.deployment.clone());
        for event in events.iter().skip(state.reported) {
            ctx.out.event(&regarding, event.event_type, event.reason, event.message.clone());
        }
        state.reported = events.len();
        match result {
            Ok(requeue_after) => Step::Finish(Outcome::Done { requeue_after }),
            Err(Stop::Call(request)) => {
                let is_create = matches!(*request, Request::Create(_));
                state.creating = is_create.then(|| request.key());
                Step::Call { requests: vec![*request], state }
            }
            Err(Stop::LastCall(request)) => {
                state.is_last = true;
                Step::Call { requests: vec![*request], state }
            }
            Err(Stop::Failed(failure)) => failed(failure),
        }
    }
}

impl Reconciler for DeploymentController {
    type State = State;

    fn name(&self) -> &'static str {
        "deployment"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec::all(Kind::Deployment), WatchSpec::all(Kind::ReplicaSet), WatchSpec::all(Kind::Pod)]
    }

    fn observe(&mut self, delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        let informers = ctx.informers;
        match &delta.change {
            change if change.object().kind() == Kind::Deployment => keys.push(Enqueue::Now(change.object().key())),
            Change::Added(Object::ReplicaSet(set)) if !set.meta.is_deleting() => {
                enqueue_owner_or_candidates(set, true, informers, keys);
            }
            Change::Added(Object::ReplicaSet(set)) | Change::Deleted { last: Object::ReplicaSet(set), .. } => {
                enqueue_owner_or_candidates(set, false, informers, keys);
            }
            Change::Updated { old: Object::ReplicaSet(old), new: Object::ReplicaSet(new) } => {
                replica_set_updated(old, new, informers, keys);
            }
            Change::Deleted { last: Object::Pod(pod), .. } => {
                self.deleted.push_back(pod.clone());
                self.look_at_deleted(ctx);
            }
            _ => {}
        }
    }

    /// A Recreate Deployment goes on when its last pod is gone.
    fn handler_answered(&mut self, result: ApiResult, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        let Some(deployment) = self.listing.take() else { return };
        if let Ok(Answer::List { items, .. }) = result {
            let is_own =
                |set: &&Rc<ReplicaSet>| set.meta.controller().is_some_and(|owner| owner.uid == deployment.meta.uid);
            let sets: Vec<_> = items.iter().filter_map(Object::as_replica_set).filter(is_own).cloned().collect();
            if pods_of(&deployment, &sets, ctx.informers).is_empty() {
                keys.push(enqueue_now(&deployment));
            }
        }
        self.look_at_deleted(ctx);
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        let Some(deployment) = ctx.informers.deployment(key).cloned() else {
            return Step::Finish(Outcome::DONE);
        };
        let replica_sets = own_and_orphan_sets(&deployment, ctx.informers);
        let pods = match deployment.spec.strategy {
            DeploymentStrategy::Recreate => pods_of(&deployment, &replica_sets, ctx.informers),
            DeploymentStrategy::RollingUpdate { .. } => Vec::new(),
        };
        let pods = pods.iter().filter_map(|pod| Some((pod.meta.controller()?.uid.clone(), pod.status.phase))).collect();
        let snapshot = Rc::new(Snapshot { deployment, replica_sets, pods, started: ctx.now });
        self.advance(State { snapshot, answered: Vec::new(), reported: 0, creating: None, is_last: false }, ctx)
    }

    fn resume(&mut self, _key: &Key, mut state: State, replies: Vec<ApiResult>, ctx: &mut Context<'_>) -> Step<State> {
        if state.is_last {
            return match replies.into_iter().find_map(Result::err).map(Stop::from) {
                Some(Stop::Failed(failure)) => failed(failure),
                _ => Step::Finish(Outcome::DONE),
            };
        }
        for result in replies {
            let is_taken = matches!(&result, Err(error) if error.reason == Reason::AlreadyExists);
            let creating = state.creating.take().filter(|_| is_taken);
            let cached = creating.and_then(|key| ctx.informers.replica_set(&key).cloned());
            state.answered.push(Entry { result, at: ctx.now, cached });
        }
        self.advance(state, ctx)
    }

    fn max_retries(&self) -> Option<u32> {
        Some(MAX_RETRIES)
    }
}

fn failed(failure: Failure) -> Step<State> {
    let is_quiet = failure.is_namespace_terminating;
    Step::Finish(if is_quiet { Outcome::DONE } else { Outcome::error(failure.message) })
}

fn replica_set_updated(old: &ReplicaSet, new: &ReplicaSet, informers: &Informers, keys: &mut Vec<Enqueue>) {
    if old.meta.resource_version == new.meta.resource_version {
        return;
    }
    let owner_changed = old.meta.controller() != new.meta.controller();
    if owner_changed && let Some(owner) = old.meta.controller() {
        keys.extend(resolve(informers, &old.meta.namespace, owner).map(enqueue_now));
    }
    let may_be_adopted = owner_changed || old.meta.labels != new.meta.labels;
    enqueue_owner_or_candidates(new, may_be_adopted, informers, keys);
}

/// Wakes the Deployment that controls the ReplicaSet; without a controller those that might adopt it, if `adopt` is set.
fn enqueue_owner_or_candidates(set: &ReplicaSet, adopt: bool, informers: &Informers, keys: &mut Vec<Enqueue>) {
    match set.meta.controller() {
        Some(owner) => keys.extend(resolve(informers, &set.meta.namespace, owner).map(enqueue_now)),
        None if adopt => keys.extend(candidates(set, informers).into_iter().map(enqueue_now)),
        None => {}
    }
}

/// The Deployment to which a deleted pod belonged, if it is one that recreates.
fn recreate_deployment_of<'a>(pod: &Pod, informers: &'a Informers) -> Option<&'a Rc<Deployment>> {
    let owner = pod.meta.controller().filter(|owner| owner.kind == Some(Kind::ReplicaSet))?;
    let key = Key { kind: Kind::ReplicaSet, namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
    let set = informers.replica_set(&key)?;
    let deployment = candidates(set, informers).into_iter().next()?;
    (deployment.spec.strategy == DeploymentStrategy::Recreate).then_some(deployment)
}

fn enqueue_now(deployment: &Rc<Deployment>) -> Enqueue {
    Enqueue::Now(Object::Deployment(deployment.clone()).key())
}

/// The cached Deployment that an owner reference means: the name must be of the same uid.
fn resolve<'a>(informers: &'a Informers, namespace: &Name, owner: &OwnerReference) -> Option<&'a Rc<Deployment>> {
    if owner.kind != Some(Kind::Deployment) {
        return None;
    }
    let key = Key { kind: Kind::Deployment, namespace: namespace.clone(), name: owner.name.clone() };
    informers.deployment(&key).filter(|deployment| deployment.meta.uid == owner.uid)
}

/// The Deployments whose selectors match the ReplicaSet's labels.
fn candidates<'a>(set: &ReplicaSet, informers: &'a Informers) -> Vec<&'a Rc<Deployment>> {
    let deployments = informers.list_namespace(Kind::Deployment, &set.meta.namespace);
    let mut candidates: Vec<_> = deployments.into_iter().filter_map(Object::as_deployment).collect();
    candidates.retain(|deployment| {
        let selector = &deployment.spec.selector;
        !selector.requirements.is_empty() && selector.matches(&set.meta.labels)
    });
    candidates
}

/// The ReplicaSets of its namespace that it controls, then those that nobody controls.
fn own_and_orphan_sets(deployment: &Deployment, informers: &Informers) -> Vec<Rc<ReplicaSet>> {
    let own = informers.controlled_by(Kind::ReplicaSet, &deployment.meta.uid);
    let orphans = informers.controlled_by(Kind::ReplicaSet, &Name::EMPTY);
    let sets = own.chain(orphans).filter_map(Object::as_replica_set);
    sets.filter(|set| set.meta.namespace == deployment.meta.namespace).cloned().collect()
}

/// The pods of these ReplicaSets that the Deployment's selector matches, whatever their state.
fn pods_of(deployment: &Deployment, sets: &[Rc<ReplicaSet>], informers: &Informers) -> Vec<Rc<Pod>> {
    let pods = sets.iter().flat_map(|set| informers.controlled_by(Kind::Pod, &set.meta.uid));
    let pods = pods.filter_map(Object::as_pod);
    pods.filter(|pod| deployment.spec.selector.matches(&pod.meta.labels)).cloned().collect()
}
