//! A pod as the VPA looks at it, and what is recommended to it after policy and limits had their say.
//!
//! Upstream: vertical-pod-autoscaler/pkg/utils/vpa/capping.go, 1.6.

use super::amounts::Amounts;
use super::recommender::ContainerRecommendation;
use super::spec::VpaSpec;
use crate::model::{Container, ContainerState, Name, Pod, Resources, Span, Time};

/// The recommendation of a container by its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recommended {
    /// Name of the container.
    pub container: Name,
    /// Target and bounds.
    pub amounts: ContainerRecommendation,
}

/// A container of a pod: what it asks for and how it last ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodContainer {
    /// Its name.
    pub name: Name,
    /// `resources.requests`.
    pub requests: Amounts,
    /// `resources.limits`.
    pub limits: Amounts,
    /// How long its last run took, if that run was ended for want of memory.
    pub oom_after: Option<Span>,
}

/// What the updater reads of a pod.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PodView {
    /// `status.startTime`.
    pub start_time: Option<Time>,
    /// Containers in the order of the spec.
    pub containers: Vec<PodContainer>,
}

impl PodView {
    /// Reads a pod.
    pub fn of(pod: &Pod) -> PodView {
        let oom_after = |name: &Name| {
            let status = pod.status.containers.iter().find(|status| status.name == *name)?;
            match status.last.as_deref()? {
                ContainerState::Terminated { reason, started_at, finished_at, .. }
                    if reason.as_str() == "OOMKilled" =>
                {
                    Some(*finished_at - *started_at)
                }
                _ => None,
            }
        };
        let containers = pod.spec.containers.iter();
        let containers = containers
            .map(|container| PodContainer { oom_after: oom_after(&container.name), ..PodContainer::of(container) });
        PodView { start_time: pod.status.start_time, containers: containers.collect() }
    }
}

impl PodContainer {
    /// Reads a container of a spec, which has not run yet.
    pub fn of(container: &Container) -> PodContainer {
        let amounts =
            |resources: &Resources| Amounts { cpu_milli: resources.cpu_milli, memory_bytes: resources.memory_bytes };
        PodContainer {
            name: container.name.clone(),
            requests: amounts(&container.requests),
            limits: amounts(&container.limits),
            oom_after: None,
        }
    }
}

/// What is recommended to the containers that a pod has: within the policy, and, where limits stay as they are, not above
/// them.
pub fn capped(spec: &VpaSpec, containers: &[PodContainer], recommended: &[Recommended]) -> Vec<Recommended> {
    let capped = recommended.iter().filter_map(|recommended| {
        let container = containers.iter().find(|container| container.name == recommended.container)?;
        let policy = spec.policy(recommended.container.as_str());
        let amounts = policy.map_or(recommended.amounts, |policy| {
            let within = recommended.amounts.bounded(&policy.min_allowed, &policy.max_allowed);
            match policy.requests_only {
                true => within.map(|amounts| below(amounts, &container.limits)),
                false => within,
            }
        });
        Some(Recommended { container: container.name.clone(), amounts })
    });
    capped.collect()
}

fn below(amounts: &Amounts, limits: &Amounts) -> Amounts {
    amounts.map(|resource, amount| limits.get(resource).map_or(amount, |limit| amount.min(limit)))
}

/// The recommendation of a container.
pub fn find<'a>(recommended: &'a [Recommended], container: &Name) -> Option<&'a ContainerRecommendation> {
    recommended.iter().find(|recommended| recommended.container == *container).map(|recommended| &recommended.amounts)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::rules::codec;

    #[test]
    fn limits_bound_only_requests_that_leave_them_alone() {
        let container = |name: &str| PodContainer {
            name: Name::new(name),
            limits: Amounts { cpu_milli: Some(150), memory_bytes: None },
            ..PodContainer::default()
        };
        let recommended = |name: &str| Recommended {
            container: Name::new(name),
            amounts: ContainerRecommendation {
                target: Amounts::new(200, 50),
                lower: Amounts::new(100, 20),
                upper: Amounts::new(900, 99),
            },
        };
        let spec = VpaSpec::of(&json!({"spec": {"resourcePolicy": {"containerPolicies": [
            {"containerName": "fixed", "controlledValues": "RequestsOnly", "minAllowed": {"memory": "60"}},
        ]}}}));
        let containers = [container("fixed"), container("free")];
        let asked = [recommended("fixed"), recommended("free"), recommended("gone")];
        let capped = capped(&spec, &containers, &asked);
        let fixed = ContainerRecommendation {
            target: Amounts::new(150, 60),
            lower: Amounts::new(100, 60),
            upper: Amounts::new(150, 99),
        };
        assert_eq!(capped, [Recommended { container: Name::new("fixed"), amounts: fixed }, recommended("free")]);
    }

    #[test]
    fn a_pod_tells_how_its_containers_ended() {
        let ended = |reason: &str| {
            json!({"terminated": {"exitCode": 137, "reason": reason,
            "startedAt": "2026-01-01T00:00:00Z", "finishedAt": "2026-01-01T00:01:30Z"}})
        };
        let status = |name: &str, last: serde_json::Value| {
            json!({"name": name, "ready": false, "restartCount": 1,
            "image": "i", "imageID": "i", "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": last})
        };
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [
                {"name": "a", "image": "i", "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}},
                {"name": "b", "image": "i"},
            ]},
            "status": {"startTime": "2026-01-01T00:00:00Z",
                "containerStatuses": [status("a", ended("OOMKilled")), status("b", ended("Error"))]}});
        let pod = codec::decode(&pod).unwrap();
        let view = PodView::of(pod.as_pod().unwrap());
        assert!(view.start_time.is_some());
        assert_eq!(view.containers[0].oom_after, Some(Span::from_seconds(90)));
        assert_eq!(view.containers[0].requests.cpu_milli, Some(100));
        assert_eq!(view.containers[0].limits.memory_bytes, Some(1 << 30));
        assert_eq!((view.containers[1].oom_after, view.containers[1].requests), (None, Amounts::default()));
    }
}
