//! NodeAffinity: node selectors, required and preferred node affinity.
//!
//! Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, v1.36. Not modelled: `addedAffinity`.

use crate::model::{Name, Node, NodeSelectorTerm, Operator, Pod, Set};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{
    ClusterEvent, Filter, Plugin, PodInfo, PreFilterResult, Score, Status, default_normalize_score, names,
};
use crate::scheduler::local_rules::node_affinity;

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
