//! Constraints, the nodes that count for them, and the pods that do.
//!
//! Upstream: pkg/scheduler/framework/plugins/podtopologyspread/common.go, v1.36.

use std::rc::Rc;

use crate::model::{Labels, Name, Pod, TaintEffect, TopologySpreadConstraint};
use crate::rules::{node_affinity, tolerations};
use crate::scheduler::cache::{Counts, NodeIndex, PodSet, Snapshot};
use crate::scheduler::framework::config::DefaultConstraint;

/// The label of nodes whose counts are taken node by node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
/// The built-in default constraints: label and `maxSkew`; all are soft.
const BUILT_IN: [(&str, i32); 2] = [(HOSTNAME, 3), (ZONE, 5)];

/// The constraints of pods that have none of their own.
#[derive(Clone, PartialEq, Debug)]
pub struct Defaults {
    /// Whether they are the built-in ones (`defaultingType: System`).
    pub are_built_in: bool,
    list: Vec<DefaultConstraint>,
}

impl Defaults {
    /// Those of a configuration; `None`: the built-in ones.
    pub fn new(given: Option<&[DefaultConstraint]>) -> Defaults {
        let built_in = |(topology_key, max_skew): (&str, i32)| DefaultConstraint {
            topology_key: topology_key.to_string(),
            max_skew,
            is_required: false,
        };
        let list = given.map_or_else(|| BUILT_IN.map(built_in).into(), <[_]>::to_vec);
        Defaults { are_built_in: given.is_none(), list }
    }

    /// Of one sort.
    pub fn of_sort(&self, is_required: bool) -> impl Iterator<Item = &DefaultConstraint> {
        self.list.iter().filter(move |constraint| constraint.is_required == is_required)
    }

    /// Of one sort, for the pods that Services and the owner select; none without those.
    ///
    /// Upstream: `buildDefaultConstraints`.
    pub fn constraints(&self, pod: &Pod, is_required: bool, snapshot: &Snapshot<'_>) -> Vec<TopologySpreadConstraint> {
        if self.of_sort(is_required).next().is_none() {
            return Vec::new();
        }
        let Some(selector) = snapshot.selectors().default_selector(pod) else { return Vec::new() };
        let constraint = |default: &DefaultConstraint| TopologySpreadConstraint {
            max_skew: default.max_skew,
            topology_key: Name::new(&default.topology_key),
            is_required,
            selector: Some(selector.clone()),
            min_domains: None,
            honors_node_affinity: true,
            honors_node_taints: false,
            match_label_keys: Vec::new(),
        };
        self.of_sort(is_required).map(constraint).collect()
    }
}

/// The constraints of a pod of one sort, hard or soft.
///
/// `matchLabelKeys` are in the selectors already: the API server puts them there when the pod is created (since 1.34).
pub fn constraints(pod: &Pod, is_required: bool) -> impl Iterator<Item = &TopologySpreadConstraint> {
    pod.spec.topology_spread_constraints.iter().filter(move |constraint| constraint.is_required == is_required)
}

/// Whether the constraint selects pods with these labels.
pub fn selects(constraint: &TopologySpreadConstraint, labels: &Labels) -> bool {
    constraint.selector.as_ref().is_some_and(|selector| selector.matches(labels))
}

/// Whether a node with these labels has the keys of all constraints.
pub fn has_all_keys<'a>(labels: &Labels, constraints: impl IntoIterator<Item = &'a TopologySpreadConstraint>) -> bool {
    constraints.into_iter().all(|constraint| labels.get(&constraint.topology_key).is_some())
}

/// Whose pods count for a constraint.
#[derive(Clone, Copy)]
pub struct Eligible {
    asks_affinity: bool,
    asks_taints: bool,
}

impl Eligible {
    /// By the inclusion policies of the constraint.
    pub fn of(constraint: &TopologySpreadConstraint, pod: &Pod) -> Eligible {
        let required = pod.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let wants_some = required.is_some() || !pod.spec.node_selector.is_empty();
        Eligible {
            asks_affinity: constraint.honors_node_affinity && wants_some,
            asks_taints: constraint.honors_node_taints,
        }
    }

    /// Whether the node's pods count.
    pub fn includes(self, pod: &Pod, snapshot: &Snapshot<'_>, node: NodeIndex) -> bool {
        if !self.asks_affinity && !self.asks_taints {
            return true;
        }
        let (node, tolerations) = (snapshot.node(node), &pod.spec.tolerations);
        let keeps_away = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        (!self.asks_affinity || node_affinity::matches_required(&pod.spec, node))
            && (!self.asks_taints || tolerations::find_untolerated(&node.taints, tolerations, keeps_away).is_none())
    }
}

/// How many pods of the pod's namespace the constraint selects on each node; those on their way out do not count, and an empty
/// selector counts none: `None`.
pub fn counts(constraint: &TopologySpreadConstraint, pod: &Pod, snapshot: &Snapshot<'_>) -> Option<Rc<Counts>> {
    let selector = constraint.selector.clone().filter(|selector| !selector.requirements.is_empty())?;
    let namespaces = Some(vec![pod.meta.namespace.clone()]);
    Some(snapshot.matching_pods(&[PodSet { namespaces, selector, with_leaving: false }]))
}
