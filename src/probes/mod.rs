//! What looks at a run from outside: conditions over the observed state, expectations and series.
//!
//! Observed state is what `kubectl get` would answer from etcd at the end of an instant. Nothing here is an event, takes
//! an event number or changes the world: a run without probes leaves the same trace.

pub mod calls;
pub mod condition;
pub mod expectations;
pub mod fault_condition;
pub mod metric_table;
pub mod metrics;
mod node_rooms;
pub mod observed;
pub mod sample_grid;

pub mod world_view;

pub use condition::{Condition, ConditionError};
pub use expectations::{Expectations, Verdict};
pub use observed::{Changed, KindSet, Lookup, Observed};
pub use sample_grid::SampleGrid;
