//! Small tools on JSON values.

use serde_json::{Map, Value};

/// Removes null fields of objects, at any depth: absent and null are the same to the API.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Removes empty lists, at any depth: the API's types leave them out when they write.
pub fn drop_empty_lists(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.as_array().is_some_and(Vec::is_empty));
            fields.values_mut().for_each(drop_empty_lists);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_empty_lists),
        _ => {}
    }
}

/// Puts the keys of objects in alphabetical order, at any depth, as kubectl prints them.
pub fn sort_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.sort_keys();
            fields.values_mut().for_each(sort_keys);
        }
        Value::Array(items) => items.iter_mut().for_each(sort_keys),
        _ => {}
    }
}

/// The object at a path, made where it is missing; `None` when something else is in the way.
pub fn object_at<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    let mut object = value.as_object_mut()?;
    for key in path {
        object = object.entry(*key).or_insert_with(|| Value::Object(Map::new())).as_object_mut()?;
    }
    Some(object)
}

/// Sets a field that is absent.
pub fn set_default(object: &mut Map<String, Value>, key: &str, value: impl Into<Value>) {
    if !object.contains_key(key) {
        object.insert(key.to_string(), value.into());
    }
}

/// Sets a field, or removes it when there is nothing to say.
pub fn set_or_remove(object: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            object.insert(key.to_string(), value);
        }
        None => {
            object.shift_remove(key);
        }
    }
}

/// The objects of a list field.
pub fn objects_mut<'a>(
    object: &'a mut Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = &'a mut Map<String, Value>> {
    object.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}
