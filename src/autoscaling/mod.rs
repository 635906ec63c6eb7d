//! Autoscalers: how many replicas, and how large.
//!
//! Each is a pure decision (what is known now and what was decided before in, a number with its reasons out) with a
//! component around it. The rules agree with the recorded decisions of `tests/vectors/autoscaling`.

pub mod hpa;
pub mod keda;
pub mod metrics_pipeline;
pub mod textbook;
pub mod vpa;
