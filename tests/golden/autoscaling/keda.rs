//! KEDA: triggers, the executor, ScaledJobs, and the loop of KEDA and the HPA together.

mod executor;
mod hpa_below;
mod loops;
mod scaled_job;
mod triggers;

pub use executor::executor;
pub use loops::keda_loop;
pub use scaled_job::scaled_job;
pub use triggers::triggers;

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, int};
use kubesim::autoscaling::keda::scaled_object::ScaledObject;
use kubesim::autoscaling::keda::status::{Condition, Status};
use kubesim::model::Time;

/// Seconds of a recording as an instant.
fn instant(seconds: f64) -> Time {
    Time((seconds * 1e9).round() as i64)
}

fn read_spec(spec: &Value) -> Result<ScaledObject, Disagreement> {
    ScaledObject::from_spec(spec).map_err(|error| Disagreement::new("a spec we can read", error))
}

fn replicas(value: &Value, name: &str) -> Result<i32, Disagreement> {
    i32::try_from(int(value, name)?).map_err(|error| Disagreement::new("a 32-bit number", error))
}

fn status_and_reason(condition: &Condition) -> String {
    format!("{}/{}", condition.status.as_str(), condition.reason)
}

/// Conditions as the recordings write them.
fn conditions(status: &Status) -> Value {
    let mut found = Map::new();
    for (name, condition) in [
        ("Active", Some(&status.active)),
        ("Fallback", Some(&status.fallback)),
        ("HPAActive", status.hpa_active.as_ref()),
        ("Paused", Some(&status.paused)),
        ("Ready", Some(&status.ready)),
    ] {
        if let Some(condition) = condition {
            found.insert(name.to_string(), json!(status_and_reason(condition)));
        }
    }
    Value::Object(found)
}
