//! Faults of requests.

use super::Read;
use super::target::{self, given, words};
use crate::faults::respond::CODES;
use crate::faults::slow_requests::Slowness;
use crate::model::time::SECOND_NS;
use crate::rules::suggest;
use crate::scenario::diagnostic::Code;
use crate::scenario::distribution;
use crate::scenario::entry::Entry;
use crate::scenario::schema::shape::Special;
use crate::sim::plan::{DelayReplies, FaultAction, LoseReplies, RefuseConnections, Respond, SlowRequests};

pub(super) fn respond(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let target = target::request_target(&mut fields);
    let occurrences = target::occurrences(&mut fields);
    let code = fields.require("code").and_then(|entry| code(&entry));
    let retry_after = given(fields.get("retryAfter"), whole_seconds);
    let message = given(fields.get("message"), |entry| entry.text().map(str::to_string));
    fields.finish();
    let (target, occurrences, code) = (target?, occurrences?, code?);
    let text = format!("answer {} with {code}", words(&target));
    let respond = Respond { target, occurrences, code, retry_after_seconds: retry_after?, message: message? };
    Read::new(FaultAction::Respond(respond), text)
}

fn code(entry: &Entry<'_>) -> Option<u16> {
    let code = entry.whole(100..=599)?;
    if CODES.iter().any(|(known, ..)| i64::from(*known) == code) {
        return Some(code as u16);
    }
    let known: Vec<String> = CODES.iter().map(|(code, ..)| code.to_string()).collect();
    let help = suggest::help(&code.to_string(), known.iter().map(String::as_str));
    entry.problem(Code::BadValue, format!("no fault answers with {code}"), help);
    None
}

/// `Retry-After` counts whole seconds.
fn whole_seconds(entry: &Entry<'_>) -> Option<u32> {
    let span = entry.duration()?;
    if span.0 % SECOND_NS == 0 {
        return u32::try_from(span.0 / SECOND_NS).ok();
    }
    entry.problem(Code::BadValue, format!("must be whole seconds, not {span}"), None);
    None
}

pub(super) fn refuse(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let target = target::request_target(&mut fields);
    let occurrences = target::occurrences(&mut fields);
    fields.finish();
    let (target, occurrences) = (target?, occurrences?);
    let text = format!("refuse {}", words(&target));
    Read::new(FaultAction::RefuseConnections(RefuseConnections { target, occurrences }), text)
}

pub(super) fn lose_replies(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let target = target::request_target(&mut fields);
    let occurrences = target::occurrences(&mut fields);
    let timeout = given(fields.get("timeout"), Entry::duration);
    fields.finish();
    let (target, occurrences) = (target?, occurrences?);
    let text = format!("lose replies to {}", words(&target));
    Read::new(FaultAction::LoseReplies(LoseReplies { target, occurrences, timeout: timeout? }), text)
}

pub(super) fn delay_replies(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let target = target::request_target(&mut fields);
    let occurrences = target::occurrences(&mut fields);
    let by_entry = fields.require("by");
    fields.finish();
    let by = by_entry.as_ref().and_then(distribution::read);
    let (target, occurrences, by) = (target?, occurrences?, by?);
    let text = format!("delay replies to {} by {}", words(&target), shown(&by_entry?));
    Read::new(FaultAction::DelayReplies(DelayReplies { target, occurrences, by }), text)
}

pub(super) fn slow(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let target = target::request_target(&mut fields);
    let occurrences = target::occurrences(&mut fields);
    let by_entry = fields.require("by");
    fields.finish();
    let slowness = by_entry.as_ref().and_then(slowness);
    let (target, occurrences, slowness) = (target?, occurrences?, slowness?);
    let text = format!("slow {} by {}", words(&target), shown(&by_entry?));
    Read::new(FaultAction::SlowRequests(SlowRequests { target, occurrences, slowness }), text)
}

/// `10x`, or a time that is added.
pub(super) fn slowness(entry: &Entry<'_>) -> Option<Slowness> {
    let Some(factor) = entry.value.as_str().and_then(|text| text.strip_suffix('x')) else {
        return distribution::read(entry).map(Slowness::By);
    };
    entry.is_a(Special::Factor);
    match factor.parse::<f64>() {
        Ok(factor) if (1.0..=1e6).contains(&factor) => Some(Slowness::Factor(factor)),
        _ => {
            let message = format!("must be a factor from 1x to 1000000x, not {}", entry.value);
            entry.problem(Code::BadValue, message, Some("10x is ten times as long, 200ms is so much longer".into()));
            None
        }
    }
}

/// A value as the user wrote it.
pub(super) fn shown(entry: &Entry<'_>) -> String {
    entry.value.to_string().replace('"', "")
}
