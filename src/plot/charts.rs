//! The charts that a run leaves behind: replicas, pods, placement, queues, reconciles of operators, leaders, staleness.
//!
//! With several variants the panels of one chart stand below each other on one scale, the variant in their titles.

use std::collections::BTreeSet;
use std::fmt;

use super::chart::{Chart, FaultSpan, Mark, Panel, Series, Style, ValueKind};
use super::leaders::leaders;
use super::optimism;
use super::palette::MOST_SERIES;
use super::placement::placement;
use super::polling;
use super::starts;
use crate::model::Map;
use crate::trace::metrics_csv::push_labels;
use crate::trace::number::format_f64;

/// `spec.replicas`; labels `namespace`, `deployment`.
pub const DEPLOYMENT_DESIRED: &str = "kube_deployment_spec_replicas";
/// `status.replicas`, computed by the controller from its cache; labels `namespace`, `deployment`.
pub const DEPLOYMENT_STATUS: &str = "kube_deployment_status_replicas";
/// `status.readyReplicas`; labels `namespace`, `deployment`.
pub const DEPLOYMENT_READY: &str = "kube_deployment_status_replicas_ready";
/// `spec.replicas`; labels `namespace`, `replicaset`.
pub const REPLICASET_DESIRED: &str = "kube_replicaset_spec_replicas";
/// `status.replicas`, computed by the controller from its cache; labels `namespace`, `replicaset`.
pub const REPLICASET_STATUS: &str = "kube_replicaset_status_replicas";
/// `status.readyReplicas`; labels `namespace`, `replicaset`.
pub const REPLICASET_READY: &str = "kube_replicaset_status_ready_replicas";
/// Active pods of a workload in the store; labels `kind` (`deployment`, `replicaset`), `namespace`, `name`.
pub const PODS_STORED: &str = "kubesim_workload_pods";
/// The same in the cache of its controller; same labels.
pub const PODS_CACHED: &str = "kubesim_workload_pods_cached";
/// Keys waiting in a work queue; label `name`.
pub const QUEUE_DEPTH: &str = "workqueue_depth";
/// How old an informer's cache is; labels `process`, `kind`.
pub const STALENESS: &str = "kubesim_informer_staleness_seconds";

/// Pods whose containers run; label `node`.
pub const RUNNING_PODS: &str = "kubelet_running_pods";
/// Pods that the agents of the teaching orchestrator run.
pub const POLLING_RUNNING_PODS: &str = "polling_running_pods";
/// Pods that have a node, as the loop of the teaching orchestrator sees them.
pub const POLLING_PLACED_PODS: &str = "polling_placed_pods";
/// Pods without a node, as the loop of the teaching orchestrator sees them.
pub const POLLING_PENDING_PODS: &str = "polling_pending_pods";
/// Pods in the scheduler's queues; label `queue`.
pub const PENDING_PODS: &str = "scheduler_pending_pods";

/// Pods that kubelets refused; labels `node`, `reason`.
pub const REJECTIONS: &str = "kubelet_admission_rejections_total";
/// The largest share of its allocatable that is asked for of a node; label `resource`.
pub const REQUESTED_RATIO: &str = "kubesim_node_requested_ratio_max";
/// Nodes of which more is asked for than they have.
pub const OVERSOLD: &str = "kubesim_nodes_oversold";
/// CPU that assumed pods request.
pub const ASSUMED_CPU: &str = "kubesim_scheduler_assumed_cpu_cores";
/// Memory that assumed pods request.
pub const ASSUMED_MEMORY: &str = "kubesim_scheduler_assumed_memory_bytes";
/// Pods that were given a node and are not assumed.
pub const UNCOUNTED_PODS: &str = "kubesim_scheduler_uncounted_pods";
/// What the scheduler's cache holds; label `type`.
pub const CACHE_SIZE: &str = "scheduler_cache_size";

/// Whether a process leads; labels `name` (the lease), `process`.
pub const LEADS: &str = "leader_election_master_status";

/// Reconciles of an operator; labels `controller`, `result`.
pub const RECONCILES: &str = "controller_runtime_reconcile_total";

/// A cache that is behind by no more than this is as fresh as caches are.
const FRESH_SECONDS: f64 = 0.1;

