//! Pods that wait for an event although the obstacle is gone.

use kubesim::model::{Action, Record, Span};
use kubesim::sim::Plan;

use crate::common::{Ran, plan_of, run};

/// One node (and another that is cordoned), pods, and what happens at some instant.
fn cluster(test: &str, version: &str, control_plane: &str, timeline: &str, pods: &str) -> Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: {test}}}\nspec:\n  kubernetesVersion: \"{version}\"\n  \
         duration: 6m\n  controlPlane: {control_plane}\n  nodes: [{{name: node, cpu: \"4\"}}]\n  timeline: [{timeline}]\n---\n\
         {{apiVersion: v1, kind: Node, metadata: {{name: closed}}, spec: {{unschedulable: true}}, \
         status: {{allocatable: {{cpu: \"4\", memory: 8Gi, pods: \"110\"}}}}}}\n{pods}"
    );
    plan_of(test, &text)
}

/// A pod: what stands in its metadata beside its name, and in its spec beside its container.
fn pod(name: &str, meta: &str, cpu: &str, spec: &str) -> String {
    format!(
        "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}{meta}}}, spec: {{terminationGracePeriodSeconds: 0{spec}, \
         containers: [{{name: c, image: \"registry.example/c:1\", resources: {{requests: {{cpu: {cpu}}}}}}}]}}}}\n"
    )
}

/// The records of a pod's attempts, and of its binding if there is one.
fn attempts_of<'a>(ran: &'a Ran, name: &str) -> (Vec<&'a Record>, Option<&'a Record>) {
    let of_pod = |record: &&Record| record.key.as_ref().is_some_and(|key| key.name == name);
    let records = || ran.records.iter().filter(of_pod);
    let attempts = records().filter(|record| record.action == Action::Schedule).collect();
    (attempts, records().find(|record| record.action == Action::Bind))
}

/// Where a record's chain of causes begins.
fn root_of<'a>(ran: &'a Ran, record: &'a Record) -> &'a Record {
    let cause = ran.records.iter().find(|other| other.id == record.cause);
    cause.map_or(record, |cause| root_of(ran, cause))
}

/// kubernetes/kubernetes#72122, #87850, #134999: the event that makes room comes while the pod is being tried; the attempt
/// ends in vain, and nothing happens any more that could wake the pod. It waits for the flush of those that have waited for
/// more than five minutes.
///
/// Since events during an attempt are kept for its pod, it is tried again as soon as it is back.
#[test]
fn c42_an_event_during_the_attempt_wakes_the_pod() {
    // Cycles of 2 s, so that the window is wide. The pod that needs room comes at 10 s.
    let slow = "{scheduler: {cycleTime: {base: 2s}}}";
    let pods = pod("full", "", "\"3\"", ", nodeName: node");
    let come = "{at: 10s, kubectl: kubectl apply -f waits.yaml}";
    let manifest = pod("waits", "", "\"2\"", "");
    let with_file = |timeline: &str, test: &str| {
        let mut text = String::from("  files:\n    waits.yaml: [");
        text.push_str(manifest.trim_start_matches("---\n").trim_end());
        text.push_str("]\n");
        let plan = cluster(test, "1.36", &format!("{slow}\n{}", text.trim_end()), timeline, &pods);
        run(&plan)
    };
    let mut during = 0;
    for step in 0..24 {
        let gone_ms = 9_000 + 250 * step;
        let timeline = format!("{come}, {{at: {gone_ms}ms, kubectl: kubectl delete pod/full}}");
        let ran = with_file(&timeline, &format!("c42-{step}"));
        let (attempts, bound) = attempts_of(&ran, "waits");
        let bound = bound.unwrap_or_else(|| panic!("full is gone at {gone_ms} ms, and waits has no node"));
        let seen = ran.records.iter().find(|record| {
            record.action == Action::Deliver
                && record.process == "kube-scheduler"
                && record.key.as_ref().is_some_and(|key| key.name == "full")
                && record.detail.to_string() == "DELETED"
        });
        let seen = seen.expect("the scheduler hears of it");
        // The attempt that is under way (2 s) ends, its pod's status is written (9 ms), the next takes 2 s, binding 7 ms.
        let earliest = seen.time.max(attempts[0].time);
        assert!(
            bound.time - earliest < Span::from_milliseconds(4_030),
            "gone at {gone_ms} ms: {:?}",
            bound.time - earliest
        );
        let (began, ended) = (attempts[0].time, attempts[0].time + Span::from_seconds(2));
        if seen.time > began && seen.time < ended {
            during += 1;
            assert_eq!(attempts.len(), 2, "gone at {gone_ms} ms");
            // That very event is the cause of the second attempt.
            assert_eq!(attempts[1].cause, seen.id, "gone at {gone_ms} ms");
        }
    }
    // Steps of 250 ms in a window of 2 s.
    assert!((7..=8).contains(&during), "{during} events came during the first attempt");
    // Without the event: the attempt ended at 12 s, five minutes are over at 312 s, and the flush at 330 s tries it again.
    let ran = with_file(come, "c42-alone");
    let (attempts, bound) = attempts_of(&ran, "waits");
    assert!(bound.is_none());
    let gap = attempts[1].time - (attempts[0].time + Span::from_seconds(2));
    assert!(gap > Span::from_seconds(300) && gap <= Span::from_seconds(330), "{gap:?}");
}

