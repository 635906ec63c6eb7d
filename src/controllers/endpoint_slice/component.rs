//! Glue: changes of Services, pods and slices queue Services; a sync sends its writes one after the other.

use std::collections::VecDeque;
use std::rc::Rc;

use super::decide::{self, CONTROLLER, Changes, MANAGED_BY};
use super::tracker::{Tracker, service_key};
use super::trigger_times::{TriggerTimes, annotated};
use super::{endpoints, tracker};
use crate::client::queue_settings::{LimiterSettings, QueueSettings};
use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, HandlerResync, Informers, WatchSpec};
use crate::model::api::Reason;
use crate::model::{
    Answer, ApiError, ApiResult, Distribution, EndpointSlice, EventType, Key, Kind, Meta, Name, Object, Pod,
    Preconditions, Request, Service, Span, Time,
};

/// How often a Service is tried again.
const MAX_RETRIES: u32 = 15;
/// Least time from a change of slices to a sync: changes of several are looked at together.
const SLICE_CHANGE_DELAY: Span = Span::from_seconds(1);
/// Back-off after a failed sync.
const BACKOFF: Span = Span::from_seconds(1);
const MAX_BACKOFF: Span = Span::from_seconds(1000);

/// Flags of the controller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// `--max-endpoints-per-slice`.
    pub max_endpoints: usize,
    /// `--endpoint-updates-batch-period`: a sync waits this long after a change of a pod.
    pub batch_period: Span,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { max_endpoints: decide::MAX_ENDPOINTS_PER_SLICE, batch_period: Span::ZERO }
    }
}

/// The queue of the controller: as others of kube-controller-manager, but failures wait a second and more.
pub fn queue_settings(workers: u32, reconcile_time: Distribution) -> QueueSettings {
    let item = LimiterSettings::ItemExponential { base: BACKOFF, max: MAX_BACKOFF };
    let bucket = LimiterSettings::Bucket { qps: 10.0, burst: 100 };
    QueueSettings {
        limiter: LimiterSettings::MaxOf(vec![item, bucket]),
        ..QueueSettings::in_tree(workers, reconcile_time)
    }
}

/// The EndpointSlice controller.
#[derive(Clone, Debug)]
pub struct EndpointSliceController {
    settings: Settings,
    tracker: Tracker,
    trigger_times: TriggerTimes,
}

/// A write, and which of the families of addresses it is for.
#[derive(Clone, Debug)]
struct Write {
    family: usize,
    /// A failure ends the writes of the family.
    is_chained: bool,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Create(EndpointSlice),
    Update(EndpointSlice),
    Delete(Rc<EndpointSlice>),
}

/// What a sync still has to do.
#[derive(Clone, Debug)]
pub struct State {
    service: Rc<Service>,
    /// The first is under way.
    writes: VecDeque<Write>,
    errors: Vec<String>,
}

impl EndpointSliceController {
    /// A controller without memory.
    pub fn new(settings: Settings) -> EndpointSliceController {
        EndpointSliceController { settings, tracker: Tracker::default(), trigger_times: TriggerTimes::default() }
    }

    fn pod_changed(&self, old: &Pod, new: &Pod, informers: &Informers, keys: &mut Vec<Enqueue>) {
        let services = informers.list_namespace(Kind::Service, &new.meta.namespace);
        let services = services.into_iter().filter_map(Object::as_service);
        for service in endpoints::concerned(services, old, new) {
            let key = key_of(Kind::Service, &service.meta);
            keys.push(match self.settings.batch_period > Span::ZERO {
                true => Enqueue::After(key, self.settings.batch_period),
                false => Enqueue::Now(key),
            });
        }
    }

    fn slice_changed(&mut self, change: &Change, keys: &mut Vec<Enqueue>) {
        let delay = SLICE_CHANGE_DELAY.max(self.settings.batch_period);
        let mut queue = |slice: &Meta| keys.extend(service_key(slice).map(|key| Enqueue::After(key, delay)));
        match change {
            Change::Added(slice) => {
                if is_ours(slice.meta()) && self.tracker.is_news(slice.meta()) {
                    queue(slice.meta());
                }
            }
            Change::Updated { old, new } => {
                let (old, new) = (old.meta(), new.meta());
                if service_key(old) != service_key(new) {
                    queue(new);
                    queue(old);
                } else if is_ours(old) != is_ours(new) || (is_ours(new) && self.tracker.is_news(new)) {
                    queue(new);
                }
            }
            Change::Deleted { last, .. } => {
                if is_ours(last.meta()) && self.tracker.is_loss(last.meta()) {
                    queue(last.meta());
                }
            }
        }
    }

