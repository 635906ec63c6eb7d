//! The controller: reads the target's scale, its own caches and what is published, decides, writes the scale and then the
//! status.
//!
//! A key comes one sync period after anything happened to its autoscaler, and one sync period after each look; the queue's
//! limiter does that ([`Settings::queue`]). What syncs remember of each other dies with the process.
//!
//! Upstream: pkg/controller/podautoscaler/horizontal.go, v1.36. The target's scale is read as the whole object.

use std::rc::Rc;

use super::decide::{HpaEvent, Known, SelectorState, Sync, propose, scale_not_read};
use super::history::History;
use super::log_line::LogLine;
use super::samples::NothingPublished;
use super::settings::Settings;
use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, Informers, WatchSpec};
use crate::model::api::Reason;
use crate::model::autoscaling::{HorizontalPodAutoscalerStatus, ScaleTarget};
use crate::model::{
    Action, Answer, ApiError, ApiResult, EventType, HorizontalPodAutoscaler, Key, Kind, Map, Name, Object, Pod,
    Request, Rv, Selector, Span,
};

/// How often a write of the scale that meets a newer version is tried in all, and the pause before another try.
///
/// Upstream: client-go/util/retry/util.go, `DefaultRetry`, v0.36, without its jitter of a tenth.
const WRITES: u32 = 5;
const WRITE_PAUSE: Span = Span::from_milliseconds(10);

/// The horizontal pod autoscaler.
#[derive(Clone, Debug)]
pub struct HorizontalController {
    settings: Settings,
    histories: Map<Key, History>,
    /// The selector that each autoscaler's target had at its last sync.
    selectors: Map<Key, Rc<Selector>>,
}

/// A target as its scale shows it.
#[derive(Clone, Debug)]
struct Scale {
    key: Key,
    version: Rv,
    replicas: i32,
    status_replicas: i32,
    selector: Rc<Selector>,
}

/// What a sync knows from its first step to its last.
#[derive(Clone, Debug)]
pub struct Syncing {
    autoscaler: Rc<HorizontalPodAutoscaler>,
    scale: Scale,
    sync: Sync,
    /// Events that were reported already.
    reported: usize,
    writes: u32,
}

/// Where a sync stands.
#[derive(Clone, Debug)]
pub enum State {
    /// Read the scale.
    Reading {
        /// The autoscaler as the cache held it.
        autoscaler: Rc<HorizontalPodAutoscaler>,
    },
    /// Write the scale.
    Writing(Box<Syncing>),
    /// Read the scale anew: somebody else has written it.
    Rereading(Box<Syncing>),
    /// Pause before another write.
    Pausing(Box<Syncing>),
    /// Write the status; with the error that the sync ends in.
    Reporting {
        /// The autoscaler.
        autoscaler: Rc<HorizontalPodAutoscaler>,
        /// What the sync ends in.
        error: Option<String>,
    },
}

impl HorizontalController {
    /// A controller without memory.
    pub fn new(settings: Settings) -> HorizontalController {
        HorizontalController { settings, histories: Map::default(), selectors: Map::default() }
    }

    fn forget(&mut self, key: &Key) {
        self.histories.swap_remove(key);
        self.selectors.swap_remove(key);
    }

    /// The scale is there: decide, and write what follows.
    fn decide(&mut self, autoscaler: Rc<HorizontalPodAutoscaler>, scale: Scale, ctx: &mut Context<'_>) -> Step<State> {
        let key = Object::HorizontalPodAutoscaler(Rc::clone(&autoscaler)).key();
        self.selectors.insert(key.clone(), Rc::clone(&scale.selector));
        let namespace = &autoscaler.meta.namespace;
        let pods = selected(ctx.informers, namespace, &scale.selector);
        let selector = self.selector_state(namespace, &scale, &pods);
        let published = ctx.sensors.published(namespace, ctx.now);
        let known = Known {
            pods: &pods,
            selector,
            metrics: published.as_deref().unwrap_or(&NothingPublished),
            ..known(&autoscaler, &scale, &self.settings, ctx)
        };
        let sync = propose(&known, self.histories.entry(key.clone()).or_default());
        ctx.out.record(Action::Decide, Some(key), LogLine(&sync.explanation).to_string());
        let mut syncing = Syncing { autoscaler, scale, sync, reported: 0, writes: 0 };
        syncing.report(ctx);
        match syncing.sync.write {
            Some(_) => syncing.write(),
            None => self.settle(syncing, None, ctx),
        }
    }

