//! `kubesim explain`: what is said about pods that were placed, wait, or never came to the scheduler; and that asking changes
//! nothing.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use assert_cmd::Command;
use kubesim::cli::explain::render;
use kubesim::experiment::explain::{listen_for, observe};
use kubesim::model::{Kind, Object, Span};
use kubesim::report::explain::{Explanation, explain};
use kubesim::report::explain_chart;
use kubesim::sim::Plan;

use serde_json::{Value, json};

use common::{hash, plan, plan_of, run, run_until, scenario, shipped};

fn ask(plan: &Plan, pod: &str, at: Option<Span>, all: bool) -> Option<Explanation> {
    explain(&observe(plan.clone(), "default", pod, at).unwrap(), all)
}

/// What is printed.
fn told(plan: &Plan, pod: &str, at: Option<Span>, all: bool) -> String {
    let asked = at.map_or("the end of the run".to_string(), |at| at.to_string());
    render(&ask(plan, pod, at, all).unwrap(), &format!("pod/{pod}"), &asked, 20)
}

fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn ml_training_is_explained() {
    snapshot("explain-base", &told(&plan("ml-training", "base"), "ml-training", None, false));
    let full = plan("ml-training", "full");
    snapshot("explain-full-pending", &told(&full, "ml-training", Some(Span::from_seconds(60)), false));
    snapshot("explain-full", &told(&full, "ml-training", None, true));
}

