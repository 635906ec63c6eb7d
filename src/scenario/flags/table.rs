//! The flags of the real binaries: what each takes, and what it changes here.
//!
//! Upstream: cmd/kube-controller-manager/app/options, cmd/kube-scheduler/app/options, cmd/kube-apiserver/app/options,
//! component-base/{logs,metrics,cli/flag}, v1.36. One table serves all versions: a flag that came lately does no harm in an
//! older one.

use super::FlagTable;
use super::value::Form;

/// What a flag changes here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Period of the informers' resyncs.
    MinResyncPeriod,
    /// Workers of the ReplicaSet controller.
    ReplicasetSyncs,
    /// Workers of the garbage collector.
    GcSyncs,
    /// Workers of the Deployment controller.
    DeploymentSyncs,
    /// Rate of the client.
    Qps,
    /// Burst of the client.
    Burst,
    /// Which gates are on.
    FeatureGates,
    /// Reads at once.
    MaxRequestsInflight,
    /// Writes at once.
    MaxMutatingRequestsInflight,
    /// Whether requests wait in queues by their flow.
    PriorityAndFairness,
    /// The longest that a request may take.
    RequestTimeout,
    /// Whether replicas elect a leader.
    LeaderElect,
    /// How long a lease holds.
    LeaseDuration,
    /// How long a leader tries to renew.
    RenewDeadline,
    /// Pause between attempts.
    RetryPeriod,
    /// Kind of the lock.
    ResourceLock,
    /// Name of the Lease.
    ResourceName,
    /// Namespace of the Lease.
    ResourceNamespace,
}

/// A flag with an effect here.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// With its dashes.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it changes.
    pub effect: Effect,
    /// The same for a reader: what it is, and its default.
    pub meaning: &'static str,
}

const fn flag(name: &'static str, form: Form, effect: Effect, meaning: &'static str) -> Flag {
    Flag { name, form, effect, meaning }
}

const QPS: Flag =
    flag("--kube-api-qps", Form::Qps, Effect::Qps, "requests a second of each API client; negative: no limit");
const BURST: Flag = flag("--kube-api-burst", Form::Workers, Effect::Burst, "requests that may go out at once");
const GATES: Flag = flag("--feature-gates", Form::Gates, Effect::FeatureGates, "see the gates below");
const ELECTION: [Flag; 7] = [
    flag("--leader-elect", Form::Switch, Effect::LeaderElect, "whether replicas elect one of them; true"),
    flag("--leader-elect-lease-duration", Form::Duration, Effect::LeaseDuration, "how long a lease holds; 15s"),
    flag(
        "--leader-elect-renew-deadline",
        Form::Duration,
        Effect::RenewDeadline,
        "how long a leader tries to renew; 10s",
    ),
    flag("--leader-elect-retry-period", Form::Duration, Effect::RetryPeriod, "pause between two attempts; 2s"),
    flag("--leader-elect-resource-lock", Form::Words(&["leases"]), Effect::ResourceLock, "kind of the lock: leases"),
    flag("--leader-elect-resource-name", Form::Name, Effect::ResourceName, "name of the Lease; that of the component"),
    flag("--leader-elect-resource-namespace", Form::Name, Effect::ResourceNamespace, "its namespace; kube-system"),
];

const CONTROLLER_MANAGER: &[Flag] = &[
    flag("--min-resync-period", Form::Span, Effect::MinResyncPeriod, "least period of the informers' resyncs; 12h"),
    flag(
        "--concurrent-replicaset-syncs",
        Form::Workers,
        Effect::ReplicasetSyncs,
        "workers of the ReplicaSet controller; 5",
    ),
    flag(
        "--concurrent-deployment-syncs",
        Form::Workers,
        Effect::DeploymentSyncs,
        "workers of the Deployment controller; 5",
    ),
    flag("--concurrent-gc-syncs", Form::Workers, Effect::GcSyncs, "workers of the garbage collector; 20"),
    QPS,
    BURST,
    GATES,
    ELECTION[0],
    ELECTION[1],
    ELECTION[2],
    ELECTION[3],
    ELECTION[4],
    ELECTION[5],
    ELECTION[6],
];

