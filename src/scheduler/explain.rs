//! What an attempt found, in words: for `kubesim explain`. Pure; built only for the pod that a plan asks about.

use std::collections::BTreeMap;

use super::cache::{NodeIndex, Snapshot};
use super::explain_details::{OutDetails, ScoreDetails};
use super::framework::{ClusterEvent, Code, PodInfo, Profile, Status, names};
use super::schedule_one::{ScheduleError, ScheduleResult};
use crate::model::scheduling::{RejectedNode, SchedulingAttempt, ScoredNode};
use crate::model::{Pod, RecordId};

/// The attempt with this number and record, by the rules of a profile.
pub fn attempt(
    profile: &Profile,
    (attempt, record): (u32, RecordId),
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    outcome: &Result<ScheduleResult, ScheduleError>,
) -> SchedulingAttempt {
    let diagnosis = match outcome {
        Ok(result) => Some(&result.diagnosis),
        Err(ScheduleError::Fit(fit)) => Some(&fit.diagnosis),
        Err(ScheduleError::NoNodes) => None,
    };
    let mut explained = SchedulingAttempt {
        attempt,
        record,
        nodes: snapshot.nodes().len(),
        evaluated: outcome.as_ref().map_or_else(ScheduleError::evaluated, |result| result.evaluated),
        feasible: outcome.as_ref().map_or(0, |result| result.feasible),
        rejected: Vec::new(),
        nominated: None,
        excluded: 0,
        narrowed_by: Vec::new(),
        pre_filter: None,
        scores: Vec::new(),
        score_plugins: Vec::new(),
        chosen: outcome.as_ref().ok().map(|result| result.node.clone()),
    };
    if let Some(diagnosis) = diagnosis {
        let by_node: BTreeMap<u32, (&'static str, &Status)> =
            diagnosis.rejected.iter().map(|(node, plugin, status)| (node.0, (*plugin, status))).collect();
        let rejected = snapshot.nodes().iter().filter_map(|node| by_node.get(&node.0).map(|found| (*node, *found)));
        let details = OutDetails::of(profile, pod, snapshot);
        explained.rejected =
            rejected.map(|(node, (plugin, status))| rejected_node(&details, snapshot, node, plugin, status)).collect();
        explained.excluded = diagnosis.excluded;
        explained.narrowed_by = diagnosis.narrowed_by.clone();
        explained.pre_filter = diagnosis.pre_filter.as_ref().map(|(plugin, status)| (*plugin, status.message()));
    }
    if let Some(scores) = outcome.as_ref().ok().and_then(|result| result.scores.as_ref()) {
        let details = ScoreDetails::of(profile, pod, snapshot, &scores.nodes);
        let names: Vec<&'static str> = scores.plugins.iter().map(|(name, _, _)| *name).collect();
        explained.score_plugins = scores.plugins.iter().map(|(name, weight, _)| (*name, *weight)).collect();
        let row = |(index, node): (usize, &NodeIndex)| ScoredNode {
            node: snapshot.name(*node).clone(),
            scores: scores.plugins.iter().map(|(_, _, scores)| scores[index]).collect(),
            total: scores.totals[index],
            detail: details.words(&names, *node),
        };
        explained.scores = scores.nodes.iter().enumerate().map(row).collect();
    }
    // Upstream: pkg/scheduler/schedule_one.go, `evaluateNominatedNode`: one that fits is taken without a look at the others.
    let nominated = &pod.pod.status.nominated_node_name;
    let is_taken = explained.chosen.as_ref() == Some(nominated) && explained.evaluated == 1;
    explained.nominated = is_taken.then(|| nominated.clone());
    explained
}

fn rejected_node(
    details: &OutDetails<'_>,
    snapshot: &Snapshot<'_>,
    node: NodeIndex,
    plugin: &'static str,
    status: &Status,
) -> RejectedNode {
    RejectedNode {
        node: snapshot.name(node).clone(),
        plugin,
        reasons: status.reasons.iter().map(ToString::to_string).collect(),
        detail: details.words(plugin, status, node),
        resolvable: status.code == Code::Unschedulable,
    }
}

/// What happened, in words.
pub fn describe(event: &ClusterEvent) -> String {
    let pod = |pod: &Pod| format!("pod {}/{} on {}", pod.meta.namespace, pod.meta.name, pod.node_name);
    match event {
        ClusterEvent::NodeAdded(node) => format!("node {} was added", node.meta.name),
        ClusterEvent::NodeDeleted(last) => format!("node {} was deleted", last.meta.name),
        ClusterEvent::NodeUpdated { new, .. } => format!("node {} changed", new.meta.name),
        ClusterEvent::AssignedPodAdded(added) => format!("{} was added", pod(added)),
        ClusterEvent::AssignedPodScaledDown { new, .. } => format!("{} asks for less", pod(new)),
        ClusterEvent::AssignedPodRelabelled { new, .. } => format!("{} has other labels", pod(new)),
        ClusterEvent::AssignedPodDeleted(last) if last.node_name.is_empty() => {
            let Pod { meta, status, .. } = &**last;
            let node = &status.nominated_node_name;
            format!("pod {}/{} gave up its nomination to {node}", meta.namespace, meta.name)
        }
        ClusterEvent::AssignedPodDeleted(last) => format!("{} was deleted", pod(last)),
        ClusterEvent::PodUpdated { .. } => "the pod itself changed".to_string(),
    }
}

/// The events that a plugin which rejected a pod waits for.
pub fn hints(plugin: &str) -> &'static str {
    match plugin {
        names::NODE_RESOURCES_FIT => {
            "a pod with a node is deleted or asks for less, the pod asks for less, or a large enough node is added or grows"
        }
        names::NODE_AFFINITY => "a node that matches is added, or labels of a node change so that it matches",
        names::TAINT_TOLERATION => {
            "a node that is tolerated is added, an untolerated taint goes, or the pod gets a toleration"
        }
        names::NODE_UNSCHEDULABLE => "a node is added or uncordoned, or the pod gets a toleration",
        names::NODE_NAME => "a node is added",
        names::NODE_PORTS => "a pod with one of its ports is deleted, or a node is added",
        names::POD_TOPOLOGY_SPREAD => {
            "a pod that it counts comes, goes or has other labels, or a node with the labels that it counts by comes, goes or changes"
        }
        names::INTER_POD_AFFINITY => {
            "a pod that it wants near comes, one that it wants apart goes, or a node with the labels that they go by comes or changes"
        }
        _ => "nothing that is known",
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;
    use crate::model::{Node, NodeAffinity, NodeSelectorTerm, Operator, Requirement, TaintEffect};
    use crate::scheduler::cache::Cache;
    use crate::scheduler::cache::testing::{bound, cluster, node, pod_with, sized_node, taint};
    use crate::scheduler::framework::{Profile, Version};
    use crate::scheduler::queue::Nominator;
    use crate::scheduler::schedule_one::{Search, schedule_pod};

    const GIB: i64 = 1 << 30;

    fn explained(pod: Pod, cache: &mut Cache) -> SchedulingAttempt {
        let (profile, info) = (Profile::default_profile(Version::V1_36), PodInfo::new(Rc::new(pod)));
        let snapshot = cache.snapshot();
        let outcome = schedule_pod(&profile, &info, &snapshot, &Nominator::default(), &mut Search::default());
        attempt(&profile, (3, RecordId(7)), &info, &snapshot, &outcome)
    }

    fn details(attempt: &SchedulingAttempt) -> Vec<String> {
        attempt.rejected.iter().map(|out| format!("{} {}: {}", out.node, out.plugin, out.detail)).collect()
    }

    #[test]
    fn each_rejection_says_what_is_in_the_way() {
        let labelled = |name: &str, disk: &str| {
            let mut node = node(name);
            node.meta.labels = [("disk".into(), disk.into())].into_iter().collect();
            node
        };
        let mut tainted = labelled("tainted", "ssd");
        tainted.taints =
            Rc::new([taint("soft", "", TaintEffect::PreferNoSchedule), taint("gpu", "true", TaintEffect::NoSchedule)]);
        let mut small = sized_node("small", 2_000, 3 * GIB);
        small.meta.labels = [("disk".into(), "ssd".into())].into_iter().collect();
        let cordoned = Node { unschedulable: true, ..labelled("cordoned", "ssd") };
        let nodes = [tainted, node("bare"), labelled("slow", "hdd"), small, cordoned];
        let mut pod = pod_with("p", 4_500, 4 * GIB);
        Rc::make_mut(&mut pod.spec).node_selector = [("disk".into(), "ssd".into())].into_iter().collect();
        let attempt = explained(pod, &mut cluster(nodes, [bound("x", "small", 500, GIB)]));
        assert_eq!(
            details(&attempt),
            [
                "tainted TaintToleration: gpu=true:NoSchedule",
                "bare NodeAffinity: disk=ssd wanted, the node has no label disk",
                "slow NodeAffinity: disk=ssd wanted, the node has disk=hdd",
                // 2000 - 500 of 2000 milli, 3 - 1 of 3 GiB.
                "small NodeResourcesFit: 4500m cpu wanted, 1500m of 2 free; 4Gi memory wanted, 2Gi of 3Gi free",
                "cordoned NodeUnschedulable: it is cordoned",
            ]
        );
        assert_eq!((attempt.attempt, attempt.record, attempt.evaluated, attempt.feasible), (3, RecordId(7), 5, 0));
        assert_eq!((attempt.chosen, attempt.scores.len()), (None, 0));
    }

    #[test]
    fn scores_say_what_they_come_from() {
        let mut soft = node("soft");
        soft.taints = Rc::new([taint("old", "", TaintEffect::PreferNoSchedule)]);
        let mut pod = pod_with("p", 2_000, 0);
        let zone = Requirement { key: "zone".into(), operator: Operator::DoesNotExist, values: Vec::new() };
        let term = NodeSelectorTerm { match_expressions: vec![zone], match_fields: Vec::new() };
        Rc::make_mut(&mut pod.spec).node_affinity = Some(NodeAffinity { required: None, preferred: vec![(30, term)] });
        let attempt = explained(pod, &mut cluster([soft, node("free")], [bound("x", "free", 1_000, 5 * GIB)]));
        let details: Vec<(&str, &str)> =
            attempt.scores.iter().map(|row| (row.node.as_str(), row.detail.as_str())).collect();
        // 10 CPU, 10 GiB. CPU: 10 - 2 = 80 %, 10 - 1 - 2 = 70 %. Memory: 200Mi count for the pod that names none: 98.04 % and
        // 48.04 %; balance knows no such amounts.
        assert_eq!(
            details,
            [
                (
                    "soft",
                    "discouraged by 1 taint; preferred with weight 30; left: cpu 80 %, memory 98 %; \
                     used: cpu 0 -> 20 %, memory 0 -> 0 %"
                ),
                (
                    "free",
                    "preferred with weight 30; left: cpu 70 %, memory 48 %; used: cpu 10 -> 30 %, memory 50 -> 50 %"
                ),
            ]
        );
        assert_eq!(attempt.score_plugins.len(), 5);
        assert_eq!(attempt.scores[0].scores.len(), 5);
    }
}
