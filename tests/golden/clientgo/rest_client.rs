//! The REST client: calls against a scripted server, the times of their attempts and their results compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Disagreement, compare_lists, count, float, int, list, text};
use kubesim::client::rest::{Call, CallVerb, ClientLimit, Departure, Lost, Next, Received};
use kubesim::client::token_bucket::TokenBucket;
use kubesim::model::{Span, Time};

/// `calls` against `server` -> `expect`.
pub fn restclient(case: &Value) -> Result<(), Disagreement> {
    let mut replay = Replay {
        limiter: ClientLimit { qps: float(case, "qps")? as f32, burst: count(case, "burst")? }.bucket(),
        calls: Vec::new(),
        happenings: BTreeMap::new(),
        sequence: 0,
    };
    let timeout = case.get("timeout_ns").map(|_| int(case, "timeout_ns").map(Span)).transpose()?;
    let servers = list(case, "server")?;
    for (index, call) in list(case, "calls")?.iter().enumerate() {
        let verb = match text(call, "verb")? {
            "GET" | "LIST" => CallVerb::Get,
            "WATCH" => CallVerb::Watch,
            _ => CallVerb::Write,
        };
        let server = servers.get(index).ok_or_else(|| Disagreement::new("a server script for each call", case))?;
        let server = server.as_array().ok_or_else(|| Disagreement::new("a list of answers", server))?;
        let call_state = CallState { call: Call::new(verb, timeout), server, attempts_t: Vec::new(), end: None };
        replay.calls.push(call_state);
        replay.schedule(Time(int(call, "t")?), Happening::Departs(index));
    }
    while let Some(((at, _), happening)) = replay.happenings.pop_first() {
        replay.happens(at, happening)?;
    }
    let got: Vec<Value> = replay.calls.iter().map(CallState::as_json).collect();
    compare_lists("expect", list(case, "expect")?, &got, 0.0)
}

struct Replay<'a> {
    limiter: Option<TokenBucket>,
    calls: Vec<CallState<'a>>,
    happenings: BTreeMap<(Time, usize), Happening>,
    sequence: usize,
}

struct CallState<'a> {
    call: Call,
    server: &'a [Value],
    attempts_t: Vec<i64>,
    end: Option<(Time, String)>,
}

enum Happening {
    /// An attempt asks for a token.
    Departs(usize),
    /// An attempt has its token and is on its way.
    Leaves(usize),
    /// An attempt is answered.
    Answered(usize),
    /// The time of the call is over.
    Deadline(usize),
}

impl Replay<'_> {
    fn schedule(&mut self, at: Time, happening: Happening) {
        self.happenings.insert((at, self.sequence), happening);
        self.sequence += 1;
    }

    fn happens(&mut self, now: Time, happening: Happening) -> Result<(), Disagreement> {
        let (Happening::Departs(index)
        | Happening::Leaves(index)
        | Happening::Answered(index)
        | Happening::Deadline(index)) = happening;
        let state = &mut self.calls[index];
        if state.end.is_some() {
            return Ok(());
        }
        match happening {
            Happening::Departs(_) => {
                let had_deadline = state.call.deadline().is_some();
                match state.call.depart(now, self.limiter.as_mut()) {
                    Departure::After(wait) => {
                        let deadline = state.call.deadline().filter(|_| !had_deadline);
                        self.schedule(now + wait, Happening::Leaves(index));
                        if let Some(deadline) = deadline {
                            self.schedule(deadline, Happening::Deadline(index));
                        }
                    }
                    Departure::TooLate => state.end = Some((now, "throttled".to_owned())),
                }
            }
            Happening::Leaves(_) => {
                state.attempts_t.push(now.0);
                let latency = Span(int(state.answer()?, "latency_ns")?);
                self.schedule(now + latency, Happening::Answered(index));
            }
            Happening::Answered(_) => {
                let (received, result) = read_answer(state.answer()?)?;
                match state.call.answered(received) {
                    Next::Return => state.end = Some((now, result)),
                    Next::EmptyStream => state.end = Some((now, "ok".to_owned())),
                    Next::Retry(wait) => self.schedule(now + wait, Happening::Departs(index)),
                }
            }
            Happening::Deadline(_) => state.end = Some((now, "deadline".to_owned())),
        }
        Ok(())
    }
}

impl CallState<'_> {
    /// What the present attempt gets; the last entry repeats.
    fn answer(&self) -> Result<&Value, Disagreement> {
        let index = self.attempts_t.len().saturating_sub(1);
        self.server.get(index).or(self.server.last()).ok_or_else(|| Disagreement::new("an answer", "none"))
    }

    fn as_json(&self) -> Value {
        let attempts = if self.attempts_t.is_empty() { Value::Null } else { json!(self.attempts_t) };
        let (done_t, result) = self.end.as_ref().map_or((None, None), |(at, result)| (Some(at.0), Some(result)));
        json!({"attempts_t": attempts, "done_t": done_t, "result": result})
    }
}

/// What the client receives, and how the recording names it when it goes to the caller.
fn read_answer(answer: &Value) -> Result<(Received, String), Disagreement> {
    if answer.get("err").is_some() {
        let error = text(answer, "err")?;
        let lost = match error {
            "connection_refused" | "refused" => Lost::Refused,
            "connection_reset" | "reset" => Lost::Reset,
            "eof" | "unexpected_eof" => Lost::Eof,
            "http2_connection_lost" | "http2" => Lost::Http2,
            "timeout" => Lost::TimedOut,
            other => return Err(Disagreement::new("a known network error", other)),
        };
        return Ok((Received::Lost(lost), error.to_owned()));
    }
    let code = u16::try_from(int(answer, "status")?).map_err(|_| Disagreement::new("an HTTP status", answer))?;
    let retry_after_seconds = answer.get("retry_after_s").map(|_| count(answer, "retry_after_s")).transpose()?;
    let result = if code < 400 { "ok".to_owned() } else { code.to_string() };
    Ok((Received::Status { code, retry_after_seconds }, result))
}
