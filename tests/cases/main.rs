//! Bugs that people met in real clusters, as regression tests named after them.

#![allow(missing_docs, clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod leaders;
