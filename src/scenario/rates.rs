//! A rate over time as scenarios write it: `20`, `{gaussian: {base: 20, peak: 100, at: 5m, sigma: 60s}}`, `{file: cup.csv}`,
//! `"10 + t / 60"`.
//!
//! A file is named here and read in `load_plans`, where its folder is known: what is read from a document is a [`Draft`].

use serde_json::Value;

use super::diagnostic::Code;
use super::entry::{Entry, Fields};
use super::schema::shape::Special;
use crate::model::Span;
use crate::model::time::SECOND_NS;
use crate::workload::files::Columns;
use crate::workload::formula::Formula;
use crate::workload::points::{After, Between, Points};
use crate::workload::rate::Rate;

/// A day.
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// A rate that may still need files.
#[derive(Clone, PartialEq, Debug)]
pub enum Draft {
    /// Complete.
    Rate(Rate),
    /// A series in a file.
    File(SeriesFile),
    /// All together.
    Sum(Vec<Draft>),
    /// Another with noise: standard deviation, interval in ns.
    Noise(Box<Draft>, f64, i64),
}

/// A file that a load names.
#[derive(Clone, PartialEq, Debug)]
pub struct SeriesFile {
    /// Path of the field that names it.
    pub path: String,
    /// Its name, relative to the scenario.
    pub name: String,
    /// Which columns.
    pub columns: Columns,
    /// Values are counts in so much time; without it they are per second.
    pub per: Option<Span>,
    /// From row to row.
    pub between: Between,
    /// What comes after the last row.
    pub after: AfterFile,
    /// What values are multiplied by.
    pub times: f64,
}

/// What comes after the last row of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterFile {
    /// The last rate stays.
    Hold,
    /// No load. The last row counts as long as the one before it.
    End,
    /// It begins again. The last row counts as long as the one before it.
    Repeat,
}

/// Kinds of rates, by the field that says so.
const KINDS: [&str; 11] =
    ["constant", "step", "ramp", "steps", "points", "gaussian", "sine", "daily", "burst", "noise", "sum"];

/// Reads a rate per second.
pub fn read(entry: &Entry<'_>) -> Option<Draft> {
    let entry = &entry.defined("rate");
    if let Value::String(_) = entry.value {
        return formula(entry).map(|formula| Draft::Rate(Rate::Formula(formula)));
    }
    if !entry.value.is_object() {
        return number(entry).map(|rate| Draft::Rate(Rate::Constant(rate)));
    }
    let mut fields = entry.fields()?;
    let mut kinds = KINDS.to_vec();
    kinds.push("file");
    let found = fields.one_of(&kinds);
    fields.finish();
    let (name, inner) = found?;
    let rate = match name {
        "file" => return series_file(&inner).map(Draft::File),
        "sum" => return inner.items().iter().map(read).collect::<Option<Vec<_>>>().map(Draft::Sum),
        "noise" => return noise(&inner),
        "constant" => Rate::Constant(number(&inner)?),
        "steps" => Rate::Points(points(&inner, Between::Steps)?),
        "points" => Rate::Points(points(&inner, Between::Lines)?),
        _ => shape(name, &inner)?,
    };
    checked(&inner, rate).map(Draft::Rate)
}

fn checked(entry: &Entry<'_>, rate: Rate) -> Option<Rate> {
    match rate.check() {
        Ok(()) => Some(rate),
        Err(problem) => {
            entry.problem(Code::BadValue, problem, None);
            None
        }
    }
}

/// A number from 0.
pub(super) fn number(entry: &Entry<'_>) -> Option<f64> {
    let number = entry.number()?;
    if number.is_finite() && number >= 0.0 {
        return Some(number);
    }
    entry.problem(Code::BadValue, format!("must not be negative: {number}"), None);
    None
}

/// An expression in `t`.
fn formula(entry: &Entry<'_>) -> Option<Formula> {
    entry.is_a(Special::Formula);
    match Formula::parse(entry.text()?) {
        Ok(formula) => Some(formula),
        Err(error) => {
            entry.problem(Code::BadValue, error.to_string(), error.help);
            None
        }
    }
}

