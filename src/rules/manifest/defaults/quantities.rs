//! Amounts of resources in their canonical text.

use serde_json::Value;

use crate::rules::quantity::Quantity;

/// Puts quantities into their canonical text; what is finer than a thousandth is rounded up to it.
///
/// Upstream: pkg/apis/core/v1/defaults.go, `SetDefaults_ResourceList`, v1.36.
pub fn tidy_quantities(list: Option<&mut Value>) {
    for (_, value) in list.and_then(Value::as_object_mut).into_iter().flatten() {
        let text = match &*value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        if let Ok(quantity) = Quantity::parse(&text) {
            let rounded = Quantity::from_milli(quantity.milli_value());
            let is_finer = rounded != quantity && quantity.milli_value() != i64::MAX;
            *value = Value::String(if is_finer { rounded.to_string() } else { quantity.to_string() });
        }
    }
}
