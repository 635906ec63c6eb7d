//! The scheduler over time: informer events keep cache and queue, one scheduling cycle runs at a time, bindings are sent
//! without waiting for their answers.
//!
//! A cycle reads the cache when it begins and acts when it ends; in between lies its computing time.
//!
//! Upstream: pkg/scheduler/{scheduler,schedule_one,eventhandlers}.go, v1.36.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::cache::{Cache, Counted, OwnerKey};
use super::explain;
use super::framework::{ClusterEvent, PodInfo, Profile, Profiles, Refusal, Version, names};
use super::memo::Memo;
use super::queue::queue::key_of;
use super::queue::{BackoffSettings, Failure, Place, QueuedPodInfo, SchedulingQueue};
use super::schedule_one::{Search, nodes_are_available, schedule_pod, schedule_pod_remembering};
use super::status_patch::{STATUS_PATCH_WAIT, StatusPatch};
use super::ties::{Ties, break_tie};
use super::waiting_pods::{Binding, WaitingPods};
use crate::component::{
    Change, Component, Context, Delta, HandlerResync, Input, MetricSink, Purpose, WatchSpec, draw_span,
};
use crate::engine::calendar::Nature;
use crate::engine::sampling::uniform_unit;
use crate::model::api::{Field, FieldRequirement, ObjectSelector};
use crate::model::record::Detail;
use crate::model::scheduling::{SchedulingNote, Waiting};
use crate::model::{
    Action, ApiResult, Cause, Condition, ConditionStatus, Distribution, EventType, Key, Kind, Meta, Name, Node, Object,
    Patch, Pod, ReplicaSet, Request, Selector, Span, Time, find_condition,
};

/// Timer: the cycle's computing is done.
const CYCLE: u64 = 1;
/// Timer: a back-off is over.
const BACKOFF: u64 = 2;
/// Timer: pods have waited in the pool for too long.
const LEFTOVER: u64 = 3;
/// Tokens of bindings and status patches, which are timers too, begin here.
const FIRST_TOKEN: u64 = LEFTOVER + 1;
/// An Event's note may have this many bytes.
const NOTE_LIMIT_BYTES: usize = 1024;

/// Computing time of a cycle, drawn a pod and attempt.
const CYCLE_TIME: Purpose = Purpose("scheduling-cycle");

/// Settings.
#[derive(Clone, Debug)]
pub struct SchedulerSettings {
    /// Fixed part of a scheduling cycle.
    pub cycle: Distribution,
    /// More for each node looked at.
    pub per_node: Span,
    /// `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: u32,
    /// Back-off of pods that were tried in vain.
    pub backoff: BackoffSettings,
    /// Whether a pod takes room on its node before it is seen bound.
    pub assume: bool,
    /// Which of several nodes with the highest total is taken.
    pub ties: Ties,
    /// Whose rules hold where versions differ.
    pub version: Version,
    /// The pod that is to be explained.
    pub explain: Option<Key>,
}

/// kube-scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    settings: SchedulerSettings,
    profiles: Profiles,
    cache: Cache,
    queue: SchedulingQueue,
    search: Search,
    /// What is remembered of nodes, a profile.
    memos: Vec<Memo>,
    /// When scheduling began; the grid of the leftover flush.
    started: Option<Time>,
    cycle: Option<Cycle>,
    /// Status patches of failed attempts that are under way.
    reports: BTreeMap<u64, StatusPatch>,
    waiting: WaitingPods,
    /// Pods in PreBind, and bindings that are under way.
    bindings: BTreeMap<u64, Binding>,
    next_token: u64,
    backoff_at: Option<Time>,
    leftover_at: Option<Time>,
    /// Sums of attempts by result, a profile.
    attempts: Vec<[AttemptSums; 3]>,
    /// Where the pod that is to be explained was last said to be.
    told: Waiting,
}

