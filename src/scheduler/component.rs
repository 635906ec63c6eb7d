//! The scheduler over time: informer events keep cache and queue, one scheduling cycle runs at a time, bindings are sent
//! without waiting for their answers.
//!
//! A cycle reads the cache when it begins and acts when it ends; in between lies its computing time.
//!
//! Upstream: pkg/scheduler/{scheduler,schedule_one,eventhandlers}.go, v1.36.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::cache::{Cache, Counted, OwnerKey};
use super::cycle_time::{CycleTime, Work};
use super::explain;
use super::framework::{ClusterEvent, Profile, Profiles, Refusal, Status, Version, names};
use super::memo::Memo;
use super::preempt::{Answered, Call, Preemptions};
use super::preemption::{Nomination, PostFilter};
use super::queue::queue::key_of;
use super::queue::{BackoffSettings, Failure, Place, QueuedPodInfo, SchedulingQueue};
use super::schedule_one::{Search, attempt, nodes_are_available};
use super::scheduler_metrics::{Metrics, Outcome};
use super::status_patch::{STATUS_PATCH_WAIT, StatusPatch, patch_of_condition};
use super::ties::Ties;
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
    Action, ApiResult, Cause, EventType, Key, Kind, Meta, Name, Node, Object, Patch, Pod, ReplicaSet, Request,
    Selector, Span, Time, Uid,
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
    /// Computing time of a scheduling cycle.
    pub cycle: CycleTime,
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
    /// Pods in PreBind.
    preparing: BTreeMap<u64, Binding>,
    /// Bindings that are under way.
    bindings: BTreeMap<u64, Binding>,
    preemptions: Preemptions,
    /// Requests about victims that are under way.
    calls: BTreeMap<u64, Call>,
    next_token: u64,
    backoff_at: Option<Time>,
    leftover_at: Option<Time>,
    metrics: Metrics,
    /// Where the pod that is to be explained was last said to be.
    told: Waiting,
}

/// The cycle under way.
#[derive(Clone, Debug)]
struct Cycle {
    queued: QueuedPodInfo,
    outcome: Result<Name, Rejected>,
    cause: Cause,
    began: Time,
}

/// Why no node takes the pod, and what is done about it.
#[derive(Clone, Debug)]
struct Rejected {
    message: String,
    plugins: Vec<&'static str>,
    post_filter: PostFilter,
    preemption_was_tried: bool,
}

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
            metrics: Metrics::new(&profiles),
            memos: vec![Memo::default(); profiles.iter().count()],
            profiles,
            settings,
            cache: Cache::new(),
            search,
            started: None,
            cycle: None,
            reports: BTreeMap::new(),
            waiting: WaitingPods::default(),
            preparing: BTreeMap::new(),
            bindings: BTreeMap::new(),
            preemptions: Preemptions::default(),
            calls: BTreeMap::new(),
            next_token: FIRST_TOKEN,
            backoff_at: None,
            leftover_at: None,
            told: Waiting::Nothing,
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
            let memo = (!is_explained).then_some(&mut self.memos[index]);
            let tie = self.settings.ties.draw(ctx.draws, key.stable_hash(), occurrence);
            let result = attempt(profile, info, &snapshot, nominator, &mut self.search, tie, memo);
            if is_explained {
                let attempt = explain::attempt(profile, (queued.attempts, cause), &queued.info, &snapshot, &result);
                ctx.out.explain(SchedulingNote::Attempt(Box::new(attempt)));
            }
            let work = Work::of(&result);
            let outcome = match result {
                Ok(result) => Ok(result.node),
                Err(error) => Err(Rejected {
                    message: error.message().to_string(),
                    plugins: error.unschedulable_plugins().to_vec(),
                    post_filter: error.post_filter(),
                    preemption_was_tried: error.preemption_was_tried(),
                }),
            };
            let time = &self.settings.cycle;
            let base = draw_span(ctx.draws, &time.base, CYCLE_TIME, key.stable_hash(), occurrence);
            ctx.out.set_timer(CYCLE, ctx.now + time.span(base, work), Nature::Work);
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
        self.metrics.computed(ctx.now - began);
        match outcome {
            Err(Rejected { message, plugins, post_filter, preemption_was_tried }) => {
                self.count(&queued, Outcome::Unschedulable, ctx.now - began);
                if preemption_was_tried {
                    self.metrics.preemption_tried();
                }
                self.preempt(&queued, &post_filter, ctx);
                self.fail_cycle(queued, Failure::Rejected(plugins), message, post_filter.nomination, ctx);
            }
            Ok(node) => self.assume_and_bind(queued, node, began, ctx),
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
                None => {
                    let then = self.reports.remove(&token).and_then(|report| report.then);
                    if let Some(waiting) = then {
                        self.announced(waiting, ctx);
                    }
                }
            }
            return;
        }
        if let Some(call) = self.calls.remove(&token) {
            return self.victim_answered(token, call, &result, ctx);
        }
        if let Some(binding) = self.bindings.remove(&token) {
            self.bound(binding, result, ctx);
        }
    }

    fn count(&mut self, queued: &QueuedPodInfo, outcome: Outcome, duration: Span) {
        let profile = self.profiles.find(&queued.info.pod).map_or(0, |(index, _)| index);
        self.metrics.attempted(profile, outcome, duration);
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
            WatchSpec {
                kind: Kind::PodDisruptionBudget,
                selector: ObjectSelector::everything(),
                resync: HandlerResync::Never,
            },
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
                } else if let Some(call) = self.calls.get(&token) {
                    ctx.out.request(call.patch.request.clone(), token);
                } else if let Some((binding, refusal)) = self.waiting.expire(token) {
                    self.give_back(binding, refusal, false, ctx);
                } else if let Some(binding) = self.preparing.remove(&token) {
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
        !self.is_busy()
            && self.preparing.is_empty()
            && self.bindings.is_empty()
            && self.waiting.is_empty()
            && self.calls.is_empty()
            && self.queue.active_len() == 0
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        self.metrics.sample(&self.profiles, &self.queue, sink);
        self.cache_metrics(sink);
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

#[path = "component_binding.rs"]
mod binding;
#[path = "component_events.rs"]
mod events;
#[path = "component_failure.rs"]
mod failure;
#[path = "component_permit.rs"]
mod permitting;
#[path = "component_preempt.rs"]
mod preempting;

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
