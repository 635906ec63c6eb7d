//! client-go: structures with a clock but no cluster.

mod election;
mod limiters;
mod priority_queue;
mod queues;
mod rest_client;

pub use election::{leaderelection, leaderelection_stats};
pub use limiters::{flowcontrol, ratelimiter};
pub use priority_queue::priorityqueue;
pub use queues::workqueue;
pub use rest_client::restclient;
