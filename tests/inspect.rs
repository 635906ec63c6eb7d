//! What a finished run lets one ask: the resolved scenario, the final state, and any instant of it.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "common/program.rs"]
mod program;

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use kubesim::experiment::replay::Replay;
use kubesim::model::Span;
use kubesim::scenario::{Overrides, load};
use proptest::prelude::*;
use serde_json::Value;

use common::{assert_same_end, hash, plans, run, scenario, scenario_files};

use program::{empty_folder, kubesim};

fn folder(test: &str) -> PathBuf {
    empty_folder("inspect", test)
}

fn ok(folder: &Path, line: &[&str]) -> String {
    let done = kubesim(folder, line);
    assert_eq!(done.code, 0, "{line:?}: {}{}", done.out, done.err);
    done.out
}

/// Both plans of each variant give the same trace.
fn assert_same_traces(file: &Path, overrides: &Overrides, text: &str, copy: &Path) {
    fs::write(copy, text).unwrap();
    let (first, again) = (plans(file, overrides), plans(copy, &Overrides::default()));
    let names = |plans: &[kubesim::sim::Plan]| plans.iter().map(|plan| plan.variant.clone()).collect::<Vec<_>>();
    assert_eq!(names(&first), names(&again));
    for (first, again) in first.iter().zip(&again) {
        let (one, two) = (run(first), run(again));
        let label = format!("{} {}", file.display(), first.variant);
        assert_eq!(hash(&one.records, first.start_at), hash(&two.records, again.start_at), "{label}");
        assert_same_end(&label, &one.world, &two.world);
    }
}

#[test]
fn resolved_scenarios_give_the_same_traces() {
    let folder = folder("resolved");
    let changed = Overrides {
        seed: Some(7),
        until: Some(Span::from_seconds(400)),
        nodes: Some("2x4cpu,8Gi".into()),
        set: vec![("spec.model.assume".into(), "false".into())],
        allow_outside: false,
    };
    for file in scenario_files() {
        // Commands of some name nodes that others would not have.
        let names_nodes = ["spread-zones.yaml", "taints.yaml"].iter().any(|name| file.ends_with(name));
        let nodes = changed.nodes.clone().filter(|_| !names_nodes);
        let changed = Overrides { nodes, ..changed.clone() };
        for (name, overrides) in [("as-it-is.yaml", &Overrides::default()), ("changed.yaml", &changed)] {
            let resolved = load(std::slice::from_ref(&file), overrides).unwrap().resolved;
            let copy = folder.join(name);
            assert_same_traces(&file, overrides, &resolved.explained(), &copy);
            // What was resolved once is not changed by resolving it again; only nothing is a default any more.
            let again = load(&[copy], &Overrides::default()).unwrap().resolved;
            assert_eq!(again.to_yaml(), resolved.to_yaml());
            assert!(!again.explained().contains("  # default") && !again.explained().contains("  # --"));
        }
    }
}

/// Settings of components from a static Pod and a configuration file, and a Deployment that shows them.
const SETTINGS: &str = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: settings}
spec: {duration: 2m, controlPlane: {controllerManager: {reconcileTime: {replicaset: 50ms}}}}
---
apiVersion: v1
kind: Pod
metadata: {name: kube-controller-manager-a, namespace: kube-system}
spec:
  containers:
  - name: kube-controller-manager
    image: registry.k8s.io/kube-controller-manager:v1.36.2
    command: [kube-controller-manager, --leader-elect=true, --concurrent-replicaset-syncs=1]
    args: [--kube-api-qps, "2", --kube-api-burst=2]
---
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
percentageOfNodesToScore: 50
clientConnection: {qps: 0.5, burst: 1}
"#;

