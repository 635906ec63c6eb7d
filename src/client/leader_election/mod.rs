//! Leader election with a Lease: who of several replicas acts.
//!
//! Upstream: staging/src/k8s.io/client-go/tools/leaderelection/{leaderelection.go, resourcelock/leaselock.go}, v1.36.
//!
//! [`Elector`] is one replica's side as a state machine: it is told the clock of its host, answers to its calls, timers
//! and a cancel, and says which calls to send, which timers to set and what the process learns. It sees nothing but its
//! own clock and its own calls, which is why two replicas can both act: nothing here fences anybody.
//!
//! Not modelled: coordinated leader election (off by default), the health check of `leaderelection/healthzadaptor.go`.

mod elector;
mod record;
mod settings;

#[cfg(test)]
mod tests;

pub use elector::{Elector, Input, LockReply, LockRequest, Output, Reading, Timer};
pub use record::ElectionRecord;
pub use settings::{ElectionSettings, JITTER_FACTOR, SettingsError};
