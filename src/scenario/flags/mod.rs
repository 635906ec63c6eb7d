//! Flags of the real components: the ones that have an effect here, and the real ones that have none.

use super::diagnostic::{Code, Severity};
use super::entry::Entry;
use super::schema::shape::Special;
use super::yaml::Part;
use crate::model::Span;
use crate::rules::{go_duration, suggest};

/// What a flag changes here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    MinResyncPeriod,
    ReplicasetSyncs,
    GcSyncs,
    DeploymentSyncs,
    Qps,
    Burst,
    MaxRequestsInflight,
    MaxMutatingRequestsInflight,
    PriorityAndFairness,
    RequestTimeout,
}

/// A component with flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagTable {
    /// kube-controller-manager
    ControllerManager,
    /// kube-scheduler
    Scheduler,
    /// kube-apiserver
    ApiServer,
}

const CONTROLLER_MANAGER: &[(&str, Effect)] = &[
    ("--min-resync-period", Effect::MinResyncPeriod),
    ("--concurrent-replicaset-syncs", Effect::ReplicasetSyncs),
    ("--concurrent-deployment-syncs", Effect::DeploymentSyncs),
    ("--concurrent-gc-syncs", Effect::GcSyncs),
    ("--kube-api-qps", Effect::Qps),
    ("--kube-api-burst", Effect::Burst),
];

const SCHEDULER: &[(&str, Effect)] = &[("--kube-api-qps", Effect::Qps), ("--kube-api-burst", Effect::Burst)];

const API_SERVER: &[(&str, Effect)] = &[
    ("--max-requests-inflight", Effect::MaxRequestsInflight),
    ("--max-mutating-requests-inflight", Effect::MaxMutatingRequestsInflight),
    ("--enable-priority-and-fairness", Effect::PriorityAndFairness),
    ("--request-timeout", Effect::RequestTimeout),
];

/// Real flags of both components without an effect in this version.
const COMMON_WITHOUT_EFFECT: &[&str] = &[
    "--allow-metric-labels",
    "--allow-metric-labels-manifest",
    "--authentication-kubeconfig",
    "--authentication-skip-lookup",
    "--authentication-tolerate-lookup-failure",
    "--authorization-always-allow-paths",
    "--authorization-kubeconfig",
    "--bind-address",
    "--cert-dir",
    "--client-ca-file",
    "--contention-profiling",
    "--disable-http2-serving",
    "--disabled-metrics",
    "--emulated-version",
    "--feature-gates",
    "--kube-api-content-type",
    "--kubeconfig",
    "--leader-elect",
    "--leader-elect-lease-duration",
    "--leader-elect-renew-deadline",
    "--leader-elect-resource-lock",
    "--leader-elect-resource-name",
    "--leader-elect-resource-namespace",
    "--leader-elect-retry-period",
    "--log-flush-frequency",
    "--logging-format",
    "--master",
    "--permit-address-sharing",
    "--permit-port-sharing",
    "--profiling",
    "--requestheader-allowed-names",
    "--requestheader-client-ca-file",
    "--requestheader-extra-headers-prefix",
    "--requestheader-group-headers",
    "--requestheader-username-headers",
    "--secure-port",
    "--show-hidden-metrics-for-version",
    "--tls-cert-file",
    "--tls-cipher-suites",
    "--tls-min-version",
    "--tls-private-key-file",
    "--v",
    "-v",
    "--vmodule",
];

