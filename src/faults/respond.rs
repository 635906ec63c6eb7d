//! Requests are answered by an error of the API server; nothing is committed.

use super::target::RequestTarget;
use super::trigger::Occurrences;
use crate::model::ApiError;
use crate::model::api::Reason;

/// Requests are answered by an error.
#[derive(Clone, PartialEq, Debug)]
pub struct Respond {
    /// Which.
    pub target: RequestTarget,
    /// Which of those.
    pub occurrences: Occurrences,
    /// HTTP code, one of [`CODES`].
    pub code: u16,
    /// `Retry-After`, seconds.
    pub retry_after_seconds: Option<u32>,
    /// Text of the answer; the server's own words if left out.
    pub message: Option<String>,
}

/// The codes that a fault can answer with, and what the server says with each.
///
/// Upstream: apimachinery/pkg/api/errors/errors.go, `NewGenericServerResponse` and the constructors beside it, v1.36.
pub const CODES: [(u16, Reason, &str); 10] = [
    (400, Reason::BadRequest, "the server rejected our request for an unknown reason"),
    (403, Reason::Forbidden, "forbidden"),
    (404, Reason::NotFound, "the server could not find the requested resource"),
    (409, Reason::Conflict, "the server reported a conflict"),
    (410, Reason::Expired, "the provided resource version is too old"),
    (422, Reason::Invalid, "the server rejected our request due to an error in our request"),
    (429, Reason::TooManyRequests, "the server has received too many requests and has asked us to try again later"),
    (500, Reason::InternalError, "an error on the server has prevented the request from succeeding"),
    (503, Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
    (504, Reason::Timeout, "the server was unable to return a response in the time allotted"),
];

impl Respond {
    /// The answer.
    pub fn error(&self) -> ApiError {
        let known = CODES.iter().find(|(code, ..)| *code == self.code);
        let (_, reason, words) = known.expect("the maker of the plan has checked the code");
        let message = self.message.clone().unwrap_or_else(|| (*words).to_string());
        ApiError { reason: *reason, message, retry_after_seconds: self.retry_after_seconds }
    }
}
