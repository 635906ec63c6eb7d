//! How long pods stay on nodes that are not ready or unreachable. The typed twin is
//! [`crate::rules::admission::admitted_spec`].
//!
//! Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go, v1.36.

use serde_json::{Value, json};

use crate::rules::admission::{DEFAULT_TOLERATION_SECONDS, NOT_READY, UNREACHABLE};
use crate::rules::codec::json::object_at;

/// Adds the two tolerations that a pod does not bring itself. Values and operators are not looked at.
pub fn add_defaults(pod: &mut Value) {
    let Some(spec) = object_at(pod, &["spec"]) else { return };
    let Some(list) = spec.entry("tolerations").or_insert_with(|| json!([])).as_array_mut() else { return };
    let given = list.clone();
    let has = |key: &str| {
        given.iter().any(|toleration| {
            let text = |field: &str| toleration[field].as_str().unwrap_or_default();
            (text("key").is_empty() || text("key") == key) && matches!(text("effect"), "" | "NoExecute")
        })
    };
    for key in [NOT_READY, UNREACHABLE] {
        if !has(key) {
            list.push(json!({"key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": DEFAULT_TOLERATION_SECONDS}));
        }
    }
}