const SCHEDULER: &[Flag] =
    &[QPS, BURST, GATES, ELECTION[0], ELECTION[1], ELECTION[2], ELECTION[3], ELECTION[4], ELECTION[5], ELECTION[6]];

const API_SERVER: &[Flag] = &[
    flag("--max-requests-inflight", Form::Count, Effect::MaxRequestsInflight, "reads at once; 400"),
    flag("--max-mutating-requests-inflight", Form::Count, Effect::MaxMutatingRequestsInflight, "writes at once; 200"),
    flag(
        "--enable-priority-and-fairness",
        Form::Switch,
        Effect::PriorityAndFairness,
        "whether the sum of both is shared out to levels, whose requests wait in queues; true",
    ),
    flag("--request-timeout", Form::PositiveSpan, Effect::RequestTimeout, "the longest that a request may take; 1m"),
    GATES,
];

/// Flags without an effect, by what they take.
type Group = (Form, &'static [&'static str]);

/// Logs, metrics, versions: every binary has them.
const COMMON: &[Group] = &[
    (
        Form::Switch,
        &[
            "--contention-profiling",
            "--disable-http2-serving",
            "--emulation-forward-compatible",
            "--help",
            "--log-json-split-stream",
            "--log-text-split-stream",
            "--permit-address-sharing",
            "--permit-port-sharing",
            "--profiling",
            "-h",
        ],
    ),
    (Form::Whole, &["--http2-max-streams-per-connection", "--secure-port", "--v", "-v"]),
    (Form::Optional, &["--version"]),
    (Form::Duration, &["--log-flush-frequency"]),
    (Form::Words(&["json", "text"]), &["--logging-format"]),
    (
        Form::Text,
        &[
            "--allow-metric-labels",
            "--allow-metric-labels-manifest",
            "--bind-address",
            "--cert-dir",
            "--client-ca-file",
            "--disabled-metrics",
            "--emulated-version",
            "--log-json-info-buffer-size",
            "--log-text-info-buffer-size",
            "--min-compatibility-version",
            "--requestheader-allowed-names",
            "--requestheader-client-ca-file",
            "--requestheader-extra-headers-prefix",
            "--requestheader-group-headers",
            "--requestheader-uid-headers",
            "--requestheader-username-headers",
            "--show-hidden-metrics-for-version",
            "--tls-cert-file",
            "--tls-cipher-suites",
            "--tls-curve-preferences",
            "--tls-min-version",
            "--tls-private-key-file",
            "--tls-sni-cert-key",
            "--vmodule",
        ],
    ),
];

/// What both clients of the API server have.
const CLIENTS: &[Group] = &[
    (Form::Switch, &["--authentication-skip-lookup", "--authentication-tolerate-lookup-failure"]),
    (
        Form::Duration,
        &[
            "--authentication-token-webhook-cache-ttl",
            "--authorization-webhook-cache-authorized-ttl",
            "--authorization-webhook-cache-unauthorized-ttl",
        ],
    ),
    (
        Form::Text,
        &[
            "--authentication-kubeconfig",
            "--authorization-always-allow-paths",
            "--authorization-kubeconfig",
            "--kube-api-content-type",
            "--kubeconfig",
            "--master",
        ],
    ),
];

