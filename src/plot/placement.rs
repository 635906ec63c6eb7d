//! The chart of placement: how many pods run in each zone, or on each node.
//!
//! Nodes with zones are shown by zone, always: whoever names zones cares about them. Without zones a few nodes are shown, and
//! only where they are unlike for a good part of the run.

use std::collections::BTreeSet;

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::{ChartData, MOST_PANELS, RUNNING_PODS, SeriesKey, panel, sum};
use super::palette::MOST_SERIES;

/// The label of nodes that names their zone.
pub const ZONE: &str = "topology.kubernetes.io/zone";

/// Nodes are unlike when the fullest has so many pods more than the emptiest ...
const UNLIKE_PODS: f64 = 2.0;
/// ... for this part of a run.
const UNLIKE_SHARE: f64 = 0.1;

/// Where pods run: a line for each zone or node, a panel for each variant. Empty where that says nothing.
pub fn placement(scenario: &str, data: &[ChartData]) -> Chart {
    let zones: BTreeSet<&str> = data.iter().flat_map(|run| run.zones.values()).map(String::as_str).collect();
    let is_by_zone = zones.len() > 1;
    let place = |run: &ChartData, node: &str| match run.zones.get(node) {
        _ if !is_by_zone => node.to_string(),
        Some(zone) => zone.clone(),
        None => "no zone".to_string(),
    };
    let nodes = |run: &ChartData| -> Vec<String> { pods_by_node(run).map(|(node, _)| node.to_string()).collect() };
    let places: BTreeSet<String> =
        data.iter().flat_map(|run| nodes(run).into_iter().map(|node| place(run, &node))).collect();
    let lines_of = |run: &ChartData| -> Vec<Series> {
        let line = |name: &String| {
            let own = pods_by_node(run).filter(|(node, _)| place(run, node) == *name).map(|(_, points)| points);
            Series { name: name.clone(), style: Style::Step, points: sum(own) }
        };
        places.iter().map(line).collect()
    };
    let runs: Vec<(&ChartData, Vec<Series>)> = data.iter().map(|run| (run, lines_of(run))).collect();
    let is_told = match is_by_zone {
        true => runs.iter().flat_map(|(_, lines)| lines).flat_map(|line| &line.points).any(|point| point.1 > 0.0),
        false => {
            (2..=MOST_SERIES).contains(&places.len()) && runs.iter().any(|(run, lines)| are_unlike(lines, run.length_s))
        }
    };
    if !is_told {
        return Chart::default();
    }
    let mut notes = Vec::new();
    if let Some(hidden) = places.len().checked_sub(MOST_SERIES).filter(|hidden| *hidden > 0) {
        notes.push(format!("Not shown: {hidden} more zones."));
    }
    if let Some(hidden) = data.len().checked_sub(MOST_PANELS).filter(|hidden| *hidden > 0) {
        notes.push(format!("Not shown: {hidden} more variants."));
    }
    let shown = runs.into_iter().take(MOST_PANELS).map(|(run, mut lines)| {
        lines.truncate(MOST_SERIES);
        Panel { coincides: true, ..panel(run, "", "pods", ValueKind::Counts, lines) }
    });
    let what = if is_by_zone { "zone" } else { "node" };
    let subtitle = format!("{scenario}. Running pods by {what}");
    let title = "Placement".to_string();
    Chart { title, subtitle, note: notes.join(" "), panels: shown.collect(), same_scale: true, ..Chart::default() }
}

/// Nodes and their running pods.
fn pods_by_node(run: &ChartData) -> impl Iterator<Item = (&str, &[(f64, f64)])> {
    let is_own = |(key, _): &(&SeriesKey, &Vec<(f64, f64)>)| key.metric == RUNNING_PODS;
    run.series.iter().filter(is_own).map(|(key, points)| (key.label("node"), points.as_slice()))
}