const CONTROLLER_MANAGER_WITHOUT_EFFECT: &[&str] = &[
    "--allocate-node-cidrs",
    "--attach-detach-reconcile-sync-period",
    "--cidr-allocator-type",
    "--cloud-config",
    "--cloud-provider",
    "--cluster-cidr",
    "--cluster-name",
    "--cluster-signing-cert-file",
    "--cluster-signing-duration",
    "--cluster-signing-key-file",
    "--concurrent-cron-job-syncs",
    "--concurrent-daemonset-syncs",
    "--concurrent-endpoint-syncs",
    "--concurrent-ephemeralvolume-syncs",
    "--concurrent-horizontal-pod-autoscaler-syncs",
    "--concurrent-job-syncs",
    "--concurrent-namespace-syncs",
    "--concurrent-rc-syncs",
    "--concurrent-resource-quota-syncs",
    "--concurrent-service-endpoint-syncs",
    "--concurrent-service-syncs",
    "--concurrent-serviceaccount-token-syncs",
    "--concurrent-statefulset-syncs",
    "--concurrent-ttl-after-finished-syncs",
    "--concurrent-validating-admission-policy-status-syncs",
    "--configure-cloud-routes",
    "--controller-start-interval",
    "--controllers",
    "--disable-attach-detach-reconcile-sync",
    "--enable-dynamic-provisioning",
    "--enable-garbage-collector",
    "--enable-leader-migration",
    "--endpointslice-updates-batch-period",
    "--endpoint-updates-batch-period",
    "--external-cloud-volume-plugin",
    "--flex-volume-plugin-dir",
    "--horizontal-pod-autoscaler-cpu-initialization-period",
    "--horizontal-pod-autoscaler-downscale-stabilization",
    "--horizontal-pod-autoscaler-initial-readiness-delay",
    "--horizontal-pod-autoscaler-sync-period",
    "--horizontal-pod-autoscaler-tolerance",
    "--large-cluster-size-threshold",
    "--legacy-service-account-token-clean-up-period",
    "--max-endpoints-per-slice",
    "--mirroring-concurrent-service-endpoint-syncs",
    "--namespace-sync-period",
    "--node-cidr-mask-size",
    "--node-eviction-rate",
    "--node-monitor-grace-period",
    "--node-monitor-period",
    "--node-startup-grace-period",
    "--node-sync-period",
    "--pod-gc-threshold",
    "--pvclaimbinder-sync-period",
    "--resource-quota-sync-period",
    "--root-ca-file",
    "--route-reconciliation-period",
    "--secondary-node-eviction-rate",
    "--service-account-private-key-file",
    "--service-cluster-ip-range",
    "--terminated-pod-gc-threshold",
    "--unhealthy-zone-threshold",
    "--use-service-account-credentials",
];

const SCHEDULER_WITHOUT_EFFECT: &[&str] =
    &["--config", "--pod-max-in-unschedulable-pods-duration", "--write-config-to"];

/// Real flags of kube-apiserver without an effect in this version.
const API_SERVER_WITHOUT_EFFECT: &[&str] = &[
    "--admission-control-config-file",
    "--advertise-address",
    "--allow-privileged",
    "--anonymous-auth",
    "--api-audiences",
    "--apiserver-count",
    "--audit-log-maxage",
    "--audit-log-maxbackup",
    "--audit-log-maxsize",
    "--audit-log-path",
    "--audit-policy-file",
    "--audit-webhook-config-file",
    "--authentication-config",
    "--authorization-config",
    "--authorization-mode",
    "--bind-address",
    "--cert-dir",
    "--client-ca-file",
    "--cloud-provider",
    "--contention-profiling",
    "--cors-allowed-origins",
    "--default-not-ready-toleration-seconds",
    "--default-unreachable-toleration-seconds",
    "--default-watch-cache-size",
    "--delete-collection-workers",
    "--disable-admission-plugins",
    "--emulated-version",
    "--enable-admission-plugins",
    "--enable-aggregator-routing",
    "--enable-bootstrap-token-auth",
    "--enable-garbage-collector",
    "--encryption-provider-config",
    "--endpoint-reconciler-type",
    "--etcd-cafile",
    "--etcd-certfile",
    "--etcd-compaction-interval",
    "--etcd-keyfile",
    "--etcd-prefix",
    "--etcd-servers",
    "--etcd-servers-overrides",
    "--event-ttl",
    "--external-hostname",
    "--feature-gates",
    "--goaway-chance",
    "--http2-max-streams-per-connection",
    "--kubelet-certificate-authority",
    "--kubelet-client-certificate",
    "--kubelet-client-key",
    "--kubelet-preferred-address-types",
    "--kubelet-timeout",
    "--lease-reuse-duration-seconds",
    "--livez-grace-period",
    "--logging-format",
    "--max-connection-bytes-per-sec",
    "--min-request-timeout",
    "--oidc-client-id",
    "--oidc-issuer-url",
    "--profiling",
    "--proxy-client-cert-file",
    "--proxy-client-key-file",
    "--requestheader-allowed-names",
    "--requestheader-client-ca-file",
    "--requestheader-extra-headers-prefix",
    "--requestheader-group-headers",
    "--requestheader-username-headers",
    "--runtime-config",
    "--secure-port",
    "--service-account-issuer",
    "--service-account-jwks-uri",
    "--service-account-key-file",
    "--service-account-lookup",
    "--service-account-signing-key-file",
    "--service-cluster-ip-range",
    "--service-node-port-range",
    "--shutdown-delay-duration",
    "--shutdown-send-retry-after",
    "--shutdown-watch-termination-grace-period",
    "--storage-backend",
    "--storage-media-type",
    "--tls-cert-file",
    "--tls-cipher-suites",
    "--tls-min-version",
    "--tls-private-key-file",
    "--token-auth-file",
    "--tracing-config-file",
    "--v",
    "-v",
    "--vmodule",
    "--watch-cache",
    "--watch-cache-sizes",
];

