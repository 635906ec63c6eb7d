//! The scheduler over time: informer events keep cache and queue, one scheduling cycle runs at a time, bindings are sent
//! without waiting for their answers.
//!
//! A cycle reads the cache when it begins and acts when it ends; in between lies its computing time.
//!
//! Upstream: pkg/scheduler/{scheduler,schedule_one,eventhandlers}.go, v1.36.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::cache::{Cache, Counted};
use super::framework::{ClusterEvent, PodInfo, Profile, Version, names};
use super::queue::queue::key_of;
use super::queue::{Failure, QueuedPodInfo, SchedulingQueue};
use super::schedule_one::{Search, schedule_pod};
use crate::component::{
    Change, ClientRow, Component, Context, Delta, HandlerResync, Input, MetricSink, Purpose, WatchSpec, draw_span,
};
use crate::engine::calendar::Nature;
use crate::model::api::{Field, FieldRequirement, ObjectSelector};
use crate::model::record::Detail;
use crate::model::{
    Action, ApiResult, Cause, Condition, ConditionStatus, Distribution, EventType, Kind, Name, Node, Object, Patch,
    Pod, Request, Selector, Span, Time, find_condition,
};

/// Timer: the cycle's computing is done.
const CYCLE: u64 = 1;
/// Timer: a back-off is over.
const BACKOFF: u64 = 2;
/// Timer: pods have waited in the pool for too long.
const LEFTOVER: u64 = 3;
/// Request whose answer nobody waits for.
const NO_ANSWER: u64 = 0;
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
    /// Whether a pod takes room on its node before it is seen bound.
    pub assume: bool,
    /// Whose rules hold where versions differ.
    pub version: Version,
}

/// kube-scheduler.
#[derive(Clone, Debug)]
pub struct Scheduler {
    settings: SchedulerSettings,
    profile: Rc<Profile>,
    cache: Cache,
    queue: SchedulingQueue,
    search: Search,
    /// When scheduling began; the grid of the leftover flush.
    started: Option<Time>,
    cycle: Option<Cycle>,
    bindings: BTreeMap<u64, Binding>,
    next_token: u64,
    backoff_at: Option<Time>,
    leftover_at: Option<Time>,
    attempts: [AttemptSums; 3],
}

/// The cycle under way.
#[derive(Clone, Debug)]
struct Cycle {
    queued: QueuedPodInfo,
    outcome: Result<Name, (String, Vec<&'static str>)>,
    cause: Cause,
    began: Time,
}

/// A binding under way.
#[derive(Clone, Debug)]
struct Binding {
    queued: QueuedPodInfo,
    node: Name,
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
        let search =
            Search { next_start_node_index: 0, percentage_of_nodes_to_score: settings.percentage_of_nodes_to_score };
        Scheduler {
            queue: SchedulingQueue::new(profile.clone(), true),
            profile,
            settings,
            cache: Cache::new(),
            search,
            started: None,
            cycle: None,
            bindings: BTreeMap::new(),
            next_token: NO_ANSWER + 1,
            backoff_at: None,
            leftover_at: None,
            attempts: [AttemptSums::default(); 3],
        }
    }

