//! Objects and values as the simulator holds them: data with accessors, no behaviour over time.

pub mod int_or_percent;
pub mod name;
pub mod time;

pub use int_or_percent::IntOrPercent;
pub use name::{FixedHash, Map, Name, Set};
pub use time::{Span, Time};
