//! Controllers: each a pure `decide.rs` and a `component.rs` that reads caches and sends requests.

pub mod deployment;
