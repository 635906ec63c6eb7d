//! Which pending pod is tried next.
//!
//! Upstream: pkg/scheduler/backend/queue, v1.36. Pure structures: time is passed in.

pub mod active;
pub mod backoff;
pub mod counters;
pub mod nominator;
#[allow(clippy::module_inception)]
pub mod queue;
pub mod unschedulable;

pub use backoff::BackoffSettings;
pub use counters::QueueCounters;
pub use nominator::Nominator;
pub use queue::{Failure, Place, QueuedPodInfo, SchedulingQueue};

#[cfg(test)]
mod wakeup_tests;
