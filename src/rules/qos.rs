//! Quality of service of a pod.
//!
//! Upstream: pkg/apis/core/v1/helper/qos/qos.go, `ComputePodQOS`, v1.36.

use crate::model::{PodSpec, QosClass, Resources};

/// CPU and memory of one or many lists, amounts of zero or less left out.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Totals {
    cpu_milli: Option<i64>,
    memory_bytes: Option<i64>,
}

impl Totals {
    fn of(resources: &Resources) -> Totals {
        let positive = |amount: Option<i64>| amount.filter(|amount| *amount > 0);
        Totals { cpu_milli: positive(resources.cpu_milli), memory_bytes: positive(resources.memory_bytes) }
    }

    fn add(&mut self, other: Totals) {
        let sum = |a: Option<i64>, b: Option<i64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (one, other) => one.or(other),
        };
        self.cpu_milli = sum(self.cpu_milli, other.cpu_milli);
        self.memory_bytes = sum(self.memory_bytes, other.memory_bytes);
    }

    fn is_complete(self) -> bool {
        self.cpu_milli.is_some() && self.memory_bytes.is_some()
    }
}

/// The class of a pod, from requests and limits at pod level if it has any, else from all its containers.
pub fn class(spec: &PodSpec) -> QosClass {
    let (mut requests, mut limits, mut every_limit) = (Totals::default(), Totals::default(), true);
    let mut take = |requested: &Resources, limited: &Resources| {
        let limit = Totals::of(limited);
        every_limit &= limit.is_complete();
        requests.add(Totals::of(requested));
        limits.add(limit);
    };
    if spec.pod_requests.is_some() || spec.pod_limits.is_some() {
        let none = Resources::default();
        take(spec.pod_requests.as_ref().unwrap_or(&none), spec.pod_limits.as_ref().unwrap_or(&none));
    } else {
        for container in spec.containers.iter().chain(&spec.init_containers) {
            take(&container.requests, &container.limits);
        }
    }
    match () {
        () if requests == Totals::default() && limits == Totals::default() => QosClass::BestEffort,
        () if every_limit && requests == limits => QosClass::Guaranteed,
        () => QosClass::Burstable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Container;

    fn amounts(cpu_milli: i64, memory_bytes: i64) -> Resources {
        Resources { cpu_milli: Some(cpu_milli), memory_bytes: Some(memory_bytes), ..Resources::default() }
    }

    fn container(requests: Resources, limits: Resources) -> Container {
        Container { requests, limits, ..Container::default() }
    }

    #[test]
    fn classes() {
        let full = container(amounts(100, 10), amounts(100, 10));
        let zero = container(amounts(0, 0), Resources::default());
        let half = container(amounts(50, 10), amounts(100, 10));
        let of = |containers: &[&Container]| {
            class(&PodSpec { containers: containers.iter().map(|c| (*c).clone()).collect(), ..PodSpec::default() })
        };
        assert_eq!(of(&[]), QosClass::BestEffort);
        assert_eq!(of(&[&zero]), QosClass::BestEffort);
        assert_eq!(of(&[&full, &full]), QosClass::Guaranteed);
        assert_eq!(of(&[&full, &zero]), QosClass::Burstable);
        assert_eq!(of(&[&half]), QosClass::Burstable);
        // At pod level only that counts.
        let spec = PodSpec {
            containers: vec![zero],
            pod_requests: Some(amounts(1, 1)),
            pod_limits: Some(amounts(1, 1)),
            ..PodSpec::default()
        };
        assert_eq!(class(&spec), QosClass::Guaranteed);
    }
}
