//! The charts of optimism: what the scheduler has given away before it is seen bound, and nodes that were given away twice.

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::{
    CACHE_SIZE, ChartData, MOST_PANELS, REJECTIONS, REQUESTED_RATIO, SeriesKey, UNCOUNTED_PODS, panel, sum,
};
use crate::trace::number::format_f64;

/// Seconds since the start, and value.
type Points = Vec<(f64, f64)>;

/// Bindings that are seen within this time are as quick as bindings are.
const QUICK_SECONDS: f64 = 0.25;
/// A run is sampled about so often; what is shown as lasting three samples or less may be shorter than one.
const SAMPLES: f64 = 5_000.0;

/// Pods that were given a node and are not yet seen bound there, and those that kubelets refused: a panel for each variant.
/// Empty unless bindings are slow, pods are not assumed, or some were refused.
pub(super) fn assumed(scenario: &str, data: &[ChartData]) -> Chart {
    let is_assumed = |key: &SeriesKey| key.metric == CACHE_SIZE && key.label("type") == "assumed_pods";
    let named: [(&str, Vec<Points>); 3] = [
        ("assumed: take room in the scheduler's cache", lines(data, is_assumed)),
        ("not assumed: take no room there yet", lines(data, |key| key.metric == UNCOUNTED_PODS)),
        ("refused by kubelets so far", lines(data, |key| key.metric == REJECTIONS)),
    ];
    let is_positive = |lines: &[Points]| lines.iter().flatten().any(|(_, pods)| *pods > 0.0);
    let is_told = is_positive(&named[1].1)
        || is_positive(&named[2].1)
        || named[0].1.iter().zip(data).any(|(points, run)| longest_above_zero(points, run.length_s) > quick(run));
    if !is_told {
        return Chart::default();
    }
    let shown: Vec<_> = named.into_iter().filter(|(_, lines)| is_positive(lines)).collect();
    let panels = panels(data, ("pods", ValueKind::Counts), |run| {
        let series = shown.iter().map(|(name, lines)| (name.to_string(), lines[run].clone()));
        series.collect()
    });
    let subtitle = format!("{scenario}. Given a node by the scheduler and not yet seen bound there");
    let window = window(data, shown.iter().flat_map(|(_, lines)| lines));
    let title = "Pods on their way to a node".to_string();
    Chart { title, subtitle: shown_part(subtitle, window), panels, same_scale: true, window, ..Chart::default() }
}

/// The largest share of a node's room that bound pods ask for, of resources that were ever given away twice: a panel for each
/// variant.
pub(super) fn rooms(scenario: &str, data: &[ChartData]) -> Chart {
    let of = |resource: &str| {
        lines(data, |key: &SeriesKey| key.metric == REQUESTED_RATIO && key.label("resource") == resource)
    };
    let is_sold_twice = |lines: &[Points]| lines.iter().flatten().any(|(_, ratio)| *ratio > 1.0);
    let named = ["pods", "memory", "cpu"].map(|resource| (resource, of(resource)));
    let shown: Vec<_> = named.into_iter().filter(|(_, lines)| is_sold_twice(lines)).collect();
    if shown.is_empty() {
        return Chart::default();
    }
    let panels = panels(data, ("share", ValueKind::Measures), |run| {
        let all = [("all that a node has".to_string(), vec![(0.0, 1.0)])];
        let series = shown.iter().map(|(name, lines)| (name.to_string(), lines[run].clone()));
        all.into_iter().chain(series).collect()
    });
    let subtitle = format!(
        "{scenario}. The largest share of a node's allocatable that its bound pods ask for. Above 1 a room was given twice"
    );
    let window = window(data, shown.iter().flat_map(|(_, lines)| lines));
    let title = "Rooms of the nodes".to_string();
    Chart { title, subtitle: shown_part(subtitle, window), panels, same_scale: true, window, ..Chart::default() }
}

/// The sum of the series that fit, a run.
fn lines(data: &[ChartData], fits: impl Fn(&SeriesKey) -> bool) -> Vec<Points> {
    let of = |run: &ChartData| sum(run.series.iter().filter(|(key, _)| fits(key)).map(|(_, points)| points.as_slice()));
    data.iter().map(of).collect()
}

