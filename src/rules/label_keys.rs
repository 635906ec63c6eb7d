//! `matchLabelKeys` and `mismatchLabelKeys`: the API server adds a pod's own values of these labels to the selectors beside
//! them when the pod is created. For typed pods, which controllers make from templates; of manifests the JSON is changed
//! (`rules::manifest::defaults`).
//!
//! Upstream: pkg/registry/core/pod/strategy.go, `applyMatchLabelKeysAndMismatchLabelKeys` and
//! `applyMatchLabelKeysInTopologySpread`, v1.36.

use std::rc::Rc;

use crate::model::{Labels, Name, Operator, PodAffinityTerm, PodSpec, Requirement, Selector};

/// How many specs [`MergedSpecs`] remembers.
const REMEMBERED: usize = 64;

/// Specs before and after merging, with the labels of their pods, so that all pods of a template go on sharing one spec.
/// Forgetting costs memory only; it never changes a result.
///
/// DIVERGES: the manifest of a pod that a controller made shows the selectors of its template, without what was merged.
#[derive(Clone, Default, Debug)]
pub struct MergedSpecs(Vec<(Rc<PodSpec>, Labels, Rc<PodSpec>)>);

impl MergedSpecs {
    /// The spec of a pod with these labels; the same pointer when there are no keys.
    pub fn merge(&mut self, spec: Rc<PodSpec>, labels: &Labels) -> Rc<PodSpec> {
        if !has_keys(&spec) {
            return spec;
        }
        let known = self.0.iter().find(|(given, of, _)| Rc::ptr_eq(given, &spec) && of == labels);
        if let Some((_, _, merged)) = known {
            return merged.clone();
        }
        let mut merged = PodSpec::clone(&spec);
        merge(&mut merged, labels);
        let merged = Rc::new(merged);
        if self.0.len() == REMEMBERED {
            self.0.remove(0);
        }
        self.0.push((spec, labels.clone(), merged.clone()));
        merged
    }
}

/// Whether some term or constraint has keys to merge.
pub fn has_keys(spec: &PodSpec) -> bool {
    let affinities = [&spec.pod_affinity, &spec.pod_anti_affinity];
    let mut terms = affinities
        .into_iter()
        .flat_map(|affinity| affinity.required.iter().chain(affinity.preferred.iter().map(|(_, term)| term)));
    terms.any(|term| !term.match_label_keys.is_empty() || !term.mismatch_label_keys.is_empty())
        || spec.topology_spread_constraints.iter().any(|constraint| !constraint.match_label_keys.is_empty())
}

/// Merges the keys of all terms and constraints of a pod with these labels. Keys that the pod lacks are ignored; what was
/// merged before stays as it is.
pub fn merge(spec: &mut PodSpec, labels: &Labels) {
    for affinity in [&mut spec.pod_affinity, &mut spec.pod_anti_affinity] {
        affinity.required.iter_mut().for_each(|term| merge_term(term, labels));
        affinity.preferred.iter_mut().for_each(|(_, term)| merge_term(term, labels));
    }
    for constraint in &mut spec.topology_spread_constraints {
        require(&mut constraint.selector, &constraint.match_label_keys, Operator::In, labels);
    }
}

fn merge_term(term: &mut PodAffinityTerm, labels: &Labels) {
    require(&mut term.selector, &term.match_label_keys, Operator::In, labels);
    require(&mut term.selector, &term.mismatch_label_keys, Operator::NotIn, labels);
}

fn require(selector: &mut Option<Selector>, keys: &[Name], operator: Operator, labels: &Labels) {
    let Some(selector) = selector else { return };
    for key in keys {
        let Some(value) = labels.get(key) else { continue };
        let requirement = Requirement { key: key.clone(), operator, values: vec![value.clone()] };
        if !selector.requirements.contains(&requirement) {
            selector.requirements.push(requirement);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::TopologySpreadConstraint;

    #[test]
    fn own_values_become_requirements() {
        let labels = Labels::NONE.with("hash", "1").with("tenant", "x");
        let term = PodAffinityTerm {
            selector: Some(Selector::default()),
            match_label_keys: vec!["hash".into(), "absent".into()],
            mismatch_label_keys: vec!["tenant".into()],
            ..PodAffinityTerm::default()
        };
        let constraint = TopologySpreadConstraint {
            max_skew: 1,
            topology_key: "zone".into(),
            is_required: true,
            selector: Some(Selector::default()),
            min_domains: None,
            honors_node_affinity: true,
            honors_node_taints: false,
            match_label_keys: vec!["hash".into()],
        };
        let mut spec = PodSpec::default();
        assert!(!has_keys(&spec));
        spec.pod_anti_affinity.preferred.push((1, PodAffinityTerm { selector: None, ..term.clone() }));
        spec.pod_affinity.required.push(term);
        spec.topology_spread_constraints.push(constraint);
        assert!(has_keys(&spec));
        merge(&mut spec, &labels);
        merge(&mut spec, &labels);
        let requirement =
            |key: &str, operator, value: &str| Requirement { key: key.into(), operator, values: vec![value.into()] };
        let same = requirement("hash", Operator::In, "1");
        let selector = |requirements: &[Requirement]| Some(Selector { requirements: requirements.to_vec() });
        let other = requirement("tenant", Operator::NotIn, "x");
        assert_eq!(spec.pod_affinity.required[0].selector, selector(&[same.clone(), other]));
        assert_eq!(spec.pod_anti_affinity.preferred[0].1.selector, None);
        assert_eq!(spec.topology_spread_constraints[0].selector, selector(&[same]));
    }
}
