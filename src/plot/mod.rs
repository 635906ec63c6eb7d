//! Charts: SVG, and PNG of the same drawing.
//!
//! A [`Chart`] says what to show; [`svg`] draws it with plotters; [`png`] renders that SVG with an embedded font, so that
//! a machine without fonts makes the same picture. [`charts`] builds the charts that a run leaves behind. Consumes plain
//! series; never sees the world. The same chart gives the same bytes.

pub mod band;
pub mod chart;
pub mod charts;
pub mod histogram;
pub mod leaders;
pub mod palette;
pub mod placement;
pub mod png;
mod polling;
pub mod scale;
pub mod score_bars;
mod starts;
pub mod svg;
pub mod text;
pub mod thin;

mod canvas;
mod layout;
mod optimism;
mod panel;

pub use chart::{Chart, FaultSpan, Mark, Panel, Series, Style, ValueKind};
pub use charts::{ChartData, SeriesKey, run_charts};
