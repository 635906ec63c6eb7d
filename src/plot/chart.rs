//! What a chart shows, in plain data.

/// A chart: panels below each other over one axis of time.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Chart {
    /// Title.
    pub title: String,
    /// Smaller text under it: scenario, seed. Long text is broken into lines.
    pub subtitle: String,
    /// Smaller text at the bottom: what is not shown.
    pub note: String,
    /// What the horizontal axis shows, in seconds; empty for the time since the start.
    pub x_label: String,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Seconds that the time axis covers; longer when something shown is later.
    pub length_s: f64,
    /// The part of the time that is shown, in seconds; `None` for all of it.
    pub window: Option<(f64, f64)>,
    /// All panels have the same scale of values, so that they can be compared.
    pub same_scale: bool,
}

/// One panel.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// Title, e.g. the object or the variant.
    pub title: String,
    /// What the values are, with their unit: `pods`, `seconds`.
    pub y_label: String,
    /// Whether values are counts.
    pub values: ValueKind,
    /// Its series coincide much of the time: the first are drawn wide, so that they show beside the later ones.
    pub coincides: bool,
    /// The series, the most important last: it is drawn on top.
    pub series: Vec<Series>,
    /// Spans to shade.
    pub spans: Vec<FaultSpan>,
    /// Instants to mark.
    pub marks: Vec<Mark>,
}

/// What the values of a panel are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ValueKind {
    /// Whole numbers: ticks are whole too.
    #[default]
    Counts,
    /// Any number.
    Measures,
    /// Shares in per cent: the axis ends at 100.
    Percent,
    /// None: each series has a lane, in which it is drawn while it is above zero.
    Lanes,
}

/// One series.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// How it is drawn.
    pub style: Style,
    /// Seconds since the start, ascending, and value. One that is not finite ends the line until the next: a gap.
    pub points: Vec<(f64, f64)>,
}

/// How a series is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// A step function: a value holds until the next point (also one that is not finite), the last one until the end of
    /// the chart.
    Step,
    /// Straight lines between points.
    Line,
    /// Straight lines, filled down to 0.
    Area,
    /// Dots.
    Points,
    /// Bars in a lane.
    Lane,
    /// Bars in a lane that should be empty, each with its length.
    Alarm,
}

/// A span of time to shade.
#[derive(Clone, PartialEq, Debug)]
pub struct FaultSpan {
    /// Seconds since the start.
    pub from: f64,
    /// Seconds since the start; equal to `from` for something without a duration.
    pub to: f64,
    /// What happened.
    pub label: String,
}

/// An instant to mark.
#[derive(Clone, PartialEq, Debug)]
pub struct Mark {
    /// Seconds since the start.
    pub at: f64,
    /// What happened.
    pub label: String,
}
