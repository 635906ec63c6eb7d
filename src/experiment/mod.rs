//! Running plans: one world with everything that looks at it. Sweeps build on this.

pub mod single;
pub mod watcher;
