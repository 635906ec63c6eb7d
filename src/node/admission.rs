//! Whether a kubelet accepts a pod that was bound to its node.
//!
//! Not modelled yet: the checks of ports, node affinity, taints and node pressure, which the scheduler makes too.
//!
//! Upstream: pkg/kubelet/lifecycle/predicate.go, `Admit` and `fitsRequest`
//! (pkg/scheduler/framework/plugins/noderesources/fit.go), v1.36.

use crate::model::{Container, Name, Node, PodSpec, Resources};

/// What pods need of a node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Number of pods.
    pub pods: i64,
    /// CPU, thousandths of a core.
    pub cpu_milli: i64,
    /// Memory, bytes.
    pub memory_bytes: i64,
    /// Ephemeral storage, bytes.
    pub ephemeral_storage_bytes: i64,
    /// Extended resources by name.
    pub extended: Vec<(Name, i64)>,
}

/// Why a pod was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// Reason in status and event, e.g. `OutOfcpu`.
    pub reason: &'static str,
    /// Text of the event.
    pub message: String,
}

impl Usage {
    /// What one pod needs: the larger of what its regular containers need together and what any init container needs, with
    /// the sidecars started before it.
    ///
    /// Upstream: component-helpers/resource/helpers.go, `PodRequests`, v1.36.
    pub fn of_pod(spec: &PodSpec) -> Usage {
        let (mut running, mut peak) = (Usage::default(), Usage::default());
        for init in &spec.init_containers {
            if init.is_sidecar {
                running.add_resources(&init.requests);
                peak.raise_to(&running);
            } else {
                let mut during = running.clone();
                during.add_resources(&init.requests);
                peak.raise_to(&during);
            }
        }
        spec.containers.iter().for_each(|container: &Container| running.add_resources(&container.requests));
        running.raise_to(&peak);
        if let Some(pod_level) = &spec.pod_requests {
            running.replace_by(pod_level);
        }
        if let Some(overhead) = &spec.overhead {
            running.add_resources(overhead);
        }
        Usage { pods: 1, ..running }
    }

    /// Adds what another needs.
    pub fn add(&mut self, other: &Usage) {
        self.pods += other.pods;
        self.cpu_milli += other.cpu_milli;
        self.memory_bytes += other.memory_bytes;
        self.ephemeral_storage_bytes += other.ephemeral_storage_bytes;
        other.extended.iter().for_each(|(name, amount)| *self.extended_mut(name) += amount);
    }

    fn add_resources(&mut self, resources: &Resources) {
        self.cpu_milli += resources.cpu_milli.unwrap_or(0);
        self.memory_bytes += resources.memory_bytes.unwrap_or(0);
        self.ephemeral_storage_bytes += resources.ephemeral_storage_bytes.unwrap_or(0);
        resources.extended.iter().for_each(|(name, amount)| *self.extended_mut(name) += amount);
    }

    fn raise_to(&mut self, other: &Usage) {
        self.cpu_milli = self.cpu_milli.max(other.cpu_milli);
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        self.ephemeral_storage_bytes = self.ephemeral_storage_bytes.max(other.ephemeral_storage_bytes);
        for (name, amount) in &other.extended {
            let own = self.extended_mut(name);
            *own = (*own).max(*amount);
        }
    }

    /// Pod-level requests count instead of those of the containers, for the resources they name.
    fn replace_by(&mut self, pod_level: &Resources) {
        self.cpu_milli = pod_level.cpu_milli.unwrap_or(self.cpu_milli);
        self.memory_bytes = pod_level.memory_bytes.unwrap_or(self.memory_bytes);
    }

    fn extended_mut(&mut self, name: &Name) -> &mut i64 {
        let position = self.extended.iter().position(|(own, _)| own == name).unwrap_or(self.extended.len());
        if position == self.extended.len() {
            self.extended.push((name.clone(), 0));
        }
        &mut self.extended[position].1
    }

    fn extended(&self, name: &Name) -> i64 {
        self.extended.iter().find(|(own, _)| own == name).map_or(0, |(_, amount)| *amount)
    }
}

