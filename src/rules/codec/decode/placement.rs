//! Where a pod wants to run relative to other pods: pod affinity, pod anti-affinity, topology spread.
//!
//! `matchLabelKeys` and `mismatchLabelKeys` of a pod have become requirements of the selectors before this; those of a
//! template have not: the API server does that when a pod is created (`rules::manifest::defaults::label_keys`).

use k8s_openapi::api::core::v1 as api;

use super::Problems;
use super::meta::{name, names, selector};
use crate::model::{Name, PodAffinity, PodAffinityTerm, TopologySpreadConstraint};

/// `affinity.podAffinity`.
pub fn pod_affinity(affinity: Option<&api::Affinity>, path: &str, problems: &mut Problems) -> PodAffinity {
    let Some(typed) = affinity.and_then(|affinity| affinity.pod_affinity.as_ref()) else {
        return PodAffinity::default();
    };
    let required = typed.required_during_scheduling_ignored_during_execution.as_deref();
    let preferred = typed.preferred_during_scheduling_ignored_during_execution.as_deref();
    terms(required, preferred, &format!("{path}.affinity.podAffinity"), problems)
}

/// `affinity.podAntiAffinity`.
pub fn pod_anti_affinity(affinity: Option<&api::Affinity>, path: &str, problems: &mut Problems) -> PodAffinity {
    let Some(typed) = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()) else {
        return PodAffinity::default();
    };
    let required = typed.required_during_scheduling_ignored_during_execution.as_deref();
    let preferred = typed.preferred_during_scheduling_ignored_during_execution.as_deref();
    terms(required, preferred, &format!("{path}.affinity.podAntiAffinity"), problems)
}

fn terms(
    required: Option<&[api::PodAffinityTerm]>,
    preferred: Option<&[api::WeightedPodAffinityTerm]>,
    path: &str,
    problems: &mut Problems,
) -> PodAffinity {
    let required = required.unwrap_or_default().iter().enumerate().map(|(index, one)| {
        term(one, &format!("{path}.requiredDuringSchedulingIgnoredDuringExecution[{index}]"), problems)
    });
    let required = required.collect();
    let preferred = preferred.unwrap_or_default().iter().enumerate().map(|(index, one)| {
        let at = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}].podAffinityTerm");
        (one.weight, term(&one.pod_affinity_term, &at, problems))
    });
    PodAffinity { required, preferred: preferred.collect() }
}

fn term(typed: &api::PodAffinityTerm, path: &str, problems: &mut Problems) -> PodAffinityTerm {
    let pods = typed.label_selector.as_ref();
    let namespaces = typed.namespace_selector.as_ref();
    PodAffinityTerm {
        selector: pods.map(|pods| selector(pods, &format!("{path}.labelSelector"), problems)),
        namespaces: names(typed.namespaces.as_deref().unwrap_or_default()),
        namespace_selector: namespaces.map(|of| selector(of, &format!("{path}.namespaceSelector"), problems)),
        topology_key: Name::new(&typed.topology_key),
        match_label_keys: names(typed.match_label_keys.as_deref().unwrap_or_default()),
        mismatch_label_keys: names(typed.mismatch_label_keys.as_deref().unwrap_or_default()),
    }
}

/// `topologySpreadConstraints`.
pub fn topology_spread_constraints(
    spec: &api::PodSpec,
    path: &str,
    problems: &mut Problems,
) -> Vec<TopologySpreadConstraint> {
    let constraints = spec.topology_spread_constraints.iter().flatten().enumerate();
    let constraint = |(index, typed): (usize, &api::TopologySpreadConstraint)| {
        let at = format!("{path}.topologySpreadConstraints[{index}].labelSelector");
        TopologySpreadConstraint {
            max_skew: typed.max_skew,
            topology_key: Name::new(&typed.topology_key),
            is_required: typed.when_unsatisfiable == "DoNotSchedule",
            selector: typed.label_selector.as_ref().map(|pods| selector(pods, &at, problems)),
            min_domains: typed.min_domains,
            honors_node_affinity: name(typed.node_affinity_policy.as_deref()) != "Ignore",
            honors_node_taints: name(typed.node_taints_policy.as_deref()) == "Honor",
            match_label_keys: names(typed.match_label_keys.as_deref().unwrap_or_default()),
        }
    };
    constraints.map(constraint).collect()
}
