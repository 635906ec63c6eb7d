//! What the scheduler believes about nodes and the pods on them.
//!
//! Upstream: pkg/scheduler/backend/cache, v1.36.

pub mod affinity_groups;
pub mod assume;
pub mod budgets;
#[allow(clippy::module_inception)]
pub mod cache;
pub mod counts;
pub mod domains;
pub mod generations;
pub mod images;
mod indexes;
pub mod node_row;
pub mod selectors;
pub mod snapshot;
#[cfg(test)]
pub(crate) mod testing;
mod zones;

pub use affinity_groups::{AffinityGroup, AffinityGroups};
pub use assume::{AssumeError, Assumed, CacheSize, Counted};
pub use budgets::Budgets;
pub use cache::{Cache, NodeIndex};
pub use counts::{Counts, PodSet};
pub use domains::{DomainSums, Domains};
pub use generations::{Generation, Generations};
pub use node_row::{NodeSums, Overlay};
pub use selectors::{OwnerKey, Selectors};
pub use snapshot::Snapshot;