/// Accepts a pod that needs `pod` on a node where `used` is in use already, or says why not. The first lack is the reason,
/// in the order pods, CPU, memory, ephemeral storage, extended resources.
///
/// # Errors
/// The rejection.
pub fn admit(pod: &Usage, used: &Usage, node: &Node) -> Result<(), Rejection> {
    let allocatable = &node.allocatable;
    let cpu = (pod.cpu_milli, used.cpu_milli, allocatable.cpu_milli);
    let memory = (pod.memory_bytes, used.memory_bytes, allocatable.memory_bytes);
    let storage = (pod.ephemeral_storage_bytes, used.ephemeral_storage_bytes, allocatable.ephemeral_storage_bytes);
    // The number of pods is checked whatever a node says; what is not asked for is not checked.
    check("OutOfpods", "pods", (pod.pods, used.pods, allocatable.pods))?;
    for (reason, resource, amounts) in [
        ("OutOfcpu", "cpu", cpu),
        ("OutOfmemory", "memory", memory),
        ("OutOfephemeral-storage", "ephemeral-storage", storage),
    ] {
        if amounts.0 > 0 {
            check(reason, resource, amounts)?;
        }
    }
    for (name, requested) in pod.extended.iter().filter(|(_, requested)| *requested > 0) {
        let capacity = allocatable.extended.iter().find(|(own, _)| own == name).map(|(_, amount)| *amount);
        // DIVERGES: the reason of an extended resource does not name it.
        check("OutOfExtendedResource", name.as_str(), (*requested, used.extended(name), capacity))?;
    }
    Ok(())
}

fn check(reason: &'static str, resource: &str, amounts: (i64, i64, Option<i64>)) -> Result<(), Rejection> {
    let (requested, used, capacity) = (amounts.0, amounts.1, amounts.2.unwrap_or(0));
    if requested <= capacity - used {
        return Ok(());
    }
    let message = format!(
        "Node didn't have enough resource: {resource}, requested: {requested}, used: {used}, capacity: {capacity}"
    );
    Err(Rejection { reason, message })
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::Meta;

    fn container(cpu_milli: i64, memory_bytes: i64, is_sidecar: bool) -> Container {
        let requests =
            Resources { cpu_milli: Some(cpu_milli), memory_bytes: Some(memory_bytes), ..Resources::default() };
        Container { requests, is_sidecar, ..Container::default() }
    }

    fn node() -> Node {
        let allocatable = Resources {
            cpu_milli: Some(4_000),
            memory_bytes: Some(1_000),
            pods: Some(3),
            extended: vec![("gpu".into(), 1)],
            ..Resources::default()
        };
        Node {
            meta: Meta::named("", "n1"),
            unschedulable: false,
            taints: Rc::new([]),
            capacity: Rc::new(allocatable.clone()),
            allocatable: Rc::new(allocatable),
            conditions: Vec::new(),
            images: Rc::new([]),
            source: None,
        }
    }

    fn usage(pods: i64, cpu_milli: i64, memory_bytes: i64) -> Usage {
        Usage { pods, cpu_milli, memory_bytes, ..Usage::default() }
    }

    #[test]
    fn the_first_lack_is_the_reason() {
        for (pod, used, expected) in [
            (usage(1, 1_000, 400), usage(2, 3_000, 600), None), // fits to the last unit
            (
                usage(1, 1_001, 400),
                usage(2, 3_000, 600),
                Some(("OutOfcpu", "cpu, requested: 1001, used: 3000, capacity: 4000")),
            ),
            (
                usage(1, 1_000, 401),
                usage(2, 3_000, 600),
                Some(("OutOfmemory", "memory, requested: 401, used: 600, capacity: 1000")),
            ),
            (usage(1, 9_000, 0), usage(3, 0, 0), Some(("OutOfpods", "pods, requested: 1, used: 3, capacity: 3"))),
            // Asks for nothing: fits on a node that is overcommitted.
            (usage(1, 0, 0), usage(2, 5_000, 2_000), None),
        ] {
            let rejection = admit(&pod, &used, &node()).err();
            let expected = expected.map(|(reason, rest)| Rejection {
                reason,
                message: format!("Node didn't have enough resource: {rest}"),
            });
            assert_eq!(rejection, expected, "{pod:?} beside {used:?}");
        }
        let gpu = |amount| Usage { extended: vec![("gpu".into(), amount)], ..usage(1, 0, 0) };
        assert!(admit(&gpu(1), &usage(0, 0, 0), &node()).is_ok());
        assert!(admit(&gpu(1), &gpu(1), &node()).is_err());
    }

    #[test]
    fn a_pod_needs_the_larger_of_starting_and_running() {
        // Starting: sidecar 100, then init 700 beside it = 800. Running: 100 + 200 + 300 = 600. Memory 1 + 9 against 1 + 2 + 3.
        let spec = PodSpec {
            init_containers: vec![container(100, 1, true), container(700, 9, false)],
            containers: vec![container(200, 2, false), container(300, 3, false)],
            ..PodSpec::default()
        };
        assert_eq!(Usage::of_pod(&spec), usage(1, 800, 10));
        let overhead = Resources { cpu_milli: Some(50), ..Resources::default() };
        let pod_requests = Resources { memory_bytes: Some(30), ..Resources::default() };
        let spec = PodSpec { overhead: Some(overhead), pod_requests: Some(pod_requests), ..spec };
        assert_eq!(Usage::of_pod(&spec), usage(1, 850, 30));
    }
}
