//! NodeAffinity: node selectors, required and preferred node affinity.
//!
//! Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, v1.36. Not modelled: `addedAffinity`.

use crate::model::{Name, Node, NodeSelectorTerm, Operator, Pod, Set};
use crate::rules::node_affinity;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{
    ClusterEvent, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Score, Status, default_normalize_score, names,
};

/// Why a node is rejected.
pub const REASON: &str = "node(s) didn't match Pod's node affinity/selector";
/// Why a pod is rejected whose terms name no node in common.
pub const CONFLICT: &str = "pod affinity terms conflict";

/// The plugin.
pub struct NodeAffinity;

impl Plugin for NodeAffinity {
    fn name(&self) -> &'static str {
        names::NODE_AFFINITY
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeObject
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        let spec = &pod.pod.spec;
        let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        if required.is_none() && spec.node_selector.is_empty() {
            return PreFilterResult::Skip;
        }
        match required.and_then(|terms| named_nodes(terms)) {
            None => PreFilterResult::Filter(Box::new(Required(pod))),
            Some(nodes) if nodes.is_empty() => PreFilterResult::Reject(Status::unresolvable(CONFLICT)),
            Some(nodes) => PreFilterResult::FilterAmong(Box::new(Required(pod)), nodes),
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let affinity = pod.pod.spec.node_affinity.as_ref()?;
        (!affinity.preferred.is_empty()).then(|| Box::new(Preferred(&pod.pod)) as Box<dyn Score>)
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        let matches = |node: &Node| node_affinity::matches_required(&pod.pod.spec, node);
        match event {
            ClusterEvent::NodeAdded(node) => matches(node),
            ClusterEvent::NodeUpdated { old, new } => !matches(old) && matches(new),
            _ => false,
        }
    }
}

/// The nodes that the terms name, when every term names some by `metadata.name In`; `None` when any term does not.
fn named_nodes(terms: &[NodeSelectorTerm]) -> Option<Set<Name>> {
    let mut union = None;
    for term in terms {
        let mut named: Option<Set<Name>> = None;
        let by_name = |requirement: &&crate::model::Requirement| {
            requirement.key == "metadata.name" && requirement.operator == Operator::In
        };
        for requirement in term.match_fields.iter().filter(by_name) {
            named = Some(match named {
                None => requirement.values.iter().cloned().collect(),
                Some(before) => before.into_iter().filter(|name| requirement.values.contains(name)).collect(),
            });
        }
        union.get_or_insert_with(Set::default).extend(named?);
    }
    union
}

struct Required<'a>(&'a PodInfo);

impl Filter for Required<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        match node_affinity::matches_required(&self.0.pod.spec, snapshot.node(node)) {
            true => Ok(()),
            false => Err(Status::unresolvable(REASON)),
        }
    }
}

struct Preferred<'a>(&'a Pod);

impl Score for Preferred<'_> {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            *score = node_affinity::preferred_score(&self.0.spec, snapshot.node(*node));
        }
    }

    fn normalize_score(&self, scores: &mut [i64]) {
        default_normalize_score(MAX_NODE_SCORE, false, scores);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{NodeAffinity as Affinity, Requirement};
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::{scores, verdicts};

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        Requirement { key: key.into(), operator, values: values.iter().map(Name::new).collect() }
    }

    fn labelled(name: &str, disk: &str) -> Node {
        let mut node = node(name);
        node.meta.labels = [("disk".into(), disk.into())].into_iter().collect();
        node
    }

    fn on_disk(disk: &str) -> NodeSelectorTerm {
        NodeSelectorTerm { match_expressions: vec![requirement("disk", Operator::In, &[disk])], ..Default::default() }
    }

    fn in_nodes(names: &[&[&str]]) -> NodeSelectorTerm {
        let by_name = |names: &&[&str]| requirement("metadata.name", Operator::In, names);
        NodeSelectorTerm { match_fields: names.iter().map(by_name).collect(), ..Default::default() }
    }

    fn with_affinity(required: Option<Vec<NodeSelectorTerm>>, preferred: Vec<(i32, NodeSelectorTerm)>) -> Pod {
        let mut pod = pod("p");
        Rc::make_mut(&mut pod.spec).node_affinity = Some(Affinity { required, preferred });
        pod
    }

    #[test]
    fn nodes_must_match_some_required_term() {
        let mut cache = cluster([labelled("a", "ssd"), labelled("b", "hdd")], []);
        let rejected = "UnschedulableAndUnresolvable: node(s) didn't match Pod's node affinity/selector";
        let texts: Vec<_> = verdicts(&NodeAffinity, with_affinity(Some(vec![on_disk("ssd")]), vec![]), &mut cache);
        assert_eq!(texts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["ok", rejected]);
        assert!(verdicts(&NodeAffinity, with_affinity(None, vec![]), &mut cache).is_empty(), "nothing is required");
    }

    #[test]
    fn terms_that_all_name_nodes_narrow_the_search() {
        let named = |terms: &[NodeSelectorTerm]| {
            named_nodes(terms).map(|names| names.iter().map(|name| name.to_string()).collect::<Vec<_>>())
        };
        // Requirements of a term intersect, terms unite; one term without a name opens all nodes.
        assert_eq!(
            named(&[in_nodes(&[&["a", "b"], &["b", "c"]]), in_nodes(&[&["d"]])]),
            Some(vec!["b".into(), "d".into()])
        );
        assert_eq!(named(&[in_nodes(&[&["a"]]), on_disk("ssd")]), None);
        assert_eq!(named(&[in_nodes(&[&["a"], &["b"]])]), Some(vec![]));
        let mut cache = cluster([node("a")], []);
        let conflict = with_affinity(Some(vec![in_nodes(&[&["a"], &["b"]])]), vec![]);
        assert_eq!(verdicts(&NodeAffinity, conflict, &mut cache), [(String::new(), CONFLICT.to_string())]);
    }

    #[test]
    fn preferred_weights_are_summed_and_scaled() {
        let mut cache = cluster([labelled("a", "ssd"), labelled("b", "hdd"), labelled("c", "none")], []);
        let preferred = vec![(30, on_disk("ssd")), (50, on_disk("ssd")), (20, on_disk("hdd"))];
        // Sums 80, 20, 0; 100*20/80 = 25.
        assert_eq!(scores(&NodeAffinity, with_affinity(None, preferred), &mut cache), Some(vec![100, 25, 0]));
        assert_eq!(scores(&NodeAffinity, pod("p"), &mut cache), None);
    }

    #[test]
    fn a_node_that_begins_to_match_wakes() {
        let info = PodInfo::new(Rc::new(with_affinity(Some(vec![on_disk("ssd")]), vec![])));
        let (ssd, hdd) = (Rc::new(labelled("a", "ssd")), Rc::new(labelled("a", "hdd")));
        for (event, wakes) in [
            (ClusterEvent::NodeAdded(ssd.clone()), true),
            (ClusterEvent::NodeAdded(hdd.clone()), false),
            (ClusterEvent::NodeUpdated { old: hdd.clone(), new: ssd.clone() }, true),
            (ClusterEvent::NodeUpdated { old: ssd.clone(), new: hdd }, false),
            (ClusterEvent::NodeUpdated { old: ssd.clone(), new: ssd }, false),
        ] {
            assert_eq!(NodeAffinity.is_worth_requeuing(&info, &event), wakes, "{event:?}");
        }
    }
}