impl FlagTable {
    /// Name of the binary.
    pub fn component(self) -> &'static str {
        match self {
            FlagTable::ControllerManager => "kube-controller-manager",
            FlagTable::Scheduler => "kube-scheduler",
            FlagTable::ApiServer => "kube-apiserver",
        }
    }

    fn special(self) -> Special {
        match self {
            FlagTable::ControllerManager => Special::ControllerManagerFlag,
            FlagTable::Scheduler => Special::SchedulerFlag,
            FlagTable::ApiServer => Special::ApiServerFlag,
        }
    }

    /// Names of the flags that have an effect here.
    pub fn known_with_effect(self) -> impl Iterator<Item = &'static str> {
        self.with_effect().iter().map(|(flag, _)| *flag)
    }

    fn with_effect(self) -> &'static [(&'static str, Effect)] {
        match self {
            FlagTable::ControllerManager => CONTROLLER_MANAGER,
            FlagTable::Scheduler => SCHEDULER,
            FlagTable::ApiServer => API_SERVER,
        }
    }

    fn without_effect(self) -> impl Iterator<Item = &'static str> + Clone {
        let (common, own) = match self {
            FlagTable::ControllerManager => (COMMON_WITHOUT_EFFECT, CONTROLLER_MANAGER_WITHOUT_EFFECT),
            FlagTable::Scheduler => (COMMON_WITHOUT_EFFECT, SCHEDULER_WITHOUT_EFFECT),
            FlagTable::ApiServer => (&[][..], API_SERVER_WITHOUT_EFFECT),
        };
        common.iter().chain(own).copied()
    }
}

/// The flags of a component that have an effect.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Flags {
    /// `--min-resync-period`.
    pub min_resync_period: Option<Span>,
    /// `--concurrent-replicaset-syncs`.
    pub replicaset_syncs: Option<u32>,
    /// `--concurrent-deployment-syncs`.
    pub deployment_syncs: Option<u32>,
    /// `--concurrent-gc-syncs`.
    pub gc_syncs: Option<u32>,
    /// `--kube-api-qps`; negative for no limit.
    pub qps: Option<f64>,
    /// `--kube-api-burst`.
    pub burst: Option<i64>,
    /// `--max-requests-inflight`.
    pub max_requests_inflight: Option<u32>,
    /// `--max-mutating-requests-inflight`.
    pub max_mutating_requests_inflight: Option<u32>,
    /// `--enable-priority-and-fairness`.
    pub priority_and_fairness: Option<bool>,
    /// `--request-timeout`.
    pub request_timeout: Option<Span>,
}

