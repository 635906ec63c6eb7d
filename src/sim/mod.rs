//! The simulation: the plan of a run, its events, the world and the loop.

pub mod plan;
