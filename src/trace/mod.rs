//! What a run leaves behind, row by row: `trace.csv`, `events.csv`, `metrics.csv` and the hash of the trace.
//!
//! Consumes [`crate::model::Record`]s, Kubernetes Events and samples; never sees the world. Columns and units are in
//! docs/outputs.md. All files are UTF-8 with a header line, LF line ends, and RFC 4180 quotes where a field needs them.
//! Rows are formatted here, byte by byte: a trace is the largest thing that a run makes.

pub mod csv_field;
pub mod events_csv;
pub mod hasher;
pub mod metrics_csv;
pub mod number;
pub mod row;
pub mod row_buffer;
pub mod sink;
pub mod writer;

pub use events_csv::EventsCsv;
pub use hasher::{TraceHash, TraceHasher};
pub use metrics_csv::MetricsCsv;
pub use sink::{CsvSink, HashSink, RecordSink, VecSink};
pub use writer::TraceWriter;
