//! The pods that have affinity or anti-affinity to other pods, those with the same terms together.
//!
//! Upstream: `PodsWithAffinity` and `PodsWithRequiredAntiAffinity` of pkg/scheduler/framework/types.go, v1.36.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::generations::Generation;
use super::{NodeIndex, Snapshot};
use crate::model::Pod;
use crate::scheduler::framework::PodInfo;

/// Pods of one namespace with the same terms.
#[derive(Clone, Debug)]
pub struct AffinityGroup {
    sample: Rc<PodInfo>,
    nodes: BTreeMap<NodeIndex, i64>,
}

impl AffinityGroup {
    /// One of them, or one that was.
    pub fn sample(&self) -> &Pod {
        &self.sample.pod
    }

    /// How many of them are on each node; nodes without any are left out.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeIndex, i64)> {
        self.nodes.iter().map(|(node, pods)| (*node, *pods))
    }

    fn is_of(&self, pod: &Pod) -> bool {
        let own = &self.sample.pod;
        let is_same_spec = || {
            Rc::ptr_eq(&own.spec, &pod.spec)
                || own.spec.pod_affinity == pod.spec.pod_affinity
                    && own.spec.pod_anti_affinity == pod.spec.pod_anti_affinity
        };
        own.meta.namespace == pod.meta.namespace && is_same_spec()
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct AffinityGroups {
    /// Those without pods are taken by the next ones.
    groups: Vec<AffinityGroup>,
    /// The groups that have pods on the node.
    on_node: Vec<Vec<u32>>,
    seen: Vec<Generation>,
    as_of: Generation,
}

impl AffinityGroups {
    /// Those that have pods on nodes.
    pub fn iter(&self) -> impl Iterator<Item = &AffinityGroup> {
        self.groups.iter().filter(|group| !group.nodes.is_empty())
    }

    pub(super) fn is_fresh(&self, snapshot: &Snapshot<'_>) -> bool {
        self.as_of == snapshot.generations().last()
    }

    pub(super) fn refresh(&mut self, snapshot: &Snapshot<'_>) {
        let generations = snapshot.generations().nodes();
        self.on_node.resize(generations.len(), Vec::new());
        self.seen.resize(generations.len(), 0);
        for (at, generation) in generations.iter().enumerate() {
            if self.seen[at] != *generation {
                self.seen[at] = *generation;
                self.count_on(NodeIndex(at as u32), snapshot);
            }
        }
        self.as_of = snapshot.generations().last();
    }

    fn count_on(&mut self, node: NodeIndex, snapshot: &Snapshot<'_>) {
        let on_node = &mut self.on_node[node.0 as usize];
        for group in on_node.drain(..) {
            self.groups[group as usize].nodes.remove(&node);
        }
        // Pods may outlive their node.
        if snapshot.row(node).node.is_none() {
            return;
        }
        for info in snapshot.pods(node) {
            let spec = &info.pod.spec;
            if spec.pod_affinity.is_empty() && spec.pod_anti_affinity.is_empty() {
                continue;
            }
            let at = match self.groups.iter().position(|group| group.is_of(&info.pod)) {
                Some(at) => at,
                None => {
                    let new = AffinityGroup { sample: info.clone(), nodes: BTreeMap::new() };
                    match self.groups.iter().position(|group| group.nodes.is_empty()) {
                        Some(unused) => {
                            self.groups[unused] = new;
                            unused
                        }
                        None => {
                            self.groups.push(new);
                            self.groups.len() - 1
                        }
                    }
                }
            };
            *self.groups[at].nodes.entry(node).or_default() += 1;
            if !on_node.contains(&(at as u32)) {
                on_node.push(at as u32);
            }
        }
    }
}
