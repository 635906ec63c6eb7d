//! Wake-ups that the real scheduler misses, by version: the pod waits for the five-minute flush though the obstacle is gone.
//!
//! As single runs of the real code had it: the attempt fails at 0.1 s, the event comes at 6 s, the flush is the one of 330 s.

use std::rc::Rc;

use super::{BackoffSettings, Failure, SchedulingQueue};
use crate::model::{Labels, Pod, PodAffinityTerm, RecordId, Selector, Span, Time};
use crate::scheduler::cache::testing::{bound, pod};
use crate::scheduler::framework::{ClusterEvent, Profile, Version, names};

const CAUSE: RecordId = RecordId(1);

fn at(milliseconds: i64) -> Time {
    Time::default() + Span::from_milliseconds(milliseconds)
}

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().fold(Labels::default(), |labels, (key, value)| labels.with(*key, *value))
}

fn term(selects: &[(&str, &str)]) -> PodAffinityTerm {
    PodAffinityTerm {
        selector: Some(Selector::from_labels(&labels(selects))),
        topology_key: "kubernetes.io/hostname".into(),
        ..PodAffinityTerm::default()
    }
}

/// The pod that waits, `app=web`, in namespace `default`.
fn waits() -> Pod {
    let mut pod = pod("waits");
    pod.meta.labels = labels(&[("app", "web")]);
    pod.meta.resource_version = crate::model::Rv(1);
    pod
}

/// A bound pod that repels with these terms.
fn repelling(terms: Vec<PodAffinityTerm>) -> Pod {
    let mut blocker = bound("blocker", "a", 0, 0);
    blocker.meta.labels = labels(&[("app", "web")]);
    Rc::make_mut(&mut blocker.spec).pod_anti_affinity.required = terms;
    blocker
}

/// When the pod, rejected by InterPodAffinity at 0.1 s, can be tried again after the event at 6 s; in seconds.
fn tried_at(version: Version, pod: &Pod, event: impl FnOnce(&mut SchedulingQueue)) -> i64 {
    let profile = Rc::new(Profile::default_profile(version));
    let mut queue = SchedulingQueue::new(profile, BackoffSettings::default());
    queue.add(&Rc::new(pod.clone()), CAUSE, at(100));
    let queued = queue.pop(at(100)).expect("it was added");
    let current = queued.info.pod.clone();
    queue.add_unschedulable(queued, &current, Failure::Rejected(vec![names::INTER_POD_AFFINITY]), CAUSE, at(100));
    event(&mut queue);
    if queue.pop(at(6_000)).is_some() {
        return 6;
    }
    let flush = queue.next_leftover_flush(at(0), at(6_000)).expect("it waits");
    queue.flush_unschedulable_leftover(CAUSE, flush);
    assert!(queue.pop(flush).is_some());
    (flush - at(0)).0 / 1_000_000_000
}

fn deleted(pod: Pod) -> impl FnOnce(&mut SchedulingQueue) {
    move |queue| {
        queue.move_on_event(ClusterEvent::AssignedPodDeleted(Rc::new(pod)), CAUSE, at(6_000));
    }
}

#[test]
fn the_other_pod_that_repels_goes() {
    // 0.1 + 300 = 300.1 s: the flush at 330 s.
    for (version, expected) in [(Version::V1_35, 330), (Version::V1_36, 6)] {
        let blocker = repelling(vec![term(&[("app", "web")])]);
        assert_eq!(tried_at(version, &waits(), deleted(blocker)), expected, "{version:?}");
    }
}

#[test]
fn own_labels_change_so_that_nothing_repels_any_more() {
    for (version, expected) in [(Version::V1_35, 330), (Version::V1_36, 6)] {
        let relabelled = |queue: &mut SchedulingQueue| {
            let (old, mut new) = (Rc::new(waits()), waits());
            new.meta.labels = labels(&[("app", "other")]);
            queue.update(&old, &Rc::new(new), CAUSE, at(6_000));
        };
        assert_eq!(tried_at(version, &waits(), relabelled), expected, "{version:?}");
    }
}

#[test]
fn still_missed_when_only_some_terms_of_the_other_pod_match() {
    for version in [Version::V1_35, Version::V1_36] {
        let blocker = repelling(vec![term(&[("app", "web")]), term(&[("app", "db")])]);
        assert_eq!(tried_at(version, &waits(), deleted(blocker)), 330, "{version:?}");
    }
}

#[test]
fn still_missed_when_the_other_pod_selects_namespaces_by_label() {
    for version in [Version::V1_35, Version::V1_36] {
        let by_label = Selector::from_labels(&labels(&[("team", "a")]));
        let blocker =
            repelling(vec![PodAffinityTerm { namespace_selector: Some(by_label), ..term(&[("app", "web")]) }]);
        assert_eq!(tried_at(version, &waits(), deleted(blocker)), 330, "{version:?}");
    }
}

#[test]
fn still_missed_when_only_one_of_the_own_terms_matches() {
    for version in [Version::V1_35, Version::V1_36] {
        let mut own = waits();
        Rc::make_mut(&mut own.spec).pod_anti_affinity.required = vec![term(&[("app", "web")]), term(&[("app", "db")])];
        let mut other = bound("other", "a", 0, 0);
        other.meta.labels = labels(&[("app", "web")]);
        assert_eq!(tried_at(version, &own, deleted(other)), 330, "{version:?}");
    }
}

#[test]
fn still_missed_when_the_last_peer_goes_and_the_pod_could_be_the_first() {
    for version in [Version::V1_35, Version::V1_36] {
        let mut own = waits();
        Rc::make_mut(&mut own.spec).pod_affinity.required = vec![term(&[("app", "web")])];
        let mut peer = bound("peer", "unusable", 0, 0);
        peer.meta.labels = labels(&[("app", "web")]);
        assert_eq!(tried_at(version, &own, deleted(peer)), 330, "{version:?}");
    }
}

#[test]
fn a_pod_that_is_only_nominated_counts_since_1_36() {
    for (version, expected) in [(Version::V1_35, 330), (Version::V1_36, 6)] {
        let mut blocker = repelling(vec![term(&[("app", "web")])]);
        blocker.status.nominated_node_name = std::mem::take(&mut blocker.node_name);
        assert_eq!(tried_at(version, &waits(), deleted(blocker)), expected, "{version:?}");
    }
}

#[test]
fn the_same_name_queued_again_during_an_attempt_stays() {
    let profile = Rc::new(Profile::default_profile(Version::V1_36));
    let mut queue = SchedulingQueue::new(profile, BackoffSettings::default());
    queue.add(&Rc::new(waits()), CAUSE, at(0));
    let queued = queue.pop(at(0)).expect("it was added");
    let mut again = waits();
    again.meta.uid = "another".into();
    queue.add(&Rc::new(again), CAUSE, at(1));
    let old = queued.info.pod.clone();
    let rejected = Failure::Rejected(vec![names::NODE_RESOURCES_FIT]);
    assert_eq!(queue.add_unschedulable(queued, &old, rejected, CAUSE, at(2)), super::Place::Active);
    let next = queue.pop(at(2)).expect("the new one");
    assert_eq!((next.uid().as_str(), next.attempts, queue.unschedulable_len()), ("another", 1, 0));
}
