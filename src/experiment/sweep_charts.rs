//! The charts of a sweep: each KPI over the values of one path, a line for every combination of the others.

use rayon::prelude::*;
use serde_json::Value as Json;

use crate::plot::band::{self, BandChart, BandLine, BandPoint, BestPoint};
use crate::plot::histogram::{self, Histogram};
use crate::plot::palette::MOST_SERIES;
use crate::plot::png::Renderer;
use crate::report::kpis;
use crate::report::output_folder::OutputFolder;
use crate::rules::{go_duration, quantity};
use crate::scenario::sweep::{Axis, HistogramOf, Sweep, Wish};
use crate::trace::number::format_f64;

use super::single::{CHARTS, RunError};
use super::statistics::CONFIDENCE;
use super::sweep_summary::{PointSummary, SweepSummary};

/// Stem of the chart with several KPIs.
const OVERVIEW: &str = "overview";
/// KPIs that say why another comes out as it does.
const REASONS: [&str; 4] = ["requests_429_per_second", "retries_total", "requests_conflict", "queue_depth_mean"];
/// Fewer KPIs need no picture together.
const FEWEST_STACKED: usize = 3;
/// Most KPIs in one picture.
const MOST_STACKED: usize = 5;

/// Notices that begin like this say which charts there are none of.
pub const NO_CHART: &str = "no chart, as ";

/// The chart of every KPI that varies, by name. What gets no chart is added to the summary's notices.
pub fn charts(sweep: &Sweep, summary: &mut SweepSummary) -> Vec<(String, SweepChart)> {
    let is_measured =
        |name: &str| summary.points.iter().any(|point| point.kpis.get(name).is_some_and(|found| found.n > 0));
    let (measured, missing): (Vec<&str>, Vec<&str>) = kpis::NAMES.into_iter().partition(|name| is_measured(name));
    let (varying, fixed): (Vec<&str>, Vec<&str>) = measured.into_iter().partition(|name| summary.varies(name));
    let mut notices = Vec::new();
    let mut charts = Vec::new();
    match Layout::of(sweep) {
        Some(layout) => {
            let chart = |name: &&str| (name.to_string(), SweepChart::Band(layout.chart(name, summary)));
            charts.extend(layout.overview(sweep, &varying, summary));
            charts.extend(varying.iter().map(chart));
        }
        None => notices.push(format!("{NO_CHART}there is one point only")),
    }
    for (left_out, why) in [(missing, "no run measured it"), (fixed, "it is the same in every run")] {
        if !left_out.is_empty() && !charts.is_empty() {
            notices.push(format!("{NO_CHART}{why}: {}", left_out.join(", ")));
        }
    }
    summary.notices.extend(notices);
    charts
}

/// The distributions that the sweep asks for, by name, over the values of all runs.
pub fn histograms(sweep: &Sweep, drawn: Vec<Vec<f64>>, summary: &SweepSummary) -> Vec<(String, SweepChart)> {
    let chart = |(of, values): (&HistogramOf, Vec<f64>)| {
        let title = format!("{}: distribution", words(of.kpi));
        let head = format!("{} of {}, seed {}", of.kpi, summary.name, summary.seed);
        let (values, runs) = without_zeros(values);
        let subtitle = format!("{head}: {runs}{}", spread(&values));
        let (x_label, lines) = (unit(of.kpi).to_string(), of.lines.clone());
        let histogram = Histogram { title, subtitle, x_label, values, lines };
        (format!("{}-distribution", of.kpi), SweepChart::Histogram(histogram))
    };
    sweep.histograms.iter().zip(drawn).map(chart).collect()
}

/// The values that are drawn, and how many runs there are. Where most are zero (nothing happened) the others would be flat
/// beside their bar, and are drawn alone.
fn without_zeros(values: Vec<f64>) -> (Vec<f64>, String) {
    let runs = values.len();
    let others: Vec<f64> = values.iter().copied().filter(|value| *value != 0.0).collect();
    let zeros = runs - others.len();
    if others.is_empty() || 2 * zeros <= runs {
        return (values, if runs == 0 { "no run measured it".to_string() } else { format!("{runs} runs") });
    }
    let drawn = others.len();
    (others, format!("{runs} runs; in {zeros} of them it is 0; drawn are the other {drawn}"))
}

