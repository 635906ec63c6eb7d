//! Steps of an elector by hand; whole timelines are replayed from recordings in tests/golden.

use super::*;
use crate::component::{Draws, Purpose};
use crate::model::{Name, Span, Time};

const S: i64 = 1_000_000_000;

/// Every draw is one half.
struct Half;

impl Draws for Half {
    fn bits(&mut self, _purpose: Purpose, _entity: u64, _occurrence: u64) -> u64 {
        1 << 63
    }
}

fn at(ns: i64) -> Reading {
    Reading { wall: Time(ns), monotonic: Time(ns) }
}

fn elector(release_on_cancel: bool) -> Elector {
    Elector::new(ElectionSettings { release_on_cancel, ..ElectionSettings::DEFAULT }, Name::new("a"))
}

fn told(elector: &mut Elector, input: Input, now: i64) -> Vec<Output> {
    let mut out = Vec::new();
    elector.handle(input, at(now), &mut Half, &mut out);
    out
}

fn reply(elector: &mut Elector, call: u64, reply: LockReply, now: i64) -> Vec<Output> {
    told(elector, Input::Reply { call, reply }, now)
}

fn record(holder: &str, transitions: i32, renewed: i64) -> ElectionRecord {
    ElectionRecord {
        holder: Name::new(holder),
        lease_duration_seconds: 15,
        acquire_time: Time(0),
        renew_time: Time(renewed),
        transitions,
    }
}

fn found(holder: &str, transitions: i32, renewed: i64) -> LockReply {
    LockReply::Found { record: record(holder, transitions, renewed), resource_version: 7 }
}

/// An elector that leads since instant 10, with its first renewal (call 3) in flight.
fn leader(release_on_cancel: bool) -> Elector {
    let mut elector = elector(release_on_cancel);
    told(&mut elector, Input::Start, 0);
    reply(&mut elector, 1, LockReply::NotFound, 5);
    reply(&mut elector, 2, LockReply::Written { resource_version: 1 }, 10);
    elector
}

fn sent(out: &[Output]) -> Vec<&LockRequest> {
    let requests = out.iter().filter_map(|output| match output {
        Output::Send { request, .. } => Some(request),
        _ => None,
    });
    requests.collect()
}

#[test]
fn the_first_renewal_leaves_with_the_acquisition() {
    let mut elector = elector(false);
    assert_eq!(sent(&told(&mut elector, Input::Start, 0)), [&LockRequest::Get]);
    let out = reply(&mut elector, 1, LockReply::NotFound, 5);
    let own = ElectionRecord { acquire_time: Time(0), ..record("a", 0, 0) };
    assert_eq!(sent(&out), [&LockRequest::Create(own.clone())]);
    let out = reply(&mut elector, 2, LockReply::Written { resource_version: 1 }, 10);
    let renewal = ElectionRecord { renew_time: Time(10), ..own };
    assert_eq!(sent(&out), [&LockRequest::Update { record: renewal, resource_version: 1 }]);
    assert!(out.contains(&Output::Started) && out.contains(&Output::NewLeader(Name::new("a"))));
}

#[test]
fn a_candidate_waits_a_period_and_a_drawn_part_of_one() {
    let mut elector = elector(false);
    told(&mut elector, Input::Start, 0);
    let out = reply(&mut elector, 1, LockReply::Failed, 5);
    // 2 s + 0.5 x 1.2 x 2 s = 3.2 s.
    let wait = Output::SetTimer { timer: Timer::Acquire, after: Span(3_200_000_000) };
    assert!(out.contains(&wait), "{out:?}");
}

