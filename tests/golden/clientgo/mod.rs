//! client-go: structures with a clock but no cluster.

mod election;
mod fifo;
mod informer;
mod limiters;
#[cfg(test)]
mod mutations;
mod priority_queue;
mod queues;
mod rest_client;

pub use election::{leaderelection, leaderelection_stats};
pub use fifo::fifo;
pub use informer::informer;
pub use limiters::{flowcontrol, ratelimiter};
pub use priority_queue::priorityqueue;
pub use queues::workqueue;
pub use rest_client::restclient;
