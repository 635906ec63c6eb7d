//! Single requests: where they go, how long they wait and take, what becomes of them.
//!
//! - [`routing`]: which ready pod a request goes to.
//! - [`crowd`]: the clients' and the pods' side of one load, event by event.
//! - [`histogram`]: latencies and their quantiles.

pub mod crowd;
pub mod histogram;
pub mod routing;

pub use crowd::{Crowd, PodNumber, Source};
pub use histogram::Histogram;
pub use routing::Routing;