/// The cycle under way.
#[derive(Clone, Debug)]
struct Cycle {
    queued: QueuedPodInfo,
    outcome: Result<Name, (String, Vec<&'static str>)>,
    cause: Cause,
    began: Time,
}

/// Attempts with one result.
#[derive(Clone, Copy, Debug, Default)]
struct AttemptSums {
    count: u64,
    duration: Span,
}

/// Labels of attempts by result.
const RESULTS: [&str; 3] = ["scheduled", "unschedulable", "error"];
const SCHEDULED: usize = 0;
const UNSCHEDULABLE: usize = 1;
const ERROR: usize = 2;

impl Scheduler {
    /// A scheduler with the default profile.
    pub fn new(settings: SchedulerSettings) -> Scheduler {
        let profile = Rc::new(Profile::default_profile(settings.version));
        Scheduler::with_profiles(settings, profile.into())
    }

    /// A scheduler with these profiles.
    pub fn with_profiles(settings: SchedulerSettings, profiles: Profiles) -> Scheduler {
        let search =
            Search { next_start_node_index: 0, percentage_of_nodes_to_score: settings.percentage_of_nodes_to_score };
        Scheduler {
            queue: SchedulingQueue::new(profiles.clone(), settings.backoff),
            attempts: vec![Default::default(); profiles.iter().count()],
            memos: vec![Memo::default(); profiles.iter().count()],
            profiles,
            settings,
            cache: Cache::new(),
            search,
            started: None,
            cycle: None,
            reports: BTreeMap::new(),
            waiting: WaitingPods::default(),
            bindings: BTreeMap::new(),
            next_token: FIRST_TOKEN,
            backoff_at: None,
            leftover_at: None,
            told: Waiting::Nothing,
        }
    }

    fn on_delta(&mut self, delta: Delta, ctx: &mut Context<'_>) {
        match delta.change {
            Change::Added(Object::Node(node)) => self.node_added(&node, ctx),
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => {
                self.cache.set_node(&new);
                if let Some(event) = ClusterEvent::of_node_update(&old, &new) {
                    self.cluster_event(event, ctx);
                }
            }
            Change::Deleted { last: Object::Node(last), .. } => {
                self.cache.remove_node(&last.meta.name);
                self.cluster_event(ClusterEvent::NodeDeleted(last), ctx);
            }
            Change::Added(Object::ReplicaSet(set)) | Change::Updated { new: Object::ReplicaSet(set), .. } => {
                self.cache.selectors.set_owner(owner_key(&set), set.spec.selector.clone());
            }
            Change::Deleted { last: Object::ReplicaSet(last), .. } => {
                self.cache.selectors.remove_owner(&owner_key(&last));
            }
            Change::Added(Object::Service(service)) | Change::Updated { new: Object::Service(service), .. } => {
                let Meta { namespace, name, .. } = service.meta.clone();
                self.cache.selectors.set_service(namespace, name, service.selector.clone());
            }
            Change::Deleted { last: Object::Service(last), .. } => {
                self.cache.selectors.remove_service(&last.meta.namespace, &last.meta.name);
            }
            Change::Added(Object::Namespace(new)) | Change::Updated { new: Object::Namespace(new), .. } => {
                self.cache.selectors.set_namespace(new.meta.name.clone(), new.meta.labels.clone());
            }
            Change::Deleted { last: Object::Namespace(last), .. } => {
                self.cache.selectors.remove_namespace(&last.meta.name);
            }
            Change::Added(Object::Pod(pod)) => self.pod_added(&pod, ctx),
            Change::Updated { old: Object::Pod(old), new: Object::Pod(new) } => {
                if old.meta.uid != new.meta.uid {
                    self.pod_deleted(&old, ctx);
                    self.pod_added(&new, ctx);
                } else {
                    self.pod_updated(&old, &new, ctx);
                }
            }
            Change::Deleted { last: Object::Pod(last), .. } => self.pod_deleted(&last, ctx),
            _ => {}
        }
    }

    fn node_added(&mut self, node: &Rc<Node>, ctx: &mut Context<'_>) {
        self.cache.set_node(node);
        self.cluster_event(ClusterEvent::NodeAdded(node.clone()), ctx);
    }

