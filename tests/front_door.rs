//! The front door from outside: `kubesim check` on what is fine, what is wrong, and what is known and not read yet.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use program::{empty_folder, kubesim, kubesim_fed};

const SCENARIO: &str = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec: {duration: 1m}\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";
const KUBELET: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";

fn folder(test: &str) -> PathBuf {
    empty_folder("front-door", test)
}

#[test]
fn files_that_are_fine_are_counted_and_nothing_runs() {
    let folder = folder("check-fine");
    fs::write(
        folder.join("s.yaml"),
        format!("{SCENARIO}---\n{POD}---\napiVersion: v1\nkind: Service\nmetadata: {{name: s}}\nspec: {{ports: [{{port: 80}}]}}\n"),
    )
    .unwrap();
    let done = kubesim(&folder, &["check", "s.yaml"]);
    assert_eq!((done.code, done.out.as_str()), (0, "s.yaml: fine: 1 scenario, 2 objects of 2 kinds\n"), "{}", done.err);
    assert!(done.err.contains("notice: v1 Service: pods are spread by what it selects"), "{}", done.err);
    let quiet = kubesim(&folder, &["check", "s.yaml", "--quiet"]);
    assert_eq!((quiet.code, quiet.out.as_str(), quiet.err.as_str()), (0, "", ""));
    assert!(!folder.join("output").exists(), "nothing is written");
    let fed = kubesim_fed(&folder, &["check", "-"], POD);
    assert_eq!((fed.code, fed.out.as_str()), (0, "(standard input): fine: 1 object of 1 kind\n"), "{}", fed.err);
    let run = kubesim_fed(&folder, &["run", "-", "--quiet", "--out", "here"], &format!("{SCENARIO}---\n{POD}"));
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn several_scenarios_are_checked_one_by_one() {
    let folder = folder("check-several");
    fs::write(folder.join("a.yaml"), format!("{SCENARIO}---\n{POD}")).unwrap();
    fs::write(folder.join("b.yaml"), format!("{SCENARIO}---\n{POD}")).unwrap();
    fs::write(folder.join("c.yaml"), "a: [").unwrap();
    let done = kubesim(&folder, &["check", "."]);
    let (a, b) =
        ("./a.yaml: fine: 1 scenario, 1 object of 1 kind\n", "./b.yaml: fine: 1 scenario, 1 object of 1 kind\n");
    assert_eq!(
        (done.code, done.out),
        (2, format!("{a}{b}./c.yaml: 1 error; `kubesim explain E0002` tells more of a code\n")),
        "{}",
        done.err
    );
    // With one scenario they belong together, as for a run.
    fs::remove_file(folder.join("b.yaml")).unwrap();
    fs::write(folder.join("c.yaml"), POD).unwrap();
    let done = kubesim(&folder, &["check", "a.yaml", "c.yaml"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (2, "a.yaml and 1 more file: 1 error; `kubesim explain E0009` tells more of a code\n")
    );
    assert!(done.err.contains("error[E0009]: metadata.name: pod/p is given twice"), "{}", done.err);
}

#[test]
fn problems_are_data_for_scripts() {
    let folder = folder("check-data");
    fs::write(folder.join("s.yaml"), "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duratoin: 1m\n")
        .unwrap();
    let done = kubesim(&folder, &["check", "s.yaml", "-o", "json"]);
    assert_eq!((done.code, done.err.as_str()), (2, ""));
    let value: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((&value["kind"], &value["fine"]), (&Value::from("CheckResult"), &Value::from(false)));
    let problem = &value["groups"][0]["problems"][0];
    let expected = serde_json::json!({"severity": "error", "code": "E0004", "file": "s.yaml", "line": 4, "column": 3,
        "path": "spec.duratoin", "message": "unknown field `duratoin`", "help": "did you mean `duration`?"});
    assert_eq!(*problem, expected);
    let set = kubesim(&folder, &["check", "s.yaml", "--set", "spec.duratoin=null", "--nodes", "2x4cpu,8Gi"]);
    assert_eq!(set.code, 2, "an unknown field is wrong even when it is set to nothing");
    let yaml = kubesim(&folder, &["check", "s.yaml", "-o", "yaml"]);
    assert!(yaml.code == 2 && yaml.out.contains("kind: CheckResult"), "{}", yaml.out);
}

#[test]
fn what_is_not_read_yet_is_named_and_never_alone_enough() {
    let folder = folder("check-later");
    fs::write(folder.join("kubelet.yaml"), KUBELET).unwrap();
    fs::write(folder.join("load"), "time,requests\n0,10\n").unwrap();
    fs::write(folder.join("trace"), b"\x83\xa7version\x02").unwrap();
    fs::write(folder.join("pod.yaml"), POD).unwrap();
    for (file, message) in [
        ("load", "error[E0007]: load is a series of rates (1 in all): nothing to run by itself"),
        ("trace", "error[E0007]: trace is a SimKube trace"),
    ] {
        for command in ["check", "run"] {
            let done = kubesim(&folder, &[command, file]);
            assert!(done.code == 2 && done.err.starts_with(message), "{command} {file}: {}", done.err);
        }
    }
    // A configuration file is no mistake, even when nothing is beside it.
    let alone = kubesim(&folder, &["check", "kubelet.yaml"]);
    assert!(
        alone.code == 0 && alone.err.contains("a KubeletConfiguration is judged and not followed yet"),
        "{}",
        alone.err
    );
    let beside = kubesim(&folder, &["check", "pod.yaml", "kubelet.yaml", "load"]);
    assert_eq!((beside.code, beside.out.as_str()), (0, "pod.yaml and 2 more files: fine: 2 objects of 2 kinds\n"));
    assert_eq!(beside.err.matches("notice[E0007]").count(), 2, "{}", beside.err);
    let run = kubesim(&folder, &["run", "pod.yaml", "kubelet.yaml", "--out", "here"]);
    assert!(
        run.code == 0 && run.err.contains("notice: a KubeletConfiguration is judged and not followed yet"),
        "{}",
        run.err
    );
}

#[test]
fn a_new_scenario_runs_and_holds_what_it_promises() {
    let folder = folder("new");
    let done = kubesim(&folder, &["new", "spike"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (0, "spike.yaml is written; try: kubesim run spike.yaml\n"),
        "{}",
        done.err
    );
    let text = fs::read_to_string(folder.join("spike.yaml")).unwrap();
    assert!(text.starts_with("# yaml-language-server: $schema="), "{text}");
    let run = kubesim(&folder, &["run", "spike.yaml"]);
    assert_eq!(run.code, 0, "{}{}", run.out, run.err);
    assert!(run.out.contains("Expectations: 3 of 3 met") && run.err.is_empty(), "{}{}", run.out, run.err);
    // The expectations are about what it shows: without the scaling they fail.
    let calm = kubesim(&folder, &["run", "spike.yaml", "--quiet", "--set", "spec.timeline=[]"]);
    assert_eq!(calm.code, 1, "{}", calm.err);
    let again = kubesim(&folder, &["new", "spike"]);
    assert!(again.code == 2 && again.err.contains("spike.yaml is there already"), "{}", again.err);
    assert_eq!(fs::read_to_string(folder.join("spike.yaml")).unwrap(), text);
    let bad = kubesim(&folder, &["new", "../My Spike.yaml"]);
    assert!(bad.code == 2 && bad.err.contains("for example `my-spike`"), "{}", bad.err);
    let shown = kubesim(&folder, &["new", "-"]);
    assert_eq!((shown.code, shown.out), (0, text.replace("spike", "example")));
    assert_eq!(kubesim_fed(&folder, &["check", "-"], &text).code, 0);
}

#[test]
fn the_schema_is_printed_as_it_is_committed() {
    let done = kubesim(&folder("schema"), &["schema"]);
    let committed =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/scenario.schema.json")).unwrap();
    assert!(done.code == 0 && done.out == committed, "{}", done.err);
    let schema: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

#[test]
fn codes_are_explained() {
    let folder = folder("codes");
    let done = kubesim(&folder, &["explain", "e0009"]);
    assert!(done.code == 0 && done.out.starts_with("E0009: object given twice\n\n"), "{}{}", done.out, done.err);
    let done = kubesim(&folder, &["explain", "E9999"]);
    assert!(done.code == 2 && done.err.contains("there is no code E9999"), "{}", done.err);
}

#[test]
fn what_a_timeline_applies_and_a_bad_value_that_is_set_are_named() {
    let folder = folder("applied");
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec: {serviceName: s, selector: {matchLabels: \
               {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";
    fs::write(folder.join("more.yaml"), format!("{POD}---\n{set}")).unwrap();
    let scenario =
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec: {timeline: [{at: 1s, kubectl: apply -f more.yaml}]}\n";
    fs::write(folder.join("s.yaml"), scenario).unwrap();
    let done = kubesim(&folder, &["check", "s.yaml"]);
    let wanted = "`more.yaml`: apps/v1 StatefulSet: not simulated yet; 1 object is left out";
    assert!(done.code == 0 && done.err.contains(wanted), "{}", done.err);
    let request = "--set=pod/p:spec.containers[0].resources.requests.cpu=slow";
    fs::write(folder.join("p.yaml"), POD).unwrap();
    let done = kubesim(&folder, &["check", "p.yaml", request]);
    assert!(done.code == 2 && done.err.contains("--> --set:1:1"), "{}", done.err);
}

#[test]
fn a_fault_that_meets_nothing_is_named() {
    let folder = folder("idle-fault");
    let scenario = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: s}\nspec:\n  duration: 1m\n  faults:\n  \
                    - {at: 1s, dropWatchEvents: {to: kube-scheduler, kind: Pod, name: nope, stage: store}}\n";
    fs::write(folder.join("s.yaml"), format!("{scenario}---\n{POD}")).unwrap();
    let done = kubesim(&folder, &["run", "s.yaml"]);
    assert!(done.code == 0 && done.err.contains("never struck"), "{}", done.err);
    let summary = fs::read_to_string(folder.join("output/s/summary.json")).unwrap();
    assert!(summary.contains("never struck"));
}
