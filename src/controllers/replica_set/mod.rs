//! The ReplicaSet controller: keeps the number of pods of each ReplicaSet, and reports it.
//!
//! [`decide`] says how many pods to create or delete and what the status is, [`rank`] which pods to delete first,
//! [`component`] reads the caches and sends the requests in upstream's order.
//!
//! Upstream: pkg/controller/replicaset/{replica_set,replica_set_utils}.go, pkg/controller/controller_utils.go, v1.36.
//! Not modelled: ReplicationControllers; finalizers of pod templates.

pub mod component;
pub mod decide;
pub mod rank;

pub use component::{ReplicaSetController, State};

#[cfg(test)]
mod tests;
