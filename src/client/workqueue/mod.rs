//! Work queues and rate limiters.
