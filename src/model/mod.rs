//! Objects and values as the simulator holds them: data with accessors, no behaviour over time.

pub mod distribution;
pub mod name;
pub mod time;

pub use distribution::Distribution;
pub use name::{FixedHash, Map, Name, Set};
pub use time::{Span, Time};