    /// Whether the pods are this autoscaler's alone.
    fn selector_state(&self, namespace: &Name, scale: &Scale, pods: &[Rc<Pod>]) -> SelectorState {
        if scale.selector.requirements.is_empty() {
            return SelectorState::Invalid;
        }
        let selects = |selector: &Selector| pods.iter().any(|pod| selector.matches(&pod.meta.labels));
        let others = self.selectors.iter().filter(|(key, selector)| key.namespace == *namespace && selects(selector));
        if others.count() > 1 { SelectorState::Ambiguous } else { SelectorState::Usable }
    }

    /// The outcome of the write is known, or there was none to make.
    fn settle(&mut self, mut syncing: Syncing, error: Option<ApiError>, ctx: &mut Context<'_>) -> Step<State> {
        let text = error.as_ref().map(ToString::to_string);
        let key = Object::HorizontalPodAutoscaler(Rc::clone(&syncing.autoscaler)).key();
        let autoscaler = Rc::clone(&syncing.autoscaler);
        let known = known(&autoscaler, &syncing.scale, &self.settings, ctx);
        syncing.sync.settle(&known, self.histories.entry(key).or_default(), text.as_deref());
        syncing.report(ctx);
        let failure = match text {
            Some(text) => Some(format!("failed to rescale: {text}")),
            None if syncing.sync.has_failed => Some("metrics could not be read".to_string()),
            None => None,
        };
        write_status(autoscaler, syncing.sync.status, failure)
    }
}

impl Syncing {
    /// Events that were decided since the last time.
    fn report(&mut self, ctx: &mut Context<'_>) {
        for event in &self.sync.events[self.reported..] {
            emit(&self.autoscaler, event, ctx);
        }
        self.reported = self.sync.events.len();
    }

    fn write(mut self) -> Step<State> {
        self.writes += 1;
        let (key, resource_version) = (self.scale.key.clone(), self.scale.version);
        let replicas = self.sync.write.expect("only a sync that changes replicas writes");
        Step::Call {
            requests: vec![Request::Scale { key, replicas, resource_version }],
            state: State::Writing(Box::new(self)),
        }
    }
}

/// What a sync knows without pods and metrics, which it looks at once.
fn known<'a>(
    autoscaler: &'a HorizontalPodAutoscaler,
    scale: &Scale,
    settings: &'a Settings,
    ctx: &Context<'_>,
) -> Known<'a> {
    Known {
        spec: &autoscaler.spec,
        status: &autoscaler.status,
        replicas: scale.replicas,
        status_replicas: scale.status_replicas,
        pods: &[],
        selector: SelectorState::Usable,
        metrics: &NothingPublished,
        settings,
        now: ctx.now,
    }
}

fn emit(autoscaler: &Rc<HorizontalPodAutoscaler>, event: &HpaEvent, ctx: &mut Context<'_>) {
    let kind = if event.is_warning { EventType::Warning } else { EventType::Normal };
    let about = Object::HorizontalPodAutoscaler(Rc::clone(autoscaler));
    ctx.out.event(&about, kind, event.reason, event.message.clone());
}

/// Writes the status if it has changed, and ends.
fn write_status(
    autoscaler: Rc<HorizontalPodAutoscaler>,
    status: HorizontalPodAutoscalerStatus,
    error: Option<String>,
) -> Step<State> {
    if status == autoscaler.status {
        return Step::Finish(ended(error));
    }
    let changed = HorizontalPodAutoscaler { status, ..(*autoscaler).clone() };
    let requests = vec![Request::UpdateStatus(changed.into())];
    Step::Call { requests, state: State::Reporting { autoscaler, error } }
}

/// Well or in vain, the key comes again after one sync period.
fn ended(error: Option<String>) -> Outcome {
    error.map_or(Outcome::Requeue, Outcome::error)
}

/// The pods of a selector, in order of name.
fn selected(informers: &Informers, namespace: &Name, selector: &Selector) -> Vec<Rc<Pod>> {
    let pods = informers.list_namespace(Kind::Pod, namespace);
    let pods = pods.into_iter().filter_map(Object::as_pod);
    pods.filter(|pod| selector.matches(&pod.meta.labels)).cloned().collect()
}

/// The object that is scaled, if it is of a kind that can be.
fn target_key(namespace: &Name, target: &ScaleTarget) -> Option<Key> {
    let kind = Kind::from_manifest(target.api_version.as_str(), target.kind.as_str())?;
    matches!(kind, Kind::Deployment | Kind::ReplicaSet).then(|| Key::new(kind, namespace.clone(), target.name.clone()))
}

