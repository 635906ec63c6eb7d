//! late-reply.yaml: a late answer makes two leaders.

use kubesim::model::Span;
use kubesim::sim::Plan;
use kubesim::sim::plan::End;

use super::common::{plan, run};
use super::failures;

#[test]
fn late_reply_fails_without_the_late_answer_and_without_the_cut() {
    let mut prompt = plan("late-reply", "base");
    prompt.faults.remove(0);
    assert_eq!(failures(prompt).len(), 1, "nobody acts beside another");
    let mut connected = plan("late-reply", "base");
    connected.faults.remove(1);
    assert_eq!(failures(connected).len(), 2, "the old leader stays");
}

#[test]
fn late_reply_fails_with_the_late_answer_in_its_variant() {
    let mut late = plan("late-reply", "prompt");
    late.faults = plan("late-reply", "base").faults;
    assert_eq!(failures(late).len(), 1);
}

/// The real client, recorded 200 times: two leaders in 37 runs, for 1.2 s at most.
#[test]
fn late_reply_makes_two_leaders_as_often_as_recorded() {
    let base = Plan { end: End::After(Span::from_seconds(90)), expectations: Vec::new(), ..plan("late-reply", "base") };
    let mut lengths = Vec::new();
    for replication in 0..200 {
        let world = run(&Plan { replication, ..base.clone() }).world;
        let overlaps = world.leadership().overlaps();
        assert!(overlaps.iter().all(|overlap| overlap.reason == Some("a renewal that was answered late")));
        lengths.extend(overlaps.iter().map(|overlap| (overlap.to.unwrap() - overlap.from).as_seconds()));
    }
    // Two samples of 200 at about 0.2 differ by sqrt(2 x 200 x 0.2 x 0.8) = 8 runs; 2 of these.
    assert!((37 - 16..=37 + 16).contains(&lengths.len()), "{}", lengths.len());
    // 4.5 + 2 + 10 s after the renewal against 15 s after a look at it.
    assert!(lengths.iter().all(|length| *length > 0.0 && *length <= 1.5), "{lengths:?}");
}