    fn on_delta(&mut self, delta: Delta, ctx: &mut Context<'_>) {
        match delta.change {
            Change::Added(Object::Node(node)) => self.node_added(&node, ctx),
            Change::Updated { old: Object::Node(old), new: Object::Node(new) } => {
                self.cache.set_node(&new);
                if let Some(event) = ClusterEvent::of_node_update(&old, &new) {
                    self.queue.move_on_event(event, ctx.out.cause(), ctx.now);
                }
            }
            Change::Deleted { last: Object::Node(last), .. } => self.cache.remove_node(&last.meta.name),
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
        self.queue.move_on_event(ClusterEvent::NodeAdded(node.clone()), ctx.out.cause(), ctx.now);
    }

    fn is_responsible_for(&self, pod: &Pod) -> bool {
        pod.spec.scheduler_name.is_empty() || pod.spec.scheduler_name == self.profile.scheduler_name
    }

    fn pod_added(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        if !pod.node_name.is_empty() {
            self.cache.add_pod(pod);
            self.queue.move_on_event(ClusterEvent::AssignedPodAdded(pod.clone()), ctx.out.cause(), ctx.now);
        } else if self.is_responsible_for(pod) && !self.cache.is_assumed(&pod.meta.uid) {
            record_gates(&[], pod, ctx);
            self.queue.add(pod, ctx.out.cause(), ctx.now);
        }
    }

    fn pod_updated(&mut self, old: &Rc<Pod>, new: &Rc<Pod>, ctx: &mut Context<'_>) {
        let (cause, now) = (ctx.out.cause(), ctx.now);
        if !old.node_name.is_empty() {
            self.cache.update_pod(new);
            if let Some(event) = ClusterEvent::of_assigned_pod_update(old, new) {
                self.queue.move_on_event(event, cause, now);
            }
        } else if !new.node_name.is_empty() {
            self.queue.delete(&key_of(new));
            self.pod_added(new, ctx);
        } else if self.is_responsible_for(new)
            && old.meta.resource_version != new.meta.resource_version
            && !self.cache.is_assumed(&new.meta.uid)
        {
            record_gates(&old.spec.scheduling_gates, new, ctx);
            self.queue.update(old, new, cause, now);
        }
    }

    fn pod_deleted(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        self.queue.delete(&key_of(last));
        let was_assumed = self.cache.is_assumed(&last.meta.uid);
        if was_assumed {
            self.record_forget(last, "deleted", ctx);
        }
        if self.cache.remove_pod(&last.meta.uid).is_some() {
            self.queue.move_on_event(ClusterEvent::AssignedPodDeleted(last.clone()), ctx.out.cause(), ctx.now);
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
        while self.cycle.is_none() {
            let Some(queued) = self.queue.pop(ctx.now) else { return };
            ctx.out.set_cause(queued.cause);
            if self.skips(&queued, ctx) {
                self.queue.done(queued.uid());
                continue;
            }
            let key = queued.key();
            let occurrence = u64::from(queued.attempts);
            let cause =
                ctx.out.record(Action::Schedule, Some(key.clone()), Detail::Number("attempt", occurrence as i64));
            ctx.out.set_cause(cause);
            let snapshot = self.cache.snapshot();
            let (outcome, evaluated) = match schedule_pod(&self.profile, &queued.info, &snapshot, &mut self.search) {
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
                self.count(UNSCHEDULABLE, ctx.now - began);
                self.handle_failure(queued, Failure::Rejected(plugins), message, ctx);
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
            self.count(ERROR, ctx.now - began);
            return self.handle_failure(queued, Failure::Error, message, ctx);
        }
        if self.settings.assume {
            let assumed = ctx.out.record(Action::Assume, Some(key.clone()), format!("on {node}"));
            ctx.out.set_cause(assumed);
        }
        self.queue.done(queued.uid());
        let token = self.next_token;
        self.next_token += 1;
        ctx.out.request(Request::Bind { pod: key, uid: queued.uid().clone(), node: node.clone() }, token);
        self.bindings.insert(token, Binding { queued, node, began });
    }

    fn on_reply(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        let Some(Binding { queued, node, began }) = self.bindings.remove(&token) else { return };
        let pod = queued.info.pod.clone();
        match result {
            Ok(_) => {
                self.count(SCHEDULED, ctx.now - began);
                let message = format!("Successfully assigned {}/{} to {node}", pod.meta.namespace, pod.meta.name);
                ctx.out.event(&Object::Pod(pod), EventType::Normal, "Scheduled", message);
            }
            Err(error) => {
                self.count(ERROR, ctx.now - began);
                if self.cache.is_assumed(&pod.meta.uid) {
                    self.record_forget(&pod, "binding failed", ctx);
                }
                if self.cache.forget(&pod.meta.uid).is_some() {
                    self.queue.move_on_event(ClusterEvent::AssignedPodDeleted(pod), ctx.out.cause(), ctx.now);
                }
                let message = format!("running Bind plugin \"{}\": {error}", names::DEFAULT_BINDER);
                self.handle_failure(queued, Failure::Error, message, ctx);
            }
        }
    }

    /// Puts the pod of a failed attempt back and tells the world.
    ///
    /// Upstream: pkg/scheduler/schedule_one.go, `handleSchedulingFailure`, v1.36.
    fn handle_failure(&mut self, queued: QueuedPodInfo, failure: Failure, message: String, ctx: &mut Context<'_>) {
        let attempted = queued.info.clone();
        let uid = attempted.pod.meta.uid.clone();
        let reason = match failure {
            Failure::Rejected(_) => "Unschedulable",
            Failure::Error => "SchedulerError",
        };
        let decided = ctx.out.record(Action::Decide, Some(queued.key()), format!("{reason}: {message}"));
        ctx.out.set_cause(decided);
        match ctx.informers.pod(&queued.key()).cloned() {
            Some(current) if current.meta.uid != uid => return self.queue.done(&uid),
            Some(current) if current.node_name.is_empty() => {
                self.queue.add_unschedulable(queued, &current, failure, ctx.out.cause(), ctx.now);
            }
            // It is gone, or bound after all.
            _ => self.queue.done(&uid),
        }
        let (key, note) = (key_of(&attempted.pod), truncated_note(&message));
        ctx.out.event_from(ClientRow(0), key, uid, EventType::Warning, "FailedScheduling", note);
        patch_condition(&attempted, reason, message, ctx);
    }

    fn count(&mut self, result: usize, duration: Span) {
        let sums = &mut self.attempts[result];
        sums.count += 1;
        sums.duration = sums.duration + duration;
    }

    /// Keeps the two timers at the next instant that matters.
    fn arm_timers(&mut self, ctx: &mut Context<'_>) {
        let Some(origin) = self.started else { return };
        // While a cycle runs its end looks at the queue anyway.
        let backoff = if self.cycle.is_some() { None } else { self.queue.next_backoff_flush() };
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

/// Writes PodScheduled=False, unless the pod says so in the same words.
fn patch_condition(attempted: &PodInfo, reason: &'static str, message: String, ctx: &mut Context<'_>) {
    let pod = &attempted.pod;
    let message = Name::from(message);
    let old = find_condition(&pod.status.conditions, "PodScheduled");
    let old = old.filter(|old| old.status == ConditionStatus::False);
    let clears_nomination = reason == "Unschedulable" && !pod.status.nominated_node_name.is_empty();
    if old.is_some_and(|old| old.reason == reason && old.message == message) && !clears_nomination {
        return;
    }
    let condition = Condition {
        condition_type: "PodScheduled".into(),
        status: ConditionStatus::False,
        reason: reason.into(),
        message,
        last_transition: old.map_or(ctx.now.truncated_to_seconds(), |old| old.last_transition),
        last_update: None,
    };
    let nominated_node_name = clears_nomination.then_some(Name::EMPTY);
    let patch = Patch::PodCondition { condition, nominated_node_name };
    ctx.out.request(Request::Patch { key: key_of(pod), patch }, NO_ANSWER);
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
                self.queue.flush_unschedulable_leftover(cause, ctx.now);
            }
            Input::Timer { .. } | Input::Container(_) => {}
        }
        self.begin_cycle(ctx);
        ctx.out.set_cause(cause);
        self.arm_timers(ctx);
    }

    fn is_idle(&self) -> bool {
        self.cycle.is_none() && self.bindings.is_empty() && self.queue.active_len() == 0
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
        for (result, sums) in RESULTS.into_iter().zip(&self.attempts) {
            let labels = [("profile", self.profile.scheduler_name), ("result", result)];
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
mod tests {
    use super::*;
    use crate::component::{Draws, Effect, Informers, Outbox, Sensors};
    use crate::model::api::{ApiError, Reason};
    use crate::model::{Answer, Key, Record, RecordId, Rv, Uid};
    use crate::scheduler::cache::testing::{bound, node, pod_with, sized_node};

    struct Nothing;

    impl Sensors for Nothing {
        fn has_image(&self, _: &Name, _: &Name) -> bool {
            false
        }
        fn running_since(&self, _: &Uid, _: u32) -> Option<Time> {
            None
        }
    }

    impl Draws for Nothing {
        fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
            0
        }
    }

    /// A scheduler with its caches; collects what goes out.
    struct Rig {
        scheduler: Scheduler,
        informers: Informers,
        now: Time,
        cause: u64,
        records: Vec<Record>,
        effects: Vec<(Cause, Effect)>,
    }

    impl Rig {
        /// Cycles take 1 ms and 1 us a node.
        fn new(assume: bool) -> Rig {
            let scheduler = Scheduler::new(SchedulerSettings {
                cycle: Distribution::Constant(1_000_000),
                per_node: Span::from_microseconds(1),
                percentage_of_nodes_to_score: 0,
                assume,
                version: Version::V1_36,
            });
            let mut informers = Informers::new();
            for watch in scheduler.watches() {
                informers.ensure(watch.kind, &watch.selector);
            }
            Rig { scheduler, informers, now: Time::default(), cause: 0, records: Vec::new(), effects: Vec::new() }
        }

        fn send(&mut self, input: Input) {
            self.cause += 1;
            let mut out = Outbox::new(RecordId(self.cause), 1_000 + self.records.len() as u64);
            let mut draws = Nothing;
            let mut context = Context {
                now: self.now,
                informers: &self.informers,
                sensors: &Nothing,
                draws: &mut draws,
                out: &mut out,
            };
            self.scheduler.handle(input, &mut context);
            self.records.append(&mut out.records);
            self.effects.append(&mut out.effects);
        }

        fn put(&mut self, object: impl Into<Object>) {
            let object = object.into();
            let informer = self.informers.get_informer_mut(object.kind()).expect("watched");
            let change = match informer.cache.insert(object.clone()) {
                None => Change::Added(object),
                Some(old) => Change::Updated { old, new: object },
            };
            self.send(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
        }

        fn delete(&mut self, key: &Key) {
            let informer = self.informers.get_informer_mut(key.kind).expect("watched");
            let last = informer.cache.remove(key).expect("it is cached");
            let change = Change::Deleted { last, tombstone: false };
            self.send(Input::Delta(Delta { change, is_resync: false, is_initial: false }));
        }

        /// Lets the running cycle end, `span_us` after it began.
        fn end_cycle(&mut self, span_us: i64) {
            let ends = self.effects.iter().rev().find_map(|(_, effect)| match effect {
                Effect::SetTimer { token: CYCLE, at, nature: Nature::Work, .. } => Some(*at),
                _ => None,
            });
            assert_eq!(ends, Some(self.now + Span::from_microseconds(span_us)));
            self.now = ends.expect("compared above");
            self.send(Input::Timer { token: CYCLE });
        }

        /// Requests and Events since the last call, in words.
        fn sent(&mut self) -> Vec<String> {
            let words = |(_, effect): (Cause, Effect)| match effect {
                Effect::Request { request: Request::Bind { pod, node, .. }, token, .. } => {
                    Some(format!("bind {} to {node} #{token}", pod.name))
                }
                Effect::Request {
                    request: Request::Patch { patch: Patch::PodCondition { condition, .. }, .. },
                    ..
                } => Some(format!("patch {}: {}", condition.reason, condition.message)),
                Effect::Event { reason, message, .. } => Some(format!("event {reason}: {message}")),
                _ => None,
            };
            std::mem::take(&mut self.effects).into_iter().filter_map(words).collect()
        }

        fn actions(&mut self) -> Vec<String> {
            let words = |record: Record| format!("{} {} <- {}", record.action.as_str(), record.detail, record.cause.0);
            std::mem::take(&mut self.records).into_iter().map(words).collect()
        }
    }

    fn pod_key(name: &str) -> Key {
        Key::new(Kind::Pod, "default", name)
    }

    const NO_ROOM: &str = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: \
                           0/1 nodes are available: 1 No preemption victims found for incoming pod.";

    #[test]
    fn a_cycle_takes_its_time_then_assumes_binds_and_goes_on() {
        let mut rig = Rig::new(true);
        rig.put(sized_node("a", 1_000, 1 << 30));
        rig.put(pod_with("p", 600, 0));
        rig.put(pod_with("q", 600, 0));
        assert!(rig.actions().is_empty(), "nothing runs before the start");
        rig.send(Input::Start);
        // p was put by the delta with cause 2.
        assert_eq!(rig.actions(), ["schedule attempt 1 <- 2"]);
        rig.end_cycle(1_001);
        // Schedule was record 1000 of its outbox; the assume of the next outbox is caused by it. Then q's cycle begins.
        assert_eq!(rig.actions(), ["assume on a <- 1000", "schedule attempt 1 <- 3"]);
        assert_eq!(rig.sent(), ["bind p to a #1"]);
    }

    #[test]
    fn an_assumed_pod_takes_room_and_a_failed_binding_gives_it_back() {
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(sized_node("a", 1_000, 1 << 30));
        rig.put(pod_with("p", 600, 0));
        rig.put(pod_with("q", 600, 0));
        rig.end_cycle(1_001);
        rig.sent();
        // q's cycle saw p on the node.
        rig.now += Span::from_microseconds(1_001);
        rig.send(Input::Timer { token: CYCLE });
        assert_eq!(
            rig.sent(),
            [format!("event FailedScheduling: {NO_ROOM}"), format!("patch Unschedulable: {NO_ROOM}")]
        );
        assert!(!rig.scheduler.is_idle(), "p's binding is under way");
        rig.actions();
        let error = ApiError::new(Reason::NotFound, "pods \"p\" not found");
        rig.send(Input::Reply { token: 1, result: Err(error) });
        let actions = rig.actions();
        // The room given back wakes q, which an idle scheduler takes at once for its second attempt; p waits for its error back-off.
        let text = "running Bind plugin \"DefaultBinder\": pods \"p\" not found";
        assert_eq!(actions.len(), 3);
        assert!(actions[0].starts_with("forget binding failed") && actions[2].starts_with("schedule attempt 2"));
        assert!(actions[1].starts_with(&format!("decide SchedulerError: {text}")));
        assert_eq!(rig.scheduler.queue.backoff_len(), 1);
        assert_eq!(rig.sent(), [format!("event FailedScheduling: {text}"), format!("patch SchedulerError: {text}")]);
    }

    #[test]
    fn a_good_binding_is_reported_and_the_informer_confirms_it() {
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(sized_node("a", 1_000, 1 << 30));
        rig.put(pod_with("p", 600, 0));
        rig.end_cycle(1_001);
        rig.sent();
        rig.send(Input::Reply { token: 1, result: Ok(Answer::Done(Rv(5))) });
        assert_eq!(rig.sent(), ["event Scheduled: Successfully assigned default/p to a"]);
        assert!(rig.scheduler.is_idle());
        assert!(rig.scheduler.cache.is_assumed(&"default/p".into()));
        rig.put(bound("p", "a", 600, 0));
        assert!(!rig.scheduler.cache.is_assumed(&"default/p".into()));
    }

    #[test]
    fn without_assuming_two_pods_are_sent_to_one_place() {
        let mut rig = Rig::new(false);
        rig.send(Input::Start);
        rig.put(sized_node("a", 1_000, 1 << 30));
        rig.put(pod_with("p", 600, 0));
        rig.put(pod_with("q", 600, 0));
        rig.end_cycle(1_001);
        rig.now += Span::from_microseconds(1_001);
        rig.send(Input::Timer { token: CYCLE });
        // 600 + 600 > 1000: both are sent all the same.
        assert_eq!(rig.sent(), ["bind p to a #1", "bind q to a #2"]);
        assert!(rig.actions().iter().all(|action| action.starts_with("schedule")));
        // Their own pending updates do not queue them again.
        let mut patched = pod_with("p", 600, 0);
        patched.meta.resource_version = Rv(9);
        rig.put(patched);
        assert!(rig.actions().is_empty());
    }

    #[test]
    fn a_rejected_pod_is_patched_once_and_waits_for_a_useful_event() {
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(sized_node("a", 1_000, 1 << 30));
        rig.put(bound("x", "a", 900, 0));
        rig.put(pod_with("p", 600, 0));
        rig.end_cycle(1_001);
        assert_eq!(rig.sent().len(), 2);
        assert!(rig.scheduler.is_idle());
        // The informer shows the patched condition; that alone moves nothing.
        let mut patched = pod_with("p", 600, 0);
        patched.meta.resource_version = Rv(9);
        patched.status.conditions.push(Condition {
            condition_type: "PodScheduled".into(),
            status: ConditionStatus::False,
            reason: "Unschedulable".into(),
            message: NO_ROOM.into(),
            last_transition: Time::default(),
            last_update: None,
        });
        rig.put(patched);
        assert_eq!(rig.scheduler.queue.unschedulable_len(), 1);
        // A small pod leaves: the hint does not look at sizes. 900 + 600 > 1000, so the pod fails again in the same words: an
        // Event, no second patch.
        rig.put(bound("y", "a", 10, 0));
        rig.delete(&pod_key("y"));
        rig.end_cycle(1_001);
        assert_eq!(rig.sent(), [format!("event FailedScheduling: {NO_ROOM}")]);
        rig.delete(&pod_key("x"));
        rig.end_cycle(1_001);
        assert_eq!(rig.sent(), ["bind p to a #1"]);
    }

    #[test]
    fn without_nodes_a_pod_is_retried_after_its_back_off() {
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(pod_with("p", 600, 0));
        rig.end_cycle(1_000);
        // Failed at 0.001 s; back-off to 1.001, cut to 1, over strictly after: 2 s.
        let timer = rig.effects.iter().find_map(|(_, effect)| match effect {
            Effect::SetTimer { token: BACKOFF, at, nature, .. } => Some((*at, *nature)),
            _ => None,
        });
        assert_eq!(timer, Some((Time::default() + Span::from_seconds(2), Nature::Backoff)));
        let text = "no nodes available to schedule pods";
        assert_eq!(rig.sent(), [format!("event FailedScheduling: {text}"), format!("patch Unschedulable: {text}")]);
        rig.put(node("a"));
        rig.now = Time::default() + Span::from_seconds(2);
        rig.send(Input::Timer { token: BACKOFF });
        rig.end_cycle(1_001);
        assert_eq!(rig.sent(), ["bind p to a #1"]);
    }

    #[test]
    fn waiting_pods_are_looked_at_again_after_five_minutes() {
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(sized_node("a", 100, 1 << 30));
        rig.put(pod_with("p", 600, 0));
        rig.end_cycle(1_001);
        // Failed at 0.001001 s, older than five minutes after 300.001001 s: the flush at 330 s.
        let timer = rig.effects.iter().find_map(|(_, effect)| match effect {
            Effect::SetTimer { token: LEFTOVER, at, nature: Nature::Upkeep, is_root: true } => Some(*at),
            _ => None,
        });
        assert_eq!(timer, Some(Time::default() + Span::from_seconds(330)));
        rig.actions();
        rig.now = Time::default() + Span::from_seconds(330);
        rig.send(Input::Timer { token: LEFTOVER });
        assert_eq!(rig.actions(), [format!("schedule attempt 2 <- {}", rig.cause)]);
    }

    #[test]
    fn a_gated_pod_says_once_what_it_waits_for() {
        let gated = |gates: &[&str], version: u64| {
            let mut pod = pod_with("p", 600, 0);
            Rc::make_mut(&mut pod.spec).scheduling_gates = gates.iter().map(Name::new).collect();
            pod.meta.resource_version = Rv(version);
            pod
        };
        let mut rig = Rig::new(true);
        rig.send(Input::Start);
        rig.put(gated(&["a", "b"], 1));
        rig.put(gated(&["a", "b"], 2));
        rig.put(gated(&["b"], 3));
        let actions = rig.actions();
        assert_eq!(actions.len(), 2, "{actions:?}");
        assert!(actions[0].starts_with("decide waits for its scheduling gates: a, b <- "));
        assert!(actions[1].starts_with("decide waits for its scheduling gates: b <- "));
    }

    #[test]
    fn notes_are_cut_to_1024_bytes() {
        assert_eq!(truncated_note(&"x".repeat(1024)).len(), 1024);
        let cut = truncated_note(&"x".repeat(1025));
        assert_eq!((cut.len(), &cut[1018..]), (1024, "xx ..."));
        // A two-byte letter across the cut is left out whole: 1019 + 4.
        assert_eq!(truncated_note(&format!("{}{}", "x".repeat(1019), "é".repeat(9))).len(), 1023);
    }
}
