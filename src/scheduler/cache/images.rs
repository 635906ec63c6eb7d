//! Which images nodes have: how large each is and on how many nodes.
//!
//! Upstream: pkg/scheduler/backend/cache/cache.go, `imageStates`, v1.36.

use crate::model::{Map, Name, Node, Set};

/// An image, by one of its names.
#[derive(Clone, Debug)]
pub struct ImageState {
    /// Its size on the node that had it first.
    pub size_bytes: i64,
    /// The nodes that have it.
    nodes: Set<Name>,
}

impl ImageState {
    /// On how many nodes it is.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }
}

/// All images by their names.
#[derive(Clone, Debug, Default)]
pub struct Images(Map<Name, ImageState>);

impl Images {
    /// The image of this name, if some node has it.
    pub fn get(&self, name: &Name) -> Option<&ImageState> {
        self.0.get(name)
    }

    /// A node has other images than before.
    pub fn replace(&mut self, old: Option<&Node>, new: Option<&Node>) {
        for (node, name, _) in old.iter().flat_map(|node| names(node)) {
            if let Some(state) = self.0.get_mut(name) {
                state.nodes.swap_remove(node);
                if state.nodes.is_empty() {
                    self.0.swap_remove(name);
                }
            }
        }
        for (node, name, size_bytes) in new.iter().flat_map(|node| names(node)) {
            let empty = || ImageState { size_bytes, nodes: Set::default() };
            self.0.entry(name.clone()).or_insert_with(empty).nodes.insert(node.clone());
        }
    }
}

/// Node, name of an image that it has, size.
fn names(node: &Node) -> impl Iterator<Item = (&Name, &Name, i64)> {
    node.images
        .iter()
        .flat_map(move |image| image.names.iter().map(move |name| (&node.meta.name, name, image.size_bytes)))
}
