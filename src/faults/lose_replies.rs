//! Replies are lost: the request was carried out, but the caller cannot know.

use super::target::RequestTarget;
use super::trigger::Occurrences;
use crate::model::api::Reason;
use crate::model::{ApiError, Span};

/// Requests are carried out; their callers see the connection break, or nothing until a time-out.
#[derive(Clone, PartialEq, Debug)]
pub struct LoseReplies {
    /// Which.
    pub target: RequestTarget,
    /// Which of those.
    pub occurrences: Occurrences,
    /// How long the caller waits before it gives up; `None` when it sees the connection break at once.
    pub timeout: Option<Span>,
}

impl LoseReplies {
    /// What the caller sees instead of the reply.
    pub fn error(&self) -> ApiError {
        match self.timeout {
            Some(_) => timed_out(),
            None => broken(),
        }
    }
}

/// What a caller is told whose connection breaks.
pub fn broken() -> ApiError {
    ApiError::new(Reason::ConnectionLost, "unexpected EOF")
}

/// What a caller is told whose own patience has ended.
pub fn timed_out() -> ApiError {
    ApiError::new(
        Reason::DeadlineExceeded,
        "net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
    )
}
