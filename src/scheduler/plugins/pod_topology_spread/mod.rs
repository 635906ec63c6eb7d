//! PodTopologySpread: pods should be spread over the values of a node label, as the pod's constraints say; without own
//! constraints the pods of one Service or owner over nodes and zones, as the built-in defaults ask.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,filtering,scoring,plugin}.go, v1.35 and v1.36.
//! Not modelled: default constraints of a configuration.

pub mod common;
pub mod filtering;
pub mod scoring;

use common::{constraints, has_all_keys, selects};

use crate::model::{Node, Pod};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::{ClusterEvent, Plugin, PodInfo, PreFilterResult, Score, Version, names};
use crate::scheduler::plugins::counts_as_placed;

/// The plugin.
pub struct PodTopologySpread {
    /// Whose hints hold.
    pub version: Version,
}

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        names::POD_TOPOLOGY_SPREAD
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        match filtering::Spread::of(&pod.pod, snapshot) {
            None => PreFilterResult::Skip,
            Some(filter) => PreFilterResult::Filter(Box::new(filter)),
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let score = scoring::Spread::of(&pod.pod, snapshot, nodes)?;
        Some(Box::new(score))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let pod = &*pod.pod;
        let counts = |other: &Pod| counts_as_placed(other, self.version);
        let is_selected =
            |other: &Pod| constraints(pod, true).any(|constraint| selects(constraint, &other.meta.labels));
        let is_sibling = |other: &Pod| other.meta.namespace == pod.meta.namespace;
        let has_keys = |node: &Node| has_all_keys(&node.meta.labels, constraints(pod, true));
        match event {
            ClusterEvent::AssignedPodAdded(other) | ClusterEvent::AssignedPodDeleted(other) => {
                counts(other) && is_sibling(other) && is_selected(other)
            }
            ClusterEvent::AssignedPodRelabelled { old, new } => {
                counts(new) && is_sibling(new) && is_selected(old) != is_selected(new)
            }
            ClusterEvent::PodUpdated { old, new } => {
                let honors_taints = constraints(pod, true).any(|constraint| constraint.honors_node_taints);
                is_selected(old) != is_selected(new) || honors_taints && old.spec.tolerations != new.spec.tolerations
            }
            ClusterEvent::NodeAdded(node) | ClusterEvent::NodeDeleted(node) => has_keys(node),
            ClusterEvent::NodeUpdated { old, new } => match (has_keys(old), has_keys(new)) {
                (true, true) => has_moved(pod, old, new) || old.taints != new.taints,
                (before, after) => before != after,
            },
            _ => false,
        }
    }
}

/// Whether the node is in another domain than before.
fn has_moved(pod: &Pod, old: &Node, new: &Node) -> bool {
    let domain = |node: &Node| {
        constraints(pod, true)
            .map(|constraint| node.meta.labels.get(&constraint.topology_key).cloned())
            .collect::<Vec<_>>()
    };
    domain(old) != domain(new)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::common::HOSTNAME;
    use super::*;
    use crate::model::{Kind, Labels, Name, OwnerReference, Selector};
    use crate::scheduler::cache::Cache;
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::scores;

    const PLUGIN: PodTopologySpread = PodTopologySpread { version: Version::V1_36 };

    fn labelled(name: &str, zone: Option<&str>) -> Node {
        let mut node = node(name);
        let labels = Labels::default().with(HOSTNAME, name);
        node.meta.labels = zone.map_or(labels.clone(), |zone| labels.with("topology.kubernetes.io/zone", zone));
        node
    }

    fn own(name: &str, on: &str) -> Pod {
        let mut pod = pod(name);
        pod.meta.labels = Labels::default().with("app", "web");
        pod.node_name = on.into();
        pod.meta.owners = Some(Rc::new([OwnerReference {
            kind: Some(Kind::ReplicaSet),
            foreign_kind: Name::EMPTY,
            name: "web".into(),
            uid: "u1".into(),
            controller: true,
            block_owner_deletion: true,
        }]));
        pod
    }

    fn with_owner(mut cache: Cache) -> Cache {
        let selector = Selector::from_labels(&Labels::default().with("app", "web"));
        cache.selectors.set_owner(("ReplicaSet".into(), "default".into(), "web".into()), Rc::new(selector));
        cache
    }

    #[test]
    fn siblings_on_a_node_make_it_worse() {
        let nodes = || [labelled("a", None), labelled("b", None), labelled("c", None)];
        let mut cache = with_owner(cluster(nodes(), [own("p1", "a"), own("p2", "b"), own("p3", "b")]));
        // Three nodes: ln 5 = 1.609. a: 1.609 + 2 = 3.6 -> 4; b: 3.219 + 2 = 5.2 -> 5; c: 2. Highest 5, lowest 2:
        // a 100*(7-4)/5 = 60, b 100*(7-5)/5 = 40, c 100.
        assert_eq!(scores(&PLUGIN, own("p", ""), &mut cache), Some(vec![60, 40, 100]));
        // Without an owner that the scheduler knows nothing is spread.
        assert_eq!(scores(&PLUGIN, own("p", ""), &mut cluster(nodes(), [])), None);
        // Nodes without the label are all alike.
        let mut plain = with_owner(cluster([node("a"), node("b")], [own("p1", "a")]));
        assert_eq!(scores(&PLUGIN, own("p", ""), &mut plain), Some(vec![100, 100]));
    }

    #[test]
    fn siblings_in_a_zone_count_on_all_its_nodes() {
        let nodes = [labelled("a", Some("x")), labelled("b", Some("x")), labelled("c", Some("y"))];
        let mut leaving = own("p3", "c");
        leaving.meta.deletion = Some(crate::model::Deletion { at: crate::model::Time(0), grace_seconds: 30 });
        let mut cache = with_owner(cluster(nodes, [own("p1", "a"), own("p2", "a"), leaving]));
        // Order of the snapshot: a, c, b. Hostname ln 5 = 1.609, zones ln 4 = 1.386. a: 3.219 + 2 + 2.773 + 4 = 11.99 -> 12;
        // c: 2 + 4 = 6 (a pod on its way out does not count); b: 2 + 2.773 + 4 = 8.77 -> 9. Highest 12, lowest 6:
        // a 100*6/12 = 50, c 100*12/12 = 100, b 100*9/12 = 75.
        assert_eq!(scores(&PLUGIN, own("p", ""), &mut cache), Some(vec![50, 100, 75]));
    }
}
