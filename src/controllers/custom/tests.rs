//! What operators decide, and whole reconciles against the scripted double.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::json;

use super::decide::{
    CacheWait, NewChild, cache_wait, child_changes, event_text, exponential, failure, own_backoff, status,
};
use super::*;
use crate::client::reconciler::{Enqueue, Outcome, Reconciler};
use crate::component::{Draws, Purpose};
use crate::controllers::double_for_tests::Script;
use crate::model::api::{ObjectSelector, Reason};
use crate::model::{
    Answer, ApiError, Custom, Deletion, Distribution, Key, Kind, Kinds, Meta, Object, Pod, Request, Rv, Span, Time,
};

fn kinds() -> (Kinds, Kind) {
    let mut kinds = Kinds::default();
    let kind = kinds.ensure("example.com/v1", "Database", None, true).unwrap();
    (kinds, kind)
}

fn settings(requests: Vec<RequestSpec>) -> OperatorSettings {
    OperatorSettings {
        name: "operator",
        kind: kinds().1,
        generation_changed: false,
        requests,
        fails: Vec::new(),
        afterwards: Afterwards::Done,
        error_backoff: None,
        retry_delay: (Span::from_milliseconds(5), Span::from_seconds(1000)),
        expectations: false,
        shutdown: Shutdown { timeout: Span::from_seconds(30), without_cancel: false },
    }
}

fn database(version: u64) -> Custom {
    let Kind::Custom(kind) = kinds().1 else { panic!("a custom kind") };
    Custom {
        kind,
        meta: Meta { uid: "u1".into(), resource_version: Rv(version), generation: 1, ..Meta::named("default", "db") },
        source: Some(Rc::new(json!({"spec": {"replicas": 2}}))),
        status: Rc::new(json!({"old": true})),
    }
}

fn key() -> Key {
    Key::new(kinds().1, "default", "db")
}

