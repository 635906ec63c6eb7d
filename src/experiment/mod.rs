//! Running plans: one world with everything that looks at it. Sweeps build on this.

pub mod ages;
pub mod replay;
pub mod samples;
pub mod single;
pub mod statistics;
pub mod watcher;
