//! A controller around a work queue: handlers add keys, workers take them and run reconciles.
//!
//! The one place where keys are taken, done, forgotten and retried. Workers start once the caches are synced; a free
//! worker takes a key after everything else of the same instant, as a woken goroutine would.
//!
//! Upstream: the `processNextWorkItem` loops of pkg/controller (v1.36) and controller-runtime's controller.go.

use crate::component::{Change, Component, Context, Delta, Draws, Input, MetricSink, Purpose, WatchSpec, draw_span};
use crate::engine::calendar::Nature;
use crate::model::record::Detail;
use crate::model::{Action, ApiError, ApiResult, Cause, Distribution, Key, Map, RecordId, Set, Span, Time};

use super::controller_queue::ControllerQueue;
use super::priority_queue::LOW_PRIORITY;
use super::queue_settings::{HandlerAdd, QueueSettings, WorkerLoop};
use super::reconciler::{Enqueue, HANDLER_CALL, Outcome, Reconciler, Step};
use super::workqueue::{Added, AddedLater, Got, Taken};

const WAKE: u64 = 0;
const DELAYED: u64 = 1;
const COMPUTED: u64 = 16;
const REPLY_INDEX_BITS: u32 = 24;
const RECONCILE_TIME: Purpose = Purpose("reconcile-time");

/// A controller: a reconciler with its queue and workers.
#[derive(Clone)]
pub struct QueueController<R: Reconciler> {
    reconciler: R,
    settings: QueueSettings,
    queue: ControllerQueue,
    workers: Vec<Option<Run<R::State>>>,
    attempts: Map<Key, u64>,
    /// Keys in the delaying queue that are not retries: while there are any, the run is not quiet.
    planned: Set<Key>,
    started: bool,
    /// The context of its reconciles is cancelled, and its queue shut down.
    is_cancelled: bool,
    wake_pending: bool,
    timer_at: Option<(Time, Nature)>,
    reconciles_total: u64,
    errors_total: u64,
    batch: Vec<Enqueue>,
    ready_keys: Vec<Key>,
}

/// A reconcile in the hands of a worker.
#[derive(Clone)]
struct Run<S> {
    key: Key,
    record: RecordId,
    /// Requests to send once the computing time is over.
    computed: Option<Step<S>>,
    state: Option<S>,
    replies: Vec<Option<ApiResult>>,
    outstanding: usize,
}

