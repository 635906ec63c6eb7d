//! Autoscalers: recorded calculations and loops.

pub mod hpa;
pub mod hpa_inputs;
pub mod hpa_steps;
pub mod hpa_timing;
pub mod keda;
pub mod vpa;