    /// Something happened that may help pods which wait for it.
    fn cluster_event(&mut self, event: ClusterEvent, ctx: &mut Context<'_>) {
        let words = self.explained_waits().then(|| explain::describe(&event));
        self.queue.move_on_event(event, ctx.out.cause(), ctx.now);
        self.tell_woken(words, ctx);
    }

    /// Whether the pod that is to be explained waits for an event.
    fn explained_waits(&self) -> bool {
        let found = self.settings.explain.as_ref().and_then(|key| self.queue.find(key));
        found.is_some_and(|(place, queued)| place == Place::Unschedulable && !queued.gated)
    }

    /// Tells what woke the pod that is to be explained, if it no longer waits for an event.
    fn tell_woken(&self, words: Option<String>, ctx: &mut Context<'_>) {
        if let Some(by) = words.filter(|_| !self.explained_waits()) {
            ctx.out.explain(SchedulingNote::Woken { by });
        }
    }

    /// Tells where the pod that is to be explained is now, if that changed.
    fn tell_place(&mut self, ctx: &mut Context<'_>) {
        let Some(key) = &self.settings.explain else { return };
        let waiting = self.queue.waiting(key, self.started.unwrap_or(ctx.now), ctx.now);
        if waiting != self.told {
            self.told = waiting.clone();
            ctx.out.explain(SchedulingNote::Waits(waiting));
        }
    }

    fn tell(&self, key: &Key, note: impl FnOnce() -> SchedulingNote, ctx: &mut Context<'_>) {
        if self.settings.explain.as_ref() == Some(key) {
            ctx.out.explain(note());
        }
    }

    fn is_responsible_for(&self, pod: &Pod) -> bool {
        self.profiles.find(pod).is_some()
    }

    fn pod_added(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !pod.node_name.is_empty() {
            self.cache.add_pod(pod);
            self.cluster_event(ClusterEvent::AssignedPodAdded(pod.clone()), ctx);
        } else if self.is_responsible_for(pod) && !self.cache.is_assumed(&pod.meta.uid) {
            record_gates(&[], pod, ctx);
            self.queue.add(pod, ctx.out.cause(), ctx.now);
        }
    }

    fn pod_updated(&mut self, old: &Rc<Pod>, new: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !old.node_name.is_empty() {
            self.cache.update_pod(new);
            for event in ClusterEvent::of_assigned_pod_update(old, new) {
                self.cluster_event(event, ctx);
            }
        } else if !new.node_name.is_empty() {
            self.queue.delete(&key_of(new));
            self.pod_added(new, ctx);
        } else if self.is_responsible_for(new)
            && old.meta.resource_version != new.meta.resource_version
            && !self.cache.is_assumed(&new.meta.uid)
        {
            record_gates(&old.spec.scheduling_gates, new, ctx);
            let words = self.explained_waits().then(|| "the pod itself changed".to_string());
            self.queue.update(old, new, ctx.out.cause(), ctx.now);
            self.tell_woken(words, ctx);
            if old.status.nominated_node_name != new.status.nominated_node_name {
                self.nomination_ended(old, ctx);
            }
        }
    }

    /// A pending pod is no longer nominated where it was. Those that had left it its room, because they are no more
    /// important, are asked as if a bound pod were gone.
    ///
    /// Upstream: eventhandlers.go, `getLEPriorityPreCheck`.
    fn nomination_ended(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        if last.status.nominated_node_name.is_empty() {
            return;
        }
        let event = ClusterEvent::AssignedPodDeleted(last.clone());
        let words = self.explained_waits().then(|| explain::describe(&event));
        let priority = last.spec.priority;
        self.queue.move_some_on_event(event, ctx.out.cause(), ctx.now, |pod| pod.spec.priority <= priority);
        self.tell_woken(words, ctx);
    }