/// From a little before the first change of these lines to a little after the last, where that is the smaller part of the run.
fn window<'a>(data: &[ChartData], lines: impl Iterator<Item = &'a Points>) -> Option<(f64, f64)> {
    let changes = lines.flat_map(|points| points.windows(2)).filter(|pair| pair[0].1 != pair[1].1);
    let (first, last) =
        changes.fold((f64::INFINITY, 0.0_f64), |(first, last), pair| (first.min(pair[1].0), last.max(pair[1].0)));
    let length_s = data.iter().map(|run| run.length_s).fold(0.0, f64::max);
    let around = (0.25 * (last - first)).max(1.0);
    let (from, to) = ((first - around).floor().max(0.0), (last + around).ceil().min(length_s));
    (to - from < 0.5 * length_s).then_some((from, to))
}

fn shown_part(subtitle: String, window: Option<(f64, f64)>) -> String {
    match window {
        None => subtitle,
        Some((from, to)) => format!("{subtitle}; shown are {} s to {} s", format_f64(from), format_f64(to)),
    }
}

fn panels(
    data: &[ChartData],
    (y_label, values): (&str, ValueKind),
    series: impl Fn(usize) -> Vec<(String, Points)>,
) -> Vec<Panel> {
    let panels = data.iter().enumerate().filter_map(|(index, run)| {
        let series = series(index).into_iter().map(|(name, points)| Series { name, style: Style::Step, points });
        let series: Vec<Series> = series.collect();
        // A control plane without such a scheduler has nothing to show.
        let is_there = series.iter().any(|series| !series.points.is_empty());
        is_there.then(|| panel(run, "", y_label, values, series))
    });
    panels.take(MOST_PANELS).collect()
}

fn quick(run: &ChartData) -> f64 {
    QUICK_SECONDS.max(3.0 * run.length_s / SAMPLES)
}

/// The longest time that a step line is above zero, in seconds.
fn longest_above_zero(points: &Points, end: f64) -> f64 {
    let mut longest: f64 = 0.0;
    let mut since: Option<f64> = None;
    for (at, value) in points.iter().copied().chain([(end, 0.0)]) {
        match since {
            None if value > 0.0 => since = Some(at),
            Some(from) if value <= 0.0 => {
                longest = longest.max(at - from);
                since = None;
            }
            _ => {}
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(variant: &str, lines: &[(SeriesKey, &[(f64, f64)])]) -> ChartData {
        let series = lines.iter().map(|(key, points)| (key.clone(), points.to_vec())).collect();
        ChartData { variant: variant.to_string(), length_s: 60.0, series, ..ChartData::default() }
    }

    fn cached() -> SeriesKey {
        SeriesKey::new(CACHE_SIZE, &[("type", "assumed_pods")])
    }

    fn names(chart: &Chart) -> Vec<Vec<&str>> {
        let name = |series: &'_ Series| -> usize { series.name.find(':').unwrap_or(series.name.len()) };
        let of = |panel| -> Vec<&str> {
            let Panel { series, .. }: &Panel = panel;
            series.iter().map(|series| &series.name[..name(series)]).collect()
        };
        chart.panels.iter().map(of).collect()
    }

    #[test]
    fn quick_bindings_are_no_chart_and_slow_ones_are() {
        let chart = |until: f64| assumed("x", &[run("", &[(cached(), &[(0.0, 0.0), (1.0, 5.0), (until, 0.0)])])]);
        assert!(chart(1.2).panels.is_empty());
        assert_eq!(chart(1.3).panels.len(), 1);
    }

    #[test]
    fn variants_have_the_same_series() {
        let base = run("base", &[(cached(), &[(1.0, 1.0), (1.1, 0.0)])]);
        let uncounted = SeriesKey::new(UNCOUNTED_PODS, &[]);
        let refused = |node| SeriesKey::new(REJECTIONS, &[("node", node), ("reason", "OutOfcpu")]);
        let other = run(
            "no-assume",
            &[(uncounted, &[(1.0, 3.0), (2.0, 0.0)]), (refused("a"), &[(2.0, 1.0)]), (refused("b"), &[(3.0, 2.0)])],
        );
        let chart = assumed("x", &[base, other]);
        assert_eq!(names(&chart), vec![vec!["assumed", "not assumed", "refused by kubelets so far"]; 2]);
        assert_eq!(chart.panels[1].series[2].points[..2], [(2.0, 1.0), (3.0, 3.0)]);
    }

    #[test]
    fn rooms_are_a_chart_when_one_was_given_twice() {
        let cpu = SeriesKey::new(REQUESTED_RATIO, &[("resource", "cpu")]);
        let full = |ratio| run("", &[(cpu.clone(), &[(0.0, 0.0), (1.0, ratio)])]);
        assert!(rooms("x", &[full(1.0)]).panels.is_empty());
        assert_eq!(names(&rooms("x", &[full(1.0), full(1.2)])), vec![vec!["all that a node has", "cpu"]; 2]);
    }
}