/// A rate with named numbers and times.
fn shape(name: &str, entry: &Entry<'_>) -> Option<Rate> {
    let mut fields = entry.fields()?;
    let rate = match name {
        "step" => {
            let (from, to, at) = (rate(&mut fields, "from"), rate(&mut fields, "to"), time(&mut fields, "at"));
            two_points(entry, (0, from), (at, to), Between::Steps)
        }
        "ramp" => {
            let (from, to) = (rate(&mut fields, "from"), rate(&mut fields, "to"));
            let at = optional_time(&mut fields, "at");
            let duration = time(&mut fields, "duration");
            two_points(entry, (at, from), (duration.map(|duration| at + duration), to), Between::Lines)
        }
        "gaussian" => {
            let (base, peak) = (optional_rate(&mut fields, "base"), rate(&mut fields, "peak"));
            let (at, sigma) = (time(&mut fields, "at"), time(&mut fields, "sigma"));
            (|| Some(Rate::Pulse { base, peak: peak?, at_ns: at?, sigma_ns: sigma? }))()
        }
        "sine" => {
            let (mean, amplitude) = (rate(&mut fields, "mean"), rate(&mut fields, "amplitude"));
            let (period, peak_at_ns) = (time(&mut fields, "period"), optional_time(&mut fields, "peakAt"));
            (|| Some(Rate::Sine { mean: mean?, amplitude: amplitude?, period_ns: period?, peak_at_ns }))()
        }
        "daily" => {
            let (low, high) = (rate(&mut fields, "low"), rate(&mut fields, "high"));
            let peak_at_ns = optional_time(&mut fields, "peakAt");
            (|| {
                let (low, high) = (low?, high?);
                let (mean, amplitude) = ((low + high) / 2.0, (high - low) / 2.0);
                Some(Rate::Sine { mean, amplitude, period_ns: DAY_NS, peak_at_ns })
            })()
        }
        _ => {
            let (high, base) = (rate(&mut fields, "rate"), optional_rate(&mut fields, "base"));
            let [on, off] = ["on", "off"].map(|name| fields.require_switch(name).and_then(|entry| entry.duration()));
            let from_ns = optional_time(&mut fields, "from");
            (|| Some(Rate::Burst { rate: high?, base, on_ns: on?.0, off_ns: off?.0, from_ns }))()
        }
    };
    fields.finish();
    rate
}

fn rate(fields: &mut Fields<'_>, name: &'static str) -> Option<f64> {
    fields.require(name).and_then(|entry| number(&entry))
}

fn optional_rate(fields: &mut Fields<'_>, name: &'static str) -> f64 {
    fields.get(name).and_then(|entry| number(&entry)).unwrap_or(0.0)
}

fn time(fields: &mut Fields<'_>, name: &'static str) -> Option<i64> {
    fields.require(name).and_then(|entry| entry.duration()).map(|span| span.0)
}

fn optional_time(fields: &mut Fields<'_>, name: &'static str) -> i64 {
    fields.get(name).and_then(|entry| entry.duration()).map_or(0, |span| span.0)
}

/// A rate through two points whose parts may be missing, which has been said then.
fn two_points(
    entry: &Entry<'_>,
    (first_at, first): (i64, Option<f64>),
    (second_at, second): (Option<i64>, Option<f64>),
    between: Between,
) -> Option<Rate> {
    let points = vec![(first_at, first?), (second_at?, second?)];
    made(entry, points, between).map(Rate::Points)
}

fn made(entry: &Entry<'_>, points: Vec<(i64, f64)>, between: Between) -> Option<Points> {
    match Points::new(points, between, After::Hold) {
        Ok(points) => Some(points),
        Err((index, problem)) => {
            entry.problem(Code::BadValue, format!("point {}: {problem}", index + 1), None);
            None
        }
    }
}

