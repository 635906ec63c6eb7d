//! What exactly is in the way of a pod on a node, and what its scores come from, in words. Pure; built only for the pod that a
//! plan asks about.

use super::cache::{NodeIndex, Snapshot};
use super::framework::pod_info::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, amount_of};
use super::framework::{PodInfo, Profile, Status, names};
use super::plugins::image_locality::images_on;
use super::plugins::inter_pod_affinity::filtering::{REASON_AFFINITY, REASON_ANTI_AFFINITY, REASON_EXISTING};
use super::plugins::inter_pod_affinity::scoring::Preferences;
use super::plugins::inter_pod_affinity::{others_term_matches, own_term_matches};
use super::plugins::node_resources_fit::scored_requests;
use super::plugins::pod_topology_spread::{filtering, scoring};
use crate::model::{Labels, Name, Node, Operator, Pod, PodAffinityTerm, Requirement, Taint, TaintEffect};
use crate::rules::quantity::{Format, Quantity};
use crate::rules::{node_affinity, tolerations};

/// What is in the way on nodes that are out.
pub struct OutDetails<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot<'a>,
    spread: Option<filtering::Spread<'a>>,
}

impl<'a> OutDetails<'a> {
    /// Counts what pods of the cluster count for.
    pub fn of(profile: &Profile, pod: &'a PodInfo, snapshot: &'a Snapshot<'a>) -> OutDetails<'a> {
        OutDetails { pod, snapshot, spread: filtering::Spread::of(&pod.pod, &profile.spread_defaults, snapshot) }
    }

    /// What is in the way of a plugin on a node; empty when nothing is known beyond its reasons.
    pub fn words(&self, plugin: &str, status: &Status, node: NodeIndex) -> String {
        let (pod, snapshot) = (self.pod, self.snapshot);
        let object = snapshot.node(node);
        match plugin {
            names::NODE_RESOURCES_FIT => lacks(pod, snapshot, node),
            names::TAINT_TOLERATION => untolerated(&pod.pod, object),
            names::NODE_AFFINITY => mismatch(&pod.pod, object),
            names::NODE_UNSCHEDULABLE => "it is cordoned".to_string(),
            names::NODE_NAME => format!("the pod asks for {}", pod.pod.node_name),
            names::NODE_PORTS => self.port_taken(node),
            names::POD_TOPOLOGY_SPREAD => {
                self.spread.as_ref().and_then(|spread| spread.excess(snapshot, node)).unwrap_or_default()
            }
            names::INTER_POD_AFFINITY => self.company(&status.message(), node),
            _ => String::new(),
        }
    }

    /// Who is near that should not be, or that nobody is.
    fn company(&self, reason: &str, node: NodeIndex) -> String {
        let (pod, snapshot) = (&*self.pod.pod, self.snapshot);
        let selectors = snapshot.selectors();
        let namespace = selectors.namespace_labels(&pod.meta.namespace);
        let affinity = (&pod.spec.pod_affinity.required, &pod.spec.pod_anti_affinity.required);
        let meets = |other: &Pod, term: &PodAffinityTerm| match reason {
            REASON_EXISTING => others_term_matches(term, other, pod, namespace),
            _ => own_term_matches(term, pod, other, selectors),
        };
        match reason {
            REASON_AFFINITY => {
                let labels = &snapshot.node(node).meta.labels;
                let lonely = affinity.0.iter().find_map(|term| match labels.get(&term.topology_key) {
                    None => Some(format!("the node has no label {}", term.topology_key)),
                    Some(place) => {
                        let is_alone = self.neighbours(&term.topology_key, node).all(|(_, other)| !meets(other, term));
                        is_alone.then(|| format!("none of the wanted pods is in {}={place}", term.topology_key))
                    }
                });
                lonely.unwrap_or_else(|| "no pod there is wanted by all terms".to_string())
            }
            REASON_ANTI_AFFINITY => {
                let found = affinity.1.iter().find_map(|term| {
                    let mut near = self.neighbours(&term.topology_key, node);
                    near.find(|(_, other)| meets(other, term)).map(|(on, other)| self.place(term, node, on, other))
                });
                found.unwrap_or_default()
            }
            REASON_EXISTING => {
                // Its own node first; then any other.
                let found = snapshot.nodes().iter().copied().filter(|on| *on != node);
                let found = std::iter::once(node).chain(found).find_map(|on| {
                    sorted(snapshot, on).into_iter().find_map(|other| {
                        let mut terms = other.spec.pod_anti_affinity.required.iter();
                        let labels = |node| &snapshot.node(node).meta.labels;
                        let is_near =
                            |key: &Name| labels(on).get(key).is_some_and(|on| labels(node).get(key) == Some(on));
                        let term = terms.find(|term| is_near(&term.topology_key) && meets(other, term))?;
                        Some(format!("{} and wants no such pod near", self.place(term, node, on, other)))
                    })
                });
                found.unwrap_or_default()
            }
            _ => String::new(),
        }
    }

    /// The pods in the node's domain of a label, the node's own first.
    fn neighbours(&self, key: &Name, node: NodeIndex) -> impl Iterator<Item = (NodeIndex, &'a Pod)> {
        let snapshot = self.snapshot;
        let place = snapshot.node(node).meta.labels.get(key).cloned();
        let is_near = {
            let key = key.clone();
            move |other: &NodeIndex| place.is_some() && snapshot.node(*other).meta.labels.get(&key) == place.as_ref()
        };
        let others = snapshot.nodes().iter().copied().filter(move |other| *other != node);
        let near = std::iter::once(node).chain(others).filter(is_near);
        near.flat_map(move |on| sorted(snapshot, on).into_iter().map(move |pod| (on, pod)))
    }

    /// `pod default/web-1 is on it`, or `... is on node-2, in the same zone=a`.
    fn place(&self, term: &PodAffinityTerm, node: NodeIndex, on: NodeIndex, other: &Pod) -> String {
        let name = format!("pod {}/{}", other.meta.namespace, other.meta.name);
        if on == node {
            return format!("{name} is on it");
        }
        let value = self.snapshot.node(node).meta.labels.get(&term.topology_key).map_or("", |value| value.as_str());
        format!("{name} is on {}, in the same {}={value}", self.snapshot.name(on), term.topology_key)
    }

    fn port_taken(&self, node: NodeIndex) -> String {
        let wanted = &self.pod.host_ports;
        let taken = self.snapshot.pods(node).iter().find_map(|other| {
            let mut ports = other.host_ports.iter();
            let is_wanted = |port: &&_| super::plugins::node_ports::conflict(wanted, std::slice::from_ref(*port));
            let port = ports.find(is_wanted)?;
            let meta = &other.pod.meta;
            Some(format!("pod {}/{} has port {}/{}", meta.namespace, meta.name, port.port, port.protocol))
        });
        taken.unwrap_or_default()
    }
}

/// A node's pods in order of their names.
fn sorted<'a>(snapshot: &Snapshot<'a>, node: NodeIndex) -> Vec<&'a Pod> {
    let mut pods: Vec<&Pod> = snapshot.pods(node).iter().map(|info| &*info.pod).collect();
    pods.sort_by(|a, b| (&a.meta.namespace, &a.meta.name).cmp(&(&b.meta.namespace, &b.meta.name)));
    pods
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

