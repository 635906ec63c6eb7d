//! Patches on JSON: merge patch (RFC 7386) and Kubernetes' strategic merge patch.
//!
//! Upstream: apimachinery/pkg/util/strategicpatch/patch.go; merge keys from the `patchMergeKey` tags in
//! api/core/v1/types.go and meta/v1/types.go, v1.36.

use serde_json::{Map, Value};

/// Keys of lists that merge item by item, by the list's field name. Other lists are replaced as a whole: tolerations,
/// taints, match expressions, commands.
const MERGE_KEYS: [(&str, &str); 16] = [
    ("addresses", "type"),
    ("conditions", "type"),
    ("containers", "name"),
    ("env", "name"),
    ("ephemeralContainers", "name"),
    ("hostAliases", "ip"),
    ("imagePullSecrets", "name"),
    ("initContainers", "name"),
    ("ownerReferences", "uid"),
    ("ports", "containerPort"),
    ("readinessGates", "conditionType"),
    ("schedulingGates", "name"),
    ("topologySpreadConstraints", "topologyKey"),
    ("volumeDevices", "devicePath"),
    ("volumeMounts", "mountPath"),
    ("volumes", "name"),
];
/// Lists of texts that merge as sets.
const MERGED_TEXTS: [&str; 1] = ["finalizers"];

/// `target` with a JSON merge patch applied: objects merge, null removes, all else replaces.
pub fn merge(target: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut fields = target.as_object().cloned().unwrap_or_default();
    for (key, change) in changes {
        if change.is_null() {
            fields.shift_remove(key);
        } else {
            let merged = merge(fields.get(key).unwrap_or(&Value::Null), change);
            fields.insert(key.clone(), merged);
        }
    }
    Value::Object(fields)
}

/// `target` with a strategic merge patch applied. `$setElementOrder` is ignored: kept items keep their order, new ones
/// come last.
///
/// # Errors
/// An unknown `$patch` directive, or an item without its list's merge key, with the field's path.
pub fn strategic_merge(target: &Value, patch: &Value) -> Result<Value, String> {
    let Value::Object(changes) = patch else {
        return Err("a strategic merge patch must be an object".into());
    };
    let fields = target.as_object().cloned().unwrap_or_default();
    Ok(merge_object(fields, changes, "")?.map_or(Value::Null, Value::Object))
}

/// `None` when the patch deletes the object.
fn merge_object(
    mut fields: Map<String, Value>,
    changes: &Map<String, Value>,
    path: &str,
) -> Result<Option<Map<String, Value>>, String> {
    match changes.get("$patch").map(Value::as_str) {
        None => {}
        Some(Some("delete")) => return Ok(None),
        Some(Some("replace")) => return Ok(Some(without_directives(changes))),
        Some(Some("merge")) => {}
        Some(other) => return Err(format!("{path}: unknown patch type {other:?}")),
    }
    if let Some(kept) = changes.get("$retainKeys").and_then(Value::as_array) {
        fields.retain(|key, _| kept.iter().any(|kept| kept == key));
    }
    for (key, change) in changes {
        let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            delete_texts(&mut fields, list, change);
        } else if !key.starts_with('$') {
            merge_field(&mut fields, key, change, &at)?;
        }
    }
    Ok(Some(fields))
}

fn merge_field(fields: &mut Map<String, Value>, key: &str, change: &Value, path: &str) -> Result<(), String> {
    let merged = match change {
        Value::Null => None,
        Value::Object(changes) => {
            let current = fields.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
            merge_object(current, changes, path)?.map(Value::Object)
        }
        Value::Array(items) => {
            let current = fields.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
            Some(Value::Array(merge_list(current, items, key, path)?))
        }
        _ => Some(change.clone()),
    };
    match merged {
        Some(value) => {
            fields.insert(key.to_string(), value);
        }
        None => {
            fields.shift_remove(key);
        }
    }
    Ok(())
}

fn merge_list(mut current: Vec<Value>, changes: &[Value], key: &str, path: &str) -> Result<Vec<Value>, String> {
    if MERGED_TEXTS.contains(&key) {
        let new: Vec<_> = changes.iter().filter(|change| !current.contains(change)).cloned().collect();
        current.extend(new);
        return Ok(current);
    }
    let Some(merge_key) = merge_key_of(key, changes) else { return Ok(changes.to_vec()) };
    // `{$patch: replace}` as an item of its own replaces the list by the other items.
    let is_replace = |change: &Value| change["$patch"] == "replace" && change.get(merge_key).is_none();
    if changes.iter().any(is_replace) {
        return Ok(changes.iter().filter(|change| !is_replace(change)).cloned().collect());
    }
    for change in changes {
        let (Some(fields), Some(id)) = (change.as_object(), change.get(merge_key)) else {
            return Err(format!("{path}: map: {change} does not contain declared merge key: {merge_key}"));
        };
        let position = current.iter().position(|item| item.get(merge_key) == Some(id));
        let before = position.and_then(|index| current[index].as_object().cloned()).unwrap_or_default();
        match (merge_object(before, fields, path)?, position) {
            (Some(merged), Some(index)) => current[index] = Value::Object(merged),
            (Some(merged), None) => current.push(Value::Object(merged)),
            (None, Some(_)) => current.retain(|item| item.get(merge_key) != Some(id)),
            (None, None) => {}
        }
    }
    Ok(current)
}