/// Least, mean and most, in words.
fn spread(values: &[f64]) -> String {
    if values.is_empty() {
        return String::new();
    }
    let ends = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let shown = |value: f64| format_f64((value * 1e3).round() / 1e3);
    format!("; least {}, mean {}, most {}", shown(ends.0), shown(mean), shown(ends.1))
}

/// A chart of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub enum SweepChart {
    /// A KPI over swept values.
    Band(BandChart),
    /// KPIs over swept values, below each other: what all have in common, and each.
    Stack(BandChart, Vec<BandChart>),
    /// The distribution of a KPI.
    Histogram(Histogram),
}

/// Writes charts as SVG and PNG.
///
/// # Errors
/// They cannot be drawn or written.
pub fn write(charts: &[(String, SweepChart)], folder: &OutputFolder) -> Result<(), RunError> {
    let renderer = Renderer::default();
    // Pictures take longer than many a sweep: they are drawn side by side and written in order.
    let drawn: Vec<_> = charts
        .par_iter()
        .map(|(_, chart)| {
            let drawing = match chart {
                SweepChart::Band(chart) => band::draw(chart),
                SweepChart::Stack(head, charts) => band::draw_stack(head, charts),
                SweepChart::Histogram(chart) => histogram::draw(chart),
            };
            let png = renderer.png(&drawing);
            (drawing, png)
        })
        .collect();
    for ((stem, _), (drawing, png)) in charts.iter().zip(drawn) {
        folder.write(&format!("{CHARTS}/{stem}.svg"), drawing.as_bytes())?;
        let png = png.map_err(|error| RunError::Chart(error.to_string()))?;
        folder.write(&format!("{CHARTS}/{stem}.png"), &png)?;
    }
    Ok(())
}

/// Which path lies along the horizontal axis, and which points each line has.
struct Layout<'a> {
    axis: &'a Axis,
    /// Its short name.
    name: String,
    /// Places of the axis' values, from 0 to 1.
    places: Vec<f64>,
    scale: Scale,
    /// Values of the axis from left to right.
    order: Vec<usize>,
    /// Name of each line and its points' numbers, by value of the axis.
    lines: Vec<(String, Vec<usize>)>,
    /// Every path that has a short name, in words.
    paths: Vec<String>,
}

/// How values lie along the axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scale {
    Linear,
    Logarithmic,
    /// Equal distances: the values are no numbers.
    Categories,
}

