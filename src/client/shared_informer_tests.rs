//! What handlers are told, and what a queue behind them makes of it, in cases that no recording has.

use super::fifo::EntryType;
use super::reflector::{Failure, StreamEnd};
use super::shared_informer::{Informer, InformerSettings};
use super::workqueue::{Added, Got, RateLimiter, RateLimitingQueue};
use crate::component::{Change, Draws, Purpose};
use crate::model::api::ObjectSelector;
use crate::model::{Kind, Meta, Name, Namespace, Object, RecordId, Rv, Span, Time};

struct NoDraws;

impl Draws for NoDraws {
    fn bits(&mut self, _purpose: Purpose, _entity: u64, _occurrence: u64) -> u64 {
        0
    }
}

fn object(name: &str, version: u64) -> Object {
    let meta = Meta { resource_version: Rv(version), ..Meta::named("", name) };
    Namespace { meta, terminating: false, source: None }.into()
}

fn seconds(seconds: i64) -> Time {
    Time(0) + Span::from_seconds(seconds)
}

/// An informer with one handler that resyncs every 10 s; its stream is open and has brought `items`.
fn streaming(items: &[(&str, u64)], version: u64) -> Informer {
    let settings = InformerSettings { resync: Span::from_seconds(10), ..InformerSettings::default() };
    let mut informer = Informer::new(Kind::Namespace, ObjectSelector::everything(), settings);
    informer.add_handler(0, settings.resync, Time(0));
    informer.start(Time(0), &mut NoDraws);
    stream_begins(&mut informer, Time(0), items, version);
    informer
}

fn stream_begins(informer: &mut Informer, now: Time, items: &[(&str, u64)], version: u64) {
    informer.opened(now, Ok(()), &mut NoDraws);
    for (name, version) in items {
        informer.stream_event(EntryType::Added, object(name, *version));
    }
    informer.bookmark(now, Rv(version), true);
}

/// `add a@1`, `update a@1->2`, `delete a@3`, `tombstone a@1`.
fn text(change: &Change) -> String {
    let version = |object: &Object| format!("{}@{}", object.meta().name, object.meta().resource_version.0);
    match change {
        Change::Added(object) => format!("add {}", version(object)),
        Change::Updated { old, new } => format!("update {}->{}", version(old), new.meta().resource_version.0),
        Change::Deleted { last, tombstone: false } => format!("delete {}", version(last)),
        Change::Deleted { last, tombstone: true } => format!("tombstone {}", version(last)),
    }
}

fn told(informer: &mut Informer) -> Vec<String> {
    std::iter::from_fn(|| informer.next_call()).map(|call| text(&call.delta.change)).collect()
}

#[test]
fn what_the_stream_says_is_taken_as_what_it_does_to_the_cache() {
    let mut informer = streaming(&[("a", 1)], 1);
    told(&mut informer);
    // ADDED of what is there, MODIFIED and DELETED of what is not, twice the same, and an older version.
    informer.stream_event(EntryType::Added, object("a", 2));
    informer.stream_event(EntryType::Updated, object("b", 3));
    informer.stream_event(EntryType::Deleted, object("c", 4));
    informer.stream_event(EntryType::Deleted, object("c", 4));
    informer.stream_event(EntryType::Updated, object("b", 3));
    informer.stream_event(EntryType::Updated, object("a", 1));
    assert_eq!(
        told(&mut informer),
        ["update a@1->2", "add b@3", "delete c@4", "delete c@4", "update b@3->3", "update a@2->1"]
    );
    // The newest event counts, not the newest version; a bookmark too.
    assert_eq!(informer.last_rv(), Rv(1));
    informer.bookmark(Time(0), Rv(9), false);
    informer.bookmark(Time(0), Rv(5), false);
    assert_eq!((told(&mut informer).len(), informer.last_rv()), (0, Rv(5)));
}

#[test]
fn a_beginning_that_deletes_or_repeats_leaves_what_is_true_at_its_end() {
    let settings = InformerSettings::default();
    let mut informer = Informer::new(Kind::Namespace, ObjectSelector::everything(), settings);
    informer.start(Time(0), &mut NoDraws);
    informer.opened(Time(0), Ok(()), &mut NoDraws);
    for (entry_type, name, version) in [
        (EntryType::Added, "a", 1),
        (EntryType::Added, "b", 2),
        (EntryType::Updated, "a", 3),
        (EntryType::Deleted, "b", 4),
        (EntryType::Deleted, "x", 5),
    ] {
        informer.stream_event(entry_type, object(name, version));
    }
    assert!(!informer.has_synced() && told(&mut informer).is_empty(), "nothing is told before the end");
    informer.bookmark(Time(0), Rv(6), false);
    assert!(told(&mut informer).is_empty(), "a bookmark without the annotation ends nothing");
    informer.bookmark(Time(0), Rv(7), true);
    assert_eq!((told(&mut informer), informer.last_rv()), (vec!["add a@3".to_owned()], Rv(7)));
}

