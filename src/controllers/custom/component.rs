//! Glue: events of objects and children queue the object; a reconcile sends its requests one after the other.

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::decide::{self, CacheWait, NewChild};
use super::settings::{Afterwards, Children, OperatorSettings, RequestSpec, StatusFields};
use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Change, Context, Delta, MetricSink, Purpose, WatchSpec, draw_span};
use crate::controllers::expectations::Expectations;
use crate::model::api::{ListVersion, ObjectSelector, Reason};
use crate::model::{
    Answer, ApiResult, Custom, EventType, Key, Kind, Kinds, Labels, Map, Meta, Name, Object, OwnerReference,
    Preconditions, Request, Span, Time,
};
use crate::rules::codec;

const REQUEUE_AFTER: Purpose = Purpose("operator-requeue-after");

/// An operator.
#[derive(Clone)]
pub struct Operator {
    settings: Arc<OperatorSettings>,
    /// When the run began: times of failures count from there.
    start: Time,
    /// A child of each template, in the order of the requests that create them.
    prototypes: Vec<Object>,
    expectations: Expectations,
    books: Map<Key, Book>,
    counts: Counts,
}

/// What it remembers of an object.
#[derive(Clone, Debug, Default)]
struct Book {
    /// Reconciles begun.
    attempts: u64,
    /// Failures in a row.
    errors: u32,
    /// Why the attempt under way fails with a back-off of its own, which the queue takes for a success.
    failed: Option<String>,
}

/// What it counts, under controller-runtime's names.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    begun: u64,
    success: u64,
    error: u64,
    terminal: u64,
    requeue: u64,
    requeue_after: u64,
}

/// A reconcile between two requests.
#[derive(Clone, Debug)]
pub struct State {
    /// The next of the operator's requests.
    next: usize,
    /// The object as it was read last.
    object: Rc<Custom>,
    /// The last list.
    listed: Option<(Kind, Vec<Object>)>,
    /// Writes of children that are still to be sent.
    children: VecDeque<Request>,
    /// How long it waits for children in its cache, those that it has not seen there, and until when.
    patience: Option<Span>,
    unseen: Vec<Key>,
    deadline: Option<Time>,
    /// What the answer is to.
    sent: Sent,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sent {
    Nothing,
    Get,
    List(Kind),
    Write,
    Child,
    NewChild,
}

impl Operator {
    /// An operator that has seen nothing. `start` is when the run began, `kinds` what the cluster serves.
    pub fn new(settings: Arc<OperatorSettings>, start: Time, kinds: &Kinds) -> Operator {
        let prototype = |children: &Children| {
            codec::decode_among(&children.template, kinds).expect("templates are checked when they are read")
        };
        Operator {
            start,
            prototypes: settings.children().map(prototype).collect(),
            settings,
            expectations: Expectations::default(),
            books: Map::default(),
            counts: Counts::default(),
        }
    }

    /// The next request, or the end.
    fn advance(&mut self, key: &Key, mut state: State, ctx: &mut Context<'_>) -> Step<State> {
        let settings = self.settings.clone();
        loop {
            if let Some(request) = state.children.pop_front() {
                let sent = if matches!(request, Request::Create(_)) { Sent::NewChild } else { Sent::Child };
                return call(request, sent, state);
            }
            match decide::cache_wait(&mut state.unseen, &mut state.deadline, state.patience, ctx.now, |child| {
                ctx.informers.get(child).is_some()
            }) {
                CacheWait::Over => {}
                CacheWait::Poll(span) => return Step::Wait { span, state: State { sent: Sent::Nothing, ..state } },
                CacheWait::TimedOut(message) => return Step::Finish(self.badly(key, message, false)),
            }
            let Some(request) = settings.requests.get(state.next) else {
                return Step::Finish(self.well(key, ctx));
            };
            state.next += 1;
            match request {
                RequestSpec::Get => return call(Request::Get(key.clone()), Sent::Get, state),
                RequestSpec::List(kind) => {
                    let namespace = kind.info().namespaced.then(|| key.namespace.clone()).filter(|n| !n.is_empty());
                    let selector = ObjectSelector::everything();
                    let version = ListVersion::Newest;
                    let request = Request::List { kind: *kind, namespace, selector, version };
                    return call(request, Sent::List(*kind), state);
                }
                RequestSpec::Update => {
                    let request = Request::Update(self.annotated(&state.object).into());
                    return call(request, Sent::Write, state);
                }
                RequestSpec::UpdateStatus(fields) => {
                    let request = Request::UpdateStatus(with_status(&state.object, fields, ctx.now).into());
                    return call(request, Sent::Write, state);
                }
                RequestSpec::Children(children) => {
                    let leaving = self.plan_children(key, children, &mut state, ctx);
                    if children.must_go && leaving > 0 {
                        return Step::Finish(self.badly(key, decide::leaving_text(children.kind, leaving), false));
                    }
                }
            }
        }
    }

