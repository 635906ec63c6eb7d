//! Leases: of nodes, which their kubelets renew, and of elections.

use super::{Meta, Name, Time};

/// A lease: who holds it and when it was renewed last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Metadata.
    pub meta: Meta,
    /// `spec.holderIdentity`; empty when nobody holds it.
    pub holder: Name,
    /// `spec.leaseDurationSeconds`; 0 when it is not there.
    pub duration_seconds: i64,
    /// `spec.acquireTime`, whole microseconds.
    pub acquire_time: Option<Time>,
    /// `spec.renewTime`, whole microseconds.
    pub renew_time: Option<Time>,
    /// `spec.leaseTransitions`: how often the holder of an election changed. Leases of nodes have none.
    pub transitions: Option<i64>,
}
