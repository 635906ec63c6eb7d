//! What metrics APIs answer: the last published sample, never the truth of this moment.

use crate::model::autoscaling::{MetricIdentifier, ScaleTarget};
use crate::model::{Pod, Span, Time};

/// One published number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// Thousandths of a unit (memory: bytes x 1000).
    pub value_milli: i64,
    /// When it was measured: the end of its window.
    pub at: Time,
    /// Over how long.
    pub window: Span,
}

/// The metrics APIs of a cluster, as of now. Nothing published is `None` (or no series).
pub trait PublishedMetrics {
    /// `cpu` or `memory` of a pod, or of one container of it. A pod has a sample when each of its containers has one.
    fn pod_resource(&self, pod: &Pod, container: Option<&str>, resource: &str) -> Option<Sample>;
    /// A custom metric of a pod.
    fn pod_metric(&self, pod: &Pod, metric: &MetricIdentifier) -> Option<Sample>;
    /// A custom metric of an object in the namespace of the autoscaler.
    fn object_metric(&self, described: &ScaleTarget, metric: &MetricIdentifier) -> Option<Sample>;
    /// The series of an external metric; none: the query fails.
    fn external_metric(&self, metric: &MetricIdentifier) -> Vec<Sample>;
}
