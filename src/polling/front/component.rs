//! Requests for pods over time.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use super::latencies::Latencies;
use crate::component::{Component, Context, Delta, HandlerResync, Input, MetricSink, Purpose, WatchSpec};
use crate::engine::calendar::Nature;
use crate::engine::sampling::sample;
use crate::model::api::{Field, FieldRequirement, ObjectSelector};
use crate::model::{
    Action, ApiResult, Distribution, Kind, Map, Name, Object, Pod, PodPhase, RecordId, Request, Span, Time, Uid,
};
use crate::polling::settings::{AnswerAt, RequestSettings, Settings};

/// Times between two requests.
const BETWEEN: Purpose = Purpose("polling-requests");

/// Timer: the next request comes.
const ARRIVAL: u64 = 0;
/// Timer: the oldest client that still waits gives up.
const PATIENCE_ENDS: u64 = 1;
/// The create of request n has this token plus n.
const FIRST: u64 = 2;

/// Clients, and the workers that serve them.
#[derive(Clone, Debug)]
pub struct Front {
    settings: Arc<Settings>,
    /// What clients ask for, without a name.
    template: Option<Rc<Pod>>,
    came: u64,
    /// Requests that wait for a worker.
    queue: VecDeque<u64>,
    open: BTreeMap<u64, Open>,
    /// Until when clients wait, the oldest first, also those that have their answer.
    patience: VecDeque<(Time, u64)>,
    /// Requests whose pods are saved and must run, by the pod.
    promised: Map<Uid, u64>,
    busy: u32,
    answered: Latencies,
    given_up: u64,
    failed: u64,
}

/// A request that is not answered.
#[derive(Clone, Copy, Debug)]
struct Open {
    came_at: Time,
    has_worker: bool,
}

impl Front {
    /// A server whose clients ask for copies of `template`.
    pub fn new(settings: Arc<Settings>, template: Option<Rc<Pod>>) -> Front {
        Front {
            settings,
            template,
            came: 0,
            queue: VecDeque::new(),
            open: BTreeMap::new(),
            patience: VecDeque::new(),
            promised: Map::default(),
            busy: 0,
            answered: Latencies::default(),
            given_up: 0,
            failed: 0,
        }
    }

    fn requests(&self) -> Option<&RequestSettings> {
        self.settings.requests.as_ref()
    }

    /// Sets the timer of the next request, if there is one.
    fn expect_next(&self, ctx: &mut Context<'_>) {
        let Some(requests) = self.requests().filter(|requests| self.came < requests.count) else { return };
        let mean_ns = (1e9 / requests.rate) as i64;
        let between = match requests.is_poisson {
            true => sample(&Distribution::Exponential { mean_ns }, ctx.draws.bits(BETWEEN, 0, self.came), self.came),
            false => Span(mean_ns),
        };
        ctx.out.set_timer(ARRIVAL, ctx.now + between, Nature::Work);
    }

    fn arrive(&mut self, ctx: &mut Context<'_>) {
        let number = self.came;
        self.came += 1;
        // Nothing in the cluster is the cause of a client's wish.
        ctx.out.set_cause(RecordId(0));
        let came = ctx.out.record(Action::Load, None, format!("request {number} for a pod"));
        ctx.out.set_cause(came);
        self.open.insert(number, Open { came_at: ctx.now, has_worker: false });
        self.queue.push_back(number);
        self.patience.push_back((ctx.now + self.settings.request_timeout, number));
        if self.patience.len() == 1 {
            self.wait_for_patience(ctx);
        }
        self.serve(ctx);
        self.expect_next(ctx);
    }

    /// Gives free workers the requests that wait.
    fn serve(&mut self, ctx: &mut Context<'_>) {
        while self.busy < self.settings.server_workers {
            let (Some(number), Some(template)) = (self.queue.pop_front(), &self.template) else { return };
            let Some(open) = self.open.get_mut(&number) else { continue };
            open.has_worker = true;
            self.busy += 1;
            let mut pod = (**template).clone();
            pod.meta.name = Name::from(format!("request-{number:06}"));
            ctx.out.request(Request::Create(pod.into()), FIRST + number);
        }
    }

