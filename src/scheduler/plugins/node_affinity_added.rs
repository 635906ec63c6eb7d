//! NodeAffinity with an affinity that the profile adds to each pod's own (`addedAffinity`).
//!
//! Upstream: pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, v1.36.

use serde_json::{Value, json};

use super::NodeAffinity;
use crate::model::{Node, PodSpec};
use crate::rules::{codec, node_affinity};
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{
    ClusterEvent, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Score, Status, default_normalize_score, names,
};

/// Why a node is rejected.
pub const REASON: &str = "node(s) didn't match scheduler-enforced node affinity";

/// The plugin.
pub struct NodeAffinityAdded {
    /// A spec with the added affinity and nothing else.
    added: PodSpec,
}

impl NodeAffinityAdded {
    /// With this affinity, which was read before.
    pub fn new(manifest: &Value) -> NodeAffinityAdded {
        NodeAffinityAdded { added: read(manifest).unwrap_or_default() }
    }

    fn enforces(&self) -> bool {
        self.added.node_affinity.as_ref().is_some_and(|affinity| affinity.required.is_some())
    }

    fn matches(&self, node: &Node) -> bool {
        node_affinity::matches_required(&self.added, node)
    }
}

/// A spec with this node affinity.
///
/// # Errors
/// What is wrong with it.
pub fn read(manifest: &Value) -> Result<PodSpec, String> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "added", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "c"}], "affinity": {"nodeAffinity": manifest}},
    });
    let object = codec::decode(&pod).map_err(|problems| format!("{problems:?}"))?;
    let affinity = object.as_pod().and_then(|pod| pod.spec.node_affinity.clone());
    Ok(PodSpec { node_affinity: affinity, ..PodSpec::default() })
}

impl Plugin for NodeAffinityAdded {
    fn name(&self) -> &'static str {
        names::NODE_AFFINITY
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeObject
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        let own = NodeAffinity.pre_filter(pod, snapshot);
        if !self.enforces() {
            return own;
        }
        let both = |own| Box::new(Both { plugin: self, own });
        match own {
            PreFilterResult::Skip => PreFilterResult::Filter(both(None)),
            PreFilterResult::Filter(own) => PreFilterResult::Filter(both(Some(own))),
            PreFilterResult::FilterAmong(own, names) => PreFilterResult::FilterAmong(both(Some(own)), names),
            PreFilterResult::Reject(status) => PreFilterResult::Reject(status),
        }
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let prefers = |spec: &PodSpec| spec.node_affinity.as_ref().is_some_and(|own| !own.preferred.is_empty());
        let specs = [&self.added, &*pod.pod.spec];
        specs.into_iter().any(prefers).then(|| Box::new(Preferred(specs)) as Box<dyn Score>)
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        match event {
            // A node that begins to match the added affinity is one that begins to match.
            ClusterEvent::NodeAdded(new) => self.matches(new) && NodeAffinity.is_worth_requeuing(pod, event),
            ClusterEvent::NodeUpdated { old, new } => {
                let matches = |node| self.matches(node) && node_affinity::matches_required(&pod.pod.spec, node);
                !matches(old) && matches(new)
            }
            _ => false,
        }
    }
}

struct Both<'a> {
    plugin: &'a NodeAffinityAdded,
    own: Option<Box<dyn Filter + 'a>>,
}

impl Filter for Both<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        if !self.plugin.matches(snapshot.node(node)) {
            return Err(Status::unresolvable(REASON));
        }
        self.own.as_ref().map_or(Ok(()), |own| own.filter(snapshot, node))
    }
}

struct Preferred<'a>([&'a PodSpec; 2]);

impl Score for Preferred<'_> {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let node = snapshot.node(*node);
            *score = self.0.iter().map(|spec| node_affinity::preferred_score(spec, node)).sum();
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
    use crate::scheduler::cache::testing::{cluster, node, pod};
    use crate::scheduler::plugins::testing::{scores, verdicts};

    fn labelled(name: &str, pool: &str) -> Node {
        let mut node = node(name);
        node.meta.labels = node.meta.labels.with("pool", pool);
        node
    }

    #[test]
    fn the_profile_adds_to_what_pods_ask_for() {
        let term = |pool: &str| json!({"matchExpressions": [{"key": "pool", "operator": "In", "values": [pool]}]});
        let plugin = NodeAffinityAdded::new(&json!({
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term("a"), term("b")]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "preference": term("b")}],
        }));
        let mut cache = cluster([labelled("one", "a"), labelled("two", "b"), labelled("three", "c")], []);
        let said =
            |pod, cache: &mut _| verdicts(&plugin, pod, cache).into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let enforced = format!("UnschedulableAndUnresolvable: {REASON}");
        assert_eq!(said(pod("p"), &mut cache), ["ok", "ok", &enforced]);
        let mut own = pod("p");
        Rc::make_mut(&mut own.spec).node_selector = own.spec.node_selector.with("pool", "b");
        let wanted = format!("UnschedulableAndUnresolvable: {}", super::super::node_affinity::REASON);
        assert_eq!(said(own.clone(), &mut cache), [&wanted, "ok", &enforced]);
        // 0, 10 and 0, scaled to the highest.
        assert_eq!(scores(&plugin, pod("p"), &mut cache), Some(vec![0, 100, 0]));
        let info = PodInfo::new(Rc::new(own));
        let added = |pool| ClusterEvent::NodeAdded(Rc::new(labelled("n", pool)));
        assert!(plugin.is_worth_requeuing(&info, &added("b")) && !plugin.is_worth_requeuing(&info, &added("a")));
    }
}
