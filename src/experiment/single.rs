//! Runs one plan, or all variants of a scenario, with everything that looks at them.

use std::io::Write;
use std::sync::Arc;

use rayon::prelude::*;
use serde_json::Value as Json;

use crate::model::{Distribution, Kind, Map, Object, Span, Time};
use crate::plot::chart::{FaultSpan, Mark};
use crate::plot::charts::{ChartData, run_charts};
use crate::plot::placement::ZONE;
use crate::plot::png::Renderer;
use crate::plot::svg;
use crate::probes::expectations::Expectations;
use crate::report::output_folder::{OutputError, OutputFolder};
use crate::report::state;
use crate::report::summary::{ExpectationResult, FILE_NAME, Summary, Value};
use crate::sim::leadership::Overlap;
use crate::sim::plan::{End, FaultAction, FaultPlan};
use crate::sim::{Ending, Plan, World};
use crate::trace::events_csv::EventsCsv;
use crate::trace::metrics_csv::MetricsCsv;
use crate::trace::sink::CsvSink;

use super::final_objects::final_objects;
pub use super::final_objects::{Keep, ReadyPods};
use super::watcher::{Files, Watcher};

/// Is told now and then how far a run is.
pub trait Progress: Sync {
    /// World number `world` has simulated this much.
    fn tick(&self, _world: usize, _simulated: Span, _records: u64) {}

    /// World number `world` is at its end; what follows is writing.
    fn ended(&self, _world: usize) {}

    /// Whether the process ends soon after the run: then a world's memory is left to the system, because giving it back
    /// piece by piece takes time.
    fn is_last(&self) -> bool {
        false
    }
}

/// Nobody waits.
pub struct NoProgress;

impl Progress for NoProgress {}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its summary.
    pub summary: Summary,
    /// What its charts show.
    pub chart_data: ChartData,
    /// The objects at the end, as `kubectl get -o json` prints them, in order of kind, namespace and name.
    pub final_objects: Vec<Json>,
    /// The pods that [`Keep::WorthAWord`] leaves out of them.
    pub ready_pods: ReadyPods,
    /// Why it ended.
    pub ending: Ending,
    /// Events taken from the calendar.
    pub events: u64,
    /// Virtual time.
    pub simulated: Span,
}

/// Why there are no results.
#[derive(Debug)]
pub enum RunError {
    /// They cannot be written.
    Output(OutputError),
    /// The plan's objects cannot exist.
    Plan(String),
    /// A chart cannot be drawn.
    Chart(String),
}