/// Most panels of one chart.
pub(super) const MOST_PANELS: usize = 6;

/// A metric and its labels.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SeriesKey {
    /// Its name.
    pub metric: String,
    /// Its labels, in the metric's own order.
    pub labels: Vec<(String, String)>,
}

impl SeriesKey {
    /// A key.
    pub fn new(metric: &str, labels: &[(&str, &str)]) -> SeriesKey {
        let labels = labels.iter().map(|(name, value)| (name.to_string(), value.to_string()));
        SeriesKey { metric: metric.to_string(), labels: labels.collect() }
    }

    /// The value of a label; empty without it.
    pub fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(label, _)| label == name).map_or("", |(_, value)| value)
    }
}

/// As Prometheus writes it: `workqueue_depth{name="replicaset"}`.
impl fmt::Display for SeriesKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut labels = String::new();
        push_labels(&mut labels, &self.labels);
        if labels.is_empty() { f.write_str(&self.metric) } else { write!(f, "{}{{{labels}}}", self.metric) }
    }
}

/// What one run gives to its charts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ChartData {
    /// The variant; empty when there is one only.
    pub variant: String,
    /// How long the run was, in seconds.
    pub length_s: f64,
    /// All series: seconds since the start, ascending, and value; points where the value did not change may lack. NaN
    /// ends a series until its next point. Those of [`STALENESS`] are lines: straight between their points.
    pub series: Map<SeriesKey, Vec<(f64, f64)>>,
    /// The zones of nodes that have one.
    pub zones: Map<String, String>,
    /// Of each pod that was created during the run and became ready: how long that took, without pulls of images.
    pub starts_s: Vec<f64>,
    /// Faults.
    pub spans: Vec<FaultSpan>,
    /// What people did.
    pub marks: Vec<Mark>,
}

/// The charts of a scenario with the stems of their file names: `replicas`, `pods`, `placement`, `queues`, `reconciles`,
/// `leaders`, `assumed`, `rooms`, `races`, `tries`, `requests`,
/// `starts`, `staleness`.
/// One for which there is no series is left out. `data` holds a run for each variant, in the scenario's order.
pub fn run_charts(scenario: &str, data: &[ChartData]) -> Vec<(&'static str, Chart)> {
    let charts = [
        ("replicas", replicas(scenario, data)),
        ("pods", pods(scenario, data)),
        ("placement", placement(scenario, data)),
        ("queues", queues(scenario, data)),
        ("reconciles", reconciles(scenario, data)),
        ("leaders", leaders(scenario, data)),
        ("assumed", optimism::assumed(scenario, data)),
        ("rooms", optimism::rooms(scenario, data)),
        ("races", polling::races(scenario, data)),
        ("tries", polling::tries(scenario, data)),
        ("requests", polling::requests(scenario, data)),
        ("starts", starts::starts(scenario, data)),
        ("staleness", staleness(scenario, data)),
    ];
    let shown = charts.into_iter().filter(|(_, chart)| !chart.panels.is_empty());
    let length_s = data.iter().map(length_seconds).fold(0.0, f64::max);
    let mut shown: Vec<_> = shown
        .map(|(name, chart)| (name, if chart.x_label.is_empty() { Chart { length_s, ..chart } } else { chart }))
        .collect();
    let over_time = |chart: &Chart| chart.x_label.is_empty();
    let changes =
        shown.iter().filter(|(_, chart)| over_time(chart)).flat_map(|(_, chart)| &chart.panels).map(last_change);
    let last = changes.fold(0.0, f64::max);
    let end = (1.25 * last).ceil();
    if last > 0.0 && end < 0.5 * length_s {
        for (_, chart) in shown.iter_mut().filter(|(_, chart)| chart.window.is_none() && over_time(chart)) {
            chart.window = Some((0.0, end));
            chart.subtitle +=
                &format!("; nothing changes after {} s of {}", format_f64(last.ceil()), format_f64(length_s));
        }
    }
    shown
}

/// The last instant at which a panel shows something new.
fn last_change(panel: &Panel) -> f64 {
    let spans = panel.spans.iter().map(|span| span.to);
    let marks = panel.marks.iter().map(|mark| mark.at);
    let changes = panel.series.iter().filter_map(|series| {
        let pairs = series.points.windows(2).rev();
        let mut told = pairs.filter(|pair| pair[0].1 != pair[1].1 && !pair[1].1.is_nan());
        told.next().map(|pair| pair[1].0)
    });
    spans.chain(marks).chain(changes).fold(0.0, f64::max)
}