    fn pod_deleted(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        self.queue.delete(&key_of(last));
        if let Some((token, Binding { queued, node, .. })) = self.waiting.remove(&last.meta.uid) {
            ctx.out.clear_timer(token);
            self.profiles.of(last).unreserve(&queued.info, &node);
            self.queue.done(queued.uid());
        }
        let was_assumed = self.cache.is_assumed(&last.meta.uid);
        if was_assumed {
            self.record_forget(last, "deleted", ctx);
        }
        if self.cache.remove_pod(&last.meta.uid).is_some() {
            self.cluster_event(ClusterEvent::AssignedPodDeleted(last.clone()), ctx);
        } else if last.node_name.is_empty() && self.is_responsible_for(last) {
            self.queue.end_nomination(&last.meta.uid);
            self.nomination_ended(last, ctx);
        }
    }

    fn record_forget(&self, pod: &Pod, why: &'static str, ctx: &mut Context<'_>) {
        if self.settings.assume {
            ctx.out.record(Action::Forget, Some(key_of(pod)), why);
        }
    }

    /// Begins the next cycle, if none runs and a pod can be tried.
    fn begin_cycle(&mut self, ctx: &mut Context<'_>) {
        if self.started.is_none() {
            return;
        }
        while !self.is_busy() {
            let Some(queued) = self.queue.pop(ctx.now) else { return };
            ctx.out.set_cause(queued.cause);
            if self.skips(&queued, ctx) {
                self.tell(&queued.key(), || SchedulingNote::Skipped, ctx);
                self.queue.done(queued.uid());
                continue;
            }
            let key = queued.key();
            let occurrence = u64::from(queued.attempts);
            let cause =
                ctx.out.record(Action::Schedule, Some(key.clone()), Detail::Number("attempt", occurrence as i64));
            ctx.out.set_cause(cause);
            let snapshot = self.cache.snapshot();
            let (index, profile) = self.profiles.find(&queued.info.pod).expect("it was queued");
            self.search.percentage_of_nodes_to_score =
                profile.percentage_of_nodes_to_score.unwrap_or(self.settings.percentage_of_nodes_to_score);
            let (info, nominator, is_explained) =
                (&queued.info, self.queue.nominator(), self.settings.explain.as_ref() == Some(&key));
            // Only the plain way tells all scores and why other nodes are not feasible.
            let (search, memo) = (&mut self.search, &mut self.memos[index]);
            let mut result = match is_explained {
                true => schedule_pod(profile, info, &snapshot, nominator, search),
                false => schedule_pod_remembering(profile, info, &snapshot, nominator, search, memo),
            };
            if let (Ok(result), Ties::Drawn) = (&mut result, self.settings.ties) {
                break_tie(result, &snapshot, ctx.draws, key.stable_hash(), occurrence);
            }
            if is_explained {
                let attempt = explain::attempt(queued.attempts, cause, &queued.info, &snapshot, &result);
                ctx.out.explain(SchedulingNote::Attempt(Box::new(attempt)));
            }
            let (outcome, evaluated) = match result {
                Ok(result) => (Ok(result.node), result.evaluated),
                Err(error) => {
                    let rejected = (error.message().to_string(), error.unschedulable_plugins().to_vec());
                    (Err(rejected), error.evaluated())
                }
            };
            let entity = key.stable_hash();
            let fixed = draw_span(ctx.draws, &self.settings.cycle, CYCLE_TIME, entity, occurrence);
            let span = fixed + Span(self.settings.per_node.0.saturating_mul(evaluated as i64));
            ctx.out.set_timer(CYCLE, ctx.now + span, Nature::Work);
            self.cycle = Some(Cycle { queued, outcome, cause, began: ctx.now });
        }
    }

    /// Whether the one loop that schedules is taken: it computes, or a failed cycle waits until its pod's status is written.
    fn is_busy(&self) -> bool {
        self.cycle.is_some() || self.reports.values().any(|report| report.holds_loop)
    }

    /// Whether a popped pod needs no attempt: it is being deleted, or has a node already.
    fn skips(&self, queued: &QueuedPodInfo, ctx: &mut Context<'_>) -> bool {
        let pod = &queued.info.pod;
        if pod.meta.is_deleting() {
            let message = format!("skip schedule deleting pod: {}/{}", pod.meta.namespace, pod.meta.name);
            ctx.out.event(&Object::Pod(pod.clone()), EventType::Warning, "FailedScheduling", message);
            return true;
        }
        self.cache.is_assumed(&pod.meta.uid)
    }