impl<'a> Layout<'a> {
    /// `None` for a grid of one point.
    fn of(sweep: &'a Sweep) -> Option<Layout<'a>> {
        let varied: Vec<usize> = (0..sweep.grid.len()).filter(|&axis| sweep.grid[axis].values.len() > 1).collect();
        let is_numeric = |axis: &&usize| numbers(&sweep.grid[**axis]).is_some();
        let across = *varied.iter().find(is_numeric).or(varied.first())?;
        let axis = &sweep.grid[across];
        let names = sweep.short_names();
        let (places, scale) = places(axis);
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|&a, &b| places[a].total_cmp(&places[b]));
        let mut lines: Vec<(String, Vec<usize>)> = Vec::new();
        let others: Vec<usize> = varied.into_iter().filter(|&axis| axis != across).collect();
        for point in 0..sweep.points() as usize {
            let indices = sweep.indices(point);
            let part = |&other: &usize| format!("{} {}", names[other], sweep.grid[other].text(indices[other]));
            let parts: Vec<String> = others.iter().map(part).collect();
            let name = parts.join(", ");
            // Points come in order: those of a line have its other values in common.
            let line = lines.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                lines.push((name, vec![0; axis.values.len()]));
                lines.len() - 1
            });
            lines[line].1[indices[across]] = point;
        }
        let is_short = |(axis, name): &(&Axis, &String)| axis.path != **name && axis.values.len() > 1;
        let pairs = sweep.grid.iter().zip(&names).filter(is_short);
        let paths = pairs.map(|(axis, name)| format!("{name}: {}", axis.path)).collect();
        Some(Layout { axis, name: names[across].clone(), places, scale, order, lines, paths })
    }

    fn chart(&self, kpi: &str, summary: &SweepSummary) -> BandChart {
        let percent = (CONFIDENCE * 100.0).round();
        let best = summary.best.iter().find(|best| best.kpi == kpi);
        let is_low = best.is_some_and(|best| best.goal == Wish::Minimise.as_str());
        let best = best.and_then(|best| best.point);
        let mut shown: Vec<usize> = (0..self.lines.len().min(MOST_SERIES)).collect();
        if let Some(line) = best.and_then(|point| self.line_of(point)).filter(|line| !shown.contains(line)) {
            shown[MOST_SERIES - 1] = line;
        }
        let lines: Vec<BandLine> = shown.iter().map(|&line| self.line(line, kpi, summary)).collect();
        let has_band = lines.iter().flat_map(|line| &line.points).any(|point| point.interval.is_some());
        let runs = match summary.replications {
            1 => "one run a point".to_string(),
            runs => format!("mean of {runs} runs a point"),
        };
        let mut subtitle = format!("{kpi} of {}, seed {}: {runs}", summary.name, summary.seed);
        if has_band {
            subtitle += &format!(" with its {percent} % interval (Student's t)");
        }
        let mut chart = BandChart {
            title: format!("{} over {}", words(kpi), self.name),
            subtitle,
            x_label: format!("{}{}", self.name, self.scale.words()),
            y_label: unit(kpi).to_string(),
            ticks: self.order.iter().map(|&index| (self.places[index], self.axis.text(index))).collect(),
            best: best.and_then(|point| self.best(point, is_low, &shown, &lines)),
            lines,
            line_name: if summary.replications == 1 { "value" } else { "mean" }.to_string(),
            band_name: if has_band { format!("{percent} % interval of the mean") } else { String::new() },
            note: String::new(),
        };
        chart.note = self.note(&chart, shown.len(), kpi, summary);
        chart
    }

    /// What was wanted, and what says why it comes out like that, in one picture; `None` where that is not enough.
    fn overview(&self, sweep: &Sweep, varying: &[&str], summary: &SweepSummary) -> Option<(String, SweepChart)> {
        let goals = sweep.goals.iter().map(|goal| goal.kpi);
        let mut shown: Vec<&str> = goals.chain(REASONS).filter(|kpi| varying.contains(kpi)).collect();
        let mut seen = Vec::new();
        shown.retain(|kpi| {
            !seen.contains(kpi) && {
                seen.push(*kpi);
                true
            }
        });
        shown.truncate(MOST_STACKED);
        let charts: Vec<BandChart> = shown.iter().map(|kpi| self.chart(kpi, summary)).collect();
        let first = charts.first().filter(|_| charts.len() >= FEWEST_STACKED)?;
        let (_, rest) = first.subtitle.split_once(", ")?;
        let head = BandChart {
            title: format!("{} over {}", summary.name, self.name),
            subtitle: rest.to_string(),
            note: self.paths.join("\n"),
            ..first.clone()
        };
        // In plots as low as these a label would hide a line: it goes to the title.
        let stacked = shown.iter().zip(&charts).map(|(kpi, chart)| {
            let label = chart.best.as_ref().map(|best| format!(" ({})", best.label));
            let best = chart.best.clone().map(|best| BestPoint { label: String::new(), ..best });
            BandChart { title: format!("{}{}", words(kpi), label.unwrap_or_default()), best, ..chart.clone() }
        });
        Some((OVERVIEW.to_string(), SweepChart::Stack(head, stacked.collect())))
    }

    fn line(&self, line: usize, kpi: &str, summary: &SweepSummary) -> BandLine {
        let (name, points) = &self.lines[line];
        let point = |&index: &usize| {
            let statistics = summary.points[points[index]].kpis.get(kpi)?;
            let interval = statistics.low.0.zip(statistics.high.0);
            Some(BandPoint { place: self.places[index], mean: statistics.mean.0?, interval })
        };
        BandLine { name: name.clone(), points: self.order.iter().filter_map(point).collect() }
    }

    fn line_of(&self, point: usize) -> Option<usize> {
        self.lines.iter().position(|(_, points)| points.contains(&point))
    }

    /// Where the best point is drawn, and its label.
    fn best(&self, point: usize, is_low: bool, shown: &[usize], lines: &[BandLine]) -> Option<BestPoint> {
        let line = self.line_of(point)?;
        let index = self.lines[line].1.iter().position(|&other| other == point)?;
        let drawn = shown.iter().position(|&other| other == line)?;
        let number = lines[drawn].points.iter().position(|drawn| drawn.place == self.places[index])?;
        Some(BestPoint { line: drawn, point: number, label: format!("best: {}", self.axis.text(index)), is_low })
    }

    /// What the chart does not show.
    fn note(&self, chart: &BandChart, shown: usize, kpi: &str, summary: &SweepSummary) -> String {
        let mut notes = Vec::new();
        if self.lines.len() > shown {
            notes.push(format!("Not shown: {} more lines (at most {MOST_SERIES} are).", self.lines.len() - shown));
        }
        let is_short = |point: &&PointSummary| point.whole(kpi).is_none();
        let short = summary.points.iter().filter(is_short).count();
        if short > 0 {
            notes.push(format!(
                "{} the KPI was not measured in every run; the mean is that of the others.",
                if short == 1 { "At one point".to_string() } else { format!("At {short} points") }
            ));
        }
        if !band::starts_at_zero(chart) {
            notes.push("The axis of values does not start at 0.".to_string());
        }
        notes.extend(self.paths.iter().cloned());
        notes.join("\n")
    }
}

