//! When a replay agrees with its recording.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, list};

/// How far times may be apart, seconds.
const TOLERANCE: f64 = 0.005;

/// What is counted beside agreement.
#[derive(Clone, Copy, Default, Debug)]
pub struct Second {
    /// Kubernetes Events are the same, times within the tolerance.
    pub events: bool,
    /// Conflicts are the same, times within the tolerance.
    pub conflicts: bool,
    /// Every actor sent each request as often; `None` where the recording does not say.
    pub requests: Option<bool>,
    /// Every entry is the same, times to 0.1 ms.
    pub exact: bool,
}

impl Second {
    /// What is not the same, in words.
    pub fn first_open(&self) -> Option<&'static str> {
        let counts = [
            (self.events, "Events"),
            (self.conflicts, "conflicts"),
            (self.requests != Some(false), "numbers of requests"),
            (self.exact, "times to 0.1 ms"),
        ];
        counts.into_iter().find(|(is_same, _)| !is_same).map(|(_, name)| name)
    }
}

/// Final state and checkpoints, and each object's changes, who made them and when.
pub fn required(expect: &Value, got: &[Value]) -> Result<(), Disagreement> {
    let timeline = timeline(expect)?;
    let end = last_time(timeline);
    let is_whole = expect.get("timeline").is_some();
    let own: Vec<Value> = got.iter().filter(|entry| is_whole || time(entry) <= end + TOLERANCE).cloned().collect();
    let streams = (streams(timeline, is_change), streams(&own, is_change));
    compare_streams(&streams.0, &streams.1, TOLERANCE)?;
    if let Some(expected) = expect.get("final") {
        // Nodes are there from before the recording.
        compare_state("final", expected, &state_before(expect, got, f64::INFINITY), &[])?;
    }
    for checkpoint in expect["checkpoints"].as_array().into_iter().flatten() {
        let at = time(checkpoint);
        let differs = checkpoint["differs"].as_array().map_or(&[][..], Vec::as_slice);
        let state = state_before(expect, got, at);
        compare_state(&format!("checkpoint {at}"), &checkpoint["state"], &state, differs)?;
    }
    Ok(())
}

/// What else agrees.
pub fn second(expect: &Value, got: &[Value], requests: &BTreeMap<String, u64>) -> Second {
    let Ok(timeline) = timeline(expect) else { return Second::default() };
    let end = last_time(timeline);
    let is_whole = expect.get("timeline").is_some();
    let own: Vec<Value> = got.iter().filter(|entry| is_whole || time(entry) <= end + TOLERANCE).cloned().collect();
    let same = |of: fn(&Value) -> bool, tolerance| {
        compare_streams(&streams(timeline, of), &streams(&own, of), tolerance).is_ok()
    };
    let counts = expect.get("requests").and_then(Value::as_object).map(|expected| {
        // The scheduler watches many kinds that are not simulated.
        let is_ours = |key: &str| !key.starts_with("scheduler watch ") || requests.contains_key(key);
        let expected = expected.iter().filter(|(key, _)| is_ours(key));
        let expected: BTreeMap<&String, u64> = expected.map(|(k, v)| (k, v.as_u64().unwrap_or(0))).collect();
        let got: BTreeMap<&String, u64> = requests.iter().map(|(k, v)| (k, *v)).collect();
        expected == got
    });
    Second {
        events: same(is_event, TOLERANCE),
        conflicts: same(is_conflict, TOLERANCE),
        requests: counts,
        exact: same(|entry| !is_note(entry), 0.000_051),
    }
}

fn timeline(expect: &Value) -> Result<&[Value], Disagreement> {
    list(expect, "timeline").or_else(|_| list(expect, "timelineUntilFirstRace"))
}

fn last_time(timeline: &[Value]) -> f64 {
    timeline.last().map_or(0.0, time)
}

fn time(entry: &Value) -> f64 {
    entry["t"].as_f64().unwrap_or_default()
}

fn is_event(entry: &Value) -> bool {
    entry["o"] == "Event"
}

fn is_conflict(entry: &Value) -> bool {
    entry.get("conflict").is_some()
}

fn is_note(entry: &Value) -> bool {
    entry.get("note").is_some()
}

