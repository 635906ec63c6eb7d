//! Controllers: each a pure `decide.rs` and a `component.rs` that reads caches and sends requests.

pub mod claim;
pub mod consistency;
pub mod custom;
pub mod deployment;
pub mod endpoint_slice;
pub mod expectations;
pub mod garbage_collector;
pub mod replica_set;

#[cfg(test)]
mod double_for_tests;
