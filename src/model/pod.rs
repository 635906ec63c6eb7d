//! Pods, their specs and templates.

use std::rc::Rc;

use super::{
    Condition, ConditionStatus, Labels, Meta, Name, Requirement, Resources, Selector, Source, Time, find_condition,
    hash_json,
};

/// A pod: a spec shared with all pods of its template, and the few values that change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pod {
    /// Metadata.
    pub meta: Meta,
    /// The immutable part of the spec.
    pub spec: Rc<PodSpec>,
    /// `spec.nodeName`, empty until bound.
    pub node_name: Name,
    /// Status.
    pub status: PodStatus,
    /// The pod's manifest, or its template's.
    pub source: Source,
}

/// The immutable part of a pod's spec.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodSpec {
    /// Init containers in order, sidecars (restartPolicy Always) among them.
    pub init_containers: Vec<Container>,
    /// Regular containers.
    pub containers: Vec<Container>,
    /// Pod-level resources: requests.
    pub pod_requests: Option<Resources>,
    /// Pod-level resources: limits.
    pub pod_limits: Option<Resources>,
    /// `overhead`.
    pub overhead: Option<Resources>,
    /// `nodeSelector`.
    pub node_selector: Labels,
    /// `affinity.nodeAffinity`.
    pub node_affinity: Option<NodeAffinity>,
    /// `affinity.podAffinity`.
    pub pod_affinity: PodAffinity,
    /// `affinity.podAntiAffinity`.
    pub pod_anti_affinity: PodAffinity,
    /// `topologySpreadConstraints`.
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// `tolerations`, those added at admission included.
    pub tolerations: Vec<Toleration>,
    /// `priority`, resolved.
    pub priority: i32,
    /// `preemptionPolicy: Never`: the pod waits and makes no room for itself.
    pub never_preempts: bool,
    /// `priorityClassName`.
    pub priority_class_name: Name,
    /// `schedulerName`.
    pub scheduler_name: Name,
    /// `restartPolicy`.
    pub restart_policy: RestartPolicy,
    /// `terminationGracePeriodSeconds`.
    pub termination_grace_period_seconds: i64,
    /// `hostNetwork`.
    pub host_network: bool,
    /// `schedulingGates`.
    pub scheduling_gates: Vec<Name>,
    /// `readinessGates`: extra conditions that must be True for Ready.
    pub readiness_gates: Vec<Name>,
    /// Images of `volumes[].image`.
    pub image_volumes: Vec<Name>,
}

/// When containers are started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RestartPolicy {
    /// Always.
    #[default]
    Always,
    /// Only after a failure.
    OnFailure,
    /// Never.
    Never,
}

impl RestartPolicy {
    /// As manifests write it.
    pub fn as_str(self) -> &'static str {
        match self {
            RestartPolicy::Always => "Always",
            RestartPolicy::OnFailure => "OnFailure",
            RestartPolicy::Never => "Never",
        }
    }
}

/// When images are pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PullPolicy {
    /// Pull when the node does not have it.
    #[default]
    IfNotPresent,
    /// Ask the registry at each start.
    Always,
    /// Never pull.
    Never,
}

/// A container of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Container {
    /// `name`.
    pub name: Name,
    /// `image`.
    pub image: Name,
    /// `imagePullPolicy`, defaulted from the tag.
    pub pull_policy: PullPolicy,
    /// `resources.requests`, those filled from limits included.
    pub requests: Resources,
    /// `resources.limits`.
    pub limits: Resources,
    /// `ports`.
    pub ports: Vec<ContainerPort>,
    /// An init container with restartPolicy Always.
    pub is_sidecar: bool,
    /// `readinessProbe` is given.
    pub readiness_probe: Option<Probe>,
    /// `livenessProbe` is given.
    pub liveness_probe: Option<Probe>,
    /// `startupProbe` is given.
    pub startup_probe: Option<Probe>,
}

/// Timings of a probe, seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// `initialDelaySeconds`
    pub initial_delay_seconds: i64,
    /// `periodSeconds`
    pub period_seconds: i64,
    /// `timeoutSeconds`
    pub timeout_seconds: i64,
    /// `successThreshold`
    pub success_threshold: i64,
    /// `failureThreshold`
    pub failure_threshold: i64,
}

