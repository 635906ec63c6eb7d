//! controller-runtime's work queue: keys with a priority, in which a delayed key and a ready one are the same item.
//!
//! It differs from [`crate::client::workqueue`] in more than order: an add makes a waiting key ready at once and so
//! absorbs its delayed delivery, a key that is added while a worker holds it counts as queued, and nothing is handed
//! out after a shutdown. Like that queue it keeps no time of its own.
//!
//! Upstream: sigs.k8s.io/controller-runtime pkg/controller/priorityqueue/{priorityqueue,metrics}.go, v0.24.

#[cfg(test)]
mod naive_twin;
mod queue;

pub use queue::{AddOptions, LOW_PRIORITY, PriorityQueue};