    /// The next write, or the end.
    fn go_on(state: State, ctx: &mut Context<'_>) -> Step<State> {
        let request = match state.writes.front().map(|write| &write.what) {
            Some(What::Create(slice)) => Request::Create(slice.clone().into()),
            Some(What::Update(slice)) => Request::Update(slice.clone().into()),
            Some(What::Delete(slice)) => Request::Delete {
                key: key_of(Kind::EndpointSlice, &slice.meta),
                grace_seconds: None,
                preconditions: Preconditions::default(),
            },
            None => return finish(&state, ctx),
        };
        Step::Call { requests: vec![request], state }
    }

    /// Notes what the first write of `state` brought; a failure ends those of its family.
    fn answered(&mut self, state: &mut State, result: ApiResult) {
        let Write { family, is_chained, what } = state.writes.pop_front().expect("the write that was sent is there");
        let (meta, of) = (&state.service.meta, |slice: &EndpointSlice| slice.meta.name.clone());
        let whose = format!("Service {}/{}", meta.namespace, meta.name);
        let failure = match (what, result) {
            (What::Create(_) | What::Update(_), Ok(Answer::Object(written))) => {
                self.tracker.wrote(written.meta());
                return;
            }
            (What::Delete(slice), Ok(_)) => {
                self.tracker.deleted(&slice.meta);
                return;
            }
            (What::Create(_) | What::Update(_), Ok(other)) => unreachable!("a write was answered with {other:?}"),
            (What::Delete(_), Err(error)) if error.reason == Reason::NotFound => return,
            // Creates go on failing while the namespace goes away: no failure of this Service.
            (What::Create(_), Err(ApiError { reason: Reason::NamespaceTerminating, .. })) => None,
            (What::Create(_), Err(error)) => Some(format!("failed to create EndpointSlice for {whose}: {error}")),
            (What::Update(slice), Err(error)) => {
                Some(format!("failed to update {} EndpointSlice for {whose}: {error}", of(&slice)))
            }
            (What::Delete(slice), Err(error)) if is_chained => {
                Some(format!("failed to delete {} EndpointSlice for {whose}: {error}", of(&slice)))
            }
            (What::Delete(slice), Err(error)) => {
                Some(format!("error deleting {} EndpointSlice for {whose}: {error}", of(&slice)))
            }
        };
        state.errors.extend(failure);
        if is_chained {
            state.writes.retain(|write| write.family != family);
        }
    }
}

impl Reconciler for EndpointSliceController {
    type State = State;

    fn name(&self) -> &'static str {
        "endpoint_slice"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let nodes = WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(Kind::Node) };
        let kinds = [Kind::Service, Kind::Pod, Kind::EndpointSlice];
        kinds.into_iter().map(WatchSpec::all).chain([nodes]).collect()
    }

    fn observe(&mut self, delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        match (&delta.change, delta.change.object()) {
            (_, Object::Service(service)) => keys.push(Enqueue::Now(key_of(Kind::Service, &service.meta))),
            (Change::Updated { old, .. }, Object::Pod(new))
                if old.meta().resource_version == new.meta.resource_version => {}
            (Change::Updated { old: Object::Pod(old), .. }, Object::Pod(new)) => {
                self.pod_changed(old, new, ctx.informers, keys);
            }
            (_, Object::Pod(pod)) => self.pod_changed(pod, pod, ctx.informers, keys),
            (change, Object::EndpointSlice(_)) => self.slice_changed(change, keys),
            _ => {}
        }
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        let Some(service) = ctx.informers.get(key).and_then(Object::as_service).cloned() else {
            self.trigger_times.forget(key);
            self.tracker.forget(key);
            return Step::Finish(Outcome::DONE);
        };
        // Who writes such a Service takes care of its endpoints too.
        if service.is_external_name || service.selector.is_empty() {
            return Step::Finish(Outcome::DONE);
        }
        let (pods, slices) = (pods_of(&service, ctx.informers), slices_of(key, ctx.informers));
        if self.tracker.is_cache_stale(key, &service.meta.uid, &slices) {
            return Step::Finish(Outcome::error("EndpointSlice informer cache is out of date"));
        }
        let changed_at = self.trigger_times.changed_at(key, &service, &pods);
        let node = |name: &Name| ctx.informers.node(name).map(Rc::as_ref);
        let decision = decide::reconcile(self.settings.max_endpoints, &service, &pods, node, &slices);
        let writes = writes_of(decision.by_family, changed_at);
        Self::go_on(State { service, writes, errors: decision.skipped }, ctx)
    }

    fn resume(&mut self, _key: &Key, mut state: State, replies: Vec<ApiResult>, ctx: &mut Context<'_>) -> Step<State> {
        let result = replies.into_iter().next().expect("each step sends one request");
        self.answered(&mut state, result);
        Self::go_on(state, ctx)
    }

    fn max_retries(&self) -> Option<u32> {
        Some(MAX_RETRIES)
    }
}

