//! Connections to the API server are refused: the caller knows at once, and nothing is committed.

use super::target::RequestTarget;
use super::trigger::Occurrences;
use crate::model::ApiError;
use crate::model::api::Reason;

/// Requests find nobody who listens.
#[derive(Clone, PartialEq, Debug)]
pub struct RefuseConnections {
    /// Which.
    pub target: RequestTarget,
    /// Which of those.
    pub occurrences: Occurrences,
}

/// What a caller is told who finds nobody listening.
pub fn refused() -> ApiError {
    ApiError::new(Reason::ConnectionRefused, "dial tcp 10.0.0.1:6443: connect: connection refused")
}
