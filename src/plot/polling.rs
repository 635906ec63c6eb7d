//! The charts of the teaching orchestrator, and of clients that ask for pods one by one.

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::{ChartData, MOST_PANELS, SeriesKey, panel, sum};

/// Requests of clients that have ended; label `code`.
const REQUESTS: &str = "polling_requests_total";

/// A line of a chart: its name, the metric, and what a label of it must say.
type Line = (&'static str, &'static str, Option<(&'static str, &'static str)>);

/// Races between tasks and the loop. Empty when no pod was ever assigned twice, or nearly so.
pub(super) fn races(scenario: &str, data: &[ChartData]) -> Chart {
    let lines: [Line; 3] = [
        ("assigned though they had a node", "polling_double_assignments_total", None),
        ("refused because they had a node", "polling_conflicts_total", None),
        ("started on a second node", "polling_started_twice_total", None),
    ];
    let subtitle = format!("{scenario}. Pods that a task and the loop both took, so far");
    Chart { title: "Assigned twice".to_string(), subtitle, same_scale: true, ..chart(data, &lines, "pods") }
}

/// Requests for pods. Empty without clients.
pub(super) fn requests(scenario: &str, data: &[ChartData]) -> Chart {
    let lines: [Line; 5] = [
        ("answered so far, 201: saved", REQUESTS, Some(("code", "201"))),
        ("answered so far, 200: running", REQUESTS, Some(("code", "200"))),
        ("given up so far, 503", REQUESTS, Some(("code", "503"))),
        ("waiting for a worker", "polling_requests_waiting", None),
        ("with a worker", "polling_workers_busy", None),
    ];
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
    let panels = data.iter().take(MOST_PANELS).map(|run| {
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