/// The writes in the order in which they are sent. The last family is that of slices which the Service no longer needs.
fn writes_of(by_family: Vec<Changes>, changed_at: Option<Time>) -> VecDeque<Write> {
    let last = by_family.len().saturating_sub(1);
    let mut writes = VecDeque::new();
    for (family, changes) in by_family.into_iter().enumerate() {
        let mut push = |what: What| writes.push_back(Write { family, is_chained: family < last, what });
        let dated = |mut slice: EndpointSlice| {
            slice.meta.annotations = annotated(&slice.meta.annotations, changed_at);
            slice
        };
        changes.create.into_iter().for_each(|slice| push(What::Create(dated(slice))));
        changes.update.into_iter().for_each(|slice| push(What::Update(dated(slice))));
        changes.delete.into_iter().for_each(|slice| push(What::Delete(slice)));
    }
    writes
}

/// The end of a sync: well, or with everything that went wrong, each thing once.
fn finish(state: &State, ctx: &mut Context<'_>) -> Step<State> {
    let mut errors: Vec<&str> = Vec::new();
    for error in &state.errors {
        if !errors.contains(&error.as_str()) {
            errors.push(error);
        }
    }
    let message = match errors.as_slice() {
        [] => return Step::Finish(Outcome::DONE),
        [only] => (*only).to_string(),
        several => format!("[{}]", several.join(", ")),
    };
    let meta = &state.service.meta;
    let text = format!("Error updating Endpoint Slices for Service {}/{}: {message}", meta.namespace, meta.name);
    let service = Object::Service(state.service.clone());
    ctx.out.event(&service, EventType::Warning, "FailedToUpdateEndpointSlices", text);
    Step::Finish(Outcome::error(message))
}

fn is_ours(slice: &Meta) -> bool {
    slice.labels.get_str(MANAGED_BY).is_some_and(|manager| manager.as_str() == CONTROLLER)
}

fn pods_of(service: &Service, informers: &Informers) -> Vec<Rc<Pod>> {
    let pods = informers.list_namespace(Kind::Pod, &service.meta.namespace);
    let pods = pods.into_iter().filter_map(Object::as_pod);
    pods.filter(|pod| endpoints::selects(service, &pod.meta.labels)).cloned().collect()
}

/// The slices that this controller keeps for a Service; those that are being deleted count no more.
fn slices_of(service: &Key, informers: &Informers) -> Vec<Rc<EndpointSlice>> {
    let slices = informers.list_namespace(Kind::EndpointSlice, &service.namespace);
    let slices = slices.into_iter().filter_map(Object::as_endpoint_slice);
    let is_kept = |slice: &&Rc<EndpointSlice>| {
        is_ours(&slice.meta) && tracker::service_key(&slice.meta).as_ref() == Some(service) && !slice.meta.is_deleting()
    };
    slices.filter(is_kept).cloned().collect()
}

fn key_of(kind: Kind, meta: &Meta) -> Key {
    Key { kind, namespace: meta.namespace.clone(), name: meta.name.clone() }
}
