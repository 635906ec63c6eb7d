//! The controllers: pure functions first.

mod timeline;

pub use timeline::replay;

use std::rc::Rc;

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, field, int, list, text};
use kubesim::controllers::deployment::fenceposts;
use kubesim::controllers::replica_set::rank;
use kubesim::model::{IntOrPercent, Pod};
use kubesim::rules::cron::{Schedule, zone_named};
use kubesim::rules::{codec, timestamp};

/// replicas, maxSurge, maxUnavailable -> surge, unavailable.
pub fn deployment_fenceposts(case: &Value) -> Result<(), Disagreement> {
    let bound = |name: &str| {
        let value = field(case, name)?;
        IntOrPercent::from_json(value).map_err(|error| Disagreement::new(format!("a readable {name}"), error))
    };
    let desired = i32::try_from(int(case, "replicas")?).map_err(|error| Disagreement::new("a 32-bit number", error))?;
    let (surge, unavailable) = fenceposts::resolve(&bound("maxSurge")?, &bound("maxUnavailable")?, desired);
    let expected = json!({"surge": int(case, "surge")?, "unavailable": int(case, "unavailable")?});
    compare("fenceposts", &expected, &json!({"surge": surge, "unavailable": unavailable}), 0.0)
}

/// Pods of one ReplicaSet and `now` -> the order of their deletion. The related pods are the set itself.
pub fn rs_pod_deletion(case: &Value) -> Result<(), Disagreement> {
    let pods: Vec<Rc<Pod>> = list(case, "pods")?.iter().map(decode_pod).collect::<Result<_, _>>()?;
    let now = text(case, "now")?;
    let now = timestamp::parse(now).ok_or_else(|| Disagreement::new("a timestamp", now))?;
    let order = rank::deletion_order(&pods, &pods, now);
    let names: Vec<&str> = order.into_iter().map(|index| pods[index].meta.name.as_str()).collect();
    compare("deletionOrder", field(case, "deletionOrder")?, &json!(names), 0.0)
}

/// Recorded pods leave out what kind they are, and have no containers but statuses of one.
fn decode_pod(recorded: &Value) -> Result<Rc<Pod>, Disagreement> {
    let mut manifest = recorded.clone();
    manifest["apiVersion"] = json!("v1");
    manifest["kind"] = json!("Pod");
    if manifest["spec"]["containers"].is_null() {
        manifest["spec"]["containers"] = json!([{"name": "c", "image": "c"}]);
    }
    let decoded = codec::decode(&manifest).map_err(|problems| Disagreement::new("a pod", format!("{problems:?}")))?;
    decoded.as_pod().cloned().ok_or_else(|| Disagreement::new("a pod", manifest))
}

/// schedule, zone, `after` -> the times that follow; or whether it can be read.
pub fn cronjob_schedule(case: &Value) -> Result<(), Disagreement> {
    let parsed = Schedule::parse(text(case, "schedule")?);
    if let Some(expected) = case.get("parseError") {
        return compare("parseError", expected, &json!(parsed.is_err()), 0.0);
    }
    let (schedule, named) = parsed.map_err(|error| Disagreement::new("a schedule", error))?;
    let name = Some(text(case, "timeZone")?).filter(|name| !name.is_empty()).unwrap_or("UTC");
    let zone = named.or_else(|| zone_named(name)).ok_or_else(|| Disagreement::new("a time zone", name))?;
    let expected = list(case, "next")?;
    let mut times = Vec::new();
    let mut at = timestamp::parse(text(case, "after")?);
    for _ in expected {
        at = at.and_then(|after| schedule.next(after, &zone));
        times.push(json!(at.map_or("never".to_string(), timestamp::format_seconds)));
    }
    compare("next", &json!(expected), &json!(times), 0.0)
}