fn pods(count: Count, names: ChildNames) -> Children {
    let template = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "labels": {"app": "db"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    Children { kind: Kind::Pod, template: Arc::new(template), count, names, must_go: false, wait_for_cache: None }
}

fn script(settings: OperatorSettings) -> Script<Operator> {
    let mut script = Script::new(Operator::new(Arc::new(settings), Time(0), &kinds().0), Time(0));
    script.informers.ensure(kinds().1, &ObjectSelector::everything());
    script.deliver(database(5));
    script
}

fn pod(name: &str, version: u64) -> Pod {
    let mut script = script(settings(vec![RequestSpec::Children(pods(Count::Fixed(1), ChildNames::Random))]));
    let mut made = None;
    script.reconcile(&key(), |request| {
        if let Request::Create(Object::Pod(pod)) = request {
            made = Some((**pod).clone());
        }
        None
    });
    let mut pod = made.expect("a pod was made");
    pod.meta.name = name.into();
    pod.meta.uid = name.into();
    pod.meta.resource_version = Rv(version);
    pod
}

#[test]
fn delays_double_up_to_the_longest() {
    let (base, max) = (Span::from_milliseconds(5), Span::from_seconds(1000));
    for (failures, milliseconds) in [(0, 5), (1, 10), (8, 1280), (17, 655_360), (18, 1_000_000), (200, 1_000_000)] {
        assert_eq!(exponential(base, max, failures), Span::from_milliseconds(milliseconds), "{failures}");
    }
    // min(500 ms x 2^(errors - 1), 5 min): 500 ms x 2^9 = 256 s, x 2^10 = 512 s.
    let own = ErrorBackoff { base: Span::from_milliseconds(500), max: Span::from_seconds(300) };
    for (errors, milliseconds) in [(1, 500), (2, 1_000), (10, 256_000), (11, 300_000)] {
        assert_eq!(own_backoff(own, errors), Span::from_milliseconds(milliseconds), "{errors}");
    }
    let text = event_text("connection refused", 8, Span::from_milliseconds(1280));
    assert_eq!(text, "connection refused (attempt 8, next retry in 1280ms)");
}

struct Fixed(u64);

impl Draws for Fixed {
    fn bits(&mut self, _: Purpose, _: u64, _: u64) -> u64 {
        self.0
    }
}

#[test]
fn the_first_rule_that_applies_makes_an_attempt_fail() {
    let rule = |object: Option<&str>, probability, from, until: Option<i64>, error: &str| FailureRule {
        object: object.map(str::to_string),
        probability,
        from: Span::from_seconds(from),
        until: until.map(Span::from_seconds),
        error: error.to_string(),
        terminal: false,
    };
    let rules = [
        rule(Some("db"), None, 0, Some(60), "refused"),
        rule(None, None, 100, Some(110), "down"),
        rule(None, Some(0.5), 200, None, "unlucky"),
    ];
    let at = |seconds, bits| {
        failure(&rules, &key(), 1, Span::from_seconds(seconds), &mut Fixed(bits)).map(|rule| rule.error.as_str())
    };
    assert_eq!(at(59, 0), Some("refused"));
    assert_eq!(at(60, 0), None);
    assert_eq!(at(100, 0), Some("down"));
    assert_eq!(at(110, 0), None);
    assert_eq!((at(200, 0), at(200, u64::MAX)), (Some("unlucky"), None));
    let other = Key::new(kinds().1, "default", "other");
    assert!(failure(&rules, &other, 1, Span::ZERO, &mut Fixed(0)).is_none());
}

#[test]
fn children_are_brought_to_their_number() {
    let three: Vec<Object> = ["db-0", "db-3", "db-x"].iter().zip(1..).map(|(name, n)| pod(name, n).into()).collect();
    let three: Vec<&Object> = three.iter().collect();
    let owner = "db".into();
    let named = child_changes(&owner, &three, 2, ChildNames::Deterministic);
    assert_eq!(named.create, [NewChild::Named("db-1".into())]);
    let gone: Vec<&str> = named.delete.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(gone, ["db-3", "db-x"]);
    let random = child_changes(&owner, &three, 5, ChildNames::Random);
    assert_eq!((random.create.len(), random.delete.len()), (2, 0));
    // Of equal age the one that was written last goes first.
    let random = child_changes(&owner, &three, 2, ChildNames::Random);
    assert_eq!(random.delete, [three[2].key()]);
    // One that is on its way out keeps its name, and does not count.
    let mut leaving = pod("db-0", 1);
    leaving.meta.deletion = Some(Deletion { at: Time(0), grace_seconds: 30 });
    let leaving = Object::from(leaving);
    assert!(child_changes(&owner, &[&leaving], 1, ChildNames::Deterministic).create.is_empty());
    assert_eq!(child_changes(&owner, &[&leaving], 1, ChildNames::Random).create.len(), 1);
}

#[test]
fn a_status_is_laid_over_the_old_one() {
    let fields = StatusFields(json!({"phase": "Ready", "at": "$(NOW)"}).as_object().unwrap().clone());
    let written = status(&database(5), &fields, Time(0));
    assert_eq!(written, json!({"old": true, "phase": "Ready", "at": "1970-01-01T00:00:00Z", "observedGeneration": 1}));
}

#[test]
fn requests_follow_each_other() {
    let fields = StatusFields::default();
    let children = pods(Count::SpecField("replicas".into()), ChildNames::Deterministic);
    let requests =
        vec![RequestSpec::Get, RequestSpec::Children(children), RequestSpec::Update, RequestSpec::UpdateStatus(fields)];
    let mut script = script(settings(requests));
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    assert_eq!(
        script.log,
        ["get database/db", "create pod/db-0", "create pod/db-1", "update database/db", "status database/db"]
    );
    // A write works on the answer to the one before: its version is the newest.
    let mut versions = Vec::new();
    script.reconcile(&key(), |request| {
        if let Request::Update(object) | Request::UpdateStatus(object) = request {
            versions.push(object.meta().resource_version.0);
        }
        None
    });
    assert_eq!(versions.len(), 2);
    // Two children and the update itself lie between.
    assert_eq!(versions[0] + 3, versions[1]);
}

#[test]
fn a_list_counts_more_than_the_cache() {
    let children = RequestSpec::Children(pods(Count::Fixed(2), ChildNames::Random));
    let mut script = script(settings(vec![RequestSpec::List(Kind::Pod), children]));
    let items: Vec<Object> = vec![pod("db-a", 7).into(), pod("db-b", 8).into()];
    let answer = |request: &Request| {
        matches!(request, Request::List { .. })
            .then(|| Ok(Answer::List { items: items.clone(), resource_version: Rv(9) }))
    };
    assert_eq!(script.reconcile(&key(), answer), Outcome::DONE);
    assert_eq!(script.log, ["list pod/"], "the cache is empty, the list is not");
}

#[test]
fn without_expectations_children_are_made_twice() {
    for (expectations, second) in [(false, vec!["create pod/db-3", "create pod/db-4"]), (true, vec![])] {
        let children = RequestSpec::Children(pods(Count::Fixed(2), ChildNames::Random));
        let mut script = script(OperatorSettings { expectations, ..settings(vec![children]) });
        script.reconcile(&key(), |_| None);
        script.log.clear();
        script.reconcile(&key(), |_| None);
        assert_eq!(script.log, second, "expectations: {expectations}");
        // Once both are seen it counts again.
        for (number, name) in ["db-1", "db-2"].iter().enumerate() {
            assert_eq!(script.deliver(pod(name, 20 + number as u64)), [Enqueue::Now(key())]);
        }
        script.log.clear();
        script.remove(&Key::new(Kind::Pod, "default", "db-1"));
        script.reconcile(&key(), |_| None);
        assert_eq!(script.log.len(), 1, "expectations: {expectations}: {:?}", script.log);
    }
}

#[test]
fn failures_come_back_as_the_operator_says() {
    let refused = |request: &Request| {
        matches!(request, Request::Get(_)).then(|| Err(ApiError::new(Reason::ServiceUnavailable, "busy")))
    };
    let mut plain = script(settings(vec![RequestSpec::Get]));
    assert_eq!(plain.reconcile(&key(), refused), Outcome::error("busy"));
    let own = ErrorBackoff { base: Span::from_milliseconds(500), max: Span::from_seconds(300) };
    let mut own = script(OperatorSettings { error_backoff: Some(own), ..settings(vec![RequestSpec::Get]) });
    for milliseconds in [500, 1_000, 2_000] {
        let after = Outcome::Done { requeue_after: Some(Span::from_milliseconds(milliseconds)) };
        assert_eq!(own.reconcile(&key(), refused), after);
    }
    own.reconcile(&key(), |_| None);
    let after = Outcome::Done { requeue_after: Some(Span::from_milliseconds(500)) };
    assert_eq!(own.reconcile(&key(), refused), after, "a success ends the row");
    // The object is gone: nothing to do.
    let gone = |request: &Request| Some(Err(ApiError::not_found(&request.key())));
    assert_eq!(plain.reconcile(&key(), gone), Outcome::DONE);
}

#[test]
fn what_follows_a_success_is_what_it_says() {
    let after =
        |afterwards| script(OperatorSettings { afterwards, ..settings(Vec::new()) }).reconcile(&key(), |_| None);
    assert_eq!(after(Afterwards::Requeue), Outcome::Requeue);
    let minute = Span::from_seconds(60);
    let spec = Afterwards::After(Distribution::Constant(minute.0));
    assert_eq!(after(spec), Outcome::Done { requeue_after: Some(minute) });
}

#[test]
fn a_child_on_its_way_out_holds_the_reconcile_up() {
    let children = Children { must_go: true, ..pods(Count::Fixed(1), ChildNames::Deterministic) };
    let mut script = script(settings(vec![RequestSpec::Children(children)]));
    let mut leaving = pod("db-0", 7);
    leaving.meta.deletion = Some(Deletion { at: Time(0), grace_seconds: 30 });
    script.deliver(leaving);
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::error("1 pod is still terminating"));
    assert!(script.log.is_empty());
}

