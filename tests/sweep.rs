//! `kubesim sweep` from outside: rows, statistics, the same bytes for any number of threads, common random numbers, and
//! what happens to runs and input that are no good.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "common/program.rs"]
mod program;

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use kubesim::experiment::statistics::{Moments, Quantiles};
use serde_json::Value;

use program::{bytes, empty_folder, kubesim};

/// Two Deployments whose reconciles take a time that is drawn; `{sweep}` is the sweep.
const SMALL: &str = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  nodes: [{count: 2, cpu: "4", memory: 8Gi}]
  controlPlane:
    controllerManager:
      flags: ["--concurrent-deployment-syncs=5"]
      reconcileTime: {replicaset: {exponential: 200ms}}
  expect:
    - {eventually: 'count("pods", "app=api", "status.phase=Running") >= 2'}
  sweep: {sweep}
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
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
"#;
const WORKERS: &str = "spec.controlPlane.controllerManager.flags.concurrent-replicaset-syncs";

fn grid() -> String {
    format!(
        "{{replications: 4, grid: {{{WORKERS}: [1, 3], deployment/api:spec.replicas: [2, 4]}}, \
         minimise: [convergence_seconds], maximise: pods_created_total}}"
    )
}

/// An empty folder for a test with small.yaml in it.
fn small(test: &str, sweep: &str) -> PathBuf {
    let folder = empty_folder("sweep", test);
    fs::write(folder.join("small.yaml"), SMALL.replace("{sweep}", sweep)).unwrap();
    folder
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// The rows of results.csv by column; no field here holds a comma.
fn rows(folder: &Path) -> Vec<Vec<(String, String)>> {
    let text = fs::read_to_string(folder.join("results.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<String> = lines.next().unwrap().split(',').map(str::to_string).collect();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), header.len(), "{line}");
        header.iter().cloned().zip(fields.iter().map(|field| field.to_string())).collect()
    };
    lines.map(row).collect()
}

fn field<'a>(row: &'a [(String, String)], column: &str) -> &'a str {
    let found = row.iter().find(|(name, _)| name == column);
    &found.unwrap_or_else(|| panic!("no column {column}: {row:?}")).1
}

