//! Leader election: recorded timelines call by call, and recorded distributions.

mod replay;
mod statistics;
mod world;

pub use replay::leaderelection;
pub use statistics::leaderelection_stats;
