//! `matchLabelKeys` and `mismatchLabelKeys` of a pod, merged into the selectors beside them when it is created.
//!
//! Upstream: pkg/registry/core/pod/strategy.go, `applyMatchLabelKeysAndMismatchLabelKeys` and
//! `applyMatchLabelKeysInTopologySpread`, v1.36.

use serde_json::{Map, Value, json};

use crate::rules::codec::json::objects_mut;

/// Merges the keys of all affinity terms and spread constraints of a pod.
pub fn merge(pod: &mut Value) {
    let labels = pod["metadata"]["labels"].as_object().cloned().unwrap_or_default();
    let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) else { return };
    objects_mut(spec, "topologySpreadConstraints").for_each(|constraint| merge_term(constraint, &labels));
    let Some(affinity) = spec.get_mut("affinity").and_then(Value::as_object_mut) else { return };
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(terms) = affinity.get_mut(kind).and_then(Value::as_object_mut) else { continue };
        objects_mut(terms, "requiredDuringSchedulingIgnoredDuringExecution").for_each(|term| merge_term(term, &labels));
        for weighted in objects_mut(terms, "preferredDuringSchedulingIgnoredDuringExecution") {
            if let Some(term) = weighted.get_mut("podAffinityTerm").and_then(Value::as_object_mut) {
                merge_term(term, &labels);
            }
        }
    }
}

fn merge_term(term: &mut Map<String, Value>, labels: &Map<String, Value>) {
    let keys = |name: &str| term.get(name).and_then(Value::as_array).cloned().unwrap_or_default();
    let expressions =
        [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")].into_iter().flat_map(|(name, operator)| {
            keys(name).into_iter().filter_map(move |key| {
                let value = labels.get(key.as_str()?)?;
                Some(json!({"key": key, "operator": operator, "values": [value]}))
            })
        });
    let expressions: Vec<Value> = expressions.collect();
    let Some(selector) = term.get_mut("labelSelector").and_then(Value::as_object_mut) else { return };
    if expressions.is_empty() {
        return;
    }
    if let Some(list) = selector.entry("matchExpressions").or_insert_with(|| json!([])).as_array_mut() {
        list.extend(expressions);
    }
}
