//! What a sweep prints when it is done.

use std::fmt::Write as _;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use anyhow::Context;
use serde_json::{Value, json};

use super::table::Table;
use crate::experiment::sweep_summary::{KpiStatistics, PointSummary, SweepSummary};
use crate::report::summary::API_VERSION;
use crate::scenario::sweep::Sweep;
use crate::trace::number::format_f64;

/// `kind` of what is printed for scripts.
pub const KIND: &str = "SweepResult";
/// KPIs that are shown when no goal is given, those first that say most; of them at most [`MOST_KPIS`] that vary.
const DEFAULT_KPIS: [&str; 8] = [
    "convergence_seconds",
    "queue_wait_seconds_mean",
    "pod_start_seconds_p99",
    "staleness_seconds_max",
    "retries_total",
    "requests_total",
    "reconciles_total",
    "pods_created_total",
];
const MOST_KPIS: usize = 4;
const BEST: Style = AnsiColor::Green.on_default().bold();

/// How long a sweep took.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Took {
    /// In all, charts included.
    pub wall: Duration,
    /// Until the last run was done.
    pub simulating: Duration,
}

/// The summary as data, for scripts. No wall time: the same sweep gives the same text.
///
/// # Errors
/// None that is known of: numbers are finite and keys are text.
pub fn value(summary: &SweepSummary, folder: &str) -> anyhow::Result<Value> {
    let summary = serde_json::to_value(summary).context("cannot write the summary as data")?;
    Ok(json!({"apiVersion": API_VERSION, "kind": KIND, "files": folder, "summary": summary}))
}

/// A table of the points and what is true of all, for people.
pub fn render(sweep: &Sweep, summary: &SweepSummary, folder: &str, took: Took, color: bool) -> String {
    let kpis = shown_kpis(sweep, summary);
    let table = table(sweep, summary, &kpis).render();
    let mut text = String::from("\n");
    for line in table.lines() {
        match color && line.contains(BEST_MARK) {
            true => writeln!(text, "{BEST}{line}{BEST:#}"),
            false => writeln!(text, "{line}"),
        }
        .expect("text takes every write");
    }
    text.push('\n');
    let percent = summary.confidence.0.unwrap_or_default() * 100.0;
    if summary.replications > 1 {
        let _ = writeln!(
            text,
            "Means of {} runs a point ± half of their {percent} % interval (Student's t).",
            summary.replications
        );
    }
    for best in &summary.best {
        let set: Vec<String> = best.set.iter().map(|(path, value)| format!("{path}={}", plain(value))).collect();
        let found = match best.point {
            Some(_) => format!("{} at {}", mean(&best.statistics), set.join(" ")),
            None => "no point measured it in all its runs".to_string(),
        };
        let word = if best.goal == "minimise" { "Smallest" } else { "Largest" };
        let _ = writeln!(text, "{word} {}: {found}", best.kpi);
    }
    text.push('\n');
    let rate = summary.runs as f64 / took.simulating.as_secs_f64().max(1e-3);
    let mut fact = |name: &str, value: String| {
        let _ = writeln!(text, "{:<16}{value}", format!("{name}:"));
    };
    fact("Runs", format!("{} ({} points x {})", summary.runs, summary.points.len(), summary.replications));
    if let Some(why) = &summary.partial_reason {
        fact("Partial", why.clone());
    }
    fact("Seed", summary.seed.to_string());
    let (wall, simulating) = (took.wall.as_secs_f64(), took.simulating.as_secs_f64());
    fact("Wall time", format!("{wall:.2}s ({simulating:.2}s of it simulating, {rate:.1} runs/s)"));
    fact("Files", folder.to_string());
    text
}

fn shown_kpis(sweep: &Sweep, summary: &SweepSummary) -> Vec<&'static str> {
    if !sweep.goals.is_empty() {
        return sweep.goals.iter().map(|goal| goal.kpi).collect();
    }
    if !sweep.histograms.is_empty() {
        return sweep.histograms.iter().map(|histogram| histogram.kpi).collect();
    }
    DEFAULT_KPIS.into_iter().filter(|kpi| summary.varies(kpi)).take(MOST_KPIS).collect()
}

/// Stands behind the best mean of a column.
const BEST_MARK: char = '*';

fn table(sweep: &Sweep, summary: &SweepSummary, kpis: &[&str]) -> Table {
    let has = |count: fn(&PointSummary) -> u64| summary.points.iter().any(|point| count(point) > 0);
    let (unmet, lost) = (has(|point| point.runs_unmet), has(|point| point.runs_failed + point.runs_partial));
    let mut header: Vec<String> =
        sweep.short_names().into_iter().chain(kpis.iter().map(|kpi| kpi.to_string())).collect();
    header.extend(unmet.then(|| "expectations not met".to_string()));
    header.extend(lost.then(|| "runs without result".to_string()));
    let header: Vec<String> = header.iter().map(|name| name.to_uppercase()).collect();
    let mut table = Table::new(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for point in &summary.points {
        let mut row: Vec<String> = point.set.values().map(plain).collect();
        for kpi in kpis {
            let is_best = summary.best.iter().any(|best| best.kpi == *kpi && best.point == Some(point.point));
            let mean = point.kpis.get(*kpi).map_or("-".to_string(), mean);
            row.push(if is_best { format!("{mean} {BEST_MARK}") } else { mean });
        }
        row.extend(unmet.then(|| format!("{} of {}", point.runs_unmet, point.runs)));
        row.extend(lost.then(|| format!("{} of {}", point.runs_failed + point.runs_partial, point.runs)));
        table.push(row);
    }
    table
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// `12.30 ± 0.42`, to two digits of the half width; `-` when nothing was measured.
fn mean(statistics: &KpiStatistics) -> String {
    let Some(mean) = statistics.mean.0 else { return "-".to_string() };
    match statistics.half_width() {
        Some(half_width) if half_width > 0.0 => {
            let decimals = decimals(half_width, 2);
            format!("{mean:.decimals$} ± {half_width:.decimals$}")
        }
        _ => digits(mean, 4),
    }
}

/// A number with so many significant digits, without trailing zeros; whole digits are never cut.
fn digits(value: f64, significant: i32) -> String {
    if value == 0.0 || !value.is_finite() {
        return format_f64(value);
    }
    let decimals = decimals(value, significant);
    let text = format!("{value:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// Digits behind the point for so many significant ones.
fn decimals(value: f64, significant: i32) -> usize {
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    (significant - 1 - magnitude).clamp(0, 12) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::Value as Number;

    #[test]
    fn numbers_have_few_digits() {
        for (value, significant, text) in [
            (12.3456, 4, "12.35"),
            (0.000_123_456, 2, "0.00012"),
            (123_456.7, 4, "123457"),
            (20.0, 4, "20"),
            (0.5, 4, "0.5"),
            (0.0, 4, "0"),
        ] {
            assert_eq!(digits(value, significant), text);
        }
    }

    #[test]
    fn a_mean_has_its_interval_when_there_is_one() {
        let value = |number| Number(Some(number));
        let statistics =
            |low, high| KpiStatistics { n: 3, mean: value(2.5), standard_deviation: value(0.1), low, high };
        assert_eq!(mean(&statistics(value(2.25), value(2.75))), "2.50 ± 0.25");
        assert_eq!(mean(&statistics(value(2.5), value(2.5))), "2.5");
        assert_eq!(mean(&statistics(Number(None), Number(None))), "2.5");
        assert_eq!(mean(&KpiStatistics::default()), "-");
    }
}
