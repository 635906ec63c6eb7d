//! Autoscalers: recorded calculations and loops.

pub mod keda;
pub mod vpa;