impl<R: Reconciler + 'static> QueueController<R> {
    /// A controller with an empty queue and idle workers.
    pub fn new(reconciler: R, settings: QueueSettings, now: Time) -> QueueController<R> {
        let workers = (0..settings.workers).map(|_| None).collect();
        QueueController {
            reconciler,
            queue: ControllerQueue::new(&settings, now),
            settings,
            workers,
            attempts: Map::default(),
            planned: Set::default(),
            started: false,
            is_cancelled: false,
            wake_pending: false,
            timer_at: None,
            reconciles_total: 0,
            errors_total: 0,
            batch: Vec::new(),
            ready_keys: Vec::new(),
        }
    }

    /// The reconciler, for tests.
    #[cfg(test)]
    pub(crate) fn reconciler(&self) -> &R {
        &self.reconciler
    }

    /// The reconciler, to change a test's script.
    #[cfg(test)]
    pub(crate) fn reconciler_mut(&mut self) -> &mut R {
        &mut self.reconciler
    }

    /// Carries out what a handler or a reconciler asks for; a retry after a failure goes through the limiter.
    fn enqueue(&mut self, enqueue: Enqueue, priority: i32, ctx: &mut Context<'_>) {
        match enqueue {
            Enqueue::Now(key) if self.settings.handler_add == HandlerAdd::RateLimited => {
                self.enqueue(Enqueue::RateLimited(key), priority, ctx);
            }
            Enqueue::RateLimited(key) => {
                // Nobody has failed: what waits is work.
                self.planned.insert(key.clone());
                self.add_rate_limited(key, priority, ctx);
            }
            Enqueue::Now(key) => {
                let id = RecordId(ctx.out.next_record());
                let (action, detail) = match self.queue.add(key.clone(), priority, ctx.now, id) {
                    Added::Queued => (Action::Enqueue, Detail::None),
                    Added::Held => (Action::Enqueue, Detail::Words("a worker holds it")),
                    Added::Coalesced { first } => (Action::Coalesced, Detail::Record("first added by", first)),
                    Added::Refused => return,
                };
                if !self.planned.is_empty() && self.queue.deadline_is_gone(&key) {
                    self.planned.swap_remove(&key);
                }
                ctx.out.record(action, Some(key), detail);
            }
            Enqueue::After(key, delay) => self.add_after(key, delay, priority, ctx),
        }
    }

    fn add_after(&mut self, key: Key, delay: Span, priority: i32, ctx: &mut Context<'_>) {
        let id = RecordId(ctx.out.next_record());
        let added = self.queue.add_after(key.clone(), delay, priority, ctx.now, id);
        if matches!(added, AddedLater::Delayed { .. } | AddedLater::Coalesced { .. }) {
            self.planned.insert(key.clone());
        }
        self.record_later(key, delay, added, "after", ctx);
    }

    fn add_rate_limited(&mut self, key: Key, priority: i32, ctx: &mut Context<'_>) {
        let id = RecordId(ctx.out.next_record());
        let (delay, added) = self.queue.add_rate_limited(key.clone(), priority, ctx.now, id);
        self.record_later(key, delay, added, "rate limiter: in", ctx);
    }

    fn record_later(&self, key: Key, delay: Span, added: AddedLater<Cause>, word: &'static str, ctx: &mut Context<'_>) {
        let (action, detail) = match added {
            AddedLater::Now(Added::Coalesced { first }) | AddedLater::Coalesced { first, .. } => {
                (Action::Coalesced, Detail::Record("first added by", first))
            }
            AddedLater::Now(_) => (Action::Enqueue, Detail::None),
            AddedLater::Delayed { .. } => (Action::EnqueueAfter, Detail::Span(word, delay)),
            AddedLater::Refused => return,
        };
        ctx.out.record(action, Some(key), detail);
    }

    /// Asks for workers to run at the end of this instant's other events, and for the next delayed key.
    fn settle(&mut self, ctx: &mut Context<'_>) {
        if self.started && !self.wake_pending && self.queue.has_next() && self.workers.iter().any(Option::is_none) {
            self.wake_pending = true;
            ctx.out.set_timer(WAKE, ctx.now, Nature::Work);
        }
        let nature = if self.planned.is_empty() { Nature::Backoff } else { Nature::Work };
        let wanted = self.queue.next_deadline().map(|at| (at, nature));
        if wanted != self.timer_at {
            match wanted {
                Some((at, nature)) => ctx.out.set_timer(DELAYED, at, nature),
                None => ctx.out.clear_timer(DELAYED),
            }
            self.timer_at = wanted;
        }
    }

    fn run_workers(&mut self, ctx: &mut Context<'_>) {
        while let Some(worker) = self.workers.iter().position(Option::is_none) {
            let Got::Key(taken) = self.queue.take(worker as u32, ctx.now) else { return };
            self.work(worker, taken, ctx);
        }
    }

    /// A worker takes a key, and after it one key after the other, until a reconcile takes time or none is left.
    fn work(&mut self, worker: usize, taken: Taken<Key, Cause>, ctx: &mut Context<'_>) {
        let mut next = Some(taken);
        while let Some(taken) = next {
            let outcome = self.start(worker, taken, ctx);
            next = outcome.and_then(|outcome| self.finish(worker, outcome, ctx));
        }
    }

    /// What follows a step: `outcome` is there if it was the last.
    fn go_on(&mut self, worker: usize, outcome: Option<Outcome>, ctx: &mut Context<'_>) {
        if let Some(taken) = outcome.and_then(|outcome| self.finish(worker, outcome, ctx)) {
            self.work(worker, taken, ctx);
        }
    }

    /// Begins a reconcile; its outcome, if it is over at once.
    fn start(&mut self, worker: usize, taken: Taken<Key, Cause>, ctx: &mut Context<'_>) -> Option<Outcome> {
        self.reconciles_total += 1;
        let key = taken.key;
        ctx.out.set_cause(taken.cause);
        let record = ctx.out.record(Action::Reconcile, Some(key.clone()), Detail::Number("worker", worker as i64));
        ctx.out.set_cause(record);
        let time = self.computing_time(&key, ctx.draws);
        let step = self.reconciler.begin(&key, ctx);
        let run = Run { key, record, computed: None, state: None, replies: Vec::new(), outstanding: 0 };
        self.workers[worker] = Some(run);
        if time == Span::ZERO {
            return self.take_step(worker, step, ctx);
        }
        self.workers[worker].as_mut().expect("just put there").computed = Some(step);
        ctx.out.set_timer(COMPUTED + worker as u64, ctx.now + time, Nature::Work);
        None
    }

    /// The computing time belongs to the object and its attempt, whichever worker runs it.
    fn computing_time(&mut self, key: &Key, draws: &mut dyn Draws) -> Span {
        if let Distribution::Constant(ns) = self.settings.reconcile_time {
            return Span(ns);
        }
        let attempt = self.attempts.entry(key.clone()).or_insert(0);
        *attempt += 1;
        draw_span(draws, &self.settings.reconcile_time, RECONCILE_TIME, key.stable_hash(), *attempt)
    }

    /// The process is to end: no key comes in any more, and what reconciles under way wait for fails.
    ///
    /// Upstream: sigs.k8s.io/controller-runtime pkg/internal/controller/controller.go (`Start`), v0.24.
    fn cancel(&mut self, ctx: &mut Context<'_>) {
        self.is_cancelled = true;
        self.queue.shut_down(ctx.now);
        self.planned.clear();
        if self.reconciler.ignores_cancellation() {
            return;
        }
        for worker in 0..self.workers.len() {
            // One that polls its cache does so no longer; calls under way are answered one by one.
            let Some(run) = self.workers[worker].as_mut().filter(|run| run.outstanding == 0) else { continue };
            let Some(state) = run.state.take() else { continue };
            let key = run.key.clone();
            ctx.out.set_cause(run.record);
            ctx.out.clear_timer(COMPUTED + worker as u64);
            let step = self.reconciler.resume(&key, state, vec![Err(ApiError::canceled())], ctx);
            let outcome = self.take_step(worker, step, ctx);
            self.go_on(worker, outcome, ctx);
        }
    }

    /// Once the context is cancelled each call fails at once, and so does each wait.
    fn fail_if_cancelled(&mut self, worker: usize, step: Step<R::State>, ctx: &mut Context<'_>) -> Step<R::State> {
        let mut step = step;
        while self.is_cancelled && !self.reconciler.ignores_cancellation() {
            let (mut state, calls) = match step {
                Step::Call { requests, state } => (state, requests.len()),
                Step::Wait { state, .. } => (state, 0),
                last @ Step::Finish(_) => return last,
            };
            let key = self.workers[worker].as_ref().expect("a step belongs to a running reconcile").key.clone();
            let error: ApiResult = Err(ApiError::canceled());
            for index in 0..calls {
                self.reconciler.on_reply(&key, &mut state, index, &error, ctx);
            }
            step = self.reconciler.resume(&key, state, vec![error; calls.max(1)], ctx);
        }
        step
    }

    /// Carries out a step; gives the outcome if it was the last.
    fn take_step(&mut self, worker: usize, step: Step<R::State>, ctx: &mut Context<'_>) -> Option<Outcome> {
        match self.fail_if_cancelled(worker, step, ctx) {
            Step::Finish(outcome) => Some(outcome),
            Step::Wait { span, state } => {
                assert!(span > Span::ZERO, "a wait that takes no time would never end");
                self.workers[worker].as_mut().expect("a step belongs to a running reconcile").state = Some(state);
                ctx.out.set_timer(COMPUTED + worker as u64, ctx.now + span, Nature::Work);
                None
            }
            Step::Call { requests, state } => {
                assert!(!requests.is_empty(), "a step without requests would never be resumed");
                let run = self.workers[worker].as_mut().expect("a step belongs to a running reconcile");
                run.state = Some(state);
                run.outstanding = requests.len();
                run.replies = vec![None; requests.len()];
                ctx.out.set_cause(run.record);
                for (index, request) in requests.into_iter().enumerate() {
                    ctx.out.request(request, ((worker as u64) << REPLY_INDEX_BITS) | index as u64);
                }
                None
            }
        }
    }

    fn reply(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        let (worker, index) = ((token >> REPLY_INDEX_BITS) as usize, (token & ((1 << REPLY_INDEX_BITS) - 1)) as usize);
        let run = self.workers[worker].as_mut().expect("replies come to running reconciles only");
        let state = run.state.as_mut().expect("a reply belongs to a step");
        self.reconciler.on_reply(&run.key, state, index, &result, ctx);
        run.replies[index] = Some(result);
        run.outstanding -= 1;
        if run.outstanding > 0 {
            return;
        }
        let replies = std::mem::take(&mut run.replies).into_iter().map(|r| r.expect("all replies are there")).collect();
        let state = run.state.take().expect("a reply belongs to a step");
        let key = run.key.clone();
        ctx.out.set_cause(run.record);
        let step = self.reconciler.resume(&key, state, replies, ctx);
        let outcome = self.take_step(worker, step, ctx);
        self.go_on(worker, outcome, ctx);
    }

    /// Ends a reconcile. The worker goes on with the next key at once; only idle workers have to be woken.
    fn finish(&mut self, worker: usize, outcome: Outcome, ctx: &mut Context<'_>) -> Option<Taken<Key, Cause>> {
        let run = self.workers[worker].take().expect("a finished reconcile was running");
        let key = run.key;
        // A requeue keeps the priority.
        let priority = self.queue.taken_priority(&key);
        self.reconciler.finished(&key, &outcome, self.queue.num_requeues(&key), ctx);
        match self.settings.worker_loop {
            WorkerLoop::InTree => self.after_in_tree(&key, outcome, ctx),
            WorkerLoop::ControllerRuntime => self.after_controller_runtime(&key, outcome, priority, ctx),
        }
        self.queue.done(&key, ctx.now);
        match self.queue.take(worker as u32, ctx.now) {
            Got::Key(taken) => Some(taken),
            Got::Wait | Got::Shutdown => None,
        }
    }

    /// What the controllers of kube-controller-manager do by hand: AddAfter wherever they like, then Forget or retry.
    fn after_in_tree(&mut self, key: &Key, outcome: Outcome, ctx: &mut Context<'_>) {
        let (after, failed) = match outcome {
            Outcome::Done { requeue_after } => (requeue_after, None),
            Outcome::Error { requeue_after, message } => (requeue_after, Some(message)),
            Outcome::Requeue => return self.add_rate_limited(key.clone(), 0, ctx),
            Outcome::TerminalError { message } => {
                self.record_error(key, message, ctx);
                return self.queue.forget(key);
            }
        };
        if let Some(delay) = after {
            self.add_after(key.clone(), delay, 0, ctx);
        }
        let Some(message) = failed else { return self.queue.forget(key) };
        self.record_error(key, message, ctx);
        if self.reconciler.max_retries().is_some_and(|limit| self.queue.num_requeues(key) >= limit) {
            return self.queue.forget(key);
        }
        self.add_rate_limited(key.clone(), 0, ctx);
    }

    /// Upstream: sigs.k8s.io/controller-runtime pkg/internal/controller/controller.go (`reconcileHandler`), v0.24.
    fn after_controller_runtime(&mut self, key: &Key, outcome: Outcome, priority: i32, ctx: &mut Context<'_>) {
        match outcome {
            Outcome::Error { message, .. } => {
                self.record_error(key, message, ctx);
                self.add_rate_limited(key.clone(), priority, ctx);
            }
            // Dropped, but its failures are not forgotten.
            Outcome::TerminalError { message } => self.record_error(key, message, ctx),
            Outcome::Done { requeue_after: Some(delay) } if delay > Span::ZERO => {
                self.queue.forget(key);
                self.add_after(key.clone(), delay, priority, ctx);
            }
            Outcome::Requeue => self.add_rate_limited(key.clone(), priority, ctx),
            Outcome::Done { .. } => self.queue.forget(key),
        }
    }

    /// Records a failure; what follows is caused by it.
    fn record_error(&mut self, key: &Key, message: String, ctx: &mut Context<'_>) {
        self.errors_total += 1;
        let failed = ctx.out.record(Action::ReconcileError, Some(key.clone()), Detail::from(message));
        ctx.out.set_cause(failed);
    }

    fn timer(&mut self, token: u64, ctx: &mut Context<'_>) {
        match token {
            WAKE => {
                self.wake_pending = false;
                self.run_workers(ctx);
            }
            DELAYED => {
                self.timer_at = None;
                self.queue.make_ready(ctx.now, &mut self.ready_keys);
                for key in self.ready_keys.drain(..) {
                    self.planned.swap_remove(&key);
                }
            }
            computed => {
                let worker = (computed - COMPUTED) as usize;
                let run = self.workers[worker].as_mut().expect("computing time belongs to a running reconcile");
                ctx.out.set_cause(run.record);
                let step = match (run.computed.take(), run.state.take()) {
                    (Some(step), _) => step,
                    (None, Some(state)) => self.reconciler.resume(&run.key, state, Vec::new(), ctx),
                    (None, None) => unreachable!("it has computed, or it has waited"),
                };
                let outcome = self.take_step(worker, step, ctx);
                self.go_on(worker, outcome, ctx);
            }
        }
    }
}

