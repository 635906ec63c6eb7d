//! Faults of the hosts that processes run on: clocks and standstills.

use super::diagnostic::Code;
use super::entry::Entry;
use super::faults::process_that;
use super::replicas;
use crate::model::Span;
use crate::sim::plan::FaultAction;

/// What a component has of its own in this: nothing.
const SHARES: &str = "shares the host of its process";

/// Reads `pause: PROCESS`, with what the trace says of it.
pub fn pause(entry: &Entry<'_>, has_duration: bool) -> Option<(FaultAction, String)> {
    let process = process_that(entry, SHARES)?;
    if !has_duration {
        let help = "give the fault a `duration`; a process that never comes back is one that is killed";
        entry.problem(Code::MissingField, "a pause needs a `duration`", Some(help.into()));
        return None;
    }
    Some((FaultAction::Pause { process }, format!("pause {}", entry.text()?)))
}

/// Reads `clock: {of, step, rate, monotonic}`, with what the trace says of it.
pub fn clock(entry: &Entry<'_>) -> Option<(FaultAction, String)> {
    let mut fields = entry.fields()?;
    let of = fields.require("of");
    let step_entry = fields.get("step");
    let rate_entry = fields.get("rate");
    let monotonic = fields.get("monotonic").and_then(|entry| entry.truth()).unwrap_or(true);
    fields.finish();
    let step = step_entry.as_ref().map(Entry::signed_duration);
    let rate = rate_entry.as_ref().map(replicas::read_rate);
    let process = of.as_ref().and_then(|of| process_that(of, SHARES))?;
    if step.is_none() && rate.is_none() {
        let help = "for example `step: 1h`, or `rate: 1.1` with a `duration`";
        entry.problem(Code::MissingField, "`step` or `rate` must be given", Some(help.into()));
        return None;
    }
    let step = step.unwrap_or(Some(Span::ZERO))?;
    let rate = match rate {
        Some(read) => Some(read?),
        None => None,
    };
    let mut text = format!("clock of {}", of?.text()?);
    if step != Span::ZERO {
        text.push_str(&format!(" stepped by {step}"));
    }
    if let Some(rate) = rate {
        text.push_str(&format!(" at rate {rate}"));
    }
    Some((FaultAction::Clock { process, step, rate, monotonic }, text))
}