/// A port of a container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContainerPort {
    /// `name`, empty when none.
    pub name: Name,
    /// `containerPort`
    pub container_port: i32,
    /// `hostPort`, 0 when none.
    pub host_port: i32,
    /// `hostIP`, empty for all addresses.
    pub host_ip: Name,
    /// `protocol`: TCP, UDP or SCTP.
    pub protocol: Name,
}

/// `affinity.nodeAffinity`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeAffinity {
    /// Required terms, any of which must match; `None` when the field is absent.
    pub required: Option<Vec<NodeSelectorTerm>>,
    /// Preferred terms with weights 1..100.
    pub preferred: Vec<(i32, NodeSelectorTerm)>,
}

/// A node selector term: all its requirements must hold. A term without any matches nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeSelectorTerm {
    /// On labels.
    pub match_expressions: Vec<Requirement>,
    /// On fields (`metadata.name`).
    pub match_fields: Vec<Requirement>,
}

/// `affinity.podAffinity` or `affinity.podAntiAffinity`: which pods should be near, or should not.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodAffinity {
    /// Required terms, all of which must hold.
    pub required: Vec<PodAffinityTerm>,
    /// Preferred terms with weights 1..100.
    pub preferred: Vec<(i32, PodAffinityTerm)>,
}

impl PodAffinity {
    /// Whether it asks for nothing.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.preferred.is_empty()
    }
}

/// A set of pods, and the node label whose equal values count as the same place.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodAffinityTerm {
    /// `labelSelector`; `None` selects no pod.
    pub selector: Option<Selector>,
    /// `namespaces`; with an absent namespace selector and no names the pod's own namespace is meant.
    pub namespaces: Vec<Name>,
    /// `namespaceSelector`; an empty one selects all namespaces.
    pub namespace_selector: Option<Selector>,
    /// `topologyKey`.
    pub topology_key: Name,
    /// `matchLabelKeys`: the API server adds the pod's own values of these labels to the selector when the pod is created.
    pub match_label_keys: Vec<Name>,
    /// `mismatchLabelKeys`: the same, as values that must differ.
    pub mismatch_label_keys: Vec<Name>,
}

/// One of `topologySpreadConstraints`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TopologySpreadConstraint {
    /// `maxSkew`.
    pub max_skew: i32,
    /// `topologyKey`.
    pub topology_key: Name,
    /// `whenUnsatisfiable: DoNotSchedule`; otherwise `ScheduleAnyway`.
    pub is_required: bool,
    /// `labelSelector`; `None` selects no pod.
    pub selector: Option<Selector>,
    /// `minDomains`.
    pub min_domains: Option<i32>,
    /// `nodeAffinityPolicy: Honor` (the default): nodes that the pod's node affinity excludes do not count.
    pub honors_node_affinity: bool,
    /// `nodeTaintsPolicy: Honor` (not the default): nodes with taints that the pod does not tolerate do not count.
    pub honors_node_taints: bool,
    /// `matchLabelKeys`, as for affinity terms.
    pub match_label_keys: Vec<Name>,
}

/// Effect of a taint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods prefer other nodes.
    PreferNoSchedule,
    /// New pods stay away, running ones are evicted.
    NoExecute,
}

impl TaintEffect {
    /// As manifests write it.
    pub fn as_str(self) -> &'static str {
        match self {
            TaintEffect::NoSchedule => "NoSchedule",
            TaintEffect::PreferNoSchedule => "PreferNoSchedule",
            TaintEffect::NoExecute => "NoExecute",
        }
    }
}

/// A toleration of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Toleration {
    /// `key`, empty for all keys.
    pub key: Name,
    /// `operator: Exists`; otherwise the value must be equal.
    pub exists: bool,
    /// `value`.
    pub value: Name,
    /// `effect`, `None` for all.
    pub effect: Option<TaintEffect>,
    /// `tolerationSeconds`, for NoExecute.
    pub toleration_seconds: Option<i64>,
}

/// Phase of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PodPhase {
    /// Not all containers have started.
    #[default]
    Pending,
    /// Running.
    Running,
    /// All containers ended well and none will restart.
    Succeeded,
    /// All containers ended, one badly, and none will restart.
    Failed,
    /// Not known.
    Unknown,
}

impl PodPhase {
    /// As status writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            PodPhase::Pending => "Pending",
            PodPhase::Running => "Running",
            PodPhase::Succeeded => "Succeeded",
            PodPhase::Failed => "Failed",
            PodPhase::Unknown => "Unknown",
        }
    }
}

