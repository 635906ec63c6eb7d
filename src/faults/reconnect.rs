//! A process loses its connections and finds another API server, whose watch cache is behind etcd.
//!
//! What its caches make of that depends on what it asks for. A client that names no version (a list from resourceVersion
//! "0", as client-go's reflectors did up to 1.17 and others still do) gets what that server has at hand: its caches go back
//! in time. One that goes on from the last version it saw never goes back, it hears of news later. Either way it is as far
//! behind as its server until it has its own again.

use super::target::ProcessRef;
use crate::model::Span;

/// The connections of a process go to an API server that lags.
#[derive(Clone, PartialEq, Debug)]
pub struct Reconnect {
    /// Whose.
    pub of: ProcessRef,
    /// How far the watch cache of that server is behind etcd.
    pub lag: Span,
    /// Streams go on from the last version seen; otherwise everything is listed from resourceVersion "0".
    pub resume: bool,
}
