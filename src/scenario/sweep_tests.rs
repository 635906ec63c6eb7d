use std::path::PathBuf;

use serde_json::json;

use super::*;
use crate::scenario::{LoadedSweep, Overrides, load, load_sweep};

const WEB: &str = "---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example/web:1}]}
";

/// A file with a sweep, in a folder of its own that goes with it.
struct Files(Vec<PathBuf>);

impl std::ops::Deref for Files {
    type Target = [PathBuf];

    fn deref(&self) -> &[PathBuf] {
        &self.0
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0[0].parent().unwrap());
    }
}

/// A file with this sweep, whose first line is line 5.
fn file(test: &str, sweep: &str) -> Files {
    let folder = std::env::temp_dir().join(format!("kubesim-sweep-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(format!("{test}.yaml"));
    let head = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n";
    std::fs::write(&path, format!("{head}{sweep}\n{WEB}")).unwrap();
    Files(vec![path])
}

fn loaded(test: &str, sweep: &str) -> LoadedSweep {
    load_sweep(&file(test, sweep), &Overrides::default(), None).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn points_are_in_the_order_written_and_the_last_path_varies_fastest() {
    let text = "  sweep:
    replications: 3
    grid:
      spec.controlPlane.controllerManager.flags.concurrent-replicaset-syncs: [1, 4]
      deployment/web:spec.replicas: [2, 3, 5]
    minimise: convergence_seconds
    maximise: [pods_created_total]";
    let loaded = loaded("order", text);
    assert_eq!((loaded.sweep.replications, loaded.sweep.points(), loaded.plans.len()), (3, 6, 6));
    let indices: Vec<Vec<usize>> = (0..6).map(|point| loaded.sweep.indices(point)).collect();
    assert_eq!(indices, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    let replicas: Vec<i64> = loaded
        .plans
        .iter()
        .map(|plan| {
            plan.objects.iter().find(|o| o["kind"] == "Deployment").unwrap()["spec"]["replicas"].as_i64().unwrap()
        })
        .collect();
    assert_eq!(replicas, [2, 3, 5, 2, 3, 5]);
    let workers: Vec<String> =
        loaded.plans.iter().map(|plan| format!("{:?}", plan.processes[0].components[0])).collect();
    assert!(workers[2].contains("workers: 1,") && workers[3].contains("workers: 4,"), "{workers:?}");
    let goals: Vec<(&str, &str)> = loaded.sweep.goals.iter().map(|goal| (goal.kpi, goal.wish.as_str())).collect();
    assert_eq!(goals, [("convergence_seconds", "minimise"), ("pods_created_total", "maximise")]);
    // What two points have in common they share.
    let nodes = |point: usize| loaded.plans[point].objects.iter().find(|o| o["kind"] == "Node").unwrap();
    assert!(std::sync::Arc::ptr_eq(nodes(0), nodes(5)));
}

#[test]
fn values_may_be_any_yaml() {
    let text = "  sweep:
    grid:
      spec.controlPlane.controllerManager.reconcileTime.replicaset: [200ms, {exponential: 200ms}, {choice: [1s, 2s]}]
      spec.model.assume: [true, false]";
    let loaded = loaded("any", text);
    assert_eq!((loaded.sweep.replications, loaded.plans.len()), (1, 6));
    let axis = &loaded.sweep.grid[0];
    assert_eq!([axis.text(0), axis.text(1)], ["200ms", "{\"exponential\":\"200ms\"}"]);
}

/// Code, line and the beginning of the message of each problem, and its help.
fn problems(test: &str, sweep: &str) -> Vec<(String, usize, String, String)> {
    let problems = load_sweep(&file(test, sweep), &Overrides::default(), None).expect_err("it is wrong");
    let told = |problem: &crate::scenario::Diagnostic| {
        let line = problem.place.as_ref().map_or(0, |(_, mark)| mark.line);
        (problem.code.to_string(), line, problem.message.clone(), problem.help.clone().unwrap_or_default())
    };
    problems.iter().map(told).collect()
}

#[test]
fn mistakes_stand_at_their_places() {
    let head = "  sweep:\n    grid:\n";
    for (name, text, expected) in [
        ("none", "  duration: 1m".to_string(), ("E0006", 4, "`sweep` must be given", "spec.sweep says")),
        (
            "kpi",
            "  sweep: {minimise: [convergence_second]}".into(),
            ("E0005", 5, "unknown value \"convergence_second\"", "did you mean `convergence_seconds`?"),
        ),
        (
            "both",
            "  sweep:\n    minimise: requests_total\n    maximise: requests_total".into(),
            ("E0019", 6, "`requests_total` cannot be both", ""),
        ),
        (
            "nowhere",
            format!("{head}      spec.nodes[0].count: [1]\n  nodes: []"),
            ("E0018", 7, "`spec.nodes` has 0 items", "items count from 0"),
        ),
        (
            "object",
            format!("{head}      deployment/wbe:spec.replicas: [1]"),
            ("E0018", 7, "no file describes deployment/wbe", "did you mean `deployment/web`?"),
        ),
        (
            "field",
            format!("{head}      spec.modle.assume: [true]"),
            ("E0004", 7, "unknown field `modle`", "did you mean `model`?"),
        ),
        (
            "flag",
            format!("{head}      spec.controlPlane.controllerManager.flags.concurrent-replicasets-syncs: [1]"),
            ("E0016", 7, "kube-controller-manager has no flag", "did you mean `--concurrent-replicaset-syncs`?"),
        ),
        (
            "value",
            format!("{head}      spec.duration:\n        - 1m\n        - 1x"),
            ("E0005", 9, "\"1x\" is not a duration", "durations are"),
        ),
        ("twice", format!("{head}      spec.seed: [1, 1]"), ("E0005", 7, "the value 1 is given twice", "")),
        (
            "empty",
            format!("{head}      spec.seed: []"),
            ("E0005", 7, "must be a list with at least one value, not an empty one", ""),
        ),
        ("itself", format!("{head}      spec.sweep.replications: [1]"), ("E0018", 7, "a sweep cannot vary itself", "")),
        (
            "large",
            "  sweep: {replications: 1000000, grid: {spec.seed: [1, 2]}}".into(),
            (
                "E0022",
                5,
                "2 points x 1000000 replications are 2000000 runs; at most 1000000 are possible",
                "take fewer",
            ),
        ),
    ] {
        let found = problems(name, &text);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        let (code, line, message, help) = &found[0];
        assert_eq!((code.as_str(), *line), (expected.0, expected.1), "{name}: {found:?}");
        assert!(message.starts_with(expected.2) && help.starts_with(expected.3), "{name}: {found:?}");
    }
}

#[test]
fn a_run_says_that_it_is_the_base_point_and_names_the_mistakes_of_the_sweep() {
    let text = "  sweep: {replications: 3, grid: {deployment/web:spec.replicas: [2, 3]}}";
    let loaded = load(&file("run", text), &Overrides::default()).unwrap();
    assert_eq!(loaded.plans.len(), 1);
    assert!(
        loaded.notices.iter().any(|notice| notice.contains("`kubesim sweep` runs all 2 points")),
        "{:?}",
        loaded.notices
    );
    let replicas = loaded.plans[0].objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    assert_eq!(replicas["spec"]["replicas"], json!(1));
    // A point of the first value of each path, and of every other value one.
    let axis = |count: usize| Axis { path: "x".into(), values: (0..count).map(|index| json!(index)).collect() };
    let sweep =
        Sweep { replications: 1, grid: vec![axis(2), axis(1), axis(3)], goals: Vec::new(), histograms: Vec::new() };
    assert_eq!(sweep.points_with_every_value().collect::<Vec<_>>(), [0, 3, 1, 2]);
    let wrong = "  sweep: {grid: {spec.model.assume: [true, 7]}}";
    assert!(load(&file("run-value", wrong), &Overrides::default()).unwrap_err().to_string().contains("E0005"));
    let wrong = "  sweep: {grid: {spec.modle.assume: [true]}}";
    assert!(load(&file("run-wrong", wrong), &Overrides::default()).unwrap_err().to_string().contains("E0004"));
}

#[test]
fn the_command_line_may_change_the_number_of_replications_and_the_grid() {
    let files =
        file("changed", "  sweep: {replications: 3, grid: {\"spec.nodes[0].count\": [1]}}\n  nodes: [{count: 1}]");
    let set = vec![("spec.sweep.grid[\"spec.nodes[0].count\"]".to_string(), "[2, 3, 4]".to_string())];
    let overrides = Overrides { set, ..Overrides::default() };
    let loaded = load_sweep(&files, &overrides, Some(7)).unwrap();
    assert_eq!((loaded.sweep.replications, loaded.plans.len()), (7, 3));
    let problems = load_sweep(&files, &Overrides::default(), Some(RUNS_MAX + 1)).unwrap_err();
    assert!(problems.to_string().contains("E0022"), "{problems}");
}

#[test]
fn what_is_expected_of_single_variants_is_not_judged() {
    let text = "  duration: 2m
  sweep: {replications: 2}
  variants: [{name: two, set: {deployment/web:spec.replicas: 2}}]
  expect:
    - {at: 1m, that: 'count(\"pods\") == 1', in: base}
    - {at: 1m, that: 'count(\"pods\") == 2', in: two}
    - {at: 1m, that: 'count(\"pods\") >= 1'}";
    let loaded = loaded("variants", text);
    let judged: Vec<&str> = loaded.plans[0].expectations.iter().map(|one| one.that.as_str()).collect();
    assert_eq!(judged, ["count(\"pods\") >= 1"]);
    assert!(loaded.notices.iter().any(|notice| notice.starts_with("2 expectations of single variants")));
}

#[test]
fn paths_are_short_where_that_is_clear() {
    let axis = |path: &str| Axis { path: path.to_string(), values: vec![json!(1)] };
    let grid = vec![axis("a/b:spec.replicas"), axis("spec.x.at"), axis("spec.y.at"), axis("spec.nodes[0]")];
    let sweep = Sweep { replications: 1, grid, goals: Vec::new(), histograms: Vec::new() };
    assert_eq!(sweep.short_names(), ["replicas", "x.at", "y.at", "spec.nodes[0]"]);
}

#[test]
fn settings_read_back_as_their_values() {
    let axis =
        Axis { path: "spec.x".into(), values: vec![json!("200ms"), json!("5"), json!(5), json!({"a": [1, "b"]})] };
    let written: Vec<(String, String)> = (0..4).map(|index| axis.setting(index)).collect();
    let expected = ["200ms", "\"5\"", "5", "{\"a\":[1,\"b\"]}"].map(|text| ("spec.x".to_string(), text.to_string()));
    assert_eq!(written, expected);
}

#[test]
fn settings_that_the_grid_replaces_are_told() {
    let path = "spec.controlPlane.controllerManager.reconcileTime";
    let files = file("replaced", &format!("  sweep:\n    grid:\n      {path}.replicaset: [1ms, 2ms]"));
    let set = |path: &str| Overrides { set: vec![(path.to_string(), "5ms".to_string())], ..Overrides::default() };
    let notices = |path: &str| {
        let mut notices = load_sweep(&files, &set(path), None).unwrap().notices;
        notices.retain(|notice| notice.starts_with("--set"));
        notices
    };
    // `spec.` may be left out.
    assert_eq!(
        notices("controlPlane.controllerManager.reconcileTime.replicaset"),
        [
            "--set controlPlane.controllerManager.reconcileTime.replicaset: the grid varies it, and its values take the place \
          of this one"
        ]
    );
    assert_eq!(notices(&format!("{path}.deployment")), [""; 0]);
    let problems = load(&files, &set("spec.variants[0].name")).unwrap_err();
    let help = problems.iter().find_map(|problem| problem.help.clone()).unwrap_or_default();
    assert!(help.starts_with("write the variant into the file"), "{help}");
}

#[test]
fn a_path_that_was_taken_apart_at_its_dots_is_explained() {
    let found = problems("dots", "  sweep: {grid: {spec: {seed: [1, 2]}}}");
    let (code, line, message, help) = &found[0];
    assert_eq!((code.as_str(), *line), ("E0005", 5));
    assert!(message.starts_with("must be a list with at least one value"), "{message}");
    assert!(help.starts_with("a path is one key of the grid; on the command line: --set"), "{help}");
}
