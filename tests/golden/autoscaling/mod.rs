//! The autoscalers.

pub mod keda;
