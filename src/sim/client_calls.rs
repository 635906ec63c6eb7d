//! The client's side of a request after it has left: its answer, further attempts, its time-out.
//!
//! What is tried again, and when, is decided by [`crate::client::rest`]; here the attempts are carried.

use crate::client::process::ClientKey;
use crate::client::rest::{Call, CallVerb, Departure, Lost, Next, Received};
use crate::engine::calendar::{EventId, Nature};
use crate::model::api::Reason;
use crate::model::record::{ATTEMPT, Detail, HELD_BACK};
use crate::model::{Action, Answer, ApiError, ApiResult, Cause, Request, Span};

use super::event::{Event, RequestId};
use super::streams::EMPTY_STREAM;
use super::world::World;

/// Waits for a token from this length on are worth a word in the trace.
///
/// Upstream: k8s.io/client-go rest/request.go (`longThrottleLatency`), v1.36.
const LONG_THROTTLE: Span = Span::from_milliseconds(50);

/// What a client keeps of a request that is on its way.
#[derive(Clone, Debug)]
pub struct ClientCall {
    /// Its attempts.
    pub call: Call,
    /// The client that sends them.
    pub client: ClientKey,
    /// Verb of the request, which itself goes to the server.
    pub verb: &'static str,
    /// How long the present attempt waited for a token.
    pub throttled: Span,
    /// The event that ends the call when its time is over.
    pub time_out: Option<EventId>,
    /// The event of the next attempt, while the call waits for it.
    pub next_attempt: Option<EventId>,
    /// The caller has its answer already (the call timed out), or has died: what arrives finds nobody.
    pub is_given_up: bool,
}

impl ClientCall {
    /// A call that has not left.
    pub fn new(request: &Request, client: ClientKey, timeout: Option<Span>) -> ClientCall {
        ClientCall {
            call: Call::new(CallVerb::of(request), timeout),
            client,
            verb: request.verb(),
            throttled: Span::ZERO,
            time_out: None,
            next_attempt: None,
            is_given_up: false,
        }
    }

    /// Words for the record of an attempt: which it is, or how long the client held it back.
    pub fn detail(&self) -> Detail {
        match self.call.attempts() {
            1 if self.throttled < LONG_THROTTLE => Detail::None,
            1 => Detail::Span(HELD_BACK, Span(self.throttled.0 / 1_000_000 * 1_000_000)),
            attempts => Detail::Number(ATTEMPT, i64::from(attempts)),
        }
    }
}

impl World {
    /// An answer arrives: the client gives it to its caller, or tries again.
    pub(super) fn reply_arrives(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        if flight.client.is_given_up || !self.processes[flight.process].is(flight.incarnation) {
            return self.forget_call(id);
        }
        let method = method(flight.client.verb);
        let code = flight.result.as_ref().map_or(0, |result| code_of(method, result));
        let answer = match &flight.result {
            Some(Err(error)) => flight.client.call.answered(received(error)),
            _ => Next::Return,
        };
        let process = flight.process;
        *self.processes[process].client_requests.entry((method, code)).or_insert(0) += 1;
        match answer {
            Next::Retry(wait) => self.retry_after(id, wait),
            Next::Return => self.answer_caller(id),
            Next::EmptyStream => {
                self.requests.get_mut(id).result = Some(Ok(Answer::Stream(EMPTY_STREAM)));
                self.answer_caller(id);
            }
        }
    }

    fn answer_caller(&mut self, id: RequestId) {
        let request = self.requests.remove(id);
        if let Some(time_out) = request.client.time_out {
            self.calendar.cancel(time_out);
        }
        self.deliver_reply(request);
    }

    /// Nobody waits for this request any more.
    pub(super) fn forget_call(&mut self, id: RequestId) {
        let request = self.requests.remove(id);
        for event in [request.client.time_out, request.client.next_attempt].into_iter().flatten() {
            self.calendar.cancel(event);
        }
    }

    /// Another attempt follows after a wait.
    fn retry_after(&mut self, id: RequestId, wait: Span) {
        let flight = self.requests.get_mut(id);
        let attempt = flight.client.call.attempts() + 1;
        let Some(Err(error)) = flight.result.take() else { unreachable!("only failures are tried again") };
        let text = format!("attempt {attempt} in {wait}: {}", code_words(&error));
        let record = self.note_call(id, Action::Retry, text);
        let at = self.calendar.now() + wait;
        let event = self.calendar.schedule(at, Nature::Work, Event::RequestRetries(id));
        let flight = self.requests.get_mut(id);
        flight.cause = record;
        flight.client.next_attempt = Some(event);
    }

    /// The wait is over: the attempt takes a token like any request, and leaves.
    pub(super) fn request_retries(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        flight.client.next_attempt = None;
        if !self.processes[flight.process].is(flight.incarnation) {
            return self.forget_call(id);
        }
        match self.next_departure(id) {
            Departure::After(wait) => self.depart(id, wait),
            Departure::TooLate => {
                let words = "client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline";
                self.requests.get_mut(id).result = Some(Err(ApiError::new(Reason::DeadlineExceeded, words)));
                self.answer_caller(id);
            }
        }
    }

    /// The time of a call is over: its caller is told, whatever the server still does with it.
    pub(super) fn request_times_out(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        flight.client.time_out = None;
        if !self.processes[flight.process].is(flight.incarnation) {
            return;
        }
        let record = self.note_call(id, Action::Retry, "given up: context deadline exceeded".to_string());
        let mut answer = self.requests.get_mut(id).clone();
        answer.result = Some(Err(ApiError::new(Reason::DeadlineExceeded, "context deadline exceeded")));
        answer.cause = record;
        self.give_up_call(id);
        *self.processes[answer.process].client_requests.entry((method(answer.client.verb), 0)).or_insert(0) += 1;
        self.deliver_reply(answer);
    }

    /// Nobody waits for the answer any more: there are no further attempts.
    pub(super) fn give_up_call(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        flight.client.is_given_up = true;
        if flight.client.next_attempt.is_some() {
            return self.forget_call(id);
        }
        self.leave_queue(id);
    }

    /// Makes a record in the name of the caller of a request.
    fn note_call(&mut self, id: RequestId, action: Action, text: String) -> Cause {
        let flight = self.requests.get_mut(id);
        let (process, cause) = (flight.process, flight.cause);
        let key = Some(flight.request.key()).filter(|key| !key.name.is_empty());
        let record = self.note(cause, Some(process), action, key, text);
        self.name_component(id);
        record
    }
}

/// What the client makes of a failure.
fn received(error: &ApiError) -> Received {
    match error.reason {
        Reason::ConnectionLost => Received::Lost(Lost::Reset),
        Reason::ConnectionRefused => Received::Lost(Lost::Refused),
        Reason::DeadlineExceeded | Reason::Canceled => Received::Lost(Lost::TimedOut),
        _ => Received::Status { code: error.code(), retry_after_seconds: error.retry_after_seconds },
    }
}

fn code_words(error: &ApiError) -> String {
    match error.code() {
        0 => error.message.clone(),
        code => format!("{code} {:?}", error.reason),
    }
}

/// The HTTP status of an answer; 0 without one (`<error>` in metrics).
fn code_of(method: &'static str, result: &ApiResult) -> u16 {
    match result {
        Ok(_) if method == "POST" => 201,
        Ok(_) => 200,
        Err(error) => error.code(),
    }
}

/// The HTTP method of a verb.
fn method(verb: &'static str) -> &'static str {
    if matches!(verb, "LIST" | "WATCH") { "GET" } else { verb }
}
