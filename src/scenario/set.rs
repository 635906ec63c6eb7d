//! Paths of `set` in variants, of `--set` and of a sweep's grid: `spec.model.resync`, `spec.faults.loss.at`,
//! `deployment/api:spec.replicas`, `spec.controlPlane.controllerManager.flags.concurrent-replicaset-syncs`,
//! `KubeSchedulerConfiguration:percentageOfNodesToScore`.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::component_config;
use super::diagnostic::{Code, Diagnostic, Mark, Source};
use super::entry::{join, shown};
use super::flags::FlagTable;
use super::manifests::Manifest;
use super::references;
use super::static_pods;
use super::yaml::{self, Document};
use crate::model::Kinds;
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

/// What a setting may change.
pub struct Settable<'a> {
    /// The Scenario document.
    pub scenario: &'a mut Document,
    /// The manifests.
    pub manifests: &'a mut [Manifest],
    /// Configuration files of components.
    pub configs: &'a mut [Document],
}

/// Carries out a setting, on the scenario, a manifest or a configuration file.
///
/// # Errors
/// The path leads nowhere.
pub fn apply(setting: &Setting, documents: Settable<'_>) -> Result<(), Box<Diagnostic>> {
    let Settable { scenario, manifests, configs } = documents;
    let error = |(message, help): (String, Option<String>)| {
        Box::new(Diagnostic::error(Code::BadPath, message).at(&setting.source, setting.mark).maybe_help(help))
    };
    let own_path = own(&setting.path);
    if let Some(path) = &own_path
        && let Some((table, flag)) = flag_of(path)
        && lists_no_flags(scenario, table)
        && set_flag_of_pods(table, &flag, setting, manifests).map_err(error)?
    {
        return Ok(());
    }
    let (document, path) = match (&own_path, setting.path.split_once(':')) {
        (Some(path), _) => (scenario, path.as_ref()),
        (None, Some((object, path))) => match config(object, configs).map_err(error)? {
            Some(config) => (config, path),
            None => (manifest(object, manifests).map_err(error)?, path),
        },
        (None, None) => {
            let help = "paths begin with `spec.`, with an object (deployment/api:spec.replicas) or with the kind of a \
                        configuration file (KubeSchedulerConfiguration:percentageOfNodesToScore)";
            return Err(error((format!("`{}` names no place", setting.path), Some(help.into()))));
        }
    };
    for locked in ["spec.variants", "spec.include"] {
        if is_below(path, locked) {
            let help = match locked {
                "spec.variants" => "write the variant into the file, or set in the scenario what it would change",
                _ => "name the files on the command line, or in the scenario itself",
            };
            return Err(error((format!("`{locked}` cannot be set"), Some(help.to_string()))));
        }
    }
    let changed = set_in(&mut document.value, path, &setting.value).map_err(error)?;
    document.set_at.push((changed, setting.source.clone(), setting.mark));
    Ok(())
}

/// A path in the scenario itself; `spec.` may be left out.
fn own(path: &str) -> Option<Cow<'_, str>> {
    let first = path.split(['.', '[', ':']).next().unwrap_or_default();
    match first {
        "spec" if path.starts_with("spec.") => Some(Cow::Borrowed(path)),
        "metadata" if path == "metadata.name" => Some(Cow::Borrowed(path)),
        _ if SHORT.contains(&first) && !path.contains(':') => Some(Cow::Owned(format!("spec.{path}"))),
        _ => None,
    }
}

/// A path as it stands in the scenario; others stay as they are.
pub(super) fn full(path: &str) -> String {
    own(path).unwrap_or(Cow::Borrowed(path)).into_owned()
}

/// Fields of `spec` whose paths may begin with them.
const SHORT: [&str; 9] =
    ["controlPlane", "nodes", "operators", "containers", "load", "queues", "timeline", "faults", "model"];

/// The component and the name of a flag that a path of the scenario names.
fn flag_of(path: &str) -> Option<(FlagTable, String)> {
    let steps = steps(path).ok()?;
    let [spec, plane, component, flags, name] = steps.as_slice() else { return None };
    if spec != "spec" || plane != "controlPlane" || flags != "flags" || name.parse::<usize>().is_ok() {
        return None;
    }
    let table = FlagTable::ALL.into_iter().find(|table| table.field() == component.as_str())?;
    Some((table, name.clone()))
}

fn lists_no_flags(scenario: &Document, table: FlagTable) -> bool {
    let flags = &scenario.value["spec"]["controlPlane"][table.field()]["flags"];
    flags.as_array().map_or(flags.is_null(), Vec::is_empty)
}