/// Events of the first list, and updates that changed nothing (resyncs, relists), wait for all others where there are
/// priorities.
///
/// Upstream: sigs.k8s.io/controller-runtime pkg/handler, v0.24.
fn priority_of(delta: &Delta) -> i32 {
    let is_low = match &delta.change {
        Change::Added(_) => delta.is_initial,
        Change::Updated { old, new } => old.meta().resource_version == new.meta().resource_version,
        Change::Deleted { .. } => false,
    };
    if is_low { LOW_PRIORITY } else { 0 }
}

impl<R: Reconciler + 'static> Component for QueueController<R> {
    fn name(&self) -> &'static str {
        self.reconciler.name()
    }

    fn watches(&self) -> Vec<WatchSpec> {
        self.reconciler.watches()
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Start => self.started = true,
            Input::Delta(delta) => {
                let mut batch = std::mem::take(&mut self.batch);
                self.reconciler.observe(&delta, ctx, &mut batch);
                let priority = priority_of(&delta);
                for enqueue in batch.drain(..) {
                    self.enqueue(enqueue, priority, ctx);
                }
                self.batch = batch;
            }
            Input::Reply { token: HANDLER_CALL, result } => {
                let mut batch = std::mem::take(&mut self.batch);
                self.reconciler.handler_answered(result, ctx, &mut batch);
                for enqueue in batch.drain(..) {
                    self.enqueue(enqueue, 0, ctx);
                }
                self.batch = batch;
            }
            Input::Reply { token, result } => self.reply(token, result, ctx),
            Input::Timer { token } => self.timer(token, ctx),
            Input::Container(_) => {}
            Input::Cancel => self.cancel(ctx),
        }
        self.settle(ctx);
    }

    fn is_idle(&self) -> bool {
        !self.queue.has_next() && self.workers.iter().all(Option::is_none)
    }

    fn metrics(&self, now: Time, sink: &mut dyn MetricSink) {
        let labels = [("name", self.name())];
        let metrics = self.queue.metrics();
        sink.sample("workqueue_depth", &labels, metrics.depth as f64);
        sink.sample("workqueue_adds_total", &labels, metrics.adds_total as f64);
        sink.sample("workqueue_retries_total", &labels, metrics.retries_total as f64);
        let queue = &metrics.queue_duration;
        sink.sample("workqueue_queue_duration_seconds_sum", &labels, queue.sum_ns as f64 / 1e9);
        sink.sample("workqueue_queue_duration_seconds_count", &labels, queue.count as f64);
        let work = &metrics.work_duration;
        sink.sample("workqueue_work_duration_seconds_sum", &labels, work.sum_ns as f64 / 1e9);
        sink.sample("workqueue_work_duration_seconds_count", &labels, work.count as f64);
        let (unfinished, longest) = self.queue.sampled_gauges(now);
        sink.sample("workqueue_unfinished_work_seconds", &labels, unfinished.as_seconds());
        sink.sample("workqueue_longest_running_processor_seconds", &labels, longest.as_seconds());
        let controller = [("controller", self.name())];
        sink.sample("controller_reconcile_total", &controller, self.reconciles_total as f64);
        sink.sample("controller_reconcile_errors_total", &controller, self.errors_total as f64);
        self.reconciler.metrics(now, sink);
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
