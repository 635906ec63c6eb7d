//! Nodes hold no more than they can.

use crate::model::{Map, Name, Node, Pod, Resources};
use crate::rules::pod_requests;

/// The pods that a kubelet accepted and that have not ended ask for no more than their node's allocatable.
pub(super) fn nodes_hold_what_they_can<'a>(
    pods: impl Iterator<Item = &'a Pod>,
    nodes: impl Iterator<Item = &'a Node>,
) -> Result<(), String> {
    let mut used: Map<&Name, (Resources, i64)> = Map::default();
    for pod in pods {
        // A pod without a startTime was not yet looked at by its kubelet, which may still reject it.
        if pod.node_name.is_empty() || pod.is_terminal() || pod.status.start_time.is_none() {
            continue;
        }
        let (sum, count) = used.entry(&pod.node_name).or_default();
        *sum = pod_requests::sum(sum, &pod_requests::requests(&pod.spec));
        *count += 1;
    }
    for node in nodes {
        let Some((sum, count)) = used.get(&node.meta.name) else { continue };
        let allocatable = &node.allocatable;
        for (what, asked, there) in [
            ("cpu_milli", sum.cpu_milli, allocatable.cpu_milli),
            ("memory_bytes", sum.memory_bytes, allocatable.memory_bytes),
            ("pods", Some(*count), allocatable.pods),
        ] {
            if asked.unwrap_or(0) > there.unwrap_or(0) {
                let (asked, there) = (asked.unwrap_or(0), there.unwrap_or(0));
                return Err(format!("node {} holds {what} {asked} of {there}", node.meta.name));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::codec;
    use serde_json::json;

    #[test]
    fn too_much_on_a_node_is_found() {
        let node = codec::decode(&json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "2"}},
        }));
        let node = node.expect("a good node").as_node().expect("a node").clone();
        let pod = |cpu: &str| {
            let pod = codec::decode(&json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"},
                "spec": {"nodeName": "n", "containers": [
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]},
            }));
            let mut pod = (**pod.expect("a good pod").as_pod().expect("a pod")).clone();
            pod.node_name = Name::new("n");
            pod.status.start_time = Some(Default::default());
            pod
        };
        let fits = |pods: &[Pod]| nodes_hold_what_they_can(pods.iter(), [&*node].into_iter()).is_ok();
        // 500 m + 500 m = 1000 m of 1000 m; 1 m more is too much; so is a third pod.
        assert!(fits(&[pod("500m"), pod("500m")]));
        assert!(!fits(&[pod("500m"), pod("501m")]));
        assert!(!fits(&[pod("1m"), pod("1m"), pod("1m")]));
        let mut waiting = pod("2");
        waiting.status.start_time = None;
        assert!(fits(&[waiting]));
    }
}