/// Pods on two nodes of 4 CPUs; `{spec}` is more of the scenario's spec.
fn small(test: &str, spec: &str, pods: &[(&str, &str)]) -> Plan {
    let pod = |(name, spec): &(&str, &str)| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\nspec:\n  {spec}\n  containers: [{{name: c, image: \"registry.example/c:1\", resources: {{requests: {{cpu: \"3\"}}}}}}]\n"
        )
    };
    let pods: String = pods.iter().map(pod).collect();
    let scenario = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: small}\nspec:\n  duration: 10m\n  \
                    nodes: [{count: 2, cpu: \"4\", memory: 16Gi}]\n";
    plan_of(test, &format!("{scenario}  {spec}\n{pods}"))
}

#[test]
fn pods_that_never_came_to_the_scheduler_say_so() {
    let plan = small(
        "unscheduled",
        "",
        &[
            ("placed", "nodeName: node-2"),
            ("gated", "schedulingGates: [{name: quota}, {name: review}]"),
            ("foreign", "schedulerName: volcano"),
            ("lost", "nodeName: node-9"),
        ],
    );
    for (pod, expected) in [
        (
            "placed",
            "It is on node-2 (Running) because whoever created it said so in spec.nodeName: no scheduler was asked.",
        ),
        (
            "lost",
            "It is on node-9 (Pending) because whoever created it said so in spec.nodeName: no scheduler was asked. \
             There is no such node.",
        ),
        ("gated", "It has no node: it waits for its scheduling gates to be removed: quota, review."),
        ("foreign", "It has no node: it asks for the scheduler volcano, and none of that name runs."),
    ] {
        let answer = ask(&plan, pod, None, true).unwrap();
        assert_eq!((answer.conclusion.as_str(), answer.attempts.len()), (expected, 0), "{pod}");
    }
    assert!(ask(&plan, "absent", None, true).is_none());
    let gated = told(&plan, "gated", None, false);
    assert!(
        gated.contains("\nNo attempt was made:\n  4ms   held back by its scheduling gates: quota, review\n"),
        "{gated}"
    );
}

#[test]
fn ties_and_what_is_under_way_are_told() {
    let plan = small("ties", "", &[("a", "")]);
    let answer = ask(&plan, "a", None, false).unwrap();
    assert_eq!(
        answer.conclusion,
        "It is on node-2 (Running): attempt 1 took one of 2 equally good nodes of 2 that fit."
    );
    assert_eq!(answer.attempts[0].tied, ["node-1", "node-2"]);
    let sentence = "2 nodes share the highest total; a draw takes one, Kubernetes takes any.\n";
    assert!(told(&plan, "a", None, false).contains(sentence));
    let by_name = small("ties-by-name", "model: {ties: name}", &[("a", "")]);
    let text = told(&by_name, "a", None, false);
    assert!(
        text.contains("2 nodes share the highest total; the first by name is taken, Kubernetes takes any.\n"),
        "{text}"
    );
    // The draw took node-2. The list takes 4 ms, a cycle 100 us and 2 us a node, the binding 9 ms.
    for (at_us, expected) in [
        (3_999, "It has no node: the scheduler does not know it (yet)."),
        (4_000, "It has no node yet: attempt 1 is under way."),
        (4_103, "It has no node yet: attempt 1 is under way."),
        (4_104, "It has no node yet: node-2 is chosen, and its binding is on its way."),
        (
            11_104,
            "It is on node-2 (Pending): attempt 1 took one of 2 equally good nodes of 2 that fit, and the answer to the binding is on its way.",
        ),
        (13_104, "It is on node-2 (Pending): attempt 1 took one of 2 equally good nodes of 2 that fit."),
    ] {
        let answer = ask(&plan, "a", Some(Span::from_microseconds(at_us)), false).unwrap();
        assert_eq!(answer.conclusion, expected, "at {at_us} us");
    }
}

#[test]
fn nodes_that_were_not_looked_at_are_counted() {
    let named = |names: &str| {
        let field = format!("{{key: metadata.name, operator: In, values: [{names}]}}");
        format!(
            "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: \
             [{{matchFields: [{field}]}}]}}}}}}"
        )
    };
    let conflict = named("node-1").replace("}]}]}}}", "}, {key: metadata.name, operator: In, values: [node-2]}]}]}}}");
    let plan = small("narrowed", "", &[("a", &named("node-2")), ("b", &named("node-2")), ("c", &conflict)]);
    let one_left_out = "NodeAffinity names the only nodes that come into question, which leaves 1 out.\n";
    let placed = told(&plan, "a", None, false);
    assert!(
        placed.contains("Attempt 1 at 4ms: 1 of 2 nodes looked at, 1 fits.\n") && placed.contains(one_left_out),
        "{placed}"
    );
    let waits = told(&plan, "b", None, false);
    assert!(
        waits.contains("0 fit.\n") && waits.contains(one_left_out) && waits.contains("3 cpu wanted, 1 of 4 free"),
        "{waits}"
    );
    let refused = told(&plan, "c", None, false);
    assert!(
        refused.contains("No node was looked at, because of NodeAffinity: pod affinity terms conflict.\n"),
        "{refused}"
    );
    // Of 120 nodes 100 that fit are enough.
    let mut text = small("many", "", &[("a", "")]);
    text.objects.retain(|object| object["kind"] != "Node");
    let node = |n: usize| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("n{n:03}")}, "status": {
            "capacity": {"cpu": "4", "memory": "8Gi", "pods": "110"}, "allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}})
    };
    text.objects.extend((0..120).map(|n| Arc::new(node(n))));
    let placed = told(&text, "a", None, false);
    assert!(
        placed.contains("100 of 120 nodes looked at, 100 fit.\n20 nodes were not looked at: enough others fit.\n"),
        "{placed}"
    );
    assert!(placed.contains("... and 80 more (--limit=0 shows all)\n100 nodes share the highest total"), "{placed}");
}

#[test]
fn a_pod_that_nobody_wakes_is_tried_again_after_five_minutes() {
    // 3 CPUs each: two fit, the third waits. Its attempt fails at about 8 ms: older than 5 min at the flush of 330 s.
    let plan = small("leftover", "", &[("a", ""), ("b", ""), ("c", "")]);
    let answer = ask(&plan, "c", None, true).unwrap();
    assert_eq!(answer.attempt_count, 2);
    let woken = answer.attempts[0].after.last().unwrap();
    assert_eq!(
        (woken.time, woken.text.as_str()),
        (Span::from_milliseconds(330_004), "woken: it had waited for more than five minutes")
    );
    assert_eq!(answer.waits_for.iter().map(|waits| waits.plugin).collect::<Vec<_>>(), ["NodeResourcesFit"]);
    let detail: Vec<&str> = answer.attempts[1].out.iter().map(|out| out.detail.as_str()).collect();
    assert_eq!(detail, ["3 cpu wanted, 1 of 4 free"; 2]);
}

#[test]
fn a_scheduler_that_dies_forgets() {
    let plan =
        small("dies", "faults: [{at: 1m, duration: 1m, kill: kube-scheduler}]", &[("a", ""), ("b", ""), ("c", "")]);
    let answer = ask(&plan, "c", Some(Span::from_seconds(90)), true).unwrap();
    assert_eq!(answer.conclusion, "It has no node, and no scheduler runs.");
    assert!(answer.waits_for.is_empty());
    let answer = ask(&plan, "c", Some(Span::from_seconds(150)), true).unwrap();
    assert_eq!(answer.attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [1, 1]);
    let texts: Vec<&str> = answer.attempts[0].after.iter().map(|line| line.text.as_str()).collect();
    assert!(texts.contains(&"the scheduler stops and forgets its queue") && texts.contains(&"the scheduler starts"));
}

/// The pod of an application that has no node at an instant.
fn waiting_pod(plan: &Plan, at: Span) -> String {
    let (world, _) = run_until(plan, at);
    let mut pods = world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod);
    pods.find(|pod| pod.node_name.is_empty()).unwrap().meta.name.to_string()
}

