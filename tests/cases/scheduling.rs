//! Preemption and the promises it makes.

use std::collections::BTreeSet;

use kubesim::model::{Action, Kind, Record, Span};
use kubesim::sim::Plan;

use crate::common::{Ran, plan_of, run};

const CLASSES: [(&str, i32); 4] = [("low", 10), ("mid", 100), ("high", 1000), ("top", 2000)];

/// A node, pods that are there, and Deployments that get replicas at some instant.
fn cluster(test: &str, cpu: &str, there: &[String], stops: &str, comes: &[(&str, Deployment<'_>)]) -> Plan {
    let scale = |(at, it): &(&str, Deployment<'_>)| {
        format!("{{at: {at}, kubectl: kubectl scale deployment/{} --replicas={}}}", it.name, it.replicas)
    };
    let class = |(name, value): (&str, i32)| {
        format!(
            "---\n{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: {name}}}, value: {value}}}\n"
        )
    };
    let documents = there.iter().cloned().chain(comes.iter().map(|(_, it)| it.manifest()));
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {test}}}\nspec:\n  kubernetesVersion: \"1.36\"\n  \
         duration: 3m\n  nodes: [{{name: node, cpu: \"{cpu}\", memory: 8Gi}}]\n  containers: [{stops}]\n  timeline: [{}]\n{}{}",
        comes.iter().map(scale).collect::<Vec<_>>().join(", "),
        CLASSES.map(class).concat(),
        documents.map(|document| format!("---\n{document}\n")).collect::<String>(),
    );
    plan_of(test, &text)
}

/// Pods that come.
struct Deployment<'a> {
    name: &'a str,
    class: &'a str,
    requests: &'a str,
    replicas: u32,
}

impl Deployment<'_> {
    fn manifest(&self) -> String {
        let Deployment { name, class, requests, .. } = self;
        format!(
            "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}}}, spec: {{replicas: 0, selector: \
             {{matchLabels: {{app: {name}}}}}, template: {{metadata: {{labels: {{app: {name}}}}}, spec: \
             {{priorityClassName: {class}, containers: [{{name: c, image: \"registry.example/c:1\", \
             resources: {{requests: {{{requests}}}}}}}]}}}}}}}}"
        )
    }
}