    /// The cycle's time is over: act on what it decided.
    fn end_cycle(&mut self, ctx: &mut Context<'_>) {
        let Some(Cycle { queued, outcome, cause, began }) = self.cycle.take() else { return };
        ctx.out.set_cause(cause);
        match outcome {
            Err((message, plugins)) => {
                self.count(&queued, UNSCHEDULABLE, ctx.now - began);
                self.fail_cycle(queued, Failure::Rejected(plugins), message, ctx);
            }
            Ok(node) => self.assume_and_bind(queued, node, began, ctx),
        }
    }

    fn assume_and_bind(&mut self, queued: QueuedPodInfo, node: Name, began: Time, ctx: &mut Context<'_>) {
        let counted = if self.settings.assume { Counted::AtOnce } else { Counted::WhenSeenBound };
        let key = queued.key();
        if self.cache.assume(&queued.info, &node, counted).is_err() {
            let (uid, meta) = (queued.uid(), &queued.info.pod.meta);
            let message = format!("pod {uid}({}/{}) is in the cache, so can't be assumed", meta.namespace, meta.name);
            self.count(&queued, ERROR, ctx.now - began);
            return self.fail_cycle(queued, Failure::Error, message, ctx);
        }
        if self.settings.assume {
            let assumed = ctx.out.record(Action::Assume, Some(key.clone()), format!("on {node}"));
            ctx.out.set_cause(assumed);
        }
        let sent = if self.settings.assume { SchedulingNote::Assumed } else { SchedulingNote::Sent };
        self.tell(&key, || sent(node.clone()), ctx);
        self.queue.end_nomination(queued.uid());
        self.permit(Binding { queued, node, began }, ctx);
    }

    /// Reserve and Permit; they are the last of the cycle.
    fn permit(&mut self, binding: Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = &binding;
        let profile = self.profiles.of(&queued.info.pod).clone();
        let said =
            profile.reserve(&queued.info, node).and_then(|()| profile.permit(&queued.info, node, &self.waiting.list()));
        let permits = match said {
            Ok(permits) => permits,
            Err(refusal) => return self.give_back(binding, refusal, true, ctx),
        };
        let token = self.token();
        if permits.waits.is_empty() {
            self.pre_bind(token, binding, ctx);
        } else {
            let until = self.waiting.add(token, binding, &permits.waits, ctx.now);
            ctx.out.set_timer(token, until, Nature::Work);
        }
        for (plugin, uid) in permits.allowed {
            if let Some((token, binding)) = self.waiting.allow(plugin, &uid) {
                ctx.out.clear_timer(token);
                self.pre_bind(token, binding, ctx);
            }
        }
    }

    /// The pod has its permits: PreBind, then the binding.
    ///
    /// DIVERGES: upstream writes the node to `status.nominatedNodeName` before it waits in Permit or PreBind.
    fn pre_bind(&mut self, token: u64, binding: Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = &binding;
        self.queue.done(queued.uid());
        match self.profiles.of(&queued.info.pod).pre_bind(&queued.info, node) {
            Ok(Span::ZERO) => self.bind(token, &binding, ctx),
            Ok(span) => ctx.out.set_timer(token, ctx.now + span, Nature::Work),
            Err(refusal) => return self.give_back(binding, refusal, false, ctx),
        }
        self.bindings.insert(token, binding);
    }

    fn bind(&self, token: u64, binding: &Binding, ctx: &mut Context<'_>) {
        let Binding { queued, node, .. } = binding;
        ctx.out.request(Request::Bind { pod: queued.key(), uid: queued.uid().clone(), node: node.clone() }, token);
    }

