//! Settings of components change what a run does: feature gates, a client's time-out, replicas of static Pods.

#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use kubesim::model::{Action, Gate, Kind, Record};
use kubesim::sim::Plan;

const MANAGER: &str = "kube-controller-manager";
const SCHEDULER: &str = "kube-scheduler";
const SERVER: &str = "kube-apiserver";

/// A plan with gates of some components.
fn plan(test: &str, version: &str, gates: &[(&str, &str)], more: &str) -> Plan {
    let flags = |component: &str| {
        let list = gates.iter().find(|(of, _)| *of == component).map(|(_, list)| format!("'--feature-gates={list}'"));
        list.unwrap_or_default()
    };
    let plane = format!(
        "  controlPlane:\n    controllerManager: {{flags: [{}]}}\n    scheduler: {{flags: [{}]}}\n    apiServer: {{flags: [{}]}}\n",
        flags(MANAGER),
        flags(SCHEDULER),
        flags(SERVER)
    );
    let head = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {test}}}\nspec:\n  kubernetesVersion: \
         '{version}'\n  duration: 3m\n  nodes: [{{count: 1, cpu: '4', memory: 8Gi}}]\n"
    );
    common::plan_of(test, &format!("{head}{plane}{more}{}", common::workload("ReplicaSet", "a", 2)))
}

fn records(plan: &Plan) -> Vec<Record> {
    common::run(plan).records
}

fn count(records: &[Record], process: &str, action: Action, word: &str) -> usize {
    let of = |record: &&Record| record.process == process && record.action == action;
    records.iter().filter(of).filter(|record| record.detail.to_string().contains(word)).count()
}

/// LISTs and WATCHes that a process sent for pods, and WATCHes that were refused.
fn requests(records: &[Record], process: &str) -> (usize, usize, usize) {
    let refused = count(records, process, Action::Watch, "Invalid");
    (count(records, process, Action::List, "pods"), count(records, process, Action::Watch, "pods"), refused)
}

#[test]
fn who_asks_for_streaming_lists_is_a_matter_of_its_own_gate() {
    let ask = |gates: &[(&str, &str)]| {
        let records = records(&plan("watch-list-client", "1.36", gates, ""));
        [MANAGER, SCHEDULER].map(|process| requests(&records, process))
    };
    assert_eq!(ask(&[]), [(0, 1, 0), (0, 1, 0)]);
    assert_eq!(ask(&[(MANAGER, "WatchListClient=false")]), [(1, 1, 0), (0, 1, 0)]);
    assert_eq!(ask(&[(SCHEDULER, "WatchListClient=false")]), [(0, 1, 0), (1, 1, 0)]);
    let old = |gates: &[(&str, &str)]| requests(&records(&plan("watch-list-1.32", "1.32", gates, "")), MANAGER);
    assert_eq!([old(&[]), old(&[(MANAGER, "WatchListClient=true")])], [(1, 1, 0), (0, 1, 0)]);
}

/// The server refuses what the clients ask for, and they list: three informers of the one and six of the other, two times 4 ms,
/// and 2 ms for the WATCH. For pods there are two WATCHes: the refused one and the one that resumes the list.
#[test]
fn without_watch_list_at_the_server_clients_fall_back_to_lists() {
    let plan = plan("watch-list", "1.36", &[(SERVER, "WatchList=false")], "");
    let records = records(&plan);
    assert_eq!([MANAGER, SCHEDULER].map(|process| requests(&records, process)), [(1, 2, 3), (1, 2, 6)]);
    let opened = records.iter().find(|record| record.process == MANAGER && record.detail.to_string() == "pods 3");
    assert_eq!((opened.unwrap().time - plan.start_at).0, 10_000_000);
    assert_eq!(count(&records, "kubelet", Action::Relist, ""), 2);
}

/// A ReplicaSet whose ADDED was lost is deleted: a queue that keeps entries by key says nothing of it.
#[test]
fn a_queue_in_order_tells_of_what_it_never_knew() {
    let more = "  timeline:\n    - {at: 10s, kubectl: 'apply -f c.yaml'}\n    - {at: 30s, kubectl: 'delete replicaset c'}\n  \
                files: {c.yaml: [{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: c}, spec: {replicas: 0, selector: \
                {matchLabels: {app: c}}, template: {metadata: {labels: {app: c}}, spec: {containers: [{name: c, image: i}]}}}}]}\n  \
                faults: [{at: 9s, duration: 5s, dropWatchEvents: {to: kube-controller-manager, kind: ReplicaSet, stage: store}}]\n";
    let told = |version: &str, gates: &[(&str, &str)]| {
        let records = records(&plan(&format!("in-order-{version}-{}", gates.len()), version, gates, more));
        let of_c = |record: &&Record| record.key.as_ref().is_some_and(|key| key.name == "c");
        records.iter().filter(of_c).filter(|record| record.action == Action::Reconcile).count()
    };
    assert_eq!(told("1.35", &[]), 1);
    assert_eq!(told("1.35", &[(MANAGER, "InOrderInformers=false")]), 0);
    assert_eq!(told("1.35", &[(SCHEDULER, "InOrderInformers=false")]), 1);
    assert_eq!([told("1.32", &[]), told("1.36", &[])], [0, 1]);
}

