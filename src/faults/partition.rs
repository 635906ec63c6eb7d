//! Nothing passes between a process and the API server. Packets vanish, nobody is told.
//!
//! TCP sends again what was not confirmed: whatever was on its way when the network comes back early enough arrives then.
//! Otherwise the callers give up. An HTTP/2 connection on which nothing is read for 30 s is asked for a sign of life and
//! given up 15 s later; what is sent after that waits for a new connection, for 30 s at most.
//!
//! Upstream: apimachinery/pkg/util/net/http.go (`readIdleTimeoutSeconds` 30, `pingTimeoutSeconds` 15, dialer time-out
//! 30 s), v1.36.

use super::target::ProcessRef;
use crate::model::api::Reason;
use crate::model::{ApiError, Span, Time};

/// A connection without a sign of life is given up after this.
pub const CONNECTION_LOST_AFTER: Span = Span::from_seconds(45);
/// A new connection is waited for this long.
pub const DIAL_TIMEOUT: Span = Span::from_seconds(30);

/// A process and the API server cannot reach each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Partition {
    /// Who is cut off.
    pub of: ProcessRef,
    /// How long callers wait for an answer; `None` for what Kubernetes' own clients do.
    pub timeout: Option<Span>,
}

/// What becomes of something sent into the void.
#[derive(Clone, PartialEq, Debug)]
pub enum Void {
    /// It arrives when the network is back.
    ArrivesAt(Time),
    /// It is lost, and the caller knows from this instant on.
    LostUntil(Time, ApiError),
}

/// What becomes of something that is sent at `sent` into a void which began at `began` and ends at `ends`.
pub fn into_the_void(sent: Time, began: Time, ends: Option<Time>, timeout: Option<Span>) -> Void {
    let broken = began + CONNECTION_LOST_AFTER;
    let (given_up, error) = match timeout {
        Some(timeout) => (sent + timeout, super::lose_replies::timed_out()),
        None if sent < broken => (broken, ApiError::new(Reason::ConnectionLost, "http2: client connection lost")),
        None => (sent + DIAL_TIMEOUT, ApiError::new(Reason::DeadlineExceeded, "dial tcp 10.0.0.1:6443: i/o timeout")),
    };
    match ends {
        Some(ends) if ends <= given_up => Void::ArrivesAt(ends),
        _ => Void::LostUntil(given_up, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    fn lost(seconds: i64, words: &str) -> Void {
        Void::LostUntil(at(seconds), ApiError::new(Reason::ConnectionLost, words))
    }

    #[test]
    fn early_enough_it_arrives_and_later_it_is_lost() {
        // Began at 100: the connection is given up at 145.
        assert_eq!(into_the_void(at(110), at(100), Some(at(145)), None), Void::ArrivesAt(at(145)));
        assert_eq!(into_the_void(at(110), at(100), Some(at(146)), None), lost(145, "http2: client connection lost"));
        assert_eq!(into_the_void(at(110), at(100), None, None), lost(145, "http2: client connection lost"));
        // A new connection, from 150 until 180.
        assert_eq!(into_the_void(at(150), at(100), Some(at(180)), None), Void::ArrivesAt(at(180)));
        let error = ApiError::new(Reason::DeadlineExceeded, "dial tcp 10.0.0.1:6443: i/o timeout");
        let timeout = Void::LostUntil(at(180), error);
        assert_eq!(into_the_void(at(150), at(100), Some(at(181)), None), timeout);
    }

    #[test]
    fn a_caller_may_have_less_patience() {
        let five = Some(Span::from_seconds(5));
        assert_eq!(into_the_void(at(110), at(100), Some(at(115)), five), Void::ArrivesAt(at(115)));
        let Void::LostUntil(until, error) = into_the_void(at(110), at(100), Some(at(116)), five) else {
            panic!("it is lost")
        };
        assert_eq!((until, error.code()), (at(115), 0));
    }
}