const CONTROLLER_MANAGER_ONLY: &[Group] = &[
    (
        Form::Switch,
        &[
            "--allocate-node-cidrs",
            "--allow-untagged-cloud",
            "--configure-cloud-routes",
            "--disable-attach-detach-reconcile-sync",
            "--disable-force-detach-on-timeout",
            "--enable-dynamic-provisioning",
            "--enable-garbage-collector",
            "--enable-hostpath-provisioner",
            "--enable-leader-migration",
            "--use-service-account-credentials",
        ],
    ),
    (
        Form::Workers,
        &[
            "--concurrent-cron-job-syncs",
            "--concurrent-daemonset-syncs",
            "--concurrent-device-taint-eviction-syncs",
            "--concurrent-endpoint-syncs",
            "--concurrent-ephemeralvolume-syncs",
            "--concurrent-horizontal-pod-autoscaler-syncs",
            "--concurrent-job-syncs",
            "--concurrent-namespace-syncs",
            "--concurrent-rc-syncs",
            "--concurrent-resource-quota-syncs",
            "--concurrent-resourceclaim-syncs",
            "--concurrent-service-endpoint-syncs",
            "--concurrent-service-syncs",
            "--concurrent-serviceaccount-token-syncs",
            "--concurrent-statefulset-syncs",
            "--concurrent-ttl-after-finished-syncs",
            "--concurrent-validating-admission-policy-status-syncs",
            "--mirroring-concurrent-service-endpoint-syncs",
        ],
    ),
    (
        Form::Whole,
        &[
            "--large-cluster-size-threshold",
            "--max-endpoints-per-slice",
            "--mirroring-max-endpoints-per-subset",
            "--node-cidr-mask-size",
            "--node-cidr-mask-size-ipv4",
            "--node-cidr-mask-size-ipv6",
            "--pv-recycler-increment-timeout-nfs",
            "--pv-recycler-minimum-timeout-hostpath",
            "--pv-recycler-minimum-timeout-nfs",
            "--pv-recycler-timeout-increment-hostpath",
            "--terminated-pod-gc-threshold",
        ],
    ),
    (
        Form::Number,
        &[
            "--horizontal-pod-autoscaler-tolerance",
            "--node-eviction-rate",
            "--secondary-node-eviction-rate",
            "--unhealthy-zone-threshold",
        ],
    ),
    (
        Form::Duration,
        &[
            "--attach-detach-reconcile-sync-period",
            "--cluster-signing-duration",
            "--controller-start-interval",
            "--endpoint-updates-batch-period",
            "--endpointslice-updates-batch-period",
            "--horizontal-pod-autoscaler-cpu-initialization-period",
            "--horizontal-pod-autoscaler-downscale-stabilization",
            "--horizontal-pod-autoscaler-initial-readiness-delay",
            "--horizontal-pod-autoscaler-sync-period",
            "--legacy-service-account-token-clean-up-period",
            "--mirroring-endpointslice-updates-batch-period",
            "--namespace-sync-period",
            "--node-monitor-grace-period",
            "--node-monitor-period",
            "--node-startup-grace-period",
            "--pvclaimbinder-sync-period",
            "--resource-quota-sync-period",
            "--route-reconciliation-period",
        ],
    ),
    (
        Form::Text,
        &[
            "--cidr-allocator-type",
            "--cloud-config",
            "--cloud-provider",
            "--cluster-cidr",
            "--cluster-name",
            "--cluster-signing-cert-file",
            "--cluster-signing-key-file",
            "--cluster-signing-kube-apiserver-client-cert-file",
            "--cluster-signing-kube-apiserver-client-key-file",
            "--cluster-signing-kubelet-client-cert-file",
            "--cluster-signing-kubelet-client-key-file",
            "--cluster-signing-kubelet-serving-cert-file",
            "--cluster-signing-kubelet-serving-key-file",
            "--cluster-signing-legacy-unknown-cert-file",
            "--cluster-signing-legacy-unknown-key-file",
            "--controllers",
            "--external-cloud-volume-plugin",
            "--flex-volume-plugin-dir",
            "--leader-migration-config",
            "--pv-recycler-pod-template-filepath-hostpath",
            "--pv-recycler-pod-template-filepath-nfs",
            "--root-ca-file",
            "--service-account-private-key-file",
            "--service-cluster-ip-range",
        ],
    ),
];

const SCHEDULER_ONLY: &[Group] = &[
    (Form::Duration, &["--pod-max-in-unschedulable-pods-duration"]),
    (Form::Text, &["--config", "--write-config-to"]),
];

