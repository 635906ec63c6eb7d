//! `kubesim describe`: objects of a finished run, as `kubectl describe` prints them.
//!
//! Upstream: kubectl/pkg/describe/describe.go, v1.36. What a cluster of flesh would add (system information, images' ids,
//! quotas) is left out.

mod node;
mod pod;
mod sheet;
mod workload;

use anyhow::ensure;
use serde_json::Value;

use self::sheet::{Sheet, list, text};
use super::exit::Exit;
use super::get::not_found;
use super::inspect::age::date;
use super::inspect::arguments::DescribeArguments;
use super::inspect::request::{self, Wanted};
use super::inspect::selection::Selection;
use super::inspect::{self, Instant};
use super::{print, print_error};
use crate::model::{Key, Kind, Object};
use crate::rules::codec;

/// Prints objects with their events.
///
/// # Errors
/// The command line cannot be read, or the folder holds no such run.
pub fn run(arguments: &DescribeArguments) -> anyhow::Result<Exit> {
    let mut words = arguments.words.clone();
    let folder = inspect::folder(&mut words, arguments.instant.folder.as_deref())?;
    let replay = Instant::replay(&folder, &arguments.instant)?;
    let wanted = request::parse("describe", &words, &replay.plan.kinds)?;
    let by_name = wanted.iter().any(|wanted| !wanted.names.is_empty());
    let selection = Selection::parse(arguments.selector.as_deref(), None)?;
    ensure!(!by_name || selection.is_everything(), "name cannot be provided when a selector is specified");
    let instant = Instant::of(&replay, &arguments.instant)?;
    let mut missing = Vec::new();
    let mut texts = Vec::new();
    for wanted in &wanted {
        for object in find(wanted, &selection, arguments, &instant, &mut missing) {
            texts.push(describe(&object, &instant, arguments.show_events));
        }
    }
    if texts.is_empty() && missing.is_empty() {
        print_error(&match wanted.iter().find_map(|wanted| arguments.namespaces.of(wanted.kind)) {
            Some(namespace) => format!("No resources found in {namespace} namespace."),
            None => "No resources found".to_string(),
        });
    }
    print(&texts.join("\n\n"))?;
    missing.iter().for_each(|problem| print_error(problem));
    Ok(if missing.is_empty() { Exit::Done } else { Exit::BadInput })
}

/// Objects of these names; where there is none, those whose names begin so, as kubectl does.
fn find(
    wanted: &Wanted,
    selection: &Selection,
    arguments: &DescribeArguments,
    instant: &Instant,
    missing: &mut Vec<String>,
) -> Vec<Object> {
    let namespace = arguments.namespaces.of(wanted.kind);
    let all = instant.objects(wanted.kind, namespace);
    if wanted.names.is_empty() {
        return all.into_iter().filter(|object| selection.matches(object)).collect();
    }
    let mut found = Vec::new();
    for name in &wanted.names {
        let exact: Vec<&Object> = all.iter().filter(|object| object.meta().name == name.as_str()).collect();
        let begins = || all.iter().filter(|object| object.meta().name.as_str().starts_with(name)).collect();
        let chosen: Vec<&Object> = if exact.is_empty() { begins() } else { exact };
        if chosen.is_empty() {
            missing.push(not_found(&Key::new(wanted.kind, namespace.unwrap_or(""), name.as_str())));
        }
        found.extend(chosen.into_iter().cloned());
    }
    found
}

fn describe(object: &Object, instant: &Instant, show_events: bool) -> String {
    let mut sheet = Sheet::default();
    let value = codec::encode(object);
    match object {
        Object::Pod(_) => pod::describe(&value, instant, &mut sheet),
        Object::Deployment(deployment) => workload::deployment(deployment, &value, instant, &mut sheet),
        Object::ReplicaSet(set) => workload::replica_set(set, &value, instant, &mut sheet),
        Object::Node(node) => node::describe(node, &value, instant, &mut sheet),
        Object::Namespace(_) => namespace(&value, &mut sheet),
        Object::Event(_)
        | Object::Lease(_)
        | Object::Service(_)
        | Object::PodDisruptionBudget(_)
        | Object::PriorityClass(_)
        | Object::HorizontalPodAutoscaler(_)
        | Object::EndpointSlice(_)
        | Object::Custom(_) => any(&value, &mut sheet),
    }
    if show_events && !matches!(object.kind(), Kind::Event | Kind::Namespace) {
        let key = object.key();
        let about = |event: &Value| {
            let regarding = &event["involvedObject"];
            regarding["kind"] == key.kind.as_str()
                && regarding["name"] == key.name.as_str()
                && text(&regarding["namespace"]) == key.namespace.as_str()
        };
        let mut events = instant.list(Kind::Event, None);
        events.retain(about);
        super::events::sort(&mut events);
        sheet.events(&events, instant.now());
    }
    sheet.finish()
}

