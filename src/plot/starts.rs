//! How long pods took to start: a curve for each variant, which tells at each duration what share had started by then.

use super::chart::{Chart, Panel, Series, Style, ValueKind};
use super::charts::ChartData;
use super::palette::MOST_SERIES;

/// Fewer pods make no distribution.
const LEAST_PODS: usize = 20;
/// Curves that are nearer than this to each other, as a ratio of durations, tell nothing.
const ALIKE: f64 = 1.2;

/// The distribution of start-up times. Empty unless two variants with enough pods differ in it.
pub(super) fn starts(scenario: &str, data: &[ChartData]) -> Chart {
    let runs: Vec<(&str, Vec<f64>)> =
        data.iter().take(MOST_SERIES).map(|run| (run.variant.as_str(), sorted(&run.starts_s))).collect();
    if runs.len() < 2 || runs.iter().any(|(_, starts)| starts.len() < LEAST_PODS) || !differ(&runs) {
        return Chart::default();
    }
    let length_s = runs.iter().filter_map(|(_, starts)| starts.last()).copied().fold(0.0, f64::max);
    let series = runs.iter().map(|(variant, starts)| Series {
        name: format!(
            "{variant}: half of {} within {:.1} s, 99 % within {:.1} s",
            starts.len(),
            at(starts, 0.5),
            at(starts, 0.99)
        ),
        style: Style::Step,
        points: curve(starts),
    });
    let panel = Panel {
        y_label: "% of pods".to_string(),
        values: ValueKind::Percent,
        series: series.collect(),
        ..Panel::default()
    };
    Chart {
        title: "Start-up of pods".to_string(),
        subtitle: format!("{scenario}. Pods that were ready so long after their creation, pulls of images not counted"),
        x_label: "from creation to ready".to_string(),
        panels: vec![panel],
        length_s,
        ..Chart::default()
    }
}

fn sorted(starts: &[f64]) -> Vec<f64> {
    let mut starts = starts.to_vec();
    starts.sort_by(f64::total_cmp);
    starts
}

/// The duration that this share of the pods did not exceed.
fn at(starts: &[f64], share: f64) -> f64 {
    let rank = (share * starts.len() as f64).ceil() as usize;
    starts[rank.clamp(1, starts.len()) - 1]
}

fn differ(runs: &[(&str, Vec<f64>)]) -> bool {
    let apart = |share: f64| {
        let durations = runs.iter().map(|(_, starts)| at(starts, share));
        let (least, most) =
            durations.fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)));
        most > ALIKE * least
    };
    apart(0.5) || apart(0.99)
}

/// Shares in per cent; ascending durations.
fn curve(starts: &[f64]) -> Vec<(f64, f64)> {
    let mut points = vec![(0.0, 0.0)];
    for (rank, start) in (1..).zip(starts) {
        let share = 100.0 * f64::from(rank) / starts.len() as f64;
        match points.last_mut() {
            Some(last) if last.0 == *start => last.1 = share,
            _ => points.push((*start, share)),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(variant: &str, starts_s: Vec<f64>) -> ChartData {
        ChartData { variant: variant.to_string(), starts_s, ..ChartData::default() }
    }

    #[test]
    fn the_curve_says_what_share_had_started() {
        let slow: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let chart = starts("s", &[run("base", slow), run("fast", vec![0.5; 20])]);
        let points = |index: usize| chart.panels[0].series[index].points.clone();
        // The third of twenty pods is ready after 3 s: 15 %.
        assert_eq!((points(0)[3], points(0)[20]), ((3.0, 15.0), (20.0, 100.0)));
        assert_eq!(points(1), [(0.0, 0.0), (0.5, 100.0)]);
        assert_eq!(chart.panels[0].series[0].name, "base: half of 20 within 10.0 s, 99 % within 20.0 s");
        assert_eq!(chart.length_s, 20.0);
    }

    #[test]
    fn variants_that_start_alike_or_hardly_any_pods_have_no_chart() {
        let alike = [run("base", vec![1.0; 20]), run("other", vec![1.1; 20])];
        assert!(starts("s", &alike).panels.is_empty());
        let few = [run("base", vec![1.0; 20]), run("other", vec![9.0; 19])];
        assert!(starts("s", &few).panels.is_empty());
    }
}
