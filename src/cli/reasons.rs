//! Why pods are not ready at the end of a run, in the words that the cluster itself has for it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::workloads::pod_status;

/// Most reasons that are printed; what is left is counted.
const SHOWN_MAX: usize = 20;

/// What is said of a pod that nobody has said anything of.
const NO_NODE: &str = "it has no node, and nobody has said why";

/// A line for each reason with the pods it holds for; empty when every pod is ready or has done its work.
pub fn render(objects: &[Value]) -> String {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for pod in objects.iter().filter(|object| object["kind"] == "Pod") {
        if let Some(why) = reason(pod, objects) {
            found.entry((pod_status(pod), why)).or_default().push(name(pod));
        }
    }
    if found.is_empty() {
        return String::new();
    }
    let mut text = String::from("Not ready:\n");
    for ((status, why), pods) in found.iter().take(SHOWN_MAX) {
        let others = match pods.len() {
            1 => String::new(),
            2 => " and 1 other".to_string(),
            count => format!(" and {} others", count - 1),
        };
        text.push_str(&format!("  {}{others} ({status}): {why}\n", pods[0]));
    }
    if found.len() > SHOWN_MAX {
        text.push_str(&format!("  and {} reasons more\n", found.len() - SHOWN_MAX));
    }
    text
}

fn name(pod: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    match text(&pod["metadata"]["namespace"]) {
        namespace if namespace.is_empty() || namespace == "default" => {
            format!("pod/{}", text(&pod["metadata"]["name"]))
        }
        namespace => format!("{namespace}/pod/{}", text(&pod["metadata"]["name"])),
    }
}

/// Why a pod is not ready: what the scheduler says of a pod without a node, what the kubelet says of the rest.
fn reason(pod: &Value, objects: &[Value]) -> Option<String> {
    let status = &pod["status"];
    if status["phase"] == "Succeeded" {
        return None;
    }
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let condition = |name: &str| conditions.iter().find(|condition| condition["type"] == name);
    if condition("Ready").is_some_and(|ready| ready["status"] == "True") {
        return None;
    }
    let words = |holder: &Value| {
        let parts = ["reason", "message"].map(|field| holder[field].as_str().unwrap_or_default());
        let given: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        (!given.is_empty()).then(|| given.join(": "))
    };
    let scheduled = condition("PodScheduled");
    if let Some(refused) = scheduled.filter(|scheduled| scheduled["status"] == "False") {
        return words(refused);
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if node.is_empty() {
        return Some(NO_NODE.to_string());
    }
    let is_node = |object: &&Value| object["kind"] == "Node" && object["metadata"]["name"] == node;
    let Some(object) = objects.iter().find(is_node) else {
        return Some(format!("it is bound to node {node}, which does not exist"));
    };
    let all = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    if all.iter().any(|condition| condition["type"] == "Ready" && condition["status"] != "True") {
        return Some(format!("it is bound to node {node}, which is not ready: no kubelet runs there"));
    }
    let lists = ["initContainerStatuses", "containerStatuses"];
    let containers = lists.iter().filter_map(|list| status[*list].as_array()).flatten();
    let stuck = containers.filter_map(|container| {
        let state = ["waiting", "terminated"].iter().find_map(|state| words(&container["state"][*state]))?;
        Some(format!("container {}: {state}", container["name"].as_str().unwrap_or_default()))
    });
    let nothing = || format!("the kubelet of {node} has not started it");
    Some(
        words(status)
            .or_else(|| stuck.into_iter().next())
            .or_else(|| words(condition("Ready")?))
            .unwrap_or_else(nothing),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pods_with_one_reason_share_a_line() {
        let pending = |name: &str, why: &str| {
            json!({"kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "status": {"phase": "Pending",
                "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why}]}})
        };
        let ready = json!({"kind": "Pod", "status": {"phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}]}});
        let done = json!({"kind": "Pod", "status": {"phase": "Succeeded"}});
        let none = "0/5 nodes are available: 5 Insufficient cpu.";
        let objects = [pending("a", none), ready.clone(), pending("b", none), pending("c", "other"), done.clone()];
        let expected = format!(
            "Not ready:\n  pod/a and 1 other (Pending): Unschedulable: {none}\n  pod/c (Pending): Unschedulable: other\n"
        );
        assert_eq!(render(&objects), expected);
        assert_eq!(render(&[ready, done]), "");
    }

    #[test]
    fn pods_with_a_node_are_explained_by_their_kubelet() {
        let pod = |status: Value| {
            let metadata = json!({"name": "p", "namespace": "shop"});
            json!({"kind": "Pod", "metadata": metadata, "spec": {"nodeName": "node-1"}, "status": status})
        };
        let node = json!({"kind": "Node", "metadata": {"name": "node-1"}});
        let reason = |pod: &Value| reason(pod, std::slice::from_ref(&node));
        let waiting = pod(json!({"phase": "Pending", "containerStatuses": [{"name": "c", "state": {"waiting":
            {"reason": "ContainerCreating"}}}]}));
        assert_eq!(reason(&waiting).as_deref(), Some("container c: ContainerCreating"));
        let refused = pod(json!({"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected"}));
        assert_eq!(reason(&refused).as_deref(), Some("OutOfcpu: Pod was rejected"));
        let unseen = pod(json!({"phase": "Pending"}));
        assert_eq!(reason(&unseen).as_deref(), Some("the kubelet of node-1 has not started it"));
        let lost = "Not ready:\n  shop/pod/p (Pending): it is bound to node node-1, which does not exist\n";
        assert_eq!(render(std::slice::from_ref(&unseen)), lost);
        let dead = json!({"kind": "Node", "metadata": {"name": "node-1"}, "status": {"conditions":
            [{"type": "Ready", "status": "False"}]}});
        let expected = "it is bound to node node-1, which is not ready: no kubelet runs there";
        assert_eq!(super::reason(&unseen, &[dead]).as_deref(), Some(expected));
    }
}
