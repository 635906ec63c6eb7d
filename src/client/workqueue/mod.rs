//! Work queues of client-go: between an informer's handlers and the workers of a controller.
//!
//! [`RateLimitingQueue`] is what controllers hold. It is made of three pure structures: [`Queue`] (deduplication, who
//! holds what, who waits), [`Delaying`] (keys that become due later) and [`RateLimiter`] (how much later).
//! None of them keeps time: the caller passes `now`, asks [`RateLimitingQueue::next_deadline`] and sets one timer.
//!
//! Upstream: k8s.io/client-go util/workqueue/{queue,delaying_queue,rate_limiting_queue,default_rate_limiters,metrics}.go,
//! v1.36. Not modelled: the 10 s heartbeat of the delaying queue (no effect in virtual time) and custom `Queue`
//! implementations (`Touch` is a no-op for the default one).

pub mod delaying;
pub mod metrics;
#[cfg(test)]
mod naive_twin;
pub mod queue;
pub mod rate_limiters;
pub mod rate_limiting;
pub(in crate::client) mod slots;

pub use delaying::{Delayed, Delaying};
pub use metrics::{DurationMetric, Metrics};
pub use queue::{Added, Done, Drain, Got, Queue, Taken, Woken};
pub use rate_limiters::RateLimiter;
pub use rate_limiting::{AddedLater, RateLimitingQueue};