/// What is left of it: events that the hints of a version hold for useless although they help. The pod waits for the flush:
/// rejected at 0 s, it is older than five minutes at 330 s. Otherwise it is bound as soon as the obstacle is gone.
#[test]
fn c42_what_hints_miss_waits_for_the_flush() {
    let anti = |terms: &str| {
        format!(", affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{terms}]}}}}")
    };
    let term = |app: &str, more: &str| {
        format!("{{topologyKey: kubernetes.io/hostname, labelSelector: {{matchLabels: {{app: {app}}}}}{more}}}")
    };
    let own_kind = ", labels: {app: waits}";
    let delete = "{at: 6s, kubectl: kubectl delete pod/blocker}";
    let relabel = r#"{at: 6s, kubectl: "kubectl patch pod waits -p '{\"metadata\":{\"labels\":{\"app\":\"free\"}}}'"}"#;
    let on_node = |spec: &str| format!(", nodeName: node{spec}");
    let blocker = |terms: &str| pod("blocker", "", "100m", &on_node(&anti(terms)));
    let waits = || pod("waits", own_kind, "100m", "");
    let both = format!("{}, {}", term("waits", ""), term("other", ""));
    let affinity = format!(
        ", affinity: {{podAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}}",
        term("waits", "")
    );
    // #134393, #135325; #135394; what of them is left in 1.36; the pod's own terms; the first of its kind (#141354).
    for (case, event, pods, misses_in) in [
        ("repelled", delete, blocker(&term("waits", "")) + &waits(), &["1.35"][..]),
        ("relabelled", relabel, blocker(&term("waits", "")) + &waits(), &["1.35"]),
        ("one-term-of-two", delete, blocker(&both) + &waits(), &["1.35", "1.36"]),
        (
            "namespaces-by-label",
            delete,
            blocker(&term("waits", ", namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: default}}"))
                + &waits(),
            &["1.35", "1.36"],
        ),
        (
            "own-terms",
            delete,
            pod("blocker", ", labels: {app: other}", "100m", &on_node(""))
                + &pod("waits", own_kind, "100m", &anti(&both)),
            &["1.35", "1.36"],
        ),
        (
            "first-of-its-kind",
            delete,
            pod("blocker", own_kind, "100m", ", nodeName: closed") + &pod("waits", own_kind, "100m", &affinity),
            &["1.35", "1.36"],
        ),
        // For comparison: what asks for room is woken by any deletion.
        ("room", delete, pod("blocker", "", "\"3\"", &on_node("")) + &pod("waits", own_kind, "\"2\"", ""), &[]),
    ] {
        for version in ["1.35", "1.36"] {
            let ran = run(&cluster(&format!("c42-{case}-{version}"), version, "{}", event, &pods));
            let (attempts, bound) = attempts_of(&ran, "waits");
            let start = attempts[0].time;
            let bound = bound.unwrap_or_else(|| panic!("{case} in {version}: it has no node")).time - start;
            match misses_in.contains(&version) {
                true => {
                    let in_bounds = bound > Span::from_seconds(300) && bound <= Span::from_seconds(331);
                    assert!(in_bounds, "{case} in {version}: bound after {bound:?}");
                    assert_eq!(attempts.len(), 2, "{case} in {version}");
                    // The second attempt goes back to a timer, not to what happened.
                    assert_eq!(root_of(&ran, attempts[1]).action, Action::Timer, "{case} in {version}");
                }
                false => assert!(bound < Span::from_seconds(10), "{case} in {version}: bound after {bound:?}"),
            }
        }
    }
}
