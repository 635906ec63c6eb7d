//! Whole files to plans, and every kind of mistake with the text that a person sees.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::diagnostic::Diagnostics;
use super::{Loaded, Overrides, load};
use crate::kubectl::command::CommandVerb;
use crate::model::{Distribution, Kind, Span};
use crate::sim::plan::{DropStage, End, FaultAction, ResyncModel, ResyncPlan, When};

const POD: &str = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i}]}\n";
pub(super) const HEAD: &str = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n";

/// A folder with files, gone at the end of the test.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(test: &str, files: &[(&str, &str)]) -> Folder {
        let path = std::env::temp_dir().join(format!("kubesim-scenario-{}-{test}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        for (name, text) in files {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().expect("files lie in the folder")).expect("folders can be made");
            std::fs::write(file, text).expect("files can be written");
        }
        Folder(path)
    }

    pub(super) fn load(&self, name: &str, overrides: &Overrides) -> Result<Loaded, Diagnostics> {
        load(&[self.0.join(name)], overrides)
    }

    /// Its path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// The problems of a file as a person sees them, without the folder's name.
    fn problems(&self, name: &str) -> String {
        match self.load(name, &Overrides::default()) {
            Ok(_) => "no problem".to_string(),
            Err(problems) => problems.to_string().replace(&format!("{}/", self.0.display()), ""),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Loads a scenario from the text of its spec, with a pod beside it.
fn spec(test: &str, text: &str) -> Result<Loaded, Diagnostics> {
    Folder::new(test, &[("s.yaml", &format!("{HEAD}{text}{POD}"))]).load("s.yaml", &Overrides::default())
}

/// The one plan of a spec that has no mistakes.
pub(super) fn plan_of(test: &str, text: &str) -> crate::sim::Plan {
    let loaded = spec(test, text).unwrap_or_else(|problems| panic!("{problems}"));
    loaded.plans.into_iter().next().expect("a scenario has a plan")
}

/// The codes and first lines of what is wrong with a spec.
fn wrong(test: &str, text: &str) -> Vec<String> {
    match spec(test, text) {
        Ok(_) => Vec::new(),
        Err(problems) => {
            let place = |at: String| at.rsplit_once("s.yaml:").map_or(at.clone(), |(_, place)| place.to_string());
            let line = |p: &super::Diagnostic| {
                let help = p.help.as_ref().map_or(String::new(), |help| format!(" ({help})"));
                format!("{} {} {}: {}{help}", p.code, place(p.location()), p.path, p.message)
            };
            problems.iter().map(line).collect()
        }
    }
}

fn shipped(name: &str) -> Loaded {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios").join(name);
    load(&[path], &Overrides::default()).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn shipped_scenarios_resolve() {
    let quickstart = shipped("quickstart.yaml");
    assert_eq!(quickstart.notices, Vec::<String>::new());
    let plan = &quickstart.plans[0];
    assert_eq!((plan.name.as_str(), plan.variant.as_str(), plan.timeline.len()), ("quickstart", "", 3));
    assert_eq!(plan.end, End::After(Span::from_seconds(300)));
    let kinds: Vec<_> = plan.objects.iter().map(|object| object["kind"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["Namespace", "Node", "Node", "Node", "Deployment"]);
    assert_eq!(shipped("dedup.yaml").plans.len(), 1);

    let dropped = shipped("dropped-watch-event.yaml");
    let summary = |plan: &crate::sim::plan::Plan| {
        let FaultAction::DropWatchEvents(drop) = &plan.faults[0].action else { panic!("a drop") };
        (plan.variant.clone(), drop.stage, drop.target.to.component.clone(), plan.model.resync)
    };
    assert_eq!(
        dropped.plans.iter().map(summary).collect::<Vec<_>>(),
        [
            ("base".to_string(), DropStage::Handler, Some("replicaset".to_string()), ResyncModel::Replay),
            ("store".to_string(), DropStage::Store, None, ResyncModel::Replay),
            ("relist".to_string(), DropStage::Store, None, ResyncModel::Relist),
        ]
    );
    let CommandVerb::Delete { target, grace_seconds, pick } = &dropped.plans[0].timeline[0].command.verb else {
        panic!("a delete")
    };
    assert_eq!(
        (target.kind, target.selector.as_deref(), *grace_seconds, *pick),
        (Kind::Pod, Some("app=api"), Some(0), Some(1))
    );
    assert_eq!(dropped.plans[0].processes[0].resync, ResyncPlan::AtLeast(Span::from_seconds(300)));
    assert_eq!(
        dropped.plans[0].expectations[1].when,
        When::Within { from: Span::from_seconds(180), within: Span::from_seconds(480) }
    );
}

#[test]
fn bare_manifests_are_a_scenario() {
    let service = "---\napiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {ports: [{port: 80}]}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: t}\nspec: {ports: [{port: 80}]}\n";
    let custom = "---\napiVersion: example.com/v1\nkind: Gizmo\nmetadata: {name: g}\n";
    let list = "---\napiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: d, namespace: shop}\n  spec:\n    selector: {matchLabels: {a: b}}\n    template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}\n";
    let folder = Folder::new("bare", &[("My App.yaml", &format!("{POD}{service}{custom}{list}"))]);
    let loaded = folder.load("My App.yaml", &Overrides::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = &loaded.plans[0];
    assert_eq!(plan.name, "my-app");
    assert_eq!(plan.end, End::Quiet { limit: Span::from_seconds(3600) });
    assert_eq!(
        loaded.notices,
        [
            "example.com/v1 Gizmo: a custom resource; 1 object is left out",
            "v1 Service: pods are spread by what it selects; no traffic is simulated",
            "namespace shop is in no file: it is there from the start",
            "no Node is given: 5 nodes of 8 CPU, 32Gi, 110 pods",
        ]
    );
    let names: Vec<_> =
        plan.objects.iter().map(|object| object["metadata"]["name"].as_str().unwrap_or_default()).collect();
    assert_eq!(names, ["default", "shop", "node-1", "node-2", "node-3", "node-4", "node-5", "p", "s", "t", "d"]);
    assert_eq!(plan.objects[7]["metadata"]["namespace"], "default");
    assert_eq!(plan.objects[10]["kind"], "Deployment");
}

#[test]
fn the_command_line_overrides() {
    let text = format!(
        "{HEAD}  seed: 3\n  duration: 10m\n  nodes: [{{count: 2}}]\n  expect: [{{at: 9m, that: 'true'}}]\n{POD}"
    );
    let folder = Folder::new("overrides", &[("s.yaml", &text)]);
    let overrides = Overrides {
        seed: Some(7),
        until: Some(Span::from_seconds(60)),
        nodes: Some("1x2cpu,4Gi".into()),
        set: vec![
            ("spec.controlPlane.apiServer.commit.uniform".into(), "[1ms, 3ms]".into()),
            ("pod/p:spec.activeDeadlineSeconds".into(), "5".into()),
        ],
        allow_outside: false,
    };
    let loaded = folder.load("s.yaml", &overrides).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = &loaded.plans[0];
    assert_eq!((plan.seed, plan.end), (7, End::After(Span::from_seconds(60))));
    assert_eq!(plan.latency.commit, Distribution::Uniform { low_ns: 1_000_000, high_ns: 3_000_000 });
    assert_eq!(plan.objects[1]["status"]["capacity"], json!({"cpu": "2", "memory": "4Gi", "pods": "110"}));
    assert_eq!(plan.objects.last().map(|pod| pod["spec"]["activeDeadlineSeconds"].clone()), Some(json!(5)));
    let bad = Overrides {
        set: vec![("spec.duraton".into(), "5m".into()), ("pod/q:spec".into(), "1".into())],
        ..Overrides::default()
    };
    let problems = folder.load("s.yaml", &bad).map(|_| ()).expect_err("it is refused").to_string();
    assert!(problems.contains("error[E0018]: no file describes pod/q\n --> --set:1:1"), "{problems}");
    assert!(problems.contains("error[E0004]: spec.duraton: unknown field `duraton`\n --> --set:1:1"), "{problems}");
}

#[test]
fn what_is_applied_later_is_admitted_by_what_is_there() {
    let class = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {priorityClassName: high, containers: [{name: c, image: 'x:1'}]}}";
    let scenario = format!("{HEAD}  files: {{p.yaml: [{pod}]}}\n  timeline: [{{at: 1m, kubectl: apply -f p.yaml}}]\n");
    let folder = Folder::new("applied-class", &[("s.yaml", &format!("{scenario}{class}")), ("none.yaml", &scenario)]);
    assert!(folder.load("s.yaml", &Overrides::default()).is_ok());
    let refused = folder.load("none.yaml", &Overrides::default()).unwrap_err().to_string();
    assert!(refused.contains("no PriorityClass with name high was found"), "{refused}");
}

#[test]
fn includes_and_applied_files_are_read_beside_the_scenario() {
    let scenario = format!(
        "{HEAD}  include: [more, 'p*.yaml']\n  timeline: [{{at: 1m, kubectl: apply -f late.yaml}}, {{at: 2m, kubectl: scale deploy/d --replicas=1}}]\n"
    );
    let late = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n";
    let node =
        "apiVersion: v1\nkind: Node\nmetadata: {name: big}\nstatus: {capacity: {cpu: 4, memory: 1Gi, pods: 10}}\n";
    let folder = Folder::new(
        "include",
        &[
            ("s.yaml", &scenario),
            ("more/sub/node.yaml", node),
            ("more/readme.md", "no"),
            ("pod.yaml", POD),
            ("late.yaml", late),
        ],
    );
    let loaded = folder.load("s.yaml", &Overrides::default()).unwrap_or_else(|problems| panic!("{problems}"));
    let names: Vec<_> = loaded.plans[0].objects.iter().map(|object| object["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["default", "big", "p"]);
    let CommandVerb::Apply { objects, .. } = &loaded.plans[0].timeline[0].command.verb else { panic!("an apply") };
    assert_eq!(objects[0]["metadata"], json!({"name": "d", "namespace": "default"}));
    let outside = format!("{HEAD}  include: [../x.yaml, none.yaml]\n  timeline: [{{at: 1m, kubectl: apply -f /x}}]\n");
    let folder = Folder::new("outside", &[("s.yaml", &outside)]);
    let expected = "error[E0021]: spec.include[0]: `../x.yaml` lies outside the scenario's folder
 --> s.yaml:4:13
  |
4 |   include: [../x.yaml, none.yaml]
  |             ^^^^^^^^^
  |
  = help: move the file there, or run with --allow-outside

error[E0001]: spec.include[1]: no such file: none.yaml
 --> s.yaml:4:24
  |
4 |   include: [../x.yaml, none.yaml]
  |                        ^^^^^^^^^

error[E0017]: spec.timeline[0].kubectl: `/x` lies outside the scenario's folder
 --> s.yaml:5:32
  |
5 |   timeline: [{at: 1m, kubectl: apply -f /x}]
  |                                ^^^^^^^^^^^
  |
  = help: move the file there, or run with --allow-outside";
    assert_eq!(folder.problems("s.yaml"), expected);
}

#[test]
fn several_mistakes_are_shown_at_once() {
    let text = "  duratoin: 5m
  nodes: [{count: -1, memory: 4Gib}]
  network: {}
  faults:
    - at: 1 m
      dropWatchEvents: {to: kube-controler-manager, kind: Pods, stage: cache}
";
    let expected = [
        "E0004 4:3 spec.duratoin: unknown field `duratoin` (did you mean `duration`?)",
        "E0005 5:19 spec.nodes[0].count: must be a whole number from 0 to 100000, not -1",
        "E0005 5:31 spec.nodes[0].memory: `4Gib` is not a quantity (quantities are written as Kubernetes writes them: 500m, 4, 16Gi)",
        "E0007 6:3 spec.network: `network` is not simulated yet (the word is part of the format, but this version would ignore it; take it out to run the rest)",
        "E0005 8:11 spec.faults[0].at: \"1 m\" is not a duration (durations are written as Go writes them: 250ms, 30s, 1h30m)",
        "E0013 9:29 spec.faults[0].dropWatchEvents.to: no process `kube-controler-manager` runs in this scenario (did you mean `kube-controller-manager`?)",
        "E0005 9:72 spec.faults[0].dropWatchEvents.stage: unknown value \"cache\" (known here: store, handler)",
    ];
    assert_eq!(wrong("several", text), expected);
}

/// Checks what is wrong with a spec.
pub(super) fn check(test: &str, text: &str, expected: &[&str]) {
    let found = wrong(test, text);
    assert!(found == expected, "{test}\nexpected {expected:#?}\nfound {found:#?}");
}

#[test]
fn mistakes_in_settings_and_in_what_happens() {
    check(
        "version",
        "  kubernetesVersion: 1.30\n",
        &["E0020 4:22 spec.kubernetesVersion: Kubernetes 1.3 is not followed (followed are 1.32, 1.35, 1.36)"],
    );
    check(
        "start",
        "  startAt: today\n",
        &["E0005 4:12 spec.startAt: `today` is not an instant (an instant is written as 2026-01-01T00:00:00Z)"],
    );
    check(
        "flags",
        "  controlPlane: {controllerManager: {flags: [--concurrent-replicasets-syncs=3, '--min-resync-period', soon, --kube-api-qps 0]}}\n",
        &[
            "E0016 4:46 spec.controlPlane.controllerManager.flags[0]: kube-controller-manager has no flag `--concurrent-replicasets-syncs` (did you mean `--concurrent-replicaset-syncs`?)",
            "E0016 4:80 spec.controlPlane.controllerManager.flags[1]: --min-resync-period must be a duration such as 12h or 5m, not `soon`",
            "E0016 4:109 spec.controlPlane.controllerManager.flags[3]: --kube-api-qps must be a number other than zero (negative for no limit), not `0`",
        ],
    );
    check(
        "timeline",
        "  timeline: [{at: 1m, kubectl: scale deploy/web}, {at: 2h, kubectl: cordon node-7}, {kubectl: drain node-1}, {at: 1m, kubectl: cordon node-1, pick: 1}]\n",
        &[
            "E0017 4:32 spec.timeline[0].kubectl: --replicas=N must be given",
            "E0015 4:56 spec.timeline[1].at: 2h0m0s is after the end: a run without `spec.duration` ends at 1h0m0s at the latest (lengthen `spec.duration`, or take an earlier time)",
            "E0012 4:69 spec.timeline[1].kubectl: no file describes node/node-7 (did you mean `node/node-1`?)",
            "E0006 4:85 spec.timeline[2].at: `at` must be given",
            "E0019 4:149 spec.timeline[3].pick: `pick` goes with `kubectl delete`",
        ],
    );
    check(
        "faults",
        "  faults: [{at: 1m, kill: kubelet@node-1}, {at: 1m}, {at: 1m, kill: kubelet, restart: kubelet}, {at: 1m, restart: kube-controller-manager/replicaset}, {at: 1m, delayWatch: {to: kube-scheduler, kind: ReplicaSet, by: 1s}}]\n",
        &[
            "E0007 4:27 spec.faults[0].kill: `kubelet@node-1`: a single kubelet cannot be addressed yet (`kubelet` addresses the kubelets of all nodes)",
            "E0006 4:44 spec.faults[1]: one of these must be given: dropWatchEvents, duplicateWatchEvents, delayWatch, reorderWatches, cutWatch, stallWatch, reconnect, respond, refuseConnections, loseReplies, delayReplies, slowRequests, partition, apiServer, crash, kill, restart, oomKill, pause, clock",
            "E0019 4:54 spec.faults[2]: kill and restart exclude each other (give exactly one of: dropWatchEvents, duplicateWatchEvents, delayWatch, reorderWatches, cutWatch, stallWatch, reconnect, respond, refuseConnections, loseReplies, delayReplies, slowRequests, partition, apiServer, crash, kill, restart, oomKill, pause, clock)",
            "E0013 4:115 spec.faults[3].restart: `replicaset` dies with its process only (write `kube-controller-manager`)",
            "E0005 4:200 spec.faults[4].delayWatch.kind: `kube-scheduler` does not watch ReplicaSet: nothing would be lost (it watches Node, Pod)",
        ],
    );
}

#[test]
fn mistakes_in_what_is_asked_and_how_things_behave() {
    check(
        "expect",
        "  duration: 5m\n  expect: [{at: 6m, that: 'true'}, {from: 3m, within: 3m, that: '1 =='}, {never: 'true', in: bsae}, {at: 1m}]\n  variants: [{name: base}, {name: x, set: {spec.nodez: 1}}]\n",
        &[
            "E0015 5:17 spec.expect[0].at: 6m0s is after the end: the run ends at 5m0s (lengthen `spec.duration`, or take an earlier time)",
            "E0014 5:65 spec.expect[1].that: column 5: the condition ends too early (conditions are CEL, for example count(\"pods\", \"app=web\") == 3)",
            "E0012 5:94 spec.expect[2].in: no variant is named `bsae` (did you mean `base`?)",
            "E0006 5:101 spec.expect[3].that: `that` must be given",
            "E0023 6:21 spec.variants[0].name: the name `base` is taken (`base` is the world without changes)",
            "E0004 6:44 spec.nodez: unknown field `nodez` (did you mean `nodes`?)",
        ],
    );
    check(
        "times",
        "  containers:\n  - of: deployment/api\n    start: {lognormal: {p50: 3s}}\n    stop: {uniform: [5s, 2s]}\n    ready: {gauss: 1s}\n    pull: 3\n",
        &[
            "E0012 5:9 spec.containers[0].of: no file describes deployment/api",
            "E0006 6:13 spec.containers[0].start.lognormal.p99: `p99` must be given",
            "E0005 7:21 spec.containers[0].stop.uniform: must not end before it starts",
            "E0004 8:13 spec.containers[0].ready.gauss: unknown field `gauss` (known here: uniform, exponential, normal, lognormal, choice, trace)",
            "E0005 9:11 spec.containers[0].pull: must be a duration, not 3 (durations are written as Go writes them: 250ms, 30s, 1h30m)",
        ],
    );
    check(
        "model",
        "  model: {resync: replays, assume: 1, ties: nam, autoscaler: textbook}\n",
        &[
            "E0005 4:19 spec.model.resync: unknown value \"replays\" (did you mean `replay`?)",
            "E0005 4:36 spec.model.assume: must be true or false, not 1",
            "E0005 4:45 spec.model.ties: unknown value \"nam\" (did you mean `name`?)",
            "E0007 4:50 spec.model.autoscaler: `autoscaler` is not simulated yet (the word is part of the format, but this version would ignore it; take it out to run the rest)",
        ],
    );
    check(
        "nodes",
        "  nodes: [{}]\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n",
        &[
            "E0009 4:10 spec.nodes: node/node-1 is given twice (give the group another `name`; without one nodes are called node-1, node-2 ...)",
        ],
    );
}

#[test]
fn slips_in_names_are_guessed() {
    check(
        "conditions",
        "  expect:\n  - {never: 'metric(\"workqueue_dept\") > 1.0'}\n  - {always: 'count(\"pods\") = 1'}\n  - {never: 'exists(\"node/node-7\")'}\n",
        &[
            "E0014 5:13 spec.expect[0].never: unknown metric `workqueue_dept` (did you mean `workqueue_depth`?)",
            "E0014 6:14 spec.expect[1].always: column 15: token recognition error at: '= '; column 17: extraneous input '1' (two values are compared with `==`)",
            "E0012 7:13 spec.expect[2].never: no file describes node/node-7 (did you mean `node/node-1`?)",
        ],
    );
    check(
        "labels",
        "  expect:\n  - {never: 'metric(\"workqueue_depth\", {\"controller\": \"replicaset\"}) > 1.0'}\n  - {never: 'metric(\"etcd_size\") > 1.0'}\n",
        &[
            "E0014 5:13 spec.expect[0].never: the metric `workqueue_depth` has no label `controller` (workqueue_depth has name)",
            "E0014 6:13 spec.expect[1].never: unknown metric `etcd_size` (docs/metrics.md lists the metrics)",
        ],
    );
    check(
        "in",
        "  expect: [{never: 'false', in: [late, lat]}, {never: 'false', in: []}]\n  variants: [{name: late}]\n",
        &[
            "E0012 4:40 spec.expect[0].in[1]: no variant is named `lat` (did you mean `late`?)",
            "E0005 4:68 spec.expect[1].in: must name a variant (leave it out for all variants)",
        ],
    );
    check(
        "fields",
        "  expect:\n  - {never: 'object(\"node/node-1\").status.capacty.cpu == \"1\"'}\n  - {never: 'has(object(\"pod/p\").status.phas)'}\n",
        &[
            "E0014 5:13 spec.expect[0].never: node/node-1 has no field `capacty` there (did you mean `capacity`?)",
            "E0014 6:13 spec.expect[1].never: pod/p has no field `phas` there (did you mean `phase`?)",
        ],
    );
    check(
        "taint",
        "  nodes: [{taints: ['gpu=true:NoSchedul']}]\n",
        &["E0005 4:21 spec.nodes[0].taints[0]: `gpu=true:NoSchedul` is not a taint (did you mean `NoSchedule`?)"],
    );
    let shown = |text: &str| Folder::new("slips", &[("app.yaml", text), ("other.yaml", POD)]).problems("app.yaml");
    let group = shown("apiVersion: kubsim.dev/v1alpha1\nkind: Scenario\n");
    assert!(group.contains("help: this program reads kubesim.dev/v1alpha1"), "{group}");
    let kind = shown("apiVersion: kubesim.dev/v1alpha1\nkind: Scenaro\n");
    assert!(kind.contains("help: did you mean `Scenario`?"), "{kind}");
    let folder = Folder::new("neighbour", &[("app.yaml", POD)]);
    let missing = folder.problems("ap.yml");
    assert!(missing.contains("ap.yml: no such file\n  = help: did you mean app.yaml?"), "{missing}");
}

#[test]
fn manifests_are_taken_strictly() {
    let text = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replica: 3
  replicas: -1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c}]}
---
apiVersion: extensions/v1beta1
kind: Deployment
metadata: {name: old}
";
    let shown = Folder::new("strict", &[("s.yaml", text)]).problems("s.yaml");
    for expected in [
        "error[E0004]: spec.replica: unknown field `replica`\n --> s.yaml:5:3\n",
        "= help: did you mean `replicas`?",
        "error[E0011]: spec.replicas: Invalid value: -1: must be greater than or equal to 0\n --> s.yaml:6:13\n",
        "error[E0011]: spec.template.spec.containers[0].image: Required value\n  --> s.yaml:10:25\n",
        "error[E0010]: apiVersion: Kubernetes has no kind `Deployment` in `extensions/v1beta1`",
    ] {
        assert!(shown.contains(expected), "{expected}\n---\n{shown}");
    }
    let shown = Folder::new("empty", &[("s.yaml", "# nothing\n")]).problems("s.yaml");
    assert!(shown.contains("error[E0024]: nothing to simulate"), "{shown}");
}

#[test]
fn fields_without_effect_are_a_notice() {
    let pod = |name: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec: {{schedulerName: mine, containers: \
             [{{name: c, image: i, livenessProbe: {{exec: {{command: [x]}}}}}}]}}\n"
        )
    };
    let folder = Folder::new("unmodelled", &[("s.yaml", &format!("{}{}", pod("p"), pod("q")))]);
    let notices = folder.load("s.yaml", &Overrides::default()).expect("it can be run").notices;
    for expected in [
        "pod/p and 1 other: spec.schedulerName is not modelled: no such scheduler runs: pods stay Pending",
        "pod/p and 1 other: spec.containers[*].livenessProbe is not modelled: the probe is not run: no container is \
         restarted",
    ] {
        assert!(notices.iter().any(|notice| notice == expected), "{expected}\n---\n{notices:?}");
    }
}

#[test]
fn each_kind_of_mistake_in_manifests() {
    let text = "apiVersion: apps/v1
kind: Deploymnt
metadata: {name: a}
---
apiVersion: v1
metadata: {name: a}
---
just text
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: 4Gib}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {containers: [{name: c, image: i}]}
---
apiVersion: v1
kind: Pod
";
    let folder = Folder::new("manifests", &[("s.yaml", text)]);
    let shown = folder.problems("s.yaml");
    for expected in [
        "error[E0010]: kind: Kubernetes has no kind `Deploymnt` in `apps/v1`\n --> s.yaml:2:7\n",
        "= help: did you mean `apiVersion: apps/v1`, `kind: Deployment`?",
        "error[E0006]: kind: `kind` must be given\n --> s.yaml:5:1\n",
        "error[E0011]: must be a manifest, not \"just text\"\n --> s.yaml:8:1\n",
        "error[E0009]: metadata.name: pod/a is given twice\n  --> s.yaml:17:18\n",
        "s.yaml:12:18",
        "error[E0006]: metadata: `metadata` must be given\n  --> s.yaml:20:1\n",
        "--> s.yaml:13:69\n",
    ] {
        assert!(shown.contains(expected), "{expected}\n---\n{shown}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = Folder::new(
        "files",
        &[("empty/readme.md", ""), ("two.yaml", &format!("{HEAD}  seed: 1\n---\n{HEAD}  seed: 2\n"))],
    );
    assert_eq!(folder.problems("none.yaml"), "error[E0001]: none.yaml: no such file");
    assert_eq!(
        folder.problems("empty").replace("\n", ""),
        "error[E0001]: empty: the folder holds no .yaml, .yml or .json file".to_string()
    );
    assert_eq!(folder.problems("*.json"), "error[E0001]: *.json: no file fits the pattern");
    let shown = folder.problems("two.yaml");
    assert!(shown.starts_with("error[E0008]: kind: a second Scenario document\n --> two.yaml:7:7\n"), "{shown}");
    assert_eq!(
        load(&[], &Overrides::default()).map(|_| ()).expect_err("it is refused").to_string(),
        "error[E0001]: no file is given"
    );
}

#[test]
fn flags_without_effect_are_a_notice_and_latency_is_request() {
    let text = "  controlPlane:\n    controllerManager: {flags: [--profiling=false, --kube_api_qps=-1]}\n    scheduler: {flags: ['--kube-api-qps=5', '--kube-api-burst', '7']}\n    apiServer: {latency: {choice: [4ms, {weight: 3, of: {exponential: 1ms}}]}}\n";
    let loaded = spec("notice", text).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.notices[0], "--profiling of kube-controller-manager has no effect in this version");
    let plan = &loaded.plans[0];
    assert_eq!(plan.processes[0].client, None);
    let limit = plan.processes[1].client.map(|limit| (limit.qps, limit.burst));
    assert_eq!(limit, Some((5.0, 7)));
    let choice =
        vec![(1.0, Distribution::Constant(4_000_000)), (3.0, Distribution::Exponential { mean_ns: 1_000_000 })];
    assert_eq!(plan.latency.request, Distribution::Choice(choice));
}

#[test]
fn plans_may_be_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Arc::new(shipped("quickstart.yaml").plans));
}
