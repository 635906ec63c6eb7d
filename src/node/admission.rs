//! Whether a kubelet accepts a pod that was bound to its node.
//!
//! Not modelled yet: the checks of ports, node affinity, taints and node pressure, which the scheduler makes too.
//!
//! Upstream: pkg/kubelet/lifecycle/predicate.go, `Admit` and `fitsRequest`
//! (pkg/scheduler/framework/plugins/noderesources/fit.go), v1.36.

use crate::model::{Node, PodSpec, Resources};
use crate::rules::pod_requests;

/// What becomes of a pod that its kubelet refuses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RejectedPods {
    /// It has failed, and stays on its node; who owns it makes another.
    #[default]
    Failed,
    /// It is Pending again, without a node, and the scheduler tries it once more: a teaching variant.
    Pending,
}

/// Why a pod was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// Reason in status and event, e.g. `OutOfcpu`.
    pub reason: &'static str,
    /// Text of the event.
    pub message: String,
}

/// What a pod takes of a node: its effective requests and one place.
pub fn needs(spec: &PodSpec) -> Resources {
    Resources { pods: Some(1), ..pod_requests::requests(spec) }
}

/// Accepts a pod that needs `pod` (see [`needs`]) on a node where `used` is in use already, or says why not. The first lack
/// is the reason, in the order pods, CPU, memory, ephemeral storage, extended resources.
///
/// # Errors
/// The rejection.
pub fn admit(pod: &Resources, used: &Resources, node: &Node) -> Result<(), Rejection> {
    let all = [pod, used, &*node.allocatable];
    check("OutOfpods", "pods", all.map(|of| of.pods))?;
    check("OutOfcpu", "cpu", all.map(|of| of.cpu_milli))?;
    check("OutOfmemory", "memory", all.map(|of| of.memory_bytes))?;
    check("OutOfephemeral-storage", "ephemeral-storage", all.map(|of| of.ephemeral_storage_bytes))?;
    for (name, _) in &pod.extended {
        let of =
            |resources: &Resources| resources.extended.iter().find(|(own, _)| own == name).map(|(_, amount)| *amount);
        // DIVERGES: upstream's reason names the resource; ours does not (it is in the message).
        check("OutOfExtendedResource", name.as_str(), all.map(of))?;
    }
    Ok(())
}

/// What is not asked for is not checked; what a node does not name it does not have.
fn check(reason: &'static str, resource: &str, amounts: [Option<i64>; 3]) -> Result<(), Rejection> {
    let [requested, used, capacity] = amounts.map(|amount| amount.unwrap_or(0));
    if requested == 0 || requested <= capacity - used {
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
    use crate::model::{Container, Meta};

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

    fn usage(pods: i64, cpu_milli: i64, memory_bytes: i64) -> Resources {
        let (pods, cpu_milli, memory_bytes) = (Some(pods), Some(cpu_milli), Some(memory_bytes));
        Resources { pods, cpu_milli, memory_bytes, ..Resources::default() }
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
        let gpu = |amount| Resources { extended: vec![("gpu".into(), amount)], ..usage(1, 0, 0) };
        assert!(admit(&gpu(1), &usage(0, 0, 0), &node()).is_ok());
        assert!(admit(&gpu(1), &gpu(1), &node()).is_err());
    }

    #[test]
    fn a_pod_takes_a_place() {
        let requests = Resources { cpu_milli: Some(200), ..Resources::default() };
        let container = Container { requests, ..Container::default() };
        let spec = PodSpec { containers: vec![container.clone(), container], ..PodSpec::default() };
        assert_eq!(needs(&spec), Resources { cpu_milli: Some(400), pods: Some(1), ..Resources::default() });
    }
}
