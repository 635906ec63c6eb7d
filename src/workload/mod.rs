//! Where load comes from: rates over time, files of recorded load, and the instants at which requests arrive.
//!
//! - [`rate`]: a rate as a function of time, with its exact area; [`points`]: rates given point by point.
//! - [`formula`]: a rate as an expression in `t`.
//! - [`area`]: when a rate has brought a given number of requests, which turns rates into arrivals.
//! - [`files`]: recorded load: tables (CSV), answers of Prometheus, request logs.
//! - [`arrivals`]: single requests from a rate: evenly spaced, Poisson, Poisson in bursts, or as recorded.
//!
//! All times are nanoseconds since the start of the run, all rates are per second. Nothing here has a clock or knows
//! Kubernetes. What is drawn is keyed by load, so a second load changes nothing about the first.

pub mod area;
pub mod arrivals;
pub mod files;
pub mod formula;
pub mod points;
pub mod rate;
pub mod table;

use crate::component::{Draws, Purpose};

/// Draws of the factors of a noisy rate.
pub const NOISE: Purpose = Purpose("load-noise");
/// Draws of the gaps between requests.
pub const GAP: Purpose = Purpose("load-gap");
/// Draws of the lengths of calm and busy times.
pub const PHASE: Purpose = Purpose("load-phase");

/// The draws of one load.
pub struct Luck<'a> {
    /// Where draws come from.
    pub draws: &'a mut dyn Draws,
    /// Which load: a stable hash of its name.
    pub load: u64,
}

impl Luck<'_> {
    /// A uniform number in (0, 1).
    fn unit(&mut self, purpose: Purpose, stream: u64, occurrence: u64) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        // 2^64 over the golden ratio, odd: streams of one load do not meet those of another.
        let entity = self.load.wrapping_add(stream.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let bits = self.draws.bits(purpose, entity, occurrence);
        ((bits >> 11) as f64 + 0.5) * STEP
    }

    /// An exponential number with mean 1.
    fn exponential(&mut self, purpose: Purpose, occurrence: u64) -> f64 {
        -libm::log(self.unit(purpose, 0, occurrence))
    }
}
