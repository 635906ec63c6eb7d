//! What the API server adds to pods and nodes when they are created.
//!
//! Upstream: plugin/pkg/admission/{defaulttolerationseconds,priority,nodetaint}, pkg/registry/core/pod/strategy.go, v1.36.

use std::rc::Rc;

use super::label_keys::MergedSpecs;
use super::priority::PriorityClasses;
use super::qos;
use crate::model::{
    Condition, ConditionStatus, Name, Node, Object, Pod, PodPhase, PodSpec, PodStatus, Rv, Taint, TaintEffect,
    Toleration, find_condition,
};

/// Taint of nodes that are not ready.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// Taint of nodes that nobody hears from.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// Which condition of a node, with which status, becomes which taint; all get the effect NoSchedule.
///
/// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, `nodeConditionToTaintKeyStatusMap`, v1.36.
const CONDITION_TAINTS: [(&str, ConditionStatus, &str); 6] = [
    ("Ready", ConditionStatus::False, NOT_READY),
    ("Ready", ConditionStatus::Unknown, UNREACHABLE),
    ("MemoryPressure", ConditionStatus::True, "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", ConditionStatus::True, "node.kubernetes.io/disk-pressure"),
    ("PIDPressure", ConditionStatus::True, "node.kubernetes.io/pid-pressure"),
    ("NetworkUnavailable", ConditionStatus::True, "node.kubernetes.io/network-unavailable"),
];
/// How long pods stay on nodes that are not ready or unreachable, unless they say otherwise, seconds.
pub const DEFAULT_TOLERATION_SECONDS: i64 = 300;
/// How many specs [`AdmittedSpecs`] remembers.
const REMEMBERED: usize = 64;

/// How a node comes into being.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NodeRegistration {
    /// A kubelet registers it: it is tainted not-ready until the node lifecycle controller sees it Ready.
    New,
    /// It has been there since before the run: it is taken as given, with the taints that its conditions call for.
    Existing,
}

/// Specs as they came in and as they were stored, so that all pods of a template go on sharing one spec. Forgetting costs
/// memory only; it never changes a result.
#[derive(Clone, Default, Debug)]
pub struct AdmittedSpecs {
    remembered: Vec<(Rc<PodSpec>, Rc<PodSpec>)>,
    merged: MergedSpecs,
    classes: PriorityClasses,
    /// Version of the priority classes.
    revision: Rv,
}

impl AdmittedSpecs {
    /// Takes the priority classes as they are at this revision, unless it has them.
    pub fn see_classes<'a>(&mut self, revision: Rv, classes: impl Iterator<Item = &'a Object>) {
        if revision != self.revision {
            self.revision = revision;
            self.classes = PriorityClasses::new(classes.filter_map(Object::as_priority_class).cloned());
            self.remembered.clear();
        }
    }

    fn admit(&mut self, spec: &Rc<PodSpec>) -> Rc<PodSpec> {
        if let Some((_, admitted)) = self.remembered.iter().find(|(given, _)| Rc::ptr_eq(given, spec)) {
            return admitted.clone();
        }
        let admitted = admitted_spec_among(spec, &self.classes);
        if self.remembered.len() == REMEMBERED {
            self.remembered.remove(0);
        }
        self.remembered.push((spec.clone(), admitted.clone()));
        admitted
    }
}

/// Admits a pod to be created, its creation time set: default tolerations, priority and label keys, and the status of a pod nobody has
/// seen yet. A gated pod says so in its first condition.
pub fn admit_pod(pod: &mut Pod, specs: &mut AdmittedSpecs) {
    let admitted = specs.admit(&pod.spec);
    pod.spec = specs.merged.merge(admitted, &pod.meta.labels);
    pod.status = PodStatus { phase: PodPhase::Pending, qos_class: qos::class(&pod.spec), ..PodStatus::default() };
    if !pod.spec.scheduling_gates.is_empty() {
        pod.status.conditions.push(Condition {
            condition_type: "PodScheduled".into(),
            status: ConditionStatus::False,
            reason: "SchedulingGated".into(),
            message: "Scheduling is blocked due to non-empty scheduling gates".into(),
            last_transition: pod.meta.creation,
            last_update: None,
        });
    }
}

/// The spec with what admission adds; the same pointer when it adds nothing.
pub fn admitted_spec(spec: &Rc<PodSpec>) -> Rc<PodSpec> {
    admitted_spec_among(spec, &PriorityClasses::default())
}

