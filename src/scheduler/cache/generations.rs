//! When each node was changed last: what is remembered of a node holds as long as its generation does.
//!
//! Upstream: `NodeInfo.Generation` of pkg/scheduler/framework/types.go, v1.36 (there it tells which nodes a snapshot copies anew).

use super::NodeIndex;

/// A place in the order of all changes of a cache; 0 is before the first.
pub type Generation = u64;

/// Generations by [`NodeIndex`].
#[derive(Clone, Debug, Default)]
pub struct Generations {
    last: Generation,
    last_object: Generation,
    objects: Vec<Generation>,
    nodes: Vec<Generation>,
}

impl Generations {
    /// Of the last change.
    pub fn last(&self) -> Generation {
        self.last
    }

    /// Of the last change of a node object.
    pub fn last_object(&self) -> Generation {
        self.last_object
    }

    /// Of the node objects.
    pub fn objects(&self) -> &[Generation] {
        &self.objects
    }

    /// Of the nodes with all that is on them: no older than those of the objects.
    pub fn nodes(&self) -> &[Generation] {
        &self.nodes
    }

    /// The node object is another, or the place is another node's.
    pub(super) fn object_changed(&mut self, node: NodeIndex) {
        let at = node.0 as usize;
        if at >= self.nodes.len() {
            self.objects.resize(at + 1, 0);
            self.nodes.resize(at + 1, 0);
        }
        self.pods_changed(node);
        self.objects[at] = self.last;
        self.last_object = self.last;
    }

    /// The pods on the node are others.
    pub(super) fn pods_changed(&mut self, node: NodeIndex) {
        self.last += 1;
        self.nodes[node.0 as usize] = self.last;
    }
}
