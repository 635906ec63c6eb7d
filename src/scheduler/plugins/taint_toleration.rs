//! TaintToleration: taints keep pods away, or make nodes less liked.
//!
//! Upstream: pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go, v1.36.

use crate::model::{Node, Pod, TaintEffect, Toleration};
use crate::rules::tolerations;
use crate::scheduler::cache::{NodeIndex, Snapshot};
use crate::scheduler::framework::interface::MAX_NODE_SCORE;
use crate::scheduler::framework::{
    ClusterEvent, DependsOn, Filter, Plugin, PodInfo, PreFilterResult, Score, Status, default_normalize_score, names,
};

/// Why a node is rejected. The taint is not named.
pub const REASON: &str = "node(s) had untolerated taint(s)";

/// The plugin.
pub struct TaintToleration;

/// Whether some NoSchedule or NoExecute taint keeps the pod away.
fn has_untolerated_taint(pod: &Pod, node: &Node) -> bool {
    let keeps_away = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    tolerations::find_untolerated(&node.taints, &pod.spec.tolerations, keeps_away).is_some()
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        names::TAINT_TOLERATION
    }

    fn depends_on(&self) -> DependsOn {
        DependsOn::NodeObject
    }

    fn pre_filter<'a>(&'a self, pod: &'a PodInfo, _snapshot: &Snapshot<'_>) -> PreFilterResult<'a> {
        PreFilterResult::Filter(Box::new(Tolerated(pod)))
    }

    fn pre_score<'a>(
        &'a self,
        pod: &'a PodInfo,
        _snapshot: &Snapshot<'_>,
        _nodes: &[NodeIndex],
    ) -> Option<Box<dyn Score + 'a>> {
        let soft = |toleration: &&Toleration| matches!(toleration.effect, None | Some(TaintEffect::PreferNoSchedule));
        Some(Box::new(Preferred(pod.pod.spec.tolerations.iter().filter(soft).collect())))
    }

    fn is_worth_requeuing(&self, pod: &PodInfo, event: &ClusterEvent) -> bool {
        match event {
            ClusterEvent::NodeAdded(node) => !has_untolerated_taint(&pod.pod, node),
            ClusterEvent::NodeUpdated { old, new } => {
                has_untolerated_taint(&pod.pod, old) && !has_untolerated_taint(&pod.pod, new)
            }
            ClusterEvent::PodUpdated { old, new } => old.spec.tolerations != new.spec.tolerations,
            _ => false,
        }
    }
}

struct Tolerated<'a>(&'a PodInfo);

impl Filter for Tolerated<'_> {
    fn filter(&self, snapshot: &Snapshot<'_>, node: NodeIndex) -> Result<(), Status> {
        match has_untolerated_taint(&self.0.pod, snapshot.node(node)) {
            false => Ok(()),
            true => Err(Status::unresolvable(REASON)),
        }
    }
}

/// The tolerations that speak of PreferNoSchedule.
struct Preferred<'a>(Vec<&'a Toleration>);

impl Score for Preferred<'_> {
    fn score(&self, snapshot: &Snapshot<'_>, nodes: &[NodeIndex], scores: &mut [i64]) {
        for (node, score) in nodes.iter().zip(scores) {
            let intolerable = snapshot.node(*node).taints.iter().filter(|taint| {
                taint.effect == TaintEffect::PreferNoSchedule
                    && !self.0.iter().any(|toleration| tolerations::matches(toleration, taint))
            });
            *score = intolerable.count() as i64;
        }
    }

    fn normalize_score(&self, scores: &mut [i64]) {
        default_normalize_score(MAX_NODE_SCORE, true, scores);
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::scheduler::cache::testing::{cluster, node, pod, taint, toleration};
    use crate::scheduler::plugins::testing::{scores, verdicts};

    fn tainted(name: &str, taints: &[(&str, TaintEffect)]) -> Node {
        Node { taints: taints.iter().map(|(key, effect)| taint(key, "", *effect)).collect(), ..node(name) }
    }

    #[test]
    fn hard_taints_reject_and_soft_ones_cost() {
        use TaintEffect::{NoExecute, NoSchedule, PreferNoSchedule};
        let mut cache = cluster(
            [
                tainted("a", &[("gpu", NoSchedule)]),
                tainted("b", &[("down", NoExecute)]),
                tainted("c", &[("x", PreferNoSchedule), ("y", PreferNoSchedule), ("z", PreferNoSchedule)]),
                tainted("d", &[("x", PreferNoSchedule)]),
                node("e"),
            ],
            [],
        );
        let mut tolerant = pod("p");
        Rc::make_mut(&mut tolerant.spec).tolerations = vec![
            toleration("gpu", "", Some(NoSchedule)),
            toleration("y", "", None),
            toleration("x", "", Some(NoSchedule)),
        ];
        let texts: Vec<_> =
            verdicts(&TaintToleration, tolerant.clone(), &mut cache).into_iter().map(|(_, text)| text).collect();
        let rejected = "UnschedulableAndUnresolvable: node(s) had untolerated taint(s)";
        assert_eq!(texts, ["ok", rejected, "ok", "ok", "ok"]);
        // Untolerated soft taints: a 0, c 2 (x, z: the toleration of x speaks of NoSchedule), d 1, e 0; most 2.
        // 100 - 100*n/2: 100, 0, 50, 100. Node b is scored as if feasible: 100.
        assert_eq!(scores(&TaintToleration, tolerant, &mut cache), Some(vec![100, 100, 0, 50, 100]));
    }

    #[test]
    fn a_taint_that_goes_wakes() {
        let info = PodInfo::new(Rc::new(pod("p")));
        let (bare, hard) = (Rc::new(node("a")), Rc::new(tainted("a", &[("k", TaintEffect::NoSchedule)])));
        for (event, wakes) in [
            (ClusterEvent::NodeAdded(bare.clone()), true),
            (ClusterEvent::NodeAdded(hard.clone()), false),
            (ClusterEvent::NodeUpdated { old: hard.clone(), new: bare.clone() }, true),
            (ClusterEvent::NodeUpdated { old: bare.clone(), new: hard }, false),
            (ClusterEvent::NodeUpdated { old: bare.clone(), new: bare }, false),
        ] {
            assert_eq!(TaintToleration.is_worth_requeuing(&info, &event), wakes, "{event:?}");
        }
    }
}
