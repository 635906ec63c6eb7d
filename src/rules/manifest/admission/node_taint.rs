//! The taint of new nodes. The typed twin is [`crate::rules::admission::admit_node`].
//!
//! Upstream: plugin/pkg/admission/nodetaint/admission.go, v1.36.

use serde_json::{Value, json};

use crate::rules::admission::NOT_READY;
use crate::rules::codec::json::object_at;

/// Adds the taint of nodes that are not ready, which the node lifecycle controller takes off.
pub fn add(node: &mut Value) {
    let Some(spec) = object_at(node, &["spec"]) else { return };
    let Some(taints) = spec.entry("taints").or_insert_with(|| json!([])).as_array_mut() else { return };
    if !taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == "NoSchedule") {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
    }
}