impl Scale {
    fn words(self) -> &'static str {
        match self {
            Scale::Linear => "",
            Scale::Logarithmic => " (logarithmic scale)",
            Scale::Categories => " (equal distances)",
        }
    }
}

/// What a KPI is, in words.
fn words(kpi: &str) -> &str {
    match kpi {
        "convergence_seconds" => "Convergence time",
        "reconciles_total" => "Reconciles",
        "retries_total" => "Requeues after failed reconciles",
        "queue_wait_seconds_mean" => "Mean wait in work queues",
        "queue_wait_seconds_p99" => "Wait in work queues, 99th percentile",
        "queue_wait_seconds_max" => "Longest wait in work queues",
        "queue_depth_mean" => "Mean depth of work queues",
        "staleness_seconds_mean" => "Mean staleness of caches",
        "staleness_seconds_max" => "Highest staleness of caches",
        "pods_created_total" => "Pods created",
        "pods_started_total" => "Pods started",
        "pods_deleted_total" => "Pods deleted",
        "pods_unscheduled" => "Pods without a node at the end",
        "node_cpu_requested_max" => "Highest share of a node's CPU that is requested",
        "node_cpu_requested_deviation" => "Imbalance: standard deviation of requested shares of CPU",
        "requests_total" => "API requests",
        "requests_conflict" => "Conflicts (409)",
        "requests_429" => "Refused requests (429)",
        "requests_429_per_second" => "Refused requests (429) a second",
        "events_total" => "Kubernetes Events",
        "leaderless_seconds" => "Time without a leader",
        "leaderless_seconds_max" => "Longest time without a leader",
        "leader_overlap_seconds" => "Time with two leaders",
        "leader_overlap_seconds_max" => "Longest time with two leaders",
        "leader_changes_total" => "Changes of leader",
        "pod_requests_answered_total" => "Answered requests for pods",
        "pod_requests_given_up_total" => "Requests for pods given up (503)",
        "pod_request_seconds_p50" => "Answer to a request for a pod, median",
        "pod_request_seconds_p99" => "Answer to a request for a pod, 99th percentile",
        "double_assignments_total" => "Pods assigned twice",
        "assignment_conflicts_total" => "Refused second assignments",
        other => other,
    }
}

fn unit(kpi: &str) -> &'static str {
    match kpi {
        "queue_depth_mean" => "keys",
        "node_cpu_requested_max" | "node_cpu_requested_deviation" => "share of a node",
        _ if kpi.ends_with("_per_second") => "a second",
        _ if kpi.contains("_seconds") => "seconds",
        _ => "number in a run",
    }
}

/// The values as numbers, for their order and distances: all plain numbers, all durations or all quantities.
fn numbers(axis: &Axis) -> Option<Vec<f64>> {
    let all = |number: fn(&Json) -> Option<f64>| axis.values.iter().map(number).collect::<Option<Vec<f64>>>();
    let plain = |value: &Json| match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => text.parse::<f64>().ok(),
        _ => None,
    };
    let duration = |value: &Json| go_duration::parse(value.as_str()?).ok().map(|ns| ns as f64);
    let found = all(plain).or_else(|| all(duration)).or_else(|| all(of_quantity));
    found.filter(|numbers| numbers.iter().all(|number| number.is_finite()))
}

fn of_quantity(value: &Json) -> Option<f64> {
    let text = match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        _ => return None,
    };
    quantity::Quantity::parse(&text).ok().map(|quantity| quantity.milli_value() as f64)
}

