//! client-go: structures with a clock but no cluster.

mod limiters;
mod queues;

pub use limiters::{flowcontrol, ratelimiter};
pub use queues::workqueue;
