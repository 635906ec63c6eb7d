//! The horizontal pod autoscaler: one sync is [`decide::decide`].
//!
//! Read in this order: [`settings`], [`samples`] (what metrics APIs answer), [`pod_groups`] (which pods count),
//! [`replica_calculator`] (one metric), [`metrics`] (all of them), [`history`], [`stabilization`] and [`behavior`] (what may
//! be done at once), [`conditions`], [`explanation`], [`decide`].
//!
//! Upstream: pkg/controller/podautoscaler/{horizontal,replica_calculator}.go, metrics/utilization.go, v1.36.

pub mod behavior;
pub mod component;
pub mod conditions;
pub mod decide;
#[cfg(test)]
mod decide_tests;
pub mod explanation;
pub mod history;
pub mod log_line;
pub mod metrics;
pub mod pod_groups;
pub mod replica_calculator;
pub mod samples;
pub mod settings;
pub mod stabilization;
