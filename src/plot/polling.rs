//! The charts of the teaching orchestrator, and of clients that ask for pods one by one.

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::{ChartData, MOST_PANELS, SeriesKey, panel, sum};

/// Requests of clients that have ended; label `code`.
const REQUESTS: &str = "polling_requests_total";

/// A line of a chart: its name, the metric, and what a label of it must say.
type Line = (&'static str, &'static str, Option<(&'static str, &'static str)>);

/// Charts of races are about at least so many of all assignments, in some variant.
const MANY_RACES: f64 = 0.1;

/// Races between tasks and the loop. Empty where they are rare.
pub(super) fn races(scenario: &str, data: &[ChartData]) -> Chart {
    let lines: [Line; 3] = [
        ("assigned though they had a node", "polling_double_assignments_total", None),
        ("refused because they had a node", "polling_conflicts_total", None),
        ("started on a second node", "polling_started_twice_total", None),
    ];
    let most = |run: &ChartData, metrics: &[&str]| {
        let fits = |key: &SeriesKey| metrics.contains(&key.metric.as_str());
        let points = sum(run.series.iter().filter(|(key, _)| fits(key)).map(|(_, points)| points.as_slice()));
        points.iter().map(|point| point.1).fold(0.0, f64::max)
    };
    let is_about_races = |run: &ChartData| {
        let twice = most(run, &["polling_double_assignments_total", "polling_conflicts_total"]);
        twice > 0.0 && twice >= MANY_RACES * most(run, &["polling_assignments_total"])
    };
    if !data.iter().any(is_about_races) {
        return Chart::default();
    }
    let subtitle = format!("{scenario}. Pods that a task and the loop both took, so far");
    Chart { title: "Assigned twice".to_string(), subtitle, same_scale: true, ..chart(data, &lines, "pods") }
}

/// Looking for nodes in vain. Empty when there was always room.
pub(super) fn tries(scenario: &str, data: &[ChartData]) -> Chart {
    let lines: [Line; 2] = [
        ("tries that found no node with room, so far", "polling_no_room_total", None),
        ("pods without a node", "polling_pending_pods", None),
    ];
    let is_in_vain = |run: &ChartData| {
        let of = |(key, _): &(&SeriesKey, &Vec<(f64, f64)>)| key.metric == lines[0].1;
        run.series.iter().filter(of).any(|(_, points)| points.iter().any(|point| point.1 > 0.0))
    };
    if !data.iter().any(is_in_vain) {
        return Chart::default();
    }
    let subtitle = format!("{scenario}. Looking for a node that has room");
    Chart { title: "Tries in vain".to_string(), subtitle, same_scale: true, ..chart(data, &lines, "tries, pods") }
}

/// Requests for pods. Empty without clients, and when none of them ever had to wait.
pub(super) fn requests(scenario: &str, data: &[ChartData]) -> Chart {
    let lines: [Line; 5] = [
        ("answered so far, 201: saved", REQUESTS, Some(("code", "201"))),
        ("answered so far, 200: running", REQUESTS, Some(("code", "200"))),
        ("given up so far, 503", REQUESTS, Some(("code", "503"))),
        ("waiting for a worker", "polling_requests_waiting", None),
        ("with a worker", "polling_workers_busy", None),
    ];
    let is_hard = |(key, points): (&SeriesKey, &Vec<(f64, f64)>)| {
        let is_bad = key.metric == "polling_requests_waiting" || key.metric == REQUESTS && key.label("code") == "503";
        is_bad && points.iter().any(|point| point.1 > 0.0)
    };
    if !data.iter().flat_map(|run| &run.series).any(is_hard) {
        return Chart::default();
    }
    let subtitle = format!("{scenario}. What became of requests for pods");
    Chart { title: "Requests".to_string(), subtitle, same_scale: true, ..chart(data, &lines, "requests") }
}

/// A panel a variant with those lines that are ever above zero.
fn chart(data: &[ChartData], lines: &[Line], y_label: &str) -> Chart {
    let of = |run: &ChartData, (_, metric, label): &Line| {
        let fits =
            |key: &SeriesKey| key.metric == *metric && label.is_none_or(|(name, value)| key.label(name) == value);
        sum(run.series.iter().filter(|(key, _)| fits(key)).map(|(_, points)| points.as_slice()))
    };
    let is_shown = |line: &Line| data.iter().any(|run| of(run, line).iter().any(|(_, value)| *value > 0.0));
    let shown: Vec<&Line> = lines.iter().filter(|line| is_shown(line)).collect();
    if shown.is_empty() {
        return Chart::default();
    }
    // A design that has no such thing has no panel.
    let has_any = |run: &&ChartData| lines.iter().any(|line| !of(run, line).is_empty());
    let panels = data.iter().filter(has_any).take(MOST_PANELS).map(|run| {
        let series =
            shown.iter().map(|line| Series { name: line.0.to_string(), style: Style::Step, points: of(run, line) });
        panel(run, "", y_label, ValueKind::Counts, series.collect())
    });
    Chart { panels: panels.collect::<Vec<Panel>>(), ..Chart::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A metric, its labels, and the value that it has from 5 s on.
    type Given = (&'static str, &'static [(&'static str, &'static str)], f64);

    fn run(series: &[Given]) -> ChartData {
        let mut data = ChartData { length_s: 10.0, ..ChartData::default() };
        for (metric, labels, value) in series {
            data.series.insert(SeriesKey::new(metric, labels), vec![(0.0, 0.0), (5.0, *value)]);
        }
        data
    }

    fn names(chart: &Chart) -> Vec<Vec<&str>> {
        chart.panels.iter().map(|panel| panel.series.iter().map(|series| series.name.as_str()).collect()).collect()
    }

    #[test]
    fn a_line_that_some_variant_needs_is_in_all() {
        let twice = run(&[("polling_double_assignments_total", &[], 3.0)]);
        let refused = run(&[("polling_conflicts_total", &[("by", "loop")], 2.0)]);
        let chart = races("s", &[twice, refused]);
        let both = vec!["assigned though they had a node", "refused because they had a node"];
        assert_eq!(names(&chart), [both.clone(), both]);
    }

    #[test]
    fn runs_without_clients_or_races_have_no_such_chart() {
        let quiet = run(&[("polling_conflicts_total", &[("by", "loop")], 0.0)]);
        assert!(races("s", std::slice::from_ref(&quiet)).panels.is_empty());
        assert!(requests("s", &[quiet]).panels.is_empty());
    }
}