    /// The object with an annotation that says which generation was seen.
    fn annotated(&self, object: &Rc<Custom>) -> Custom {
        let mut object = (**object).clone();
        let name = Name::from(format!("{}/observed-generation", self.settings.name));
        let seen = Name::from(object.meta.generation.to_string());
        let others = object.meta.annotations.iter().filter(|(key, _)| *key != name);
        object.meta.annotations =
            others.map(|(key, value)| (key.clone(), value.clone())).chain([(name.clone(), seen)]).collect::<Labels>();
        object
    }

    /// Queues the writes that bring the children to their number; gives the number of those on their way out.
    fn plan_children(&mut self, key: &Key, children: &Children, state: &mut State, ctx: &mut Context<'_>) -> usize {
        if self.settings.expectations && !self.expectations.are_satisfied(key, ctx.now)
            || state.object.meta.is_deleting()
        {
            return 0;
        }
        let uid = &state.object.meta.uid;
        let (changes, leaving) = {
            let existing: Vec<&Object> = match &state.listed {
                Some((kind, items)) if *kind == children.kind => items
                    .iter()
                    .filter(|item| item.meta().controller().is_some_and(|owner| owner.uid == *uid))
                    .collect(),
                _ => ctx.informers.controlled_by(children.kind, uid).collect(),
            };
            let wanted = decide::wanted(&children.count, &state.object);
            let leaving = existing.iter().filter(|child| child.meta().is_deleting()).count();
            (decide::child_changes(&key.name, &existing, wanted, children.names), leaving)
        };
        if children.must_go && leaving > 0 {
            return leaving;
        }
        if self.settings.expectations && !changes.create.is_empty() {
            self.expectations.expect_creations(key, changes.create.len(), ctx.now);
        } else if self.settings.expectations && !changes.delete.is_empty() {
            self.expectations.expect_deletions(key, changes.delete.iter().map(|child| child.name.clone()), ctx.now);
        }
        let index = self.settings.children().position(|other| std::ptr::eq(other, children));
        let prototype = &self.prototypes[index.expect("each template has its prototype")];
        let create =
            changes.create.into_iter().map(|child| Request::Create(new_child(prototype, &state.object, child)));
        let delete = changes.delete.into_iter().map(|key| Request::Delete {
            key,
            grace_seconds: None,
            preconditions: Preconditions::default(),
        });
        state.children.extend(create.chain(delete));
        state.patience = children.wait_for_cache;
        leaving
    }

    /// The end of a reconcile that went well.
    fn well(&mut self, key: &Key, ctx: &mut Context<'_>) -> Outcome {
        let book = self.books.entry(key.clone()).or_default();
        book.errors = 0;
        match &self.settings.afterwards {
            Afterwards::Done => Outcome::DONE,
            Afterwards::After(span) => {
                let span = draw_span(ctx.draws, span, REQUEUE_AFTER, key.stable_hash(), book.attempts);
                Outcome::Done { requeue_after: Some(span) }
            }
            Afterwards::Requeue => Outcome::Requeue,
        }
    }

