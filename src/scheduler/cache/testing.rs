//! Small objects for tests.

use std::rc::Rc;

use super::Cache;
use crate::model::{Container, Meta, Name, Node, Pod, PodSpec, PodStatus, Resources, Taint, TaintEffect, Toleration};

/// A node with 10 CPU, 10 GiB and 110 pods.
pub fn node(name: &str) -> Node {
    sized_node(name, 10_000, 10 << 30)
}

/// A node with this allocatable and 110 pods.
pub fn sized_node(name: &str, cpu_milli: i64, memory_bytes: i64) -> Node {
    let allocatable = Rc::new(Resources {
        cpu_milli: Some(cpu_milli),
        memory_bytes: Some(memory_bytes),
        pods: Some(110),
        ..Resources::default()
    });
    Node {
        meta: Meta::named("", name),
        unschedulable: false,
        taints: Rc::new([]),
        capacity: allocatable.clone(),
        allocatable,
        conditions: Vec::new(),
        images: Rc::new([]),
        source: None,
    }
}

/// A pending pod without requests, uid `default/NAME`.
pub fn pod(name: &str) -> Pod {
    let spec = PodSpec {
        containers: vec![Container { name: "main".into(), ..Container::default() }],
        scheduler_name: "default-scheduler".into(),
        ..PodSpec::default()
    };
    Pod {
        meta: Meta { uid: Name::from(format!("default/{name}")), ..Meta::named("default", name) },
        spec: Rc::new(spec),
        node_name: Name::EMPTY,
        status: PodStatus::default(),
        source: None,
    }
}

/// A pending pod with these requests; 0 leaves a request out.
pub fn pod_with(name: &str, cpu_milli: i64, memory_bytes: i64) -> Pod {
    let mut pod = pod(name);
    let named = |amount: i64| (amount != 0).then_some(amount);
    Rc::make_mut(&mut pod.spec).containers[0].requests =
        Resources { cpu_milli: named(cpu_milli), memory_bytes: named(memory_bytes), ..Resources::default() };
    pod
}

/// A bound pod with these requests.
pub fn bound(name: &str, node: &str, cpu_milli: i64, memory_bytes: i64) -> Pod {
    Pod { node_name: node.into(), ..pod_with(name, cpu_milli, memory_bytes) }
}

/// A taint.
pub fn taint(key: &str, value: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.into(), value: value.into(), effect, time_added: None }
}

/// A toleration; with an empty value it tolerates any.
pub fn toleration(key: &str, value: &str, effect: Option<TaintEffect>) -> Toleration {
    Toleration { key: key.into(), exists: value.is_empty(), value: value.into(), effect, toleration_seconds: None }
}

/// A cache with these nodes and bound pods.
pub fn cluster(nodes: impl IntoIterator<Item = Node>, pods: impl IntoIterator<Item = Pod>) -> Cache {
    let mut cache = Cache::new();
    nodes.into_iter().for_each(|node| cache.set_node(&Rc::new(node)));
    pods.into_iter().for_each(|pod| cache.add_pod(&Rc::new(pod)));
    cache
}
