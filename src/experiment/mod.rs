//! Running plans: one world with everything that looks at it. Sweeps build on this.

pub mod ages;
pub mod explain;
pub mod replay;
pub mod samples;
pub mod single;
pub mod watcher;
