//! Controllers and operators that count in caches which lag.

use kubesim::model::{Action, Kind, Object, Record, Span};
use kubesim::sim::{Plan, World};

use crate::common::{Keep, plan_of, run, run_until, workload};

/// Pods that are not on their way out.
fn active_pods(world: &World) -> usize {
    world.api().truth().iter(Kind::Pod).filter_map(Object::as_pod).filter(|pod| pod.is_active()).count()
}

/// Pods that a component made.
fn made<'a>(records: &'a [Record], component: &str) -> Vec<&'a Record> {
    let is_pod = |record: &&Record| record.key.as_ref().is_some_and(|key| key.kind == Kind::Pod);
    let made = records.iter().filter(|record| record.action == Action::Create && record.component == component);
    // The detail of a request is its error.
    made.filter(is_pod).filter(|record| record.detail.to_string().is_empty()).collect()
}

/// A Deployment that is scaled from 0 to 3 at 10 s; its pods reach kube-controller-manager late. An annotation makes the
/// ReplicaSet controller look again.
fn scaled(test: &str, version: &str, delay_s: i64, look_again_s: i64) -> Plan {
    let note = r#"patch deployment web -p '{"metadata": {"annotations": {"example.com/note": "again"}}}'"#;
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  kubernetesVersion: \"{version}\"\n  duration: 20m\n  \
         nodes: [{{count: 3}}]\n  timeline:\n  - {{at: 10s, kubectl: scale deployment/web --replicas=3}}\n  \
         - at: {look_again_s}s\n    kubectl: |-\n      {note}\n  \
         faults: [{{at: 0s, duration: 6m, delayWatch: {{to: kube-controller-manager, kind: Pod, by: {delay_s}s}}}}]\n"
    );
    plan_of(test, &(text + &workload("Deployment", "web", 0)))
}

/// Pods five seconds after the second look, those at the end, and the records.
fn counted(plan: &Plan, look_again_s: i64) -> (usize, usize, Vec<Record>) {
    let (mut world, Keep(before)) = run_until(plan, Span::from_seconds(look_again_s + 5));
    let then = active_pods(&world);
    let mut rest = Keep::default();
    world.run(&mut rest);
    (then, active_pods(&world), before.into_iter().chain(rest.0).collect())
}

/// kubernetes/kubernetes#129795: expectations that run out before the events arrive make a ReplicaSet create its pods again.
#[test]
fn c15_expectations_that_run_out_count_as_fulfilled_before_1_36() {
    // (version, delay of pods, second look, pods after it): expectations of 10 s are forgotten at 310 s.
    let rows = [
        ("1.35", 200, 330, 3), // all was seen at 210 s
        ("1.35", 295, 300, 3), // not seen before 305 s, but still expected
        ("1.35", 330, 330, 6), // neither: 2 x 3
        ("1.36", 330, 330, 3), // its cache has not seen its own write: it does nothing
    ];
    for (number, (version, delay_s, look_again_s, peak)) in rows.into_iter().enumerate() {
        let plan = scaled(&format!("c15-{number}"), version, delay_s, look_again_s);
        let (then, end, records) = counted(&plan, look_again_s);
        assert_eq!((then, end), (peak, 3), "{version}, pods {delay_s} s late, a look at {look_again_s} s");
        let made = made(&records, "replicaset");
        assert_eq!(made.len(), peak, "{version}");
        // Why: what is made once more is made by one that has not seen the first, and all but the surplus stays.
        for surplus in &made[3..] {
            assert!(surplus.seen_rv < surplus.truth_rv, "{surplus:?}");
        }
        let deleted =
            records.iter().filter(|record| record.action == Action::Delete && record.component == "replicaset");
        assert_eq!(deleted.count(), peak - 3, "{version}: the surplus goes once the cache has caught up");
    }
}

/// Four clusters at once, of three workers each, counted in the cache every second.
fn clusters(test: &str, late: &str, expectations: bool) -> Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 3m\n  nodes: [{{count: 4}}]\n  operators:\n  \
         - name: ray-operator\n    of: {{kind: RayCluster, count: 4}}\n    expectations: {expectations}\n    \
         maxConcurrentReconciles: 4\n    reconcile:\n      takes: 50ms\n      requeueAfter: 1s\n      requests:\n      - get\n      \
         - create: {{count: 3, names: random, template: {{kind: Pod, spec: {{containers: [{{name: ray, image: \
         \"registry.example/ray:1\"}}]}}}}}}\n  \
         faults: [{{at: 0s, duration: 30s, delayWatch: {{to: ray-operator, kind: Pod, by: {late}}}}}]\n"
    );
    plan_of(test, &text)
}

/// ray-project/kuberay#715 and #704: an operator without expectations creates twice from a stale cache.
#[test]
fn c17_an_operator_without_expectations_creates_twice_from_a_stale_cache() {
    let extra = |test: &str, late: &str, expectations: bool| {
        let ran = run(&clusters(test, late, expectations));
        assert_eq!(active_pods(&ran.world), 4 * 3, "{test}: in the end there are as many as asked for");
        made(&ran.records, "ray-operator").len() - 4 * 3
    };
    // Pods are seen 2.5 s late. It looks after 1 s and 2 s as if there were none: three more for each of four clusters, twice.
    let without = extra("c17-late", "2500ms", false);
    assert!(without >= 2 * 4 * 3, "{without}");
    assert_eq!(extra("c17-expectations", "2500ms", true), 0);
    // Seen sooner than it looks again.
    assert_eq!(extra("c17-soon", "10ms", false), 0);
}

/// A parent with one child. A reconcile waits at most 6 s until the child that it made is in its cache.
fn parent(test: &str, names: &str, blind: &str) -> Plan {
    let fault = match blind {
        "" => String::new(),
        blind => format!("  faults: [{{at: 1s, duration: {blind}, stallWatch: {{to: set-operator, kind: Pod}}}}]\n"),
    };
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nspec:\n  duration: 3m\n  nodes: [{{count: 2}}]\n  \
         files: {{parent.yaml: [{{apiVersion: example.com/v1, kind: MachineSet, metadata: {{name: a}}}}]}}\n  \
         timeline: [{{at: 2s, kubectl: apply -f parent.yaml}}]\n  operators:\n  \
         - name: set-operator\n    of: {{kind: MachineSet}}\n    reconcile:\n      requests:\n      \
         - create: {{names: {names}, waitForCache: {{timeout: 6s}}, template: {{kind: Pod, spec: {{containers: [{{name: c, \
         image: \"registry.example/c:1\"}}]}}}}}}\n{fault}"
    );
    plan_of(test, &text)
}

/// kubernetes-sigs/cluster-api#13649: one parent, three children.
#[test]
fn c18_each_time_out_of_a_wait_for_the_cache_makes_another_child() {
    for (number, (names, blind, time_outs, children)) in [
        ("random", "", 0, 1),
        ("random", "8s", 1, 2),
        ("random", "14s", 2, 3),
        // The second POST meets the first child: AlreadyExists.
        ("deterministic", "14s", 1, 1),
    ]
    .into_iter()
    .enumerate()
    {
        let ran = run(&parent(&format!("c18-{number}"), names, blind));
        let failed = ran.records.iter().filter(|record| {
            record.action == Action::ReconcileError && record.detail.to_string().starts_with("timed out after 6s")
        });
        let made = made(&ran.records, "set-operator").len();
        assert_eq!((failed.count(), made), (time_outs, children), "{names} names, blind for {blind}");
        assert_eq!(active_pods(&ran.world), 1, "{names} names: it corrects itself");
    }
}
