//! `kubesim get`: objects of a finished run, as `kubectl get` prints them.

use anyhow::ensure;
use serde_json::{Value, json};

use super::columns;
use super::data;
use super::exit::Exit;
use super::inspect::arguments::{GetArguments, GetFormat};
use super::inspect::request::{self, Wanted};
use super::inspect::selection::Selection;
use super::inspect::{self, Instant};
use super::table::Table;
use super::{print, print_error};
use crate::model::api::ApiError;
use crate::model::{Key, Kind};
use crate::rules::{codec, yaml_text};

/// What was found of a kind.
struct Found {
    kind: Kind,
    objects: Vec<Value>,
}

/// Prints objects.
///
/// # Errors
/// The command line cannot be read, or the folder holds no such run.
pub fn run(arguments: &GetArguments) -> anyhow::Result<Exit> {
    let mut words = arguments.words.clone();
    let folder = inspect::folder(&mut words, arguments.instant.folder.as_deref())?;
    let replay = Instant::replay(&folder, &arguments.instant)?;
    let wanted = request::parse("get", &words, &replay.plan.kinds)?;
    let by_name = wanted.iter().any(|wanted| !wanted.names.is_empty());
    let selection = Selection::parse(arguments.selector.as_deref(), arguments.field_selector.as_deref())?;
    ensure!(!by_name || selection.is_everything(), "name cannot be provided when a selector is specified");
    ensure!(
        !by_name || !arguments.namespaces.all_namespaces,
        "a resource cannot be retrieved by name across all namespaces"
    );
    wanted.iter().try_for_each(|wanted| selection.check(wanted.kind))?;
    let instant = Instant::of(&replay, &arguments.instant)?;
    let mut missing = Vec::new();
    let mut found = Vec::new();
    for wanted in &wanted {
        found.push(find(wanted, &selection, arguments, &instant, &mut missing));
    }
    let is_single = by_name && found.iter().map(|found| found.objects.len()).sum::<usize>() == 1 && missing.is_empty();
    let text = match arguments.output {
        None | Some(GetFormat::Wide) => tables(&found, arguments, &instant),
        Some(GetFormat::Name) => names(&found),
        Some(GetFormat::Json) => data::to_kubectl_json(&document(found, is_single))?,
        Some(GetFormat::Yaml) => yaml_text::to_text(&document(found, is_single)),
    };
    if text.is_empty() && missing.is_empty() {
        print_error(&nothing(&wanted, arguments));
    }
    print(&text)?;
    missing.iter().for_each(|problem| print_error(problem));
    Ok(if missing.is_empty() { Exit::Done } else { Exit::BadInput })
}

fn find(
    wanted: &Wanted,
    selection: &Selection,
    arguments: &GetArguments,
    instant: &Instant,
    missing: &mut Vec<String>,
) -> Found {
    let kind = wanted.kind;
    let namespace = arguments.namespaces.of(kind);
    if wanted.names.is_empty() {
        let objects = instant.objects(kind, namespace).into_iter().filter(|object| selection.matches(object));
        return Found { kind, objects: objects.map(|object| codec::encode(&object)).collect() };
    }
    let mut objects = Vec::new();
    for name in &wanted.names {
        let key = Key::new(kind, namespace.unwrap_or(""), name.as_str());
        match instant.get(&key) {
            Some(object) => objects.push(object),
            None => missing.push(not_found(&key)),
        }
    }
    Found { kind, objects }
}

/// `Error from server (NotFound): pods "web" not found`.
pub fn not_found(key: &Key) -> String {
    format!("Error from server (NotFound): {}", ApiError::not_found(key).message)
}

fn nothing(wanted: &[Wanted], arguments: &GetArguments) -> String {
    let namespaced = wanted.iter().any(|wanted| wanted.kind.info().namespaced);
    match arguments.namespaces.of(if namespaced { Kind::Pod } else { Kind::Node }) {
        Some(namespace) => format!("No resources found in {namespace} namespace."),
        None => "No resources found".to_string(),
    }
}

/// A table a kind; with several kinds each name has its kind before it.
fn tables(found: &[Found], arguments: &GetArguments, instant: &Instant) -> String {
    let wide = arguments.output == Some(GetFormat::Wide);
    let several = found.iter().any(|other| other.kind != found[0].kind);
    let table = |found: &Found| {
        let mut header = columns::header(found.kind, wide);
        let with_namespace = arguments.namespaces.all_namespaces && found.kind.info().namespaced;
        if with_namespace {
            header.insert(0, "NAMESPACE");
        }
        if arguments.show_labels {
            header.push("LABELS");
        }
        let mut table = if arguments.no_headers { Table::headless() } else { Table::new(&header) };
        for object in &found.objects {
            let mut cells = columns::row(found.kind, object, wide, instant.now());
            if let Some(column) = columns::name_column(found.kind).filter(|_| several) {
                cells[column] = format!("{}/{}", singular(found.kind), cells[column]);
            }
            if with_namespace {
                cells.insert(0, object["metadata"]["namespace"].as_str().unwrap_or_default().to_string());
            }
            if arguments.show_labels {
                cells.push(columns::labels(object));
            }
            table.push(cells);
        }
        table.render()
    };
    let tables: Vec<String> = found.iter().map(table).filter(|text| !text.is_empty()).collect();
    tables.join("\n")
}

/// `pod`, `deployment.apps`.
fn singular(kind: Kind) -> String {
    let info = kind.info();
    match info.api_version.rsplit_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.singular()),
        None => kind.singular().to_string(),
    }
}

fn names(found: &[Found]) -> String {
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_string();
    let of_kind = |found: &Found| {
        let kind = singular(found.kind);
        found.objects.iter().map(|object| format!("{kind}/{}\n", name(object))).collect::<String>()
    };
    found.iter().map(of_kind).collect()
}

/// One object as it is, several as a list.
fn document(found: Vec<Found>, is_single: bool) -> Value {
    let mut objects: Vec<Value> = found.into_iter().flat_map(|found| found.objects).collect();
    if is_single && let Some(only) = objects.pop() {
        return only;
    }
    json!({"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}})
}