/// The length of a run, and never less than the last instant at which any of its metrics changed.
fn length_seconds(run: &ChartData) -> f64 {
    run.series.values().filter_map(|points| points.last()).map(|point| point.0).fold(run.length_s, f64::max)
}

/// A Deployment or ReplicaSet. Deployments come first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Workload {
    kind: &'static str,
    namespace: String,
    name: String,
}

impl Workload {
    /// The workload whose desired replicas these are.
    fn of(key: &SeriesKey) -> Option<Workload> {
        let kind = match key.metric.as_str() {
            DEPLOYMENT_DESIRED => "deployment",
            REPLICASET_DESIRED => "replicaset",
            _ => return None,
        };
        Some(Workload { kind, namespace: key.label("namespace").to_string(), name: key.label(kind).to_string() })
    }

    fn title(&self) -> String {
        match self.namespace.as_str() {
            "" | "default" => format!("{}/{}", self.kind, self.name),
            namespace => format!("{namespace}/{}/{}", self.kind, self.name),
        }
    }

    /// The series of this workload, drawn in this order.
    fn series(&self, data: &ChartData) -> Vec<Series> {
        let (desired, status, ready) = match self.kind {
            "deployment" => (DEPLOYMENT_DESIRED, DEPLOYMENT_STATUS, DEPLOYMENT_READY),
            _ => (REPLICASET_DESIRED, REPLICASET_STATUS, REPLICASET_READY),
        };
        let named = [
            ("desired (spec.replicas)", desired),
            ("in the store", PODS_STORED),
            ("in the controller's cache", PODS_CACHED),
            ("as it reports (status.replicas)", status),
            ("ready (status.readyReplicas)", ready),
        ];
        let is_own = |key: &SeriesKey| {
            let name = if key.metric.starts_with("kubesim_") { "name" } else { self.kind };
            let kind_fits = name != "name" || key.label("kind") == self.kind;
            kind_fits && key.label("namespace") == self.namespace && key.label(name) == self.name
        };
        let found = named.iter().filter_map(|(name, metric)| {
            let (_, points) = data.series.iter().find(|(key, _)| key.metric == *metric && is_own(key))?;
            Some(Series { name: name.to_string(), style: Style::Step, points: points.clone() })
        });
        found.collect()
    }
}

/// Replicas desired, in the store, and as the controller believes: a panel for each workload and variant.
fn replicas(scenario: &str, data: &[ChartData]) -> Chart {
    let mut workloads: BTreeSet<Workload> =
        data.iter().flat_map(|run| run.series.keys()).filter_map(Workload::of).collect();
    if data.len() > 1 && workloads.iter().any(|workload| workload.kind == "deployment") {
        // Variants side by side: their Deployments tell the story, their ReplicaSets would only repeat it.
        workloads.retain(|workload| workload.kind == "deployment");
    }
    // One that never has or wants a pod has nothing to show.
    let is_empty = |workload: &Workload| {
        let series = data.iter().flat_map(|run| workload.series(run));
        series.flat_map(|series| series.points).all(|point| point.1.is_nan() || point.1 <= 0.0)
    };
    workloads.retain(|workload| !is_empty(workload));
    let mut panels = Vec::new();
    let mut left_out: usize = 0;
    for workload in &workloads {
        for run in data {
            let series = workload.series(run);
            if series.is_empty() {
                continue;
            }
            if panels.len() == MOST_PANELS {
                left_out += 1;
                continue;
            }
            let panel = panel(run, &workload.title(), "pods", ValueKind::Counts, series);
            panels.push(Panel { coincides: true, ..panel });
        }
    }
    let note = match left_out {
        0 => String::new(),
        n => format!("Not shown: {n} more (at most {MOST_PANELS} are). metrics.csv holds all."),
    };
    Chart { title: "Replicas".to_string(), subtitle: scenario.to_string(), note, panels, ..Chart::default() }
}

/// Seconds since the start, and value.
type Points = Vec<(f64, f64)>;