#[test]
fn who_is_in_the_way_is_named() {
    let at = Span::from_seconds(150);
    let affinity = plan("affinity-zones", "base");
    let told_of = |plan: &Plan, at: Span| told(plan, &waiting_pod(plan, at), Some(at), false);
    let text = told_of(&affinity, at);
    let zone =
        "topology.kubernetes.io/zone in (zone-a, zone-b) wanted, the node has topology.kubernetes.io/zone=zone-c";
    assert_eq!(text.matches(zone).count(), 2, "{text}");
    // On each of the other four one of its own kind.
    let own = text.lines().filter(|line| line.contains("InterPodAffinity") && line.contains("pod default/web-"));
    assert!(own.clone().all(|line| line.ends_with("is on it")) && own.count() == 4, "{text}");
    let spread = plan("spread-zones", "base");
    let text = told_of(&spread, Span::from_seconds(90));
    for zone in ["zone-a", "zone-b"] {
        let sum = format!("topology.kubernetes.io/zone={zone} has 5, the fewest is 4: 5 + 1 - 4 > maxSkew 1");
        assert_eq!(text.matches(&sum).count(), 2, "{text}");
    }
    let taints = told_of(&plan("taints", "base"), at);
    assert!(taints.contains("gpu=true:NoSchedule\n"), "{taints}");
}

