//! A pod with what its spec asks for, computed once.
//!
//! Upstream: pkg/scheduler/framework/types.go, `PodInfo`, `Resource`, v1.36.

use std::rc::Rc;

use crate::model::{ContainerPort, Name, Pod};
use crate::rules::pod_requests;

/// Index of CPU, thousandths of a core, in arrays of amounts.
pub const CPU: usize = 0;
/// Index of memory, bytes.
pub const MEMORY: usize = 1;
/// Index of ephemeral storage, bytes.
pub const EPHEMERAL_STORAGE: usize = 2;
/// Index of the number of pods.
pub const PODS: usize = 3;

/// Amounts by the indexes above.
pub type Amounts = [i64; 4];

/// A port of the node that a pod takes.
///
/// Upstream: pkg/scheduler/framework/types.go, `HostPortInfo`, v1.36.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostPort {
    /// Address; all of them when it is `0.0.0.0`.
    pub ip: Name,
    /// Protocol.
    pub protocol: Name,
    /// Number.
    pub port: i32,
}

/// What a pod takes from its node.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Requests {
    /// Effective requests; one pod.
    pub amounts: Amounts,
    /// CPU and memory with 100m and 200Mi assumed for containers that name none (scores only).
    pub nonzero: [i64; 2],
    /// Extended resources and huge pages, sorted by name, zeros included.
    pub extended: Vec<(Name, i64)>,
}

impl Requests {
    /// The requests of a pod.
    pub fn of(pod: &Pod) -> Requests {
        let resized = pod_requests::while_resized(pod);
        let spec = resized.as_ref().unwrap_or(&pod.spec);
        let effective = pod_requests::requests(spec);
        let nonzero = pod_requests::nonzero_requests(spec);
        Requests {
            amounts: [
                effective.cpu_milli.unwrap_or(0),
                effective.memory_bytes.unwrap_or(0),
                effective.ephemeral_storage_bytes.unwrap_or(0),
                1,
            ],
            nonzero: [nonzero.cpu_milli.unwrap_or(0), nonzero.memory_bytes.unwrap_or(0)],
            extended: effective.extended,
        }
    }

    /// The amount of an extended resource.
    pub fn extended(&self, name: &Name) -> i64 {
        amount_of(&self.extended, name)
    }
}

/// The amount with this name; 0 when the list, sorted by name, has none.
pub fn amount_of(list: &[(Name, i64)], name: &Name) -> i64 {
    list.iter().find(|(other, _)| other == name).map_or(0, |(_, amount)| *amount)
}

/// A pod with its requests.
#[derive(Clone, PartialEq, Debug)]
pub struct PodInfo {
    /// The pod as last seen.
    pub pod: Rc<Pod>,
    /// What it takes.
    pub requests: Requests,
    /// Host ports of its containers and sidecars.
    pub host_ports: Vec<HostPort>,
}

impl PodInfo {
    /// Computes what the pod takes.
    pub fn new(pod: Rc<Pod>) -> PodInfo {
        let (requests, host_ports) = (Requests::of(&pod), host_ports(&pod));
        PodInfo { pod, requests, host_ports }
    }

    /// The same with a newer version of the pod, whose spec has not changed.
    pub fn with_pod(&self, pod: Rc<Pod>) -> PodInfo {
        PodInfo { pod, requests: self.requests.clone(), host_ports: self.host_ports.clone() }
    }
}

/// The ports of the node that a pod takes.
///
/// Upstream: pkg/scheduler/util/utils.go, `GetHostPorts`, and `HostPortInfo.sanitize`, v1.36: no address means all of them,
/// no protocol TCP; ports of plain init containers do not count. Under `hostNetwork` every port is one of the node, which the
/// API server writes into the pods that are made from a template.
fn host_ports(pod: &Pod) -> Vec<HostPort> {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar);
    let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    let or = |text: &Name, default: &'static str| if text.is_empty() { Name::from(default) } else { text.clone() };
    let number = |port: &ContainerPort| match port.host_port {
        0 if pod.spec.host_network => port.container_port,
        given => given,
    };
    let taken = ports.filter(|port| number(port) > 0).map(|port| HostPort {
        ip: or(&port.host_ip, "0.0.0.0"),
        protocol: or(&port.protocol, "TCP"),
        port: number(port),
    });
    taken.collect()
}
