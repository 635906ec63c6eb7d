//! A call of the REST client: when each of its attempts leaves, which answers are tried again, and when it gives up.
//!
//! A pure state machine: the caller keeps the time, carries the attempts and tells their outcome.
//!
//! 1. [`Call::depart`] takes a token of the client's bucket and says how long this attempt waits for it.
//! 2. [`Call::answered`] says whether the answer goes to the caller or is tried again after a while; then 1 again.
//!
//! [`Call::deadline`] ends the call, whatever it is doing.
//!
//! Upstream: k8s.io/client-go rest/{request,with_retry}.go, v1.36. Not modelled: URL back-off (off by default) and bodies
//! that cannot be read twice.

mod call;
mod limit;

pub use call::{Call, CallVerb, Departure, Lost, Next, Received};
pub use limit::ClientLimit;
