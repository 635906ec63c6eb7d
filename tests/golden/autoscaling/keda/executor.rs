//! Polls with given activity and errors -> replicas, last active time, conditions, events.

use serde_json::{Value, json};

use super::{conditions, instant, read_spec, replicas};
use crate::case::{Disagreement, compare_lists, field, float, list, only_fields};
use kubesim::autoscaling::keda::annotations::Annotations;
use kubesim::autoscaling::keda::executor::{Poll, decide};
use kubesim::autoscaling::keda::status::Status;
use kubesim::model::Time;

pub fn executor(case: &Value) -> Result<(), Disagreement> {
    only_fields(case, &["tag", "spec", "initial_replicas", "raw", "expect"])?;
    let object = read_spec(field(case, "spec")?)?;
    let mut status = Status::new(object.triggers.len());
    let mut current = replicas(case, "initial_replicas")?;
    let mut shown = Value::Null;
    let mut got = Vec::new();
    for raw in list(case, "raw")? {
        only_fields(raw, &["t", "active", "error", "set_replicas"])?;
        if raw.get("set_replicas").is_some() {
            current = replicas(raw, "set_replicas")?;
        }
        let poll = Poll {
            now: instant(float(raw, "t")?),
            current_replicas: current,
            is_active: field(raw, "active")?.as_bool() == Some(true),
            has_error: field(raw, "error")?.as_bool() == Some(true),
        };
        let decision = decide(&object, &Annotations::default(), Time(0), status.last_active, poll);
        let written = decision.replicas.is_some();
        decision.settle(&mut status, written);
        let mut entry = json!({"t": field(raw, "t")?, "from": current});
        current = decision.replicas.unwrap_or(current);
        entry["to"] = json!(current);
        if let Some(last) = status.last_active {
            entry["last_active_s"] = json!(last.0 / 1_000_000_000);
        }
        if conditions(&status) != shown {
            shown = conditions(&status);
            entry["conditions"] = shown.clone();
        }
        if let Some(event) = decision.event(written) {
            let kind = if event.is_warning { "Warning" } else { "Normal" };
            entry["events"] = json!([format!("{kind} {}", event.reason)]);
        }
        got.push(entry);
    }
    compare_lists("expect", list(case, "expect")?, &got, 0.0)
}
