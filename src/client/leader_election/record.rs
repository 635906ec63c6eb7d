//! What a Lease says about an election.

use crate::model::{Name, Span, Time};

/// The content of a lock.
///
/// Upstream: tools/leaderelection/resourcelock/interface.go, `LeaderElectionRecord`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElectionRecord {
    /// Who holds it; empty after a release.
    pub holder: Name,
    /// How long, in whole seconds: shorter leases are over at once.
    pub lease_duration_seconds: i32,
    /// When the holder became it, by its own wall clock.
    pub acquire_time: Time,
    /// When the holder wrote it last, by its own wall clock. Nobody judges by it.
    pub renew_time: Time,
    /// How often the holder changed.
    pub transitions: i32,
}

impl ElectionRecord {
    /// How long the holder asks to be left alone.
    pub fn lease_duration(&self) -> Span {
        Span::from_seconds(i64::from(self.lease_duration_seconds))
    }

    /// Whether the raw bytes that a candidate compares would be the same: upstream keeps the record as JSON, in which
    /// times have whole seconds.
    pub fn same_raw(&self, other: &ElectionRecord) -> bool {
        self.holder == other.holder
            && self.lease_duration_seconds == other.lease_duration_seconds
            && self.transitions == other.transitions
            && self.acquire_time.truncated_to_seconds() == other.acquire_time.truncated_to_seconds()
            && self.renew_time.truncated_to_seconds() == other.renew_time.truncated_to_seconds()
    }
}
