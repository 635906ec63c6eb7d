//! The vertical pod autoscaler: what a container should request, which pods are replaced for it, and what new pods get.
//!
//! [`container_state`] keeps usage in [`histogram`]s, [`recommender`] turns it into recommendations.
//!
//! Upstream: kubernetes/autoscaler, vertical-pod-autoscaler/pkg, as of 1.6. Not modelled: LimitRanges, checkpoints and
//! the eight days of history read from Prometheus, start-up boost, memory rounding.

pub mod amounts;
pub mod container_state;
pub mod go_math;
pub mod histogram;
pub mod recommender;
