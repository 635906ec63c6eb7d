//! Which pods count for a metric that each pod has.
//!
//! Upstream: pkg/controller/podautoscaler/replica_calculator.go, `groupPods`, v1.36.

use std::rc::Rc;

use super::samples::Sample;
use super::settings::Settings;
use crate::model::{ConditionStatus, Pod, PodPhase, Time};

/// Pods by what becomes of their sample; numbers are places in the list of pods.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodGroups {
    /// Counted, with their samples.
    pub ready: Vec<(usize, Sample)>,
    /// Not up yet: their samples are dropped, and they count as nothing when more pods are wanted.
    pub unready: Vec<usize>,
    /// Without a sample.
    pub missing: Vec<usize>,
    /// Failed or being deleted.
    pub ignored: Vec<usize>,
    /// Whether any pod had a sample, dropped ones included.
    pub any_sample: bool,
}

/// Sorts pods. Only CPU looks at readiness: a starting pod burns CPU that says nothing about load.
pub fn group(
    pods: &[Rc<Pod>],
    is_cpu: bool,
    settings: &Settings,
    now: Time,
    sample_of: &dyn Fn(&Pod) -> Option<Sample>,
) -> PodGroups {
    let mut groups = PodGroups::default();
    for (index, pod) in pods.iter().enumerate() {
        let sample = sample_of(pod);
        groups.any_sample |= sample.is_some();
        if pod.meta.is_deleting() || pod.status.phase == PodPhase::Failed {
            groups.ignored.push(index);
        } else if pod.status.phase == PodPhase::Pending {
            groups.unready.push(index);
        } else {
            match sample {
                None => groups.missing.push(index),
                Some(sample) if is_cpu && is_starting(pod, sample, settings, now) => groups.unready.push(index),
                Some(sample) => groups.ready.push((index, sample)),
            }
        }
    }
    groups
}

/// Whether a CPU sample is not one of a pod that does its work.
fn is_starting(pod: &Pod, sample: Sample, settings: &Settings, now: Time) -> bool {
    let (Some(ready), Some(started)) = (pod.ready_condition(), pod.status.start_time) else { return true };
    let is_not_ready = ready.status == ConditionStatus::False;
    if now < started + settings.cpu_initialization_period {
        // The whole window has to lie behind the last change of readiness.
        is_not_ready || sample.at < ready.last_transition + sample.window
    } else {
        // Never became ready since it started.
        is_not_ready && ready.last_transition < started + settings.initial_readiness_delay
    }
}
