//! The controllers: pure functions first.

mod timeline;

pub use timeline::replay;

use serde_json::{Value, json};

use crate::case::{Disagreement, compare, field, int};
use kubesim::controllers::deployment::fenceposts;
use kubesim::model::IntOrPercent;

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
