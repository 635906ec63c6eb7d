//! HorizontalPodAutoscalers (`autoscaling/v2`): what they aim at, and what they report.

use std::rc::Rc;

use super::{Condition, Labels, Meta, Name, Source, Time};

/// A HorizontalPodAutoscaler.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HorizontalPodAutoscaler {
    /// Metadata.
    pub meta: Meta,
    /// Spec, defaulted.
    pub spec: Rc<HorizontalPodAutoscalerSpec>,
    /// Status.
    pub status: HorizontalPodAutoscalerStatus,
    /// The manifest, as `autoscaling/v2`.
    pub source: Source,
}

/// What an autoscaler scales: `scaleTargetRef`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ScaleTarget {
    /// `apiVersion`.
    pub api_version: Name,
    /// `kind`.
    pub kind: Name,
    /// `name`, in the autoscaler's own namespace.
    pub name: Name,
}

/// `spec` of a HorizontalPodAutoscaler, defaulted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HorizontalPodAutoscalerSpec {
    /// `scaleTargetRef`.
    pub target: ScaleTarget,
    /// `minReplicas`.
    pub min_replicas: i32,
    /// `maxReplicas`.
    pub max_replicas: i32,
    /// `metrics`; the largest proposal wins.
    pub metrics: Vec<MetricSpec>,
    /// `behavior`; without it other rules hold, not merely other defaults.
    pub behavior: Option<ScalingBehavior>,
}

/// One of `metrics`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetricSpec {
    /// Where the number comes from.
    pub source: MetricSource,
    /// What it should be.
    pub target: MetricTarget,
}

/// The name of a custom or external metric, with the labels that choose its series.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MetricIdentifier {
    /// `name`.
    pub name: Name,
    /// `selector.matchLabels`; expressions are kept in the text of the manifest only.
    pub labels: Labels,
}

/// Where a metric comes from: the five `type`s.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MetricSource {
    /// `Resource`: cpu or memory of whole pods.
    Resource {
        /// `name`.
        resource: Name,
    },
    /// `ContainerResource`: cpu or memory of one container of each pod.
    ContainerResource {
        /// `name`.
        resource: Name,
        /// `container`.
        container: Name,
    },
    /// `Pods`: a custom metric of each pod.
    Pods {
        /// `metric`.
        metric: MetricIdentifier,
    },
    /// `Object`: a custom metric of one object.
    Object {
        /// `metric`.
        metric: MetricIdentifier,
        /// `describedObject`.
        described: ScaleTarget,
    },
    /// `External`: series from outside the cluster, summed.
    External {
        /// `metric`.
        metric: MetricIdentifier,
    },
}

impl MetricSource {
    /// As `type` writes it.
    pub fn as_str(&self) -> &'static str {
        match self {
            MetricSource::Resource { .. } => "Resource",
            MetricSource::ContainerResource { .. } => "ContainerResource",
            MetricSource::Pods { .. } => "Pods",
            MetricSource::Object { .. } => "Object",
            MetricSource::External { .. } => "External",
        }
    }

    /// The resource or the metric.
    pub fn name(&self) -> &Name {
        match self {
            MetricSource::Resource { resource } | MetricSource::ContainerResource { resource, .. } => resource,
            MetricSource::Pods { metric } | MetricSource::Object { metric, .. } | MetricSource::External { metric } => {
                &metric.name
            }
        }
    }
}

/// What a metric should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MetricTarget {
    /// `Utilization`: percent of the requests.
    Utilization(i32),
    /// `AverageValue`: thousandths of a unit per pod (memory: bytes x 1000).
    AverageValue(i64),
    /// `Value`: thousandths of a unit in all.
    Value(i64),
}

/// `behavior`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalingBehavior {
    /// `scaleUp`.
    pub scale_up: ScalingRules,
    /// `scaleDown`.
    pub scale_down: ScalingRules,
}

/// `behavior.scaleUp` or `behavior.scaleDown`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalingRules {
    /// `stabilizationWindowSeconds`; `None` for the controller's own setting (scaling down only).
    pub stabilization_window_seconds: Option<i32>,
    /// `selectPolicy`.
    pub select_policy: SelectPolicy,
    /// `policies`.
    pub policies: Vec<ScalingPolicy>,
    /// `tolerance`, billionths; `None` for the controller's own setting.
    pub tolerance_nano: Option<i64>,
}

/// Which policy counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SelectPolicy {
    /// The one that allows the largest change.
    #[default]
    Max,
    /// The one that allows the smallest change.
    Min,
    /// None: no scaling in this direction.
    Disabled,
}

/// One of `policies`: how much may change within a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScalingPolicy {
    /// Whether `value` is a percentage (`Percent`) or a number of pods (`Pods`).
    pub is_percent: bool,
    /// `value`.
    pub value: i32,
    /// `periodSeconds`.
    pub period_seconds: i32,
}

/// `status` of a HorizontalPodAutoscaler.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HorizontalPodAutoscalerStatus {
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `lastScaleTime`, whole seconds.
    pub last_scale_time: Option<Time>,
    /// `currentReplicas`: before the write of the last sync.
    pub current_replicas: i32,
    /// `desiredReplicas`.
    pub desired_replicas: i32,
    /// `currentMetrics`, in the order of the spec; failed ones are left out.
    pub current_metrics: Vec<MetricStatus>,
    /// `conditions`, in the order they were first set.
    pub conditions: Vec<Condition>,
}

/// One of `currentMetrics`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MetricStatus {
    /// Of which metric.
    pub source: MetricSource,
    /// What was read.
    pub current: MetricValue,
}

/// What was read of a metric.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MetricValue {
    /// `averageUtilization`, percent.
    pub utilization: Option<i32>,
    /// `averageValue`, thousandths.
    pub average_milli: Option<i64>,
    /// `value`, thousandths.
    pub value_milli: Option<i64>,
}
