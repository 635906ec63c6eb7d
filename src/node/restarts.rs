//! Whether and when a container that has ended is started again: at once, and then after a back-off that doubles.
//!
//! Upstream: pkg/kubelet/container/helpers.go (`ShouldContainerBeRestarted`), kuberuntime/kuberuntime_manager.go
//! (`doBackOff`), client-go util/flowcontrol/backoff.go, v1.36.

use super::{Progress, Role, role};
use crate::model::{PodSpec, RestartPolicy, Span, Time};

/// Upstream: pkg/kubelet/kubelet.go (`initialCrashLoopBackOff`, `maxCrashLoopBackOff`), v1.36.
const INITIAL: Span = Span::from_seconds(10);
const LONGEST: Span = Span::from_seconds(300);
/// A container that ran for so long since its last start begins anew.
const FORGOTTEN_AFTER: Span = Span::from_seconds(600);
/// Upstream: pkg/kubelet/pod_workers.go (`completeWork`), v1.36: longest wait for the end of a back-off, before its jitter.
const LONGEST_WAIT: Span = Span::from_seconds(60);

/// The back-off of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Backoff {
    span: Span,
    last_start: Time,
}

/// What a kubelet remembers of a container's earlier runs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Runs {
    /// Restarts that it has noticed.
    pub restarts: i32,
    /// How the run before the present one ended.
    pub last: Option<Progress>,
    /// Its back-off, once it was started again.
    pub backoff: Option<Backoff>,
    /// It waits for the end of its back-off, or was started after it and that has not been noticed.
    pub is_backing_off: bool,
}

/// Whether a container that ended so is started again. Init containers that fail are not modelled.
pub fn is_restarted(spec: &PodSpec, index: usize, exit_code: i32) -> bool {
    match role(spec, index) {
        Role::Init => false,
        Role::Sidecar => true,
        Role::Regular => match spec.restart_policy {
            RestartPolicy::Always => true,
            RestartPolicy::OnFailure => exit_code != 0,
            RestartPolicy::Never => false,
        },
    }
}

/// When a container that ended at an instant may start.
pub fn starts_at(backoff: Option<Backoff>, ended_at: Time) -> Time {
    match backoff {
        Some(backoff) if ended_at - backoff.last_start <= FORGOTTEN_AFTER => ended_at + backoff.span,
        _ => ended_at,
    }
}

/// The back-off after a container that ended at an instant was started again.
pub fn after_start(backoff: Option<Backoff>, ended_at: Time, now: Time) -> Backoff {
    let span = match backoff {
        Some(backoff) if ended_at - backoff.last_start <= FORGOTTEN_AFTER => Span(backoff.span.0 * 2).min(LONGEST),
        _ => INITIAL,
    };
    Backoff { span, last_start: now }
}

/// How long the kubelet waits before it looks again, with uniform bits for its jitter.
pub fn next_look(until: Time, now: Time, bits: u64) -> Span {
    let wait = (until - now).max(Span::ZERO).min(LONGEST_WAIT);
    // Up to half as long again; the upper 53 bits make a number below 1.
    let jitter = (bits >> 11) as f64 / (1_u64 << 53) as f64 * 0.5;
    wait + Span((wait.0 as f64 * jitter) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Container;

    fn at(seconds: i64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    #[test]
    fn the_first_restart_is_at_once_and_waits_double() {
        // A container that ends a second after each start: 10, 20, 40 ... 300 s, and 300 s again.
        let (mut backoff, mut ended, mut waits) = (None, 1, Vec::new());
        for _ in 0..8 {
            let start = starts_at(backoff, at(ended));
            waits.push((start - at(ended)).0 / 1_000_000_000);
            backoff = Some(after_start(backoff, at(ended), start));
            ended = (start - Time(0)).0 / 1_000_000_000 + 1;
        }
        assert_eq!(waits, [0, 10, 20, 40, 80, 160, 300, 300]);
        // It ran for more than ten minutes: at once, and 10 s after that.
        let later = at(ended + 600);
        assert_eq!(starts_at(backoff, later), later);
        let anew = after_start(backoff, later, later);
        assert_eq!(starts_at(Some(anew), later + Span::from_seconds(1)), later + Span::from_seconds(11));
    }

    #[test]
    fn policies_restart_by_the_exit_code() {
        let spec = |restart_policy| PodSpec {
            init_containers: vec![Container::default(), Container { is_sidecar: true, ..Container::default() }],
            containers: vec![Container::default()],
            restart_policy,
            ..PodSpec::default()
        };
        for (policy, failed, succeeded) in [
            (RestartPolicy::Always, true, true),
            (RestartPolicy::OnFailure, true, false),
            (RestartPolicy::Never, false, false),
        ] {
            let spec = spec(policy);
            assert_eq!((is_restarted(&spec, 2, 1), is_restarted(&spec, 2, 0)), (failed, succeeded), "{policy:?}");
            assert!(is_restarted(&spec, 1, 0) && !is_restarted(&spec, 0, 1), "{policy:?}");
        }
    }

    #[test]
    fn looks_come_up_to_half_a_wait_late() {
        assert_eq!(next_look(at(10), at(0), 0), Span::from_seconds(10));
        // The jitter stays below 5 s.
        let late = next_look(at(10), at(0), u64::MAX);
        assert!(late > Span::from_seconds(14) && late < Span::from_seconds(15), "{late}");
        assert_eq!(next_look(at(300), at(0), 0), Span::from_seconds(60));
        assert_eq!(next_look(at(0), at(5), u64::MAX), Span::ZERO);
    }
}
