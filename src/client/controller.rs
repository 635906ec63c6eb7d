//! A controller around a work queue: handlers add keys, workers take them and run reconciles.
//!
//! The one place where keys are taken, done, forgotten and retried. Workers start once the caches are synced; a free
//! worker takes a key after everything else of the same instant, as a woken goroutine would.
//!
//! Upstream: the `processNextWorkItem` loops of pkg/controller (v1.36) and controller-runtime's controller.go.

use crate::component::{Component, Context, Draws, Input, MetricSink, Purpose, WatchSpec, draw_span};
use crate::engine::calendar::Nature;
use crate::model::record::Detail;
use crate::model::{Action, ApiResult, Cause, Distribution, Key, Map, RecordId, Set, Span, Time};

use super::reconciler::{Enqueue, Outcome, Reconciler, Step};
use super::workqueue::{Added, AddedLater, Got, RateLimiter, RateLimitingQueue, Taken};

const WAKE: u64 = 0;
const DELAYED: u64 = 1;
const COMPUTED: u64 = 16;
const REPLY_INDEX_BITS: u32 = 24;
const RECONCILE_TIME: Purpose = Purpose("reconcile-time");

/// Settings of a controller's queue.
#[derive(Clone, Debug)]
pub struct QueueSettings {
    /// Workers.
    pub workers: u32,
    /// Computing time of a reconcile, between reading the caches and the first request.
    pub reconcile_time: Distribution,
}