/// Where each value of the axis lies, from 0 to 1.
fn places(axis: &Axis) -> (Vec<f64>, Scale) {
    let last = (axis.values.len() - 1).max(1) as f64;
    let Some(numbers) = numbers(axis) else {
        return ((0..axis.values.len()).map(|index| index as f64 / last).collect(), Scale::Categories);
    };
    let (numbers, scale) = match is_wide(&numbers) {
        true => (numbers.into_iter().map(libm::log).collect(), Scale::Logarithmic),
        false => (numbers, Scale::Linear),
    };
    let low = numbers.iter().copied().fold(f64::INFINITY, f64::min);
    let high = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if high <= low {
        // Different texts of one number, as 1s and 1000ms.
        return ((0..numbers.len()).map(|index| index as f64 / last).collect(), Scale::Categories);
    }
    (numbers.into_iter().map(|number| (number - low) / (high - low)).collect(), scale)
}

/// Whether a linear scale would crowd the small values: the widest gap is over eight times the narrowest.
fn is_wide(numbers: &[f64]) -> bool {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let gaps: Vec<f64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let narrowest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let widest = gaps.iter().copied().fold(0.0, f64::max);
    sorted[0] > 0.0 && gaps.len() > 1 && widest > 8.0 * narrowest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn axis(path: &str, values: Json) -> Axis {
        Axis { path: path.to_string(), values: values.as_array().unwrap().clone() }
    }

    fn sweep(grid: Vec<Axis>) -> Sweep {
        Sweep { replications: 1, grid, goals: Vec::new(), histograms: Vec::new() }
    }

    #[test]
    fn values_lie_where_their_numbers_are() {
        // 1, 2, 5 of 1 to 5: 0, 1/4, 1.
        assert_eq!(places(&axis("x", json!([1, 2, 5]))), (vec![0.0, 0.25, 1.0], Scale::Linear));
        // 30 s, 1 m, 90 s, not in order.
        assert_eq!(places(&axis("x", json!(["1m", "30s", "90s"]))), (vec![0.5, 0.0, 1.0], Scale::Linear));
        assert_eq!(places(&axis("x", json!(["1Gi", "2Gi", "3Gi"]))), (vec![0.0, 0.5, 1.0], Scale::Linear));
        // Gaps 9 and 90: logarithmic, equal ratios are equal distances.
        let (found, scale) = places(&axis("x", json!([1, 10, 100])));
        assert!(scale == Scale::Logarithmic && (found[1] - 0.5).abs() < 1e-15);
        // 0 has no logarithm.
        assert_eq!(places(&axis("x", json!([0, 1, 100]))).1, Scale::Linear);
        for words in [json!([true, false, null]), json!(["a", "b", "c"]), json!([1, "2s", "3Gi"])] {
            assert_eq!(places(&axis("x", words)), (vec![0.0, 0.5, 1.0], Scale::Categories));
        }
        assert_eq!(places(&axis("x", json!(["1s", "1000ms"]))), (vec![0.0, 1.0], Scale::Categories));
    }

    #[test]
    fn runs_in_which_nothing_happened_do_not_hide_the_others() {
        let (drawn, words) = without_zeros(vec![0.0, 1.0, 0.0, 0.0, 2.5]);
        assert_eq!((drawn, words.as_str()), (vec![1.0, 2.5], "5 runs; in 3 of them it is 0; drawn are the other 2"));
        let (drawn, words) = without_zeros(vec![0.0, 1.0]);
        assert_eq!((drawn.len(), words.as_str()), (2, "2 runs"));
        assert_eq!(spread(&[1.0, 2.5]), "; least 1, mean 1.75, most 2.5");
    }

    #[test]
    fn the_first_numeric_path_lies_across_and_the_others_tell_lines_apart() {
        let grid = sweep(vec![axis("a", json!(["x", "y"])), axis("fixed", json!([1])), axis("b", json!([3, 1, 2]))]);
        let layout = Layout::of(&grid).unwrap();
        assert_eq!((layout.axis.path.as_str(), layout.paths.len()), ("b", 0));
        assert_eq!(layout.order, [1, 2, 0]);
        // Points in order: (x, 3), (x, 1), (x, 2), (y, 3), (y, 1), (y, 2).
        assert_eq!(layout.lines, [("a x".to_string(), vec![0, 1, 2]), ("a y".to_string(), vec![3, 4, 5])]);
        assert!(Layout::of(&sweep(vec![axis("a", json!([1]))])).is_none());
    }
}
