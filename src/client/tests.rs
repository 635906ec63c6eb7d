//! Controllers around a queue, and what fills caches.

use std::collections::VecDeque;

use super::controller::QueueController;
use super::fifo::{EntryType, Shape};
use super::informers::Informers;
use super::queue_settings::{HandlerAdd, QueueSettings};
use super::reconciler::{Enqueue, Outcome, Reconciler, Step};
use super::reflector::{Failure, Next, StreamEnd};
use super::shared_informer::{Informer, InformerSettings};
use crate::component::{Change, Component, Context, Delta, Draws, Effect, Input, Outbox, Purpose, Sensors, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::api::ObjectSelector;
use crate::model::record::Detail;
use crate::model::{
    Action, Answer, ApiResult, Distribution, Key, Kind, Meta, Name, Namespace, Object, OwnerReference, RecordId,
    Request, Rv, Span, Time, Uid,
};

const WAKE: u64 = 0;
const DELAYED: u64 = 1;

/// Enqueues and reconciles as a list says.
#[derive(Clone, Default)]
struct Scripted {
    adds: VecDeque<Enqueue>,
    outcomes: VecDeque<Outcome>,
    calls_first: bool,
    begun: Vec<Key>,
    max_retries: Option<u32>,
}

impl Scripted {
    fn next(&mut self) -> Step<()> {
        Step::Finish(self.outcomes.pop_front().unwrap_or(Outcome::DONE))
    }
}

impl Reconciler for Scripted {
    type State = ();

    fn name(&self) -> &'static str {
        "scripted"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        Vec::new()
    }

    fn observe(&mut self, _delta: &Delta, _ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        keys.extend(self.adds.pop_front());
    }

    fn begin(&mut self, key: &Key, _ctx: &mut Context<'_>) -> Step<()> {
        self.begun.push(key.clone());
        if self.calls_first {
            return Step::Call { requests: vec![Request::Get(key.clone())], state: () };
        }
        self.next()
    }

    fn resume(&mut self, _key: &Key, _state: (), _replies: Vec<ApiResult>, _ctx: &mut Context<'_>) -> Step<()> {
        self.next()
    }

    fn max_retries(&self) -> Option<u32> {
        self.max_retries
    }
}

struct NoDraws;

impl Draws for NoDraws {
    fn bits(&mut self, _purpose: Purpose, _entity: u64, _occurrence: u64) -> u64 {
        0
    }
}

struct NoSensors;

impl Sensors for NoSensors {
    fn has_image(&self, _node: &Name, _image: &Name) -> bool {
        false
    }

    fn running_since(&self, _uid: &Uid, _container: u32) -> Option<Time> {
        None
    }
}

/// A controller, its pending timers, and all it has recorded.
struct Rig {
    controller: QueueController<Scripted>,
    now: Time,
    next_record: u64,
    timers: Vec<(u64, Time, Nature)>,
    records: Vec<(Action, Detail)>,
    requests: Vec<u64>,
}

impl Rig {
    fn new(reconciler: Scripted) -> Rig {
        Rig::with(reconciler, QueueSettings::in_tree(1, Distribution::ZERO))
    }

    fn with(reconciler: Scripted, settings: QueueSettings) -> Rig {
        Rig {
            controller: QueueController::new(reconciler, settings, Time(0)),
            now: Time(0),
            next_record: 1,
            timers: Vec::new(),
            records: Vec::new(),
            requests: Vec::new(),
        }
    }

    fn give(&mut self, input: Input) {
        let mut out = Outbox::new(RecordId(0), self.next_record);
        let informers = Informers::new();
        let mut context =
            Context { now: self.now, informers: &informers, sensors: &NoSensors, draws: &mut NoDraws, out: &mut out };
        self.controller.handle(input, &mut context);
        self.next_record = out.next_record();
        self.records.extend(out.records.into_iter().map(|record| (record.action, record.detail)));
        for (_, effect) in out.effects {
            match effect {
                Effect::SetTimer { token, at, nature, .. } => {
                    self.timers.retain(|timer| timer.0 != token);
                    self.timers.push((token, at, nature));
                }
                Effect::ClearTimer { token } => self.timers.retain(|timer| timer.0 != token),
                Effect::Request { token, .. } => self.requests.push(token),
                _ => {}
            }
        }
    }

    fn observe(&mut self) {
        self.observe_change(Change::Added(object("x", 1)), false);
    }