fn namespace(object: &Value, sheet: &mut Sheet) {
    sheet.line(0, format!("Name:\t{}", text(&object["metadata"]["name"])));
    sheet.pairs("Labels", &object["metadata"]["labels"]);
    sheet.annotations("Annotations", &object["metadata"]["annotations"]);
    sheet.line(0, format!("Status:\t{}", text(&object["status"]["phase"])));
    sheet.line(0, String::new());
    sheet.line(0, "No resource quota.".to_string());
    sheet.line(0, String::new());
    sheet.line(0, "No LimitRange resource.".to_string());
}

/// A kind that kubectl has no words of its own for: its fields, one after the other.
fn any(object: &Value, sheet: &mut Sheet) {
    let metadata = &object["metadata"];
    sheet.line(0, format!("Name:\t{}", text(&metadata["name"])));
    sheet.line(0, format!("Namespace:\t{}", text(&metadata["namespace"])));
    sheet.pairs("Labels", &metadata["labels"]);
    sheet.annotations("Annotations", &metadata["annotations"]);
    sheet.line(0, format!("API Version:\t{}", text(&object["apiVersion"])));
    sheet.line(0, format!("Kind:\t{}", text(&object["kind"])));
    sheet.line(0, "Metadata:".to_string());
    let hidden = ["name", "namespace", "labels", "annotations"];
    fields(metadata, 1, &hidden, sheet);
    fields(object, 0, &["apiVersion", "kind", "metadata"], sheet);
}

fn fields(value: &Value, level: usize, hidden: &[&str], sheet: &mut Sheet) {
    let shown = value.as_object().into_iter().flatten().filter(|(key, _)| !hidden.contains(&key.as_str()));
    for (key, value) in shown {
        let label = words(key);
        match value {
            Value::Object(_) => {
                sheet.line(level, format!("{label}:"));
                fields(value, level + 1, &[], sheet);
            }
            Value::Array(items) => {
                sheet.line(level, format!("{label}:"));
                items.iter().for_each(|item| match item {
                    Value::Object(_) => fields(item, level + 1, &[], sheet),
                    other => sheet.line(level + 1, shown_scalar(other)),
                });
            }
            other => sheet.line(level, format!("{label}:\t{}", shown_scalar(other))),
        }
    }
}

fn shown_scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// `holderIdentity` to `Holder Identity`.
fn words(field: &str) -> String {
    let mut words = String::new();
    for (index, c) in field.chars().enumerate() {
        if index == 0 {
            words.extend(c.to_uppercase());
        } else {
            if c.is_uppercase() {
                words.push(' ');
            }
            words.push(c);
        }
    }
    words
}

/// Kind and name of the controlling owner.
fn controlled_by(object: &Value, sheet: &mut Sheet) {
    let owner = list(&object["metadata"]["ownerReferences"]).iter().find(|owner| owner["controller"] == true);
    if let Some(owner) = owner {
        sheet.line(0, format!("Controlled By:\t{}/{}", text(&owner["kind"]), text(&owner["name"])));
    }
}

/// Conditions of a Deployment or ReplicaSet.
fn conditions(status: &Value, sheet: &mut Sheet) {
    let conditions = list(&status["conditions"]);
    if conditions.is_empty() {
        return;
    }
    sheet.line(0, "Conditions:".to_string());
    sheet.line(1, "Type\tStatus\tReason".to_string());
    sheet.line(1, "----\t------\t------".to_string());
    for condition in conditions {
        let [kind, status, reason] = ["type", "status", "reason"].map(|field| text(&condition[field]));
        sheet.line(1, format!("{kind} \t{status}\t{reason}"));
    }
}

/// When an object was made.
fn created(object: &Value) -> String {
    date(&object["metadata"]["creationTimestamp"])
}
