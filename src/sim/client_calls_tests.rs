//! Answers that clients try again, and calls that end too late, in a small world without latencies.

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::json;

use super::event::Event;
use super::plan::{Plan, RateLimit};
use super::{World, lockstep};
use crate::engine::calendar::Nature;
use crate::model::api::Reason;
use crate::model::{Action, ApiError, Kind, Record, Span, Time};

const CONTROLLERS: &str = "kube-controller-manager";

/// Somebody scales a ReplicaSet at 0 s.
fn plan(replicas: u32) -> Plan {
    let case = json!({
        "case": "small", "controllers": ["replicaset"], "until": 100,
        "objects": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "web"}}, "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}}],
        "steps": [{"t": 0, "op": "patch", "kind": "ReplicaSet", "name": "web", "patch": {"spec": {"replicas": replicas}}}],
    });
    lockstep::plan_of_controller_case(&case).expect("a plan")
}

/// What the server does with a POST of a pod.
#[derive(Clone)]
enum Answer {
    Refuse(ApiError),
    Never,
}

fn refuse(reason: Reason, retry_after_seconds: Option<u32>) -> Answer {
    Answer::Refuse(ApiError { retry_after_seconds, ..ApiError::new(reason, "no") })
}

/// Runs for 60 s; the first POSTs of pods are answered by the script.
fn run(plan: Plan, script: impl IntoIterator<Item = Answer>) -> (World, Vec<Record>) {
    let until = plan.start_at + Span::from_seconds(60);
    let mut script: VecDeque<Answer> = script.into_iter().collect();
    let mut world = World::new(Arc::new(plan)).expect("the objects can exist");
    let mut records = Vec::new();
    while world.calendar.peek_time().is_some_and(|next| next <= until) {
        let (now, event) = world.calendar.pop().expect("there is a next event");
        match event {
            Event::RequestArrives(id) if is_pod_create(&mut world, id) && !script.is_empty() => {
                if let Some(Answer::Refuse(error)) = script.pop_front() {
                    world.requests.get_mut(id).result = Some(Err(error));
                    world.calendar.schedule(now, Nature::Work, Event::ReplyArrives(id));
                }
            }
            event => world.happens(event),
        }
        records.append(&mut world.fresh);
    }
    (world, records)
}

fn is_pod_create(world: &mut World, id: super::event::RequestId) -> bool {
    let request = &world.requests.get_mut(id).request;
    request.verb() == "POST" && request.kind() == Kind::Pod
}

/// Millisecond and words of each record with this action of the controllers, but for Kubernetes Events.
fn rows(world: &World, records: &[Record], action: Action) -> Vec<(i64, String)> {
    let is_event = |record: &Record| record.key.as_ref().is_some_and(|key| key.kind == Kind::Event);
    let of = |record: &&Record| record.action == action && record.process == CONTROLLERS && !is_event(record);
    let start = world.plan().start_at;
    let row = |record: &Record| ((record.time - start).0 / 1_000_000, record.detail.to_string());
    records.iter().filter(of).map(row).collect()
}

fn row(at_ms: i64, detail: &str) -> (i64, String) {
    (at_ms, detail.to_string())
}

fn answers(world: &World, method: &'static str, code: u16) -> u64 {
    let process = world.processes().iter().find(|process| process.name == CONTROLLERS).unwrap();
    process.client_requests.get(&(method, code)).copied().unwrap_or(0)
}

#[test]
fn a_busy_server_is_asked_again_when_it_says_so() {
    let busy = |seconds| refuse(Reason::TooManyRequests, Some(seconds));
    let (world, records) = run(plan(1), [busy(1), busy(2)]);
    let retries = rows(&world, &records, Action::Retry);
    let expected = [row(0, "attempt 2 in 1s: 429 TooManyRequests"), row(1_000, "attempt 3 in 2s: 429 TooManyRequests")];
    assert_eq!(retries, expected);
    assert_eq!(rows(&world, &records, Action::Create), [row(3_000, "attempt 3")]);
    let errors = rows(&world, &records, Action::ReconcileError);
    assert!(errors.iter().all(|(at_ms, _)| *at_ms >= 3_000), "the controller hears of nothing: {errors:?}");
    assert_eq!([429, 201].map(|code| answers(&world, "POST", code)), [2, 2], "a pod, and its Event");
    // Cause by cause: the third attempt, the second retry, the first, the reconcile.
    let of_action = |action: Action| records.iter().filter(move |record| record.action == action);
    let create = of_action(Action::Create).find(|record| record.process == CONTROLLERS).unwrap();
    let second = records.iter().find(|record| record.id == create.cause).unwrap();
    let first = records.iter().find(|record| record.id == second.cause).unwrap();
    assert_eq!((second.action, first.action), (Action::Retry, Action::Retry));
    assert!(of_action(Action::Reconcile).any(|record| record.id == first.cause));
    assert_eq!(create.component, "replicaset");
    assert_eq!(second.component, "replicaset");
}