/// Reads a list of flags, `--flag=value`, `--flag value`, or flag and value as two items.
pub fn read(list: &Entry<'_>, table: FlagTable) -> Flags {
    let mut flags = Flags::default();
    let mut items = list.items().into_iter().peekable();
    while let Some(item) = items.next() {
        item.is_a(table.special());
        let Some(text) = item.text() else { continue };
        let text = text.trim();
        let cut = text.find(['=', ' ']).unwrap_or(text.len());
        let (name, mut value) = (&text[..cut], text.get(cut + 1..).map(|value| value.trim().to_string()));
        if value.is_none() {
            let next = items.peek().and_then(|next| next.value.as_str()).filter(|next| !next.starts_with("--"));
            if let Some(next) = next {
                value = Some(next.to_string());
                items.next();
            }
        }
        if let Some((_, effect)) = table.with_effect().iter().find(|(flag, _)| *flag == name) {
            if let Err(wanted) = set(&mut flags, *effect, value.as_deref()) {
                let given = value.map_or("nothing".to_string(), |value| format!("`{value}`"));
                item.problem(Code::BadFlag, format!("{name} must be {wanted}, not {given}"), None);
            }
        } else if table.without_effect().any(|flag| flag == name) {
            let message = format!("{name} of {} has no effect in this version", table.component());
            let mut notice = item.document.problem(Code::NotSimulated, &item.path, Part::Value, message);
            notice.severity = Severity::Notice;
            item.add(notice);
        } else {
            let known = table.with_effect().iter().map(|(flag, _)| *flag).chain(table.without_effect());
            let help = suggest::did_you_mean(name, known);
            item.problem(Code::BadFlag, format!("{} has no flag `{name}`", table.component()), help);
        }
    }
    flags
}

fn set(flags: &mut Flags, effect: Effect, value: Option<&str>) -> Result<(), &'static str> {
    if effect == Effect::PriorityAndFairness {
        // A truth value may be left out, as with every flag of Go's.
        let truth = value.unwrap_or("true").parse::<bool>();
        flags.priority_and_fairness = Some(truth.map_err(|_| "true or false")?);
        return Ok(());
    }
    let value = value.ok_or("given a value")?;
    let workers = || value.parse::<u32>().ok().filter(|workers| *workers > 0).ok_or("a whole number above zero");
    let count = || value.parse::<u32>().map_err(|_| "a whole number from zero");
    match effect {
        Effect::MinResyncPeriod => {
            let ns = go_duration::parse(value).ok().filter(|ns| *ns >= 0).ok_or("a duration such as 12h or 5m")?;
            flags.min_resync_period = Some(Span(ns));
        }
        Effect::GcSyncs => flags.gc_syncs = Some(workers()?),
        Effect::ReplicasetSyncs => flags.replicaset_syncs = Some(workers()?),
        Effect::DeploymentSyncs => flags.deployment_syncs = Some(workers()?),
        Effect::MaxRequestsInflight => flags.max_requests_inflight = Some(count()?),
        Effect::MaxMutatingRequestsInflight => flags.max_mutating_requests_inflight = Some(count()?),
        Effect::RequestTimeout => {
            let ns = go_duration::parse(value).ok().filter(|ns| *ns > 0).ok_or("a duration above zero such as 1m")?;
            flags.request_timeout = Some(Span(ns));
        }
        Effect::PriorityAndFairness => {}
        Effect::Qps => {
            let qps = value.parse::<f64>().ok().filter(|qps| qps.is_finite() && *qps != 0.0);
            flags.qps = Some(qps.ok_or("a number other than zero (negative for no limit)")?);
        }
        Effect::Burst => {
            let burst = value.parse::<i64>().ok().filter(|burst| (1..=i64::from(i32::MAX)).contains(burst));
            flags.burst = Some(burst.ok_or("a whole number above zero")?);
        }
    }
    Ok(())
}