    fn on_reply(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        let number = token - FIRST;
        let answer = match result {
            Ok(answer) => answer,
            Err(_) => {
                self.failed += u64::from(self.open.contains_key(&number));
                return self.close(number, ctx);
            }
        };
        match (self.settings.answer, answer.object().and_then(Object::as_pod)) {
            (AnswerAt::Running, Some(pod)) if self.open.contains_key(&number) => {
                self.promised.insert(pod.meta.uid.clone(), number);
            }
            _ => self.answer(number, ctx),
        }
    }

    /// The client has its answer.
    fn answer(&mut self, number: u64, ctx: &mut Context<'_>) {
        if let Some(open) = self.open.get(&number) {
            self.answered.add(ctx.now - open.came_at);
        }
        self.close(number, ctx);
    }

    /// One timer serves all clients: they are equally patient, so the first that came is the first to give up.
    fn wait_for_patience(&mut self, ctx: &mut Context<'_>) {
        while self.patience.front().is_some_and(|(_, number)| !self.open.contains_key(number)) {
            self.patience.pop_front();
        }
        if let Some((at, _)) = self.patience.front() {
            ctx.out.set_timer(PATIENCE_ENDS, *at, Nature::Work);
        }
    }

    fn patience_ends(&mut self, ctx: &mut Context<'_>) {
        while let Some((_, number)) = self.patience.front().copied().filter(|(at, _)| *at <= ctx.now) {
            self.patience.pop_front();
            self.give_up(number, ctx);
        }
        self.wait_for_patience(ctx);
    }

    /// The client has given up; its worker sees that at once.
    fn give_up(&mut self, number: u64, ctx: &mut Context<'_>) {
        if self.open.contains_key(&number) {
            self.given_up += 1;
            self.promised.retain(|_, other| *other != number);
            self.close(number, ctx);
        }
    }

    fn close(&mut self, number: u64, ctx: &mut Context<'_>) {
        let Some(open) = self.open.remove(&number) else { return };
        if open.has_worker {
            self.busy -= 1;
        }
        if self.open.is_empty() {
            self.patience.clear();
            ctx.out.clear_timer(PATIENCE_ENDS);
        }
        self.serve(ctx);
    }

    fn on_delta(&mut self, delta: &Delta, ctx: &mut Context<'_>) {
        let Object::Pod(pod) = delta.change.object() else { return };
        if pod.status.phase == PodPhase::Running
            && let Some(number) = self.promised.swap_remove(&pod.meta.uid)
        {
            self.answer(number, ctx);
        }
    }
}

impl Component for Front {
    fn name(&self) -> &'static str {
        "front"
    }

    /// Clients begin once the server has answered a list. Who is answered at once does not look at pods, others look at those
    /// that run.
    fn watches(&self) -> Vec<WatchSpec> {
        let all = |kind| WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(kind) };
        let running = FieldRequirement {
            field: Field::StatusPhase,
            value: Name::new(PodPhase::Running.as_str()),
            negated: false,
        };
        match self.settings.answer {
            AnswerAt::Saved => vec![all(Kind::Node)],
            AnswerAt::Running => {
                let selector = ObjectSelector { fields: vec![running], ..ObjectSelector::everything() };
                vec![WatchSpec { selector, ..all(Kind::Pod) }]
            }
        }
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Start => self.expect_next(ctx),
            Input::Delta(delta) => self.on_delta(&delta, ctx),
            Input::Timer { token: ARRIVAL } => self.arrive(ctx),
            Input::Timer { .. } => self.patience_ends(ctx),
            Input::Reply { token, result } => self.on_reply(token, result, ctx),
            Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.open.is_empty() && self.requests().is_none_or(|requests| self.came >= requests.count)
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        if self.requests().is_none() {
            return;
        }
        let good = if self.settings.answer == AnswerAt::Saved { "201" } else { "200" };
        for (code, count) in [(good, self.answered.count()), ("503", self.given_up), ("500", self.failed)] {
            sink.sample("polling_requests_total", &[("code", code)], count as f64);
        }
        sink.sample("polling_requests_waiting", &[], self.queue.len() as f64);
        sink.sample("polling_workers_busy", &[], f64::from(self.busy));
        for (label, share) in [("0.5", 0.5), ("0.99", 0.99)] {
            if let Some(seconds) = self.answered.quantile(share) {
                sink.sample("polling_request_duration_seconds", &[("quantile", label)], seconds);
            }
        }
        sink.sample("polling_request_duration_seconds_sum", &[], self.answered.sum().as_seconds());
        sink.sample("polling_request_duration_seconds_count", &[], self.answered.count() as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
