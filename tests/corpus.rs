//! Real manifests and broken inputs that lie beside the project (`../shared/corpus`, or `KUBESIM_CORPUS`): each is judged as
//! the INDEX.md of its folder says. Prints `corpus: skipped` when they are not there.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assert_cmd::Command;
use kubesim::experiment::single::measure;
use kubesim::rules::quantity::Quantity;
use kubesim::scenario::{Diagnostics, Loaded, Overrides, load};
use serde_json::Value;

/// No file may take longer to judge.
const PATIENCE: Duration = Duration::from_secs(10);

fn corpus() -> Option<PathBuf> {
    let chosen = std::env::var_os("KUBESIM_CORPUS").map(PathBuf::from);
    let folder = chosen.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"));
    folder.is_dir().then_some(folder)
}

/// The rows of an INDEX.md, cell by cell.
fn rows(folder: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(folder.join("INDEX.md")).unwrap();
    let table =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| file") && !line.contains("---"));
    let rows: Vec<Vec<String>> =
        table.map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_string()).collect()).collect();
    assert!(!rows.is_empty(), "{}: no table", folder.display());
    rows
}

fn judged(path: &Path) -> Result<Loaded, Diagnostics> {
    #[allow(clippy::disallowed_methods, reason = "how long it takes is what is tested")]
    let begun = std::time::Instant::now();
    let result = load(&[path.to_path_buf()], &Overrides::default());
    assert!(begun.elapsed() < PATIENCE, "{}: took {:?}", path.display(), begun.elapsed());
    result
}

/// Whether the problems name one of the places of an INDEX row: `spec.a or spec.b (why)`, `line 6 or 7`, `document 2, spec.a`.
fn names_place(place: &str, problems: &Diagnostics) -> bool {
    let plain = place.split(" (").next().unwrap_or_default();
    if plain == "-" || plain.is_empty() {
        return true;
    }
    let words: Vec<&str> = plain.split([',', ' ']).filter(|word| !word.is_empty()).collect();
    let has_line = |line: &str| {
        problems.iter().any(|problem| problem.place.as_ref().is_some_and(|(_, mark)| mark.line.to_string() == line))
    };
    let has_path =
        |path: &str| problems.iter().any(|problem| problem.path == path || problem.path.ends_with(&format!(".{path}")));
    if plain == "line of the quote" {
        return problems.iter().any(|problem| problem.place.is_some());
    }
    let mut lines = words.iter().filter(|word| word.chars().all(|c| c.is_ascii_digit()));
    let mut paths = words.iter().filter(|word| {
        word.contains(['.', '['])
            || matches!(
                **word,
                "spec"
                    | "kind"
                    | "apiVersion"
                    | "globalDefault"
                    | "data"
                    | "percentageOfNodesToScore"
                    | "podMaxBackoffSeconds"
            )
    });
    if plain.starts_with("line") { lines.any(|line| has_line(line)) } else { paths.any(|path| has_path(path)) }
}

fn shown(problems: &Diagnostics) -> String {
    let texts = problems
        .iter()
        .map(|problem| format!("{} {} [{}] {}", problem.code, problem.location(), problem.path, problem.message));
    texts.collect::<Vec<_>>().join("\n      ")
}