/// Where pods are: running on nodes, or in one of the scheduler's queues.
fn pods(scenario: &str, data: &[ChartData]) -> Chart {
    let total = |run: &ChartData, fits: &dyn Fn(&SeriesKey) -> bool| {
        sum(run.series.iter().filter(|(key, _)| fits(key)).map(|(_, points)| points.as_slice()))
    };
    let queues: BTreeSet<&str> = data
        .iter()
        .flat_map(|run| run.series.keys())
        .filter(|key| key.metric == PENDING_PODS)
        .map(|key| key.label("queue"))
        .collect();
    let mut named: Vec<(String, Vec<Points>)> = Vec::new();
    let with_node = data.iter().map(|run| total(run, &|key| key.metric == POLLING_PLACED_PODS)).collect();
    named.push(("with a node".to_string(), with_node));
    let running = data
        .iter()
        .map(|run| total(run, &|key| [RUNNING_PODS, POLLING_RUNNING_PODS].contains(&key.metric.as_str())))
        .collect();
    named.push(("running".to_string(), running));
    let without_node = data.iter().map(|run| total(run, &|key| key.metric == POLLING_PENDING_PODS)).collect();
    named.push(("without a node".to_string(), without_node));
    for queue in queues {
        let fits = |key: &SeriesKey| key.metric == PENDING_PODS && key.label("queue") == queue;
        named.push((format!("in the scheduler: {queue}"), data.iter().map(|run| total(run, &fits)).collect()));
    }
    named.retain(|(_, runs)| runs.iter().flatten().any(|(_, pods)| *pods > 0.0));
    let polls = named.iter().any(|(name, _)| name == "with a node");
    let mut panels = Vec::new();
    for (index, run) in data.iter().enumerate().take(MOST_PANELS) {
        let series = named.iter().map(|(name, runs)| Series {
            name: name.clone(),
            style: Style::Step,
            points: runs[index].clone(),
        });
        let series: Vec<Series> = series.collect();
        if !series.is_empty() {
            let panel = panel(run, "", "pods", ValueKind::Counts, series);
            panels.push(Panel { coincides: polls, ..panel });
        }
    }
    let subtitle = match polls {
        true => format!("{scenario}. On all nodes together; with a node and not running: its agent has not looked yet"),
        false => format!("{scenario}. On all nodes together, and in the queues of the scheduler"),
    };
    Chart { title: "Pods".to_string(), subtitle, panels, same_scale: true, ..Chart::default() }
}