#[test]
fn a_late_handler_alone_is_told_of_the_cache_before_what_follows() {
    let mut informer = streaming(&[("a", 1), ("b", 2)], 2);
    told(&mut informer);
    assert_eq!(informer.add_handler(0, Span::from_seconds(1), seconds(3)), 1);
    informer.stream_event(EntryType::Updated, object("b", 3));
    let calls: Vec<_> = std::iter::from_fn(|| informer.next_call()).collect();
    let of_late = |only: Option<usize>| only.is_none_or(|only| only == 1);
    let late: Vec<_> = calls.iter().filter(|call| of_late(call.only)).map(|call| text(&call.delta.change)).collect();
    assert_eq!(late, ["add a@1", "add b@2", "update b@2->3"]);
    assert_eq!(calls.iter().map(|call| call.delta.is_initial).collect::<Vec<_>>(), [true, true, false]);
    // 1 s is below the 10 s at which it is looked: due at 3 + 10 s on the grid of 10 s, so at 20.
    informer.resync(seconds(10));
    assert_eq!((informer.processor.wants(0, true), informer.processor.wants(1, true)), (true, false));
    informer.resync(seconds(20));
    assert!(informer.processor.wants(1, true));
}

/// Instants at which handlers run, for so many changes at instant 0.
fn runs(busy_for: [i64; 2], changes: usize) -> [Vec<i64>; 2] {
    let mut informer = streaming(&[("a", 1)], 1);
    informer.add_handler(1, Span::ZERO, Time(0));
    told(&mut informer);
    for (handler, busy_for) in busy_for.into_iter().enumerate() {
        informer.processor.set_busy_for(handler, Span::from_seconds(busy_for));
    }
    let mut runs = [Vec::new(), Vec::new()];
    for change in 0..changes {
        informer.stream_event(EntryType::Updated, object("a", 2 + change as u64));
        let call = informer.next_call().unwrap();
        for (handler, runs) in runs.iter_mut().enumerate() {
            let now = informer.processor.offer(handler, call.delta.clone(), RecordId(0), Time(0));
            runs.extend(now.map(|_| 0));
        }
    }
    while let Some((at, handler)) = informer.processor.next_buffered() {
        let (delta, _) = informer.processor.take_buffered(handler, at).unwrap();
        // In order and one by one: the n-th call is of version 2 + n.
        assert_eq!(delta.change.object().meta().resource_version, Rv(2 + runs[handler].len() as u64));
        runs[handler].push(at.0 / 1_000_000_000);
    }
    runs
}

#[test]
fn a_busy_handler_delays_only_itself() {
    // 3 s a call: at 0, 3, 6, 9; the other one is not held up.
    assert_eq!(runs([3, 0], 4), [vec![0, 3, 6, 9], vec![0, 0, 0, 0]]);
    assert_eq!(runs([3, 5], 3), [vec![0, 3, 6], vec![0, 5, 10]]);
    assert_eq!(runs([0, 0], 3), [vec![0; 3], vec![0; 3]]);
}

/// Hands all calls to a queue, as a handler does; what became of each.
fn enqueue(informer: &mut Informer, queue: &mut RateLimitingQueue<Name, u32>, now: Time) -> Vec<Added<u32>> {
    let calls = std::iter::from_fn(|| informer.next_call());
    calls.map(|call| queue.add(call.delta.change.object().meta().name.clone(), now, 0)).collect()
}

/// The last row of the table of losses: after the shutdown of a queue neither the next event nor a resync, a list or
/// another handler brings a key back; the next process has everything from its first list.
#[test]
fn what_comes_after_a_queues_shutdown_is_lost_until_the_process_starts_anew() {
    let new_queue = || RateLimitingQueue::new(RateLimiter::default_controller_item());
    let mut informer = streaming(&[("a", 1)], 1);
    let mut queue = new_queue();
    assert_eq!(enqueue(&mut informer, &mut queue, Time(0)), [Added::Queued]);
    assert!(matches!(queue.get(0, Time(0)), Got::Key(_)));
    queue.shut_down(seconds(1));
    let refused = [Added::Refused];
    informer.stream_event(EntryType::Updated, object("a", 2));
    assert_eq!(enqueue(&mut informer, &mut queue, seconds(2)), refused, "the event");
    informer.stream_event(EntryType::Updated, object("a", 3));
    assert_eq!(enqueue(&mut informer, &mut queue, seconds(3)), refused, "the next event");
    informer.resync(seconds(10));
    assert_eq!(enqueue(&mut informer, &mut queue, seconds(10)), refused, "the resync");
    informer.ended(seconds(11), StreamEnd::Failed(Failure::Expired), &mut NoDraws);
    informer.timer(seconds(12), &mut NoDraws);
    stream_begins(&mut informer, seconds(12), &[("a", 3)], 3);
    assert_eq!(enqueue(&mut informer, &mut queue, seconds(12)), refused, "the list");
    informer.add_handler(1, Span::ZERO, seconds(13));
    assert_eq!(enqueue(&mut informer, &mut queue, seconds(13)), refused, "another handler");
    // The worker finishes the key it held; nobody asks for it again.
    assert!(!queue.done(&Name::new("a"), seconds(14)).requeued);
    assert_eq!((queue.len(), queue.metrics().adds_total, queue.get(0, seconds(14))), (0, 1, Got::Shutdown));
    let mut informer = streaming(&[("a", 3)], 3);
    assert_eq!(enqueue(&mut informer, &mut new_queue(), seconds(20)), [Added::Queued]);
}
