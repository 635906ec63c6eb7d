//! What requests do to the store, against the measured behaviour of a real server.

use std::rc::Rc;

use serde_json::{Value, json};

use super::naming::Naming;
use super::{ApiServer, Writer};
use crate::component::{Draws, Purpose};
use crate::engine::draws::KeyedDraws;
use crate::model::ConditionStatus;
use crate::model::api::{Field, FieldRequirement, ObjectSelector, Reason};
use crate::model::name::hash_text;
use crate::model::{
    Answer, ApiError, ApiResult, Cause, Key, Kind, Name, Object, Patch, PodPhase, PodStatus, Preconditions, RecordId,
    Request, Rv, Span, Time,
};
use crate::rules::admission::NodeRegistration;
use crate::rules::{codec, selector_text};

struct TestDraws(KeyedDraws);

impl Draws for TestDraws {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        self.0.bits(hash_text(purpose.0), entity, occurrence)
    }
}

/// A server with the namespace default, and its clock.
struct Server {
    api: ApiServer,
    second: i64,
}

impl Server {
    fn new() -> Server {
        let mut server = Server { api: ApiServer::new(Naming::new(false)), second: 0 };
        server.create(namespace("default")).unwrap();
        server
    }

    fn execute(&mut self, request: Request) -> ApiResult {
        let now = Time(self.second * 1_000_000_000);
        let mut draws = TestDraws(KeyedDraws { seed: 0, replication: 0 });
        let existing = NodeRegistration::New;
        self.api.execute(&request, &mut Writer { now, cause: Cause::default(), draws: &mut draws, existing }).result
    }

    fn create(&mut self, manifest: Value) -> Result<Object, ApiError> {
        object_of(self.execute(Request::Create(decoded(&manifest))))
    }

    fn merge(&mut self, key: &Key, patch: Value) -> Result<Object, ApiError> {
        object_of(self.execute(Request::Patch { key: key.clone(), patch: Patch::Merge(Rc::new(patch)) }))
    }

    fn delete(&mut self, key: &Key, grace_seconds: Option<i64>) -> ApiResult {
        self.execute(Request::Delete { key: key.clone(), grace_seconds, preconditions: Preconditions::default() })
    }

    fn watch(&mut self, kind: Kind, selector: ObjectSelector) -> super::WatchId {
        let from = self.api.truth().revision();
        self.api.open_watch((0, 0), kind, selector, from).unwrap()
    }

    /// What a watch is sent: type, grace and end of a deletion, generation.
    fn events(&mut self, id: super::WatchId) -> Vec<String> {
        let mut texts = Vec::new();
        while let Some(next) = self.api.next_entry(id) {
            let event = self.api.take_entry(id, &next, Time(0)).unwrap();
            let meta = event.object.meta();
            let deletion = meta.deletion.map(|d| format!(" {}@{}", d.grace_seconds, d.at.0 / 1_000_000_000));
            texts.push(format!("{}{} g{}", event.event_type.as_str(), deletion.unwrap_or_default(), meta.generation));
        }
        texts
    }
}

fn decoded(manifest: &Value) -> Object {
    codec::decode(manifest).unwrap_or_else(|problems| panic!("{manifest}: {problems:?}"))
}

fn object_of(result: ApiResult) -> Result<Object, ApiError> {
    result.map(|answer| match answer {
        Answer::Object(object) => object,
        other => panic!("not an object: {other:?}"),
    })
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn pod(spec: Value) -> Value {
    let mut manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (key, value) in spec.as_object().unwrap() {
        manifest["spec"][key.as_str()] = value.clone();
    }
    manifest
}

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "d"}}, "template": {
            "metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
}

fn pod_key() -> Key {
    Key::new(Kind::Pod, "default", "p")
}

fn deployment_key() -> Key {
    Key::new(Kind::Deployment, "default", "d")
}

fn reason<T: std::fmt::Debug>(result: Result<T, ApiError>) -> Reason {
    result.unwrap_err().reason
}

enum Op {
    Delete(Option<i64>),
    Merge(Value),
    Phase(PodPhase),
}

/// Creates a pod at 0 s and does one thing every 10 s; what a watch of pods is sent.
fn life(manifest: Value, ops: Vec<Op>) -> Vec<String> {
    let mut server = Server::new();
    let stored = server.create(manifest).unwrap();
    let watch = server.watch(Kind::Pod, ObjectSelector::everything());
    for op in ops {
        server.second += 10;
        let key = stored.key();
        let result = match op {
            Op::Delete(grace) => server.delete(&key, grace),
            Op::Merge(patch) => server.merge(&key, patch).map(Answer::Object),
            Op::Phase(phase) => {
                let status = PodStatus { phase, ..PodStatus::default() };
                server.execute(Request::Patch {
                    key,
                    patch: Patch::PodStatus { uid: Name::EMPTY, status: Box::new(status) },
                })
            }
        };
        result.unwrap();
    }
    server.events(watch)
}