impl From<OutputError> for RunError {
    fn from(error: OutputError) -> RunError {
        RunError::Output(error)
    }
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Output(error) => error.fmt(f),
            RunError::Plan(text) | RunError::Chart(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for RunError {}

/// Runs one plan. With a folder it writes trace.csv, events.csv, metrics.csv and summary.json under `prefix`
/// (empty, or `relist/`).
///
/// # Errors
/// The plan's objects are refused, or the results cannot be written.
pub fn run(
    plan: Arc<Plan>,
    index: usize,
    folder: Option<(&OutputFolder, &str)>,
    keep: Keep,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let mut world = World::new(plan.clone()).map_err(RunError::Plan)?;
    let files = folder.map(|(folder, prefix)| open_files(folder, prefix, &plan)).transpose()?;
    let expectations =
        Expectations::new(&plan.expectations, &plan.variant, plan.start_at, &plan.kinds).map_err(RunError::Plan)?;
    let length = match plan.end {
        End::After(span) | End::Quiet { limit: span } => span,
    };
    let mut watcher = Watcher::new(plan.start_at, length, expectations, files, progress, index);
    let ending = world.run(&mut watcher);
    progress.ended(index);
    let ended_at = world.ended_at();
    watcher.finish(&world);
    let mut summary = summarise(&plan, &world, &watcher, ending);
    summary.kpis = watcher.kpis.clone().finish(&watcher.facts(&world));
    let chart_data = chart_data(&plan, &world, &mut watcher, ended_at - plan.start_at);
    let ((final_objects, ready_pods), written) = final_objects(&world, folder, keep);
    if let Some((folder, prefix)) = folder {
        match close_files(&mut watcher, folder, prefix).and(written) {
            Err(error) if error.is_disk_full() => {
                let names: Vec<String> = FILES.iter().map(|name| format!("{prefix}{name}")).collect();
                folder.discard(&format!("{prefix}{}", state::FILE_NAME))?;
                folder.make_room(&names)?;
                mark_full_disk(&mut summary);
            }
            closed => closed?,
        }
        if !prefix.is_empty() {
            folder.write(&format!("{prefix}{FILE_NAME}"), summary.to_json().as_bytes())?;
        }
    }
    let (events, simulated) = (world.counters().events, ended_at - plan.start_at);
    // The program ends soon; only a large world's memory is worth the time to give it back before charts are drawn.
    if progress.is_last() && world.api().truth().count(Kind::Pod) < PODS_OF_A_LARGE_WORLD {
        std::mem::forget(world);
    }
    Ok(Outcome { summary, chart_data, final_objects, ready_pods, ending, events, simulated })
}

/// Runs one plan for its summary only: nothing is sampled, written or drawn. The summary is that of [`run`].
///
/// # Errors
/// The plan's objects are refused.
pub fn measure(plan: &Arc<Plan>) -> Result<Summary, RunError> {
    let mut world = World::new(plan.clone()).map_err(RunError::Plan)?;
    let expectations =
        Expectations::new(&plan.expectations, &plan.variant, plan.start_at, &plan.kinds).map_err(RunError::Plan)?;
    let mut watcher = Watcher::without_samples(plan.start_at, expectations, &NoProgress);
    let ending = world.run(&mut watcher);
    watcher.finish(&world);
    let mut summary = summarise(plan, &world, &watcher, ending);
    summary.kpis = watcher.kpis.clone().finish(&watcher.facts(&world));
    Ok(summary)
}

/// What a run writes while it goes on.
const FILES: [&str; 3] = ["trace.csv", "events.csv", "metrics.csv"];

fn mark_full_disk(summary: &mut Summary) {
    summary.partial = true;
    summary.partial_reason = Some("the disk is full: files end early, charts are missing".to_string());
}

fn open_files(folder: &OutputFolder, prefix: &str, plan: &Plan) -> Result<Files, OutputError> {
    let open = |name: &str| -> Result<Box<dyn Write>, OutputError> {
        Ok(Box::new(folder.create(&format!("{prefix}{name}"))?))
    };
    Ok(Files {
        trace: CsvSink::new(open(FILES[0])?, plan.start_at),
        events: EventsCsv::new(open(FILES[1])?, plan.start_at),
        metrics: MetricsCsv::new(open(FILES[2])?, plan.start_at),
    })
}

fn close_files(watcher: &mut Watcher<'_>, folder: &OutputFolder, prefix: &str) -> Result<(), OutputError> {
    let Some(files) = watcher.files.take() else { return Ok(()) };
    let failed = |name: &str| {
        let name = format!("{prefix}{name}");
        move |error| folder.write_error(&name, error)
    };
    files.trace.finish().map(drop).map_err(failed(FILES[0]))?;
    files.events.finish().map(drop).map_err(failed(FILES[1]))?;
    files.metrics.finish().map(drop).map_err(failed(FILES[2]))
}

/// A notice for each fault that did nothing: a cluster looks robust when nothing hits it.
fn idle_faults(plan: &Plan, world: &World) -> Vec<String> {
    let ended = world.ended_at();
    let strikes = world.fault_strikes();
    let idle = plan.faults.iter().zip(strikes).enumerate().filter_map(|(index, (fault, struck))| {
        match world.fault_windows(index).first() {
            None if plan.start_at + fault.at < ended => {
                Some(format!("the fault `{}` never struck: {}", fault.text, why_it_never_began(fault)))
            }
            Some((begins, _)) if struck == 0 && *begins < ended && fault.action.waits_for_something() => {
                Some(format!("the fault `{}` never struck", fault.text))
            }
            _ => None,
        }
    });
    idle.collect()
}

fn why_it_never_began(fault: &FaultPlan) -> &'static str {
    match (&fault.when, &fault.after) {
        (Some(_), _) => "its condition never held",
        (None, Some(_)) => "what it begins with never happened",
        (None, None) => "luck was against it",
    }
}

/// A notice for each time with two acting leaders: when, for how long, and what permits it.
fn overlaps(plan: &Plan, world: &World) -> Vec<String> {
    let (end, name) = (world.ended_at(), |index: usize| &world.processes()[index].name);
    let notice = |overlap: &Overlap| {
        let (from, length) = (overlap.from - plan.start_at, overlap.to.unwrap_or(end) - overlap.from);
        let reason = overlap.reason.unwrap_or("nothing permits it");
        let (old, new) = (name(overlap.old), name(overlap.new));
        format!("{old} and {new} both acted for {length} from {from}: {reason}")
    };
    world.leadership().overlaps().iter().map(notice).collect()
}

fn summarise(plan: &Plan, world: &World, watcher: &Watcher<'_>, ending: Ending) -> Summary {
    let counters = world.counters();
    let mut summary = Summary::new(plan.name.clone(), plan.version.as_str());
    summary.variant = plan.variant.clone();
    summary.seed = plan.seed;
    summary.replication = plan.replication;
    summary.hash = watcher.hash.hash().to_string();
    summary.simulated_seconds = Value(Some((world.ended_at() - plan.start_at).as_seconds()));
    summary.events = counters.events;
    summary.requests = counters.requests;
    let idle = idle_faults(plan, world);
    let told = plan.notices.iter().chain(&watcher.complaints).cloned();
    summary.notices = told.chain(idle).chain(overlaps(plan, world)).collect();
    summary.partial_reason = match ending {
        Ending::Budget => Some(format!("event budget of {} spent", plan.event_budget)),
        Ending::Stopped => Some("results could not be written".to_string()),
        Ending::Duration | Ending::Quiet => None,
        Ending::Limit => {
            let ended = world.ended_at() - plan.start_at;
            let text = format!(
                "the run was stopped after {ended} and was not quiet: `until` sets this limit, `duration` a length"
            );
            summary.notices.push(text);
            None
        }
    };
    summary.partial = summary.partial_reason.is_some();
    let verdicts = watcher.expectations.verdicts();
    summary.expectations = verdicts
        .iter()
        .map(|verdict| ExpectationResult {
            variant: String::new(),
            that: verdict.that.clone(),
            when: verdict.when.clone(),
            met: verdict.met,
            time_s: Value(verdict.decided_at.map(|at| at.seconds_since(plan.start_at))),
            detail: verdict.detail.clone(),
        })
        .collect();
    summary
}

fn chart_data(plan: &Plan, world: &World, watcher: &mut Watcher<'_>, simulated: Span) -> ChartData {
    let windows = plan
        .faults
        .iter()
        .enumerate()
        .filter(|(_, fault)| !is_without_effect(&fault.action))
        .flat_map(|(index, fault)| world.fault_windows(index).into_iter().map(move |window| (fault, window)));
    let ended = plan.start_at + simulated;
    // One that repeats may be announced and not have begun again.
    let is_seen =
        |(fault, (begins, _)): &(&FaultPlan, (Time, Option<Time>))| *begins <= ended || fault.repeat.every.is_none();
    let spans = windows.filter(is_seen).map(|(fault, (begins, ends))| {
        let from = begins - plan.start_at;
        FaultSpan {
            from: from.as_seconds(),
            to: end_of_fault(fault, (from, ends.map(|ends| ends - plan.start_at)), simulated).as_seconds(),
            label: fault.text.clone(),
        }
    });
    let marks = plan.timeline.iter().map(|entry| Mark { at: entry.at.as_seconds(), label: entry.command.text.clone() });
    ChartData {
        variant: plan.variant.clone(),
        series: watcher.take_series(plan.start_at + simulated),
        length_s: simulated.as_seconds(),
        zones: zones(plan, world),
        starts_s: watcher.starts_s(),
        spans: spans.collect(),
        marks: marks.collect(),
    }
}

/// The zones of the nodes of the beginning and of those of the end, by name.
fn zones(plan: &Plan, world: &World) -> Map<String, String> {
    let given = plan.objects.iter().filter(|object| object["kind"] == "Node");
    let given = given.filter_map(|node| Some((&node["metadata"], node["metadata"]["labels"][ZONE].as_str()?)));
    let mut zones: Map<String, String> =
        given.map(|(meta, zone)| (meta["name"].as_str().unwrap_or_default().to_string(), zone.to_string())).collect();
    for meta in world.api().truth().iter(Kind::Node).map(Object::meta) {
        if let Some(zone) = meta.labels.get(&ZONE.into()) {
            zones.insert(meta.name.to_string(), zone.to_string());
        }
    }
    zones
}

/// A delay of nothing, as a variant beside one with a delay has it, is no fault to show.
fn is_without_effect(action: &FaultAction) -> bool {
    let by = match action {
        FaultAction::DelayWatch(delay) => &delay.by,
        FaultAction::DelayReplies(delay) => &delay.by,
        _ => return false,
    };
    *by == Distribution::Constant(0)
}

/// When a fault is over, from the start of the run.
fn end_of_fault(fault: &FaultPlan, (from, ends): (Span, Option<Span>), simulated: Span) -> Span {
    match (ends, &fault.action) {
        (Some(ends), _) => ends,
        (None, FaultAction::Kill { restart_after, .. } | FaultAction::Stop { restart_after, .. }) => {
            from + *restart_after
        }
        (None, FaultAction::Clock { rate: None, .. } | FaultAction::CutWatch(_) | FaultAction::KillTasks(_)) => from,
        (None, _) => simulated.max(from),
    }
}

/// Runs all variants, in parallel, results in the plans' order; writes a folder a variant, and summary.json and charts/
/// on top. The folder is not yet committed.
///
/// # Errors
/// Those of [`run`], or a chart cannot be drawn or written.
pub fn run_all(
    plans: Vec<Plan>,
    folder: Option<&OutputFolder>,
    keep: Keep,
    progress: &dyn Progress,
) -> Result<Vec<Outcome>, RunError> {
    let outcomes: Result<Vec<Outcome>, RunError> = plans
        .into_par_iter()
        .enumerate()
        .map(|(index, plan)| {
            let prefix = if plan.variant.is_empty() { String::new() } else { format!("{}/", plan.variant) };
            run(Arc::new(plan), index, folder.map(|folder| (folder, prefix.as_str())), keep, progress)
        })
        .collect();
    let mut outcomes = outcomes?;
    if let Some(folder) = folder {
        let is_full = outcomes.iter().any(|outcome| outcome.summary.partial && outcome.ending != Ending::Budget);
        let charts = if is_full { Ok(()) } else { write_charts(&mut outcomes, folder) };
        match charts {
            Err(RunError::Output(error)) if error.is_disk_full() => {
                folder.discard(CHARTS)?;
                folder.make_room(&[])?;
                outcomes.iter_mut().for_each(|outcome| mark_full_disk(&mut outcome.summary));
            }
            drawn => drawn?,
        }
        folder.write(FILE_NAME, top_summary(&outcomes).to_json().as_bytes())?;
    }
    Ok(outcomes)
}

/// From so many pods on a world is taken apart when it has ended.
const PODS_OF_A_LARGE_WORLD: usize = 50_000;

/// Folder of the charts.
pub const CHARTS: &str = "charts";

/// The summary on top: the run's own, or that over all variants.
pub fn top_summary(outcomes: &[Outcome]) -> Summary {
    match outcomes {
        [only] => only.summary.clone(),
        many => Summary::over(many.iter().map(|outcome| outcome.summary.clone()).collect()),
    }
}

fn write_charts(outcomes: &mut [Outcome], folder: &OutputFolder) -> Result<(), RunError> {
    let data: Vec<ChartData> = outcomes.iter_mut().map(|outcome| std::mem::take(&mut outcome.chart_data)).collect();
    let charts = run_charts(&outcomes[0].summary.name, &data);
    outcomes.iter_mut().zip(data).for_each(|(outcome, data)| outcome.chart_data = data);
    let renderer = Renderer::default();
    for (stem, chart) in charts {
        let drawing = svg::draw(&chart);
        folder.write(&format!("{CHARTS}/{stem}.svg"), drawing.as_bytes())?;
        let png = renderer.png(&drawing).map_err(|error| RunError::Chart(error.to_string()))?;
        folder.write(&format!("{CHARTS}/{stem}.png"), &png)?;
    }
    Ok(())
}
