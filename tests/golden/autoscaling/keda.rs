//! KEDA: triggers, the executor, ScaledJobs, and the loop of KEDA and the HPA together.

mod triggers;

pub use triggers::triggers;
