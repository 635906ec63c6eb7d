//! How many pods of a group may be taken at once.
//!
//! A round of the updater counts each group of pods (those of one ReplicaSet, StatefulSet ...) anew and asks before each
//! pod. The eviction API has a say of its own afterwards: disruption budgets.
//!
//! Upstream: vertical-pod-autoscaler/pkg/updater/restriction/{pods_restriction_factory,pods_eviction_restriction,
//! pods_inplace_restriction}.go, 1.6. Not modelled: resizes that skip the limits.

use super::spec::{UpdateMode, VpaSpec};
use super::updater::Settings;
use crate::model::Span;

/// How long a resize may be deferred before the pod is evicted instead.
const DEFERRED_FOR: Span = Span::from_seconds(5 * 60);
/// How long it may take.
const IN_PROGRESS_FOR: Span = Span::from_seconds(3600);

/// Where the resize of a pod stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Resize {
    /// Condition PodResizePending, reason Deferred.
    Deferred,
    /// Condition PodResizePending, reason Infeasible.
    Infeasible,
    /// Condition PodResizeInProgress.
    InProgress,
    /// Condition PodResizeInProgress, reason Error.
    Failed,
}

impl Resize {
    /// Whether waiting for it is over, so long after it was asked for.
    fn is_given_up(self, since_asked: Span) -> bool {
        match self {
            Resize::Deferred => since_asked > DEFERRED_FOR,
            Resize::InProgress => since_asked > IN_PROGRESS_FOR,
            Resize::Infeasible | Resize::Failed => true,
        }
    }
}

/// The state of a pod that decides whether it may be taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PodState {
    /// `phase: Pending`.
    pub is_pending: bool,
    /// A resize under way, and how long ago it was asked for.
    pub resize: Option<(Resize, Span)>,
}

/// What is done with a pod that should change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It is resized where it runs.
    Resize,
    /// It is evicted.
    Evict,
    /// Nothing in this round.
    Wait,
}

/// The pods of one owner in one round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// Replicas that the owner wants.
    configured: i64,
    /// Live pods that are not Pending.
    running: i64,
    /// How many may be missing.
    tolerance: i64,
    evicted: i64,
    resized: i64,
}

impl Group {
    /// Counts a group. `None`: it has too few live pods, or its owner wants none, and is left alone.
    ///
    /// `configured` is what the owner wants, for a Job the number of live pods.
    pub fn new(settings: &Settings, spec: &VpaSpec, configured: i64, pods: &[PodState]) -> Option<Group> {
        let live = pods.len() as i64;
        if live < spec.min_replicas.unwrap_or(settings.min_replicas) || configured == 0 {
            return None;
        }
        let pending = pods.iter().filter(|pod| pod.is_pending).count() as i64;
        let tolerance = (configured as f64 * settings.eviction_tolerance) as i64;
        Some(Group { configured, running: live - pending, tolerance, evicted: 0, resized: 0 })
    }

    /// Whether one more pod may be missing.
    fn spares_one(&self) -> bool {
        let alive = self.running - self.evicted - self.resized;
        // A group too small for any tolerance gives one when it is complete.
        let is_first = self.evicted == 0 && self.resized == 0;
        alive > self.configured - self.tolerance || (self.configured == self.running && self.tolerance == 0 && is_first)
    }

    /// Whether a pod may be evicted. Pending pods serve nobody and always may.
    pub fn can_evict(&self, pod: &PodState) -> bool {
        pod.is_pending
            || (self.spares_one() && pod.resize.is_none_or(|(resize, since_asked)| resize.is_given_up(since_asked)))
    }

    /// How a pod that should change may be changed now.
    pub fn way(&self, mode: UpdateMode, pod: &PodState) -> Way {
        if mode.resizes() {
            return match pod.resize {
                _ if pod.is_pending => Way::Wait,
                Some(_) if mode.evicts() && self.can_evict(pod) => Way::Evict,
                None if self.spares_one() => Way::Resize,
                _ => Way::Wait,
            };
        }
        if mode.evicts() && self.can_evict(pod) { Way::Evict } else { Way::Wait }
    }