/// `[{at: 0s, rate: 10}, {at: 1m, rate: 20}]`
fn points(entry: &Entry<'_>, between: Between) -> Option<Points> {
    let point = |item: &Entry<'_>| {
        let mut fields = item.fields()?;
        let (at, value) = (time(&mut fields, "at"), rate(&mut fields, "rate"));
        fields.finish();
        Some((at?, value?))
    };
    let points: Option<Vec<_>> = entry.items().iter().map(point).collect();
    made(entry, points?, between)
}

fn noise(entry: &Entry<'_>) -> Option<Draft> {
    let mut fields = entry.fields()?;
    let of = fields.require("of").and_then(|of| read(&of));
    let sd = rate(&mut fields, "sd");
    let every = fields.require("every");
    let every_ns = every.as_ref().and_then(|every| every.duration()).map(|span| span.0);
    fields.finish();
    if let (Some(every), Some(0)) = (every, every_ns) {
        every.problem(Code::BadValue, "must be longer than 0s", None);
        return None;
    }
    Some(Draft::Noise(Box::new(of?), sd?, every_ns?))
}

/// A file: its name, or a mapping with more about it.
fn series_file(entry: &Entry<'_>) -> Option<SeriesFile> {
    let mut file = SeriesFile {
        path: entry.path.clone(),
        name: String::new(),
        columns: Columns::default(),
        per: None,
        between: Between::Steps,
        after: AfterFile::Hold,
        times: 1.0,
    };
    if let Value::String(_) = entry.value {
        file.name = entry.text()?.to_string();
        return Some(file);
    }
    let mut fields = entry.fields()?;
    let name = fields.require("name");
    file.path = name.as_ref().map_or_else(|| file.path.clone(), |name| name.path.clone());
    let name = name.and_then(|name| name.text().map(str::to_string));
    let column = |entry: Option<Entry<'_>>| entry.and_then(|entry| entry.text().map(str::to_string));
    file.columns = Columns { time: column(fields.get("time")), value: column(fields.get("column")) };
    file.per = fields.get("per").and_then(|per| {
        let span = per.duration()?;
        if span == Span::ZERO {
            per.problem(Code::BadValue, "must be longer than 0s", None);
        }
        Some(span).filter(|span| *span > Span::ZERO)
    });
    let between = [("steps", Between::Steps), ("lines", Between::Lines)];
    file.between = fields.get("between").and_then(|entry| entry.word(&between)).unwrap_or(file.between);
    let after = [("hold", AfterFile::Hold), ("end", AfterFile::End), ("repeat", AfterFile::Repeat)];
    file.after = fields.get("after").and_then(|entry| entry.word(&after)).unwrap_or(file.after);
    file.times = fields.get("times").and_then(|entry| number(&entry)).unwrap_or(file.times);
    fields.finish();
    Some(SeriesFile { name: name?, ..file })
}

impl SeriesFile {
    /// The rate that a series of this file is.
    ///
    /// # Errors
    /// What is wrong with it as a whole; single values were checked when it was read.
    pub fn rate(&self, series: Vec<(i64, f64)>) -> Result<Rate, String> {
        let factor = self.times / self.per.map_or(1.0, Span::as_seconds);
        let points: Vec<(i64, f64)> = series.into_iter().map(|(at, value)| (at, value * factor)).collect();
        let end = match points.as_slice() {
            [.., (before, _), (last, _)] => Some(last.saturating_add(last - before)),
            _ => None,
        };
        let after = match (self.after, end) {
            (AfterFile::Hold, _) => After::Hold,
            (_, None) => return Err("one row has no length: `after` must be hold".into()),
            (AfterFile::End, Some(end)) => After::EndAt(end),
            (AfterFile::Repeat, Some(end)) => After::Repeat(end),
        };
        let points =
            Points::new(points, self.between, after).map_err(|(row, why)| format!("row {}: {why}", row + 1))?;
        Ok(Rate::Points(points))
    }
}