#[test]
fn a_lease_ends_by_the_candidates_own_observation() {
    let mut elector = elector(false);
    told(&mut elector, Input::Start, 0);
    // Renewed long ago by its holder's clock: no matter, it was seen now.
    reply(&mut elector, 1, found("b", 4, -3600 * S), 5);
    for (now, call, update) in [(10 * S, 2, false), (15 * S + 5, 3, true)] {
        told(&mut elector, Input::Timer(Timer::Acquire), now);
        let out = reply(&mut elector, call, found("b", 4, -3600 * S), now + 5);
        let requests = sent(&out);
        assert_eq!(!requests.is_empty(), update, "at {now}");
        if let [LockRequest::Update { record, resource_version }] = requests[..] {
            // It took the lease: one more transition, acquired by its own clock at the start of the attempt.
            assert_eq!((record.transitions, record.acquire_time, *resource_version), (5, Time(now), 7));
        }
    }
}

#[test]
fn a_step_of_the_wall_clock_changes_stamps_only() {
    let mut elector = elector(false);
    told(&mut elector, Input::Start, 0);
    reply(&mut elector, 1, found("b", 0, 0), 5);
    let mut out = Vec::new();
    let stepped = Reading { wall: Time(3600 * S), monotonic: Time(3 * S) };
    elector.handle(Input::Timer(Timer::Acquire), stepped, &mut Half, &mut out);
    assert!(sent(&reply(&mut elector, 2, found("b", 0, 0), 3 * S + 5)).is_empty());
}

#[test]
fn one_late_tick_is_kept() {
    let mut elector = leader(false);
    // The renewal hangs: ticks at 2 and 4 s find it in flight, its time-out at 5 s makes the slow path begin.
    for now in [2 * S, 4 * S] {
        assert!(sent(&told(&mut elector, Input::Timer(Timer::Tick), now)).is_empty());
    }
    let out = told(&mut elector, Input::Timer(Timer::Call), 5 * S);
    assert_eq!((out[0].clone(), sent(&out)), (Output::Abandon { call: 3 }, vec![&LockRequest::Get]));
    // That fails too; of the two ticks one is left, and the next attempt begins at once: by the fast path again.
    let out = reply(&mut elector, 4, LockReply::Failed, 5 * S + 5);
    assert!(matches!(sent(&out)[..], [LockRequest::Update { .. }]));
    reply(&mut elector, 5, LockReply::Failed, 5 * S + 10);
    assert!(sent(&reply(&mut elector, 6, LockReply::Failed, 5 * S + 15)).is_empty());
}

#[test]
fn a_late_answer_is_no_answer() {
    let mut elector = leader(false);
    told(&mut elector, Input::Timer(Timer::Call), 5 * S);
    assert!(reply(&mut elector, 3, LockReply::Written { resource_version: 2 }, 6 * S).is_empty());
}

#[test]
fn a_leader_stops_at_its_deadline() {
    let mut elector = leader(false);
    let out = told(&mut elector, Input::Timer(Timer::Deadline), 10 * S);
    assert!(out.contains(&Output::Abandon { call: 3 }));
    assert_eq!(out[out.len() - 2..], [Output::WorkDone, Output::Stopped]);
    assert!(elector.is_stopped() && !elector.works());
    assert!(told(&mut elector, Input::Timer(Timer::Tick), 10 * S).is_empty());
}

#[test]
fn a_cancelled_leader_gives_the_lease_back() {
    let mut elector = leader(true);
    let out = told(&mut elector, Input::Cancel, S);
    assert!(out.contains(&Output::WorkDone) && !out.contains(&Output::Stopped));
    assert_eq!(sent(&out), [&LockRequest::Get]);
    let out = reply(&mut elector, 4, found("a", 0, 0), S + 5);
    let [LockRequest::Update { record, resource_version: 7 }] = sent(&out)[..] else { panic!("{out:?}") };
    assert_eq!((record.holder.as_str(), record.lease_duration_seconds, record.transitions), ("", 1, 0));
    let out = reply(&mut elector, 5, LockReply::Written { resource_version: 8 }, S + 10);
    assert_eq!(out.last(), Some(&Output::Stopped));
}

