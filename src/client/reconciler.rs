//! What a queue-driven controller implements: handlers that choose keys, and a reconcile as a step machine.
//!
//! [`crate::client::controller::QueueController`] turns a [`Reconciler`] into a component: it owns the work queue, the
//! limiter and the workers, and is the one place where Done, Forget and AddRateLimited happen.
//!
//! A reconcile holds its worker from `begin` until it finishes. At each step it sends requests, all at once, and is
//! resumed when every reply is there; between steps the rest of the world goes on.

use std::fmt::Debug;

use crate::component::{Context, Delta, MetricSink, WatchSpec};
use crate::model::{ApiResult, Key, Request, Span, Time};

/// Token of requests that a handler sends by itself, outside of any reconcile.
pub const HANDLER_CALL: u64 = u64::MAX;

/// A controller around a work queue of keys.
pub trait Reconciler: Clone {
    /// What a reconcile remembers between its steps.
    type State: Clone + Debug;

    /// Name of the controller and of its queue, as upstream labels it (`replicaset`).
    fn name(&self) -> &'static str;

    /// The informers it needs.
    fn watches(&self) -> Vec<WatchSpec>;

    /// A handler was called: push the keys to look at. May keep its own books (expectations).
    fn observe(&mut self, delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>);

    /// A request that a handler sent with the token [`HANDLER_CALL`] was answered: push the keys to look at.
    fn handler_answered(&mut self, _result: ApiResult, _ctx: &mut Context<'_>, _keys: &mut Vec<Enqueue>) {}

    /// A worker took the key: read the caches, decide, say what to send.
    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<Self::State>;

    /// One of the requests of the current step was answered (in order of arrival), before all are.
    fn on_reply(
        &mut self,
        _key: &Key,
        _state: &mut Self::State,
        _index: usize,
        _result: &ApiResult,
        _ctx: &mut Context<'_>,
    ) {
    }

    /// All requests of the step were answered; `replies` are in the order the requests were given. None after a wait.
    fn resume(
        &mut self,
        key: &Key,
        state: Self::State,
        replies: Vec<ApiResult>,
        ctx: &mut Context<'_>,
    ) -> Step<Self::State>;

    /// A reconcile is over, before the queue is told; `failures` is how often the key was added through the limiter since it
    /// was last forgotten (NumRequeues).
    fn finished(&mut self, _key: &Key, _outcome: &Outcome, _failures: u32, _ctx: &mut Context<'_>) {}

    /// How often a key that fails is retried before it is dropped; `None` without limit.
    fn max_retries(&self) -> Option<u32> {
        None
    }

    /// Whether its reconciles go on when their context is cancelled (`context.WithoutCancel`).
    fn ignores_cancellation(&self) -> bool {
        false
    }

    /// Metrics of its own, beside those of the queue.
    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}
}

/// A key for the queue.
#[derive(Clone, PartialEq, Debug)]
pub enum Enqueue {
    /// Add it now.
    Now(Key),
    /// Add it after a while.
    After(Key, Span),
    /// Add it through the limiter.
    RateLimited(Key),
}

/// What a reconcile does next.
#[derive(Clone, Debug)]
pub enum Step<S> {
    /// Send these requests at once and wait for all replies. At least one.
    Call {
        /// The requests.
        requests: Vec<Request>,
        /// What to remember.
        state: S,
    },
    /// Hold the worker for this long (a poll of the cache), and be resumed without replies.
    Wait {
        /// How long; not zero.
        span: Span,
        /// What to remember.
        state: S,
    },
    /// The reconcile is over.
    Finish(Outcome),
}

/// How a reconcile ended.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// Well: Forget, and add the key again after the span if one is given.
    Done {
        /// Look again after this long.
        requeue_after: Option<Span>,
    },
    /// Well, but it has to run again: add it rate-limited, without Forget (controller-runtime's `Requeue: true`).
    Requeue,
    /// In vain for good: the key is dropped, its failures are not forgotten (controller-runtime's `TerminalError`).
    TerminalError {
        /// What went wrong.
        message: String,
    },
    /// Badly: add it rate-limited. The text goes into the trace.
    Error {
        /// Look again after this long, besides the retry (a controller that called AddAfter before it failed);
        /// controller-runtime ignores it.
        requeue_after: Option<Span>,
        /// What went wrong.
        message: String,
    },
}

impl Outcome {
    /// Ended well, nothing to look at later.
    pub const DONE: Outcome = Outcome::Done { requeue_after: None };

    /// Ended in an error.
    pub fn error(message: impl Into<String>) -> Outcome {
        Outcome::Error { requeue_after: None, message: message.into() }
    }
}