/// A controller: a reconciler with its queue and workers.
#[derive(Clone)]
pub struct QueueController<R: Reconciler> {
    reconciler: R,
    settings: QueueSettings,
    queue: RateLimitingQueue<Key, Cause>,
    workers: Vec<Option<Run<R::State>>>,
    attempts: Map<Key, u64>,
    /// Keys in the delaying queue that are not retries: while there are any, the run is not quiet.
    planned: Set<Key>,
    started: bool,
    wake_pending: bool,
    timer_at: Option<(Time, Nature)>,
    reconciles_total: u64,
    errors_total: u64,
    batch: Vec<Enqueue>,
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
    pub fn new(reconciler: R, settings: QueueSettings) -> QueueController<R> {
        let workers = (0..settings.workers).map(|_| None).collect();
        QueueController {
            reconciler,
            settings,
            queue: RateLimitingQueue::new(RateLimiter::default_controller()),
            workers,
            attempts: Map::default(),
            planned: Set::default(),
            started: false,
            wake_pending: false,
            timer_at: None,
            reconciles_total: 0,
            errors_total: 0,
            batch: Vec::new(),
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

    fn enqueue(&mut self, enqueue: Enqueue, ctx: &mut Context<'_>) {
        match enqueue {
            Enqueue::Now(key) => {
                let id = RecordId(ctx.out.next_record());
                let (action, detail) = match self.queue.add(key.clone(), ctx.now, id) {
                    Added::Queued => (Action::Enqueue, Detail::None),
                    Added::Held => (Action::Enqueue, Detail::Words("a worker holds it")),
                    Added::Coalesced { first } => (Action::Coalesced, Detail::Record("first added by", first)),
                    Added::Refused => return,
                };
                ctx.out.record(action, Some(key), detail);
            }
            Enqueue::After(key, delay) => {
                let id = RecordId(ctx.out.next_record());
                let added = self.queue.add_after(key.clone(), delay, ctx.now, id);
                if matches!(added, AddedLater::Delayed { .. } | AddedLater::Coalesced { .. }) {
                    self.planned.insert(key.clone());
                }
                self.record_later(key, delay, added, "after", ctx);
            }
        }
    }

    fn record_later(&self, key: Key, delay: Span, added: AddedLater<Cause>, word: &str, ctx: &mut Context<'_>) {
        let (action, detail) = match added {
            AddedLater::Now(Added::Coalesced { first }) | AddedLater::Coalesced { first, .. } => {
                (Action::Coalesced, Detail::Record("first added by", first))
            }
            AddedLater::Now(_) => (Action::Enqueue, Detail::None),
            AddedLater::Delayed { .. } => (Action::EnqueueAfter, Detail::from(format!("{word} {delay}"))),
            AddedLater::Refused => return,
        };
        ctx.out.record(action, Some(key), detail);
    }

    /// Asks for workers to run at the end of this instant's other events, and for the next delayed key.
    fn settle(&mut self, ctx: &mut Context<'_>) {
        if self.started && !self.wake_pending && !self.queue.is_empty() && self.workers.iter().any(Option::is_none) {
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
            let Got::Key(taken) = self.take_next(worker, ctx.now) else { return };
            self.start(worker, taken, ctx);
        }
    }

    fn start(&mut self, worker: usize, taken: Taken<Key, Cause>, ctx: &mut Context<'_>) {
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
            self.take_step(worker, step, ctx);
        } else {
            self.workers[worker].as_mut().expect("just put there").computed = Some(step);
            ctx.out.set_timer(COMPUTED + worker as u64, ctx.now + time, Nature::Work);
        }
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

    fn take_step(&mut self, worker: usize, step: Step<R::State>, ctx: &mut Context<'_>) {
        match step {
            Step::Finish(outcome) => self.finish(worker, outcome, ctx),
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
        self.take_step(worker, step, ctx);
    }

    fn finish(&mut self, worker: usize, outcome: Outcome, ctx: &mut Context<'_>) {
        let run = self.workers[worker].take().expect("a finished reconcile was running");
        let key = run.key;
        let (after, failed) = match outcome {
            Outcome::Done { requeue_after } => (requeue_after, None),
            Outcome::Error { requeue_after, message } => (requeue_after, Some(message)),
        };
        if let Some(delay) = after {
            self.enqueue(Enqueue::After(key.clone(), delay), ctx);
        }
        match failed {
            None => self.queue.forget(&key),
            Some(message) => self.retry(&key, message, ctx),
        }
        self.queue.done(&key, ctx.now);
        // The worker that is done goes on with the next key at once; only idle workers have to be woken.
        if let Got::Key(taken) = self.take_next(worker, ctx.now) {
            self.start(worker, taken, ctx);
        }
    }

    /// The head of the queue; `Wait` when it is empty, without standing in line.
    fn take_next(&mut self, worker: usize, now: Time) -> Got<Key, Cause> {
        if self.queue.is_empty() { Got::Wait } else { self.queue.get(worker as u32, now) }
    }

    fn retry(&mut self, key: &Key, message: String, ctx: &mut Context<'_>) {
        self.errors_total += 1;
        let failed = ctx.out.record(Action::ReconcileError, Some(key.clone()), Detail::from(message));
        if self.reconciler.max_retries().is_some_and(|limit| self.queue.num_requeues(key) >= limit) {
            self.queue.forget(key);
            return;
        }
        ctx.out.set_cause(failed);
        let id = RecordId(ctx.out.next_record());
        let (delay, added) = self.queue.add_rate_limited(key.clone(), ctx.now, id);
        self.record_later(key.clone(), delay, added, "retry in", ctx);
    }

    fn timer(&mut self, token: u64, ctx: &mut Context<'_>) {
        match token {
            WAKE => {
                self.wake_pending = false;
                self.run_workers(ctx);
            }
            DELAYED => {
                self.timer_at = None;
                while let Some((key, _)) = self.queue.add_next_ready(ctx.now) {
                    self.planned.swap_remove(&key);
                }
            }
            computed => {
                let worker = (computed - COMPUTED) as usize;
                let run = self.workers[worker].as_mut().expect("computing time belongs to a running reconcile");
                let step = run.computed.take().expect("it has computed");
                ctx.out.set_cause(run.record);
                self.take_step(worker, step, ctx);
            }
        }
    }
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
                for enqueue in batch.drain(..) {
                    self.enqueue(enqueue, ctx);
                }
                self.batch = batch;
            }
            Input::Reply { token, result } => self.reply(token, result, ctx),
            Input::Timer { token } => self.timer(token, ctx),
            Input::Container(_) => {}
        }
        self.settle(ctx);
    }

    fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.workers.iter().all(Option::is_none)
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
        let held = self.queue.queue();
        sink.sample("workqueue_unfinished_work_seconds", &labels, held.unfinished_work(now).as_seconds());
        sink.sample("workqueue_longest_running_processor_seconds", &labels, held.longest_running(now).as_seconds());
        let controller = [("controller", self.name())];
        sink.sample("controller_reconcile_total", &controller, self.reconciles_total as f64);
        sink.sample("controller_reconcile_errors_total", &controller, self.errors_total as f64);
        self.reconciler.metrics(now, sink);
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