/// Sets a flag in the static Pods of a component, where they have its flags; says whether there are any.
fn set_flag_of_pods(
    table: FlagTable,
    flag: &str,
    setting: &Setting,
    manifests: &mut [Manifest],
) -> Result<bool, (String, Option<String>)> {
    let mut found = false;
    for manifest in manifests {
        let Some(pod) = static_pods::find(manifest).filter(|pod| pod.table == table) else { continue };
        found = true;
        let document = &mut manifest.document;
        let name = format!("--{}", flag.trim_start_matches('-'));
        let (list, path) = pod.list_with(document, |item| is_flag(item, &name));
        let place = &mut document.value["spec"]["containers"][pod.container][list];
        let index = set_flag(place, flag, &setting.value)?;
        document.set_at.push((format!("{path}[{index}]"), setting.source.clone(), setting.mark));
    }
    Ok(found)
}

/// Whether an item of a list is this flag, with its value or before it.
fn is_flag(item: &Value, name: &str) -> bool {
    let rest = item.as_str().and_then(|text| text.trim().strip_prefix(name));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['=', ' ']))
}

/// The configuration file that is named by its kind; `None` when no such kind is named.
fn config<'a>(text: &str, configs: &'a mut [Document]) -> Result<Option<&'a mut Document>, (String, Option<String>)> {
    let is_named = |kind: &str| kind.eq_ignore_ascii_case(text);
    if let Some(table) = FlagTable::ALL.into_iter().find(|table| table.component() == text) {
        let file = component_config::kinds().find(|(_, component)| *component == Some(table));
        let file = file.map_or(String::new(), |(kind, _)| format!(", fields of its file by {kind}:FIELD"));
        let help = format!("its flags are set by spec.controlPlane.{}.flags.NAME{file}", table.field());
        return Err((format!("`{text}` is a component and no object"), Some(help)));
    }
    let Some((kind, _)) = component_config::kinds().find(|(kind, _)| is_named(kind)) else { return Ok(None) };
    match configs.iter_mut().find(|config| config.value["kind"].as_str().is_some_and(is_named)) {
        Some(config) => Ok(Some(config)),
        None => {
            let help = format!("add one to the files; a document with `kind: {kind}` and its apiVersion is enough");
            Err((format!("no file is a {kind}"), Some(help)))
        }
    }
}

fn manifest<'a>(text: &str, manifests: &'a mut [Manifest]) -> Result<&'a mut Document, (String, Option<String>)> {
    let object = references::parse_object(text, &Kinds::of(manifests.iter().map(|manifest| manifest.object.kind)))?;
    let known: Vec<String> = manifests.iter().map(|manifest| manifest.object.to_string()).collect();
    match manifests.iter_mut().find(|manifest| manifest.object == object) {
        Some(manifest) => Ok(&mut manifest.document),
        None => Err((
            format!("no file describes {object}"),
            suggest::help(&object.to_string(), known.iter().map(String::as_str)),
        )),
    }
}

/// Whether a path is another one or leads into it.
pub(super) fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Sets the value at a path. Mappings on the way are made. Gives the path, with indices in place of names, of what is new:
/// the value, or the first mapping that was made for it.
fn set_in(root: &mut Value, path: &str, new: &Value) -> Result<String, (String, Option<String>)> {
    let mut canonical = String::new();
    let mut made: Option<String> = None;
    let mut place = root;
    let steps = steps(path)?;
    for (number, step) in steps.iter().enumerate() {
        let list_name = number.checked_sub(1).map_or("", |before| steps[before].as_str());
        if is_flag_list(place, list_name) && step.parse::<usize>().is_err() {
            if number + 1 < steps.len() {
                return Err((format!("`{canonical}.{step}` is a flag and has no `{}`", steps[number + 1]), None));
            }
            let index = set_flag(place, step, new)?;
            return Ok(made.unwrap_or(format!("{canonical}[{index}]")));
        }
        if place.is_null() {
            if step.parse::<usize>().is_ok() {
                let message = format!("`{canonical}` is not given: it has no [{step}]");
                return Err((message, Some(format!("give the whole list: '{canonical}=[{{...}}]'"))));
            }
            made = made.or_else(|| Some(canonical.clone()).filter(|path| !path.is_empty()));
            *place = Value::Object(Map::new());
        }
        place = match place {
            Value::Array(items) => {
                let index = index_of(items, step, &canonical)?;
                canonical = format!("{canonical}[{index}]");
                &mut items[index]
            }
            Value::Object(map) => {
                canonical = join(&canonical, step);
                map.entry(step.clone()).or_insert(Value::Null)
            }
            _ => return Err((format!("`{canonical}` is a plain value and has no `{step}`"), None)),
        };
    }
    *place = new.clone();
    Ok(made.unwrap_or(canonical))
}

/// A list of `--name=value` texts, or where one would be.
fn is_flag_list(place: &Value, name: &str) -> bool {
    match place {
        Value::Null => name == "flags",
        Value::Array(items) if items.is_empty() => matches!(name, "flags" | "args"),
        Value::Array(items) => items.iter().any(|item| item.as_str().is_some_and(|text| text.starts_with("--"))),
        _ => false,
    }
}

