//! Paths of `set` in variants and of `--set`: `spec.model.resync`, `spec.faults.loss.at`, `deployment/api:spec.replicas`.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::diagnostic::{Code, Diagnostic, Mark, Source};
use super::entry::join;
use super::manifests::Manifest;
use super::references;
use super::yaml::Document;
use crate::rules::suggest;

/// One value to set.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The path as the user wrote it.
    pub path: String,
    /// The value.
    pub value: Value,
    /// Where it was said.
    pub source: Arc<Source>,
    /// The place there.
    pub mark: Mark,
}

/// Carries out a setting, on the scenario or on a manifest.
///
/// # Errors
/// The path leads nowhere.
pub fn apply(setting: &Setting, scenario: &mut Document, manifests: &mut [Manifest]) -> Result<(), Box<Diagnostic>> {
    let error = |(message, help): (String, Option<String>)| {
        Box::new(Diagnostic::error(Code::BadPath, message).at(&setting.source, setting.mark).maybe_help(help))
    };
    let (document, path) = match setting.path.split_once(':') {
        Some((object, path)) => (manifest(object, manifests).map_err(error)?, path),
        None if setting.path.starts_with("spec.") || setting.path == "metadata.name" => {
            (scenario, setting.path.as_str())
        }
        None => {
            let help = "paths begin with `spec.`, or with an object: deployment/api:spec.replicas";
            return Err(error((format!("`{}` names no place", setting.path), Some(help.into()))));
        }
    };
    for locked in ["spec.variants", "spec.include"] {
        if path.starts_with(locked) {
            return Err(error((format!("`{locked}` cannot be set"), None)));
        }
    }
    let canonical = set_in(&mut document.value, path, &setting.value).map_err(error)?;
    document.set_at.push((canonical, setting.source.clone(), setting.mark));
    Ok(())
}

fn manifest<'a>(text: &str, manifests: &'a mut [Manifest]) -> Result<&'a mut Document, (String, Option<String>)> {
    let object = references::parse_object(text)?;
    let known: Vec<String> = manifests.iter().map(|manifest| manifest.object.to_string()).collect();
    match manifests.iter_mut().find(|manifest| manifest.object == object) {
        Some(manifest) => Ok(&mut manifest.document),
        None => Err((
            format!("no file describes {object}"),
            suggest::help(&object.to_string(), known.iter().map(String::as_str)),
        )),
    }
}

/// Sets the value at a path and gives the path with indices in place of names. Mappings on the way are made.
fn set_in(root: &mut Value, path: &str, new: &Value) -> Result<String, (String, Option<String>)> {
    let mut canonical = String::new();
    let mut place = root;
    for step in steps(path)? {
        place = match place {
            Value::Array(items) => {
                let index = index_of(items, &step, &canonical)?;
                canonical = format!("{canonical}[{index}]");
                &mut items[index]
            }
            Value::Object(map) => {
                canonical = join(&canonical, &step);
                map.entry(step).or_insert(Value::Null)
            }
            Value::Null => {
                *place = Value::Object(Map::new());
                canonical = join(&canonical, &step);
                let map = place.as_object_mut().expect("it was just made a mapping");
                map.entry(step).or_insert(Value::Null)
            }
            _ => return Err((format!("`{canonical}` is a plain value and has no `{step}`"), None)),
        };
    }
    *place = new.clone();
    Ok(canonical)
}

/// Splits a path at dots; what stands in brackets is one step (`[0]`, `["app.kubernetes.io/name"]`).
pub(super) fn steps(path: &str) -> Result<Vec<String>, (String, Option<String>)> {
    let wrong = || (format!("`{path}` is not a path"), Some("for example spec.faults[0].at".to_string()));
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']').ok_or_else(wrong)?;
            steps.push(key.trim_matches(['"', '\'']).to_string());
            rest = after;
        } else {
            let word = rest.strip_prefix('.').unwrap_or(rest);
            let end = word.find(['.', '[']).unwrap_or(word.len());
            steps.push(word[..end].to_string());
            rest = &word[end..];
        }
    }
    match steps.is_empty() || steps.iter().any(String::is_empty) {
        true => Err(wrong()),
        false => Ok(steps),
    }
}

fn index_of(items: &[Value], step: &str, path: &str) -> Result<usize, (String, Option<String>)> {
    let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_string);
    if let Some(index) = items.iter().position(|item| name(item).as_deref() == Some(step)) {
        return Ok(index);
    }
    if let Ok(index) = step.parse::<usize>() {
        let message = || {
            (format!("`{path}` has {} items: there is no [{index}]", items.len()), Some("items count from 0".into()))
        };
        return if index < items.len() { Ok(index) } else { Err(message()) };
    }
    let names: Vec<String> = items.iter().filter_map(name).collect();
    let help = suggest::help(step, names.iter().map(String::as_str));
    let other = Some("items are addressed by their name or as [0], [1] ...".to_string());
    Err((format!("`{path}` has no item named `{step}`"), help.or(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_are_set_by_path() {
        let base = json!({"spec": {"list": [{"name": "a", "x": 1}, {"name": "b"}], "labels": {"a.b/c": 1}, "n": 3}});
        let check = |path: &str, expected: Result<(&str, Value), &str>| {
            let mut value = base.clone();
            let result = set_in(&mut value, path, &json!(7)).map_err(|(message, _)| message);
            match expected {
                Ok((canonical, at)) => {
                    assert_eq!(result, Ok(canonical.to_string()));
                    let pointer = at.as_str().unwrap_or_default();
                    assert_eq!(value.pointer(pointer), Some(&json!(7)), "{value}");
                }
                Err(message) => assert_eq!(result, Err(message.to_string())),
            }
        };
        check("spec.list.b.x", Ok(("spec.list[1].x", json!("/spec/list/1/x"))));
        check("spec.list[0].x", Ok(("spec.list[0].x", json!("/spec/list/0/x"))));
        check("spec.new.deep", Ok(("spec.new.deep", json!("/spec/new/deep"))));
        check("spec.labels[\"a.b/c\"]", Ok(("spec.labels[a.b/c]", json!("/spec/labels/a.b~1c"))));
        check("spec.list[2].x", Err("`spec.list` has 2 items: there is no [2]"));
        check("spec.list.c", Err("`spec.list` has no item named `c`"));
        check("spec.n.x", Err("`spec.n` is a plain value and has no `x`"));
        check("spec..x", Err("`spec..x` is not a path"));
    }
}
