//! The program from outside: exit codes, what is written and what is not, the same bytes twice, and help.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use program::{bytes, empty_folder, kubesim};

/// A Deployment of two on the default nodes; `{expect}` is one expectation, `{spec}` more of the spec.
const SMALL: &str = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 1m
  expect: [{expect}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api}
spec:
  replicas: 2
  selector: {matchLabels: {app: api}}
  template:
    metadata: {labels: {app: api}}
    spec: {containers: [{name: api, image: "registry.example/api:1"}]}
"#;
const MET: &str = r#"{at: 1m, that: 'object("deployment/api").status.readyReplicas == 2'}"#;
const NOT_MET: &str = r#"{at: 1m, that: 'object("deployment/api").status.readyReplicas == 3'}"#;

fn folder(test: &str) -> PathBuf {
    empty_folder("cli", test)
}

/// Such a folder with small.yaml in it.
fn small(test: &str, expect: &str) -> PathBuf {
    let folder = folder(test);
    fs::write(folder.join("small.yaml"), SMALL.replace("{expect}", expect)).unwrap();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_run_prints_its_result_and_writes_its_files() {
    let folder = small("done", MET);
    let done = kubesim(&folder, &["run", "small.yaml"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let results = folder.join("output/small");
    let expected = ["charts", "events.csv", "metrics.csv", "scenario.yaml", "state.yaml", "summary.json", "trace.csv"];
    assert_eq!(names(&results), expected);
    let charts = names(&results.join("charts"));
    assert!(charts.iter().any(|name| name == "replicas.svg") && charts.iter().any(|name| name == "replicas.png"));
    let hash = json(&results.join("summary.json"))["hash"].as_str().unwrap().to_string();
    for text in
        ["deployment/api   2/2", "2 Running", "Expectations: 1 of 1 met", "Simulated time: 1m0s", &hash, "Seed:"]
    {
        assert!(done.out.contains(text), "{text} is not in\n{}", done.out);
    }
    assert!(done.out.contains("output/small") && done.out.contains("events/s"));
    // What is worth knowing is no part of the result.
    assert!(done.err.contains("no Node is given") && !done.err.contains('\u{1b}'), "{}", done.err);
}

#[test]
fn an_expectation_that_is_not_met_gives_1() {
    let folder = small("not-met", NOT_MET);
    let done = kubesim(&folder, &["run", "small.yaml"]);
    assert_eq!(done.code, 1);
    assert!(done.out.contains("NOT MET  at 1m0s"), "{}", done.out);
    let quiet = kubesim(&folder, &["run", "small.yaml", "--quiet"]);
    assert_eq!(quiet.code, 1);
    assert!(quiet.out.contains("NOT MET") && !quiet.out.contains("Trace hash") && quiet.err.is_empty());
    assert!(folder.join("output/small/summary.json").exists(), "the results of a complete run are there");
}

#[test]
fn bad_input_gives_2_and_writes_nothing() {
    let folder = small("bad-input", r#"{at: 1m, taht: "true"}"#);
    for line in [
        &["run", "small.yaml"][..],
        &["run", "missing.yaml"],
        &["run"],
        &["run", "small.yaml", "--until=soon"],
        &["run", "small.yaml", "--event-budget=0"],
        &["run", "small.yaml", "-o", "xml"],
        &["run", "small.yaml", "--set", "spec.duration"],
        &["walk", "small.yaml"],
        &["why", "pod/x"],
        &["why", "pod/x", "missing"],
        &["why", "gizmo/x", "."],
    ] {
        let done = kubesim(&folder, line);
        assert_eq!(done.code, 2, "{line:?}: {}{}", done.out, done.err);
        assert!(!done.err.is_empty() && done.out.is_empty(), "{line:?}");
    }
    assert_eq!(names(&folder), ["small.yaml"], "nothing was written");
    let done = kubesim(&folder, &["run", "small.yaml"]);
    assert!(done.err.contains("taht") && done.err.contains("small.yaml:6"), "the place is shown: {}", done.err);
}

#[test]
fn a_folder_of_somebody_else_is_refused() {
    let folder = small("foreign", MET);
    let target = folder.join("notes");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("diary.txt"), "dear").unwrap();
    let done = kubesim(&folder, &["run", "small.yaml", "--out", "notes"]);
    assert_eq!(done.code, 2);
    assert!(done.err.contains("notes") && done.err.contains("no summary.json"), "{}", done.err);
    assert_eq!(names(&target), ["diary.txt"]);
    assert_eq!(names(&folder), ["notes", "small.yaml"], "no hidden folder is left");
    // A folder of ours is replaced as a whole.
    assert_eq!(kubesim(&folder, &["run", "small.yaml", "--out", "ours"]).code, 0);
    fs::write(folder.join("ours/old.txt"), "").unwrap();
    assert_eq!(kubesim(&folder, &["run", "small.yaml", "--out", "ours"]).code, 0);
    assert!(!folder.join("ours/old.txt").exists());
}

#[test]
fn a_budget_gives_3_and_partial_results() {
    let folder = small("budget", MET);
    let done = kubesim(&folder, &["run", "small.yaml", "--event-budget", "100"]);
    assert_eq!(done.code, 3, "{}{}", done.out, done.err);
    assert!(done.out.contains("Partial:") && done.out.contains("event budget of 100 spent"), "{}", done.out);
    let summary = json(&folder.join("output/small/summary.json"));
    // The instant in which the budget is spent is finished.
    let events = summary["events"].as_u64().unwrap();
    assert!(summary["partial"] == true && (100..150).contains(&events), "{events}");
}

#[test]
fn the_same_scenario_and_seed_give_the_same_bytes() {
    let folder = small("twice", MET);
    let run = |out: &str, more: &[&str]| {
        let done = kubesim(&folder, &[&["run", "small.yaml", "--quiet", "--out", out], more].concat());
        assert_eq!(done.code, 0, "{}", done.err);
        bytes(&folder.join(out))
    };
    let first = run("first", &[]);
    assert!(first.len() >= 6);
    assert!(first == run("deep/second", &["--seed=0"]), "the folder's name and the default seed change nothing");
    let other = run("third", &["--seed=7"]);
    assert!(first != other, "the seed is used");
}

#[test]
fn until_gives_the_beginning_of_the_trace() {
    let folder = small("until", MET);
    let trace = |out: &str, more: &[&str]| {
        kubesim(&folder, &[&["run", "small.yaml", "--quiet", "--out", out], more].concat());
        fs::read_to_string(folder.join(out).join("trace.csv")).unwrap()
    };
    let (whole, beginning) = (trace("whole", &[]), trace("beginning", &["--until=3s"]));
    assert!(whole.starts_with(&beginning) && beginning.len() < whole.len());
    let summary = json(&folder.join("beginning/summary.json"));
    assert_eq!(summary["simulated_seconds"], 3);
}

#[test]
fn data_is_the_summary_and_the_objects() {
    let folder = small("data", MET);
    let done = kubesim(&folder, &["run", "small.yaml", "--quiet", "-o", "json"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    let value: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(value["summary"], json(&folder.join("output/small/summary.json")));
    let objects = value["worlds"][0]["objects"].as_array().unwrap();
    let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(deployment["status"]["readyReplicas"], 2);
    let yaml = kubesim(&folder, &["run", "small.yaml", "--quiet", "-o", "yaml"]);
    assert!(yaml.code == 0 && yaml.out.contains("kind: RunResult"), "{}", yaml.out);
}

#[test]
fn variants_have_a_folder_each_and_one_summary_on_top() {
    let folder = folder("variants");
    let text = SMALL.replace("{expect}", MET).replace(
        "spec:\n  duration",
        "spec:\n  variants: [{name: more, set: {'deployment/api:spec.replicas': 3}}]\n  duration",
    );
    fs::write(folder.join("small.yaml"), text).unwrap();
    let done = kubesim(&folder, &["run", "small.yaml"]);
    assert_eq!(done.code, 1, "{}{}", done.out, done.err);
    assert!(done.out.contains("=== variant base") && done.out.contains("=== variant more"), "{}", done.out);
    let results = folder.join("output/small");
    assert_eq!(names(&results), ["base", "charts", "more", "scenario.yaml", "summary.json"]);
    assert_eq!(json(&results.join("summary.json"))["variants"][1]["variant"], "more");
    let why = |more: &[&str]| kubesim(&folder, &[&["why", "deployment/api", "output/small"], more].concat());
    let unnamed = why(&[]);
    assert!(unnamed.code == 2 && unnamed.err.contains("base, more"), "{}", unnamed.err);
    // Kinds of the scenario's own are known once the variant is.
    let custom = kubesim(&folder, &["why", "database/db", "output/small"]);
    assert!(custom.code == 2 && custom.err.contains("name one with --variant"), "{}", custom.err);
    assert_eq!(why(&["--variant=more"]).code, 0);
    assert_eq!(why(&["--variant=moer"]).code, 2);
}

#[test]
fn why_leads_from_an_object_to_a_root() {
    let folder = small("why", MET);
    kubesim(&folder, &["run", "small.yaml", "--quiet"]);
    let done = kubesim(&folder, &["why", "deployment/api", "--in=output/small"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let lines: Vec<&str> = done.out.lines().collect();
    assert!(lines[0].contains("deployment/api") && lines[2].starts_with("TIME") && lines.len() > 5, "{}", done.out);
    assert!(lines[3].contains("deployment/api"), "{}", done.out);
    let root = lines[lines.len() - 1];
    assert!(["acted:", "timer", "fault:", "load:"].iter().any(|word| root.contains(word)), "{}", done.out);
    // At the start only what the scenario itself put there has happened.
    let early = kubesim(&folder, &["why", "deployment/api", "output/small", "--at=0s"]);
    assert!(early.code == 0 && early.out.lines().count() < lines.len(), "{}", early.out);
    let late = kubesim(&folder, &["why", "deployment/api", "output/small", "--at=99h"]);
    assert!(late.code == 2 && late.err.contains("the run ended at"), "{}", late.err);
    let short = kubesim(&folder, &["why", "deployment/api", "output/small", "--limit=3"]);
    let shown: Vec<&str> = short.out.lines().collect();
    assert!(shown.len() == 7 && shown[5].starts_with("...") && shown[5].ends_with("back to:"), "{}", short.out);
    assert_eq!(shown[6].split_whitespace().last(), root.split_whitespace().last());
    let typo = kubesim(&folder, &["why", "deployment/apu", "output/small"]);
    assert!(typo.code == 2 && typo.err.contains("did you mean deployment/api?"), "{}", typo.err);
}

#[test]
fn shipped_scenarios_hold_what_they_promise() {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let folder = folder("shipped");
    let shipped = names(&scenarios);
    for name in ["dedup.yaml", "dropped-watch-event.yaml", "quickstart.yaml"] {
        assert!(shipped.iter().any(|file| file == name), "{name} is missing");
    }
    for name in shipped.iter().filter(|name| name.ends_with(".yaml")) {
        let done = kubesim(&folder, &["run", scenarios.join(name).to_str().unwrap(), "--quiet"]);
        assert_eq!(done.code, 0, "{name}: {}{}", done.out, done.err);
    }
}

/// The code blocks of a page that begin with three backquotes and this word.
fn blocks(page: &str, word: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
    let opening = format!("```{word}\n");
    let parts = text.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap().to_string()).collect()
}

#[test]
fn scenarios_on_the_pages_hold_what_they_promise() {
    let folder = folder("pages");
    for page in ["README.md", "docs/scenario.md"] {
        let examples = blocks(page, "yaml");
        assert!(!examples.is_empty(), "{page} has an example");
        for example in examples {
            fs::write(folder.join("example.yaml"), example).unwrap();
            let done = kubesim(&folder, &["run", "example.yaml", "--quiet"]);
            assert_eq!(done.code, 0, "{page}: {}{}", done.out, done.err);
        }
    }
}

#[test]
fn the_readme_shows_what_is_printed() {
    let folder = folder("readme");
    let update = std::env::var_os("KUBESIM_UPDATE").is_some();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::create_dir(folder.join("scenarios")).unwrap();
    for name in ["scenarios/dropped-watch-event.yaml", "scenarios/ml-training.yaml"] {
        fs::copy(root.join(name), folder.join(name)).unwrap();
    }
    assert_eq!(kubesim(&folder, &["run", "--quiet", "scenarios/ml-training.yaml"]).code, 0);
    // Times of the machine are its own.
    let own = |text: &str| {
        let lines = text.lines().filter(|line| !line.starts_with("Wall time:"));
        lines.map(|line| line.split(" (").next().unwrap().to_string()).collect::<Vec<_>>()
    };
    let page = root.join("README.md");
    let mut text = fs::read_to_string(&page).unwrap();
    let shown = blocks("README.md", "console");
    assert!(shown.len() >= 3, "a run, a why and an explain");
    for block in shown {
        let (line, expected) = block.split_once('\n').unwrap();
        let words: Vec<&str> = line.strip_prefix("$ kubesim ").unwrap().split(' ').collect();
        let done = kubesim(&folder, &words);
        if update {
            text = text.replace(expected, &done.out);
        } else {
            let help = "if it is meant to, KUBESIM_UPDATE=1 cargo test --test cli writes it anew";
            assert_eq!(own(&done.out), own(expected), "README.md shows something else than `{line}` prints: {help}");
        }
    }
    if update {
        fs::write(&page, text).unwrap();
    }
}

#[test]
fn help_reads_like_kubectls() {
    let folder = folder("help");
    let top = kubesim(&folder, &["--help"]);
    assert_eq!(top.code, 0);
    for text in ["Commands:", "  run ", "  why ", "Options:", "Usage:\n  kubesim <command>"] {
        assert!(top.out.contains(text), "{text} is not in\n{}", top.out);
    }
    assert_eq!(kubesim(&folder, &[]).out, top.out, "without a command help is shown");
    for command in ["run", "why", "explain"] {
        let help = kubesim(&folder, &[command, "--help"]);
        assert_eq!(help.code, 0);
        let places: Vec<usize> = ["Examples:\n  # ", "Options:\n", "Usage:\n  kubesim "]
            .iter()
            .map(|part| help.out.find(part).unwrap())
            .collect();
        assert!(places.is_sorted(), "{}", help.out);
        assert!(help.out.lines().all(|line| line == line.trim_end()), "no line ends in a space:\n{}", help.out);
    }
    let version = kubesim(&folder, &["--version"]);
    assert_eq!((version.code, version.out.trim()), (0, concat!("kubesim ", env!("CARGO_PKG_VERSION"))));
}
