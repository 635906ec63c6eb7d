//! The REST client: calls against a scripted server, the times of their attempts and their results compared.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::case::{Disagreement, compare_lists, count, float, int, list, only_fields, text};
use kubesim::client::rest::{Call, CallVerb, ClientLimit, Departure, Lost, Next, Received};
use kubesim::client::token_bucket::TokenBucket;
use kubesim::model::{Span, Time};

/// `calls` against `server` -> `expect`.
pub fn restclient(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["qps", "burst", "timeout_ns", "calls", "server", "expect"])?;
    let expected = list(case, "expect")?;
    let mut got = outcomes(case)?;
    for (expected, got) in expected.iter().zip(&mut got) {
        // The limiter's refusal to wait that long speaks of the deadline too; its text is not part of the schema.
        let is_deadline = expected["result"].as_str().is_some_and(|result| result.contains("deadline"));
        if is_deadline && got["result"] == THROTTLED {
            got["result"] = expected["result"].clone();
        }
    }
    compare_lists("expect", expected, &got, 0.0)
}

/// The result of a call whose next attempt would wait for its token beyond the call's deadline.
const THROTTLED: &str = "throttled";

/// What came of each call.
pub fn outcomes(case: &Value) -> Result<Vec<Value>, Disagreement> {
    let mut replay = Replay {
        limiter: ClientLimit { qps: float(case, "qps")? as f32, burst: count(case, "burst")? }.bucket(),
        calls: Vec::new(),
        happenings: BTreeMap::new(),
        sequence: 0,
    };
    // A Config without a time-out says 0.
    let timeout = case.get("timeout_ns").map(|_| int(case, "timeout_ns").map(Span)).transpose()?;
    let timeout = timeout.filter(|timeout| *timeout > Span::ZERO);
    let servers = list(case, "server")?;
    for (index, call) in list(case, "calls")?.iter().enumerate() {
        only_fields(call, &["t", "verb"])?;
        let verb = match text(call, "verb")? {
            "GET" | "LIST" => CallVerb::Get,
            "WATCH" => CallVerb::Watch,
            "POST" | "PUT" | "PATCH" | "DELETE" => CallVerb::Write,
            other => return Err(Disagreement::new("a known verb", other)),
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
    Ok(replay.calls.iter().map(CallState::as_json).collect())
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
    /// The time of an attempt is over.
    CutOff(usize),
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
        | Happening::CutOff(index)
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
                    Departure::TooLate => state.end = Some((now, THROTTLED.to_owned())),
                }
            }
            Happening::Leaves(_) => {
                state.attempts_t.push(now.0);
                let latency = Span(int(state.answer()?, "latency_ns")?);
                let limit = state.call.attempt_timeout().filter(|limit| *limit < latency);
                let happening = if limit.is_some() { Happening::CutOff(index) } else { Happening::Answered(index) };
                self.schedule(now + limit.unwrap_or(latency), happening);
            }
            Happening::Answered(_) | Happening::CutOff(_) => {
                let (received, result) = match happening {
                    Happening::Answered(_) => read_answer(state.answer()?)?,
                    _ => (Received::Lost(Lost::TimedOut), "deadline".to_owned()),
                };
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
    only_fields(answer, &["latency_ns", "status", "retry_after_s", "err"])?;
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
    let retry_after_seconds = match answer.get("retry_after_s") {
        None => None,
        // The header as it stands: whole seconds. A date is not understood, as if there were no header.
        Some(Value::String(header)) => header.parse::<i64>().ok(),
        Some(_) => Some(int(answer, "retry_after_s")?),
    };
    // A wait below zero is over at once.
    let retry_after_seconds = retry_after_seconds.map(|seconds| u32::try_from(seconds.max(0)).unwrap_or(u32::MAX));
    let result = if code < 400 { "ok".to_owned() } else { code.to_string() };
    Ok((Received::Status { code, retry_after_seconds }, result))
}
