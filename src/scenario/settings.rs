//! Settings of a component, whichever way they came: flags, a static Pod or a configuration file.

use super::diagnostic::{Code, Diagnostic, Severity};
use super::flags::gates::GateSettings;
use crate::model::Span;
use crate::scheduler::framework::ProfileConfig;

/// A value with the place where it was said.
#[derive(Clone, Debug)]
pub struct Said<T> {
    /// The value.
    pub value: T,
    /// What the field or flag is called there.
    pub name: &'static str,
    /// A problem at that place, still without words.
    pub at: Diagnostic,
}

/// The same value said elsewhere is the same setting.
impl<T: PartialEq> PartialEq for Said<T> {
    fn eq(&self, other: &Said<T>) -> bool {
        self.value == other.value
    }
}

impl<T> Said<T> {
    /// A problem with the value.
    pub fn problem(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic { message: message.into(), ..self.at.clone() }
    }
}

/// Settings of a component that have an effect; `None` where nothing is said.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Settings {
    /// Least period of resyncs.
    pub min_resync_period: Option<Span>,
    /// Workers of the ReplicaSet controller.
    pub replicaset_syncs: Option<u32>,
    /// Workers of the Deployment controller.
    pub deployment_syncs: Option<u32>,
    /// Workers of the garbage collector.
    pub gc_syncs: Option<u32>,
    /// Requests a second; negative for no limit.
    pub qps: Option<Said<f64>>,
    /// Requests that may go out at once.
    pub burst: Option<Said<i64>>,
    /// Feature gates.
    pub gates: GateSettings,
    /// Leader election.
    pub election: GivenElection,
    /// `percentageOfNodesToScore`; 0 = adaptive.
    pub percentage_of_nodes_to_score: Option<u32>,
    /// Profiles of the scheduler; empty for the default one.
    pub profiles: Vec<ProfileConfig>,
    /// `podInitialBackoffSeconds`
    pub pod_initial_backoff: Option<Span>,
    /// `podMaxBackoffSeconds`
    pub pod_max_backoff: Option<Span>,
    /// `--max-requests-inflight`
    pub max_requests_inflight: Option<u32>,
    /// `--max-mutating-requests-inflight`
    pub max_mutating_requests_inflight: Option<u32>,
    /// `--enable-priority-and-fairness`
    pub priority_and_fairness: Option<bool>,
    /// `--request-timeout`
    pub request_timeout: Option<Span>,
    /// `--config`: the file that the binary would read.
    pub config_file: Option<Said<String>>,
}

/// How replicas elect one of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GivenElection {
    /// Whether they do.
    pub leader_elect: Option<bool>,
    /// How long a lease holds.
    pub lease_duration: Option<Said<Span>>,
    /// How long a leader tries to renew.
    pub renew_deadline: Option<Said<Span>>,
    /// Pause between two attempts.
    pub retry_period: Option<Said<Span>>,
    /// Name of the Lease.
    pub resource_name: Option<String>,
    /// Namespace of the Lease.
    pub resource_namespace: Option<String>,
}

/// Leader election when nobody says otherwise.
pub const LEASE_DURATION: Span = Span::from_seconds(15);
/// See [`LEASE_DURATION`].
pub const RENEW_DEADLINE: Span = Span::from_seconds(10);
/// See [`LEASE_DURATION`].
pub const RETRY_PERIOD: Span = Span::from_seconds(2);

impl Settings {
    /// Flags over a configuration file, as kube-scheduler does it: leader election field by field, everything else that
    /// the file can say is the file's. Gives a notice for each flag that is ignored.
    ///
    /// Upstream: cmd/kube-scheduler/app/options/options.go, `ApplyTo`
    pub fn over_scheduler_file(self, file: Settings) -> (Settings, Vec<Diagnostic>) {
        let ignored = [
            self.qps.as_ref().map(|qps| (&qps.at, qps.name)),
            self.burst.as_ref().map(|burst| (&burst.at, burst.name)),
        ];
        let notice = |(at, name): (&Diagnostic, &str)| {
            let message =
                format!("{name} is ignored: kube-scheduler with a configuration file takes `clientConnection`");
            Diagnostic { code: Code::NotSimulated.as_str(), message, severity: Severity::Notice, ..at.clone() }
        };
        let notices = ignored.into_iter().flatten().map(notice).collect();
        let election = self.election.over(file.election);
        (Settings { gates: self.gates, config_file: self.config_file, election, ..file }, notices)
    }

    /// Flags over a configuration file, field by field.
    ///
    /// DIVERGES: the real kube-controller-manager reads no such file; its flags are what it has.
    pub fn over(self, file: Settings) -> Settings {
        Settings {
            min_resync_period: self.min_resync_period.or(file.min_resync_period),
            replicaset_syncs: self.replicaset_syncs.or(file.replicaset_syncs),
            deployment_syncs: self.deployment_syncs.or(file.deployment_syncs),
            gc_syncs: self.gc_syncs.or(file.gc_syncs),
            qps: self.qps.or(file.qps),
            burst: self.burst.or(file.burst),
            gates: self.gates,
            election: self.election.over(file.election),
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score.or(file.percentage_of_nodes_to_score),
            pod_initial_backoff: self.pod_initial_backoff.or(file.pod_initial_backoff),
            pod_max_backoff: self.pod_max_backoff.or(file.pod_max_backoff),
            // What only kube-apiserver has, which reads no file.
            ..self
        }
    }
}

