//! The Deployment controller: which ReplicaSet of a Deployment has how many pods.
//!
//! Upstream: kubernetes/kubernetes pkg/controller/deployment, v1.36.

pub mod fenceposts;
