//! KEDA: runs a workload only when there is something to do, and feeds the HPA that decides how many.
//!
//! Upstream: kedacore/keda main at 8b4f083c (after 2.20.2).

pub mod annotations;
pub mod executor;
pub mod fallback;
pub mod hpa_builder;
pub mod modifiers;
pub mod scaled_job;
pub mod scaled_object;
pub mod scaler;
pub mod status;
pub mod triggers;
