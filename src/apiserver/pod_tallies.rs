//! Sums over all pods that observers ask for at every sample: kept up with each write instead of counted anew.

use crate::model::{Map, Name, Object, Pod, PodSpec, Resources, Uid};
use crate::rules::pod_requests;

/// What pods ask for of a node: milli-CPU, bytes of memory, places for pods.
pub type Asked = [i64; 3];

/// Sums over all stored pods.
#[derive(Clone, Debug, Default)]
pub struct PodTallies {
    active_by_controller: Map<Uid, u32>,
    asked_by_node: Map<Name, Asked>,
}

/// What a pod adds: to its controller's pods, and to what is asked of its node.
#[derive(Default)]
struct Share<'a> {
    controller: Option<&'a Uid>,
    node: Option<(&'a Name, &'a PodSpec)>,
}

impl<'a> Share<'a> {
    fn of(object: Option<&'a Object>) -> Share<'a> {
        let Some(pod) = object.and_then(Object::as_pod) else { return Share::default() };
        let controller = pod.meta.controller().filter(|_| pod.is_active()).map(|owner| &owner.uid);
        Share { controller, node: holds_room(pod).then_some((&pod.node_name, &pod.spec)) }
    }
}

/// A pod that is bound and has not ended. One that its kubelet has yet to refuse is among them.
fn holds_room(pod: &Pod) -> bool {
    !pod.node_name.is_empty() && !pod.is_terminal()
}

impl PodTallies {
    /// Pods of a controller that neither ended nor are being deleted.
    pub fn active_of(&self, controller: &Uid) -> u32 {
        self.active_by_controller.get(controller).copied().unwrap_or(0)
    }

    /// What bound pods that have not ended ask for of a node.
    pub fn asked_of(&self, node: &Name) -> Option<&Asked> {
        self.asked_by_node.get(node)
    }

    /// An object takes the place of another one under its key; `None` where there is none.
    pub fn replace(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let (before, now) = (Share::of(old), Share::of(new));
        if before.controller != now.controller {
            if let Some(controller) = before.controller {
                self.take_pod(controller);
            }
            if let Some(controller) = now.controller {
                *self.active_by_controller.entry(controller.clone()).or_insert(0) += 1;
            }
        }
        // Specs are shared as long as nothing in them changes.
        let is_same = |(node, spec): (&Name, &PodSpec), (other, its): (&Name, &PodSpec)| {
            node == other && (std::ptr::eq(spec, its) || asked_by_pod(spec) == asked_by_pod(its))
        };
        match (before.node, now.node) {
            (None, None) => {}
            (Some(before), Some(now)) if is_same(before, now) => {}
            (before, now) => {
                if let Some((node, spec)) = before {
                    self.release(node, asked_by_pod(spec));
                }
                if let Some((node, spec)) = now {
                    let sums = self.asked_by_node.entry(node.clone()).or_default();
                    for (sum, amount) in sums.iter_mut().zip(asked_by_pod(spec)) {
                        *sum = sum.saturating_add(amount);
                    }
                }
            }
        }
    }

    fn take_pod(&mut self, controller: &Uid) {
        let count = self.active_by_controller.get_mut(controller).expect("it was counted when the pod came");
        *count -= 1;
        if *count == 0 {
            // The order shows nowhere: sums are read by key.
            self.active_by_controller.swap_remove(controller);
        }
    }

    fn release(&mut self, node: &Name, asked: Asked) {
        let sums = self.asked_by_node.get_mut(node).expect("it was added when the pod came");
        for (sum, amount) in sums.iter_mut().zip(asked) {
            *sum = sum.saturating_sub(amount);
        }
        if sums[2] == 0 {
            self.asked_by_node.swap_remove(node);
        }
    }
}

fn asked_by_pod(spec: &PodSpec) -> Asked {
    let pair = |requests: &Resources| [requests.cpu_milli, requests.memory_bytes].map(Option::unwrap_or_default);
    let is_plain = spec.init_containers.is_empty() && spec.pod_requests.is_none() && spec.overhead.is_none();
    let [cpu, memory] = match spec.containers.as_slice() {
        [only] if is_plain => pair(&only.requests),
        _ => pair(&pod_requests::requests(spec)),
    };
    [cpu, memory, 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::codec;
    use serde_json::json;

    fn pod(node: &str, owner: &str, phase: &str) -> Object {
        let pod = codec::decode(&json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default", "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": true}]},
            "spec": {"nodeName": node, "containers": [
                {"name": "c", "image": "i", "resources": {"requests": {"cpu": "600m", "memory": "1Ki"}}}]},
            "status": {"phase": phase},
        }));
        pod.expect("a good pod")
    }

    #[test]
    fn sums_follow_every_write() {
        let mut tallies = PodTallies::default();
        let (waiting, bound, over) = (pod("", "r1", "Pending"), pod("a", "r1", "Running"), pod("a", "r1", "Failed"));
        tallies.replace(None, Some(&waiting));
        assert_eq!((tallies.active_of(&"r1".into()), tallies.asked_of(&"a".into())), (1, None));
        tallies.replace(Some(&waiting), Some(&bound));
        tallies.replace(None, Some(&bound));
        // Two pods of 600 m CPU and 1 KiB.
        assert_eq!(tallies.asked_of(&"a".into()), Some(&[1200, 2048, 2]));
        tallies.replace(Some(&bound), Some(&over));
        assert_eq!((tallies.active_of(&"r1".into()), tallies.asked_of(&"a".into())), (1, Some(&[600, 1024, 1])));
        // Adopted by another owner, moved to another node, then gone.
        let moved = pod("b", "r2", "Running");
        tallies.replace(Some(&bound), Some(&moved));
        assert_eq!((tallies.active_of(&"r1".into()), tallies.active_of(&"r2".into())), (0, 1));
        assert_eq!((tallies.asked_of(&"a".into()), tallies.asked_of(&"b".into())), (None, Some(&[600, 1024, 1])));
        tallies.replace(Some(&moved), None);
        assert_eq!((tallies.active_by_controller.len(), tallies.asked_by_node.len()), (0, 0));
    }
}
