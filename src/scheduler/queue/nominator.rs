//! Pods that were promised a node: room was made for them there, or an object says so.
//!
//! Upstream: pkg/scheduler/backend/queue/nominator.go, v1.36.

use std::rc::Rc;

use crate::model::{Map, Name, Pod, Uid};
use crate::scheduler::framework::PodInfo;
use crate::scheduler::preemption::Nomination;

/// Nominated pods by node, and the node of each.
#[derive(Clone, Debug, Default)]
pub struct Nominator {
    by_node: Map<Name, Vec<Rc<PodInfo>>>,
    node_of: Map<Uid, Name>,
}

impl Nominator {
    /// Nominates a pod to a node; an earlier nomination of it ends.
    pub fn add(&mut self, info: &Rc<PodInfo>, node: &Name) {
        let uid = &info.pod.meta.uid;
        self.delete(uid);
        self.node_of.insert(uid.clone(), node.clone());
        self.by_node.entry(node.clone()).or_default().push(info.clone());
    }

    /// Does what PostFilter decided: without a decision the pod's status says whether it is nominated.
    pub fn nominate(&mut self, info: &Rc<PodInfo>, nomination: &Nomination) {
        let node = match nomination {
            Nomination::Keep => &info.pod.status.nominated_node_name,
            Nomination::Clear => &Name::EMPTY,
            Nomination::Node(node) => node,
        };
        match node.is_empty() {
            true => drop(self.delete(&info.pod.meta.uid)),
            false => self.add(info, node),
        }
    }

    /// A pending pod changed. An update without any nomination leaves one that is fresher and only in memory.
    ///
    /// Upstream: `UpdateNominatedPod`.
    pub fn update(&mut self, old: &Pod, info: &Rc<PodInfo>) {
        let names_node = |pod: &Pod| !pod.status.nominated_node_name.is_empty();
        match names_node(old) || names_node(&info.pod) {
            true => self.nominate(info, &Nomination::Keep),
            false => self.set_pod(info),
        }
    }

    /// Ends a pod's nomination. Returns the node, if there was one.
    pub fn delete(&mut self, uid: &Uid) -> Option<Name> {
        let node = self.node_of.swap_remove(uid)?;
        if let Some(pods) = self.by_node.get_mut(&node) {
            pods.retain(|info| info.pod.meta.uid != *uid);
            if pods.is_empty() {
                self.by_node.swap_remove(&node);
            }
        }
        Some(node)
    }

    /// Takes the newer version of a nominated pod.
    pub fn set_pod(&mut self, info: &Rc<PodInfo>) {
        let uid = &info.pod.meta.uid;
        let Some(pods) = self.node_of.get(uid).and_then(|node| self.by_node.get_mut(node)) else { return };
        if let Some(nominated) = pods.iter_mut().find(|nominated| nominated.pod.meta.uid == *uid) {
            *nominated = info.clone();
        }
    }

    /// The pods nominated to a node, in the order of their nominations.
    pub fn pods_on(&self, node: &Name) -> &[Rc<PodInfo>] {
        self.by_node.get(node).map_or(&[], Vec::as_slice)
    }

    /// The node a pod is nominated to.
    pub fn node_of(&self, uid: &Uid) -> Option<&Name> {
        self.node_of.get(uid)
    }

    /// The nodes that pods are nominated to.
    pub fn nodes(&self) -> impl Iterator<Item = &Name> {
        self.by_node.keys()
    }

    /// Whether no pod is nominated.
    pub fn is_empty(&self) -> bool {
        self.node_of.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cache::testing::pod;

    #[test]
    fn a_pod_is_nominated_to_one_node_at_a_time() {
        let mut nominator = Nominator::default();
        let [p, q] = ["p", "q"].map(|name| Rc::new(PodInfo::new(Rc::new(pod(name)))));
        let names = |nominator: &Nominator, node: &str| -> Vec<String> {
            nominator.pods_on(&node.into()).iter().map(|info| info.pod.meta.name.to_string()).collect()
        };
        nominator.add(&p, &"a".into());
        nominator.add(&q, &"a".into());
        assert_eq!(names(&nominator, "a"), ["p", "q"]);
        nominator.add(&p, &"b".into());
        assert_eq!((names(&nominator, "a"), names(&nominator, "b")), (vec!["q".to_string()], vec!["p".to_string()]));
        assert_eq!(nominator.delete(&p.pod.meta.uid), Some("b".into()));
        assert_eq!(nominator.delete(&p.pod.meta.uid), None);
        assert_eq!(nominator.node_of(&q.pod.meta.uid), Some(&"a".into()));
        assert!(nominator.pods_on(&"b".into()).is_empty() && !nominator.is_empty());
    }
}
