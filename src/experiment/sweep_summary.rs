//! summary.json of a sweep: statistics of every KPI at every point, and the best points.

use serde::Serialize;
use serde_json::Value as Json;

use crate::model::Map;
use crate::report::kpis;
use crate::report::summary::{API_VERSION, SWEEP_KIND, Value};
use crate::scenario::LoadedSweep;
use crate::scenario::sweep::{Goal, Sweep, Wish};

use super::statistics::{CONFIDENCE, Moments, Quantiles};
use super::sweep::{Row, RowEnd};

/// Statistics of the rows of one point, in the order of replications.
#[derive(Clone, PartialEq, Debug)]
pub struct PointStatistics {
    runs: u64,
    failed: u64,
    partial: u64,
    unmet: u64,
    kpis: Vec<Moments>,
}

impl PointStatistics {
    /// No row yet.
    pub fn new(kpis: usize) -> PointStatistics {
        PointStatistics { runs: 0, failed: 0, partial: 0, unmet: 0, kpis: vec![Moments::default(); kpis] }
    }

    /// Takes a row. What a run measured that was stopped before its end says nothing and is left out.
    pub fn push(&mut self, row: &Row) {
        self.runs += 1;
        match row.end {
            RowEnd::Failed { .. } => self.failed += 1,
            RowEnd::Partial(_) => self.partial += 1,
            RowEnd::Whole => {
                self.unmet += u64::from(row.met < row.expectations);
                for (moments, value) in self.kpis.iter_mut().zip(&row.kpis) {
                    if let Some(number) = value.0 {
                        moments.push(number);
                    }
                }
            }
        }
    }
}

/// The summary of a sweep.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct SweepSummary {
    /// [`API_VERSION`].
    #[serde(rename = "apiVersion")]
    pub api_version: &'static str,
    /// [`SWEEP_KIND`].
    pub kind: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Seed of all draws.
    pub seed: u64,
    /// Version of kubesim.
    pub version: &'static str,
    /// Version of Kubernetes that was followed.
    pub kubernetes_version: String,
    /// Runs of each point.
    pub replications: u64,
    /// Confidence of all intervals.
    pub confidence: Value,
    /// What was varied, in the order written.
    pub grid: Vec<AxisSummary>,
    /// Runs there are rows of.
    pub runs: u64,
    /// Of these, runs without a result.
    pub runs_failed: u64,
    /// Runs that were stopped before their end; they count in no statistic.
    pub runs_partial: u64,
    /// Whole runs in which an expectation was not met.
    pub runs_unmet: u64,
    /// Why the sweep itself was stopped before its end; left out when it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partial_reason: Option<String>,
    /// What was wanted, and the point at which its mean is best.
    pub best: Vec<Best>,
    /// All points, in order: the last path of the grid varies fastest.
    pub points: Vec<PointSummary>,
    /// What the user should know.
    pub notices: Vec<String>,
}

/// A path and its values.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AxisSummary {
    /// As `--set` takes it.
    pub path: String,
    /// As the scenario writes them.
    pub values: Vec<Json>,
}

/// A goal and the point at which its mean is best.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Best {
    /// Name of the KPI.
    pub kpi: &'static str,
    /// `minimise` or `maximise`.
    pub goal: &'static str,
    /// Number of the point, from 0; `null` when no point has the KPI in all its runs.
    pub point: Option<usize>,
    /// What is set there: path and value.
    pub set: Map<String, Json>,
    /// The statistics there.
    #[serde(flatten)]
    pub statistics: KpiStatistics,
}

/// A point.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PointSummary {
    /// Its number, from 0.
    pub point: usize,
    /// What is set: path and value.
    pub set: Map<String, Json>,
    /// Its runs.
    pub runs: u64,
    /// Of these, runs without a result.
    pub runs_failed: u64,
    /// Runs that were stopped before their end.
    pub runs_partial: u64,
    /// Whole runs in which an expectation was not met.
    pub runs_unmet: u64,
    /// Statistics of each KPI, by the names of docs/kpis.md.
    pub kpis: Map<String, KpiStatistics>,
}

/// Statistics of a KPI at a point.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct KpiStatistics {
    /// Runs that measured it.
    pub n: u64,
    /// Mean over them.
    pub mean: Value,
    /// Sample standard deviation; `null` of fewer than two.
    pub standard_deviation: Value,
    /// Lower end of the t interval of the mean.
    pub low: Value,
    /// Upper end of it.
    pub high: Value,
}

impl KpiStatistics {
    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        Some(0.5 * (self.high.0? - self.low.0?))
    }

    fn of(moments: &Moments, quantiles: &mut Quantiles) -> KpiStatistics {
        let mean = moments.mean();
        let half_width = moments.half_width(quantiles);
        let end = |sign: f64| Some(mean? + sign * half_width?);
        KpiStatistics {
            n: moments.count(),
            mean: Value(mean),
            standard_deviation: Value(moments.standard_deviation()),
            low: Value(end(-1.0)),
            high: Value(end(1.0)),
        }
    }
}

impl PointSummary {
    /// Statistics of a KPI, if every run of the point measured it: a mean over those that did would flatter the point.
    pub fn whole(&self, kpi: &str) -> Option<&KpiStatistics> {
        self.kpis.get(kpi).filter(|statistics| statistics.n == self.runs && statistics.n > 0)
    }
}

