//! `spec.faults`: what happens to the world. Here what all faults share; when and how often they begin is in `beginning`, the
//! words for each kind are in `watches`, `requests` and `processes`, what they are aimed at in `target`.

mod beginning;
mod processes;
mod requests;
mod target;
#[cfg(test)]
mod tests;
mod watches;

use super::diagnostic::Code;
use super::entry::Entry;
use super::fault_hosts;
use crate::sim::plan::{FaultAction, FaultPlan};

/// An item of `spec.faults`.
#[derive(Clone, Debug)]
pub struct FaultEntry {
    /// Path of the item.
    pub path: String,
    /// The fault.
    pub plan: FaultPlan,
    /// What the user should know about it.
    pub notices: Vec<String>,
}

/// A fault's action, and what a person reads of it.
struct Read {
    action: FaultAction,
    text: String,
    notices: Vec<String>,
}

impl Read {
    fn new(action: FaultAction, text: String) -> Option<Read> {
        Some(Read { action, text, notices: Vec::new() })
    }
}

pub(super) use processes::process_that;

type Reader = fn(&Entry<'_>) -> Option<Read>;

/// The words for what happens. A word of this list stands once in each fault.
const ACTIONS: [(&str, Reader); 20] = [
    ("dropWatchEvents", watches::drop),
    ("duplicateWatchEvents", watches::duplicate),
    ("delayWatch", watches::delay),
    ("reorderWatches", watches::reorder),
    ("cutWatch", watches::cut),
    ("stallWatch", watches::stall),
    ("reconnect", processes::reconnect),
    ("respond", requests::respond),
    ("refuseConnections", requests::refuse),
    ("loseReplies", requests::lose_replies),
    ("delayReplies", requests::delay_replies),
    ("slowRequests", requests::slow),
    ("partition", processes::partition),
    ("apiServer", processes::api_server),
    ("crash", processes::crash),
    ("kill", processes::kill),
    ("restart", processes::restart),
    ("oomKill", processes::oom_kill),
    ("pause", |entry| hosts(fault_hosts::pause(entry, true))),
    ("clock", |entry| hosts(fault_hosts::clock(entry))),
];

/// Reads a fault.
pub fn read(entry: &Entry<'_>) -> Option<FaultEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["network", "node", "throttle", "crashLoop"]);
    // A name lets `set` address the fault, and keeps its draws when other faults are added.
    let name = fields.get("name").and_then(|name| super::file::label(&name));
    let begins = beginning::read(&mut fields);
    let duration_entry = fields.get("duration");
    let duration = duration_entry.as_ref().map(Entry::duration);
    let repeat = beginning::repeat(&mut fields, duration.flatten());
    let words: Vec<&'static str> = ACTIONS.iter().map(|(word, _)| *word).collect();
    let action = fields.one_of(&words);
    fields.finish();
    let (word, inner) = action?;
    let (_, reader) = ACTIONS.iter().find(|(known, _)| *known == word)?;
    let Read { action, text, notices } = match word {
        "pause" => hosts(fault_hosts::pause(&inner, duration.is_some())),
        _ => reader(&inner),
    }?;
    // What was given and could not be read is not missing.
    let duration = match duration {
        Some(read) => Some(read?),
        None => None,
    };
    if let (Some(entry), Some((message, help))) = (&duration_entry, without_duration(word, &inner)) {
        entry.problem(Code::Contradiction, message, Some(help.into()));
        return None;
    }
    let (beginning::Begins { at, when, after }, repeat) = (begins?, repeat?);
    let name = name.unwrap_or_else(|| word.to_string());
    let plan = FaultPlan { name, at, when, after, repeat, duration, action, text };
    Some(FaultEntry { path: entry.path.clone(), plan, notices })
}

/// What readers of faults of hosts give.
fn hosts(read: Option<(FaultAction, String)>) -> Option<Read> {
    let (action, text) = read?;
    Read::new(action, text)
}

/// Why a fault has no duration, and what to do about it.
fn without_duration(word: &str, entry: &Entry<'_>) -> Option<(&'static str, &'static str)> {
    let says = |field: &str| ["kill", "restart"].contains(&word) && entry.value.get(field).is_some();
    let both = "`duration` and `restartAfter` both say when the process is back: give one of them";
    if says("task") {
        return Some(("`duration` goes with no `task`", "a task that is killed does not come back: leave it out"));
    }
    says("restartAfter").then_some(("`duration` goes with no `restartAfter`", both))
}