    /// Notes that a pod was changed.
    pub fn note(&mut self, way: Way, pod: &PodState) {
        match way {
            Way::Resize => self.resized += 1,
            Way::Evict if !pod.is_pending => self.evicted += 1,
            Way::Evict | Way::Wait => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const RUNNING: PodState = PodState { is_pending: false, resize: None };
    const PENDING: PodState = PodState { is_pending: true, resize: None };

    fn group(configured: i64, pods: &[PodState]) -> Option<Group> {
        Group::new(&Settings::default(), &VpaSpec::default(), configured, pods)
    }

    /// How many running pods go in one round.
    fn evictions(configured: i64, running: usize, pending: usize) -> usize {
        let pods = [vec![RUNNING; running], vec![PENDING; pending]].concat();
        let Some(mut group) = group(configured, &pods) else { return 0 };
        let mut evicted = 0;
        for _ in 0..running {
            let way = group.way(UpdateMode::Recreate, &RUNNING);
            group.note(way, &RUNNING);
            evicted += usize::from(way == Way::Evict);
        }
        evicted
    }

    #[test]
    fn half_of_a_group_may_be_missing() {
        for (configured, running, pending, expected) in [
            // Tolerance 5: more than 5 have to be alive before each; 10, 9, 8, 7, 6.
            (10, 10, 0, 5),
            (10, 7, 3, 2),
            (10, 5, 5, 0),
            // Tolerance trunc(1.5) = 1: more than 2 of 3.
            (3, 3, 0, 1),
            (3, 2, 1, 0),
            (2, 2, 0, 1),
            (2, 1, 1, 0),
            // More run than are wanted, as in a rolling update.
            (2, 4, 0, 3),
            // Fewer than two live pods, or none wanted.
            (1, 1, 0, 0),
            (0, 2, 0, 0),
        ] {
            assert_eq!(evictions(configured, running, pending), expected, "{configured} {running} {pending}");
        }
    }

    #[test]
    fn a_single_replica_goes_if_the_autoscaler_allows_one() {
        let spec = VpaSpec::of(&json!({"spec": {"updatePolicy": {"updateMode": "Recreate", "minReplicas": 1}}}));
        let mut single = Group::new(&Settings::default(), &spec, 1, &[RUNNING]).unwrap();
        // Tolerance trunc(0.5) = 0, complete, none taken yet.
        assert_eq!(single.way(UpdateMode::Recreate, &RUNNING), Way::Evict);
        single.note(Way::Evict, &RUNNING);
        assert_eq!(single.way(UpdateMode::Recreate, &RUNNING), Way::Wait);
        // Two run where one is wanted: two alive are more than one.
        let two = Group::new(&Settings::default(), &spec, 1, &[RUNNING, RUNNING]).unwrap();
        assert!(two.can_evict(&RUNNING));
    }

    #[test]
    fn pending_pods_always_go_and_count_for_nothing() {
        let mut full = group(4, &[RUNNING, PENDING, PENDING, PENDING]).unwrap();
        assert!(!full.can_evict(&RUNNING));
        for _ in 0..3 {
            assert_eq!(full.way(UpdateMode::Auto, &PENDING), Way::Evict);
            full.note(Way::Evict, &PENDING);
        }
        assert_eq!(full.evicted, 0);
    }

    #[test]
    fn a_resize_is_waited_for_and_then_given_up() {
        let group = group(4, &[RUNNING; 4]).unwrap();
        let minutes = |minutes: i64| Span::from_seconds(60 * minutes);
        for (resize, expected) in [
            (None, Way::Resize),
            (Some((Resize::Deferred, minutes(5))), Way::Wait),
            (Some((Resize::Deferred, minutes(6))), Way::Evict),
            (Some((Resize::InProgress, minutes(60))), Way::Wait),
            (Some((Resize::InProgress, minutes(61))), Way::Evict),
            (Some((Resize::Infeasible, minutes(0))), Way::Evict),
            (Some((Resize::Failed, minutes(0))), Way::Evict),
        ] {
            let pod = PodState { is_pending: false, resize };
            assert_eq!(group.way(UpdateMode::InPlaceOrRecreate, &pod), expected, "{resize:?}");
            let never_evicted = if expected == Way::Evict { Way::Wait } else { expected };
            assert_eq!(group.way(UpdateMode::InPlace, &pod), never_evicted, "{resize:?}");
        }
        assert_eq!(group.way(UpdateMode::InPlaceOrRecreate, &PENDING), Way::Wait);
    }

    #[test]
    fn resizes_count_like_evictions() {
        let mut group = group(4, &[RUNNING; 4]).unwrap();
        for expected in [Way::Resize, Way::Resize, Way::Wait] {
            let way = group.way(UpdateMode::InPlaceOrRecreate, &RUNNING);
            assert_eq!(way, expected);
            group.note(way, &RUNNING);
        }
        assert!(!group.can_evict(&RUNNING));
        for mode in [UpdateMode::Off, UpdateMode::Initial] {
            assert_eq!(group.way(mode, &PENDING), Way::Wait);
        }
    }
}