#[test]
fn company_that_is_wanted_or_not_is_named() {
    let near = |kind: &str, key: &str, app: &str| {
        let term = format!("{{labelSelector: {{matchLabels: {{app: {app}}}}}, topologyKey: {key}}}");
        format!("affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}")
    };
    let pod = |name: &str, node: &str, spec: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: {name}}}}}\nspec:\n  {node}\n  {spec}\n  \
             containers: [{{name: c, image: \"registry.example/c:1\", ports: [{{containerPort: 80, hostPort: 80}}]}}]\n"
        )
    };
    let scenario = "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: company}\nspec:\n  duration: 1m\n  \
                    nodes: [{count: 2, cpu: \"4\", memory: 16Gi, labels: {rack: r1}}]\n";
    let hermit = near("podAntiAffinity", "rack", "guest");
    let plan = plan_of(
        "company",
        &[
            scenario,
            &pod("hermit", "nodeName: node-1", &hermit),
            &pod("guest", "", ""),
            &pod("shy", "", &near("podAntiAffinity", "rack", "hermit")),
            &pod("fan", "", &near("podAffinity", "rack", "nobody")),
            &pod("lost", "", &near("podAffinity", "row", "hermit")),
            &pod("other", "nodeName: node-2", ""),
            &pod("port", "", ""),
        ]
        .concat(),
    );
    for (name, expected) in
        [("guest", "pod default/hermit has port 80/TCP"), ("port", "pod default/other has port 80/TCP")]
    {
        let text = told(&plan, name, None, false);
        assert!(text.contains(expected), "{name}: {text}");
    }
    // Without the ports, which are asked about first, what keeps them apart.
    let mut free = plan.clone();
    for object in free.objects.iter_mut().filter(|object| object["kind"] == "Pod") {
        Arc::make_mut(object)["spec"]["containers"][0]["ports"] = json!([]);
    }
    for (name, expected) in [
        ("guest", "pod default/hermit is on it and wants no such pod near"),
        ("guest", "pod default/hermit is on node-1, in the same rack=r1 and wants no such pod near"),
        ("shy", "pod default/hermit is on node-1, in the same rack=r1"),
        ("fan", "none of the wanted pods is in rack=r1"),
        ("lost", "the node has no label row"),
    ] {
        let text = told(&free, name, None, false);
        assert!(text.contains(expected), "{name}: {text}");
    }
}

#[test]
fn preemption_is_told_and_a_nominated_node_is_no_sample() {
    let plan = plan("preemption", "base");
    let pod = waiting_pod(&plan, Span::from_seconds(65));
    let text = told(&plan, &pod, None, true);
    assert!(text.contains("It is on node-1 (Running): attempt 2 took the node that it was nominated to, and that default/batch had to leave for it.\n"), "{text}");
    assert!(text.contains("preempts pod default/batch on node-1, which it is nominated to\n"), "{text}");
    assert!(text.contains("It is nominated to node-1, which still fits: the others were not asked.\n"), "{text}");
    assert!(!text.contains("enough others fit"), "{text}");
    let bars = explain_chart::bars(&ask(&plan, &pod, None, false).unwrap(), "pod/urgent", "the end", 20).unwrap();
    assert_eq!(bars.note, "It is nominated to node-1, which still fits: the others were not asked.");
    assert_eq!((bars.fit.len(), bars.fit[0].chosen, bars.fit[0].scores.len(), bars.out.len()), (1, true, 0, 0));
    let text = told(&plan, &pod, Some(Span::from_seconds(65)), false);
    let waits = "It has no node yet: it is nominated to node-1 and waits until default/batch has gone.\n";
    assert!(text.contains(waits), "{text}");
}

#[test]
fn asking_changes_nothing() {
    for plan in shipped() {
        let mut asked = plan.clone();
        listen_for(&mut asked, "default", "ml-training");
        assert_eq!(hash(&run(&asked).records, plan.start_at), hash(&run(&plan).records, plan.start_at));
    }
}

/// Runs a shipped scenario and gives the folder of its results.
fn results(test: &str, name: &str) -> PathBuf {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("explain").join(test);
    kubesim().args(["run", "--quiet", "--out"]).arg(&out).arg(scenario(name)).assert().code(0);
    out
}

fn kubesim() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kubesim"))
}

