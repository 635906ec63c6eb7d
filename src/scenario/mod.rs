//! The scenario file: text to a [`crate::sim::plan::Plan`], with every mistake named at its place.

pub mod diagnostic;
pub mod distribution;
pub mod entry;
pub mod yaml;
