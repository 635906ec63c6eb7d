//! Objects of public manifests as a real API server stores them: `defaulting-corpus`. The manifests are no part of the
//! project: the cases are replayed where the folder is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubesim::rules::manifest::Surroundings;
use kubesim::scenario::diagnostic::{Diagnostics, Source};
use kubesim::scenario::yaml::{self, Document};
use serde_json::{Value, json};

use super::defaulting::{account, judge};
use crate::case::{Disagreement, field, int, text};

/// Where the manifests are: `KUBESIM_CORPUS`, else beside the project. `None` when they are not there.
fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let folder = std::env::var_os("KUBESIM_CORPUS").map_or_else(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// Whether the manifests are there.
pub fn is_there() -> bool {
    folder().is_some()
}

/// A document that was accepted, and how it changed.
pub fn corpus(case: &Value) -> Result<(), Disagreement> {
    let folder = folder().ok_or_else(|| Disagreement::new("the folder of manifests", "none"))?;
    let file = text(case, "file")?;
    let document = match document(&folder.join(file), int(case, "doc")?) {
        // kubectl mends or drops what cannot be read as it stands (a broken byte, a doubled key); we refuse it.
        Err(_) if is_to_be_refused(&folder, file) => return Ok(()),
        found => found?,
    };
    if document["kind"] != case["kind"] {
        return Err(Disagreement::new(format!("a {}", case["kind"]), &document["kind"]));
    }
    let mut stored = document.clone();
    for (pointer, value) in case["added"].as_object().into_iter().flatten() {
        put(&mut stored, pointer, value.clone())?;
    }
    for (pointer, values) in case["changed"].as_object().into_iter().flatten() {
        put(&mut stored, pointer, values[1].clone())?;
    }
    for pointer in case["removed"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        put(&mut stored, pointer, Value::Null)?;
    }
    for drawn in ["uid", "resourceVersion", "creationTimestamp", "managedFields"] {
        put(&mut stored, &format!("/metadata/{drawn}"), Value::Null)?;
    }
    if let Some(beginning) = document["metadata"]["generateName"].as_str() {
        mark_drawn(&mut stored, beginning);
    }
    let mut input = document;
    let namespace = field(&stored, "metadata")?.get("namespace").cloned();
    if let Some(namespace) = namespace {
        put(&mut input, "/metadata/namespace", namespace)?;
    }
    // Accounts of the system's own namespace mount their tokens; those of others were told not to.
    let objects = vec![account("kube-system", true), account("default", false)];
    judge(&input, &stored, &Surroundings { objects, any_namespace: true })
}

/// Whether the index of the file's folder says that a good tool refuses it.
fn is_to_be_refused(folder: &Path, file: &str) -> bool {
    let Some((sub_folder, name)) = file.split_once('/') else { return false };
    let index = fs::read_to_string(folder.join(sub_folder).join("INDEX.md")).unwrap_or_default();
    index.lines().any(|line| line.starts_with(&format!("| {name} | reject |")))
}

/// Marks names that the server made of this beginning.
fn mark_drawn(value: &mut Value, beginning: &str) {
    match value {
        Value::String(text) if text.starts_with(beginning) && text.len() == beginning.len() + 5 => {
            *text = format!("{beginning}<random 5>");
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark_drawn(item, beginning)),
        Value::Object(fields) => fields.values_mut().for_each(|field| mark_drawn(field, beginning)),
        _ => {}
    }
}

/// Puts a value at a JSON pointer whose parent is there.
fn put(object: &mut Value, pointer: &str, value: Value) -> Result<(), Disagreement> {
    let missing = || Disagreement::new(format!("a parent of {pointer}"), "none");
    let (parent, key) = pointer.rsplit_once('/').ok_or_else(missing)?;
    let key = key.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent).ok_or_else(missing)? {
        Value::Object(fields) => drop(fields.insert(key, value)),
        Value::Array(items) => match key.parse::<usize>() {
            Ok(index) if index < items.len() => items[index] = value,
            _ => items.push(value),
        },
        place => *place = json!({ key: value }),
    }
    Ok(())
}

/// The `number`th object of a file or of the folder the file is in, as kubectl walks it: lists opened, empty ones left out.
fn document(path: &Path, number: i64) -> Result<Value, Disagreement> {
    let parent = path.parent().unwrap_or(Path::new(""));
    let is_folder_of_one = parent.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-dir"));
    let mut files = vec![path.to_path_buf()];
    if is_folder_of_one {
        let entries = fs::read_dir(parent).map_err(|error| Disagreement::new("a folder", error))?;
        files = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        files.sort();
    }
    let mut objects = Vec::new();
    for file in files {
        let bytes = fs::read(&file).map_err(|error| Disagreement::new(file.display(), error))?;
        let text = yaml::decode_text(&bytes).map_err(|error| Disagreement::new("text", error))?;
        let source = Arc::new(Source { file: file.display().to_string(), text });
        let documents: Vec<Document> = yaml::parse(&source, &mut Diagnostics::default());
        documents.into_iter().for_each(|document| open(document.value, &mut objects));
    }
    let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let count = objects.len();
    objects.into_iter().nth(index).ok_or_else(|| Disagreement::new(format!("{number} objects"), count))
}

fn open(value: Value, objects: &mut Vec<Value>) {
    match value["items"].as_array() {
        Some(items) if value["kind"].as_str().is_some_and(|kind| kind.ends_with("List")) => {
            items.iter().for_each(|item| open(item.clone(), objects));
        }
        _ => objects.push(value),
    }
}