    fn observe_change(&mut self, change: Change, is_initial: bool) {
        self.give(Input::Delta(Delta { change, is_resync: false, is_initial }));
    }

    /// Fires a pending timer; returns its instant and nature.
    fn fire(&mut self, token: u64) -> (Time, Nature) {
        let index = self.timers.iter().position(|timer| timer.0 == token).expect("the timer is pending");
        let (_, at, nature) = self.timers.remove(index);
        self.now = at;
        self.give(Input::Timer { token });
        (at, nature)
    }

    fn actions(&self) -> Vec<Action> {
        self.records.iter().map(|(action, _)| *action).collect()
    }
}

fn key(name: &str) -> Key {
    Key::new(Kind::Namespace, "", name)
}

fn object(name: &str, version: u64) -> Object {
    let meta = Meta { resource_version: Rv(version), ..Meta::named("", name) };
    Namespace { meta, terminating: false, source: None }.into()
}

fn milliseconds(ms: i64) -> Time {
    Time(ms * 1_000_000)
}

#[test]
fn adds_before_a_worker_comes_are_one_reconcile() {
    let adds = VecDeque::from([Enqueue::Now(key("a")), Enqueue::Now(key("b")), Enqueue::Now(key("a"))]);
    let mut rig = Rig::new(Scripted { adds, ..Scripted::default() });
    for _ in 0..3 {
        rig.observe();
    }
    assert!(rig.timers.is_empty(), "no worker runs before the caches are synced");
    assert_eq!(rig.actions(), [Action::Enqueue, Action::Enqueue, Action::Coalesced]);
    assert_eq!(rig.records[2].1, Detail::Record("first added by", RecordId(1)));
    rig.give(Input::Start);
    rig.fire(WAKE);
    assert_eq!(rig.controller.reconciler().begun, [key("a"), key("b")]);
    assert!(rig.controller.is_idle());
}

#[test]
fn a_key_added_while_a_worker_holds_it_comes_again() {
    let adds = VecDeque::from([Enqueue::Now(key("a")), Enqueue::Now(key("a"))]);
    let mut rig = Rig::new(Scripted { adds, calls_first: true, ..Scripted::default() });
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    rig.observe();
    assert_eq!(rig.records.last().unwrap().1, Detail::Words("a worker holds it"));
    assert_eq!(rig.controller.reconciler().begun.len(), 1);
    // The worker that is done takes it again at once, without a new wake.
    rig.give(Input::Reply { token: rig.requests[0], result: Ok(Answer::Done(Rv(0))) });
    assert_eq!(rig.controller.reconciler().begun.len(), 2);
    assert!(rig.timers.is_empty());
}

#[test]
fn failures_are_retried_with_growing_delays_that_do_not_keep_a_run_going() {
    let outcomes = VecDeque::from([Outcome::error("one"), Outcome::error("two"), Outcome::error("three")]);
    let adds = VecDeque::from([Enqueue::Now(key("a")), Enqueue::Now(key("a"))]);
    let mut rig = Rig::new(Scripted { adds, outcomes, ..Scripted::default() });
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    // 5 ms x 2^n after each failure: 5, then 5 + 10, then 15 + 20.
    for due_ms in [5, 15, 35] {
        assert_eq!(rig.fire(DELAYED), (milliseconds(due_ms), Nature::Backoff));
        rig.fire(WAKE);
    }
    assert!(rig.timers.is_empty() && rig.controller.is_idle());
    // A success forgets the failures.
    rig.controller.reconciler_mut().outcomes.push_back(Outcome::error("again"));
    rig.observe();
    rig.fire(WAKE);
    assert_eq!(rig.fire(DELAYED).0, milliseconds(40));
}

#[test]
fn a_key_that_fails_too_often_is_dropped() {
    let outcomes = VecDeque::from([Outcome::error("one"), Outcome::error("two")]);
    let adds = VecDeque::from([Enqueue::Now(key("a"))]);
    let mut rig = Rig::new(Scripted { adds, outcomes, max_retries: Some(1), ..Scripted::default() });
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    rig.fire(DELAYED);
    rig.fire(WAKE);
    assert!(rig.timers.is_empty(), "the second failure is not retried");
}