#[test]
fn settings_of_components_stay_in_the_resolved_scenario() {
    let folder = folder("settings");
    let (file, copy) = (folder.join("settings.yaml"), folder.join("copy.yaml"));
    let web = common::workload("Deployment", "web", 8);
    fs::write(&file, format!("{SETTINGS}---\n{web}")).unwrap();
    let resolved = load(std::slice::from_ref(&file), &Overrides::default()).unwrap().resolved;
    let text = resolved.explained();
    assert!(
        text.contains("percentageOfNodesToScore: 50") && text.contains("--concurrent-replicaset-syncs=1"),
        "{text}"
    );
    assert_same_traces(&file, &Overrides::default(), &text, &copy);
    let again = load(std::slice::from_ref(&copy), &Overrides::default()).unwrap().resolved;
    assert_eq!(again.to_yaml(), resolved.to_yaml());
    // Each of the two documents changes what happens.
    let trace = |text: &str| {
        fs::write(&copy, format!("{text}---\n{web}")).unwrap();
        let plan = plans(&copy, &Overrides::default()).remove(0);
        hash(&run(&plan).records, plan.start_at)
    };
    let whole = trace(SETTINGS);
    assert_ne!(trace(&SETTINGS.replace("\"2\"", "\"20\"")), whole);
    assert_ne!(trace(&SETTINGS.replace("qps: 0.5", "qps: 30")), whole);
}

/// Manifests in a folder, variants, a command that applies a file, a List, names by prefix, odd texts.
const WHOLE: &str = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: whole}
spec:
  duration: 3m
  include: [parts]
  containers:
    - {of: deployment/api, start: {lognormal: {p50: 3s, p99: 12s}}}
  controlPlane:
    apiServer: {commit: {uniform: [2ms, 9ms]}}
    controllerManager: {flags: ["--concurrent-deployment-syncs=2"]}
  timeline:
    - {at: 1m, kubectl: "apply -f later/more.yaml"}
  faults:
    - {at: 90s, kill: kube-scheduler}
  variants:
    - name: late
      set: {spec.controlPlane.apiServer.latency: 40ms, "deployment/api:spec.replicas": 4, spec.seed: 3}
    - name: flags
      set: {"spec.controlPlane.controllerManager.flags[0]": "--min-resync-period=1m"}
"#;
const PARTS: &str = r##"apiVersion: v1
kind: List
items:
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: api, namespace: shop, annotations: {a.b/c: "yes", text: "two\nlines\n", date: "2026-01-01", x: "0x1F"}}
  spec:
    replicas: 2
    selector: {matchLabels: {app: api}}
    template:
      metadata: {labels: {app: api}}
      spec: {containers: [{name: api, image: "registry.example/api:1", resources: {requests: {cpu: 0.5}}}]}
- apiVersion: v1
  kind: Pod
  metadata: {generateName: odd-}
  spec: {containers: [{name: c, image: "x:1", args: ["on", "1e3", "# no", "- x", " ", "a: b", "\u0007"]}]}
"##;

fn whole(test: &str) -> PathBuf {
    let folder = folder(test);
    fs::create_dir(folder.join("parts")).unwrap();
    fs::create_dir(folder.join("later")).unwrap();
    fs::write(folder.join("whole.yaml"), WHOLE.replace("deployment/api", "shop/deployment/api")).unwrap();
    fs::write(folder.join("parts/list.yaml"), PARTS).unwrap();
    fs::write(folder.join("later/more.yaml"), common::workload("Deployment", "more", 2)).unwrap();
    folder
}

#[test]
fn a_resolved_scenario_needs_no_other_file() {
    let folder = whole("whole");
    let file = folder.join("whole.yaml");
    let elsewhere = folder.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    for (index, more) in [&[][..], &["--seed=5"], &["--nodes=2x2cpu,4Gi"], &["--until=95s"]].iter().enumerate() {
        let line = [&["run", "whole.yaml", "--explain-defaults"][..], more].concat();
        let text = ok(&folder, &line);
        assert!(!text.contains("include") && text.contains("later/more.yaml:"), "{text}");
        let overrides = match index {
            1 => Overrides { seed: Some(5), ..Overrides::default() },
            2 => Overrides { nodes: Some("2x2cpu,4Gi".into()), ..Overrides::default() },
            3 => Overrides { until: Some(Span::from_seconds(95)), ..Overrides::default() },
            _ => Overrides::default(),
        };
        assert_same_traces(&file, &overrides, &text, &elsewhere.join("copy.yaml"));
    }
    assert!(!folder.join("output").exists(), "nothing was run");
}

