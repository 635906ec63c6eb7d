//! Something is wrong with the API server as a whole, for everybody.

use super::slow_requests::Slowness;

/// What is wrong with the API server.
#[derive(Clone, PartialEq, Debug)]
pub enum ApiServerFault {
    /// It does not run: connections are refused, what it was working on is lost. Etcd keeps what was committed.
    Down,
    /// It takes longer for everything.
    Slow(Slowness),
    /// It cannot be reached: packets vanish.
    Unreachable,
}
