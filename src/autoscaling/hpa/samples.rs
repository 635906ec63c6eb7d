//! What metrics APIs answer: the last published sample, never the truth of this moment.

pub use crate::component::{PublishedMetrics, Sample};

use crate::model::Pod;
use crate::model::autoscaling::{MetricIdentifier, ScaleTarget};

/// A cluster without metrics APIs.
#[derive(Clone, Copy, Debug)]
pub struct NothingPublished;

impl PublishedMetrics for NothingPublished {
    fn pod_resource(&self, _: &Pod, _: Option<&str>, _: &str) -> Option<Sample> {
        None
    }

    fn pod_metric(&self, _: &Pod, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn object_metric(&self, _: &ScaleTarget, _: &MetricIdentifier) -> Option<Sample> {
        None
    }

    fn external_metric(&self, _: &MetricIdentifier) -> Vec<Sample> {
        Vec::new()
    }
}