    /// A plugin refuses a pod that has its node already: the pod gives back what it has, and is rejected.
    ///
    /// Upstream: schedule_one.go, `schedulingCycle`, `handleBindingCycleError`: the message counts one node.
    fn give_back(&mut self, binding: Binding, (plugin, status): Refusal, holds_loop: bool, ctx: &mut Context<'_>) {
        let Binding { queued, node, began } = binding;
        let pod = queued.info.pod.clone();
        self.profiles.of(&pod).unreserve(&queued.info, &node);
        if self.cache.is_assumed(&pod.meta.uid) {
            self.record_forget(&pod, "not permitted", ctx);
        }
        let was_assumed = self.cache.forget(&pod.meta.uid).is_some();
        self.count(&queued, UNSCHEDULABLE, ctx.now - began);
        let message = nodes_are_available(1, status.reasons.iter().map(|reason| (reason.as_ref(), 1)));
        if let Some(patch) = self.handle_failure(queued, Failure::Rejected(vec![plugin]), message, ctx) {
            self.send_report(StatusPatch::new(patch, holds_loop), ctx);
        }
        if was_assumed {
            let uid = pod.meta.uid.clone();
            let event = ClusterEvent::AssignedPodDeleted(pod);
            self.queue.move_some_on_event(event, ctx.out.cause(), ctx.now, |other| other.meta.uid != uid);
        }
    }

    fn token(&mut self) -> u64 {
        self.next_token += 1;
        self.next_token - 1
    }

    fn on_reply(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        if let Some(report) = self.reports.get_mut(&token) {
            let jitter = uniform_unit(ctx.draws.bits(STATUS_PATCH_WAIT, report.request.key().stable_hash(), token));
            match report.answered(&result, jitter) {
                Some(wait) => ctx.out.set_timer(token, ctx.now + wait, Nature::Work),
                None => drop(self.reports.remove(&token)),
            }
            return;
        }
        let Some(Binding { queued, node, began }) = self.bindings.remove(&token) else { return };
        let pod = queued.info.pod.clone();
        match result {
            Ok(_) => {
                self.count(&queued, SCHEDULED, ctx.now - began);
                self.profiles.of(&pod).post_bind(&queued.info, &node);
                self.tell(&queued.key(), || SchedulingNote::Bound(node.clone()), ctx);
                let message = format!("Successfully assigned {}/{} to {node}", pod.meta.namespace, pod.meta.name);
                ctx.out.event(&Object::Pod(pod), EventType::Normal, "Scheduled", message);
            }
            Err(error) => {
                self.count(&queued, ERROR, ctx.now - began);
                self.profiles.of(&pod).unreserve(&queued.info, &node);
                if self.cache.is_assumed(&pod.meta.uid) {
                    self.record_forget(&pod, "binding failed", ctx);
                }
                if self.cache.forget(&pod.meta.uid).is_some() {
                    self.cluster_event(ClusterEvent::AssignedPodDeleted(pod), ctx);
                }
                let message = format!("running Bind plugin \"{}\": {error}", names::DEFAULT_BINDER);
                // A binding has its own goroutine, so no cycle waits for this patch.
                if let Some(patch) = self.handle_failure(queued, Failure::Error, message, ctx) {
                    self.send_report(StatusPatch::new(patch, false), ctx);
                }
            }
        }
    }

    /// A cycle failed. The failure handler runs in the loop that schedules, and its patch is a plain call there: until
    /// the answer has come no other pod is tried.
    fn fail_cycle(&mut self, queued: QueuedPodInfo, failure: Failure, message: String, ctx: &mut Context<'_>) {
        if let Some(patch) = self.handle_failure(queued, failure, message, ctx) {
            self.send_report(StatusPatch::new(patch, true), ctx);
        }
    }

    fn send_report(&mut self, report: StatusPatch, ctx: &mut Context<'_>) {
        let token = self.token();
        ctx.out.request(report.request.clone(), token);
        self.reports.insert(token, report);
    }

