//! A process dies at a certain point of a reconcile: before, between or after its requests.

use super::target::{ProcessRef, RequestTarget};
use super::trigger::Occurrences;
use crate::model::{Cause, Map, Span};

/// A process dies when one of its components comes to a certain point.
#[derive(Clone, PartialEq, Debug)]
pub struct Crash {
    /// Whose requests count, and which process dies.
    pub of: ProcessRef,
    /// Where.
    pub point: CrashPoint,
    /// At the n-th matching request of a reconcile.
    pub nth: u64,
    /// Which requests match.
    pub target: RequestTarget,
    /// Which of the reconciles that come to this point.
    pub occurrences: Occurrences,
    /// How long the process is down.
    pub restart_after: Span,
}

/// Where a process dies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CrashPoint {
    /// Before the request is sent: what was sent before it goes on.
    Before,
    /// When the reply comes: the request was carried out, and the process never knows.
    After,
}

/// Matching requests of each reconcile so far. All requests of a reconcile have the same cause.
#[derive(Clone, Debug, Default)]
pub struct OfReconcile(Map<Cause, u64>);

/// Reconciles that are looked back to: far more than workers.
const REMEMBERED: usize = 1_024;

impl OfReconcile {
    /// Number of this request in its reconcile, from 1.
    pub fn number(&mut self, reconcile: Cause) -> u64 {
        if self.0.len() > REMEMBERED && !self.0.contains_key(&reconcile) {
            let _ = self.0.shift_remove_index(0);
        }
        let number = self.0.entry(reconcile).or_insert(0);
        *number += 1;
        *number
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RecordId;

    #[test]
    fn requests_are_numbered_in_their_own_reconcile() {
        let mut of = OfReconcile::default();
        let numbers = [1, 1, 2, 1, 2].map(|cause| of.number(RecordId(cause)));
        assert_eq!(numbers, [1, 2, 1, 3, 2]);
    }
}
