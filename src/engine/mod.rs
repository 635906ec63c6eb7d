//! The simulation engine: the calendar (future event list) and keyed random draws. Knows no Kubernetes.
//!
//! - [`calendar`]: what happens next, in (time, sequence) order, with cancellation and a count of the work left.
//! - [`draws`]: random bits as a function of a key, never of who came first.
//! - [`sampling`]: from bits to spans of the distributions in `model::distribution`.
//! - [`normal`]: quantiles of the normal distribution.

pub mod calendar;
pub mod draws;
mod heap;
pub mod normal;
pub mod sampling;

pub use calendar::{Calendar, EventId, Nature};
pub use draws::KeyedDraws;
pub use sampling::{sample, uniform_unit};
