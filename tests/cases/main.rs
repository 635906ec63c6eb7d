//! Bugs that people met in real clusters, as regression tests named after them: a file a section. Each says what was
//! reported and does the arithmetic that it checks.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod elections;
mod leaders;
mod metrics;
mod operators;
mod placement;
mod queues;
mod scheduling;
mod spares;
mod wakeups;