#[test]
fn broken_inputs_are_judged_as_their_index_says() {
    let Some(corpus) = corpus() else { return println!("\ncorpus: skipped") };
    let folder = corpus.join("invalid");
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows(&folder) {
        let [file, verdict, place] = [&row[0], &row[1], &row[2]];
        let result = judged(&folder.join(file));
        // Traces are read by later versions: until then they are refused, or named in a notice.
        let number: u32 = file[..3].parse().unwrap();
        if matches!(number, 138..=141) {
            count += 1;
            if result.as_ref().is_ok_and(|loaded| loaded.notices.is_empty()) {
                wrong.push(format!("{file}: taken without a word"));
            }
            continue;
        }
        count += 1;
        match (verdict.as_str(), result) {
            ("accept", Ok(_)) => {}
            // Nothing in it: an error that says so is as good.
            ("accept", Err(problems)) if matches!(number, 105 | 106) && shown(&problems).contains("E0024") => {}
            ("reject", Err(problems)) if names_place(place, &problems) => {}
            ("reject", Err(problems)) => wrong.push(format!("{file}: must name {place}\n      {}", shown(&problems))),
            ("reject", Ok(_)) => wrong.push(format!("{file}: accepted; must name {place}")),
            (_, Err(problems)) => wrong.push(format!("{file}: refused\n      {}", shown(&problems))),
            (verdict, Ok(_)) => wrong.push(format!("{file}: unknown verdict {verdict}")),
        }
    }
    println!("\ncorpus: invalid: {} of {count} judged as their index says", count - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Configurations of schedulers: what is not simulated is named, and nothing else is left out.
#[test]
fn scheduler_configurations_name_what_they_ask_in_vain() {
    let Some(corpus) = corpus() else { return println!("\ncorpus: skipped") };
    let told = |file: &str| -> String {
        let loaded =
            judged(&corpus.join("manifests").join(file)).unwrap_or_else(|problems| panic!("{file}: {problems}"));
        loaded.notices.join("\n")
    };
    // A version that is gone, a plugin that is, one that never was in the tree; and no pod has its profile by default.
    let trimaran = told("035-scheduler-config-trimaran.yaml");
    for word in
        ["v1beta3", "NodeResourcesLeastAllocated", "TargetLoadPacking", "no profile is called default-scheduler"]
    {
        assert!(trimaran.contains(word), "{word}:\n{trimaran}");
    }
    assert!(!trimaran.contains("no plugin NodeResourcesBalancedAllocation"), "that one is simulated:\n{trimaran}");
    let number = told("037-scheduler-config-multipoint-weight.yaml");
    assert!(number.contains("NodeNumber") && !number.contains("no profile is called"), "{number}");
    for (file, place) in [
        ("093-lease-not-above-renew.yaml", "leaderElection.leaseDuration"),
        ("094-renew-not-above-retry.yaml", "leaderElection.renewDeadline"),
        ("095-duration-words.yaml", "leaderElection.renewDeadline"),
        ("097-percentage-150.yaml", "percentageOfNodesToScore"),
        ("098-profiles-duplicate.yaml", "profiles[1].schedulerName"),
        ("099-backoff-max-below-initial.yaml", "podMaxBackoffSeconds"),
    ] {
        let problems = judged(&corpus.join("invalid").join(file)).err().unwrap_or_else(|| panic!("{file}: accepted"));
        assert!(names_place(place, &problems), "{file}: must name {place}\n      {}", shown(&problems));
    }
}

/// What the index wants of a manifest.
#[derive(PartialEq, Debug)]
enum Wanted {
    Taken,
    Refused,
    /// Either, with a word about it.
    Named,
}

fn wanted(what: &str) -> Wanted {
    let begins = |words: &[&str]| words.iter().any(|word| what.starts_with(word));
    if begins(&["reject", "strict error", "error that says kind is missing", "error that kind is missing"]) {
        Wanted::Refused
    } else if what.contains("naming that is right too")
        || begins(&[
            "error or warning",
            "notice or error",
            "accept with a deprecation notice",
            "as blank",
            "run or a parse error",
            "coerce",
        ])
    {
        Wanted::Named
    } else {
        Wanted::Taken
    }
}

#[test]
fn real_manifests_are_judged_as_their_index_says() {
    let Some(corpus) = corpus() else { return println!("\ncorpus: skipped") };
    let folder = corpus.join("manifests");
    let mut wrong = Vec::new();
    let (mut count, mut ran) = (0, 0);
    for row in rows(&folder) {
        let (file, what) = (&row[0], &row[row.len() - 2]);
        let path = folder.join(file);
        count += 1;
        match (wanted(what), judged(&path)) {
            (Wanted::Refused, Ok(_)) => wrong.push(format!("{file}: accepted; index: {what}")),
            (Wanted::Taken, Err(problems)) => {
                wrong.push(format!("{file}: refused; index: {what}\n      {}", shown(&problems)))
            }
            (Wanted::Named, Ok(loaded)) if loaded.notices.is_empty() => {
                wrong.push(format!("{file}: no word; index: {what}"))
            }
            (_, Ok(_)) => {
                ran += 1;
                wrong.extend(run(&path).into_iter().map(|why| format!("{file}: {why}")));
            }
            _ => {}
        }
    }
    println!("\ncorpus: manifests: {} of {count} judged as their index says, {ran} run", count - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs the program on a file; what is wrong with its answer. Every pod must be ready, or the answer says why it is not.
fn run(path: &Path) -> Vec<String> {
    let scratch = std::env::temp_dir().join(format!("kubesim-corpus-{}", std::process::id()));
    let with = |format: &str| {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("kubesim"));
        command.arg("run").arg(path).args(["-o", format, "--out"]).arg(scratch.join("run"));
        command.timeout(Duration::from_secs(60)).output().unwrap()
    };
    let (data, text) = (with("json"), with("table"));
    let _ = fs::remove_dir_all(&scratch);
    if data.status.code() != Some(0) {
        return vec![format!("exit code {:?}: {}", data.status.code(), String::from_utf8_lossy(&data.stderr))];
    }
    let result: Value = serde_json::from_slice(&data.stdout).unwrap();
    let objects = result["worlds"][0]["objects"].as_array().cloned().unwrap_or_default();
    let printed = String::from_utf8_lossy(&text.stdout).into_owned();
    let pods = objects.iter().filter(|object| object["kind"] == "Pod");
    pods.filter_map(|pod| unexplained(pod, &objects, &printed)).collect()
}

/// A pod that is neither ready nor finished, and for which no true reason is printed.
fn unexplained(pod: &Value, objects: &[Value], printed: &str) -> Option<String> {
    let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = |name: &str| conditions.iter().find(|condition| condition["type"] == name);
    if pod["status"]["phase"] == "Succeeded" || condition("Ready").is_some_and(|ready| ready["status"] == "True") {
        return None;
    }
    let name = &pod["metadata"]["name"];
    let nodes: Vec<&Value> = objects.iter().filter(|object| object["kind"] == "Node").collect();
    if let Some(node) = pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty()) {
        let lost = nodes.iter().all(|other| other["metadata"]["name"] != node)
            && printed.contains(&format!("it is bound to node {node}, which does not exist"));
        return (!lost).then(|| format!("pod {name} is on {node} and not ready: {}", pod["status"]));
    }
    let message = condition("PodScheduled").and_then(|scheduled| scheduled["message"].as_str()).unwrap_or_default();
    if message.is_empty() || !printed.contains(message) {
        return Some(format!("pod {name} is not ready and nothing is said of it: {}", pod["status"]));
    }
    if !message.starts_with(&format!("0/{} nodes are available", nodes.len())) {
        return Some(format!("pod {name}: {message}, with {} nodes", nodes.len()));
    }
    // Where all nodes lack a resource, none may have room for what the pod asks.
    for resource in ["cpu", "memory"] {
        let all = format!("{} Insufficient {resource}", nodes.len());
        let room = |node: &&Value| free(node, objects, resource) >= asked(pod, resource);
        if message.contains(&all) && nodes.iter().any(room) {
            return Some(format!("pod {name}: {message}, but a node has room"));
        }
    }
    None
}

fn milli(value: &Value) -> i64 {
    value.as_str().and_then(|text| Quantity::parse(text).ok()).map_or(0, |quantity| quantity.milli_value())
}

fn asked(pod: &Value, resource: &str) -> i64 {
    let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
    containers.iter().map(|container| milli(&container["resources"]["requests"][resource])).sum()
}

fn free(node: &Value, objects: &[Value], resource: &str) -> i64 {
    let name = &node["metadata"]["name"];
    let placed = objects.iter().filter(|object| object["kind"] == "Pod" && object["spec"]["nodeName"] == *name);
    milli(&node["status"]["allocatable"][resource]) - placed.map(|pod| asked(pod, resource)).sum::<i64>()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}

#[test]
fn every_file_is_answered() {
    let Some(corpus) = corpus() else { return println!("\ncorpus: skipped") };
    let mut files = Vec::new();
    files_below(&corpus, &mut files);
    assert!(files.len() > 100);
    for path in &files {
        // What cannot be read says so in words that a person can use.
        if let Err(problems) = judged(path) {
            assert!(problems.iter().all(|problem| !problem.message.is_empty()), "{}", path.display());
        }
    }
    println!("\ncorpus: {} files answered", files.len());
}

/// Pods without a node at the end of runs of an openb workload, by tie seed (replication).
fn unscheduled(corpus: &Path, nodes: u32, version: &str, seeds: u64) -> Vec<u64> {
    let folder = corpus.join(format!("traces/openb-yaml-{nodes}"));
    let files = [folder.join(format!("nodes-{nodes}.yaml")), folder.join(format!("pods-{nodes}.yaml"))];
    let set = vec![("spec.kubernetesVersion".to_string(), format!("\"{version}\""))];
    let mut loaded = load(&files, &Overrides { set, ..Overrides::default() }).unwrap();
    let plan = loaded.plans.remove(0);
    let count = |seed| {
        let mut plan = plan.clone();
        plan.replication = seed;
        measure(&Arc::new(plan)).unwrap().kpis["pods_unscheduled"].0.unwrap() as u64
    };
    (0..seeds).map(count).collect()
}

/// docs/openb.md has the published numbers, more seeds, and why 1.36 places more.
#[test]
fn as_many_pods_of_openb_find_no_node_as_in_real_clusters() {
    let Some(corpus) = corpus() else { return println!("\ncorpus: skipped") };
    // The real scheduler: 18 to 22 with 100 nodes, 45 to 61 with 400, none with 4.
    for (nodes, version, seeds, band) in [
        (4, "1.35", 2, 0..=0),
        (4, "1.36", 2, 0..=0),
        (100, "1.35", 8, 18..=24),
        (100, "1.36", 8, 3..=8),
        (400, "1.35", 2, 40..=61),
        (400, "1.36", 2, 17..=24),
    ] {
        let found = unscheduled(&corpus, nodes, version, seeds);
        println!("\ncorpus: openb, {nodes} nodes, {version}: {found:?} pods unscheduled");
        assert!(found.iter().all(|count| band.contains(count)), "{nodes} nodes, {version}: {found:?}");
        if (nodes, version) == (100, "1.35") {
            let inside = found.iter().filter(|count| (18..=22).contains(*count)).count();
            assert!(inside * 4 >= found.len() * 3, "{found:?}");
        }
    }
}

#[test]
fn places_of_the_index_are_understood() {
    let path = std::env::temp_dir().join(format!("kubesim-places-{}.yaml", std::process::id()));
    fs::write(&path, "apiVersion: v1\nkind: Namespace\nmetadata: {name: A}\nspec: {finalizer: []}\n").unwrap();
    let problems = judged(&path).unwrap_err();
    fs::remove_file(&path).unwrap();
    let expected = BTreeMap::from([
        ("spec.finalizer", true),
        ("spec.finalizers", false),
        ("line 4 or 5 (the reader says 4)", true),
        ("line 5", false),
        ("document 2, spec.finalizer", true),
        ("spec.finalizer or spec (the rule)", true),
        ("-", true),
    ]);
    for (place, named) in expected {
        assert_eq!(names_place(place, &problems), named, "{place}: {}", shown(&problems));
    }
}