#[test]
fn a_refusal_without_retry_after_is_the_controllers_affair() {
    let (world, records) = run(plan(1), [refuse(Reason::InternalError, None)]);
    assert!(rows(&world, &records, Action::Retry).is_empty());
    assert!(!rows(&world, &records, Action::ReconcileError).is_empty());
    // It has written the failure into the status, and that change wakes it before the limiter's first 5 ms are over.
    assert_eq!(rows(&world, &records, Action::Create), [row(0, "")]);
}

#[test]
fn a_call_that_gets_no_answer_ends_with_its_time_out() {
    let mut plan = plan(1);
    for process in &mut plan.processes {
        process.request_timeout = Some(Span::from_seconds(5));
    }
    let (world, records) = run(plan, [refuse(Reason::TooManyRequests, Some(2)), Answer::Never]);
    // The wait of 2 s counts: the call ends 5 s after it began, and the controller tries again.
    let expected = [row(0, "attempt 2 in 2s: 429 TooManyRequests"), row(5_000, "given up: context deadline exceeded")];
    assert_eq!(rows(&world, &records, Action::Retry), expected);
    assert_eq!(rows(&world, &records, Action::ReconcileError)[0].0, 5_000);
    assert_eq!(rows(&world, &records, Action::Create), [row(5_000, "")]);
    assert_eq!([429, 0].map(|code| answers(&world, "POST", code)), [1, 1]);
}

#[test]
fn a_retry_waits_for_a_token_as_any_request() {
    let mut plan = plan(3);
    for process in plan.processes.iter_mut().filter(|process| process.name == CONTROLLERS) {
        process.client = Some(RateLimit { qps: 1.0, burst: 2 });
    }
    let (world, records) = run(plan, [refuse(Reason::ServiceUnavailable, Some(0))]);
    // Tokens at 0, 0, 1, 2, ... s: the attempt at 0 is refused and repeated at once; a batch of one, then of two, each
    // pod with its Event: the first Event takes the token of 1 s.
    let creates = rows(&world, &records, Action::Create);
    let held_back = |ms: i64| format!("held back by the client's rate limit for {}", Span::from_milliseconds(ms));
    assert_eq!(creates, [row(0, "attempt 2"), row(2_000, &held_back(2_000)), row(3_000, &held_back(3_000))]);
}

#[test]
fn a_dead_process_tries_nothing_again() {
    let mut world = World::new(Arc::new(plan(1))).expect("the objects can exist");
    let until = world.plan().start_at + Span::from_seconds(60);
    let mut refused_at: Option<Time> = None;
    while world.calendar.peek_time().is_some_and(|next| next <= until) {
        let (now, event) = world.calendar.pop().expect("there is a next event");
        match event {
            Event::RequestArrives(id) if refused_at.is_none() && is_pod_create(&mut world, id) => {
                let error = ApiError { retry_after_seconds: Some(1), ..ApiError::new(Reason::TooManyRequests, "no") };
                world.requests.get_mut(id).result = Some(Err(error));
                world.calendar.schedule(now, Nature::Work, Event::ReplyArrives(id));
                refused_at = Some(now);
            }
            Event::RequestRetries(id) => {
                let process = world.requests.get_mut(id).process;
                world.process_stops(process, crate::model::RecordId(1));
                world.happens(Event::RequestRetries(id));
            }
            event => world.happens(event),
        }
    }
    assert!(refused_at.is_some() && world.is_idle());
    assert_eq!(world.api().truth().iter(Kind::Pod).count(), 0);
}
