//! Faults of watch streams.

use super::Read;
use super::requests::shown;
use super::target::{self, Aimed, check_watched, given, written};
use crate::model::Kind;
use crate::scenario::distribution;
use crate::scenario::entry::Entry;
use crate::scenario::references;
use crate::sim::plan::{
    Cut, CutWatch, DelayWatch, DropStage, DropWatchEvents, DuplicateWatchEvents, FaultAction, ProcessRef,
    ReorderWatches, StallWatch, WatchTarget,
};

const STAGES: [(&str, DropStage); 2] = [("store", DropStage::Store), ("handler", DropStage::Handler)];

pub(super) fn drop(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let aimed = target::watch_target(&mut fields);
    let stage = fields.require("stage").and_then(|entry| entry.word(&STAGES));
    let occurrences = target::occurrences(&mut fields);
    fields.finish();
    let aimed = aimed();
    let (Aimed { mut target, kind, to }, stage, occurrences) = (aimed?, stage?, occurrences?);
    // The cache belongs to the process: an event that is lost before it is lost for all its components.
    if stage == DropStage::Store {
        target.to.component = None;
    }
    let which = target.event_type.map_or("events", |event_type| event_type.as_str());
    let place = if stage == DropStage::Store { "before the cache" } else { "after the cache" };
    let text = format!("drop {} {which} to {to} {place}", kind.as_str());
    Read::new(FaultAction::DropWatchEvents(DropWatchEvents { target, stage, occurrences }), text)
}

pub(super) fn duplicate(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let aimed = target::watch_target(&mut fields);
    let copies = given(fields.get("copies"), |entry| entry.whole(1..=1_000));
    let occurrences = target::occurrences(&mut fields);
    fields.finish();
    let aimed = aimed();
    let (Aimed { mut target, kind, to }, copies, occurrences) = (aimed?, copies?, occurrences?);
    let notices = shared(&target.to, &[kind], "come twice", entry);
    target.to.component = None;
    let which = target.event_type.map_or("events", |event_type| event_type.as_str());
    let text = format!("repeat {} {which} to {to}", kind.as_str());
    let copies = copies.unwrap_or(1) as u32;
    let action = FaultAction::DuplicateWatchEvents(DuplicateWatchEvents { target, occurrences, copies });
    Some(Read { action, text, notices })
}

pub(super) fn delay(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let kind = fields.get("kind");
    let aimed = target::any_watch_target(&mut fields, kind);
    let stage = given(fields.get("stage"), |entry| entry.word(&STAGES));
    let by_entry = fields.require("by");
    let occurrences = target::occurrences(&mut fields);
    fields.finish();
    let aimed = aimed();
    let by = by_entry.as_ref().and_then(distribution::read);
    let (mut target, stage, by, occurrences) = (aimed?, stage?, by?, occurrences?);
    let stage = stage.unwrap_or(DropStage::Store);
    let text = format!("delay {} by {}", late(&target, stage), shown(&by_entry?));
    let mut notices = Vec::new();
    if stage == DropStage::Store {
        let all = |kind: Option<Kind>| kind.map_or_else(|| references::watched(&target.to, entry.known), |of| vec![of]);
        notices = shared(&target.to, &all(target.object.kind), "are delayed", entry);
        target.to.component = None;
    }
    let action = FaultAction::DelayWatch(DelayWatch { target, stage, occurrences, by });
    Some(Read { action, text, notices })
}

/// What is late, in words.
fn late(target: &WatchTarget, stage: DropStage) -> String {
    let mut what = target.object.kind.map_or("watches", Kind::as_str).to_string();
    if let Some(event_type) = target.event_type {
        what = format!("{what} {}", event_type.as_str());
    }
    for narrower in [&target.object.name, &target.object.selector].into_iter().flatten() {
        what = format!("{what} {narrower}");
    }
    let place = if stage == DropStage::Handler { " after the cache" } else { "" };
    format!("{what} to {}{place}", written(&target.to))
}