    /// Puts the pod of a failed attempt back and tells the world; the patch of its status, if one is due, is left to send.
    ///
    /// Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure` (gate SchedulerAsyncAPICalls off), v1.36.
    fn handle_failure(
        &mut self,
        queued: QueuedPodInfo,
        failure: Failure,
        message: String,
        ctx: &mut Context<'_>,
    ) -> Option<Request> {
        let attempted = queued.info.clone();
        let uid = attempted.pod.meta.uid.clone();
        let reason = match failure {
            Failure::Rejected(_) => "Unschedulable",
            Failure::Error => "SchedulerError",
        };
        let decided = ctx.out.record(Action::Decide, Some(queued.key()), format!("{reason}: {message}"));
        ctx.out.set_cause(decided);
        self.tell(&queued.key(), || SchedulingNote::Failed { reason, message: message.clone() }, ctx);
        match ctx.informers.pod(&queued.key()).cloned() {
            // Deleted and created again under its name: 1.35 does not notice.
            Some(current) if current.meta.uid != uid && self.settings.version >= Version::V1_36 => {
                self.queue.done(&uid);
                return None;
            }
            Some(current) if current.node_name.is_empty() => {
                self.queue.add_unschedulable(queued, &current, failure, ctx.out.cause(), ctx.now);
            }
            // It is gone, or bound after all.
            _ => self.queue.done(&uid),
        }
        let (about, note) = (Object::Pod(attempted.pod.clone()), truncated_note(&message));
        ctx.out.event(&about, EventType::Warning, "FailedScheduling", note);
        patch_of_condition(&attempted, reason, message, ctx.now)
    }

    fn count(&mut self, queued: &QueuedPodInfo, result: usize, duration: Span) {
        let profile = self.profiles.find(&queued.info.pod).map_or(0, |(index, _)| index);
        let sums = &mut self.attempts[profile][result];
        sums.count += 1;
        sums.duration = sums.duration + duration;
    }

    /// Keeps the two timers at the next instant that matters.
    fn arm_timers(&mut self, ctx: &mut Context<'_>) {
        let Some(origin) = self.started else { return };
        // While the loop is busy its end looks at the queue anyway.
        let backoff = if self.is_busy() { None } else { self.queue.next_backoff_flush() };
        if backoff != self.backoff_at {
            match backoff {
                Some(at) => ctx.out.set_timer(BACKOFF, at, Nature::Backoff),
                None => ctx.out.clear_timer(BACKOFF),
            }
            self.backoff_at = backoff;
        }
        // A pod's time in the pool begins with each failure, so no pod that comes later is due earlier.
        if self.leftover_at.is_none() && self.queue.unschedulable_len() > 0 {
            self.leftover_at = self.queue.next_leftover_flush(origin, ctx.now);
            if let Some(at) = self.leftover_at {
                ctx.out.set_periodic_timer(LEFTOVER, at);
            }
        }
    }
}

fn owner_key(set: &ReplicaSet) -> OwnerKey {
    (Name::from(Kind::ReplicaSet.as_str()), set.meta.namespace.clone(), set.meta.name.clone())
}

/// Says once which gates a pod waits for, and again when they are others.
fn record_gates(before: &[Name], pod: &Pod, ctx: &mut Context<'_>) {
    let gates = &pod.spec.scheduling_gates;
    if gates.is_empty() || gates == before {
        return;
    }
    let names: Vec<&str> = gates.iter().map(Name::as_str).collect();
    let text = format!("waits for its scheduling gates: {}", names.join(", "));
    ctx.out.record(Action::Decide, Some(key_of(pod)), text);
}

/// The patch that writes PodScheduled=False, unless the pod says so in the same words.
fn patch_of_condition(attempted: &PodInfo, reason: &'static str, message: String, now: Time) -> Option<Request> {
    let pod = &attempted.pod;
    let message = Name::from(message);
    let old = find_condition(&pod.status.conditions, "PodScheduled");
    let old = old.filter(|old| old.status == ConditionStatus::False);
    let clears_nomination = reason == "Unschedulable" && !pod.status.nominated_node_name.is_empty();
    if old.is_some_and(|old| old.reason == reason && old.message == message) && !clears_nomination {
        return None;
    }
    let condition = Condition {
        condition_type: "PodScheduled".into(),
        status: ConditionStatus::False,
        reason: reason.into(),
        message,
        last_transition: old.map_or(now.truncated_to_seconds(), |old| old.last_transition),
        last_update: None,
    };
    let nominated_node_name = clears_nomination.then_some(Name::EMPTY);
    let patch = Patch::PodCondition { condition, nominated_node_name };
    Some(Request::Patch { key: key_of(pod), patch })
}

/// The text as an Event's note: at most 1024 bytes, the last four ` ...` when it was longer.
fn truncated_note(message: &str) -> String {
    if message.len() <= NOTE_LIMIT_BYTES {
        return message.to_string();
    }
    let suffix = " ...";
    let mut end = NOTE_LIMIT_BYTES - suffix.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &message[..end])
}