#[test]
fn pods_are_deleted_step_by_step() {
    use Op::{Delete, Merge, Phase};
    let assigned = || pod(json!({"nodeName": "n1"}));
    let held = || {
        let mut manifest = assigned();
        manifest["metadata"]["finalizers"] = json!(["x/y"]);
        manifest
    };
    let no_finalizers = || Merge(json!({"metadata": {"finalizers": null}}));
    // `MODIFIED 30@40 g2`: grace 30 s, deletionTimestamp at 40 s, generation 2.
    let rows: Vec<(&str, Value, Vec<Op>, &[&str])> = vec![
        ("assigned", assigned(), vec![Delete(None)], &["MODIFIED 30@40 g2"]),
        (
            "again, same or longer",
            assigned(),
            vec![Delete(None), Delete(None), Delete(Some(60))],
            &["MODIFIED 30@40 g2"],
        ),
        // The shorter grace counts from the first DELETE: 10 + 5.
        ("again, shorter", assigned(), vec![Delete(None), Delete(Some(5))], &["MODIFIED 30@40 g2", "MODIFIED 5@15 g2"]),
        ("grace 0", assigned(), vec![Delete(Some(0))], &["MODIFIED 0@10 g2", "DELETED 0@10 g2"]),
        (
            "the kubelet's, at the end of the grace",
            assigned(),
            vec![Delete(Some(10)), Delete(Some(0))],
            &["MODIFIED 10@20 g2", "MODIFIED 0@20 g2", "DELETED 0@20 g2"],
        ),
        ("below zero", assigned(), vec![Delete(Some(-5))], &["MODIFIED 1@11 g2"]),
        ("not assigned", pod(json!({})), vec![Delete(None)], &["MODIFIED 0@10 g2", "DELETED 0@10 g2"]),
        (
            "finished",
            assigned(),
            vec![Phase(PodPhase::Succeeded), Delete(None)],
            &["MODIFIED g1", "MODIFIED 0@20 g2", "DELETED 0@20 g2"],
        ),
        (
            "the spec's grace is 0",
            pod(json!({"nodeName": "n1", "terminationGracePeriodSeconds": 0})),
            vec![Delete(None)],
            &["MODIFIED 0@10 g2", "DELETED 0@10 g2"],
        ),
        ("held", held(), vec![Delete(Some(0)), Delete(Some(0))], &["MODIFIED 0@10 g2"]),
        ("held, then let go", held(), vec![Delete(Some(0)), no_finalizers()], &["MODIFIED 0@10 g2", "DELETED 0@10 g2"]),
        (
            "let go before the grace is over",
            held(),
            vec![Delete(None), no_finalizers()],
            &["MODIFIED 30@40 g2", "MODIFIED 30@40 g2"],
        ),
        (
            "labels change while terminating",
            assigned(),
            vec![Delete(None), Merge(json!({"metadata": {"labels": {"a": "b"}}}))],
            &["MODIFIED 30@40 g2", "MODIFIED 30@40 g2"],
        ),
    ];
    for (title, manifest, ops, expected) in rows {
        assert_eq!(life(manifest, ops), expected, "{title}");
    }
}

#[test]
fn a_terminating_object_gets_no_new_finalizer() {
    let mut server = Server::new();
    server.create(pod(json!({"nodeName": "n1"}))).unwrap();
    server.delete(&pod_key(), None).unwrap();
    assert_eq!(reason(server.merge(&pod_key(), json!({"metadata": {"finalizers": ["x/y"]}}))), Reason::Invalid);
}

