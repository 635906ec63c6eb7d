//! Rules of the house that the compiler does not hold: who may import whom, who may touch the outside, how long things
//! may be, and that every deliberate difference from upstream is listed in docs/divergences.md.

#![allow(missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

/// Rooms by layer, lowest first; a room may use rooms of lower layers, and of its own layer where `PEERS` says so.
const LAYERS: &[&[&str]] = &[
    &["model", "rules"],
    &["engine", "apiserver", "client", "component"],
    &["controllers", "scheduler", "autoscaling", "node", "plant", "workload", "polling"],
    &["faults", "kubectl"],
    &["sim"],
    &["scenario", "trace", "probes", "plot", "report", "experiment"],
    &["cli"],
];
/// Layers whose rooms may use each other. Slices (the third layer) may not: what they share is in `rules`.
const PEERS: &[usize] = &[0, 1, 3, 5];
/// Rooms that slices must not know: what a slice learns of the cluster comes through `component`.
const HIDDEN_FROM_SLICES: &[&str] = &["apiserver"];
const SLICE_LAYER: usize = 2;
/// Names of the outside that only `component.rs` of a slice may use.
const OUTSIDE: &[&str] = &["Informers", "Sensors", "Outbox"];
const LONGEST_FILE: usize = 800;
const LONGEST_FUNCTION: usize = 70;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn rust_files(below: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(below)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
                files.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

/// `src/client/workqueue/queue.rs` is in room `client`; `src/component.rs` is a room itself.
fn room(file: &str) -> &str {
    let inner = file.strip_prefix("src/").unwrap_or(file);
    inner.split('/').next().unwrap().trim_end_matches(".rs")
}

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// The part of a file before its tests.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod ").next().unwrap()
}

fn is_test_file(file: &str) -> bool {
    file.ends_with("tests.rs") || file.ends_with("twin.rs")
}

/// Rooms a text names in `crate::room` paths, `use crate::{...}` groups included.
fn named_rooms(text: &str) -> Vec<String> {
    let mut rooms = Vec::new();
    for (start, _) in text.match_indices("crate::") {
        if text[..start].ends_with("kubesim_") {
            continue;
        }
        let rest = &text[start + "crate::".len()..];
        if let Some(group) = rest.strip_prefix('{') {
            for part in group.split('}').next().unwrap().split(',') {
                rooms.push(part.trim().split("::").next().unwrap().to_string());
            }
        } else {
            rooms.push(rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap().to_string());
        }
    }
    rooms
}

fn forbidden_import(from: &str, to: &str) -> Option<String> {
    let (from_layer, to_layer) = (layer(from)?, layer(to)?);
    if from == to {
        return None;
    }
    if to_layer > from_layer {
        return Some(format!("{from} is below {to}"));
    }
    if to_layer == from_layer && !PEERS.contains(&from_layer) {
        return Some(format!("{from} and {to} are slices of their own"));
    }
    if from_layer == SLICE_LAYER && HIDDEN_FROM_SLICES.contains(&to) {
        return Some(format!("a slice must not know {to}"));
    }
    None
}

#[test]
fn imports_point_one_way() {
    let mut wrong = Vec::new();
    for (file, text) in rust_files("src") {
        if is_test_file(&file) {
            continue;
        }
        for target in named_rooms(without_tests(&text)) {
            if let Some(reason) = forbidden_import(room(&file), &target) {
                wrong.push(format!("{file} uses crate::{target}: {reason}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_room_has_a_layer() {
    let known = |file: &str| matches!(room(file), "lib" | "main") || layer(room(file)).is_some();
    let unknown: Vec<_> = rust_files("src").into_iter().map(|(file, _)| file).filter(|file| !known(file)).collect();
    assert!(unknown.is_empty(), "rooms without a layer in tests/tidy.rs: {unknown:?}");
}

#[test]
fn import_rule_catches_what_it_should() {
    assert!(forbidden_import("model", "client").is_some());
    assert!(forbidden_import("scheduler", "node").is_some());
    assert!(forbidden_import("controllers", "apiserver").is_some());
    assert!(forbidden_import("cli", "model").is_none());
    assert_eq!(named_rooms("use crate::{model::Key, engine};\ncrate::sim::World"), ["model", "engine", "sim"]);
}

/// Whether a word stands in code: not in a comment, not as a part of a longer name.
fn names_in_code(text: &str, word: &str) -> bool {
    text.lines().any(|line| {
        let code = line.split("//").next().unwrap();
        code.match_indices(word).any(|(at, _)| {
            let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !is_part(code[..at].chars().next_back()) && !is_part(code[at + word.len()..].chars().next())
        })
    })
}

#[test]
fn only_component_files_touch_the_outside() {
    let mut wrong = Vec::new();
    for (file, text) in rust_files("src") {
        if layer(room(&file)) != Some(SLICE_LAYER) || file.ends_with("/component.rs") || is_test_file(&file) {
            continue;
        }
        for word in OUTSIDE {
            // The plant is the physical world: it is what sensors read.
            if room(&file) == "plant" && *word == "Sensors" {
                continue;
            }
            if names_in_code(without_tests(&text), word) {
                wrong.push(format!("{file} names {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "only component.rs of a slice may:\n{}", wrong.join("\n"));
}

#[test]
fn files_and_functions_are_short() {
    let mut wrong = Vec::new();
    for (file, text) in [rust_files("src"), rust_files("tests"), rust_files("benches")].concat() {
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            wrong.push(format!("{file}: {lines} lines, at most {LONGEST_FILE}"));
        }
        wrong.extend(long_functions(&file, &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Functions from their `fn` line to the closing brace at the same indentation (rustfmt puts it there).
fn long_functions(file: &str, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let is_function = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "const fn ", "pub const fn "]
            .iter()
            .any(|word| code.starts_with(word));
        if !is_function || code.ends_with(';') || code.ends_with('}') {
            continue;
        }
        let closing = format!("{}}}", " ".repeat(indent));
        let Some(length) = lines[start..].iter().position(|line| *line == closing) else { continue };
        if length + 1 > LONGEST_FUNCTION {
            found.push(format!("{file}:{}: a function of {} lines, at most {LONGEST_FUNCTION}", start + 1, length + 1));
        }
    }
    found
}

#[test]
fn divergences_are_listed() {
    let listed = fs::read_to_string(root().join("docs/divergences.md")).unwrap();
    let mut missing = Vec::new();
    let mut marks = 0;
    for (file, text) in rust_files("src") {
        let count = text.matches("DIVERGES:").count();
        marks += count;
        let listed_count = listed.lines().filter(|line| line.starts_with(&format!("| `{file}` |"))).count();
        if count != listed_count {
            missing.push(format!("{file}: {count} DIVERGES marks, {listed_count} rows `| `{file}` | ...`"));
        }
    }
    assert!(marks > 0, "no mark was found at all: the search is broken");
    assert!(missing.is_empty(), "docs/divergences.md must have one row a mark:\n{}", missing.join("\n"));
}

#[test]
fn no_machine_paths_in_the_project() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_str().unwrap().to_string();
    for (file, text) in [rust_files("src"), rust_files("tests"), rust_files("benches")].concat() {
        assert!(!text.contains(&format!("{home}/")), "{file} names a path of this machine");
    }
}