impl SweepSummary {
    /// The file's text: indented JSON and a line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a summary has text keys and finite numbers") + "\n"
    }

    /// KPIs whose value differs between any two runs.
    pub fn varies(&self, kpi: &str) -> bool {
        let found: Vec<&KpiStatistics> = self.points.iter().filter_map(|point| point.kpis.get(kpi)).collect();
        let mut means = found.iter().filter_map(|statistics| statistics.mean.0);
        let first = means.next();
        means.any(|mean| Some(mean) != first)
            || found.iter().any(|statistics| statistics.standard_deviation.0.is_some_and(|deviation| deviation > 0.0))
    }
}

/// The summary of all points.
pub fn summarise(loaded: &LoadedSweep, points: &[PointStatistics]) -> SweepSummary {
    let sweep = &loaded.sweep;
    let first = &loaded.plans[0];
    let mut quantiles = Quantiles::new(CONFIDENCE);
    let mut summaries = Vec::with_capacity(points.len());
    for (number, point) in points.iter().enumerate() {
        let kpis = kpis::NAMES.iter().zip(&point.kpis);
        summaries.push(PointSummary {
            point: number,
            set: set_at(sweep, number),
            runs: point.runs,
            runs_failed: point.failed,
            runs_partial: point.partial,
            runs_unmet: point.unmet,
            kpis: kpis.map(|(name, moments)| (name.to_string(), KpiStatistics::of(moments, &mut quantiles))).collect(),
        });
    }
    let sum = |count: fn(&PointSummary) -> u64| summaries.iter().map(count).sum();
    let mut summary = SweepSummary {
        api_version: API_VERSION,
        kind: SWEEP_KIND,
        name: first.name.clone(),
        seed: first.seed,
        version: env!("CARGO_PKG_VERSION"),
        kubernetes_version: first.version.as_str().to_string(),
        replications: sweep.replications,
        confidence: Value(Some(CONFIDENCE)),
        grid: sweep
            .grid
            .iter()
            .map(|axis| AxisSummary { path: axis.path.clone(), values: axis.values.clone() })
            .collect(),
        runs: sum(|point| point.runs),
        runs_failed: sum(|point| point.runs_failed),
        runs_partial: sum(|point| point.runs_partial),
        runs_unmet: sum(|point| point.runs_unmet),
        partial_reason: None,
        best: sweep.goals.iter().map(|goal| best(goal, sweep, &summaries)).collect(),
        points: summaries,
        notices: loaded.notices.clone(),
    };
    let own = notices(&summary);
    summary.notices.extend(own);
    summary
}

fn set_at(sweep: &Sweep, point: usize) -> Map<String, Json> {
    let values = sweep.grid.iter().zip(sweep.indices(point));
    values.map(|(axis, index)| (axis.path.clone(), axis.values[index].clone())).collect()
}

/// The first of the points with the best mean. Points where an expectation was not met only count when it was met nowhere:
/// a setting that does not work is no good setting.
fn best(goal: &Goal, sweep: &Sweep, points: &[PointSummary]) -> Best {
    let mut found: Option<(usize, KpiStatistics, f64)> = None;
    let works = |point: &PointSummary| point.runs_unmet == 0;
    let any_works = points.iter().any(|point| works(point) && point.whole(goal.kpi).is_some());
    for point in points.iter().filter(|point| works(point) || !any_works) {
        let Some(statistics) = point.whole(goal.kpi) else { continue };
        let Some(mean) = statistics.mean.0 else { continue };
        let is_better = found.as_ref().is_none_or(|(_, _, best)| match goal.wish {
            Wish::Minimise => mean < *best,
            Wish::Maximise => mean > *best,
        });
        if is_better {
            found = Some((point.point, *statistics, mean));
        }
    }
    Best {
        kpi: goal.kpi,
        goal: goal.wish.as_str(),
        point: found.as_ref().map(|(point, _, _)| *point),
        set: found.as_ref().map(|(point, _, _)| set_at(sweep, *point)).unwrap_or_default(),
        statistics: found.map(|(_, statistics, _)| statistics).unwrap_or_default(),
    }
}

fn notices(summary: &SweepSummary) -> Vec<String> {
    let mut notices = Vec::new();
    if summary.replications == 1 {
        notices.push("one replication a point: there are no intervals, and the best point may be luck".to_string());
    } else if summary.runs_failed + summary.runs_partial < summary.runs {
        let is_fixed =
            |statistics: &KpiStatistics| statistics.standard_deviation.0.is_none_or(|deviation| deviation == 0.0);
        if summary.points.iter().all(|point| point.kpis.values().all(is_fixed)) {
            notices
                .push("no KPI differs between replications: nothing that counts here is drawn at random".to_string());
        }
    }
    for (count, what) in [
        (summary.runs_failed, "failed: results.csv says why"),
        (summary.runs_partial, "stopped before the end and count in no statistic: results.csv says why"),
    ] {
        if count > 0 {
            notices.push(format!("{count} of {} runs {what}", summary.runs));
        }
    }
    let failing = summary.points.iter().filter(|point| point.runs_unmet > 0).count();
    if failing > 0 && !summary.best.is_empty() {
        let left_out = if failing < summary.points.len() { "they are not called best" } else { "no point met all" };
        notices.push(format!("expectations were not met at {failing} of {} points: {left_out}", summary.points.len()));
    }
    for best in summary.best.iter().filter(|best| best.point.is_none()) {
        notices.push(format!("no point measured {} in all its runs: none is called best", best.kpi));
    }
    notices
}
