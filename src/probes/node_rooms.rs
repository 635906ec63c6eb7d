//! How much of the nodes' room is given to pods in the truth, whoever believes what.

use crate::apiserver::pod_tallies::PodTallies;
use crate::component::MetricSink;
use crate::model::{Kind, Node, Object, Resources};
use crate::plot::charts;
use crate::sim::World;

/// Gives the metrics of rooms.
pub(super) fn collect(world: &World, sink: &mut dyn MetricSink) {
    let truth = world.api().truth();
    let nodes = truth.iter(Kind::Node).filter_map(Object::as_node);
    let rooms = Rooms::of(nodes.map(|node| &**node), truth.pod_tallies());
    for (resource, ratio) in RESOURCES.into_iter().zip(rooms.highest) {
        sink.sample(charts::REQUESTED_RATIO, &[("resource", resource)], ratio);
    }
    sink.sample(charts::OVERSOLD, &[], rooms.oversold as f64);
}

/// In the order of [`Rooms::highest`].
const RESOURCES: [&str; 3] = ["cpu", "memory", "pods"];

#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Rooms {
    /// The largest share of its allocatable that is asked for of a node, by resource.
    highest: [f64; 3],
    /// Nodes of which more is asked for than they have.
    oversold: u32,
}

impl Rooms {
    fn of<'a>(nodes: impl Iterator<Item = &'a Node>, tallies: &PodTallies) -> Rooms {
        let mut rooms = Rooms::default();
        for node in nodes {
            let Some(asked) = tallies.asked_of(&node.meta.name) else { continue };
            let Resources { cpu_milli, memory_bytes, pods, .. } = *node.allocatable;
            let there = [cpu_milli, memory_bytes, pods].map(Option::unwrap_or_default);
            let pairs = asked.iter().zip(there);
            for (highest, (asked, there)) in rooms.highest.iter_mut().zip(pairs.clone()) {
                if there > 0 {
                    *highest = highest.max(*asked as f64 / there as f64);
                }
            }
            rooms.oversold += u32::from(pairs.clone().any(|(asked, there)| *asked > there));
        }
        rooms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    use crate::rules::codec;
    use serde_json::json;

    fn node(name: &str) -> Rc<Node> {
        let node = codec::decode(&json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "1", "memory": "4Gi", "pods": "10"}},
        }));
        node.expect("a good node").as_node().expect("a node").clone()
    }

    fn pod(node: &str, cpu: &str, phase: &str) -> Object {
        let pod = codec::decode(&json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"nodeName": node, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
            "status": {"phase": phase},
        }));
        pod.expect("a good pod")
    }

    #[test]
    fn a_node_is_oversold_until_what_is_too_much_has_failed() {
        let (a, b) = (node("a"), node("b"));
        let rooms = |pods: &[Object]| {
            let mut tallies = PodTallies::default();
            pods.iter().for_each(|pod| tallies.replace(None, Some(pod)));
            Rooms::of([&*a, &*b].into_iter(), &tallies)
        };
        let first = [pod("a", "600m", "Running"), pod("b", "1", "Running")];
        // b: 1 of 1 CPU; each has 1 of 4 GiB and 1 of 10 pods.
        assert_eq!(rooms(&first), Rooms { highest: [1.0, 0.25, 0.1], oversold: 0 });
        // a: 600 + 600 of 1000 m, 2 of 4 GiB, 2 of 10 pods; a pod for a node that is gone is on no node.
        let second = pod("a", "600m", "Pending");
        let sold_twice = [&first[..], &[second, pod("gone", "9", "Pending")]].concat();
        assert_eq!(rooms(&sold_twice), Rooms { highest: [1.2, 0.5, 0.2], oversold: 1 });
        let refused = [&first[..], &[pod("a", "600m", "Failed")]].concat();
        assert_eq!(rooms(&refused).oversold, 0);
    }
}