const API_SERVER_ONLY: &[Group] = &[
    (
        Form::Switch,
        &[
            "--aggregator-reject-forwarding-redirect",
            "--allow-privileged",
            "--anonymous-auth",
            "--audit-log-batch-throttle-enable",
            "--audit-log-compress",
            "--audit-log-truncate-enabled",
            "--audit-webhook-batch-throttle-enable",
            "--audit-webhook-truncate-enabled",
            "--enable-aggregator-routing",
            "--enable-bootstrap-token-auth",
            "--enable-garbage-collector",
            "--enable-logs-handler",
            "--encryption-provider-config-automatic-reload",
            "--runtime-config-emulation-forward-compatible",
            "--service-account-extend-token-expiration",
            "--service-account-lookup",
            "--shutdown-send-retry-after",
            "--watch-cache",
        ],
    ),
    (
        Form::Whole,
        &[
            "--apiserver-count",
            "--audit-log-batch-buffer-size",
            "--audit-log-batch-max-size",
            "--audit-log-batch-throttle-burst",
            "--audit-log-maxage",
            "--audit-log-maxbackup",
            "--audit-log-maxsize",
            "--audit-log-truncate-max-batch-size",
            "--audit-log-truncate-max-event-size",
            "--audit-webhook-batch-buffer-size",
            "--audit-webhook-batch-max-size",
            "--audit-webhook-batch-throttle-burst",
            "--audit-webhook-truncate-max-batch-size",
            "--audit-webhook-truncate-max-event-size",
            "--coordinated-leadership-lease-duration",
            "--default-not-ready-toleration-seconds",
            "--default-unreachable-toleration-seconds",
            "--default-watch-cache-size",
            "--delete-collection-workers",
            "--etcd-compaction-batch-limit",
            "--kubelet-port",
            "--kubelet-read-only-port",
            "--lease-max-object-count",
            "--lease-reuse-duration-seconds",
            "--max-connection-bytes-per-sec",
            "--min-request-timeout",
        ],
    ),
    (Form::Number, &["--audit-log-batch-throttle-qps", "--audit-webhook-batch-throttle-qps", "--goaway-chance"]),
    (
        Form::Duration,
        &[
            "--audit-log-batch-max-wait",
            "--audit-webhook-batch-max-wait",
            "--audit-webhook-initial-backoff",
            "--authentication-token-webhook-cache-ttl",
            "--authorization-webhook-cache-authorized-ttl",
            "--authorization-webhook-cache-unauthorized-ttl",
            "--etcd-compaction-interval",
            "--etcd-count-metric-poll-period",
            "--etcd-db-metric-poll-interval",
            "--etcd-healthcheck-timeout",
            "--etcd-readycheck-timeout",
            "--event-ttl",
            "--kubelet-timeout",
            "--livez-grace-period",
            "--service-account-max-token-expiration",
            "--shutdown-delay-duration",
            "--shutdown-watch-termination-grace-period",
            "--storage-initialization-timeout",
        ],
    ),
    (
        Form::Text,
        &[
            "--admission-control",
            "--admission-control-config-file",
            "--advertise-address",
            "--api-audiences",
            "--audit-log-format",
            "--audit-log-mode",
            "--audit-log-path",
            "--audit-log-version",
            "--audit-policy-file",
            "--audit-webhook-config-file",
            "--audit-webhook-mode",
            "--audit-webhook-version",
            "--authentication-config",
            "--authentication-token-webhook-config-file",
            "--authentication-token-webhook-version",
            "--authorization-config",
            "--authorization-mode",
            "--authorization-policy-file",
            "--authorization-webhook-config-file",
            "--authorization-webhook-version",
            "--cors-allowed-origins",
            "--debug-socket-path",
            "--disable-admission-plugins",
            "--egress-selector-config-file",
            "--enable-admission-plugins",
            "--encryption-provider-config",
            "--endpoint-reconciler-type",
            "--etcd-cafile",
            "--etcd-certfile",
            "--etcd-keyfile",
            "--etcd-prefix",
            "--etcd-servers",
            "--etcd-servers-overrides",
            "--external-hostname",
            "--kubelet-certificate-authority",
            "--kubelet-client-certificate",
            "--kubelet-client-key",
            "--kubelet-preferred-address-types",
            "--kubernetes-service-node-port",
            "--oidc-ca-file",
            "--oidc-client-id",
            "--oidc-groups-claim",
            "--oidc-groups-prefix",
            "--oidc-issuer-url",
            "--oidc-required-claim",
            "--oidc-signing-algs",
            "--oidc-username-claim",
            "--oidc-username-prefix",
            "--peer-advertise-ip",
            "--peer-advertise-port",
            "--peer-ca-file",
            "--proxy-client-cert-file",
            "--proxy-client-key-file",
            "--runtime-config",
            "--service-account-issuer",
            "--service-account-jwks-uri",
            "--service-account-key-file",
            "--service-account-signing-endpoint",
            "--service-account-signing-key-file",
            "--service-cluster-ip-range",
            "--service-node-port-range",
            "--storage-backend",
            "--storage-media-type",
            "--strict-transport-security-directives",
            "--token-auth-file",
            "--tracing-config-file",
            "--watch-cache-sizes",
        ],
    ),
];

