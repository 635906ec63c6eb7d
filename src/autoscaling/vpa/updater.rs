//! Which pods are worth replacing, and in which order.
//!
//! Upstream: vertical-pod-autoscaler/pkg/updater/priority/{update_priority_calculator,priority_processor,
//! scaling_direction_pod_eviction_admission}.go, 1.6.

use super::amounts::RESOURCES;
use super::pods::{PodView, Recommended, capped, find};
use super::spec::{EvictionRequirement, VpaSpec};
use crate::model::{Span, Time};

/// Flags of the updater.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// `--pod-update-threshold`: least relative change for a pod within the recommended range.
    pub min_change: f64,
    /// `--in-recommendation-bounds-eviction-lifetime-threshold`: least age of such a pod.
    pub least_age: Span,
    /// `--evict-after-oom-threshold`: a run that ends earlier for want of memory is a quick OOM.
    pub quick_oom: Span,
    /// `--min-replicas`: groups with fewer live pods are left alone.
    pub min_replicas: i64,
    /// `--eviction-tolerance`: share of a group that may be missing.
    pub eviction_tolerance: f64,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            min_change: 0.1,
            least_age: Span::from_seconds(12 * 3600),
            quick_oom: Span::from_seconds(10 * 60),
            min_replicas: 2,
            eviction_tolerance: 0.5,
        }
    }
}

/// How far a pod is from what is recommended to it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Priority {
    /// Some container is outside its bounds, or asks for nothing.
    pub outside_range: bool,
    /// Some container is to get more.
    pub scale_up: bool,
    /// Sum over the resources of the relative change of the whole pod.
    pub resource_diff: f64,
}

impl Priority {
    /// Compares a pod with recommendations that are capped already.
    pub fn of(pod: &PodView, recommended: &[Recommended]) -> Priority {
        let mut priority = Priority::default();
        for resource in RESOURCES {
            let (mut requested_milli, mut recommended_milli, mut is_recommended) = (0, 0, false);
            for container in &pod.containers {
                let Some(amounts) = find(recommended, &container.name) else { continue };
                let Some(target) = amounts.target.get(resource) else { continue };
                is_recommended = true;
                recommended_milli += resource.milli(target);
                // Defaults of the namespace are not looked at: no request is a request for nothing.
                let Some(request) = container.requests.get(resource) else {
                    (priority.scale_up, priority.outside_range) = (true, true);
                    continue;
                };
                requested_milli += resource.milli(request);
                priority.scale_up |= target > request;
                priority.outside_range |= amounts.lower.get(resource).is_some_and(|lower| request < lower)
                    || amounts.upper.get(resource).is_some_and(|upper| request > upper);
            }
            if is_recommended {
                let requested = (requested_milli as f64).max(1.0);
                priority.resource_diff += (requested - recommended_milli as f64).abs() / requested;
            }
        }
        priority
    }

    /// Whether this pod is worth replacing.
    pub fn is_candidate(&self, settings: &Settings, spec: &VpaSpec, pod: &PodView, now: Time) -> bool {
        let quick_oom = pod.containers.iter().any(|container| {
            !spec.is_off(container.name.as_str()) && container.oom_after.is_some_and(|after| after < settings.quick_oom)
        });
        if quick_oom && self.resource_diff == 0.0 {
            return false;
        }
        let is_old = pod.start_time.is_some_and(|start| now >= start + settings.least_age);
        self.outside_range || quick_oom || (is_old && self.resource_diff >= settings.min_change)
    }
}

/// The pods that are worth replacing, best first, by their place in `pods`.
///
/// Those that are to grow come first, then those that change more; equals stay in the order given.
pub fn update_order(
    settings: &Settings,
    spec: &VpaSpec,
    pods: &[PodView],
    recommended: &[Recommended],
    now: Time,
) -> Vec<usize> {
    let mut candidates: Vec<(usize, Priority)> = Vec::new();
    for (index, pod) in pods.iter().enumerate() {
        let capped = capped(spec, &pod.containers, recommended);
        let priority = Priority::of(pod, &capped);
        if priority.is_candidate(settings, spec, pod, now)
            && moves_as_required(&spec.eviction_requirements, pod, &capped)
        {
            candidates.push((index, priority));
        }
    }
    candidates.sort_by(|(_, a), (_, b)| {
        b.scale_up.cmp(&a.scale_up).then_with(|| b.resource_diff.total_cmp(&a.resource_diff))
    });
    candidates.into_iter().map(|(index, _)| index).collect()
}