/// Quality of service, fixed at creation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum QosClass {
    /// No requests or limits.
    #[default]
    BestEffort,
    /// Some.
    Burstable,
    /// Limits equal requests for CPU and memory in every container.
    Guaranteed,
}

impl QosClass {
    /// As status writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            QosClass::BestEffort => "BestEffort",
            QosClass::Burstable => "Burstable",
            QosClass::Guaranteed => "Guaranteed",
        }
    }
}

/// Status of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodStatus {
    /// `phase`.
    pub phase: PodPhase,
    /// `conditions`, in the order they were first set.
    pub conditions: Vec<Condition>,
    /// `startTime`, whole seconds: when the kubelet first saw the pod.
    pub start_time: Option<Time>,
    /// `podIP`.
    pub pod_ip: Name,
    /// `nominatedNodeName`.
    pub nominated_node_name: Name,
    /// `qosClass`.
    pub qos_class: QosClass,
    /// `reason`, e.g. `Evicted`.
    pub reason: Name,
    /// `message`.
    pub message: Name,
    /// `containerStatuses`, in the order of the spec.
    pub containers: Vec<ContainerStatus>,
    /// `initContainerStatuses`, in the order of the spec.
    pub init_containers: Vec<ContainerStatus>,
}

/// Status of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerStatus {
    /// Its name.
    pub name: Name,
    /// `ready`.
    pub ready: bool,
    /// `restartCount`.
    pub restart_count: i32,
    /// `state`.
    pub state: ContainerState,
    /// `lastState`: how the run before ended.
    pub last: Option<Box<ContainerState>>,
    /// What it holds while it is resized in place: the larger of `allocatedResources` and `resources.requests`, resource by
    /// resource; `None` unless one of them is given.
    pub held: Option<Rc<Resources>>,
}

/// State of a container.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ContainerState {
    /// Not started, with a reason such as `ContainerCreating`.
    Waiting {
        /// `reason`
        reason: Name,
    },
    /// Running since.
    Running {
        /// `startedAt`, whole seconds.
        started_at: Time,
    },
    /// Ended.
    Terminated {
        /// `exitCode`
        exit_code: i32,
        /// `reason`
        reason: Name,
        /// `startedAt`, whole seconds.
        started_at: Time,
        /// `finishedAt`, whole seconds.
        finished_at: Time,
    },
}

/// A pod template. Two templates are the same when their sources are equal, whatever fields we type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodTemplate {
    /// `metadata.labels`.
    pub labels: Labels,
    /// `metadata.annotations`.
    pub annotations: Labels,
    /// `spec`.
    pub spec: Rc<PodSpec>,
    /// The template as JSON, defaulted, without the label `pod-template-hash`.
    pub source: Rc<serde_json::Value>,
    /// [`hash_json`] of the source: two templates with different hashes are different.
    pub source_hash: u64,
}

impl PodTemplate {
    /// A template of this JSON, and what is typed of it.
    pub fn new(labels: Labels, annotations: Labels, spec: PodSpec, source: serde_json::Value) -> PodTemplate {
        let source_hash = hash_json(&source);
        PodTemplate { labels, annotations, spec: Rc::new(spec), source: Rc::new(source), source_hash }
    }
}

impl Pod {
    /// The Ready condition, if set.
    pub fn ready_condition(&self) -> Option<&Condition> {
        find_condition(&self.status.conditions, "Ready")
    }

    /// Whether the Ready condition is True.
    pub fn is_ready(&self) -> bool {
        self.ready_condition().is_some_and(|ready| ready.status == ConditionStatus::True)
    }

    /// Whether the phase is Succeeded or Failed.
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether controllers count it: neither terminal nor being deleted.
    ///
    /// Upstream: pkg/controller/controller_utils.go, `IsPodActive`, v1.36.
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.meta.is_deleting()
    }

    /// Whether it has been Ready for `min_ready_seconds`.
    ///
    /// Upstream: pkg/api/v1/pod/util.go, `IsPodAvailable`, v1.36.
    pub fn is_available(&self, min_ready_seconds: i32, now: Time) -> bool {
        let Some(ready) = self.ready_condition().filter(|ready| ready.status == ConditionStatus::True) else {
            return false;
        };
        min_ready_seconds == 0 || ready.last_transition + super::Span::from_seconds(i64::from(min_ready_seconds)) <= now
    }
}
