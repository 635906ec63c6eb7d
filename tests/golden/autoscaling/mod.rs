//! Autoscalers: recorded calculations and loops.

pub mod hpa;
pub mod hpa_inputs;
pub mod keda;
pub mod vpa;
