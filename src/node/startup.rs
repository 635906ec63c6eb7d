//! Which container of a pod a kubelet starts next.
//!
//! Init containers start one at a time; the next one comes when the kubelet has noticed that the last ended well, or, for a
//! sidecar, runs. Then the regular containers start in order, each as soon as the one before was started.
//!
//! Not modelled yet: startup probes of sidecars, postStart hooks. Restarts are not chosen here.
//!
//! Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go (`SyncPod`, `computePodActions`), kuberuntime_container.go
//! (`computeInitContainerActions`), pkg/kubelet/images/image_manager.go (`EnsureImageExists`), v1.36.

use super::{Progress, Role, role};
use crate::model::{PodSpec, Probe, PullPolicy, Span, Time};

/// What to do for a pod's start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// Bring up this container: its image, then the container.
    Launch(usize),
    /// Something has to happen or to be noticed first.
    Wait,
    /// Nothing is left to start.
    Done,
}

/// Chooses the next container. `actual` is what the kubelet did, `observed` what its last relist saw; both by index, init
/// containers first.
pub fn next(spec: &PodSpec, actual: &[Progress], observed: &[Progress]) -> Next {
    if actual.iter().any(|progress| progress.is_under_way()) {
        return Next::Wait;
    }
    for (index, (now, seen)) in actual.iter().zip(observed).enumerate() {
        let role = role(spec, index);
        let is_passed = match role {
            Role::Init => seen.has_succeeded(),
            Role::Sidecar => matches!(seen, Progress::Running { .. } | Progress::Ended { .. }),
            Role::Regular => *now != Progress::Waiting,
        };
        match (is_passed, now) {
            (true, _) => {}
            (false, Progress::Waiting) => return Next::Launch(index),
            (false, _) => return Next::Wait,
        }
    }
    Next::Done
}

/// What to do about a container's image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ImagePlan {
    /// Pull it.
    Pull,
    /// Use what is there.
    Present,
    /// It is not there and may not be pulled.
    Missing,
}

/// Decides whether to pull an image.
pub fn plan_image(policy: PullPolicy, is_present: bool) -> ImagePlan {
    match (policy, is_present) {
        (PullPolicy::Always, _) | (PullPolicy::IfNotPresent, false) => ImagePlan::Pull,
        (PullPolicy::IfNotPresent | PullPolicy::Never, true) => ImagePlan::Present,
        (PullPolicy::Never, false) => ImagePlan::Missing,
    }
}

/// When a readiness probe that would succeed from `now` on is seen to: not before its initial delay.
///
/// DIVERGES: the probe succeeds the moment it can, whatever its period and success threshold.
pub fn probe_succeeds_at(started: Time, now: Time, probe: &Probe) -> Time {
    now.max(started + Span::from_seconds(probe.initial_delay_seconds))
}

#[cfg(test)]
mod tests {
    use super::Progress::{Pulling, Running, Starting, Waiting};
    use super::*;
    use crate::model::Container;

    const UP: Progress = Running { since: Time(0) };
    const OK: Progress = ended(0);
    const BAD: Progress = ended(1);

    const fn ended(exit_code: i32) -> Progress {
        Progress::Ended { started_at: Time(0), finished_at: Time(0), exit_code, is_out_of_memory: false }
    }

    /// Init container, sidecar, two regular containers.
    fn spec() -> PodSpec {
        let container = |is_sidecar| Container { is_sidecar, ..Container::default() };
        PodSpec {
            init_containers: vec![container(false), container(true)],
            containers: vec![container(false), container(false)],
            ..PodSpec::default()
        }
    }

    #[test]
    fn containers_come_up_in_order() {
        use Next::{Done, Launch, Wait};
        let pulling = Pulling { since: Time(0) };
        for (actual, observed, expected) in [
            ([Waiting; 4], [Waiting; 4], Launch(0)),
            ([pulling, Waiting, Waiting, Waiting], [Waiting; 4], Wait),
            ([OK, Waiting, Waiting, Waiting], [Waiting; 4], Wait), // ended, but not noticed yet
            ([OK, Waiting, Waiting, Waiting], [OK, Waiting, Waiting, Waiting], Launch(1)),
            ([BAD, Waiting, Waiting, Waiting], [BAD, Waiting, Waiting, Waiting], Wait),
            ([OK, UP, Waiting, Waiting], [OK, Waiting, Waiting, Waiting], Wait),
            ([OK, UP, Waiting, Waiting], [OK, UP, Waiting, Waiting], Launch(2)),
            ([OK, UP, Starting, Waiting], [OK, UP, Waiting, Waiting], Wait),
            ([OK, UP, UP, Waiting], [OK, UP, Waiting, Waiting], Launch(3)), // not waiting for the relist
            ([OK, UP, Progress::ImageMissing, Waiting], [OK, UP, Waiting, Waiting], Launch(3)),
            ([OK, UP, UP, UP], [OK, UP, Waiting, Waiting], Done),
        ] {
            assert_eq!(next(&spec(), &actual, &observed), expected, "{actual:?}, seen {observed:?}");
        }
    }

    #[test]
    fn images_are_pulled_by_policy() {
        for (policy, present, absent) in [
            (PullPolicy::IfNotPresent, ImagePlan::Present, ImagePlan::Pull),
            (PullPolicy::Always, ImagePlan::Pull, ImagePlan::Pull),
            (PullPolicy::Never, ImagePlan::Present, ImagePlan::Missing),
        ] {
            assert_eq!((plan_image(policy, true), plan_image(policy, false)), (present, absent), "{policy:?}");
        }
    }

    #[test]
    fn probes_wait_for_their_initial_delay() {
        let probe = Probe {
            initial_delay_seconds: 5,
            period_seconds: 10,
            timeout_seconds: 1,
            success_threshold: 1,
            failure_threshold: 3,
        };
        let seconds = |seconds| Time(0) + Span::from_seconds(seconds);
        // Started at 2: not before 7.
        assert_eq!(probe_succeeds_at(seconds(2), seconds(3), &probe), seconds(7));
        assert_eq!(probe_succeeds_at(seconds(2), seconds(9), &probe), seconds(9));
    }
}