/// The first entry of the node selector that the node lacks, or the requirement of the only term of the required node affinity;
/// empty when the pod itself asks for nothing that the node lacks.
fn mismatch(pod: &Pod, node: &Node) -> String {
    let labels = &node.meta.labels;
    for (key, wanted) in pod.spec.node_selector.iter() {
        if labels.get(key) != Some(wanted) {
            return format!("{key}={wanted} wanted, {}", has(labels, key));
        }
    }
    let required = pod.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    match required.map(Vec::as_slice) {
        None => String::new(),
        Some([only]) => {
            let unmet = only.match_expressions.iter().find(|requirement| !requirement.matches(labels));
            let unmet = unmet.map(|requirement| format!("{}, {}", wanted(requirement), has(labels, &requirement.key)));
            unmet.unwrap_or_else(|| "its name is not the one that is wanted".to_string())
        }
        Some(terms) => format!("none of the {} terms of the required node affinity matches", terms.len()),
    }
}

fn has(labels: &Labels, key: &Name) -> String {
    let value = labels.get(key).map(|value| format!("the node has {key}={value}"));
    value.unwrap_or_else(|| format!("the node has no label {key}"))
}

/// `zone in (a, b) wanted`.
fn wanted(requirement: &Requirement) -> String {
    let Requirement { key, values, .. } = requirement;
    let values = values.iter().map(Name::as_str).collect::<Vec<_>>().join(", ");
    match requirement.operator {
        Operator::In => format!("{key} in ({values}) wanted"),
        Operator::NotIn => format!("{key} in ({values}) not wanted"),
        Operator::Exists => format!("label {key} wanted"),
        Operator::DoesNotExist => format!("label {key} not wanted"),
        Operator::Gt => format!("{key} > {values} wanted"),
        Operator::Lt => format!("{key} < {values} wanted"),
    }
}