/// A pod of a class; `requests` as a manifest has them.
fn pod(name: &str, class: &str, requests: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeName: node, priorityClassName: {class}, \
         terminationGracePeriodSeconds: 90, containers: [{{name: c, image: \"registry.example/c:1\", \
         resources: {{requests: {{{requests}}}}}}}]}}}}"
    )
}

/// Records of pods whose name begins so.
fn of_pod<'a>(ran: &'a Ran, name: &'a str, action: Action) -> impl Iterator<Item = &'a Record> {
    let is_it = move |record: &&Record| {
        record.key.as_ref().is_some_and(|key| key.kind == Kind::Pod && key.name.as_str().starts_with(name))
    };
    ran.records.iter().filter(is_it).filter(move |record| record.action == action)
}

/// The names of their pods, each once.
fn names<'a>(records: impl Iterator<Item = &'a Record>) -> BTreeSet<String> {
    records.filter_map(|record| record.key.as_ref()).map(|key| key.name.to_string()).collect()
}

fn bound(ran: &Ran, name: &str) -> usize {
    names(of_pod(ran, name, Action::Bind)).len()
}

/// The decisions to preempt for such pods.
fn preempts<'a>(ran: &'a Ran, name: &'a str) -> impl Iterator<Item = &'a Record> {
    of_pod(ran, name, Action::Decide).filter(|record| record.detail.to_string().starts_with("preempts on node"))
}

/// When the scheduler hears of it for the first time.
fn seen<'a>(ran: &'a Ran, name: &'a str, what: &str) -> &'a Record {
    let mut delivered = of_pod(ran, name, Action::Deliver).filter(|record| record.process == "kube-scheduler");
    delivered.find(|record| record.detail.to_string() == what).unwrap_or_else(|| panic!("{name}: {what}"))
}

/// kubernetes/kubernetes#72124: a pod is promised a node; before the scheduler sees its own patch with the promise, it tries a
/// smaller pod of the same priority, which finds room on that node and takes it. The promised pod no longer fits, and its
/// promise keeps others away from what is left.
///
/// Since 1.13 the promise is in the scheduler's memory at once. Of 4 CPUs `victim` has 3; `big` wants 4, `small` 1, which is
/// free all the time. Both come at once, big first.
#[test]
fn s19_a_promise_holds_before_it_is_written() {
    let ran = |class: &str, test: &str| {
        let there = [pod("victim", "low", "cpu: \"3\"")];
        let big = Deployment { name: "big", class: "high", requests: "cpu: \"4\"", replicas: 1 };
        let small = Deployment { name: "small", class, requests: "cpu: \"1\"", replicas: 1 };
        run(&cluster(test, "4", &there, "{of: pod/victim, stop: 20s}", &[("10s", big), ("10s", small)]))
    };
    let same = ran("high", "s19-same-priority");
    let decided = preempts(&same, "big-").next().expect("big makes room");
    let tried = of_pod(&same, "small-", Action::Schedule).next().unwrap();
    let written = seen(&same, "big-", "MODIFIED");
    assert!(decided.time < tried.time && tried.time < written.time, "small is tried between decision and news of it");
    // small leaves big its 4 CPUs, waits for the victim's 20 s, and for big to be there; then nothing is left for it.
    assert_eq!((bound(&same, "big-"), bound(&same, "small-")), (1, 0));
    let gone = seen(&same, "victim", "DELETED");
    let placed = of_pod(&same, "big-", Action::Bind).next().unwrap();
    assert!(gone.time - decided.time >= Span::from_seconds(20) && placed.time > gone.time);
    // A pod that is more important may still do what the report saw: to it the promise means nothing. It takes one of the 4
    // CPUs, of which big wants all.
    let above = ran("top", "s19-higher-priority");
    assert_eq!((bound(&above, "big-"), bound(&above, "small-")), (0, 1));
}

/// kubernetes/kubernetes#129948: a pod that preempts on a node ends the nominations of all pods of lower priority there,
/// however few of them are in its way.
///
/// Ten `low` pods have the 10 CPUs. Ten `mid` pods come, each evicts one of them and is promised its CPU; they stop 60 s later.
/// `urgent` wants 1 CPU and the memory that `cheap` has: with it 9 of the ten still fit, and yet ten promises are ended.
#[test]
fn s19_one_preemptor_ends_ten_nominations() {
    let lows: Vec<String> = (0..10).map(|n| format!("low-{n}")).collect();
    let mut there: Vec<String> = lows.iter().map(|name| pod(name, "mid", "cpu: \"1\"")).collect();
    there.push(pod("cheap", "low", "memory: 6Gi"));
    let stops: Vec<String> = lows.iter().map(|name| format!("{{of: pod/{name}, stop: 60s}}")).collect();
    let mid = Deployment { name: "mid", class: "high", requests: "cpu: \"1\"", replicas: 10 };
    let urgent = Deployment { name: "urgent", class: "top", requests: "cpu: \"1\", memory: 6Gi", replicas: 1 };
    let ran = run(&cluster("s19-ten-nominations", "10", &there, &stops.join(", "), &[("10s", mid), ("20s", urgent)]));
    assert_eq!(names(preempts(&ran, "mid-")).len(), 10);
    let decided = preempts(&ran, "urgent-").next().expect("cheap must go");
    assert!(decided.detail.to_string().contains("cheap"));
    // Each of the ten gets a patch that this decision caused.
    let robbed = of_pod(&ran, "mid-", Action::Patch).filter(|record| record.cause == decided.id);
    assert_eq!(names(robbed).len(), 10);
    // In the end 1 + 9 CPUs are taken: nine promises need not have been ended.
    assert_eq!((bound(&ran, "urgent-"), bound(&ran, "mid-")), (1, 9));
}
