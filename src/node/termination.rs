//! How a kubelet ends a pod: whom it stops when, with which grace, and what is left to report.
//!
//! Regular containers are stopped together, then the sidecars one by one, last first, inside the same grace.
//!
//! Not modelled yet: preStop hooks, grace of liveness and startup probes, eviction overrides.
//!
//! Upstream: pkg/kubelet/pod_workers.go (`calculateEffectiveGracePeriod`), kuberuntime/kuberuntime_container.go
//! (`killContainer`), kuberuntime/kuberuntime_termination_order.go, pkg/kubelet/status/status_manager.go (`TerminatePod`), v1.36.

use super::{Progress, Role, role};
use crate::model::time::SECOND_NS;
use crate::model::{Deletion, PodSpec, Time};

/// Exit code reported for a container of which nothing is known.
pub const EXIT_UNKNOWN: i32 = 137;

/// Seconds that are left for SIGTERM to work, at least.
const SHORTEST_GRACE_SECONDS: i64 = 2;

/// The grace of a pod in seconds: that of its deletion, else its own.
pub fn grace_seconds(deletion: Option<Deletion>, spec: &PodSpec) -> i64 {
    deletion
        .map_or(spec.termination_grace_period_seconds, |deletion| deletion.grace_seconds)
        .max(SHORTEST_GRACE_SECONDS)
}

/// What is left of a grace that ends at `deadline`, in whole seconds.
pub fn grace_left_seconds(deadline: Time, now: Time) -> i64 {
    ((deadline - now).0.div_euclid(SECOND_NS)).max(SHORTEST_GRACE_SECONDS)
}

/// The containers to stop next. `stopping` says which were told already.
pub fn next_to_stop(spec: &PodSpec, progress: &[Progress], stopping: &[bool]) -> Vec<usize> {
    let is_up = |index: &usize| matches!(progress[*index], Progress::Running { .. } | Progress::Starting);
    let of_role = |sidecar: bool| {
        (0..progress.len()).filter(is_up).filter(move |index| (role(spec, *index) == Role::Sidecar) == sidecar)
    };
    if of_role(false).next().is_some() {
        return of_role(false).filter(|index| !stopping[*index]).collect();
    }
    of_role(true).next_back().filter(|index| !stopping[*index]).into_iter().collect()
}

/// Whether nothing of the pod runs any more.
pub fn is_over(progress: &[Progress]) -> bool {
    !progress.iter().any(|progress| matches!(progress, Progress::Running { .. } | Progress::Starting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Container, Span};

    const UP: Progress = Progress::Running { since: Time(0) };
    const OVER: Progress =
        Progress::Ended { started_at: Time(0), finished_at: Time(0), exit_code: 0, is_out_of_memory: false };

    fn spec() -> PodSpec {
        let container = |is_sidecar| Container { is_sidecar, ..Container::default() };
        PodSpec {
            init_containers: vec![container(true), container(false), container(true)],
            containers: vec![container(false), container(false)],
            termination_grace_period_seconds: 30,
            ..PodSpec::default()
        }
    }

    #[test]
    fn sidecars_stop_last_in_reverse_order() {
        let no = [false; 5];
        for (progress, stopping, expected) in [
            ([UP, OVER, UP, UP, UP], no, vec![3, 4]),
            ([UP, OVER, UP, UP, Progress::Starting], no, vec![3, 4]),
            ([UP, OVER, UP, UP, UP], [false, false, false, true, false], vec![4]),
            ([UP, OVER, UP, UP, OVER], [false, false, false, true, true], vec![]),
            ([UP, OVER, UP, OVER, OVER], no, vec![2]),
            ([UP, OVER, UP, OVER, OVER], [false, false, true, true, true], vec![]),
            ([UP, OVER, OVER, OVER, OVER], no, vec![0]),
            ([OVER, OVER, OVER, OVER, Progress::Waiting], no, vec![]),
        ] {
            assert_eq!(next_to_stop(&spec(), &progress, &stopping), expected, "{progress:?}, told {stopping:?}");
        }
        assert!(!is_over(&[OVER, Progress::Starting]));
        assert!(is_over(&[OVER, Progress::Pulling { since: Time(0) }, Progress::Waiting]));
    }

    #[test]
    fn grace_is_the_deletions_and_two_seconds_at_least() {
        let deletion = |grace_seconds| Some(Deletion { at: Time(0), grace_seconds });
        for (deletion, expected) in [(None, 30), (deletion(5), 5), (deletion(0), 2), (deletion(60), 60)] {
            assert_eq!(grace_seconds(deletion, &spec()), expected);
        }
        let now = Time(0) + Span::from_seconds(100);
        // 3.9 s left: 3 whole seconds; 1 s left: at least 2.
        assert_eq!(grace_left_seconds(now + Span(3_900_000_000), now), 3);
        assert_eq!(grace_left_seconds(now + Span(1_000_000_000), now), 2);
    }
}
