//! PodTopologySpread: the pods of one owner should be spread over nodes and zones, as far as the built-in default
//! constraints ask for it.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/{common,plugin,scoring}.go, pkg/scheduler/framework/plugins/
//! helper/spread.go, v1.36. A pod's own constraints are not modelled: such a pod gets no score here. Nor are Services and
//! StatefulSets, which select pods for the default constraints too.

use crate::model::{Name, Pod, Selector};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{Plugin, PodInfo, Score, names};

const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
/// `maxSkew` of the default constraint on hostnames.
const HOSTNAME_MAX_SKEW: i64 = 3;
/// `maxSkew` of the default constraint on zones.
const ZONE_MAX_SKEW: i64 = 5;

/// The plugin.
pub struct PodTopologySpread;

impl Plugin for PodTopologySpread {
    fn name(&self) -> &'static str {
        names::POD_TOPOLOGY_SPREAD
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        snapshot: &Snapshot<'_>,
        nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        if !pod.pod.spec.topology_spread_constraints.is_empty() {
            return None;
        }
        let selector = snapshot.selectors().default_selector(&pod.pod)?;
        let namespace = pod.pod.meta.namespace.clone();
        let zones = zones(&selector, &namespace, snapshot, nodes);
        // The label's absence is a domain of its own when domains are counted.
        let mut domains = zones.len();
        domains += usize::from(nodes.iter().any(|node| zone(snapshot, *node).is_none()));
        Some(Box::new(Spread { selector, namespace, zones, zone_weight: weight(domains) }))
    }
}

/// A domain's pods weigh the more the more domains there are.
fn weight(domains: usize) -> f64 {
    libm::log((domains + 2) as f64)
}

fn zone<'a>(snapshot: &Snapshot<'a>, node: NodeIndex) -> Option<&'a Name> {
    snapshot.node(node).meta.labels.get_str(ZONE)
}

/// Matching pods by zone, for the zones of the feasible nodes; pods on all nodes count.
fn zones(selector: &Selector, namespace: &Name, snapshot: &Snapshot<'_>, nodes: &[NodeIndex]) -> Vec<(Name, i64)> {
    let mut zones: Vec<(Name, i64)> = Vec::new();
    for zone in nodes.iter().filter_map(|node| zone(snapshot, *node)) {
        if !zones.iter().any(|(known, _)| known == zone) {
            zones.push((zone.clone(), 0));
        }
    }
    if zones.is_empty() {
        return zones;
    }
    for node in snapshot.nodes() {
        let Some(zone) = zone(snapshot, *node) else { continue };
        if let Some((_, count)) = zones.iter_mut().find(|(known, _)| known == zone) {
            *count += matching(selector, namespace, snapshot, *node);
        }
    }
    zones
}

/// The pods on a node that the selector matches and that are not on their way out.
fn matching(selector: &Selector, namespace: &Name, snapshot: &Snapshot<'_>, node: NodeIndex) -> i64 {
    let counts =
        |pod: &Pod| !pod.meta.is_deleting() && pod.meta.namespace == *namespace && selector.matches(&pod.meta.labels);
    snapshot.pods(node).iter().filter(|info| counts(&info.pod)).count() as i64
}

/// The default constraints with what is known of the pod's siblings.
struct Spread {
    selector: Selector,
    namespace: Name,
    zones: Vec<(Name, i64)>,
    zone_weight: f64,
}

impl Score for Spread {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        let hostname_weight = weight(nodes.len());
        for (node, score) in nodes.iter().zip(scores) {
            let labels = &snapshot.node(*node).meta.labels;
            let mut sum = 0.0;
            if labels.get_str(HOSTNAME).is_some() {
                let count = matching(&self.selector, &self.namespace, snapshot, *node);
                sum += count as f64 * hostname_weight + (HOSTNAME_MAX_SKEW - 1) as f64;
            }
            let zone = labels.get_str(ZONE).and_then(|zone| self.zones.iter().find(|(known, _)| known == zone));
            if let Some((_, count)) = zone {
                sum += *count as f64 * self.zone_weight + (ZONE_MAX_SKEW - 1) as f64;
            }
            *score = sum.round() as i64;
        }
    }

    fn normalize_score(&self, scores: &mut [i64]) {
        let (Some(lowest), Some(highest)) = (scores.iter().copied().min(), scores.iter().copied().max()) else {
            return;
        };
        for score in scores {
            *score = match highest {
                0 => MAX_NODE_SCORE,
                highest => MAX_NODE_SCORE * (highest + lowest - *score) / highest,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{Kind, Labels, Node, OwnerReference};
    use crate::scheduler::cache::Cache;
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::scores;

    fn labelled(name: &str, zone: Option<&str>) -> Node {
        let mut node = node(name);
        let labels = Labels::default().with(HOSTNAME, name);
        node.meta.labels = zone.map_or(labels.clone(), |zone| labels.with(ZONE, zone));
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
        assert_eq!(scores(&PodTopologySpread, own("p", ""), &mut cache), Some(vec![60, 40, 100]));
        // Without an owner that the scheduler knows nothing is spread.
        assert_eq!(scores(&PodTopologySpread, own("p", ""), &mut cluster(nodes(), [])), None);
        // Nodes without the label are all alike.
        let mut plain = with_owner(cluster([node("a"), node("b")], [own("p1", "a")]));
        assert_eq!(scores(&PodTopologySpread, own("p", ""), &mut plain), Some(vec![100, 100]));
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
        assert_eq!(scores(&PodTopologySpread, own("p", ""), &mut cache), Some(vec![50, 100, 75]));
    }
}