fn is_change(entry: &Value) -> bool {
    !is_event(entry) && !is_conflict(entry) && !is_note(entry)
}

/// Entries by object; Events by whom they are from and about.
fn streams(entries: &[Value], of: impl Fn(&Value) -> bool) -> BTreeMap<String, Vec<&Value>> {
    let mut streams: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| of(entry)) {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_string();
        let name = match (is_event(entry), is_conflict(entry)) {
            (true, _) => format!("Event {} {} {}", text("on"), text("by"), text("msg")),
            (_, true) => format!("conflict {} {}", text("o"), text("by")),
            _ => text("o"),
        };
        streams.entry(name).or_default().push(entry);
    }
    streams
}

fn compare_streams(
    expected: &BTreeMap<String, Vec<&Value>>,
    got: &BTreeMap<String, Vec<&Value>>,
    tolerance: f64,
) -> Result<(), Disagreement> {
    let mut first: Option<(f64, Disagreement)> = None;
    let names: Vec<&String> = expected.keys().chain(got.keys().filter(|name| !expected.contains_key(*name))).collect();
    for name in names {
        let none = Vec::new();
        let (a, b) = (expected.get(name).unwrap_or(&none), got.get(name).unwrap_or(&none));
        for index in 0..a.len().max(b.len()) {
            let end = json!("(nothing more)");
            let (x, y) = (a.get(index).copied().unwrap_or(&end), b.get(index).copied().unwrap_or(&end));
            if without_time(x) == without_time(y) && (time(x) - time(y)).abs() <= tolerance {
                continue;
            }
            let at = [x, y].into_iter().filter(|entry| entry.is_object()).map(time).fold(f64::INFINITY, f64::min);
            if first.as_ref().is_none_or(|(earliest, _)| at < *earliest) {
                let told = |entry: &Value| format!("{name}[{index}]: {entry}");
                first = Some((at, Disagreement::new(told(x), told(y))));
            }
            break;
        }
    }
    first.map_or(Ok(()), |(_, disagreement)| Err(disagreement))
}

fn without_time(entry: &Value) -> Value {
    let mut entry = entry.clone();
    if let Some(fields) = entry.as_object_mut() {
        fields.remove("t");
    }
    entry
}

/// The state that the entries before an instant make, over the nodes that were there.
fn state_before(expect: &Value, entries: &[Value], before: f64) -> Map<String, Value> {
    let mut state = Map::new();
    let known = expect["final"].as_object().into_iter().chain(
        expect["checkpoints"].as_array().into_iter().flatten().filter_map(|checkpoint| checkpoint["state"].as_object()),
    );
    let made: Vec<&str> =
        entries.iter().filter(|it| it.get("new").is_some()).filter_map(|it| it["o"].as_str()).collect();
    for name in known.flat_map(Map::keys).filter(|name| name.starts_with("Node/") && !made.contains(&name.as_str())) {
        state.insert(name.clone(), json!({"c.Ready": "True/KubeletReady"}));
    }
    for entry in entries.iter().filter(|entry| is_change(entry) && time(entry) < before - 1e-9) {
        let name = entry["o"].as_str().unwrap_or_default().to_string();
        if entry.get("gone").is_some() {
            state.remove(&name);
        } else if let Some(new) = entry.get("new") {
            state.insert(name, new.clone());
        } else if let (Some(object), Some(set)) =
            (state.get_mut(&name).and_then(Value::as_object_mut), entry["set"].as_object())
        {
            for (field, value) in set {
                match value {
                    Value::Null => drop(object.remove(field)),
                    value => drop(object.insert(field.clone(), value.clone())),
                }
            }
        }
    }
    state
}

fn compare_state(
    context: &str,
    expected: &Value,
    got: &Map<String, Value>,
    differs: &[Value],
) -> Result<(), Disagreement> {
    let expected = expected.as_object().cloned().unwrap_or_default();
    for name in expected.keys().chain(got.keys()) {
        if differs.iter().any(|left_out| left_out == name) {
            continue;
        }
        let (a, b) = (expected.get(name), got.get(name));
        if a != b {
            let told = |value: Option<&Value>| format!("{context}: {name}: {}", value.unwrap_or(&json!("(not there)")));
            return Err(Disagreement::new(told(a), told(b)));
        }
    }
    Ok(())
}
