//! The vertical pod autoscaler: what a container should request, which pods are replaced for it, and what new pods get.
//!
//! [`container_state`] keeps usage in [`histogram`]s, [`recommender`] turns it into recommendations, [`updater`] says which
//! pods are worth replacing and [`limits`] how many at once, [`admission`] what their successors ask for. [`spec`] is what
//! the object says.
//!
//! Upstream: kubernetes/autoscaler, vertical-pod-autoscaler/pkg, as of 1.6. Not modelled: LimitRanges, checkpoints and
//! the eight days of history read from Prometheus, start-up boost, rounding of recommendations, `evictAfterOOMSeconds`,
//! recommendations that a node could not fit and that InPlace therefore does not try again.

pub mod admission;
pub mod amounts;
pub mod container_state;
pub mod go_math;
pub mod histogram;
pub mod limits;
pub mod pods;
pub mod recommender;
pub mod spec;
pub mod updater;