#[test]
fn a_planned_look_keeps_a_run_going_until_it_is_due() {
    let later = Outcome::Done { requeue_after: Some(Span::from_seconds(1)) };
    let adds = VecDeque::from([Enqueue::Now(key("a"))]);
    let mut rig = Rig::new(Scripted { adds, outcomes: VecDeque::from([later]), ..Scripted::default() });
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    assert_eq!(rig.fire(DELAYED), (milliseconds(1_000), Nature::Work));
    rig.fire(WAKE);
    assert!(rig.timers.is_empty());
    assert_eq!(rig.controller.reconciler().begun.len(), 2);
}

#[test]
fn a_look_planned_for_now_leaves_later_retries_mere_back_off() {
    let outcomes = VecDeque::from([Outcome::error("fails")]);
    let adds = VecDeque::from([Enqueue::After(key("a"), Span::ZERO)]);
    let mut rig = Rig::new(Scripted { adds, outcomes, ..Scripted::default() });
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    assert_eq!(rig.fire(DELAYED), (milliseconds(5), Nature::Backoff));
}

fn controller_runtime() -> QueueSettings {
    QueueSettings::controller_runtime(1, Distribution::ZERO)
}

#[test]
fn a_controller_of_controller_runtime_works_news_before_what_it_lists() {
    let adds = ["listed", "same", "new"].map(|name| Enqueue::Now(key(name)));
    let reconciler = Scripted { adds: VecDeque::from(adds), ..Scripted::default() };
    let mut rig = Rig::with(reconciler, controller_runtime());
    rig.observe_change(Change::Added(object("x", 1)), true);
    rig.observe_change(Change::Updated { old: object("x", 1), new: object("x", 1) }, false);
    rig.observe_change(Change::Updated { old: object("x", 1), new: object("x", 2) }, false);
    rig.give(Input::Start);
    rig.fire(WAKE);
    assert_eq!(rig.controller.reconciler().begun, ["new", "listed", "same"].map(key));
}

#[test]
fn a_retry_keeps_its_low_priority() {
    let mut reconciler = Scripted { outcomes: VecDeque::from([Outcome::error("fails")]), ..Scripted::default() };
    reconciler.adds.extend(["a", "b"].map(|name| Enqueue::Now(key(name))));
    let mut rig = Rig::with(reconciler, controller_runtime());
    rig.give(Input::Start);
    rig.observe_change(Change::Added(object("x", 1)), true);
    rig.fire(WAKE);
    // At 5 ms the retry of "a" and, in the same instant before a worker comes, "b" with a normal priority.
    rig.fire(DELAYED);
    rig.observe();
    rig.fire(WAKE);
    assert_eq!(rig.controller.reconciler().begun, ["a", "b", "a"].map(key));
}

#[test]
fn a_later_look_forgets_failures_and_an_error_hides_it() {
    let second = Some(Span::from_seconds(1));
    let outcomes = [
        Outcome::error("fails"),
        Outcome::Error { requeue_after: second, message: "hides the later look".into() },
        Outcome::Done { requeue_after: second },
        Outcome::error("counts anew"),
    ];
    let mut reconciler = Scripted { outcomes: VecDeque::from(outcomes), ..Scripted::default() };
    reconciler.adds.push_back(Enqueue::Now(key("a")));
    let mut rig = Rig::with(reconciler, controller_runtime());
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    // 5 ms, then 10 ms more, then the look 1 s later, and then 5 ms again: at 5, 15, 1015 and 1020 ms.
    for (due_ms, nature) in
        [(5, Nature::Backoff), (15, Nature::Backoff), (1_015, Nature::Work), (1_020, Nature::Backoff)]
    {
        assert_eq!(rig.fire(DELAYED), (milliseconds(due_ms), nature));
        assert!(rig.timers.iter().all(|timer| timer.0 == WAKE), "one key waits at a time");
        rig.fire(WAKE);
    }
}

#[test]
fn a_terminal_error_is_dropped() {
    let outcomes = [Outcome::TerminalError { message: "in vain".into() }, Outcome::error("once more")];
    let mut reconciler = Scripted { outcomes: VecDeque::from(outcomes), ..Scripted::default() };
    reconciler.adds.extend([Enqueue::Now(key("a")), Enqueue::Now(key("a"))]);
    let mut rig = Rig::with(reconciler, controller_runtime());
    rig.give(Input::Start);
    rig.observe();
    rig.fire(WAKE);
    assert!(rig.timers.is_empty() && rig.controller.is_idle());
    rig.observe();
    rig.fire(WAKE);
    assert_eq!(rig.fire(DELAYED).0, milliseconds(5));
}

