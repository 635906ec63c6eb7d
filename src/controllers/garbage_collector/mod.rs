//! The garbage collector: deletes what a deleted owner leaves behind.
//!
//! Read [`decide`] (when an object has to go) and [`component`] (which objects are looked at, and the requests).
//!
//! Upstream: pkg/controller/garbagecollector/{garbagecollector.go,graph_builder.go}, v1.36. Not modelled yet: foreground
//! and orphan propagation, several owners, owners of kinds we do not hold, removal of dangling references by patch.

pub mod component;
pub mod decide;

pub use component::{GarbageCollector, State};

#[cfg(test)]
mod tests;