#[test]
fn other_kinds_vanish_unless_a_finalizer_holds_them() {
    let mut server = Server::new();
    server.create(deployment()).unwrap();
    server.delete(&deployment_key(), None).unwrap();
    assert!(server.api.truth().get(&deployment_key()).is_none());
    let mut held = deployment();
    held["metadata"]["finalizers"] = json!(["x/y"]);
    server.create(held).unwrap();
    server.delete(&deployment_key(), None).unwrap();
    assert!(server.api.truth().get(&deployment_key()).unwrap().meta().is_deleting());
    server.merge(&deployment_key(), json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(server.api.truth().get(&deployment_key()).is_none());
    assert_eq!(reason(server.delete(&deployment_key(), None)), Reason::NotFound);
}

#[test]
fn a_deleted_namespace_is_terminating_and_takes_nothing_new() {
    let mut server = Server::new();
    server.create(namespace("shop")).unwrap();
    let key = Key::new(Kind::Namespace, "", "shop");
    server.delete(&key, None).unwrap();
    let revision = server.api.truth().revision();
    server.delete(&key, None).unwrap();
    assert_eq!(server.api.truth().revision(), revision, "a second DELETE changes nothing");
    let mut manifest = pod(json!({}));
    manifest["metadata"]["namespace"] = json!("shop");
    assert_eq!(reason(server.create(manifest.clone())), Reason::NamespaceTerminating);
    manifest["metadata"]["namespace"] = json!("nowhere");
    assert_eq!(reason(server.create(manifest)), Reason::NotFound);
    assert_eq!(reason(server.delete(&Key::new(Kind::Namespace, "", "default"), None)), Reason::Forbidden);
}

#[test]
fn creates_are_refused_or_named() {
    let mut server = Server::new();
    server.create(pod(json!({"nodeName": "n1"}))).unwrap();
    assert_eq!(reason(server.create(pod(json!({})))), Reason::AlreadyExists);
    server.delete(&pod_key(), None).unwrap();
    assert_eq!(reason(server.create(pod(json!({})))), Reason::AlreadyExists, "while the old one is terminating");
    let mut versioned = pod(json!({}));
    versioned["metadata"]["resourceVersion"] = json!("3");
    assert_eq!(reason(server.create(versioned)), Reason::InternalError);
    let mut both = pod(json!({}));
    both["metadata"] = json!({"name": "q", "generateName": "web-", "namespace": "default"});
    assert_eq!(server.create(both.clone()).unwrap().meta().name, "q");
    both["metadata"].as_object_mut().unwrap().remove("name");
    let name = server.create(both).unwrap().meta().name.to_string();
    let suffix = name.strip_prefix("web-").unwrap();
    assert!(suffix.len() == 5 && suffix.bytes().all(|b| b"bcdfghjklmnpqrstvwxz2456789".contains(&b)), "{name}");
}

#[test]
fn a_write_of_a_stale_version_conflicts() {
    let mut server = Server::new();
    let first = server.create(deployment()).unwrap();
    server.merge(&deployment_key(), json!({"spec": {"replicas": 3}})).unwrap();
    assert_eq!(reason(server.execute(Request::Update(first.clone()))), Reason::Conflict);
    assert_eq!(reason(server.execute(Request::UpdateStatus(first.clone()))), Reason::Conflict);
    let stale = json!({"metadata": {"resourceVersion": first.meta().resource_version.to_string()}});
    assert_eq!(reason(server.merge(&deployment_key(), stale)), Reason::Conflict);
    let scale = |replicas, resource_version| Request::Scale { key: deployment_key(), replicas, resource_version };
    assert_eq!(reason(server.execute(scale(5, first.meta().resource_version))), Reason::Conflict);
    assert_eq!(reason(server.execute(scale(-1, Rv(0)))), Reason::Invalid);
    // Without a version the last write wins, unless another object is meant.
    let mut last = first.clone();
    last.meta_mut().resource_version = Rv(0);
    server.execute(Request::Update(last.clone())).unwrap();
    last.meta_mut().uid = Name::new("another");
    assert_eq!(reason(server.execute(Request::Update(last.clone()))), Reason::Conflict);
    for preconditions in [
        Preconditions { uid: Name::new("another"), ..Preconditions::default() },
        Preconditions { resource_version: Rv(1), ..Preconditions::default() },
    ] {
        let request = Request::Delete { key: deployment_key(), grace_seconds: None, preconditions };
        assert_eq!(reason(server.execute(request)), Reason::Conflict);
    }
    server.delete(&deployment_key(), None).unwrap();
    assert_eq!(reason(server.execute(Request::Update(last))), Reason::NotFound);
    assert_eq!(reason(server.execute(scale(1, Rv(0)))), Reason::NotFound);
}

#[test]
fn writes_that_change_nothing_commit_nothing() {
    let mut server = Server::new();
    let stored = server.create(deployment()).unwrap();
    let revision = server.api.truth().revision();
    server.execute(Request::Update(stored.clone())).unwrap();
    server.execute(Request::UpdateStatus(stored.clone())).unwrap();
    server.execute(Request::Scale { key: stored.key(), replicas: 2, resource_version: Rv(0) }).unwrap();
    server.merge(&stored.key(), json!({})).unwrap();
    let answer = server.merge(&stored.key(), json!({"spec": {"replicas": 2}})).unwrap();
    assert_eq!(server.api.truth().revision(), revision);
    assert_eq!(answer, stored);
}

#[test]
fn the_generation_counts_changes_of_the_spec() {
    let mut server = Server::new();
    server.create(deployment()).unwrap();
    let key = deployment_key();
    let rows = [
        (json!({"spec": {"replicas": 5}}), 2),
        (json!({"metadata": {"annotations": {"a": "b"}}}), 3),
        (json!({"metadata": {"labels": {"team": "x"}}}), 3),
        (json!({"status": {"replicas": 9}}), 3),
    ];
    for (patch, expected) in rows {
        assert_eq!(server.merge(&key, patch.clone()).unwrap().meta().generation, expected, "{patch}");
    }
    let stored = server.api.truth().get(&key).unwrap().clone();
    assert_eq!(stored.meta().labels.get_str("team").map(Name::as_str), Some("x"), "a patch of labels alone is kept");
    assert_eq!(stored.as_deployment().unwrap().status.replicas, 0, "the main path takes no status");
    server.execute(Request::Scale { key: key.clone(), replicas: 6, resource_version: Rv(0) }).unwrap();
    assert_eq!(server.api.truth().get(&key).unwrap().meta().generation, 4);
    server.create(pod(json!({}))).unwrap();
    let labelled = server.merge(&pod_key(), json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    assert_eq!(labelled.meta().generation, 1);
}

#[test]
fn a_status_write_takes_neither_spec_nor_labels_of_a_deployment() {
    let mut server = Server::new();
    let mut written = server.create(deployment()).unwrap().as_deployment().unwrap().as_ref().clone();
    written.spec.replicas = 9;
    written.status.replicas = 1;
    written.meta.labels = written.meta.labels.with("a", "b");
    let stored = object_of(server.execute(Request::UpdateStatus(written.into()))).unwrap();
    let deployment = stored.as_deployment().unwrap();
    assert_eq!((deployment.spec.replicas, deployment.status.replicas, deployment.meta.generation), (2, 1, 1));
    assert!(deployment.meta.labels.is_empty());
}

#[test]
fn a_patch_cannot_make_another_object() {
    let mut server = Server::new();
    server.create(deployment()).unwrap();
    for patch in [
        json!({"metadata": {"name": "other"}}),
        json!({"metadata": {"namespace": "other"}}),
        json!({"apiVersion": "v1", "kind": "Namespace"}),
    ] {
        assert_eq!(reason(server.merge(&deployment_key(), patch.clone())), Reason::BadRequest, "{patch}");
    }
    assert_eq!(reason(server.merge(&deployment_key(), json!({"metadata": {"uid": "u"}}))), Reason::Conflict);
    for patch in [Value::Null, json!("text"), json!([1]), json!({"metadata": null}), json!({"spec": null})] {
        assert!(server.merge(&deployment_key(), patch.clone()).is_err(), "{patch}");
    }
    assert_eq!(server.api.truth().count(Kind::Deployment), 1);
}

#[test]
fn a_change_leaves_something_that_a_controller_can_work_on() {
    let mut server = Server::new();
    server.create(deployment()).unwrap();
    for patch in [
        json!({"spec": {"replicas": -1}}),
        json!({"spec": {"selector": {"matchLabels": {"app": "other"}}}}),
        json!({"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}}),
        json!({"spec": {"template": {"spec": {"containers": null}}}}),
    ] {
        assert_eq!(reason(server.merge(&deployment_key(), patch.clone())), Reason::Invalid, "{patch}");
    }
}

#[test]
fn binding_happens_once() {
    let mut server = Server::new();
    let uid = server.create(pod(json!({}))).unwrap().meta().uid.clone();
    let bind = |uid: &Name| Request::Bind { pod: pod_key(), uid: uid.clone(), node: Name::new("n1") };
    assert_eq!(reason(server.execute(bind(&Name::new("another")))), Reason::Conflict);
    server.execute(bind(&uid)).unwrap();
    let bound = server.api.truth().get(&pod_key()).unwrap().as_pod().unwrap().clone();
    assert_eq!((bound.node_name.as_str(), bound.meta.generation), ("n1", 1));
    assert_eq!(bound.status.conditions[0].condition_type, "PodScheduled");
    assert_eq!(reason(server.execute(bind(&uid))), Reason::Conflict, "even to the same node");
    server.delete(&pod_key(), Some(0)).unwrap();
    assert_eq!(reason(server.execute(bind(&uid))), Reason::NotFound);
    server.create(pod(json!({"schedulingGates": [{"name": "wait"}]}))).unwrap();
    assert_eq!(reason(server.execute(bind(&Name::EMPTY))), Reason::Conflict, "gated");
}

#[test]
fn a_refused_pod_can_be_taken_from_its_node_unless_it_is_terminating() {
    let mut server = Server::new();
    let uid = server.create(pod(json!({}))).unwrap().meta().uid.clone();
    let bind = Request::Bind { pod: pod_key(), uid: uid.clone(), node: Name::new("n1") };
    server.execute(bind.clone()).unwrap();
    let unbind = |uid: &Name| {
        let patch = Patch::Unbind { uid: uid.clone(), reason: Name::new("OutOfcpu"), message: Name::new("no room") };
        Request::Patch { key: pod_key(), patch }
    };
    assert_eq!(reason(server.execute(unbind(&Name::new("another")))), Reason::Conflict);
    server.execute(unbind(&uid)).unwrap();
    let unbound = server.api.truth().get(&pod_key()).unwrap().as_pod().unwrap().clone();
    let scheduled = &unbound.status.conditions[0];
    assert_eq!((unbound.node_name.as_str(), unbound.status.phase), ("", PodPhase::Pending));
    assert_eq!((scheduled.condition_type.as_str(), scheduled.status), ("PodScheduled", ConditionStatus::False));
    assert_eq!((scheduled.reason.as_str(), scheduled.message.as_str()), ("OutOfcpu", "no room"));
    server.execute(bind).unwrap();
    server.delete(&pod_key(), Some(30)).unwrap();
    assert_eq!(reason(server.execute(unbind(&uid))), Reason::Conflict, "its kubelet has to end it");
}

#[test]
fn a_watch_sees_objects_enter_and_leave_its_selector() {
    let mut server = Server::new();
    let unbound = FieldRequirement { field: Field::SpecNodeName, value: Name::EMPTY, negated: false };
    let on_node = FieldRequirement { field: Field::SpecNodeName, value: Name::new("n1"), negated: false };
    let fields = |field| ObjectSelector { fields: vec![field], ..ObjectSelector::everything() };
    let labels = selector_text::parse_labels("app=a").unwrap();
    let watches = [fields(unbound), fields(on_node), ObjectSelector { labels, ..ObjectSelector::everything() }]
        .map(|selector| server.watch(Kind::Pod, selector));
    let uid = server.create(pod(json!({}))).unwrap().meta().uid.clone();
    server.execute(Request::Bind { pod: pod_key(), uid, node: Name::new("n1") }).unwrap();
    for app in ["a", "a2", "a"] {
        server.merge(&pod_key(), json!({"metadata": {"labels": {"app": app}}})).unwrap();
    }
    let left = server.api.next_entry(watches[0]).unwrap();
    assert_eq!(left.rv, Rv(2), "the namespace is 1, the pod 2");
    assert_eq!(server.events(watches[0]), ["ADDED g1", "DELETED g1"]);
    assert_eq!(server.events(watches[1]), ["ADDED g1", "MODIFIED g1", "MODIFIED g1", "MODIFIED g1"]);
    assert_eq!(server.events(watches[2]), ["ADDED g1", "DELETED g1", "ADDED g1"]);
}

#[test]
fn an_object_that_leaves_is_sent_with_its_old_content_and_the_new_version() {
    let mut server = Server::new();
    server.create(pod(json!({}))).unwrap();
    server.merge(&pod_key(), json!({"metadata": {"labels": {"app": "a"}}})).unwrap();
    let labels = selector_text::parse_labels("app=a").unwrap();
    let watch = server.watch(Kind::Pod, ObjectSelector { labels, ..ObjectSelector::everything() });
    let changed = server.merge(&pod_key(), json!({"metadata": {"labels": {"app": "b"}}})).unwrap();
    let next = server.api.next_entry(watch).unwrap();
    let event = server.api.take_entry(watch, &next, Time(0)).unwrap();
    assert_eq!(event.object.meta().labels.get_str("app").map(Name::as_str), Some("a"));
    assert_eq!(event.object.meta().resource_version, changed.meta().resource_version);
}

#[test]
fn a_watch_may_begin_within_the_last_hundred_slow_changes() {
    let mut server = Server::new();
    server.create(pod(json!({}))).unwrap();
    let from = server.api.truth().revision();
    let everything = ObjectSelector::everything;
    // An open watch that lags keeps its entries, whether or not a new one may begin with them.
    let lagging = server.watch(Kind::Pod, everything());
    // The create and 130 changes, one each 2 s: the newest 100 of 131 stay, so the first that may be asked for is the
    // 31st change, by a watch that has seen the 30th.
    for value in 0..130 {
        server.second += 2;
        server.merge(&pod_key(), json!({"metadata": {"labels": {"a": value.to_string()}}})).unwrap();
    }
    server.api.trim_logs();
    let mut open = |from| server.api.open_watch((0, 0), Kind::Pod, everything(), from);
    assert_eq!(reason(open(Rv(from.0 + 29))), Reason::Expired);
    let watch = open(Rv(from.0 + 30)).unwrap();
    assert_eq!((server.events(watch).len(), server.events(lagging).len()), (100, 130));
    server.api.forget_history();
    let newest = server.api.truth().revision();
    assert!(server.api.open_watch((0, 0), Kind::Pod, everything(), Rv(newest.0 - 1)).is_err());
    assert!(server.api.open_watch((0, 0), Kind::Pod, everything(), newest).is_ok());
}

#[test]
fn a_window_of_fast_changes_grows() {
    let mut server = Server::new();
    server.create(pod(json!({}))).unwrap();
    let from = server.api.truth().revision();
    // 1,500 changes in 5 s: all there.
    for value in 0..1_500 {
        server.second = value / 300;
        server.merge(&pod_key(), json!({"metadata": {"labels": {"a": value.to_string()}}})).unwrap();
    }
    server.api.trim_logs();
    let watch = server.api.open_watch((0, 0), Kind::Pod, ObjectSelector::everything(), from).unwrap();
    assert_eq!(server.events(watch).len(), 1_500);
}

#[test]
fn a_watch_ends_behind_what_was_committed_before() {
    let mut server = Server::new();
    let watch = server.watch(Kind::Pod, ObjectSelector::everything());
    server.create(pod(json!({}))).unwrap();
    server.api.end_watch(watch, Some(Reason::Expired), RecordId(7));
    server.merge(&pod_key(), json!({"metadata": {"labels": {"a": "1"}}})).unwrap();
    assert_eq!(server.api.reached_end(watch), None, "the create is on its way");
    assert_eq!(server.events(watch).len(), 1);
    let end = server.api.reached_end(watch).unwrap();
    assert_eq!((end.error, end.cause), (Some(Reason::Expired), RecordId(7)));
}

#[test]
fn a_client_that_is_cut_off_misses_what_comes_until_it_has_a_new_watch() {
    let mut server = Server::new();
    let first = server.watch(Kind::Pod, ObjectSelector::everything());
    let from = server.api.truth().revision();
    let age = |server: &Server, id| server.api.oldest_missing(server.api.watch(id).unwrap());
    server.api.detach_watch(first);
    assert_eq!(age(&server, first), None);
    server.second = 3;
    server.create(pod(json!({}))).unwrap();
    let mut idle = Vec::new();
    server.api.idle_watches(Kind::Pod, &mut idle);
    assert_eq!((idle.as_slice(), age(&server, first)), (&[][..], Some(Time(3_000_000_000))));
    // Its answer is lost and it asks again: one watch stays, and replays what was missed.
    for _ in 0..2 {
        let id = server.api.open_watch((0, 0), Kind::Pod, ObjectSelector::everything(), from).unwrap();
        server.api.take_place(id);
        assert_eq!(server.api.watches().map(|watch| watch.id).collect::<Vec<_>>(), [id]);
        assert_eq!(age(&server, id), None, "what is replayed is not missing for ever");
    }
    // A streaming list misses all that until its beginning has arrived.
    let last = server.api.watches().next().unwrap().id;
    server.api.watch_mut(last).unwrap().lost.insert(pod_key(), Time(5));
    let list = server.api.open_watch_list((0, 0), Kind::Pod, ObjectSelector::everything());
    server.api.take_place(list);
    assert_eq!(age(&server, list), Some(Time(5)));
    server.api.watch_mut(list).unwrap().begins();
    assert_eq!(age(&server, list), None);
}

#[test]
fn bookmarks_come_each_minute_and_just_before_the_end() {
    let mut server = Server::new();
    let id = server.watch(Kind::Pod, ObjectSelector::everything());
    let at = |milliseconds: i64| Time(0) + Span::from_milliseconds(milliseconds);
    let watch = server.api.watch_mut(id).unwrap();
    watch.deadline = at(150_300);
    let mut now = at(300);
    let mut bookmarks = Vec::new();
    loop {
        watch.plan_bookmark(now);
        if watch.next_bookmark == Time::FAR_FUTURE {
            break;
        }
        now = watch.next_bookmark;
        bookmarks.push((now - at(0)).as_seconds());
    }
    // 60.3 s is in the second that begins at 60; then 120; 2 s before 150.3 is in second 148.
    assert_eq!(bookmarks, [60.0, 120.0, 148.0]);
}

#[test]
fn a_new_object_of_an_old_name_has_a_uid_of_its_own() {
    let mut server = Server::new();
    let first = server.create(pod(json!({}))).unwrap();
    server.delete(&pod_key(), None).unwrap();
    let second = server.create(pod(json!({}))).unwrap();
    assert_ne!(first.meta().uid, second.meta().uid);
}

#[test]
fn a_long_prefix_is_cut_between_characters() {
    let mut naming = Naming::new(false);
    let mut draws = TestDraws(KeyedDraws { seed: 0, replication: 0 });
    // 57 bytes and a character of two: a cut at 58 would fall into it.
    let prefix = Name::from(format!("{}ü-", "a".repeat(57)));
    let name = naming.next_name(&prefix, &Name::new("default"), &mut draws);
    assert_eq!(name.as_str().len(), 57 + 5);
}

/// Optimistic concurrency, generation, status and finalizers of custom resources.
#[test]
fn custom_resources_are_served() {
    let mut server = Server::new();
    let kind = server.api.kinds.ensure("example.com/v1", "Database", None, true).unwrap();
    let manifest = json!({"apiVersion": "example.com/v1", "kind": "Database",
        "metadata": {"name": "a", "namespace": "default", "finalizers": ["example.com/hold"]},
        "spec": {"size": 3}, "status": {"phase": "Ready"}});
    let object = codec::decode_among(&manifest, &server.api.kinds).unwrap();
    let (key, request) = (object.key(), Request::Create(object));
    assert_eq!(key.kind, kind);
    let created = object_of(server.execute(request)).unwrap();
    let custom = created.as_custom().unwrap();
    assert!(created.meta().generation == 1 && custom.status.is_null(), "a status is given by its own verb only");

    // PUT: without a version 422, with an old one 409; a change of the spec raises the generation, one of labels does not.
    let with_spec = |base: &Object, size: i64| {
        let mut value = codec::encode(base);
        value["spec"]["size"] = json!(size);
        value["status"] = json!({"phase": "Ignored"});
        codec::decode_among(&value, &crate::model::Kinds::of(std::iter::once(kind))).unwrap()
    };
    let mut unconditional = with_spec(&created, 4);
    unconditional.meta_mut().resource_version = Rv(0);
    assert_eq!(reason(server.execute(Request::Update(unconditional))), Reason::Invalid);
    let updated = object_of(server.execute(Request::Update(with_spec(&created, 4)))).unwrap();
    assert_eq!(updated.meta().generation, 2);
    assert!(updated.as_custom().unwrap().status.is_null());
    assert_eq!(reason(server.execute(Request::Update(with_spec(&created, 5)))), Reason::Conflict);
    let labelled = server.merge(&key, json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    assert_eq!(labelled.meta().generation, 2);
    let same = object_of(server.execute(Request::Update(labelled.clone()))).unwrap();
    assert_eq!(same.meta().resource_version, labelled.meta().resource_version, "a write without change writes nothing");

    // PUT of the status leaves the spec alone.
    let mut status = (**with_spec(&labelled, 9).as_custom().unwrap()).clone();
    status.status = Rc::new(json!({"phase": "Ready"}));
    let ready = object_of(server.execute(Request::UpdateStatus(status.into()))).unwrap();
    assert_eq!(ready.as_custom().unwrap().spec()["size"], 4);
    assert_eq!(*ready.as_custom().unwrap().status, json!({"phase": "Ready"}));
    assert_eq!(ready.meta().generation, 2);
    let patched = server.merge(&key, json!({"spec": {"size": 7}, "status": null})).unwrap();
    assert_eq!((patched.meta().generation, &*patched.as_custom().unwrap().status), (3, &json!({"phase": "Ready"})));
    let strategic = Patch::Strategic(Rc::new(json!({"spec": {"size": 8}})));
    let answer = server.execute(Request::Patch { key: key.clone(), patch: strategic });
    assert_eq!(answer.unwrap_err().code(), 415);

    // The finalizer holds it, then lets it go.
    server.delete(&key, None).unwrap();
    assert!(server.api.truth().get(&key).unwrap().meta().is_deleting());
    server.merge(&key, json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(server.api.truth().get(&key).is_none());
    assert_eq!(server.api.truth().kinds().last(), Some(kind));
}

#[test]
fn leases_are_written_over_a_version_only() {
    let mut server = Server::new();
    let spec = json!({"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 0,
        "acquireTime": "2026-01-01T00:00:00.000001Z", "renewTime": "2026-01-01T00:00:02.500000Z"});
    let manifest = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kube-scheduler", "namespace": "kube-system"}, "spec": spec});
    let created = server.create(manifest).unwrap();
    assert_eq!(codec::encode(&created)["spec"], spec, "no transitions are 0, not nothing; times have six decimals");
    let with_version = |version: Rv| {
        let mut lease = created.clone();
        lease.meta_mut().resource_version = version;
        Request::Update(lease)
    };
    let refused = server.execute(with_version(Rv(0))).unwrap_err();
    assert_eq!(
        (refused.reason, refused.message.as_str()),
        (
            Reason::Invalid,
            "leases.coordination.k8s.io \"kube-scheduler\" is invalid: metadata.resourceVersion: Invalid value: 0x0: must \
             be specified for an update"
        )
    );
    let older = Rv(created.meta().resource_version.0 - 1);
    assert_eq!(server.execute(with_version(older)).unwrap_err().reason, Reason::Conflict);
    assert!(server.execute(with_version(created.meta().resource_version)).is_ok());
}

/// What remains of the measured tables.
mod rows {
    use super::*;

    #[test]
    fn a_put_creates_a_lease_and_nothing_else() {
        let mut server = Server::new();
        let lease = decoded(&json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "l", "namespace": "default"}, "spec": {"holderIdentity": "a"}}));
        let created = object_of(server.execute(Request::Update(lease.clone()))).unwrap();
        assert!(!created.meta().uid.is_empty() && created.meta().resource_version == server.api.truth().revision());
        assert_eq!(reason(server.execute(Request::Update(lease))), Reason::Invalid, "now it needs a version");
        assert_eq!(reason(server.execute(Request::Update(decoded(&deployment())))), Reason::NotFound);
        assert_eq!(reason(server.execute(Request::Get(deployment_key()))), Reason::NotFound);
    }

    #[test]
    fn a_binding_needs_a_target_and_a_pod_that_stays() {
        let mut server = Server::new();
        let mut held = pod(json!({}));
        held["metadata"]["finalizers"] = json!(["x/y"]);
        let uid = server.create(held).unwrap().meta().uid.clone();
        let bind = |node: &str| Request::Bind { pod: pod_key(), uid: uid.clone(), node: Name::new(node) };
        assert_eq!(server.execute(bind("")).unwrap_err().code(), 500);
        server.delete(&pod_key(), None).unwrap();
        assert_eq!(reason(server.execute(bind("n1"))), Reason::Conflict, "terminating");
    }

    #[test]
    fn phases_are_not_policed_and_a_put_takes_no_status() {
        let mut server = Server::new();
        let uid = server.create(pod(json!({"nodeName": "n1"}))).unwrap().meta().uid.clone();
        let mut write = |phase| {
            let status = Box::new(PodStatus { phase, ..PodStatus::default() });
            let patch = Patch::PodStatus { uid: uid.clone(), status };
            object_of(server.execute(Request::Patch { key: pod_key(), patch })).unwrap()
        };
        write(PodPhase::Succeeded);
        let running = write(PodPhase::Running);
        assert_eq!(running.as_pod().unwrap().status.phase, PodPhase::Running);
        assert_eq!(running.meta().generation, 1, "a status write raises no generation");
        let mut put = (**running.as_pod().unwrap()).clone();
        put.status.phase = PodPhase::Failed;
        let stored = object_of(server.execute(Request::Update(put.into()))).unwrap();
        assert_eq!(stored, running, "and nothing was committed");
    }

    #[test]
    fn which_kinds_count_generations() {
        let mut server = Server::new();
        server.create(pod(json!({}))).unwrap();
        server.create(deployment()).unwrap();
        let node = server
            .create(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {}}))
            .unwrap();
        let generation = |key: Key| server.api.truth().get(&key).unwrap().meta().generation;
        assert_eq!([generation(pod_key()), generation(deployment_key())], [1, 1]);
        assert_eq!([generation(node.key()), generation(Key::new(Kind::Namespace, "", "default"))], [0, 0]);
        server.delete(&pod_key(), Some(0)).unwrap();
        let scale = Request::Scale { key: deployment_key(), replicas: 7, resource_version: Rv(0) };
        assert_eq!(object_of(server.execute(scale)).unwrap().meta().generation, 2);
    }

    #[test]
    fn objects_of_a_delete_that_nobody_meant_stay() {
        let mut server = Server::new();
        let stored = server.create(deployment()).unwrap();
        let preconditions = |uid: &Name, resource_version| Preconditions { uid: uid.clone(), resource_version };
        let delete = |preconditions| Request::Delete { key: deployment_key(), grace_seconds: None, preconditions };
        let newest = stored.meta().resource_version;
        assert_eq!(reason(server.execute(delete(preconditions(&Name::EMPTY, Rv(newest.0 + 1))))), Reason::Conflict);
        server.execute(delete(preconditions(&stored.meta().uid, newest))).unwrap();
        assert!(server.api.truth().get(&deployment_key()).is_none());
    }

    #[test]
    fn a_list_from_a_cache_has_the_state_of_then() {
        let mut server = Server::new();
        server.second += 10;
        server.create(deployment()).unwrap();
        let first = server.create(pod(json!({}))).unwrap().meta().resource_version;
        server.second += 1;
        server.merge(&pod_key(), json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
        let mut other = pod(json!({}));
        other["metadata"]["name"] = json!("q");
        let second = server.create(other).unwrap().meta().resource_version;
        server.second += 1;
        server.delete(&pod_key(), None).unwrap();
        let list = |seconds: i64| {
            let cached = Time(seconds * 1_000_000_000);
            let (items, version) = server.api.list_from_cache(Kind::Pod, None, &ObjectSelector::everything(), cached);
            let shown = |object: &Object| (object.meta().name.to_string(), !object.meta().labels.is_empty());
            (items.iter().map(shown).collect::<Vec<_>>(), version)
        };
        let (p, q) = (|labelled| ("p".to_string(), labelled), ("q".to_string(), false));
        assert_eq!(list(9), (vec![], Rv(first.0 - 1)));
        assert_eq!(list(10), (vec![p(false)], first));
        assert_eq!(list(11), (vec![p(true), q.clone()], second));
        assert_eq!(list(12), (vec![q], server.api.truth().revision()));
        let lag = Span::from_seconds(5);
        assert_eq!(server.api.cached_at(Kind::Pod, second, lag), Some(Time(16_000_000_000)));
        assert_eq!(server.api.cached_at(Kind::Pod, Rv(1_000), lag), None);
    }
}