fn scale_of(object: &Object) -> Option<Scale> {
    let (replicas, status_replicas, selector) = match object {
        Object::Deployment(deployment) => {
            (deployment.spec.replicas, deployment.status.replicas, Rc::clone(&deployment.spec.selector))
        }
        Object::ReplicaSet(set) => (set.spec.replicas, set.status.replicas, Rc::clone(&set.spec.selector)),
        _ => return None,
    };
    let version = object.meta().resource_version;
    Some(Scale { key: object.key(), version, replicas, status_replicas, selector })
}

/// The scale in a reply.
fn read(reply: Option<ApiResult>) -> Result<Scale, ApiError> {
    let object = match reply {
        Some(Ok(Answer::Object(object))) => scale_of(&object),
        Some(Err(error)) => return Err(error),
        _ => None,
    };
    object.ok_or_else(|| ApiError::new(Reason::NotFound, "the object has no scale"))
}

/// The scale cannot be read: the status says so.
fn without_scale(autoscaler: Rc<HorizontalPodAutoscaler>, error: &str, ctx: &mut Context<'_>) -> Step<State> {
    let event = HpaEvent { is_warning: true, reason: "FailedGetScale", message: error.to_string() };
    emit(&autoscaler, &event, ctx);
    let status = scale_not_read(&autoscaler.status, error, ctx.now);
    write_status(autoscaler, status, Some(format!("failed to query scale subresource: {error}")))
}

impl Reconciler for HorizontalController {
    type State = State;

    fn name(&self) -> &'static str {
        "horizontalpodautoscaler"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec::all(Kind::HorizontalPodAutoscaler), WatchSpec::all(Kind::Pod)]
    }

    fn observe(&mut self, delta: &Delta, _: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        let object = delta.change.object();
        if object.kind() != Kind::HorizontalPodAutoscaler {
            return;
        }
        let key = object.key();
        if let Change::Deleted { .. } = delta.change {
            // The queue forgets nothing: the key that waits will find no autoscaler.
            self.forget(&key);
            return;
        }
        keys.push(Enqueue::Now(key));
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        let found = ctx.informers.get(key).and_then(Object::as_autoscaler);
        let Some(autoscaler) = found.map(Rc::clone) else {
            self.forget(key);
            return Step::Finish(Outcome::DONE);
        };
        let target = &autoscaler.spec.target;
        match target_key(&key.namespace, target) {
            Some(key) => Step::Call { requests: vec![Request::Get(key)], state: State::Reading { autoscaler } },
            None => {
                let (group, _) = target.api_version.as_str().rsplit_once('/').unwrap_or_default();
                let error = format!("no matches for kind \"{}\" in group \"{group}\"", target.kind);
                without_scale(autoscaler, &error, ctx)
            }
        }
    }

    fn resume(&mut self, _: &Key, state: State, replies: Vec<ApiResult>, ctx: &mut Context<'_>) -> Step<State> {
        let reply = replies.into_iter().next();
        match state {
            State::Reading { autoscaler } => match read(reply) {
                Ok(scale) => self.decide(autoscaler, scale, ctx),
                Err(error) => without_scale(autoscaler, &error.to_string(), ctx),
            },
            State::Writing(syncing) => match reply {
                Some(Err(error)) if error.reason == Reason::Conflict && syncing.writes < WRITES => {
                    let requests = vec![Request::Get(syncing.scale.key.clone())];
                    Step::Call { requests, state: State::Rereading(syncing) }
                }
                Some(Err(error)) => self.settle(*syncing, Some(error), ctx),
                _ => self.settle(*syncing, None, ctx),
            },
            State::Rereading(mut syncing) => match read(reply) {
                Ok(scale) => {
                    // Only the version is new: the number was decided from what was seen before.
                    syncing.scale.version = scale.version;
                    Step::Wait { span: WRITE_PAUSE, state: State::Pausing(syncing) }
                }
                Err(error) => self.settle(*syncing, Some(error), ctx),
            },
            State::Pausing(syncing) => syncing.write(),
            State::Reporting { autoscaler, error } => match reply {
                Some(Err(failure)) => {
                    let message = failure.to_string();
                    let event = HpaEvent { is_warning: true, reason: "FailedUpdateStatus", message };
                    emit(&autoscaler, &event, ctx);
                    Step::Finish(Outcome::error(format!("failed to update status: {failure}")))
                }
                _ => Step::Finish(ended(error)),
            },
        }
    }
}

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