#[test]
fn every_run_has_a_row_and_every_point_its_statistics() {
    let folder = small("rows", &grid());
    let done = kubesim(&folder, &["sweep", "small.yaml"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let out = folder.join("output/small-sweep");
    let rows = rows(&out);
    let keys: Vec<[&str; 4]> = rows
        .iter()
        .map(|row| ["point", "replication", WORKERS, "deployment/api:spec.replicas"].map(|column| field(row, column)))
        .collect();
    assert_eq!(keys.len(), 16);
    assert_eq!(
        keys[..5],
        [["0", "0", "1", "2"], ["0", "1", "1", "2"], ["0", "2", "1", "2"], ["0", "3", "1", "2"], ["1", "0", "1", "4"]]
    );
    assert_eq!(keys[8], ["2", "0", "3", "2"]);
    for row in &rows {
        assert_eq!(["seed", "partial", "reason"].map(|column| field(row, column)), ["0", "false", ""]);
        assert_eq!(["expectations_met", "expectations_total"].map(|column| field(row, column)), ["1", "1"]);
    }
    let summary = json(&out.join("summary.json"));
    assert_eq!((&summary["kind"], &summary["runs"]), (&"SweepSummary".into(), &16.into()));
    let mut quantiles = Quantiles::new(0.95);
    for point in 0..4_usize {
        let mut moments = Moments::default();
        let own = rows.iter().filter(|row| field(row, "point") == point.to_string());
        own.for_each(|row| moments.push(field(row, "convergence_seconds").parse().unwrap()));
        let found = &summary["points"][point]["kpis"]["convergence_seconds"];
        let (mean, half_width) = (moments.mean().unwrap(), moments.half_width(&mut quantiles).unwrap());
        assert!(half_width > 0.0, "nothing was drawn at random");
        for (field, value) in [("n", 4.0), ("mean", mean), ("low", mean - half_width), ("high", mean + half_width)] {
            let found = found[field].as_f64().unwrap();
            assert!((found - value).abs() <= 1e-14 * value.abs(), "{field} of point {point}: {found}, {value}");
        }
    }
    let means: Vec<f64> = (0..4)
        .map(|point: usize| summary["points"][point]["kpis"]["convergence_seconds"]["mean"].as_f64().unwrap())
        .collect();
    let best = (0..4).min_by(|&a, &b| means[a].total_cmp(&means[b])).unwrap();
    assert_eq!(summary["best"][0]["point"], best);
    // 4 + 1 pods at the second and fourth point: the first of equals is named.
    assert_eq!((&summary["best"][1]["point"], &summary["best"][1]["mean"]), (&1.into(), &5.into()));
    assert!(
        done.out.contains("CONCURRENT-REPLICASET-SYNCS") && done.out.contains(" ± ") && done.out.contains('*'),
        "{}",
        done.out
    );
}

#[test]
fn every_kpi_that_varies_has_a_chart_and_the_others_are_named() {
    let folder = small("charts", &grid());
    assert_eq!(kubesim(&folder, &["sweep", "small.yaml", "--out=out"]).code, 0);
    let svg = fs::read_to_string(folder.join("out/charts/convergence_seconds.svg")).unwrap();
    for text in
        ["Convergence time over concurrent-replicaset-syncs", "replicas 2", "replicas 4", "95 % interval of the mean"]
    {
        assert!(svg.contains(text), "{text}");
    }
    assert!(fs::read(folder.join("out/charts/convergence_seconds.png")).unwrap().starts_with(b"\x89PNG"));
    let summary = json(&folder.join("out/summary.json"));
    let notices: Vec<&str> = summary["notices"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let fixed = notices.iter().find(|notice| notice.contains("the same in every run")).unwrap();
    assert!(fixed.contains("pods_deleted_total"), "{fixed}");
    assert!(!folder.join("out/charts/pods_deleted_total.svg").exists());
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = small("threads", &grid());
    for threads in ["1", "2", "5"] {
        let out = format!("out{threads}");
        let done = kubesim(&folder, &["sweep", "small.yaml", "--threads", threads, "--out", &out, "-o", "json"]);
        assert_eq!(done.code, 0, "{}", done.err);
    }
    let one = bytes(&folder.join("out1"));
    assert!(one.len() > 4);
    for other in ["out2", "out5"] {
        for ((name, left), (_, right)) in one.iter().zip(bytes(&folder.join(other))) {
            assert!(*left == right, "{} differs", name.display());
        }
    }
}

#[test]
fn a_row_is_the_run_with_its_settings_and_replication() {
    let folder = small("again", &grid());
    assert_eq!(kubesim(&folder, &["sweep", "small.yaml", "--out=out", "--seed=7"]).code, 0);
    let row = rows(&folder.join("out")).remove(14);
    assert_eq!((field(&row, "point"), field(&row, "replication")), ("3", "2"));
    let workers = format!("--set={WORKERS}=3");
    let line = [
        "run",
        "small.yaml",
        "--out=run",
        "--seed=7",
        "--replication=2",
        &workers,
        "--set=deployment/api:spec.replicas=4",
    ];
    assert_eq!(kubesim(&folder, &line).code, 0);
    let summary = json(&folder.join("run/summary.json"));
    assert_eq!(summary["hash"], field(&row, "hash"));
    for (kpi, value) in summary["kpis"].as_object().unwrap() {
        // Numbers in JSON are read to within a bit.
        let (run, swept) = (value.as_f64(), field(&row, kpi).parse::<f64>().ok());
        let is_same = run.zip(swept).is_none_or(|(run, swept)| (run - swept).abs() <= 1e-15 * swept.abs());
        assert!(is_same && run.is_some() == swept.is_some(), "{kpi}: {run:?}, {swept:?}");
    }
}

#[test]
fn points_share_the_luck_of_a_replication() {
    // The name of a scenario changes nothing in its world.
    let folder = small("luck", "{replications: 3, grid: {metadata.name: [a, b]}}");
    assert_eq!(kubesim(&folder, &["sweep", "small.yaml", "--out=out"]).code, 0);
    let rows = rows(&folder.join("out"));
    let hashes: Vec<&str> = rows.iter().map(|row| field(row, "hash")).collect();
    assert_eq!(hashes[..3], hashes[3..]);
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
}

#[test]
fn a_run_is_the_base_point_and_says_so() {
    let folder = small("base", &grid());
    let done = kubesim(&folder, &["run", "small.yaml", "--out=out"]);
    assert_eq!(done.code, 0);
    assert!(done.err.contains("`kubesim sweep` runs all 4 points"), "{}", done.err);
    assert!(json(&folder.join("out/summary.json"))["notices"].to_string().contains("kubesim sweep"));
}

#[test]
fn runs_that_are_stopped_are_rows_with_their_reason() {
    let folder = small("budget", &grid());
    let done = kubesim(&folder, &["sweep", "small.yaml", "--event-budget=50", "--out=out"]);
    assert_eq!(done.code, 3, "{}", done.err);
    let rows = rows(&folder.join("out"));
    assert_eq!(rows.len(), 16);
    assert!(
        rows.iter().all(|row| field(row, "partial") == "true" && field(row, "reason") == "event budget of 50 spent")
    );
    let summary = json(&folder.join("out/summary.json"));
    assert_eq!(summary["runs_partial"], 16);
    assert_eq!(summary["points"][0]["kpis"]["requests_total"]["n"], 0);
    assert!(summary["best"][0]["point"].is_null());
    assert!(done.err.contains("16 of 16 runs stopped before the end"), "{}", done.err);
    assert!(done.out.contains("RUNS WITHOUT RESULT") && done.out.contains("4 of 4"), "{}", done.out);
}

#[test]
fn expectations_are_counted_at_each_point() {
    let folder = small("expect", "{replications: 2, grid: {deployment/api:spec.replicas: [1, 2]}}");
    let done = kubesim(&folder, &["sweep", "small.yaml", "--out=out"]);
    assert_eq!(done.code, 1, "{}", done.err);
    let summary = json(&folder.join("out/summary.json"));
    assert_eq!((&summary["runs_unmet"], &summary["points"][0]["runs_unmet"]), (&2.into(), &2.into()));
    assert!(done.out.contains("EXPECTATIONS NOT MET") && done.out.contains("2 of 2"), "{}", done.out);
}

#[test]
fn mistakes_are_named_and_nothing_is_written() {
    for (name, sweep, code) in [
        ("path", "{grid: {deployment/wbe:spec.replicas: [1]}}", "E0018"),
        ("kpi", "{minimise: [convergence_second]}", "E0005"),
        ("size", "{replications: 1000001}", "E0005"),
        ("none", "null", "E0006"),
    ] {
        let folder = small(&format!("wrong-{name}"), sweep);
        let done = kubesim(&folder, &["sweep", "small.yaml"]);
        assert_eq!(done.code, 2, "{name}: {}", done.err);
        assert!(done.err.contains(code) && done.err.contains("small.yaml:"), "{name}: {}", done.err);
        assert!(!folder.join("output").exists());
    }
}

#[test]
fn a_sweep_that_is_killed_leaves_older_results_and_the_next_one_works() {
    let folder = small("killed", "{replications: 100000}");
    fs::create_dir(folder.join("out")).unwrap();
    let older = r#"{"apiVersion": "kubesim.dev/v1alpha1", "kind": "SweepSummary"}"#;
    fs::write(folder.join("out/summary.json"), older).unwrap();
    let mut sweep = Process::new(env!("CARGO_BIN_EXE_kubesim"));
    sweep.current_dir(&folder).args(["sweep", "small.yaml", "--out=out"]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut sweep = sweep.spawn().unwrap();
    let hidden = folder.join(".out.kubesim-new/results.csv");
    while !fs::metadata(&hidden).is_ok_and(|file| file.len() > 0) {
        assert!(sweep.try_wait().unwrap().is_none(), "it ended by itself");
        std::thread::sleep(Duration::from_millis(20));
    }
    sweep.kill().unwrap();
    sweep.wait().unwrap();
    assert_eq!(fs::read_to_string(folder.join("out/summary.json")).unwrap(), older);
    let done = kubesim(&folder, &["sweep", "small.yaml", "--out=out", "--replications=2"]);
    assert_eq!(done.code, 0, "{}", done.err);
    assert_eq!(rows(&folder.join("out")).len(), 2);
    assert!(!folder.join(".out.kubesim-new").exists());
}

#[test]
fn the_result_is_data_for_scripts() {
    let folder = small("data", &grid());
    let done = kubesim(&folder, &["sweep", "small.yaml", "-o", "json", "--quiet"]);
    let value: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&value["kind"], &value["files"]), (&"SweepResult".into(), &"output/small-sweep".into()));
    assert_eq!(value["summary"], json(&folder.join("output/small-sweep/summary.json")));
    assert_eq!(done.err, "");
}

#[test]
fn the_shipped_sweep_has_the_curve_that_its_comment_predicts() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep/shipped");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let file = common::scenario("sweep-workers");
    let done = kubesim(&folder, &["sweep", file.to_str().unwrap(), "--out=out", "--replications=8"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let readme = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, shown) = readme.split_once("CONCURRENT-REPLICASET-SYNCS").unwrap();
    for line in shown.split("```").next().unwrap().lines() {
        assert!(done.out.contains(line), "README.md shows `{line}`, which is not in\n{}", done.out);
    }
    let summary = json(&folder.join("out/summary.json"));
    for point in summary["points"].as_array().unwrap() {
        let set =
            |flag: &str| point["set"][format!("spec.controlPlane.controllerManager.flags.{flag}")].as_u64().unwrap();
        let (workers, qps) = (set("concurrent-replicaset-syncs"), set("kube-api-qps"));
        let last: f64 = (1..=workers).map(|worker| 0.2 / worker as f64).sum::<f64>() - 0.2;
        let by_workers = 100.0 * 0.209 / workers as f64 + last;
        let by_client = (100.0 - 30.0) / qps as f64;
        let statistics = &point["kpis"]["convergence_seconds"];
        let (mean, low) = (statistics["mean"].as_f64().unwrap(), statistics["low"].as_f64().unwrap());
        // The interval holds the larger of the two, up to a tenth where both slow each other down.
        let predicted = by_workers.max(by_client);
        let tolerance = (mean - low) * 1.5 + 0.1 * predicted;
        assert!((mean - predicted).abs() < tolerance, "{workers} workers, {qps} qps: {mean}, predicted {predicted}");
        assert!(mean > by_client, "{workers} workers, {qps} qps: {mean}");
    }
}