    /// The end of a reconcile that failed.
    fn badly(&mut self, key: &Key, message: String, terminal: bool) -> Outcome {
        let book = self.books.entry(key.clone()).or_default();
        if terminal {
            return Outcome::TerminalError { message };
        }
        book.errors = book.errors.saturating_add(1);
        match self.settings.error_backoff {
            Some(backoff) => {
                book.failed = Some(message);
                Outcome::Done { requeue_after: Some(decide::own_backoff(backoff, book.errors)) }
            }
            None => Outcome::error(message),
        }
    }

    /// Expected children that will never come.
    fn give_up(&mut self, key: &Key, state: &State) {
        let is_create = |request: &&Request| matches!(request, Request::Create(_));
        for _ in 0..=state.children.iter().filter(is_create).count() {
            self.expectations.creation_observed(key);
        }
        for request in &state.children {
            if let Request::Delete { key: child, .. } = request {
                self.expectations.deletion_observed(key, &child.name);
            }
        }
    }

    /// Books of expectations for a child of an object of ours; the object's key.
    fn observe_child(&mut self, change: &Change) -> Option<Key> {
        let child = change.object().meta();
        let owner = child.controller().filter(|owner| owner.kind == Some(self.settings.kind))?;
        let namespace = if self.settings.kind.info().namespaced { child.namespace.clone() } else { Name::EMPTY };
        let key = Key { kind: self.settings.kind, namespace, name: owner.name.clone() };
        match change {
            Change::Added(_) => self.expectations.creation_observed(&key),
            Change::Deleted { .. } => self.expectations.deletion_observed(&key, &child.name),
            Change::Updated { new, .. } if new.meta().is_deleting() => {
                self.expectations.deletion_observed(&key, &child.name);
            }
            Change::Updated { .. } => {}
        }
        Some(key)
    }

    fn report(&self, key: &Key, message: &str, attempt: u32, delay: Span, ctx: &mut Context<'_>) {
        let Some(object) = ctx.informers.get(key).cloned() else { return };
        let text = decide::event_text(message, attempt, delay);
        ctx.out.event(&object, EventType::Warning, "ReconcileError", text);
    }
}

fn call(request: Request, sent: Sent, state: State) -> Step<State> {
    Step::Call { requests: vec![request], state: State { sent, ..state } }
}

fn with_status(object: &Rc<Custom>, fields: &StatusFields, now: Time) -> Custom {
    let status = decide::status(object, fields, now);
    Custom { status: Rc::new(status), ..(**object).clone() }
}

/// A child of an object.
fn new_child(prototype: &Object, owner: &Rc<Custom>, name: NewChild) -> Object {
    let mut child = prototype.clone();
    let reference = OwnerReference {
        kind: Some(owner.object_kind()),
        foreign_kind: Name::EMPTY,
        name: owner.meta.name.clone(),
        uid: owner.meta.uid.clone(),
        controller: true,
        block_owner_deletion: true,
    };
    let is_namespaced = child.kind().info().namespaced;
    let meta: &mut Meta = child.meta_mut();
    if is_namespaced && !owner.meta.namespace.is_empty() {
        meta.namespace = owner.meta.namespace.clone();
    }
    meta.owners = Some([reference].into());
    (meta.name, meta.generate_name) = match name {
        NewChild::Named(name) => (name, Name::EMPTY),
        NewChild::Generated(prefix) => (Name::EMPTY, prefix),
    };
    child
}

impl Reconciler for Operator {
    type State = State;

    fn name(&self) -> &'static str {
        self.settings.name
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let children = self.settings.child_kinds().into_iter();
        std::iter::once(self.settings.kind).chain(children).map(WatchSpec::all).collect()
    }