#[test]
fn the_origin_of_a_value_stands_behind_it() {
    let text = ok(
        &folder("origin"),
        &[
            "run",
            scenario("quickstart").to_str().unwrap(),
            "--explain-defaults",
            "--set=deployment/web:spec.replicas=4",
            "--set=spec.model.assume=false",
            "--seed=3",
        ],
    );
    let line = |start: &str| {
        let found = text.lines().find(|line| line.trim_start().starts_with(start));
        found.unwrap_or_else(|| panic!("{start} is not in\n{text}")).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for (start, expected) in [
        ("kubernetesVersion", "kubernetesVersion: \"1.36\" # default"),
        ("seed", "seed: 3 # --seed"),
        ("duration", "duration: 5m"),
        ("pods:", "pods: 110 # default"),
        ("- --min-resync", "- --min-resync-period=12h0m0s # default"),
        ("watch", "watch: 5ms # default"),
        ("faults", "faults: [] # default"),
        ("assume", "assume: false # --set"),
        ("replicas: 4", "replicas: 4 # --set"),
        ("name: quickstart", "name: quickstart"),
    ] {
        assert_eq!(line(start), expected);
    }
}

#[test]
fn manifests_alone_are_resolved_too() {
    let folder = folder("bare");
    fs::write(folder.join("app.yaml"), common::workload("Deployment", "web", 2)).unwrap();
    let text = ok(&folder, &["run", "app.yaml", "--explain-defaults"]);
    assert!(text.contains("ends when nothing is left to do") && text.contains("name: app "), "{text}");
    assert_same_traces(&folder.join("app.yaml"), &Overrides::default(), &text, &folder.join("copy.yaml"));
    let short = Overrides { until: Some(Span::from_seconds(2)), ..Overrides::default() };
    let text = ok(&folder, &["run", "app.yaml", "--explain-defaults", "--until=2s"]);
    assert_same_traces(&folder.join("app.yaml"), &short, &text, &folder.join("copy.yaml"));
}

#[test]
fn a_folder_of_results_holds_its_input_and_can_be_asked_again() {
    let folder = whole("replay");
    ok(&folder, &["run", "whole.yaml", "--quiet", "--seed=4", "--until=100s"]);
    let results = folder.join("output/whole");
    let text = fs::read_to_string(results.join("scenario.yaml")).unwrap();
    assert!(!text.contains("# default") && !text.contains("# --"), "no comments: {text}");
    assert!(!text.contains(folder.to_str().unwrap()));
    // The folder stands for itself: its files are gone.
    for name in ["whole.yaml", "parts", "later"] {
        let path = folder.join(name);
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    assert!(Replay::open(&results, None).unwrap_err().to_string().contains("base, late, flags"));
    for variant in ["base", "late", "flags"] {
        let replay = Replay::open(&results, Some(variant)).unwrap();
        assert_eq!((replay.length, replay.plan.seed), (Span::from_seconds(100), 4));
        assert_eq!(replay.end().unwrap().notice, None);
        let past = replay.until(Span::from_seconds(30)).unwrap();
        assert_eq!(past.notice, None);
        assert!(past.world.now() <= past.at);
        assert!(replay.until(Span::from_seconds(101)).is_err());
        // Another trace than the folder's is noticed.
        let path = results.join(variant).join("trace.csv");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("scenario begins", "scenario starts", 1)).unwrap();
        assert!(replay.until(Span::from_seconds(30)).unwrap().notice.is_some());
    }
    let path = results.join("summary.json");
    let mut summary: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    summary["variants"][0]["hash"] = "00".into();
    summary["variants"][0]["version"] = "0.0.9".into();
    fs::write(&path, summary.to_string()).unwrap();
    let notice = Replay::open(&results, Some("base")).unwrap().end().unwrap().notice.unwrap();
    assert!(notice.contains("0.0.9"), "{notice}");
    fs::remove_file(results.join("scenario.yaml")).unwrap();
    assert!(Replay::open(&results, Some("base")).unwrap_err().to_string().contains("run the scenario again"));
}

/// Runs a shipped scenario in an empty folder.
fn ran(test: &str, name: &str) -> PathBuf {
    let folder = folder(test);
    ok(&folder, &["run", scenario(name).to_str().unwrap(), "--quiet"]);
    folder
}

/// What each command line prints, errors included.
fn transcript(folder: &Path, lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        let done = kubesim(folder, &line.split(' ').collect::<Vec<_>>());
        let code = if done.code == 0 { String::new() } else { format!("exit {}\n", done.code) };
        text.push_str(&format!("$ kubesim {line}\n{}{}{code}\n", done.out, done.err));
    }
    text
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn get_prints_what_kubectl_prints() {
    let folder = ran("get", "quickstart");
    let lines = [
        "get pods output/quickstart",
        "get po -o wide --at=1s output/quickstart",
        "get pods -l app=web --field-selector=spec.nodeName=node-2 --at=90s output/quickstart",
        "get deploy,rs --at=3m1s output/quickstart",
        "get all -A --at=61s output/quickstart",
        "get nodes --at=2m --show-labels output/quickstart",
        "get no -o wide output/quickstart",
        "get ns,lease -A --at=10s --no-headers output/quickstart",
        "get events --field-selector=involvedObject.kind=Deployment output/quickstart",
        "get ev -o wide --at=1s output/quickstart",
        "get deploy,no -o name --in=output/quickstart",
        "get deploy/web --at=0s -o yaml output/quickstart",
        "get namespaces -o json output/quickstart",
        "get pods -n kube-system output/quickstart",
        "get pods --at=0s -o yaml output/quickstart",
        "get pod nope deploy output/quickstart",
        "get deploy/web pod/nope output/quickstart",
        "get gizmos output/quickstart",
        "get pods --field-selector=spec.color=red output/quickstart",
        "get pods --at=6m output/quickstart",
        "get pods web -l app=web output/quickstart",
        "get pods",
        "get pods somewhere/else",
    ];
    snapshot("inspect-get", &transcript(&folder, &lines));
}

#[test]
fn describe_prints_what_kubectl_prints() {
    let folder = ran("describe", "quickstart");
    let lines = [
        "describe pod web-f8ldp88bz9-nkm7b --at=3s output/quickstart",
        "describe deploy/web --at=181s output/quickstart",
        "describe rs output/quickstart",
        "describe node node-2 --at=150s output/quickstart",
        "describe ns default output/quickstart",
        "describe lease node-1 -n kube-node-lease --at=1m output/quickstart",
        "describe pod -l app=web --show-events=false --at=10ms output/quickstart",
        "describe pod nope output/quickstart",
    ];
    snapshot("inspect-describe", &transcript(&folder, &lines));
}

#[test]
fn events_prints_what_kubectl_prints() {
    let folder = ran("events", "dropped-watch-event");
    let lines = [
        "events output/dropped-watch-event --variant=base",
        "events output/dropped-watch-event --variant=store --for=deploy/api --at=1m",
        "events output/dropped-watch-event --variant=store -A --types=Normal --no-headers --at=2s",
        "events output/dropped-watch-event --variant=store --types=Warning",
        "events output/dropped-watch-event --for=api --variant=store",
        "events output/dropped-watch-event",
        // What the scenario is about: the store holds two pods, and the status says three.
        "get deploy,pods output/dropped-watch-event --variant=store --at=3m",
        "get deploy,pods output/dropped-watch-event --variant=store",
        "get deploy,pods output/dropped-watch-event --variant=base --at=5m5.5s",
        "get rs output/dropped-watch-event --variant=bse",
    ];
    snapshot("inspect-events", &transcript(&folder, &lines));
}

#[test]
fn the_final_state_can_be_run_again() {
    let folder = ran("state", "quickstart");
    let results = folder.join("output/quickstart");
    let listed = ok(&folder, &["get", "ns,no,po,rs,deploy", "-A", "-o", "yaml", "output/quickstart"]);
    let state = fs::read_to_string(results.join("state.yaml")).unwrap();
    assert!(state == listed, "state.yaml is what `get -o yaml` prints");
    ok(&folder, &["run", "output/quickstart/state.yaml", "--quiet", "--out=again"]);
    let summary: Value = serde_json::from_slice(&fs::read(folder.join("again/summary.json")).unwrap()).unwrap();
    let notices = summary["notices"].as_array().unwrap();
    assert!(notices.is_empty(), "{notices:?}");
    let pods = |folder_of: &str| ok(&folder, &["get", "pods", "-o", "name", folder_of]);
    assert_eq!(pods("again"), pods("output/quickstart"), "nothing is made anew, nothing is lost");
    let ready = ok(&folder, &["get", "deploy", "--no-headers", "again"]);
    assert!(ready.starts_with("web   5/5"), "{ready}");
}

#[test]
fn results_of_another_version_are_shown_with_a_notice() {
    let folder = ran("version", "quickstart");
    let path = folder.join("output/quickstart/summary.json");
    let summary = fs::read_to_string(&path).unwrap();
    let hash = serde_json::from_str::<Value>(&summary).unwrap()["hash"].as_str().unwrap().to_string();
    fs::write(&path, summary.replace(&hash, "0123").replace(env!("CARGO_PKG_VERSION"), "0.0.9")).unwrap();
    let done = kubesim(&folder, &["get", "pods", "output/quickstart"]);
    assert!(done.code == 0 && done.out.contains("Running"), "{}{}", done.out, done.err);
    assert!(done.err.contains("notice:") && done.err.contains("written by kubesim 0.0.9"), "{}", done.err);
}

#[test]
fn every_notice_that_is_printed_is_kept() {
    let folder = folder("notices");
    let text = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: notices}
spec:
  duration: 1m
  controlPlane: {scheduler: {flags: ["--v=4"]}}
  timeline: [{at: 10s, kubectl: "delete pod nobody"}]
  variants: [{name: more, set: {"shop/deployment/api:spec.replicas": 3}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
"#;
    let workload = common::workload("Deployment", "api", 2)
        .replace("metadata: {name: api}", "metadata: {name: api, namespace: shop}");
    fs::write(folder.join("notices.yaml"), format!("{text}{workload}")).unwrap();
    let done = kubesim(&folder, &["run", "notices.yaml", "--until=2m"]);
    assert_eq!(done.code, 0, "{}{}", done.out, done.err);
    let printed: Vec<&str> = done.err.lines().filter_map(|line| line.strip_prefix("notice: ")).collect();
    let summary: Value =
        serde_json::from_slice(&fs::read(folder.join("output/notices/summary.json")).unwrap()).unwrap();
    let words = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|notice| notice.as_str().unwrap().to_string()).collect()
    };
    let kept = words(&summary["notices"]);
    for part in [
        "no Node is given",
        "--v of kube-scheduler has no effect",
        "v1 Service",
        "namespace shop",
        "--until 2m",
        "nobody",
    ] {
        assert!(kept.iter().any(|notice| notice.contains(part)), "{part} is not in {kept:?}");
    }
    for notice in &printed {
        let own = notice
            .split_once(": ")
            .filter(|(variant, _)| ["base", "more"].contains(variant))
            .map_or(*notice, |(_, own)| own);
        assert!(kept.iter().any(|kept| kept == own), "{notice} is not in {kept:?}");
        assert!(
            ["base", "more"]
                .iter()
                .enumerate()
                .any(|(index, _)| words(&summary["variants"][index]["notices"]).contains(&own.to_string()))
        );
    }
    assert!(printed.len() >= kept.len(), "{printed:?} {kept:?}");
}

