//! kube-scheduler: which pending pod is placed next, and on which node.
//!
//! Read [`framework`] (what a plugin is), [`plugins`], [`cache`] (what the scheduler believes about nodes), [`queue`]
//! (which pod is next), [`schedule_one`] (one attempt, pure), [`ties`] (which of equally good nodes), [`preemption`] (whether and
//! whom to preempt, pure), [`preempt`] (what is sent for that, in which order), [`memo`] (what makes it fast), [`cycle_time`]
//! (how long it takes), [`explain`] (an attempt in words), [`component`] (the glue over time; its parts in component_*.rs).
//!
//! Upstream: pkg/scheduler, v1.36, default profile.
//!
//! Not modelled yet: volumes, declared features of nodes, resource claims, extenders.

pub mod cache;
pub mod component;
pub mod cycle_time;
pub mod explain;
mod explain_details;
pub mod filters;
pub mod framework;
pub mod memo;
pub mod plugins;
pub mod preempt;
pub mod preemption;
pub mod queue;
pub mod schedule_one;
pub mod scheduler_metrics;
pub mod status_patch;
pub mod ties;
pub mod waiting_pods;