    fn observe(&mut self, delta: &Delta, _ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        let object = delta.change.object();
        if object.kind() != self.settings.kind {
            keys.extend(self.observe_child(&delta.change).map(Enqueue::Now));
            return;
        }
        match &delta.change {
            // Upstream: controller-runtime pkg/predicate/predicate.go (`GenerationChangedPredicate`): resyncs, too.
            Change::Updated { old, new }
                if self.settings.generation_changed && old.meta().generation == new.meta().generation => {}
            _ => keys.push(Enqueue::Now(object.key())),
        }
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<State> {
        self.counts.begun += 1;
        let Some(object) = ctx.informers.custom(key).cloned() else {
            self.books.swap_remove(key);
            self.expectations.forget(key);
            return Step::Finish(Outcome::DONE);
        };
        let book = self.books.entry(key.clone()).or_default();
        book.attempts += 1;
        let since_start = ctx.now - self.start;
        let settings = self.settings.clone();
        if let Some(rule) = decide::failure(&settings.fails, key, book.attempts, since_start, ctx.draws) {
            return Step::Finish(self.badly(key, rule.error.clone(), rule.terminal));
        }
        let state = State {
            next: 0,
            object,
            listed: None,
            children: VecDeque::new(),
            patience: None,
            unseen: Vec::new(),
            deadline: None,
            sent: Sent::Nothing,
        };
        self.advance(key, state, ctx)
    }

    fn resume(&mut self, key: &Key, mut state: State, replies: Vec<ApiResult>, ctx: &mut Context<'_>) -> Step<State> {
        let Some(answer) = replies.into_iter().next() else {
            // It has waited for its cache.
            return self.advance(key, state, ctx);
        };
        match (state.sent, answer) {
            // The object is gone: there is nothing to do.
            (Sent::Get, Err(error)) if error.reason == Reason::NotFound => return Step::Finish(Outcome::DONE),
            // A child that is to go is gone.
            (Sent::Child, Err(error)) if error.reason == Reason::NotFound => {}
            (sent, Err(error)) => {
                if matches!(sent, Sent::Child | Sent::NewChild) && self.settings.expectations {
                    self.give_up(key, &state);
                }
                return Step::Finish(self.badly(key, error.message, false));
            }
            (Sent::Get | Sent::Write, Ok(Answer::Object(Object::Custom(object)))) => state.object = object,
            (Sent::List(kind), Ok(Answer::List { items, .. })) => state.listed = Some((kind, items)),
            (Sent::NewChild, Ok(Answer::Object(child))) if state.patience.is_some() => state.unseen.push(child.key()),
            (_, Ok(_)) => {}
        }
        self.advance(key, state, ctx)
    }

    fn finished(&mut self, key: &Key, outcome: &Outcome, failures: u32, ctx: &mut Context<'_>) {
        let book = self.books.get_mut(key);
        let own = book.and_then(|book| Some((book.failed.take()?, book.errors)));
        match (own, outcome) {
            (Some((message, errors)), Outcome::Done { requeue_after: Some(delay) }) => {
                self.counts.requeue_after += 1;
                self.report(key, &message, errors.saturating_sub(1), *delay, ctx);
            }
            (_, Outcome::Error { message, .. }) => {
                self.counts.error += 1;
                let (base, max) = self.settings.retry_delay;
                self.report(key, message, failures, decide::exponential(base, max, failures), ctx);
            }
            (_, Outcome::TerminalError { .. }) => {
                self.counts.error += 1;
                self.counts.terminal += 1;
            }
            (_, Outcome::Requeue) => self.counts.requeue += 1,
            (_, Outcome::Done { requeue_after: Some(_) }) => self.counts.requeue_after += 1,
            (_, Outcome::Done { requeue_after: None }) => self.counts.success += 1,
        }
    }

    fn ignores_cancellation(&self) -> bool {
        self.settings.shutdown.without_cancel
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        let controller = [("controller", self.settings.name)];
        let counts = self.counts;
        for (result, count) in [
            ("error", counts.error),
            ("requeue", counts.requeue),
            ("requeue_after", counts.requeue_after),
            ("success", counts.success),
        ] {
            let labels = [("controller", self.settings.name), ("result", result)];
            sink.sample("controller_runtime_reconcile_total", &labels, count as f64);
        }
        sink.sample("controller_runtime_reconcile_errors_total", &controller, counts.error as f64);
        sink.sample("controller_runtime_terminal_reconcile_errors_total", &controller, counts.terminal as f64);
        let ended = counts.error + counts.requeue + counts.requeue_after + counts.success;
        sink.sample("controller_runtime_active_workers", &controller, (counts.begun - ended) as f64);
    }
}
