//! `spec.faults`: what happens to the world.

use super::defaults;
use super::diagnostic::Code;
use super::distribution;
use super::entry::{Entry, Fields};
use super::fault_hosts;
use super::references;
use crate::sim::plan::{DropStage, FaultAction, FaultPlan, ProcessRef, WatchEventType};

/// An item of `spec.faults`.
#[derive(Clone, Debug)]
pub struct FaultEntry {
    /// Path of the item.
    pub path: String,
    /// The fault.
    pub plan: FaultPlan,
}

const ACTIONS: [&str; 6] = ["dropWatchEvents", "delayWatch", "kill", "restart", "pause", "clock"];

/// Reads a fault.
pub fn read(entry: &Entry<'_>) -> Option<FaultEntry> {
    let mut fields = entry.fields()?;
    fields.later(&["apiServer", "network", "node", "throttle", "cutWatch", "stallWatch", "every", "crashLoop", "when"]);
    // A name lets `set` address the fault.
    fields.get("name").and_then(|name| super::file::label(&name));
    let at = fields.require("at").and_then(|at| at.duration());
    let duration = fields.get("duration").map(|duration| duration.duration());
    let action = fields.one_of(&ACTIONS);
    fields.finish();
    let (name, inner) = action?;
    let (action, text) = match name {
        "dropWatchEvents" => drop_watch_events(&inner)?,
        "delayWatch" => delay_watch(&inner)?,
        "pause" => fault_hosts::pause(&inner, duration.is_some())?,
        "clock" => fault_hosts::clock(&inner)?,
        _ => {
            let process = whole_process(&inner)?;
            let text = format!("{name} {}", inner.text()?);
            match name {
                "kill" => (FaultAction::Kill { process, restart_after: defaults::KILL_RESTART_AFTER }, text),
                _ => (FaultAction::Stop { process, restart_after: defaults::RESTART_AFTER }, text),
            }
        }
    };
    // A duration that was given and could not be read is no missing duration.
    let duration = match duration {
        Some(read) => Some(read?),
        None => None,
    };
    Some(FaultEntry { path: entry.path.clone(), plan: FaultPlan { at: at?, duration, action, text } })
}

pub(super) fn whole_process(entry: &Entry<'_>) -> Option<ProcessRef> {
    let reference = references::process(entry)?;
    if let Some(component) = &reference.component {
        let message = format!("`{component}` dies with its process only");
        entry.problem(Code::UnknownProcess, message, Some(format!("write `{}`", reference.process)));
        return None;
    }
    Some(reference)
}

fn drop_watch_events(entry: &Entry<'_>) -> Option<(FaultAction, String)> {
    let mut fields: Fields<'_> = entry.fields()?;
    fields.later(&["probability", "selector", "namespace"]);
    let to_entry = fields.require("to");
    let kind_entry = fields.require("kind");
    let types = [WatchEventType::Added, WatchEventType::Modified, WatchEventType::Deleted]
        .map(|event_type| (event_type.as_str(), event_type));
    let event_type = fields.get("type").map(|entry| entry.word(&types));
    let name = fields.get("name").and_then(|entry| entry.text().map(str::to_string));
    let stages = [("store", DropStage::Store), ("handler", DropStage::Handler)];
    let stage = fields.require("stage").and_then(|entry| entry.word(&stages));
    let count = fields.get("count").and_then(|entry| entry.whole(1..=i64::MAX)).map(|count| count as u64);
    fields.finish();
    let to = to_entry.as_ref().and_then(references::process);
    let kind = kind_entry.as_ref().and_then(references::kind);
    let (mut to, kind, stage) = (to?, kind?, stage?);
    let event_type = match event_type {
        Some(read) => Some(read?),
        None => None,
    };
    check_watched(&to, kind, kind_entry.as_ref()?)?;
    // The cache belongs to the process: an event that is lost before it is lost for all its components.
    if stage == DropStage::Store {
        to.component = None;
    }
    let which = event_type.map_or("events", |event_type| event_type.as_str());
    let place = if stage == DropStage::Store { "before the cache" } else { "after the cache" };
    let text = format!("drop {} {which} to {} {place}", kind.as_str(), to_entry?.text()?);
    Some((FaultAction::DropWatchEvents { to, kind, event_type, name, stage, count }, text))
}

fn delay_watch(entry: &Entry<'_>) -> Option<(FaultAction, String)> {
    let mut fields = entry.fields()?;
    let to_entry = fields.require("to");
    let kind_entry = fields.get("kind");
    let by_entry = fields.require("by");
    fields.finish();
    let to = to_entry.as_ref().and_then(references::process);
    let kind = kind_entry.as_ref().map(references::kind);
    let by = by_entry.as_ref().and_then(distribution::read);
    let (mut to, by) = (to?, by?);
    let kind = match kind {
        Some(read) => Some(read?),
        None => None,
    };
    if let (Some(kind), Some(entry)) = (kind, &kind_entry) {
        check_watched(&to, kind, entry)?;
    }
    to.component = None;
    let shown = by_entry?.value.to_string().replace('"', "");
    let what = kind.map_or("watches", |kind| kind.as_str());
    Some((FaultAction::DelayWatch { to, kind, by }, format!("delay {what} to {} by {shown}", to_entry?.text()?)))
}

fn check_watched(to: &ProcessRef, kind: crate::model::Kind, entry: &Entry<'_>) -> Option<()> {
    let watched = references::watched(to);
    if watched.contains(&kind) {
        return Some(());
    }
    let who = to.component.as_ref().unwrap_or(&to.process);
    let list: Vec<&str> = watched.iter().map(|kind| kind.as_str()).collect();
    let message = format!("`{who}` does not watch {kind}: nothing would be lost");
    entry.problem(Code::BadValue, message, Some(format!("it watches {}", list.join(", "))));
    None
}