/// Exit code, output and errors of `kubesim explain`.
fn explained(line: &[&str], out: &Path) -> (i32, String, String) {
    let output = kubesim().arg("explain").args(line).arg("--in").arg(out).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_finished_run_is_asked_on_the_command_line() {
    let out = results("asked", "ml-training");
    let (code, text, errors) = explained(&["pod/ml-training", "--variant=base"], &out);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(text, told(&plan("ml-training", "base"), "ml-training", None, false));
    let (code, text, _) = explained(&["pod/ml-training", "--variant=full", "--at=1m"], &out);
    assert_eq!(code, 0);
    assert_eq!(text, told(&plan("ml-training", "full"), "ml-training", Some(Span::from_seconds(60)), false));
    let (code, text, _) = explained(&["po/ml-training", "--variant=full", "--all", "-o", "json"], &out);
    assert_eq!(code, 0);
    let answer: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(answer["pod"], "default/ml-training");
    assert_eq!(answer["attempts"][0]["out"][2]["detail"], "16Gi memory wanted, 10Gi of 100Gi free");
    assert_eq!((&answer["attempts"][0]["chosen"], &answer["attempts"][1]["chosen"]), (&Value::Null, &"node-4".into()));
    let (_, text, _) = explained(&["pod/ml-training", "--variant=base", "--limit=1"], &out);
    assert!(text.contains("... and 2 more") && text.contains("... and 1 more"), "{text}");
}

#[test]
fn an_attempt_is_drawn() {
    let out = results("drawn", "ml-training");
    let file = out.join("why.svg");
    let (code, text, errors) =
        explained(&["pod/ml-training", "-n=default", "--variant=base", "--chart", file.to_str().unwrap()], &out);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(text, told(&plan("ml-training", "base"), "ml-training", None, false));
    let svg = std::fs::read_to_string(&file).unwrap();
    for words in [
        "pod/ml-training at the end of the run",
        "5 of 5 nodes looked at, 2 fit",
        "TaintToleration (x 3)",
        "427  chosen",
        "\n409\n",
        "NodeAffinity: accelerator=gpu wanted, the node has no label accelerator",
        "NodeResourcesFit: 4 cpu wanted, 2 of 2 free",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    let file = out.join("why.png");
    let line = ["pod/ml-training", "--variant=full", "--chart", file.to_str().unwrap()];
    assert_eq!(explained(&line, &out).0, 0);
    assert!(std::fs::read(&file).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn mistakes_are_named() {
    let out = results("mistakes", "ml-training");
    for (line, expected) in [
        (&["pod/ml-trainin", "--variant=base"][..], "there is no pod/ml-trainin at the end of the run"),
        (&["pod/ml-trainin", "--variant=base"], "did you mean `ml-training`?"),
        (&["node/node-1", "--variant=base"], "node/node-1 is no pod"),
        (&["pod/ml-training"], "name one with --variant"),
        (&["pod/ml-training", "--variant=base", "--at=1h"], "the run ended at 10m0s, before 1h0m0s"),
        (&["ml-training", "--variant=base"], "is not KIND/NAME"),
        (&["pod/ml-training", "--variant=base", "-n", "shop"], "there is no shop/pod/ml-training"),
        (
            &["shop/pod/ml-training", "-n", "dev", "--variant=base"],
            "is in the namespace shop, and --namespace says dev",
        ),
        (&["pod/ml-training", "--variant=base", "--chart=a.gif"], "a.gif ends in neither .svg nor .png"),
    ] {
        let (code, text, errors) = explained(line, &out);
        assert_eq!((code, text.as_str()), (2, ""), "{line:?}");
        assert!(errors.contains(expected), "{line:?}: {errors}");
    }
}

#[test]
fn who_assigned_a_pod_that_nobody_scheduled_is_told() {
    let polling = plan("polling", "base");
    let conclusion = |milliseconds| {
        ask(&polling, "web", Some(Span::from_milliseconds(milliseconds)), false).map(|answer| answer.conclusion)
    };
    let waiting = conclusion(50).unwrap();
    assert!(waiting.starts_with("It has no node: neither a background task nor a pass of the loop"), "{waiting}");
    // The task takes 98 ms from the answer at 2 ms.
    let assigned = conclusion(10_000).unwrap();
    assert!(
        assigned.contains("(Running): its background task assigned it at 100ms, to the node with the fewest"),
        "{assigned}"
    );
}