pub(super) fn reorder(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let to_entry = fields.require("to");
    let kinds_entry = fields.get("kinds");
    let by_entry = fields.require("by");
    let occurrences = target::occurrences(&mut fields);
    fields.finish();
    let to = to_entry.as_ref().and_then(references::process);
    let by = by_entry.as_ref().and_then(distribution::read);
    let (mut to, by, occurrences) = (to?, by?, occurrences?);
    let items = kinds_entry.map_or_else(Vec::new, |entry| entry.items());
    let mut kinds: Vec<Kind> = Vec::new();
    for item in &items {
        let kind = references::kind(item)?;
        check_watched(&to, kind, item)?;
        kinds.push(kind);
    }
    let all = if kinds.is_empty() { references::watched(&to, entry.known) } else { kinds.clone() };
    let notices = shared(&to, &all, "are reordered", entry);
    to.component = None;
    let words: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
    let what = if words.is_empty() { "watches".to_string() } else { words.join(" and ") };
    let text = format!("reorder {what} to {} by {}", to_entry?.text()?, shown(&by_entry?));
    let action = FaultAction::ReorderWatches(ReorderWatches { to, kinds, occurrences, by });
    Some(Read { action, text, notices })
}

pub(super) fn cut(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let (to, kind) = (fields.require("to"), fields.get("kind"));
    let words = [("clean", Cut::Clean), ("error", Cut::Error), ("gone", Cut::Gone)];
    let how = given(fields.get("end"), |entry| entry.word(&words));
    fields.finish();
    let streams = streams(to, kind, "are cut", entry);
    let (Streams { to, kind, text, notices }, how) = (streams?, how?);
    let cut = how.unwrap_or(Cut::Clean);
    let how = match cut {
        Cut::Clean => "",
        Cut::Error => " by an error",
        Cut::Gone => ", resumes are refused",
    };
    let action = FaultAction::CutWatch(CutWatch { to, kind, cut });
    Some(Read { action, text: format!("cut {text}{how}"), notices })
}

pub(super) fn stall(entry: &Entry<'_>) -> Option<Read> {
    let mut fields = entry.fields()?;
    let (to, kind) = (fields.require("to"), fields.get("kind"));
    let idle_timeout = given(fields.get("idleTimeout"), |entry| entry.duration());
    fields.finish();
    let streams = streams(to, kind, "do not come", entry);
    let (Streams { to, kind, text, notices }, idle_timeout) = (streams?, idle_timeout?);
    let action = FaultAction::StallWatch(StallWatch { to, kind, idle_timeout });
    Some(Read { action, text: format!("silence {text}"), notices })
}

/// Streams that a fault is aimed at.
struct Streams {
    to: ProcessRef,
    kind: Option<Kind>,
    text: String,
    notices: Vec<String>,
}

fn streams(to: Option<Entry<'_>>, kind: Option<Entry<'_>>, what: &str, entry: &Entry<'_>) -> Option<Streams> {
    let reference = to.as_ref().and_then(references::process);
    let of = given(kind.clone(), references::kind);
    let (mut reference, of) = (reference?, of?);
    if let (Some(of), Some(entry)) = (of, &kind) {
        check_watched(&reference, of, entry)?;
    }
    let kinds = of.map_or_else(|| references::watched(&reference, entry.known), |of| vec![of]);
    let notices = shared(&reference, &kinds, what, entry);
    let words = of.map_or("all watches".to_string(), |of| format!("the watch of {}", of.info().plural));
    let text = format!("{words} of {}", written(&reference));
    reference.component = None;
    Some(Streams { to: reference, kind: of, text, notices })
}

/// A notice where a fault is aimed at a component that shares its informers: it cannot be hit alone.
fn shared(to: &ProcessRef, kinds: &[Kind], what: &str, entry: &Entry<'_>) -> Vec<String> {
    let Some(component) = &to.component else { return Vec::new() };
    let others = references::components_that_watch(&to.process, kinds);
    let others: Vec<&str> = others.into_iter().filter(|other| other != component).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let (who, process) = (written(to), &to.process);
    let path = &entry.path;
    let others = others.join(" and ");
    vec![format!(
        "{path}: events to `{who}` {what} for {others} as well: a process has one informer a kind (`{process}`)"
    )]
}
