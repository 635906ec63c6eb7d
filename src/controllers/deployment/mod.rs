//! The Deployment controller: which ReplicaSet of a Deployment has how many pods.
//!
//! [`sync`] is a sync from its start, [`scale`], [`rolling`] and [`recreate`] choose sizes, [`progress`] makes the status,
//! [`journal`] lets all of them be written as if requests were answered at once, [`component`] reads the caches.
//!
//! Upstream: kubernetes/kubernetes pkg/controller/deployment, v1.36. Not modelled: the rollback annotation that
//! `extensions/v1beta1` left behind.

pub mod component;
pub mod fenceposts;
pub mod journal;
pub mod progress;
pub mod recreate;
pub mod rolling;
pub mod scale;
pub mod sync;
pub mod util;

pub use component::{DeploymentController, State};
pub use util::template_hash;

#[cfg(test)]
mod tests;