impl GivenElection {
    /// These, and where they say nothing others.
    pub fn over(self, others: GivenElection) -> GivenElection {
        GivenElection {
            leader_elect: self.leader_elect.or(others.leader_elect),
            lease_duration: self.lease_duration.or(others.lease_duration),
            renew_deadline: self.renew_deadline.or(others.renew_deadline),
            retry_period: self.retry_period.or(others.retry_period),
            resource_name: self.resource_name.or(others.resource_name),
            resource_namespace: self.resource_namespace.or(others.resource_namespace),
        }
    }

    /// What the elector would refuse.
    ///
    /// Upstream: component-base/config/validation/validation.go, `ValidateLeaderElectionConfiguration`;
    /// client-go/tools/leaderelection/leaderelection.go, `NewLeaderElector`, which adds the jitter factor.
    pub fn problems(&self) -> Vec<Diagnostic> {
        if self.leader_elect == Some(false) {
            return Vec::new();
        }
        let all = [&self.lease_duration, &self.renew_deadline, &self.retry_period];
        let not_above_zero: Vec<Diagnostic> = all
            .into_iter()
            .flatten()
            .filter(|said| said.value <= Span::ZERO)
            .map(|said| said.problem(format!("{} must be greater than zero, not {}", said.name, said.value)))
            .collect();
        if !not_above_zero.is_empty() {
            return not_above_zero;
        }
        let value = |said: &Option<Said<Span>>, usual: Span| said.as_ref().map_or(usual, |said| said.value);
        let lease = value(&self.lease_duration, LEASE_DURATION);
        let renew = value(&self.renew_deadline, RENEW_DEADLINE);
        let retry = value(&self.retry_period, RETRY_PERIOD);
        let mut problems = Vec::new();
        if lease <= renew {
            let message = format!("the lease duration ({lease}) must be greater than the renew deadline ({renew})");
            let place = self.lease_duration.as_ref().or(self.renew_deadline.as_ref());
            let help = format!(
                "raise the lease duration, or lower the renew deadline; usual are {LEASE_DURATION} and {RENEW_DEADLINE}"
            );
            problems.extend(place.map(|said| said.problem(message).help(help)));
        }
        let jittered = Span(jittered_ns(retry.0));
        if renew <= jittered {
            let message = format!(
                "the renew deadline ({renew}) must be greater than 1.2 times the retry period ({retry}), which is {jittered}"
            );
            let place = self.renew_deadline.as_ref().or(self.retry_period.as_ref());
            let help = format!(
                "raise the renew deadline, or lower the retry period; usual are {RENEW_DEADLINE} and {RETRY_PERIOD}"
            );
            problems.extend(place.map(|said| said.problem(message).help(help)));
        }
        problems
    }
}

/// The retry period times the jitter factor 1.2 in float64, cut to whole nanoseconds.
fn jittered_ns(retry_ns: i64) -> i64 {
    (1.2 * retry_ns as f64) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &'static str, seconds: i64) -> Option<Said<Span>> {
        let at = Diagnostic::error(Code::BadFlag, "").path(name.to_string());
        Some(Said { value: Span::from_seconds(seconds), name, at })
    }

    fn problems(election: &GivenElection) -> Vec<String> {
        election.problems().iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn election_times_must_fit_together() {
        let all = |lease, renew, retry| GivenElection {
            lease_duration: said("lease", lease),
            renew_deadline: said("renew", renew),
            retry_period: said("retry", retry),
            ..GivenElection::default()
        };
        assert!(problems(&GivenElection::default()).is_empty());
        assert!(problems(&all(15, 10, 2)).is_empty());
        assert_eq!(
            problems(&all(10, 10, 2)),
            ["lease: the lease duration (10s) must be greater than the renew deadline (10s)"]
        );
        // 1.2 * 9 s = 10.8 s; 1.2 * 8 s = 9.6 s.
        assert_eq!(
            problems(&all(15, 10, 9)),
            ["renew: the renew deadline (10s) must be greater than 1.2 times the retry period (9s), which is 10.8s"]
        );
        assert!(problems(&all(15, 10, 8)).is_empty());
        assert_eq!(
            problems(&all(0, 10, -1)),
            ["lease: lease must be greater than zero, not 0s", "retry: retry must be greater than zero, not -1s"]
        );
        // Against defaults the one that is given is named: 15 s <= 20 s, and 1.2 * 2 s = 2.4 s > 1 s.
        let renew = GivenElection { renew_deadline: said("renew", 20), ..GivenElection::default() };
        assert_eq!(problems(&renew), ["renew: the lease duration (15s) must be greater than the renew deadline (20s)"]);
        let retry = GivenElection { retry_period: said("retry", 20), ..GivenElection::default() };
        assert_eq!(problems(&retry).len(), 1);
        let off = GivenElection { leader_elect: Some(false), ..all(1, 2, 3) };
        assert!(problems(&off).is_empty());
    }
}