#[test]
fn a_direct_add_absorbs_a_planned_look_in_the_priority_queue_only() {
    for (settings, begun) in [(controller_runtime(), 1), (QueueSettings::in_tree(1, Distribution::ZERO), 2)] {
        let adds = [Enqueue::After(key("a"), Span::from_seconds(9)), Enqueue::Now(key("a"))];
        let mut rig = Rig::with(Scripted { adds: VecDeque::from(adds), ..Scripted::default() }, settings);
        rig.give(Input::Start);
        rig.observe();
        rig.observe();
        rig.fire(WAKE);
        while let Some(timer) = rig.timers.first().map(|timer| timer.0) {
            rig.fire(timer);
        }
        assert_eq!(rig.controller.reconciler().begun.len(), begun);
    }
}

#[test]
fn handlers_that_add_through_the_limiter_wait_for_its_tokens() {
    let adds = (0..103).map(|number| Enqueue::Now(key(&format!("key-{number}"))));
    let settings =
        QueueSettings { handler_add: HandlerAdd::RateLimited, ..QueueSettings::in_tree(1, Distribution::ZERO) };
    let mut rig = Rig::with(Scripted { adds: adds.collect(), ..Scripted::default() }, settings);
    rig.give(Input::Start);
    for _ in 0..103 {
        rig.observe();
    }
    // The burst of 100 waits for the first delay of 5 ms only; then one key in 100 ms.
    for due_ms in [5, 100, 200, 300] {
        assert_eq!(rig.fire(DELAYED), (milliseconds(due_ms), Nature::Work));
        rig.fire(WAKE);
    }
    assert_eq!(rig.controller.reconciler().begun.len(), 103);
}

fn informers() -> Informers {
    let mut informers = Informers::new();
    informers.ensure(Kind::Namespace, &ObjectSelector::everything());
    informers
}

/// A change as text: `add a@1`, `update a@1->2`, `delete a@3`, `tombstone a@1`.
fn text(change: &Change) -> String {
    let version = |object: &Object| format!("{}@{}", object.meta().name, object.meta().resource_version.0);
    match change {
        Change::Added(object) => format!("add {}", version(object)),
        Change::Updated { old, new } => format!("update {}->{}", version(old), new.meta().resource_version.0),
        Change::Deleted { last, tombstone: false } => format!("delete {}", version(last)),
        Change::Deleted { last, tombstone: true } => format!("tombstone {}", version(last)),
    }
}

/// What the handlers are told of all that is queued.
fn told(informer: &mut Informer) -> Vec<String> {
    std::iter::from_fn(|| informer.next_call()).map(|call| text(&call.delta.change)).collect()
}

/// An informer of 1.36 with its first list and an open stream.
fn streaming(items: Vec<Object>, version: u64) -> Informer {
    streaming_with(Shape::RealAtomic, items, version)
}

fn streaming_with(shape: Shape, items: Vec<Object>, version: u64) -> Informer {
    let settings = InformerSettings { shape, resync: Span::from_seconds(10), ..InformerSettings::default() };
    let mut informer = Informer::new(Kind::Namespace, ObjectSelector::everything(), settings);
    informer.add_handler(0, settings.resync, Time(0));
    informer.start(Time(0), &mut NoDraws);
    informer.opened(Time(0), Ok(()), &mut NoDraws);
    for item in items {
        informer.stream_event(EntryType::Added, item);
    }
    informer.bookmark(Time(0), Rv(version), true);
    informer
}

#[test]
fn a_list_gives_tombstones_first_then_updates_and_adds() {
    let mut informer = streaming(vec![object("a", 1), object("b", 2), object("c", 3)], 3);
    assert!(!informer.has_synced());
    let first: Vec<_> = std::iter::from_fn(|| informer.next_call()).collect();
    assert!(first.iter().all(|call| call.delta.is_initial) && first.len() == 3 && informer.has_synced());
    let next = informer.ended(Time(0), StreamEnd::Failed(Failure::Expired), &mut NoDraws);
    // 0.8 s with a draw of 0, then everything anew.
    assert_eq!(next, Next::Wait(Span::from_milliseconds(800)));
    informer.timer(milliseconds(800), &mut NoDraws);
    informer.opened(milliseconds(800), Ok(()), &mut NoDraws);
    for item in [object("b", 2), object("c", 5), object("d", 6)] {
        informer.stream_event(EntryType::Added, item);
    }
    assert_eq!(informer.last_rv(), Rv(3), "the beginning of a list counts when it is complete");
    informer.bookmark(milliseconds(800), Rv(6), true);
    assert_eq!(told(&mut informer), ["tombstone a@1", "update b@2->2", "update c@3->5", "add d@6"]);
    assert_eq!((informer.last_rv(), informer.cache.len()), (Rv(6), 3));
}

