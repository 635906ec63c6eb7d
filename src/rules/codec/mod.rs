//! Manifests to objects and back.
//!
//! [`decode()`] checks a manifest against the API's types, fills in the server's defaults and makes the object we hold;
//! [`encode()`] makes what `kubectl get -o json` prints.

pub mod decode;
pub mod encode;
pub(in crate::rules) mod json;

pub mod strict;

pub use decode::{FieldProblem, decode, decode_among, decode_judged};
pub use encode::encode;

#[cfg(test)]
mod tests;