#[test]
fn a_partial_run_and_a_replication_can_be_asked_and_run_again() {
    let folder = folder("partial");
    let quickstart = scenario("quickstart");
    let line = ["run", quickstart.to_str().unwrap(), "--quiet", "--replication=3", "--event-budget=300", "--out=first"];
    assert_eq!(kubesim(&folder, &line).code, 3);
    let pods = kubesim(&folder, &["get", "pods", "first"]);
    assert!(pods.code == 0 && pods.err.is_empty() && pods.out.lines().count() > 1, "{}{}", pods.out, pods.err);
    assert_eq!(kubesim(&folder, &["run", "first/scenario.yaml", "--quiet", "--out=second"]).code, 3);
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    for file in ["scenario.yaml", "trace.csv", "state.yaml", "summary.json"] {
        let (first, second) = (read(&format!("first/{file}")), read(&format!("second/{file}")));
        assert!(first == second, "{file} differs");
    }
    assert!(read("first/scenario.yaml").contains("replication: 3\n"));
}

#[test]
fn a_sweep_holds_its_input_too() {
    let folder = folder("sweep");
    let text = r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 20s
  containers: [{of: deployment/web, start: {exponential: 2s}}]
  sweep:
    replications: 5
    grid: {spec.controlPlane.controllerManager.flags.kube-api-qps: [1, 50], "deployment/web:spec.replicas": [2, 3]}
"#;
    fs::write(folder.join("small.yaml"), format!("{text}{}", common::workload("Deployment", "web", 2))).unwrap();
    ok(&folder, &["sweep", "small.yaml", "--replications=2", "--quiet", "--out=first"]);
    let explained = ok(&folder, &["run", "small.yaml", "--explain-defaults"]);
    assert!(explained.contains("--kube-api-burst=30 ") && explained.contains("replications: 5\n"), "{explained}");
    let asked = kubesim(&folder, &["get", "pods", "first"]);
    assert!(asked.code == 2 && asked.err.contains("holds a sweep"), "{}", asked.err);
    fs::remove_file(folder.join("small.yaml")).unwrap();
    ok(&folder, &["sweep", "first/scenario.yaml", "--quiet", "--out=second"]);
    for file in ["scenario.yaml", "results.csv"] {
        let [first, second] = ["first", "second"].map(|out| fs::read_to_string(folder.join(out).join(file)).unwrap());
        assert!(first == second, "{file}: {first} {second}");
    }
}