impl Component for Scheduler {
    fn name(&self) -> &'static str {
        "scheduler"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let phase_is_not =
            |phase: &str| FieldRequirement { field: Field::StatusPhase, value: phase.into(), negated: true };
        let pods = ObjectSelector {
            labels: Selector::default(),
            fields: vec![phase_is_not("Succeeded"), phase_is_not("Failed")],
        };
        vec![
            WatchSpec { kind: Kind::Pod, selector: pods, resync: HandlerResync::Never },
            WatchSpec { kind: Kind::Node, selector: ObjectSelector::everything(), resync: HandlerResync::Never },
            WatchSpec { kind: Kind::ReplicaSet, selector: ObjectSelector::everything(), resync: HandlerResync::Never },
            WatchSpec { kind: Kind::Service, selector: ObjectSelector::everything(), resync: HandlerResync::Never },
            WatchSpec { kind: Kind::Namespace, selector: ObjectSelector::everything(), resync: HandlerResync::Never },
        ]
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        let cause = ctx.out.cause();
        match input {
            Input::Start => self.started = Some(ctx.now),
            Input::Delta(delta) => self.on_delta(delta, ctx),
            Input::Reply { token, result } => self.on_reply(token, result, ctx),
            Input::Timer { token: CYCLE } => self.end_cycle(ctx),
            Input::Timer { token: BACKOFF } => self.backoff_at = None,
            Input::Timer { token: LEFTOVER } => {
                self.leftover_at = None;
                let words = self.explained_waits().then(|| "it had waited for more than five minutes".to_string());
                self.queue.flush_unschedulable_leftover(cause, ctx.now);
                self.tell_woken(words, ctx);
            }
            Input::Timer { token } => {
                if let Some(report) = self.reports.get(&token) {
                    ctx.out.request(report.request.clone(), token);
                } else if let Some((binding, plugin, status)) = self.waiting.expire(token) {
                    self.give_back(binding, (plugin, status), false, ctx);
                } else if let Some(binding) = self.bindings.get(&token) {
                    self.bind(token, binding, ctx);
                }
            }
            Input::Container(_) | Input::Cancel => {}
        }
        self.begin_cycle(ctx);
        ctx.out.set_cause(cause);
        self.arm_timers(ctx);
        self.tell_place(ctx);
    }

    fn is_idle(&self) -> bool {
        !self.is_busy() && self.bindings.is_empty() && self.waiting.is_empty() && self.queue.active_len() == 0
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        let pending = [
            ("active", self.queue.active_len()),
            ("backoff", self.queue.backoff_len()),
            ("unschedulable", self.queue.unschedulable_len()),
            ("gated", self.queue.gated_len()),
        ];
        for (queue, pods) in pending {
            sink.sample("scheduler_pending_pods", &[("queue", queue)], pods as f64);
        }
        let by_profile = self.profiles.iter().zip(&self.attempts);
        let rows = by_profile.flat_map(|(profile, sums)| RESULTS.into_iter().zip(sums).map(move |row| (profile, row)));
        for (profile, (result, sums)) in rows {
            let labels = [("profile", profile.scheduler_name.as_str()), ("result", result)];
            sink.sample("scheduler_schedule_attempts_total", &labels, sums.count as f64);
            sink.sample("scheduler_scheduling_attempt_duration_seconds_sum", &labels, sums.duration.as_seconds());
            sink.sample("scheduler_scheduling_attempt_duration_seconds_count", &labels, sums.count as f64);
        }
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
