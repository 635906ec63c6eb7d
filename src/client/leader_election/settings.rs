//! Settings of an election, and which of them upstream refuses.

use std::fmt;

use crate::model::Span;

/// How far a candidate's waits are spread: up to this many retry periods more.
pub const JITTER_FACTOR: f64 = 1.2;

/// Settings of an election, all in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ElectionSettings {
    /// How long others leave a holder alone after they saw it write.
    pub lease_duration: Span,
    /// How long a leader tries to renew before it gives up.
    pub renew_deadline: Span,
    /// Time between two attempts.
    pub retry_period: Span,
    /// Whether a leader gives the lease back when it stops.
    pub release_on_cancel: bool,
}

/// Settings that do not fit each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SettingsError {
    /// The lease is over before the leader gives up.
    LeaseNotAboveRenew,
    /// The leader gives up before it tries twice.
    RenewNotAboveRetry,
    /// leaseDuration is not positive.
    NoLeaseDuration,
    /// renewDeadline is not positive.
    NoRenewDeadline,
    /// retryPeriod is not positive.
    NoRetryPeriod,
}

impl SettingsError {
    /// The field that has to change, as KubeSchedulerConfiguration and operators write it.
    pub fn field(self) -> &'static str {
        match self {
            SettingsError::LeaseNotAboveRenew | SettingsError::NoLeaseDuration => "leaseDuration",
            SettingsError::RenewNotAboveRetry | SettingsError::NoRenewDeadline => "renewDeadline",
            SettingsError::NoRetryPeriod => "retryPeriod",
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingsError::LeaseNotAboveRenew => "leaseDuration must be greater than renewDeadline",
            SettingsError::RenewNotAboveRetry => "renewDeadline must be greater than retryPeriod*JitterFactor (1.2)",
            SettingsError::NoLeaseDuration => "leaseDuration must be greater than zero",
            SettingsError::NoRenewDeadline => "renewDeadline must be greater than zero",
            SettingsError::NoRetryPeriod => "retryPeriod must be greater than zero",
        })
    }
}

impl ElectionSettings {
    /// 15 s, 10 s, 2 s, no release: kube-controller-manager and kube-scheduler.
    ///
    /// Upstream: staging/src/k8s.io/component-base/config/v1alpha1/defaults.go.
    pub const DEFAULT: ElectionSettings = ElectionSettings {
        lease_duration: Span::from_seconds(15),
        renew_deadline: Span::from_seconds(10),
        retry_period: Span::from_seconds(2),
        release_on_cancel: false,
    };

    /// The time-out of each call: half the renew deadline, at least a second.
    ///
    /// Upstream: resourcelock/interface.go, `NewFromKubeconfig`.
    pub fn client_timeout(&self) -> Span {
        Span(self.renew_deadline.0 / 2).max(Span::from_seconds(1))
    }

    /// The first reason for which upstream would not start an elector.
    ///
    /// Upstream: leaderelection.go, `NewLeaderElector`.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.lease_duration <= self.renew_deadline {
            return Err(SettingsError::LeaseNotAboveRenew);
        }
        if self.renew_deadline.0 <= (JITTER_FACTOR * self.retry_period.0 as f64) as i64 {
            return Err(SettingsError::RenewNotAboveRetry);
        }
        if self.lease_duration.0 < 1 {
            return Err(SettingsError::NoLeaseDuration);
        }
        if self.renew_deadline.0 < 1 {
            return Err(SettingsError::NoRenewDeadline);
        }
        if self.retry_period.0 < 1 {
            return Err(SettingsError::NoRetryPeriod);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(lease: i64, renew: i64, retry: i64) -> ElectionSettings {
        ElectionSettings {
            lease_duration: Span(lease),
            renew_deadline: Span(renew),
            retry_period: Span(retry),
            release_on_cancel: false,
        }
    }

    #[test]
    fn settings_are_refused_for_the_first_reason_upstream_names() {
        const S: i64 = 1_000_000_000;
        let table = [
            ((15 * S, 10 * S, 2 * S), Ok(())),
            ((10 * S, 10 * S, 2 * S), Err(SettingsError::LeaseNotAboveRenew)),
            // 1.2 x 9 s = 10.8 s is above 10 s.
            ((15 * S, 10 * S, 9 * S), Err(SettingsError::RenewNotAboveRetry)),
            // 1.2 x 5 ns = 6 ns: equal is not above.
            ((8, 6, 5), Err(SettingsError::RenewNotAboveRetry)),
            ((8, 7, 5), Ok(())),
            // trunc(1.2 x 1 ns) = 1 ns, and 2 ns is above it.
            ((3, 2, 1), Ok(())),
            ((3, 2, 0), Err(SettingsError::NoRetryPeriod)),
            ((1, 0, -1), Err(SettingsError::NoRenewDeadline)),
            ((0, -1, -2), Err(SettingsError::NoLeaseDuration)),
        ];
        for ((lease, renew, retry), expected) in table {
            assert_eq!(settings(lease, renew, retry).check(), expected, "{lease} {renew} {retry}");
        }
    }

    #[test]
    fn calls_time_out_after_half_the_renew_deadline() {
        assert_eq!(ElectionSettings::DEFAULT.client_timeout(), Span::from_seconds(5));
        assert_eq!(settings(3, 1_500_000_000, 1).client_timeout(), Span::from_seconds(1));
    }
}
