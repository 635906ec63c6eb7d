//! What a run amounts to: summary.json, its KPIs, and the folder that holds the results.
//!
//! Consumes records and the few facts that the loop counts; never sees the world. docs/kpis.md says what each KPI
//! means, docs/outputs.md what each file holds. Nothing here depends on a path, a machine or a clock.

pub mod balance;
pub mod chain;
pub mod explain;
pub mod explain_chart;
pub mod kpis;
pub mod output_folder;
pub mod quantile;
pub mod staleness;
pub mod state;
pub mod summary;
mod trace_rows;
pub mod why;

pub use kpis::{KpiCollector, PodStart, RunFacts};
pub use output_folder::{OutputError, OutputFolder};
pub use staleness::{InformerStaleness, StalenessMeter};
pub use summary::{ExpectationResult, Summary, Value};