/// Gives a flag this value, adding it when the list lacks it, and says which item it is. A flag that is given more than
/// once keeps only the new value, as the last one counts for the real components.
fn set_flag(place: &mut Value, step: &str, new: &Value) -> Result<usize, (String, Option<String>)> {
    let name = format!("--{}", step.trim_start_matches('-'));
    let text = match new {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        other => {
            return Err((format!("the value of the flag {name} must be plain, not {}", shown(other)), None));
        }
    };
    let old = place.as_array_mut().map(std::mem::take).unwrap_or_default();
    let mut kept: Vec<Value> = Vec::with_capacity(old.len() + 1);
    let mut index = None;
    let mut rest = old.into_iter().peekable();
    while let Some(item) = rest.next() {
        let written = item.as_str().map(str::trim).unwrap_or_default();
        match written.strip_prefix(&name) {
            Some("") => {
                // Its value is the next item, unless that is a flag itself.
                rest.next_if(|next| next.as_str().is_none_or(|next| !next.starts_with("--")));
            }
            Some(after) if after.starts_with(['=', ' ']) => {}
            _ => {
                kept.push(item);
                continue;
            }
        }
        if index.is_none() {
            index = Some(kept.len());
            kept.push(Value::String(format!("{name}={text}")));
        }
    }
    let index = index.unwrap_or_else(|| {
        kept.push(Value::String(format!("{name}={text}")));
        kept.len() - 1
    });
    *place = Value::Array(kept);
    Ok(index)
}

/// Splits a path at dots; what stands in brackets is one step (`[0]`, `["app.kubernetes.io/name"]`).
pub(super) fn steps(path: &str) -> Result<Vec<String>, (String, Option<String>)> {
    let wrong = || (format!("`{path}` is not a path"), Some("for example spec.faults[0].at".to_string()));
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = yaml::bracketed(inner).ok_or_else(wrong)?;
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
        check("spec.new.deep", Ok(("spec.new", json!("/spec/new/deep"))));
        check("spec.labels[\"a.b/c\"]", Ok(("spec.labels[a.b/c]", json!("/spec/labels/a.b~1c"))));
        check("spec.list[2].x", Err("`spec.list` has 2 items: there is no [2]"));
        check("spec.list.c", Err("`spec.list` has no item named `c`"));
        check("spec.n.x", Err("`spec.n` is a plain value and has no `x`"));
        check("spec.none[0].x", Err("`spec.none` is not given: it has no [0]"));
        check("spec..x", Err("`spec..x` is not a path"));
    }

    #[test]
    fn flags_are_addressed_by_name() {
        let check = |flags: Value, path: &str, new: Value, expected: Result<(&str, Value), &str>| {
            let mut value = json!({"plane": {"flags": flags}});
            let result = set_in(&mut value, path, &new).map_err(|(message, _)| message);
            match expected {
                Ok((canonical, flags)) => {
                    assert_eq!(result, Ok(canonical.to_string()));
                    assert_eq!(value["plane"]["flags"], flags);
                }
                Err(message) => assert_eq!(result, Err(message.to_string())),
            }
        };
        let given = || json!(["--v=2", "--workers=5", "--qps 20", "--burst", "30"]);
        let workers = json!(["--v=2", "--workers=7", "--qps 20", "--burst", "30"]);
        check(given(), "plane.flags.workers", json!(7), Ok(("plane.flags[1]", workers.clone())));
        check(given(), "plane.flags.--workers", json!("7"), Ok(("plane.flags[1]", workers)));
        let qps = json!(["--v=2", "--workers=5", "--qps=1.5", "--burst", "30"]);
        check(given(), "plane.flags.qps", json!(1.5), Ok(("plane.flags[2]", qps)));
        let burst = json!(["--v=2", "--workers=5", "--qps 20", "--burst=9"]);
        check(given(), "plane.flags.burst", json!(9), Ok(("plane.flags[3]", burst)));
        // Of a flag that is given twice the last counts: only the new value may stay.
        check(
            json!(["--a=1", "--b", "--a=2"]),
            "plane.flags.a",
            json!(3),
            Ok(("plane.flags[0]", json!(["--a=3", "--b"]))),
        );
        // A name that is the beginning of another is not the other.
        check(json!(["--ab=1"]), "plane.flags.a", json!(true), Ok(("plane.flags[1]", json!(["--ab=1", "--a=true"]))));
        check(Value::Null, "plane.flags.workers", json!(7), Ok(("plane.flags[0]", json!(["--workers=7"]))));
        check(json!([]), "plane.flags.workers", json!(7), Ok(("plane.flags[0]", json!(["--workers=7"]))));
        check(
            given(),
            "plane.flags[0]",
            json!("--v=4"),
            Ok(("plane.flags[0]", json!(["--v=4", "--workers=5", "--qps 20", "--burst", "30"]))),
        );
        check(given(), "plane.flags.qps.x", json!(1), Err("`plane.flags.qps` is a flag and has no `x`"));
        check(given(), "plane.flags.qps", json!([1]), Err("the value of the flag --qps must be plain, not a list"));
    }
}
