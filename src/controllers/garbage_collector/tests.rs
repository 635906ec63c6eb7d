//! Verdicts, and whole syncs against the scripted double.

use serde_json::json;

use super::GarbageCollector;
use super::decide::{Verdict, judge, owner_of};
use crate::client::reconciler::{Enqueue, Outcome};
use crate::controllers::double_for_tests::Script;
use crate::model::api::Reason;
use crate::model::{Answer, ApiError, Key, Kind, Object, Time};
use crate::rules::codec::decode;

fn object(kind: &str, name: &str, uid: &str, owner: Option<(&str, &str, &str)>) -> Object {
    let owners = owner.map(|(kind, name, uid)| {
        json!([{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": true}])
    });
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    let container = json!({"containers": [{"name": "c", "image": "i"}]});
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": container});
    let spec =
        if kind == "Pod" { container } else { json!({"selector": {"matchLabels": {"a": "b"}}, "template": template}) };
    let mut meta = json!({"name": name, "namespace": "default", "uid": uid});
    if let Some(owners) = owners {
        meta["ownerReferences"] = owners;
    }
    decode(&json!({"apiVersion": api_version, "kind": kind, "metadata": meta, "spec": spec})).unwrap()
}

fn set() -> Object {
    object("ReplicaSet", "web", "u1", None)
}

fn pod() -> Object {
    object("Pod", "web-a", "u2", Some(("ReplicaSet", "web", "u1")))
}

#[test]
fn an_object_goes_only_when_its_owner_is_really_gone() {
    let uid = "u1".into();
    let other = object("ReplicaSet", "web", "u9", None);
    let key = set().key();
    for (answer, verdict) in [
        (Ok(Answer::Object(set())), Verdict::Stays),
        (Ok(Answer::Object(other)), Verdict::Goes),
        (Err(ApiError::not_found(&key)), Verdict::Goes),
        (Err(ApiError::new(Reason::ServiceUnavailable, "etcd is away")), Verdict::Unknown),
    ] {
        assert_eq!(judge(&uid, &answer), verdict);
    }
    assert_eq!(owner_of(pod().meta()), Some((key, uid)));
    assert_eq!(owner_of(set().meta()), None);
}

#[test]
fn dependents_follow_their_owner() {
    let mut script = Script::new(GarbageCollector::new(crate::model::Kinds::BUILT_IN), Time(0));
    assert_eq!(script.deliver(set()), []);
    assert_eq!(script.deliver(pod()), []);
    assert_eq!(script.remove(&set().key()), [Enqueue::Now(pod().key())]);
    let gone = |request: &crate::model::Request| match request {
        crate::model::Request::Get(key) => Some(Err(ApiError::not_found(key))),
        _ => None,
    };
    assert_eq!(script.reconcile(&pod().key(), gone), Outcome::DONE);
    assert!(script.log.last().unwrap().starts_with("delete pod/web-a"), "{:?}", script.log);
}

#[test]
fn a_stale_cache_deletes_nothing() {
    // The cache has lost the ReplicaSet, the API server still has it.
    let mut script = Script::new(GarbageCollector::new(crate::model::Kinds::BUILT_IN), Time(0));
    assert_eq!(script.deliver(pod()), [Enqueue::Now(pod().key())]);
    let there = |_: &crate::model::Request| Some(Ok(Answer::Object(set())));
    assert_eq!(script.reconcile(&pod().key(), there), Outcome::DONE);
    assert!(!script.log.iter().any(|line| line.starts_with("delete")), "{:?}", script.log);
}

#[test]
fn keys_of_owners_keep_their_namespace() {
    let mut meta = pod().meta().clone();
    meta.namespace = "shop".into();
    assert_eq!(owner_of(&meta).unwrap().0, Key::new(Kind::ReplicaSet, "shop", "web"));
}