#[test]
fn the_predicate_lets_changes_of_the_generation_through_only() {
    for generation_changed in [false, true] {
        let mut script = script(OperatorSettings { generation_changed, ..settings(Vec::new()) });
        let ignored = if generation_changed { vec![] } else { vec![Enqueue::Now(key())] };
        assert_eq!(script.deliver(database(6)), ignored);
        let mut changed = database(7);
        changed.meta.generation = 2;
        assert_eq!(script.deliver(changed), [Enqueue::Now(key())]);
        assert_eq!(script.remove(&key()), [Enqueue::Now(key())]);
        assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    }
}

#[test]
fn it_watches_its_objects_and_children() {
    let children = RequestSpec::Children(pods(Count::Fixed(1), ChildNames::Random));
    let operator = Operator::new(Arc::new(settings(vec![children])), Time(0), &kinds().0);
    let watched: Vec<Kind> = operator.watches().iter().map(|spec| spec.kind).collect();
    assert_eq!(watched, [kinds().1, Kind::Pod]);
}

#[test]
fn a_wait_for_the_cache_looks_every_100_ms_until_its_time_is_over() {
    let children = vec![key()];
    let patience = Some(Span::from_milliseconds(250));
    let at = |milliseconds| Time(0) + Span::from_milliseconds(milliseconds);
    let (mut unseen, mut deadline) = (children.clone(), None);
    let mut look = |now, seen| cache_wait(&mut unseen, &mut deadline, patience, now, |_| seen);
    // From 0: looks at 0, 100, 200, and, the time being over, 250.
    assert_eq!(look(at(0), false), CacheWait::Poll(Span::from_milliseconds(100)));
    assert_eq!(look(at(100), false), CacheWait::Poll(Span::from_milliseconds(100)));
    assert_eq!(look(at(200), false), CacheWait::Poll(Span::from_milliseconds(50)));
    assert!(matches!(look(at(250), false), CacheWait::TimedOut(text) if text.contains("250ms")));
    assert_eq!(look(at(250), true), CacheWait::Over);
    assert_eq!((unseen.len(), deadline), (0, None));
}

#[test]
fn a_reconcile_that_waits_for_its_cache_fails_when_the_child_does_not_come() {
    let wait = Children { wait_for_cache: Some(Span::from_seconds(6)), ..pods(Count::Fixed(1), ChildNames::Random) };
    let mut script = script(settings(vec![RequestSpec::Children(wait)]));
    let outcome = script.reconcile(&key(), |_| None);
    assert!(matches!(outcome, Outcome::Error { message, .. } if message.starts_with("timed out after 6s")));
    assert_eq!(script.now, Time(0) + Span::from_seconds(6));
}