/// Two pods are gone and nobody was told, until a relist. Whether it is one entry of the queue or one an object decides what a
/// handler finds in the cache meanwhile. No handler of these controllers looks: what they do is the same.
#[test]
fn an_atomic_list_makes_no_difference_to_handlers_that_do_not_look() {
    let more = "  timeline: [{at: 30s, kubectl: 'delete pod --all --force --grace-period=0'}]\n  \
                faults:\n    - {at: 29s, duration: 5s, dropWatchEvents: {to: kube-controller-manager, kind: Pod, stage: store}}\n    \
                - {at: 60s, cutWatch: {to: kube-controller-manager, kind: Pod, end: gone}}\n";
    let run = |name: &str, gates: &str| {
        let plan = plan(name, "1.36", &[(MANAGER, gates)], more);
        assert_eq!(plan.gates.controller_manager.is_on(Gate::AtomicFifo), !gates.contains("AtomicFIFO=false"));
        let records = records(&plan);
        assert_eq!(count(&records, MANAGER, Action::Relist, "pods"), 2);
        records
    };
    let atomic = run("atomic", "StaleControllerConsistencyReplicaSet=false");
    let one_by_one = run("not-atomic", "AtomicFIFO=false,StaleControllerConsistencyReplicaSet=false");
    common::assert_same_records("AtomicFIFO", &atomic, &one_by_one);
}

/// A leader that is asked to end leaves its lease behind, unless the gate says that it gives it back.
#[test]
fn a_controller_manager_gives_its_lease_back_when_its_gate_says_so() {
    let gap = |name: &str, list: &str, own: &str| {
        let text = format!(
            "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  duration: 3m\n  nodes: \
             [{{count: 1, cpu: '4', memory: 8Gi}}]\n  controlPlane: {{controllerManager: {{replicas: 2, {own}flags: \
             ['--feature-gates={list}']}}}}\n  faults: [{{at: 60s, restart: kube-controller-manager/leader}}]\n"
        );
        let ran = common::run(&common::plan_of(name, &text));
        ran.world.leadership().leaderless(ran.world.now()).0.as_seconds()
    };
    let gate = "ControllerManagerReleaseLeaderElectionLockOnExit=true";
    let (kept, released) = (gap("lease-kept", "", ""), gap("lease-released", gate, ""));
    assert!((13.0..21.5).contains(&kept), "a lease, and up to 4.4 s for the next attempt: {kept}");
    assert!(released < 4.5, "the next attempt: {released}");
    assert_eq!(gap("lease-kept-nevertheless", gate, "leaderElection: {releaseOnCancel: false}, "), kept);
    assert_eq!(gap("lease-all-alpha", "AllAlpha=true", ""), released);
}

/// A pod's create takes 3 s longer than its client waits. The client tells its caller after 1 s and sends nothing again; the
/// controller tries anew; and then the first write is carried out nevertheless: a pod too many, which goes again.
#[test]
fn a_request_that_is_given_up_may_be_carried_out_nevertheless() {
    let run = |name: &str, client: &str| {
        let text = format!(
            "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {name}}}\nspec:\n  duration: 2m\n  nodes: \
             [{{count: 1, cpu: '8', memory: 8Gi}}]\n  controlPlane: {{controllerManager: {{{client}}}}}\n  timeline: [{{at: 30s, kubectl: \
             'scale replicaset/a --replicas=3'}}]\n  faults: [{{at: 30s, slowRequests: {{from: kube-controller-manager/replicaset, \
             verb: create, kind: Pod, by: 3s, count: 1}}}}]\n{}",
            common::workload("ReplicaSet", "a", 2)
        );
        let plan = common::plan_of(name, &text);
        let ran = common::run(&plan);
        let of_pods = |action: Action| {
            let pods = ran.records.iter().filter(|r| r.process == MANAGER && r.action == action);
            let pods = pods.filter(|r| r.key.as_ref().is_some_and(|key| key.kind == Kind::Pod));
            pods.map(|r| (r.time - plan.start_at).0 / 1_000_000).filter(|ms| *ms > 30_000).collect::<Vec<_>>()
        };
        let given_up = ran.records.iter().filter(|r| r.action == Action::Retry && r.process == MANAGER);
        let given_up: Vec<String> = given_up.map(|r| r.detail.to_string()).collect();
        let errors = count(&ran.records, MANAGER, Action::ReconcileError, "context deadline exceeded");
        let pods = ran.world.api().truth().iter(Kind::Pod).count();
        (given_up, errors, of_pods(Action::Create), of_pods(Action::Delete).len(), pods)
    };
    let (given_up, errors, creates, deletes, pods) = run("give-up", "client: {timeout: 1s}");
    assert_eq!(given_up, ["given up: context deadline exceeded"]);
    assert_eq!((errors, deletes, pods), (1, 1, 3));
    // Sent at 30.016 s, when the new size was seen: given up at 31.016 s, and committed 3 s + 2 ms + 5 ms after it was sent. The
    // failure goes into the status (2 ms, 5 ms, 5 ms until it is seen: 31.028 s), which wakes the controller: 7 ms to the pod.
    assert_eq!(creates, [31_035, 33_023]);
    for patient in ["", "client: {timeout: 0s}", "client: {timeout: 4s}"] {
        let (given_up, errors, creates, deletes, pods) = run("patience", patient);
        assert_eq!((given_up.len(), errors, creates.len(), deletes, pods), (0, 0, 1, 0, 3), "{patient}");
    }
}