/// Flags of old versions that static Pods of old clusters still have; the minor version from which they are gone.
const GONE: &[(&str, u8)] = &[
    ("--add-dir-header", 26),
    ("--address", 24),
    ("--algorithm-provider", 23),
    ("--alsologtostderr", 26),
    ("--basic-auth-file", 19),
    ("--deleting-pods-burst", 24),
    ("--deleting-pods-qps", 24),
    ("--enable-swagger-ui", 20),
    ("--enable-taint-manager", 27),
    ("--etcd-quorum-read", 19),
    ("--experimental-cluster-signing-duration", 25),
    ("--experimental-encryption-provider-config", 24),
    ("--experimental-logging-sanitization", 24),
    ("--hard-pod-affinity-symmetric-weight", 23),
    ("--horizontal-pod-autoscaler-downscale-delay", 20),
    ("--horizontal-pod-autoscaler-upscale-delay", 20),
    ("--horizontal-pod-autoscaler-use-rest-clients", 22),
    ("--insecure-bind-address", 24),
    ("--insecure-port", 24),
    ("--kubelet-https", 22),
    ("--lock-object-name", 24),
    ("--lock-object-namespace", 24),
    ("--log-backtrace-at", 26),
    ("--log-dir", 26),
    ("--log-file", 26),
    ("--log-file-max-size", 26),
    ("--logtostderr", 26),
    ("--master-service-namespace", 27),
    ("--node-sync-period", 21),
    ("--one-output", 26),
    ("--pod-eviction-timeout", 27),
    ("--policy-config-file", 23),
    ("--policy-configmap", 23),
    ("--policy-configmap-namespace", 23),
    ("--port", 24),
    ("--register-retry-count", 24),
    ("--repair-malformed-updates", 16),
    ("--scheduler-name", 23),
    ("--service-account-api-audiences", 25),
    ("--skip-headers", 26),
    ("--skip-log-headers", 26),
    ("--stderrthreshold", 26),
    ("--target-ram-mb", 24),
    ("--use-legacy-policy-config", 23),
    ("--volume-host-allow-local-loopback", 28),
    ("--volume-host-cidr-denylist", 28),
];

/// The minor version from which a flag is gone.
pub fn gone_since(name: &str) -> Option<u8> {
    GONE.iter().find(|(known, _)| *known == name).map(|(_, since)| *since)
}

impl FlagTable {
    /// Flags with an effect here.
    pub fn with_effect(self) -> &'static [Flag] {
        match self {
            FlagTable::ControllerManager => CONTROLLER_MANAGER,
            FlagTable::Scheduler => SCHEDULER,
            FlagTable::ApiServer => API_SERVER,
        }
    }

    /// Real flags without an effect in this version, with what they take.
    pub fn without_effect(self) -> impl Iterator<Item = (&'static str, Form)> + Clone {
        let (clients, own) = match self {
            FlagTable::ControllerManager => (CLIENTS, CONTROLLER_MANAGER_ONLY),
            FlagTable::Scheduler => (CLIENTS, SCHEDULER_ONLY),
            FlagTable::ApiServer => (&[][..], API_SERVER_ONLY),
        };
        let groups = COMMON.iter().chain(clients).chain(own);
        groups.flat_map(|(form, names)| names.iter().map(|name| (*name, *form)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_stands_in_one_row() {
        for table in FlagTable::ALL {
            let mut names: Vec<&str> = table.with_effect().iter().map(|flag| flag.name).collect();
            names.extend(table.without_effect().map(|(name, _)| name));
            let known = names.len();
            assert!(names.iter().all(|name| gone_since(name).is_none()), "{}", table.component());
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), known, "{}", table.component());
        }
    }
}