/// The merge key of a list. Ports of a Service merge by `port`, those of a container by `containerPort`.
fn merge_key_of(key: &str, changes: &[Value]) -> Option<&'static str> {
    let (_, merge_key) = MERGE_KEYS.iter().find(|(list, _)| *list == key)?;
    let of_service = key == "ports" && changes.iter().any(|change| change.get("port").is_some());
    Some(if of_service { "port" } else { merge_key })
}

fn delete_texts(fields: &mut Map<String, Value>, list: &str, change: &Value) {
    let gone = change.as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(items) = fields.get_mut(list).and_then(Value::as_array_mut) {
        items.retain(|item| !gone.contains(item));
    }
}

fn without_directives(changes: &Map<String, Value>) -> Map<String, Value> {
    let kept = changes.iter().filter(|(key, value)| !key.starts_with('$') && !value.is_null());
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn merge_patches_of_the_rfc() {
        // The table of RFC 7386, appendix A, in part.
        for (target, patch, result) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!(["a", "b"]), json!(["c"]), json!(["c"])),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            assert_eq!(merge(&target, &patch), result);
        }
    }

    #[test]
    fn lists_with_a_merge_key_merge_by_it() {
        let pod = json!({"spec": {
            "containers": [{"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}]}, {"name": "b", "image": "b:1"}],
            "tolerations": [{"key": "x"}],
        }});
        let patch = json!({"spec": {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [
                {"name": "a", "image": "a:2", "env": [{"name": "Y", "value": "2"}]},
                {"name": "b", "$patch": "delete"},
                {"name": "c", "image": "c:1", "ports": [{"containerPort": 80}]},
            ],
            "tolerations": [{"key": "y"}],
        }});
        let expected = json!({"spec": {
            "containers": [
                {"name": "a", "image": "a:2", "env": [{"name": "X", "value": "1"}, {"name": "Y", "value": "2"}]},
                {"name": "c", "image": "c:1", "ports": [{"containerPort": 80}]},
            ],
            "tolerations": [{"key": "y"}],
        }});
        assert_eq!(strategic_merge(&pod, &patch), Ok(expected));
    }

    #[test]
    fn directives() {
        let check =
            |target: Value, patch: Value, result: Value| assert_eq!(strategic_merge(&target, &patch), Ok(result));
        check(json!({"a": {"b": 1, "c": 2}}), json!({"a": {"$patch": "replace", "d": 3}}), json!({"a": {"d": 3}}));
        check(json!({"a": {"b": 1}, "c": 1}), json!({"a": {"$patch": "delete"}}), json!({"c": 1}));
        check(
            json!({"containers": [{"name": "a"}]}),
            json!({"containers": [{"$patch": "replace"}, {"name": "b"}]}),
            json!({"containers": [{"name": "b"}]}),
        );
        check(
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        );
        check(
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["b", "c"], "$deleteFromPrimitiveList/finalizers": ["a"]}),
            json!({"finalizers": ["b", "c"]}),
        );
        assert!(strategic_merge(&json!({}), &json!({"a": {"$patch": "explode"}})).is_err());
        assert!(strategic_merge(&json!({}), &json!({"containers": [{"image": "i"}]})).is_err());
        assert!(strategic_merge(&json!({}), &json!([])).is_err());
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(1)), Just(json!("x"))];
        leaf.prop_recursive(3, 12, 3, |inner| {
            let key = prop_oneof![Just("a"), Just("name"), Just("containers"), Just("$patch")].prop_map(String::from);
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                proptest::collection::vec((key, inner), 0..3)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn patches_apply_twice_as_once(target in any_json(), patch in any_json()) {
            let once = merge(&target, &patch);
            prop_assert_eq!(merge(&once, &patch), once);
            if let Ok(once) = strategic_merge(&target, &patch) && once.is_object() {
                prop_assert_eq!(strategic_merge(&once, &patch), Ok(once.clone()));
            }
        }
    }
}