/// The sum of step lines; one that has not begun, or has ended, counts nothing.
pub(super) fn sum<'a>(lines: impl Iterator<Item = &'a [(f64, f64)]>) -> Vec<(f64, f64)> {
    let mut changes: Vec<(f64, f64)> = Vec::new();
    for points in lines {
        let mut before = 0.0;
        for &(at, value) in points {
            let value = if value.is_nan() { 0.0 } else { value };
            changes.push((at, value - before));
            before = value;
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut total = 0.0;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (at, change) in changes {
        total += change;
        match points.last_mut() {
            Some(last) if last.0 == at => last.1 = total,
            _ => points.push((at, total)),
        }
    }
    points.dedup_by(|later, earlier| later.1 == earlier.1);
    points
}

/// Keys waiting in each work queue that ever held one.
fn queues(scenario: &str, data: &[ChartData]) -> Chart {
    let name = |key: &SeriesKey| key.label("name").to_string();
    let what = ("keys waiting", ValueKind::Counts);
    let mut chart = by_variant(data, (QUEUE_DEPTH, 0.0), name, what, Style::Step);
    chart.title = "Work queue depth".to_string();
    chart.subtitle = format!("{scenario}. Keys waiting, the highest in each interval between two samples");
    chart
}

/// Reconciles that each operator has ended, by how.
fn reconciles(scenario: &str, data: &[ChartData]) -> Chart {
    let name = |key: &SeriesKey| format!("{}: {}", key.label("controller"), key.label("result"));
    let mut chart = by_variant(data, (RECONCILES, 0.0), name, ("reconciles", ValueKind::Counts), Style::Step);
    chart.title = "Reconciles of operators".to_string();
    chart.subtitle = format!("{scenario}. Ended since the process started, by how they ended");
    chart
}

/// How old each informer's cache is. What a watch event needs on its way is no story: caches that are never behind by more
/// than [`FRESH_SECONDS`] are left out.
fn staleness(scenario: &str, data: &[ChartData]) -> Chart {
    let name = |key: &SeriesKey| match (key.label("process"), key.label("kind")) {
        (process, "") => process.to_string(),
        (process, kind) => format!("{process}: {kind}"),
    };
    let what = ("seconds behind", ValueKind::Measures);
    let mut chart = by_variant(data, (STALENESS, FRESH_SECONDS), name, what, Style::Line);
    chart.title = "Staleness of informer caches".to_string();
    chart.subtitle = format!("{scenario}. Age of the oldest write that the cache lacks");
    chart
}

/// A panel for each variant with the series of a metric. The same series have the same pens in all panels; where there are
/// more than can be told apart, those with the highest peaks are shown; those that are never above `least` are not.
fn by_variant(
    data: &[ChartData],
    (metric, least): (&str, f64),
    name: impl Fn(&SeriesKey) -> String,
    (y_label, values): (&str, ValueKind),
    style: Style,
) -> Chart {
    let (shown, mut notes) = highest(data, metric, least);
    if shown.is_empty() {
        return Chart::default();
    }
    let mut panels = Vec::new();
    for run in data.iter().take(MOST_PANELS) {
        let series = shown.iter().map(|key| {
            let points = run.series.get(*key).cloned().unwrap_or_default();
            Series { name: name(key), style, points }
        });
        let series: Vec<Series> = series.collect();
        if !series.is_empty() {
            panels.push(panel(run, "", y_label, values, series));
        }
    }
    if data.len() > MOST_PANELS {
        notes.push(format!("Not shown: {} more variants.", data.len() - MOST_PANELS));
    }
    Chart { note: notes.join(" "), panels, same_scale: true, ..Chart::default() }
}

/// The series of a metric that are ever above `least`, those with the highest peaks over all variants, the highest last (it
/// is drawn on top), and a note on the others.
fn highest<'a>(data: &'a [ChartData], metric: &str, least: f64) -> (Vec<&'a SeriesKey>, Vec<String>) {
    let keys: BTreeSet<&SeriesKey> =
        data.iter().flat_map(|run| run.series.keys()).filter(|key| key.metric == metric).collect();
    let peak = |key: &SeriesKey| {
        let points = data.iter().filter_map(|run| run.series.get(key)).flatten();
        points.map(|point| point.1).filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    let ranked = keys.into_iter().map(|key| (peak(key), key));
    // A line along the axis says nothing.
    let mut ranked: Vec<(f64, &SeriesKey)> = ranked.filter(|(peak, _)| *peak > 0.0).collect();
    let all = ranked.len();
    ranked.retain(|(peak, _)| *peak > least);
    let quiet = all - ranked.len();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let mut notes = Vec::new();
    if let Some((highest_hidden, _)) = ranked.get(MOST_SERIES) {
        let hidden = ranked.len() - MOST_SERIES;
        notes.push(format!("Not shown: {hidden} more, none ever above {}.", format_f64(*highest_hidden)));
        ranked.truncate(MOST_SERIES);
    }
    if quiet > 0 {
        notes.push(format!("Not shown: {quiet} that are never above {}.", format_f64(least)));
    }
    (ranked.into_iter().rev().map(|(_, key)| key).collect(), notes)
}

/// A panel of a run about `what`.
pub(super) fn panel(run: &ChartData, what: &str, y_label: &str, values: ValueKind, mut series: Vec<Series>) -> Panel {
    // Lines end where their run ends, also beside a variant that lasts longer.
    for points in series.iter_mut().map(|series| &mut series.points) {
        if points.last().is_some_and(|(at, value)| *at < run.length_s && !value.is_nan()) {
            points.push((run.length_s, f64::NAN));
        }
    }
    let title = match (what, run.variant.as_str()) {
        ("", variant) => variant.to_string(),
        (what, "") => what.to_string(),
        (what, variant) => format!("{what}, {variant}"),
    };
    Panel {
        title,
        y_label: y_label.to_string(),
        values,
        series,
        spans: run.spans.clone(),
        marks: run.marks.clone(),
        ..Panel::default()
    }
}

#[cfg(test)]
#[path = "charts_tests.rs"]
mod tests;