#[test]
fn a_release_that_meets_a_conflict_gives_up() {
    let mut elector = leader(true);
    told(&mut elector, Input::Cancel, S);
    reply(&mut elector, 4, found("a", 0, 0), S + 5);
    let out = reply(&mut elector, 5, LockReply::Failed, S + 10);
    assert!(sent(&out).is_empty());
    assert_eq!(out.last(), Some(&Output::Stopped));
}

#[test]
fn one_that_never_led_is_told_that_it_stopped() {
    let mut elector = elector(true);
    told(&mut elector, Input::Start, 0);
    let out = told(&mut elector, Input::Cancel, 3);
    assert!(out.contains(&Output::Abandon { call: 1 }) && out.contains(&Output::Stopped));
    assert!(!out.contains(&Output::WorkDone) && sent(&out).is_empty());
}

#[test]
fn one_that_is_cancelled_before_it_begins_stops_when_it_does() {
    let mut elector = elector(true);
    assert!(told(&mut elector, Input::Cancel, 3).is_empty() && !elector.is_stopped());
    let out = told(&mut elector, Input::Start, 5);
    assert!(out.last() == Some(&Output::Stopped) && sent(&out).is_empty() && elector.is_stopped());
}

#[test]
fn another_holder_in_the_lease_ends_no_leadership_before_the_deadline() {
    let mut elector = leader(false);
    reply(&mut elector, 3, LockReply::Failed, 20);
    let out = reply(&mut elector, 4, found("b", 1, 0), 30);
    assert!(!out.contains(&Output::Stopped) && elector.works());
    // The next attempt, a tick later, sees that it does not lead and asks first.
    let out = told(&mut elector, Input::Timer(Timer::Tick), 2 * S);
    assert_eq!(sent(&out), [&LockRequest::Get]);
}

#[test]
fn a_lease_that_was_deleted_is_created_anew() {
    let mut elector = leader(false);
    // The fast path meets no Lease, and so does the Get after it: a new one, without transitions, acquired at the start
    // of this attempt (instant 10).
    let out = reply(&mut elector, 3, LockReply::NotFound, 20);
    assert_eq!(sent(&out), [&LockRequest::Get]);
    let out = reply(&mut elector, 4, LockReply::NotFound, 30);
    let created = ElectionRecord { acquire_time: Time(10), ..record("a", 0, 10) };
    assert_eq!(sent(&out), [&LockRequest::Create(created)]);
    let out = reply(&mut elector, 5, LockReply::Written { resource_version: 1 }, 40);
    assert!(out.contains(&Output::SetTimer { timer: Timer::Round, after: Span(2 * S) }) && elector.works());
    // Somebody else was faster: that attempt has failed, and its leadership goes on until the deadline.
    let mut elector = leader(false);
    reply(&mut elector, 3, LockReply::NotFound, 20);
    reply(&mut elector, 4, LockReply::NotFound, 30);
    let out = reply(&mut elector, 5, LockReply::Failed, 40);
    assert!(out == [Output::ClearTimer(Timer::Call)] && elector.works(), "{out:?}");
}

#[test]
fn a_released_lease_is_taken_at_once_and_the_own_one_is_kept() {
    for (holder, transitions, acquired) in [("", 5, 3), ("a", 4, 0), ("b", -1, 0)] {
        let mut elector = elector(false);
        told(&mut elector, Input::Start, 3);
        let out = reply(&mut elector, 1, found(holder, 4, -3600 * S), 8);
        match sent(&out)[..] {
            // A change of holder is counted and begins now; the same identity coming back changes neither.
            [LockRequest::Update { record, .. }] => {
                let (got, wanted) = ((record.transitions, record.acquire_time), (transitions, Time(acquired)));
                assert_eq!((got, record.holder.as_str()), (wanted, "a"), "{holder}");
            }
            _ => assert_eq!(holder, "b", "only somebody else's lease is left alone"),
        }
    }
}