fn admitted_spec_among(spec: &Rc<PodSpec>, classes: &PriorityClasses) -> Rc<PodSpec> {
    let missing: Vec<Toleration> = [NOT_READY, UNREACHABLE]
        .into_iter()
        .filter(|key| !tolerates_no_execute(spec, key))
        .map(default_toleration)
        .collect();
    let prioritised = classes.prioritised(spec);
    if missing.is_empty() && prioritised.is_none() {
        return spec.clone();
    }
    let mut admitted = prioritised.unwrap_or_else(|| PodSpec::clone(spec));
    admitted.tolerations.extend(missing);
    Rc::new(admitted)
}

/// Whether the pod says itself how long it stays with this NoExecute taint. Value and operator are not looked at.
fn tolerates_no_execute(spec: &PodSpec, key: &str) -> bool {
    spec.tolerations.iter().any(|toleration| {
        (toleration.key.is_empty() || toleration.key == key)
            && toleration.effect.is_none_or(|effect| effect == TaintEffect::NoExecute)
    })
}

fn default_toleration(key: &str) -> Toleration {
    Toleration {
        key: Name::new(key),
        exists: true,
        value: Name::EMPTY,
        effect: Some(TaintEffect::NoExecute),
        toleration_seconds: Some(DEFAULT_TOLERATION_SECONDS),
    }
}

/// Admits a node to be created. One that has been there since before the run gets the taints that the node lifecycle
/// controller had made of its conditions by then.
///
/// DIVERGES: there is no node lifecycle controller yet: conditions become taints here and only here, and pods on a node that
/// is not ready are not evicted.
pub fn admit_node(node: &mut Node, register: NodeRegistration) {
    let missing: Vec<Taint> = match register {
        NodeRegistration::New => vec![taint(NOT_READY, TaintEffect::NoSchedule)],
        NodeRegistration::Existing => condition_taints(&node.conditions),
    };
    let is_there = |new: &Taint| node.taints.iter().any(|taint| taint.key == new.key && taint.effect == new.effect);
    let missing: Vec<Taint> = missing.into_iter().filter(|new| !is_there(new)).collect();
    if !missing.is_empty() {
        node.taints = node.taints.iter().cloned().chain(missing).collect();
    }
}

/// The taints of a node with these conditions. Nodes that are not ready or unreachable have NoExecute too.
fn condition_taints(conditions: &[Condition]) -> Vec<Taint> {
    let holds = |(condition, status, _): &&(&str, ConditionStatus, &str)| {
        find_condition(conditions, condition).is_some_and(|found| found.status == *status)
    };
    let found = || CONDITION_TAINTS.iter().filter(holds);
    let no_execute = found().filter(|(condition, _, _)| *condition == "Ready");
    let no_schedule = found().map(|(_, _, key)| taint(key, TaintEffect::NoSchedule));
    no_schedule.chain(no_execute.map(|(_, _, key)| taint(key, TaintEffect::NoExecute))).collect()
}

fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: Name::new(key), value: Name::EMPTY, effect, time_added: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Time;
    use crate::rules::codec::decode;

    fn pod(spec: serde_json::Value) -> Pod {
        let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec,
            "status": {"phase": "Running", "podIP": "10.0.0.1"}});
        Pod::clone(decode(&manifest).unwrap().as_pod().unwrap())
    }

    #[test]
    fn pods_get_tolerations_and_a_fresh_status() {
        let mut specs = AdmittedSpecs::default();
        let given = pod(json!({"priorityClassName": "system-node-critical", "containers": [{"name": "c",
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}]}));
        let (mut first, mut second) = (given.clone(), given);
        admit_pod(&mut first, &mut specs);
        admit_pod(&mut second, &mut specs);
        assert!(Rc::ptr_eq(&first.spec, &second.spec));
        assert_eq!(first.spec.tolerations, [default_toleration(NOT_READY), default_toleration(UNREACHABLE)]);
        assert_eq!(first.spec.priority, 2_000_001_000);
        assert_eq!((first.status.phase, first.status.pod_ip.as_str()), (PodPhase::Pending, ""));
        assert_eq!(first.status.qos_class.as_str(), "Guaranteed");
        // Admitted once more, nothing is added.
        assert!(Rc::ptr_eq(&admitted_spec(&first.spec), &first.spec));
    }

    #[test]
    fn label_keys_are_merged_with_the_labels_of_each_pod() {
        let mut specs = AdmittedSpecs::default();
        let given = pod(json!({"containers": [], "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}, "matchLabelKeys": ["pod-template-hash"]}]}));
        let mut made = |hash: &str| {
            let mut pod = given.clone();
            pod.meta.labels = pod.meta.labels.with("pod-template-hash", hash);
            admit_pod(&mut pod, &mut specs);
            pod
        };
        let (first, second, other) = (made("a"), made("a"), made("b"));
        let wanted = |pod: &Pod| {
            let selector = pod.spec.topology_spread_constraints[0].selector.clone().unwrap();
            selector.requirements.iter().map(|one| one.values[0].to_string()).collect::<Vec<_>>()
        };
        assert!(Rc::ptr_eq(&first.spec, &second.spec));
        assert_eq!((wanted(&first), wanted(&other), wanted(&given)), (vec!["a".into()], vec!["b".into()], vec![]));
    }

    #[test]
    fn gated_pods_say_so() {
        let mut gated = pod(json!({"schedulingGates": [{"name": "g"}], "containers": []}));
        gated.meta.creation = Time(1_000_000_000);
        admit_pod(&mut gated, &mut AdmittedSpecs::default());
        assert_eq!(gated.status.conditions[0].reason, "SchedulingGated");
        assert_eq!(gated.status.conditions[0].last_transition, Time(1_000_000_000));
    }

    #[test]
    fn own_tolerations_are_kept() {
        let own = json!({"key": NOT_READY, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30});
        let spec = admitted_spec(&pod(json!({"tolerations": [own], "containers": []})).spec);
        assert_eq!(spec.tolerations.len(), 2);
        assert_eq!(spec.tolerations[0].toleration_seconds, Some(30));
        assert_eq!(spec.tolerations[1], default_toleration(UNREACHABLE));
        let all = admitted_spec(&pod(json!({"tolerations": [{"operator": "Exists"}], "containers": []})).spec);
        assert_eq!(all.tolerations.len(), 1);
        // Another effect does not count.
        let other = json!({"key": NOT_READY, "operator": "Exists", "effect": "NoSchedule"});
        let spec = admitted_spec(&pod(json!({"tolerations": [other], "containers": []})).spec);
        assert_eq!(spec.tolerations.len(), 3);
    }

    #[test]
    fn new_nodes_are_not_ready() {
        let manifest = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}});
        let mut node = Node::clone(decode(&manifest).unwrap().as_node().unwrap());
        admit_node(&mut node, NodeRegistration::Existing);
        assert!(node.taints.is_empty());
        admit_node(&mut node, NodeRegistration::New);
        admit_node(&mut node, NodeRegistration::New);
        assert_eq!((node.taints.len(), node.taints[0].key.as_str()), (1, NOT_READY));
    }

    #[test]
    fn conditions_of_nodes_become_taints() {
        let condition = |(kind, status): &(&str, &str)| json!({"type": kind, "status": status});
        for (conditions, taints) in [
            (vec![("Ready", "True"), ("MemoryPressure", "False")], vec![]),
            (vec![("Ready", "False")], vec!["not-ready:NoSchedule", "not-ready:NoExecute"]),
            (vec![("Ready", "Unknown")], vec!["unreachable:NoSchedule", "unreachable:NoExecute"]),
            (
                vec![("DiskPressure", "True"), ("PIDPressure", "True"), ("NetworkUnavailable", "Unknown")],
                vec!["disk-pressure:NoSchedule", "pid-pressure:NoSchedule"],
            ),
        ] {
            let conditions: Vec<_> = conditions.iter().map(condition).collect();
            let manifest = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
                "status": {"conditions": conditions}});
            let mut node = Node::clone(decode(&manifest).unwrap().as_node().unwrap());
            // Twice: what is there is not added again.
            admit_node(&mut node, NodeRegistration::Existing);
            admit_node(&mut node, NodeRegistration::Existing);
            let text = |taint: &Taint| format!("{}:{}", &taint.key.as_str()[19..], taint.effect.as_str());
            assert_eq!(node.taints.iter().map(text).collect::<Vec<_>>(), taints);
        }
    }
}