/// What scores come from.
pub struct ScoreDetails<'a> {
    pod: &'a PodInfo,
    snapshot: &'a Snapshot<'a>,
    spread: Option<scoring::Spread>,
    preferences: Option<Preferences>,
}

impl<'a> ScoreDetails<'a> {
    /// For the nodes that are scored.
    pub fn of(
        profile: &Profile,
        pod: &'a PodInfo,
        snapshot: &'a Snapshot<'a>,
        nodes: &[NodeIndex],
    ) -> ScoreDetails<'a> {
        let spread = scoring::Spread::of(&pod.pod, &profile.spread_defaults, snapshot, nodes);
        let preferences = Preferences::of(&pod.pod, profile.affinity, snapshot);
        ScoreDetails { pod, snapshot, spread, preferences }
    }

    /// What the scores of these plugins come from on a node:
    /// `left: cpu 50 %, memory 54 %; used: cpu 25 -> 50 %, memory 30 -> 46 %`.
    pub fn words(&self, plugins: &[&str], node: NodeIndex) -> String {
        let details = plugins.iter().filter_map(|plugin| self.of_plugin(plugin, node));
        details.collect::<Vec<_>>().join("; ")
    }

    fn of_plugin(&self, plugin: &str, node: NodeIndex) -> Option<String> {
        let (pod, snapshot) = (self.pod, self.snapshot);
        let sums = snapshot.sums(node);
        let percent = |index: usize, amount: i64| match sums.allocatable[index] {
            0 => 0,
            all => (amount * 100 / all).min(100),
        };
        match plugin {
            names::NODE_RESOURCES_FIT => {
                let wanted = scored_requests(pod);
                let left =
                    |index: usize| percent(index, sums.allocatable[index] - sums.nonzero[index] - wanted[index]).max(0);
                Some(format!("left: cpu {} %, memory {} %", left(CPU), left(MEMORY)))
            }
            names::NODE_RESOURCES_BALANCED_ALLOCATION => {
                let used = |index: usize| {
                    let before = sums.requested[index];
                    format!("{} -> {} %", percent(index, before), percent(index, before + pod.requests.amounts[index]))
                };
                Some(format!("used: cpu {}, memory {}", used(CPU), used(MEMORY)))
            }
            names::TAINT_TOLERATION => {
                let is_soft = |taint: &&Taint| {
                    taint.effect == TaintEffect::PreferNoSchedule
                        && !tolerations::tolerates(&pod.pod.spec.tolerations, taint)
                };
                let count = snapshot.node(node).taints.iter().filter(is_soft).count();
                (count > 0).then(|| format!("discouraged by {count} {}", if count == 1 { "taint" } else { "taints" }))
            }
            names::NODE_AFFINITY => {
                let weight = node_affinity::preferred_score(&pod.pod.spec, snapshot.node(node));
                Some(format!("preferred with weight {weight}"))
            }
            names::POD_TOPOLOGY_SPREAD => {
                let labels = &snapshot.node(node).meta.labels;
                let place = |(key, pods): (&Name, i64)| {
                    let value = labels.get(key).map_or("", |value| value.as_str());
                    format!("{pods} in {key}={value}")
                };
                let places: Vec<String> = self.spread.as_ref()?.matching(node).map(place).collect();
                (!places.is_empty()).then(|| format!("pods to part from: {}", places.join(", ")))
            }
            names::INTER_POD_AFFINITY => {
                let weight = self.preferences.as_ref()?.weight(node);
                Some(format!("pods near weigh {weight}"))
            }
            names::IMAGE_LOCALITY => {
                let (there, all) = images_on(pod, snapshot, node);
                (there > 0).then(|| format!("has {there} of {all} images"))
            }
            _ => None,
        }
    }
}
