//! Autoscalers: recorded calculations and loops.

pub mod vpa;