/// Whether the highest and the lowest line are apart for long enough.
fn are_unlike(lines: &[Series], length_s: f64) -> bool {
    let mut changes: Vec<(f64, usize, f64)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        changes.extend(line.points.iter().map(|(at, value)| (*at, index, *value)));
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut values = vec![0.0; lines.len()];
    let (mut apart_s, mut since) = (0.0, 0.0);
    for (at, index, value) in changes.into_iter().chain([(length_s, 0, 0.0)]) {
        let highest = values.iter().copied().fold(0.0, f64::max);
        let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
        if highest - lowest >= UNLIKE_PODS {
            apart_s += at - since;
        }
        (since, values[index]) = (at, value);
    }
    apart_s > 0.0 && apart_s >= UNLIKE_SHARE * length_s
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A node, its zone, and how many pods ran there when.
    type Given<'a> = (&'a str, &'a str, &'a [(f64, f64)]);

    fn run(variant: &str, nodes: &[Given<'_>]) -> ChartData {
        let mut data = ChartData { variant: variant.to_string(), length_s: 100.0, ..ChartData::default() };
        for (node, zone, points) in nodes {
            data.series.insert(SeriesKey::new(RUNNING_PODS, &[("node", node)]), points.to_vec());
            if !zone.is_empty() {
                data.zones.insert(node.to_string(), zone.to_string());
            }
        }
        data
    }

    fn lines(chart: &Chart, panel: usize) -> Vec<(&str, f64)> {
        let value =
            |series: &Series| series.points.iter().rfind(|point| !point.1.is_nan()).map_or(0.0, |point| point.1);
        chart.panels[panel].series.iter().map(|series| (series.name.as_str(), value(series))).collect()
    }

    #[test]
    fn nodes_of_a_zone_are_added_and_an_empty_zone_is_told() {
        let base = [("a1", "a", &[(0.0, 0.0), (5.0, 2.0)][..]), ("a2", "a", &[(0.0, 1.0)]), ("b1", "b", &[(0.0, 0.0)])];
        let chart = placement("x", &[run("base", &base), run("other", &[("b1", "b", &[(0.0, 4.0)]), ("n", "", &[])])]);
        assert_eq!(lines(&chart, 0), [("a", 3.0), ("b", 0.0), ("no zone", 0.0)]);
        assert_eq!(lines(&chart, 1), [("a", 0.0), ("b", 4.0), ("no zone", 0.0)]);
        assert!(chart.subtitle.ends_with("by zone") && chart.same_scale);
        // One zone is none.
        assert!(
            placement("x", &[run("", &[("a1", "a", &[(0.0, 1.0)]), ("a2", "a", &[(0.0, 1.0)])])]).panels.is_empty()
        );
    }

    #[test]
    fn nodes_are_shown_when_they_are_unlike_for_long() {
        let two = |points: &[(f64, f64)]| run("", &[("n1", "", points), ("n2", "", &[(0.0, 1.0)])]);
        // 3 against 1 from 90 s to 100 s: a tenth. From 91 s: less. 2 against 1: alike.
        assert_eq!(lines(&placement("x", &[two(&[(0.0, 1.0), (90.0, 3.0)])]), 0), [("n1", 3.0), ("n2", 1.0)]);
        assert!(placement("x", &[two(&[(0.0, 1.0), (91.0, 3.0)])]).panels.is_empty());
        assert!(placement("x", &[two(&[(0.0, 2.0)])]).panels.is_empty());
        // Nine nodes are too many.
        let names: Vec<String> = (0..9).map(|n| format!("n{n}")).collect();
        let many: Vec<Given<'_>> =
            names.iter().map(|name| (name.as_str(), "", if name == "n0" { &[(0.0, 9.0)][..] } else { &[] })).collect();
        assert!(placement("x", &[run("", &many)]).panels.is_empty());
        assert!(!placement("x", &[run("", &many[..8])]).panels.is_empty());
    }
}