#[test]
fn the_duration_in_the_lease_counts_not_ones_own() {
    // Seen at 5 ns with a duration of 1 s: over at 1 s + 5 ns, though the candidate's own leases last 15 s.
    for (now, update) in [(S + 4, false), (S + 5, true)] {
        let mut elector = elector(false);
        told(&mut elector, Input::Start, 0);
        let short = || {
            let record = ElectionRecord { lease_duration_seconds: 1, ..record("b", 0, 0) };
            LockReply::Found { record, resource_version: 7 }
        };
        reply(&mut elector, 1, short(), 5);
        told(&mut elector, Input::Timer(Timer::Acquire), now);
        assert_eq!(!sent(&reply(&mut elector, 2, short(), now + 5)).is_empty(), update, "at {now}");
    }
}

#[test]
fn a_lost_reply_is_found_out_by_reading() {
    let mut elector = elector(false);
    told(&mut elector, Input::Start, 0);
    reply(&mut elector, 1, LockReply::NotFound, 5);
    // The Lease was created and nobody told: the call ends after half the renew deadline, the attempt has failed.
    let out = told(&mut elector, Input::Timer(Timer::Call), 5 * S + 5);
    assert!(out.contains(&Output::Abandon { call: 2 }) && !elector.works());
    // A draw of one half: 2 s + 0.5 x 1.2 x 2 s.
    assert!(out.contains(&Output::SetTimer { timer: Timer::Acquire, after: Span(3_200_000_000) }));
    told(&mut elector, Input::Timer(Timer::Acquire), 8 * S);
    let out = reply(&mut elector, 3, found("a", 0, 0), 8 * S + 5);
    // It reads its own name: the acquisition of before is kept, and it leads when this is written.
    let [LockRequest::Update { record, .. }] = sent(&out)[..] else { panic!("{out:?}") };
    assert_eq!((record.transitions, record.acquire_time, record.renew_time), (0, Time(0), Time(8 * S)));
    let out = reply(&mut elector, 4, LockReply::Written { resource_version: 8 }, 8 * S + 10);
    assert!(out.contains(&Output::Started));
}

#[test]
fn times_within_one_second_are_the_same_record() {
    let mut elector = elector(false);
    told(&mut elector, Input::Start, 0);
    reply(&mut elector, 1, found("b", 0, 100), 5);
    // Renewed 0.9 s later, which whole seconds do not show: the lease seen at 5 ns ends at 15 s + 5 ns all the same.
    for (now, call, renewed) in [(10 * S, 2, 900_000_000), (15 * S + 5, 3, 900_000_000)] {
        told(&mut elector, Input::Timer(Timer::Acquire), now);
        let out = reply(&mut elector, call, found("b", 0, renewed), now);
        assert_eq!(sent(&out).is_empty(), call == 2);
    }
}

#[test]
fn leases_are_written_in_whole_seconds() {
    let settings = ElectionSettings { lease_duration: Span(17_900_000_000), ..ElectionSettings::DEFAULT };
    let mut elector = Elector::new(settings, Name::new("a"));
    told(&mut elector, Input::Start, 0);
    let out = reply(&mut elector, 1, LockReply::NotFound, 5);
    let [LockRequest::Create(record)] = sent(&out)[..] else { panic!("{out:?}") };
    assert_eq!(record.lease_duration_seconds, 17);
}

#[test]
fn a_leader_cut_off_cannot_give_the_lease_back() {
    let mut elector = leader(true);
    let out = told(&mut elector, Input::Timer(Timer::Deadline), 10 * S);
    // The work goes on until the attempt to release is over.
    assert!(sent(&out) == [&LockRequest::Get] && !out.contains(&Output::WorkDone));
    let mut hangs = elector.clone();
    let out = reply(&mut elector, 4, LockReply::Failed, 10 * S + 5);
    assert_eq!(out[out.len() - 2..], [Output::WorkDone, Output::Stopped]);
    // Nothing comes: cut by the call's time-out.
    let out = told(&mut hangs, Input::Timer(Timer::Call), 15 * S);
    assert!(out[0] == Output::Abandon { call: 4 } && out.ends_with(&[Output::WorkDone, Output::Stopped]), "{out:?}");
}
