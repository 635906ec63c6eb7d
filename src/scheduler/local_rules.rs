//! Stand-ins until `rules` has them.
#![allow(missing_docs)]

pub mod tolerations {
    use crate::model::{Taint, Toleration};

    pub fn tolerates(tolerations: &[Toleration], taint: &Taint) -> bool {
        tolerations.iter().any(|toleration| matches(toleration, taint))
    }

    pub fn matches(toleration: &Toleration, taint: &Taint) -> bool {
        toleration.effect.is_none_or(|effect| effect == taint.effect)
            && (toleration.key.is_empty() || toleration.key == taint.key)
            && (toleration.exists || toleration.value == taint.value)
    }
}

pub mod node_affinity {
    use crate::model::{Node, NodeSelectorTerm, PodSpec};

    pub fn matches_required(spec: &PodSpec, node: &Node) -> bool {
        let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        spec.node_selector.is_subset_of(&node.meta.labels)
            && required.is_none_or(|terms| terms.iter().any(|term| matches(term, node)))
    }

    pub fn preferred_score(spec: &PodSpec, node: &Node) -> i64 {
        let preferred = spec.node_affinity.iter().flat_map(|affinity| &affinity.preferred);
        preferred.filter(|(_, term)| matches(term, node)).map(|(weight, _)| i64::from(*weight)).sum()
    }

    fn matches(term: &NodeSelectorTerm, node: &Node) -> bool {
        !(term.match_expressions.is_empty() && term.match_fields.is_empty())
            && term.match_expressions.iter().all(|requirement| requirement.matches(&node.meta.labels))
            && term.match_fields.iter().all(|requirement| requirement.matches_value(Some(&node.meta.name)))
    }
}

pub mod pod_requests {
    use crate::model::{PodSpec, Resources};

    pub fn requests(spec: &PodSpec) -> Resources {
        let mut total = Resources { cpu_milli: Some(0), memory_bytes: Some(0), ..Resources::default() };
        for container in &spec.containers {
            total.cpu_milli = Some(total.cpu_milli.unwrap_or(0) + container.requests.cpu_milli.unwrap_or(0));
            total.memory_bytes = Some(total.memory_bytes.unwrap_or(0) + container.requests.memory_bytes.unwrap_or(0));
            total.extended.extend(container.requests.extended.iter().cloned());
        }
        total
    }

    pub fn nonzero_requests(spec: &PodSpec) -> Resources {
        let sum = spec.containers.iter().fold([0, 0], |sum, container| {
            let requests = &container.requests;
            [sum[0] + requests.cpu_milli.unwrap_or(100), sum[1] + requests.memory_bytes.unwrap_or(200 << 20)]
        });
        Resources { cpu_milli: Some(sum[0]), memory_bytes: Some(sum[1]), ..Resources::default() }
    }
}