/// Texts that mean something else to a reader of YAML.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "yes", "No", "~", "null", "0x1F", "0o17", "017", "1_000", "1e3", ".5", "5.", "-.inf", ".NaN", "inf",
    "12:30:45", "2026-01-01", "2026-01-01T00:00:00Z", "<<", "=", "---", "...", "- a", "? a", ": a", "a: b", "a #b",
    "#", "{}", "[", "&a", "*a", "!t", "|", ">", "%a", "@a", "`a", "'", "\"", "\\", "\n", "a\n", "\na", "a\n\n",
    " a", "a ", "a\n b\n", "\t", "a\tb", "\u{7f}", "\u{85}", "\u{a0}", "\u{2028}", "\u{feff}", "\r\n", "", "+",
    "-", ".", "0b", "0x", "+1", "é",
];

/// Any text, with a liking for what YAML gives a meaning.
fn any_text() -> impl Strategy<Value = String> {
    let words = prop::sample::select(WORDS);
    prop_oneof![
        words.clone().prop_map(str::to_string),
        "[ -~\n]{0,12}",
        ".{0,8}",
        (words.clone(), words).prop_map(|(a, b)| format!("{a}{b}"))
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300_f64).prop_map(Value::from),
        (-10.0..10.0_f64).prop_map(Value::from),
    ];
    let leaf =
        prop_oneof![any_text().prop_map(Value::from), number, any::<bool>().prop_map(Value::from), Just(Value::Null)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any_text(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is written is read back by our own reader as it was.
    #[test]
    fn written_yaml_is_read_back(value in any_value()) {
        let text = kubesim::rules::yaml_text::to_text(&value);
        let back = kubesim::scenario::yaml::parse_value(&text);
        prop_assert_eq!(back.as_ref(), Ok(&value), "{}", text);
    }
}

#[test]
fn a_run_keeps_the_classes_by_which_its_pods_were_judged() {
    let folder = folder("classes");
    let text = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n\
                spec: {priorityClassName: high, containers: [{name: c, image: i}]}\n";
    fs::write(folder.join("pc.yaml"), text).unwrap();
    let done = kubesim(&folder, &["run", "pc.yaml"]);
    assert_eq!(done.code, 0, "{}", done.err);
    let done = kubesim(&folder, &["get", "pods", "output/pc"]);
    assert!(done.code == 0 && done.out.contains("Running"), "{}{}", done.out, done.err);
}