/// Whether some container moves in every direction that is required, or asks for nothing of some resource.
fn moves_as_required(requirements: &[EvictionRequirement], pod: &PodView, recommended: &[Recommended]) -> bool {
    if requirements.is_empty() {
        return true;
    }
    pod.containers.iter().any(|container| {
        let Some(amounts) = find(recommended, &container.name) else { return false };
        let (Some(_), Some(_)) = (container.requests.cpu_milli, container.requests.memory_bytes) else { return true };
        requirements.iter().all(|requirement| {
            requirement.resources.iter().any(|resource| {
                // A resource that nobody controls counts as a target of nothing.
                let target = amounts.target.get(*resource).unwrap_or(0);
                let request = container.requests.get(*resource).unwrap_or(0);
                if requirement.wants_higher { target > request } else { target < request }
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::amounts::Amounts;
    use super::super::pods::PodContainer;
    use super::super::recommender::ContainerRecommendation;
    use super::*;
    use crate::model::Name;

    const NOW: Time = Time(1_000_000_000_000_000_000);

    fn recommended(lower: i64, target: i64, upper: i64) -> Vec<Recommended> {
        let amounts = ContainerRecommendation {
            target: Amounts { cpu_milli: Some(target), memory_bytes: None },
            lower: Amounts { cpu_milli: Some(lower), memory_bytes: None },
            upper: Amounts { cpu_milli: Some(upper), memory_bytes: None },
        };
        vec![Recommended { container: Name::new("a"), amounts }]
    }

    fn pod(age_hours: i64, cpu_milli: i64, oom_after_seconds: Option<i64>) -> PodView {
        let container = PodContainer {
            name: Name::new("a"),
            requests: Amounts { cpu_milli: Some(cpu_milli), memory_bytes: None },
            oom_after: oom_after_seconds.map(Span::from_seconds),
            ..PodContainer::default()
        };
        PodView { start_time: Some(NOW - Span::from_seconds(age_hours * 3600)), containers: vec![container] }
    }

    fn order(spec: &VpaSpec, pods: &[PodView]) -> Vec<usize> {
        update_order(&Settings::default(), spec, pods, &recommended(100, 200, 400), NOW)
    }

    #[test]
    fn candidates() {
        let cases = [
            // Outside the bounds: at once.
            (pod(0, 99, None), true),
            (pod(0, 401, None), true),
            // Within: |100 - 200| / 100 = 1 is enough after 12 h.
            (pod(0, 100, None), false),
            (pod(12, 100, None), true),
            // |220 - 200| / 220 = 0.0909 is not; |223 - 200| / 223 = 0.103 is.
            (pod(12, 220, None), false),
            (pod(12, 223, None), true),
            // A quick OOM, unless nothing would change.
            (pod(0, 150, Some(599)), true),
            (pod(0, 150, Some(600)), false),
            (pod(99, 200, Some(1)), false),
        ];
        for (pod, is_candidate) in cases {
            assert_eq!(!order(&VpaSpec::default(), std::slice::from_ref(&pod)).is_empty(), is_candidate, "{pod:?}");
        }
    }

    #[test]
    fn a_pod_without_request_is_outside() {
        let mut bare = pod(0, 0, None);
        bare.containers[0].requests = Amounts::default();
        let priority = Priority::of(&bare, &recommended(1, 2, 3));
        // |1 - 2| / 1
        assert_eq!(priority, Priority { outside_range: true, scale_up: true, resource_diff: 1.0 });
    }

    #[test]
    fn growth_first_then_the_larger_change() {
        let pods = [pod(0, 800, None), pod(0, 90, None), pod(0, 500, None), pod(0, 50, None), pod(0, 90, None)];
        // Growing: 50 (3.0), 90 (1.22) twice; shrinking: 800 (0.75), 500 (0.6).
        assert_eq!(order(&VpaSpec::default(), &pods), [3, 1, 4, 0, 2]);
    }

    #[test]
    fn requirements_hold_back_the_other_direction() {
        let spec = VpaSpec::of(&json!({"spec": {"updatePolicy": {"updateMode": "Recreate", "evictionRequirements": [
            {"resources": ["cpu"], "changeRequirement": "TargetHigherThanRequests"},
        ]}}}));
        let mut pods = [pod(0, 800, None), pod(0, 50, None), pod(0, 700, None)];
        for pod in &mut pods[..2] {
            pod.containers[0].requests.memory_bytes = Some(1);
        }
        // The third has no memory request, which admits it.
        assert_eq!(order(&spec, &pods), [1, 2]);
    }

    #[test]
    fn a_container_that_is_off_has_no_quick_oom() {
        let spec = VpaSpec::of(&json!({"spec": {"resourcePolicy": {"containerPolicies": [
            {"containerName": "a", "mode": "Off"},
        ]}}}));
        assert!(order(&spec, &[pod(0, 150, Some(1))]).is_empty());
    }
}
