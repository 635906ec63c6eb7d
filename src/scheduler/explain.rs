//! What an attempt found, in words: for `kubesim explain`. Pure; built only for the pod that a plan asks about.

use std::collections::BTreeMap;

use super::cache::{NodeIndex, Snapshot};
use super::framework::pod_info::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amount_of};
use super::framework::{ClusterEvent, Code, PodInfo, Status, names};
use super::schedule_one::{ScheduleError, ScheduleResult};
use crate::model::scheduling::{RejectedNode, SchedulingAttempt, ScoredNode};
use crate::model::{Node, Pod, RecordId, TaintEffect};
use crate::rules::quantity::{Format, Quantity};
use crate::rules::tolerations;

/// The attempt numbered `attempt`, whose record is `record`.
pub fn attempt(
    attempt: u32,
    record: RecordId,
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
        explained.rejected =
            rejected.map(|(node, (plugin, status))| rejected_node(pod, snapshot, node, plugin, status)).collect();
        explained.excluded = diagnosis.excluded;
        explained.narrowed_by = diagnosis.narrowed_by.clone();
        explained.pre_filter = diagnosis.pre_filter.as_ref().map(|(plugin, status)| (*plugin, status.message()));
    }
    if let Some(scores) = outcome.as_ref().ok().and_then(|result| result.scores.as_ref()) {
        explained.score_plugins = scores.plugins.iter().map(|(name, weight, _)| (*name, *weight)).collect();
        let row = |(index, node): (usize, &NodeIndex)| ScoredNode {
            node: snapshot.name(*node).clone(),
            scores: scores.plugins.iter().map(|(_, _, scores)| scores[index]).collect(),
            total: scores.totals[index],
        };
        explained.scores = scores.nodes.iter().enumerate().map(row).collect();
    }
    explained
}

fn rejected_node(
    pod: &PodInfo,
    snapshot: &Snapshot<'_>,
    node: NodeIndex,
    plugin: &'static str,
    status: &Status,
) -> RejectedNode {
    let object = snapshot.node(node);
    let detail = match plugin {
        names::NODE_RESOURCES_FIT => lacks(pod, snapshot, node),
        names::TAINT_TOLERATION => untolerated(&pod.pod, object),
        names::NODE_AFFINITY => mismatch(&pod.pod, object),
        names::NODE_UNSCHEDULABLE => "it is cordoned".to_string(),
        names::NODE_NAME => format!("the pod asks for {}", pod.pod.node_name),
        _ => String::new(),
    };
    RejectedNode {
        node: snapshot.name(node).clone(),
        plugin,
        reasons: status.reasons.iter().map(ToString::to_string).collect(),
        detail,
        resolvable: status.code == Code::Unschedulable,
    }
}

/// What is asked for and not there: `4 cpu wanted, 2 of 2 free`.
fn lacks(pod: &PodInfo, snapshot: &Snapshot<'_>, node: NodeIndex) -> String {
    let sums = snapshot.sums(node);
    let mut lacks = Vec::new();
    let mut look = |resource: &str, wanted: i64, allocatable: i64, requested: i64, show: &dyn Fn(i64) -> String| {
        if wanted > 0 && wanted > allocatable - requested {
            let free = (allocatable - requested).max(0);
            let (wanted, free, all) = (show(wanted), show(free), show(allocatable));
            lacks.push(format!("{wanted} {resource} wanted, {free} of {all} free"));
        }
    };
    let bytes = |amount: i64| Quantity::from_value(amount, Format::BinarySI).to_string();
    let plain = |amount: i64| Quantity::from_value(amount, Format::DecimalSI).to_string();
    let milli = |amount: i64| Quantity::from_milli(amount).to_string();
    let mut fixed = |index: usize, resource: &str, show: &dyn Fn(i64) -> String| {
        look(resource, pod.requests.amounts[index], sums.allocatable[index], sums.requested[index], show);
    };
    fixed(PODS, "pod", &plain);
    fixed(CPU, "cpu", &milli);
    fixed(MEMORY, "memory", &bytes);
    fixed(EPHEMERAL_STORAGE, "ephemeral-storage", &bytes);
    for (name, wanted) in &pod.requests.extended {
        let allocatable = amount_of(&snapshot.node(node).allocatable.extended, name);
        let requested = amount_of(snapshot.extended_requested(node), name);
        look(name.as_str(), *wanted, allocatable, requested, &plain);
    }
    lacks.join("; ")
}

/// The taint that keeps the pod away: `gpu=true:NoSchedule`.
fn untolerated(pod: &Pod, node: &Node) -> String {
    let keeps_away = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    let taint = tolerations::find_untolerated(&node.taints, &pod.spec.tolerations, keeps_away);
    taint.map_or_else(String::new, |taint| {
        let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
        format!("{}{value}:{}", taint.key, taint.effect.as_str())
    })
}

/// The first entry of the node selector that the node lacks; else it is the required node affinity.
fn mismatch(pod: &Pod, node: &Node) -> String {
    for (key, wanted) in pod.spec.node_selector.iter() {
        match node.meta.labels.get(key) {
            Some(value) if value == wanted => {}
            Some(value) => return format!("{key}={wanted} wanted, the node has {key}={value}"),
            None => return format!("{key}={wanted} wanted, the node has no label {key}"),
        }
    }
    "no term of the required node affinity matches".to_string()
}

/// What happened, in words.
pub fn describe(event: &ClusterEvent) -> String {
    let pod = |pod: &Pod| format!("pod {}/{} on {}", pod.meta.namespace, pod.meta.name, pod.node_name);
    match event {
        ClusterEvent::NodeAdded(node) => format!("node {} was added", node.meta.name),
        ClusterEvent::NodeUpdated { new, .. } => format!("node {} changed", new.meta.name),
        ClusterEvent::AssignedPodAdded(added) => format!("{} was added", pod(added)),
        ClusterEvent::AssignedPodScaledDown { new, .. } => format!("{} asks for less", pod(new)),
        ClusterEvent::AssignedPodDeleted(last) => format!("{} was deleted", pod(last)),
        ClusterEvent::PodUpdated { .. } => "the pod itself changed".to_string(),
    }
}

/// The events that a plugin which rejected a pod waits for.
pub fn hints(plugin: &str) -> &'static str {
    match plugin {
        names::NODE_RESOURCES_FIT => {
            "a pod with a node is deleted or asks for less, or a node that is large enough is added or grows"
        }
        names::NODE_AFFINITY => "a node that matches is added, or labels of a node change so that it matches",
        names::TAINT_TOLERATION => {
            "a node that is tolerated is added, an untolerated taint goes, or the pod gets a toleration"
        }
        names::NODE_UNSCHEDULABLE => "a node is added or uncordoned, or the pod gets a toleration",
        names::NODE_NAME => "a node is added",
        _ => "nothing that is known",
    }
}
