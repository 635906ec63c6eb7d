//! What a new pod gets instead of what its template asks for.
//!
//! Upstream: vertical-pod-autoscaler/pkg/admission-controller/resource/pod/recommendation/recommendation_provider.go,
//! pkg/utils/vpa/limit_and_request_scaling.go, 1.6.

use super::amounts::{Amounts, Resource};
use super::pods::{PodContainer, Recommended, capped, find};
use super::spec::VpaSpec;

/// New amounts of a container; what is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NewResources {
    /// `resources.requests`.
    pub requests: Amounts,
    /// `resources.limits`.
    pub limits: Amounts,
}

/// New amounts for each container of a pod, in its order. `recommended` is what the status says.
pub fn new_resources(spec: &VpaSpec, containers: &[PodContainer], recommended: &[Recommended]) -> Vec<NewResources> {
    if !spec.update_mode.changes_new_pods() {
        return vec![NewResources::default(); containers.len()];
    }
    let capped = capped(spec, containers, recommended);
    containers.iter().map(|container| of_container(spec, container, &capped)).collect()
}

fn of_container(spec: &VpaSpec, container: &PodContainer, capped: &[Recommended]) -> NewResources {
    let requests = find(capped, &container.name).map_or_else(Amounts::default, |amounts| amounts.target);
    let limits_stay = spec.policy(container.name.as_str()).is_some_and(|policy| policy.requests_only);
    if limits_stay {
        return NewResources { requests, limits: Amounts::default() };
    }
    let mut limits = Amounts::default();
    for resource in super::amounts::RESOURCES {
        limits.set(resource, proportional_limit(resource, container, &requests));
    }
    NewResources { requests, limits }
}

/// The limit that is to the new request as the old limit was to the old request. `None`: there was none, or there is no
/// new request.
pub fn proportional_limit(resource: Resource, container: &PodContainer, requests: &Amounts) -> Option<i64> {
    let set = |amounts: &Amounts| amounts.get(resource).filter(|amount| *amount != 0);
    let (old_limit, new_request) = (set(&container.limits)?, set(requests)?);
    match set(&container.requests) {
        // A limit alone stands for a request of the same amount.
        None => Some(new_request),
        Some(old_request) if old_request == old_limit => Some(new_request),
        Some(old_request) => {
            let scaled = i128::from(old_limit) * i128::from(new_request) / i128::from(old_request);
            Some(i64::try_from(scaled).unwrap_or(i64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::recommender::ContainerRecommendation;
    use super::*;
    use crate::model::Name;

    fn container(requests: (Option<i64>, Option<i64>), limits: (Option<i64>, Option<i64>)) -> PodContainer {
        let amounts = |(cpu_milli, memory_bytes): (Option<i64>, Option<i64>)| Amounts { cpu_milli, memory_bytes };
        PodContainer {
            name: Name::new("a"),
            requests: amounts(requests),
            limits: amounts(limits),
            ..PodContainer::default()
        }
    }

    fn admitted(mode: &str, policy: Value, container: &PodContainer) -> NewResources {
        let spec = VpaSpec::of(&json!({"spec": {
            "updatePolicy": {"updateMode": mode}, "resourcePolicy": {"containerPolicies": [policy]},
        }}));
        let target = Amounts::new(250, 1000);
        let amounts = ContainerRecommendation { target, lower: target, upper: target };
        let recommended = [Recommended { container: Name::new("a"), amounts }];
        new_resources(&spec, std::slice::from_ref(container), &recommended)[0]
    }

    #[test]
    fn limits_keep_their_proportion() {
        let any = json!({"containerName": "*"});
        for (requests, limits, expected) in [
            // 100 -> 250 with a limit of 150: 150 * 250 / 100 = 375; 300 -> 1000 with 700: trunc(2333.33).
            ((Some(100), Some(300)), (Some(150), Some(700)), (Some(375), Some(2333))),
            ((Some(100), Some(300)), (Some(100), None), (Some(250), None)),
            ((None, None), (Some(150), Some(0)), (Some(250), None)),
            ((Some(100), Some(300)), (None, None), (None, None)),
            // 7e18 * 1000 / 1 is no 63-bit number.
            ((Some(1), Some(1)), (Some(1), Some(7_000_000_000_000_000_000)), (Some(250), Some(i64::MAX))),
        ] {
            let got = admitted("Initial", any.clone(), &container(requests, limits));
            assert_eq!(got.requests, Amounts::new(250, 1000));
            assert_eq!((got.limits.cpu_milli, got.limits.memory_bytes), expected, "{requests:?} {limits:?}");
        }
    }

    #[test]
    fn limits_stay_if_only_requests_are_controlled() {
        let policy = json!({"containerName": "a", "controlledValues": "RequestsOnly"});
        let got = admitted("Recreate", policy, &container((Some(100), Some(300)), (Some(150), Some(5000))));
        assert_eq!(got, NewResources { requests: Amounts::new(150, 1000), limits: Amounts::default() });
    }

    #[test]
    fn policy_bounds_new_pods() {
        let policy = json!({"containerName": "*", "maxAllowed": {"cpu": "200m"}, "minAllowed": {"memory": "2k"}});
        let got = admitted("InPlaceOrRecreate", policy, &container((Some(100), None), (Some(200), None)));
        assert_eq!(got.requests, Amounts::new(200, 2000));
        assert_eq!(got.limits, Amounts { cpu_milli: Some(400), memory_bytes: None });
    }

    #[test]
    fn mode_off_changes_nothing() {
        let got = admitted("Off", json!({"containerName": "*"}), &container((Some(1), None), (Some(2), None)));
        assert_eq!(got, NewResources::default());
    }
}
