//! Which pods are bound to which node: what `spec.nodeName=NODE` lists, without a look at all pods.
//!
//! Upstream: pkg/registry/core/pod/strategy.go (`Indexers`, `NodeNameTriggerFunc`), v1.36: the watch cache has this index too.

use std::collections::BTreeSet;

use crate::model::api::{Field, ObjectSelector};
use crate::model::{Map, Name, Object, Place};

/// Namespaces and names of bound pods by node.
#[derive(Clone, Debug, Default)]
pub struct PodsByNode {
    nodes: Map<Name, BTreeSet<Place>>,
}

impl PodsByNode {
    /// An object takes the place of another one under its key; `None` where there is none.
    pub fn replace(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let node_of = |object: Option<&Object>| object.and_then(Object::as_pod).map(|pod| pod.node_name.clone());
        let (before, now) = (node_of(old), node_of(new));
        if before == now {
            return;
        }
        if let (Some(node), Some(old)) = (before.filter(|node| !node.is_empty()), old)
            && let Some(pods) = self.nodes.get_mut(&node)
        {
            pods.remove(&old.key().into_place());
            if pods.is_empty() {
                self.nodes.swap_remove(&node);
            }
        }
        if let (Some(node), Some(new)) = (now.filter(|node| !node.is_empty()), new) {
            self.nodes.entry(node).or_default().insert(new.key().into_place());
        }
    }

    /// The pods that a selector may find, when it asks for those of one node.
    pub fn candidates<'a>(&'a self, selector: &ObjectSelector) -> Option<impl Iterator<Item = &'a Place> + use<'a>> {
        let is_node = |field: Field| field == Field::SpecNodeName;
        let wanted = selector.fields.iter().find(|wanted| is_node(wanted.field) && !wanted.negated);
        let node = &wanted.filter(|wanted| !wanted.value.is_empty())?.value;
        Some(self.nodes.get(node).into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::api::FieldRequirement;
    use crate::model::{Meta, Pod};

    fn pod(name: &str, node: &str) -> Object {
        let meta = Meta::named("default", name);
        let pod =
            Pod { meta, spec: Default::default(), node_name: node.into(), status: Default::default(), source: None };
        pod.into()
    }

    fn on(index: &PodsByNode, node: &str, negated: bool) -> Option<Vec<String>> {
        let wanted = FieldRequirement { field: Field::SpecNodeName, value: node.into(), negated };
        let selector = ObjectSelector { fields: vec![wanted], ..ObjectSelector::everything() };
        index.candidates(&selector).map(|places| places.map(|(_, name)| name.to_string()).collect())
    }

    #[test]
    fn pods_are_found_where_they_are_bound() {
        let mut index = PodsByNode::default();
        let (pending, bound, moved) = (pod("a", ""), pod("a", "n1"), pod("a", "n2"));
        index.replace(None, Some(&pending));
        index.replace(None, Some(&pod("b", "n1")));
        index.replace(Some(&pending), Some(&bound));
        assert_eq!(on(&index, "n1", false), Some(vec!["a".to_string(), "b".to_string()]));
        index.replace(Some(&bound), Some(&moved));
        assert_eq!(on(&index, "n1", false), Some(vec!["b".to_string()]));
        assert_eq!(on(&index, "n2", false), Some(vec!["a".to_string()]));
        index.replace(Some(&moved), None);
        assert_eq!(on(&index, "n2", false), Some(Vec::new()));
        // Pods without a node, and those that are not on one, are not told by it.
        assert_eq!((on(&index, "", false), on(&index, "n1", true)), (None, None));
    }
}
