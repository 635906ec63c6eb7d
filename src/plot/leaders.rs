//! The chart of leaders: who acts for a lease when, when nobody does, and when two do.

use std::collections::BTreeSet;

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::{ChartData, LEADS, MOST_PANELS, SeriesKey};
use crate::trace::number::format_f64;

/// Seconds since the start, and value.
type Points = Vec<(f64, f64)>;

/// A lane for each process that stands for election, a panel for each lease and variant. Empty unless somebody leads after
/// somebody else, or beside.
pub fn leaders(scenario: &str, data: &[ChartData]) -> Chart {
    let keys = data.iter().flat_map(|run| run.series.keys()).filter(|key| key.metric == LEADS);
    let leases: BTreeSet<&str> = keys.map(|key| key.label("name")).collect();
    let mut panels = Vec::new();
    let mut changes: Vec<f64> = Vec::new();
    let mut left_out = 0;
    for lease in leases {
        let mut is_told = false;
        let mut of_lease = Vec::new();
        for run in data {
            let lanes = Lanes::of(run, lease);
            if lanes.processes.is_empty() {
                continue;
            }
            let found = lanes.changes();
            is_told |= !found.is_empty();
            changes.extend(found);
            of_lease.push(lanes.panel(run, lease, data.len() > 1));
        }
        let room = MOST_PANELS - panels.len();
        left_out += of_lease.len().saturating_sub(room);
        panels.extend(of_lease.into_iter().take(if is_told { room } else { 0 }));
    }
    if panels.is_empty() {
        return Chart::default();
    }
    let window = window(data, &changes);
    let mut subtitle = format!("{scenario}. Who acts as leader, as each believes");
    if let Some((from, to)) = window {
        subtitle += &format!("; shown are {} s to {} s", format_f64(from), format_f64(to));
    }
    let note = if left_out > 0 { format!("Not shown: {left_out} more.") } else { String::new() };
    Chart { title: "Leaders".to_string(), subtitle, note, panels, window, ..Chart::default() }
}

/// From a little before the first thing that happens to a little after the last, where that is the smaller part of the run.
fn window(data: &[ChartData], changes: &[f64]) -> Option<(f64, f64)> {
    let spans = data.iter().flat_map(|run| &run.spans).map(|span| span.from);
    let marks = data.iter().flat_map(|run| &run.marks).map(|mark| mark.at);
    let times = || spans.clone().chain(marks.clone()).chain(changes.iter().copied());
    let (first, last) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let length_s = data.iter().map(|run| run.length_s).fold(0.0, f64::max);
    let around = (0.25 * (last - first)).max(2.0);
    let (from, to) = ((first - around).floor().max(0.0), (last + around).ceil().min(length_s));
    (to - from < 0.5 * length_s).then_some((from, to))
}

/// Who leads when, for one lease in one run.
struct Lanes {
    /// Process, and whether it leads: 1 or 0.
    processes: Vec<(String, Points)>,
    /// How many lead at once.
    together: Points,
}

impl Lanes {
    fn of(run: &ChartData, lease: &str) -> Lanes {
        let is_own = |key: &SeriesKey| key.metric == LEADS && key.label("name") == lease;
        let found = run.series.iter().filter(|(key, _)| is_own(key));
        let mut processes: Vec<(String, Points)> =
            found.map(|(key, points)| (key.label("process").to_string(), points.clone())).collect();
        processes.sort_by(|a, b| a.0.cmp(&b.0));
        // The first of several has no number of its own, but faults and people give it one.
        let names: Vec<String> = processes.iter().map(|(name, _)| name.clone()).collect();
        for (name, _) in &mut processes {
            if names.contains(&format!("{name}#1")) {
                name.push_str("#0");
            }
        }
        let together = super::charts::sum(processes.iter().map(|(_, points)| points.as_slice()));
        Lanes { processes, together }
    }

    /// The instants at which the number of leaders changes once there was the first.
    fn changes(&self) -> Vec<f64> {
        let led = self.together.iter().skip_while(|(_, count)| *count == 0.0).skip(1);
        led.map(|(at, _)| *at).collect()
    }

    fn panel(self, run: &ChartData, lease: &str, is_named: bool) -> Panel {
        let lane = |(name, points): (String, Points), style| Series { name, style, points };
        let led_from = self.together.iter().position(|(_, count)| *count > 0.0).unwrap_or(self.together.len());
        let when = |holds: fn(f64) -> bool| -> Points {
            self.together[led_from..].iter().map(|(at, count)| (*at, f64::from(u8::from(holds(*count))))).collect()
        };
        let alarms = [("two at once", when(|count| count > 1.0)), ("nobody", when(|count| count == 0.0))];
        let alarms = alarms.into_iter().filter(|(_, points)| points.iter().any(|(_, value)| *value > 0.0));
        let alarms: Vec<Series> = alarms.map(|(name, points)| lane((name.to_string(), points), Style::Alarm)).collect();
        let processes = self.processes.into_iter().map(|process| lane(process, Style::Lane));
        let title = if is_named { format!("lease {lease}, {}", run.variant) } else { format!("lease {lease}") };
        Panel {
            title,
            values: ValueKind::Lanes,
            series: processes.chain(alarms).collect(),
            spans: run.spans.clone(),
            marks: run.marks.clone(),
            ..Panel::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(variant: &str, lines: &[(&str, &[(f64, f64)])]) -> ChartData {
        let key = |process: &str| SeriesKey::new(LEADS, &[("name", "kube-scheduler"), ("process", process)]);
        let series = lines.iter().map(|(process, points)| (key(process), points.to_vec())).collect();
        ChartData { variant: variant.to_string(), length_s: 120.0, series, ..ChartData::default() }
    }

    #[test]
    fn a_gap_and_an_overlap_have_lanes_of_their_own() {
        let gap = run("gap", &[("s#0", &[(0.0, 0.0), (1.0, 1.0), (60.0, 0.0)]), ("s#1", &[(0.0, 0.0), (76.5, 1.0)])]);
        let two = run("two", &[("s#0", &[(0.0, 1.0), (78.0, 0.0)]), ("s#1", &[(0.0, 0.0), (76.0, 1.0)])]);
        let chart = leaders("x", &[gap, two]);
        let names = |panel: usize| -> Vec<&str> {
            chart.panels[panel].series.iter().map(|series| series.name.as_str()).collect()
        };
        assert_eq!((names(0), names(1)), (vec!["s#0", "s#1", "nobody"], vec!["s#0", "s#1", "two at once"]));
        // Before the first leader nobody is missed; then from 60 s to 76.5 s.
        assert_eq!(chart.panels[0].series[2].points, [(1.0, 0.0), (60.0, 1.0), (76.5, 0.0)]);
        assert_eq!(chart.panels[1].series[2].points, [(0.0, 0.0), (76.0, 1.0), (78.0, 0.0)]);
        // Changes from 60 s to 78 s, a quarter of 18 s around them: 55.5 s to 82.5 s.
        assert_eq!(chart.window, Some((55.0, 83.0)));
    }

    #[test]
    fn a_leader_that_stays_is_no_chart() {
        let calm = run("", &[("s#0", &[(0.0, 0.0), (1.0, 1.0)]), ("s#1", &[(0.0, 0.0)])]);
        assert!(leaders("x", &[calm]).panels.is_empty());
    }
}
