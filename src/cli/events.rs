//! `kubesim events`: Kubernetes Events of a finished run, as `kubectl events` prints them.
//!
//! Upstream: kubectl/pkg/cmd/events/{events,event_printer}.go, v1.36.

use anyhow::{bail, ensure};
use serde_json::Value;

use super::exit::Exit;
use super::inspect::age::since;
use super::inspect::arguments::EventsArguments;
use super::inspect::{self, Instant, request};
use super::table::Table;
use super::{print, print_error};
use crate::model::{Kind, Kinds, Time};

/// Prints events in order of time.
///
/// # Errors
/// The command line cannot be read, or the folder holds no such run.
pub fn run(arguments: &EventsArguments) -> anyhow::Result<Exit> {
    let mut words = arguments.words.clone();
    let folder = inspect::folder(&mut words, arguments.instant.folder.as_deref())?;
    if let Some(word) = words.first() {
        bail!("`{word}`: events are asked for with --for=TYPE/NAME");
    }
    for kind in &arguments.types {
        let is_known = ["Normal", "Warning"].iter().any(|known| known.eq_ignore_ascii_case(kind));
        ensure!(is_known, "valid --types are Normal or Warning");
    }
    let replay = Instant::replay(&folder, &arguments.instant)?;
    let regarding = |text: &str| regarding(text, &replay.plan.kinds);
    let regarding = arguments.regarding.as_deref().map(regarding).transpose()?;
    let instant = Instant::of(&replay, &arguments.instant)?;
    let is_wanted = |event: &Value| {
        let object = &event["involvedObject"];
        regarding.as_ref().is_none_or(|(kind, name)| object["kind"] == kind.as_str() && object["name"] == name.as_str())
            && (arguments.types.is_empty()
                || arguments
                    .types
                    .iter()
                    .any(|one| event["type"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(one))))
    };
    let namespace = arguments.namespaces.of(Kind::Event);
    let mut events = instant.list(Kind::Event, namespace);
    events.retain(is_wanted);
    sort(&mut events);
    if events.is_empty() {
        print_error(&match namespace {
            Some(namespace) => format!("No events found in {namespace} namespace."),
            None => "No events found.".to_string(),
        });
    }
    print(&table(&events, arguments, instant.now()))?;
    Ok(Exit::Done)
}

fn regarding(text: &str, kinds: &Kinds) -> anyhow::Result<(Kind, String)> {
    match text.split_once('/') {
        Some((kind, name)) if !name.is_empty() && !name.contains('/') => {
            Ok((request::kind(kind, kinds)?, name.to_string()))
        }
        _ => bail!("--for must be in resource/name form"),
    }
}

/// Puts events in order of their last time; those of one second stay in order of their versions, which is that of writing.
pub fn sort(events: &mut [Value]) {
    let version =
        |event: &Value| event["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
    events.sort_by_cached_key(|event| (event["lastTimestamp"].as_str().map(str::to_string), version(event)));
}

/// `5m`, or `5m (x3 over 10m)`.
pub fn interval(event: &Value, now: Time) -> String {
    let first = since(&event["firstTimestamp"], now);
    match event["count"].as_i64() {
        Some(count) if count > 1 => format!("{} (x{count} over {first})", since(&event["lastTimestamp"], now)),
        _ => first,
    }
}

fn table(events: &[Value], arguments: &EventsArguments, now: Time) -> String {
    let all = arguments.namespaces.all_namespaces;
    let header = ["NAMESPACE", "LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
    let mut table = if arguments.no_headers { Table::headless() } else { Table::new(&header[usize::from(!all)..]) };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    for event in events {
        let object = &event["involvedObject"];
        let cells = [
            text(&event["metadata"]["namespace"]),
            interval(event, now),
            text(&event["type"]),
            text(&event["reason"]),
            format!("{}/{}", text(&object["kind"]), text(&object["name"])),
            text(&event["message"]).trim().to_string(),
        ];
        table.push(cells.into_iter().skip(usize::from(!all)).collect());
    }
    table.render()
}
