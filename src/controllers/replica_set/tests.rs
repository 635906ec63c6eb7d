//! Whole syncs against the scripted double.

use std::rc::Rc;

use super::ReplicaSetController;
use super::decide::new_pod;
use crate::client::reconciler::{Enqueue, Outcome};
use crate::controllers::consistency::Consistency;
use crate::controllers::double_for_tests::Script;
use crate::model::api::Reason;
use crate::model::{
    ApiError, Deletion, Key, Kind, Labels, Meta, Pod, PodSpec, PodTemplate, ReplicaSet, ReplicaSetSpec,
    ReplicaSetStatus, Request, Rv, Selector, Span, Time,
};

fn replica_set(replicas: i32) -> ReplicaSet {
    let labels = Labels::NONE.with("app", "web");
    let template = PodTemplate::new(labels.clone(), Labels::NONE, PodSpec::default(), serde_json::json!({}));
    ReplicaSet {
        meta: Meta {
            uid: "u1".into(),
            resource_version: Rv(5),
            generation: 1,
            labels: labels.clone(),
            ..Meta::named("default", "web")
        },
        spec: ReplicaSetSpec {
            replicas,
            min_ready_seconds: 0,
            selector: Rc::new(Selector::from_labels(&labels)),
            template: Rc::new(template),
        },
        status: ReplicaSetStatus::default(),
        source: None,
    }
}

fn key() -> Key {
    Key::new(Kind::ReplicaSet, "default", "web")
}

fn pod(name: &str, version: u64) -> Pod {
    let mut pod = new_pod(&Rc::new(replica_set(1)));
    pod.meta.name = name.into();
    pod.meta.uid = name.into();
    pod.meta.resource_version = Rv(version);
    pod
}

fn quota(request: &Request) -> Option<crate::model::ApiResult> {
    matches!(request, Request::Create(_)).then(|| Err(ApiError::new(Reason::Forbidden, "exceeded quota")))
}

#[test]
fn pods_are_created_in_batches_then_the_status_is_written() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    assert_eq!(script.deliver(replica_set(4)), [Enqueue::Now(key())]);
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    let expected = [
        "create pod/web-1",
        "event SuccessfulCreate: Created pod: web-1",
        "create pod/web-2",
        "event SuccessfulCreate: Created pod: web-2",
        "create pod/web-3",
        "event SuccessfulCreate: Created pod: web-3",
        "create pod/web-4",
        "event SuccessfulCreate: Created pod: web-4",
        "status replicaset/web",
    ];
    assert_eq!(script.log, expected);
    // 4 pods are expected: nothing is created again before they are seen, or five minutes have passed.
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log, ["status replicaset/web"]);
    for number in 1..=4 {
        assert_eq!(script.deliver(pod(&format!("web-{number}"), 10)), [Enqueue::Now(key())]);
    }
    script.remove(&Key::new(Kind::Pod, "default", "web-4"));
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log[0], "create pod/web-5");
}

#[test]
fn expectations_time_out() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    script.deliver(replica_set(1));
    script.reconcile(&key(), |_| None);
    script.log.clear();
    script.now = Time(0) + crate::controllers::expectations::TIMEOUT + Span(1);
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log[0], "create pod/web-2");
}

#[test]
fn a_failed_batch_ends_the_creation_and_is_retried() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    script.deliver(replica_set(4));
    let outcome = script.reconcile(&key(), quota);
    assert_eq!(outcome, Outcome::error("exceeded quota"));
    let expected =
        ["create pod/web- -> Forbidden", "event FailedCreate: Error creating: exceeded quota", "status replicaset/web"];
    assert_eq!(script.log, expected);
    // Neither the failed nor the untried ones are expected any more.
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log[0], "create pod/web-1");
}

#[test]
fn surplus_pods_are_deleted_and_their_deletion_is_seen_once() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    script.deliver(replica_set(1));
    for name in ["web-a", "web-b", "web-c"] {
        script.deliver(pod(name, 7));
    }
    script.reconcile(&key(), |request| {
        let is_c = request.key().name == "web-c" && matches!(request, Request::Delete { .. });
        is_c.then(|| Err(ApiError::not_found(&request.key())))
    });
    // All are equal: the order of the cache decides.
    assert_eq!(script.log[0], "delete pod/web-a");
    assert_eq!(script.log[1], "event SuccessfulDelete: Deleted pod: web-a");
    assert_eq!(script.log[2], "delete pod/web-b");
    let mut deleting = pod("web-a", 8);
    deleting.meta.deletion = Some(Deletion { at: Time(0), grace_seconds: 30 });
    script.deliver(deleting);
    script.remove(&Key::new(Kind::Pod, "default", "web-a"));
    // web-b is still expected to go: nothing is done but the status.
    script.deliver(pod("web-d", 9));
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log, ["status replicaset/web"]);
    script.remove(&Key::new(Kind::Pod, "default", "web-b"));
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log[0], "delete pod/web-c");
}

#[test]
fn a_status_write_is_tried_twice_with_a_read_between() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    script.deliver(replica_set(0));
    let conflict = |request: &Request| {
        matches!(request, Request::UpdateStatus(_)).then(|| Err(ApiError::new(Reason::Conflict, "stale")))
    };
    assert_eq!(script.reconcile(&key(), conflict), Outcome::error("stale"));
    let expected = ["status replicaset/web -> Conflict", "get replicaset/web", "status replicaset/web -> Conflict"];
    assert_eq!(script.log, expected);
}

#[test]
fn a_cache_behind_the_own_writes_is_refused_when_checked() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Checked), Time(0));
    script.deliver(replica_set(1));
    script.reconcile(&key(), |_| None);
    script.log.clear();
    // The pod was created at version 101, the status written at 102; the caches are at 5 and 0.
    let mut seen = pod("web-1", 101);
    seen.meta.uid = "u-1".into();
    script.deliver(seen);
    let outcome = script.reconcile(&key(), |_| None);
    let Outcome::Error { message, .. } = outcome else { panic!("refused") };
    assert!(message.starts_with("read version: 5 is not as new as written version: 102"), "{message}");
    assert!(script.log.is_empty());
    script.deliver(ReplicaSet { meta: Meta { resource_version: Rv(102), ..replica_set(1).meta }, ..replica_set(1) });
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
}

#[test]
fn orphans_are_adopted_after_a_fresh_read_and_strangers_released() {
    let mut script = Script::new(ReplicaSetController::new(Consistency::Unchecked), Time(0));
    script.deliver(replica_set(1));
    let mut orphan = pod("orphan", 7);
    orphan.meta.owners = None;
    assert_eq!(script.deliver(orphan), [Enqueue::Now(key())]);
    let mut relabelled = pod("relabelled", 8);
    relabelled.meta.labels = Labels::NONE.with("app", "other");
    script.deliver(relabelled);
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    let expected = ["patch pod/relabelled", "get replicaset/web", "patch pod/orphan", "status replicaset/web"];
    assert_eq!(script.log, expected);
}