#[test]
fn watch_events_change_the_cache_and_move_the_version() {
    let mut informer = streaming(Vec::new(), 0);
    informer.stream_event(EntryType::Added, object("a", 1));
    informer.stream_event(EntryType::Updated, object("a", 2));
    assert_eq!(told(&mut informer), ["add a@1", "update a@1->2"]);
    informer.stream_event(EntryType::Deleted, object("a", 3));
    // Its ADDED was lost: handlers hear of the deletion all the same (inf-rnd-054 of the recordings).
    informer.stream_event(EntryType::Deleted, object("b", 4));
    assert_eq!(told(&mut informer), ["delete a@3", "delete b@4"]);
    assert_eq!((informer.last_rv(), informer.cache.is_empty()), (Rv(4), true));
}

#[test]
fn queues_differ_in_what_they_merge() {
    let told_by = |shape: Shape| {
        let mut informer = streaming_with(shape, vec![object("a", 1), object("c", 2)], 2);
        told(&mut informer);
        // Queued, and taken only afterwards: c, a, an unknown b, c again, a resync.
        informer.stream_event(EntryType::Updated, object("c", 3));
        informer.stream_event(EntryType::Updated, object("a", 4));
        informer.stream_event(EntryType::Deleted, object("b", 5));
        informer.stream_event(EntryType::Updated, object("c", 6));
        informer.resync(milliseconds(10_000));
        told(&mut informer)
    };
    // By key, in order of each key's first; nothing is said of the deletion of what was never held.
    assert_eq!(told_by(Shape::Delta), ["update c@2->3", "update c@3->6", "update a@1->4"]);
    // In order; a resync leaves out what is queued, which is everything.
    let in_order = ["update c@2->3", "update a@1->4", "delete b@5", "update c@3->6"];
    assert_eq!(told_by(Shape::Real), in_order);
    // A resync names everything there is when its turn comes.
    assert_eq!(told_by(Shape::RealAtomic), [&in_order[..], &["update a@4->4", "update c@6->6"]].concat());
}

#[test]
fn a_resync_goes_through_the_cache_in_order_of_names() {
    let mut informer = streaming(vec![object("b", 1), object("a", 2), object("c", 3)], 3);
    told(&mut informer);
    informer.stream_event(EntryType::Deleted, object("a", 4));
    informer.stream_event(EntryType::Added, object("a", 5));
    told(&mut informer);
    for second in [10_000, 20_000] {
        informer.resync(milliseconds(second));
        // An event that comes meanwhile waits for the end of the resync.
        assert_eq!(text(&informer.next_call().unwrap().delta.change), "update a@5->5");
        informer.stream_event(EntryType::Updated, object("b", 1));
        assert_eq!(told(&mut informer), ["update b@1->1", "update c@3->3", "update b@1->1"]);
        assert_eq!(informer.reflector().next_resync(), Some(milliseconds(second + 10_000)));
    }
}

#[test]
fn the_index_of_controllers_follows_the_owner() {
    let owned = |uid: &str| {
        let owner = OwnerReference {
            kind: Some(Kind::ReplicaSet),
            foreign_kind: Name::EMPTY,
            name: Name::new("web"),
            uid: Name::new(uid),
            controller: true,
            block_owner_deletion: true,
        };
        let mut object = object("a", 1);
        object.meta_mut().owners = Some([owner].into());
        object
    };
    let mut informers = informers();
    let count = |informers: &Informers, uid: &str| informers.controlled_by(Kind::Namespace, &Name::new(uid)).count();
    for (object, expected) in [(owned("u1"), [1, 0, 0]), (owned("u2"), [0, 1, 0]), (object("a", 2), [0, 0, 1])] {
        informers.get_informer_mut(Kind::Namespace).unwrap().cache.insert(object);
        assert_eq!(["u1", "u2", ""].map(|uid| count(&informers, uid)), expected);
    }
    informers.get_informer_mut(Kind::Namespace).unwrap().cache.remove(&key("a"));
    assert_eq!(count(&informers, ""), 0);
}
