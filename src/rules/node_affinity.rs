//! Node selectors and node affinity.
//!
//! Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go, v1.36.

use crate::model::{Labels, Name, Node, NodeSelectorTerm, Operator, PodSpec, Requirement};

/// Whether the node fits the pod's node selector and required node affinity.
pub fn matches_required(spec: &PodSpec, node: &Node) -> bool {
    let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    spec.node_selector.is_subset_of(&node.meta.labels)
        && required.is_none_or(|terms| terms.iter().any(|term| term_matches(term, &node.meta.name, &node.meta.labels)))
}

/// The sum of the weights of the preferred terms that match the node.
pub fn preferred_score(spec: &PodSpec, node: &Node) -> i64 {
    let preferred = spec.node_affinity.iter().flat_map(|affinity| &affinity.preferred);
    let matching = preferred.filter(|(_, term)| term_matches(term, &node.meta.name, &node.meta.labels));
    matching.map(|(weight, _)| i64::from(*weight)).sum()
}

/// Whether a node of this name with these labels matches the term. A term without requirements matches nothing.
pub fn term_matches(term: &NodeSelectorTerm, name: &Name, labels: &Labels) -> bool {
    let is_empty = term.match_expressions.is_empty() && term.match_fields.is_empty();
    !is_empty
        && term.match_expressions.iter().all(|requirement| is_well_formed(requirement) && requirement.matches(labels))
        && term.match_fields.iter().all(|requirement| field_matches(requirement, name))
}

/// A requirement upstream cannot turn into a label requirement fails its term.
fn is_well_formed(requirement: &Requirement) -> bool {
    let values = &requirement.values;
    match requirement.operator {
        Operator::In | Operator::NotIn => !values.is_empty(),
        Operator::Exists | Operator::DoesNotExist => values.is_empty(),
        Operator::Gt | Operator::Lt => values.len() == 1 && values[0].as_str().parse::<i64>().is_ok(),
    }
}

/// Fields know only `In` and `NotIn` with one value, and only `metadata.name` has one.
fn field_matches(requirement: &Requirement, name: &Name) -> bool {
    let value = if requirement.key == "metadata.name" { name.clone() } else { Name::EMPTY };
    match (requirement.operator, requirement.values.as_slice()) {
        (Operator::In, [wanted]) => value == *wanted,
        (Operator::NotIn, [unwanted]) => value != *unwanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
        Requirement { key: key.into(), operator, values: values.iter().map(Name::new).collect() }
    }

    #[test]
    fn terms() {
        let labels = Labels::NONE.with("zone", "a").with("cores", "8");
        let matches = |expressions: &[Requirement], fields: &[Requirement]| {
            let term = NodeSelectorTerm { match_expressions: expressions.to_vec(), match_fields: fields.to_vec() };
            term_matches(&term, &Name::new("n1"), &labels)
        };
        assert!(!matches(&[], &[]));
        assert!(matches(
            &[requirement("zone", Operator::In, &["a", "b"]), requirement("cores", Operator::Gt, &["4"])],
            &[]
        ));
        assert!(!matches(
            &[requirement("zone", Operator::In, &["a"]), requirement("cores", Operator::Lt, &["4"])],
            &[]
        ));
        assert!(matches(&[], &[requirement("metadata.name", Operator::In, &["n1"])]));
        assert!(!matches(&[], &[requirement("metadata.name", Operator::NotIn, &["n1"])]));
        assert!(!matches(&[], &[requirement("metadata.name", Operator::In, &["n1", "n2"])]));
        assert!(!matches(&[requirement("zone", Operator::Gt, &["x"])], &[]));
    }
}
