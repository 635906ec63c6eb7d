//! Runs a sweep: every point of a grid, so many times each, on all threads, with results in the order of the design.
//!
//! Threads take run after run from one counter. A run that ends is reduced to a [`Row`]; rows wait for those before them,
//! go to results.csv and into their point's statistics, and are forgotten. So memory does not grow with the number of
//! runs, and nothing depends on who finished first. All points draw the same luck in the same replication (common random
//! numbers): the point is no part of a draw's key.

use std::any::Any;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::report::kpis;
use crate::report::output_folder::OutputFolder;
use crate::report::summary::{FILE_NAME, Value};
use crate::scenario::LoadedSweep;
use crate::scenario::sweep::Sweep;
use crate::sim::Plan;
use crate::trace::csv_field::{push_text, push_u64};
use crate::trace::number::push_f64;

use super::single::{self, RunError};
use super::sweep_charts;
use super::sweep_summary::{PointStatistics, SweepSummary, summarise};

/// The name of the file with a row for each run.
pub const RESULTS: &str = "results.csv";

/// Is told how far a sweep is.
pub trait SweepProgress: Sync {
    /// So many runs are done; so many of them failed.
    fn done(&self, _runs: u64, _failed: u64) {}
}

/// Nobody waits.
pub struct NoSweepProgress;

impl SweepProgress for NoSweepProgress {}

/// A run, reduced to what results.csv says of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Which point, from 0.
    pub point: usize,
    /// Which replication, from 0: `Plan::replication`.
    pub replication: u64,
    /// Seed of all draws.
    pub seed: u64,
    /// Hash of the trace; empty when the run failed.
    pub hash: String,
    /// How it ended.
    pub end: RowEnd,
    /// Expectations met.
    pub met: u64,
    /// Expectations judged.
    pub expectations: u64,
    /// All KPIs, in the order of [`kpis::NAMES`]; empty when the run failed.
    pub kpis: Vec<Value>,
    /// What came up while it ran.
    pub notices: Vec<String>,
}

/// How a run of a sweep ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RowEnd {
    /// As its scenario says.
    Whole,
    /// It was stopped before, and why.
    Partial(String),
    /// There is no result, and why: the plan's objects cannot exist, or we have a bug.
    Failed {
        /// What went wrong.
        reason: String,
        /// It is our fault.
        is_bug: bool,
    },
}

/// What came of a sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct SweepOutcome {
    /// What summary.json says.
    pub summary: SweepSummary,
    /// Runs that ended in a bug of ours: point and replication.
    pub bugs: Vec<(usize, u64)>,
}

/// Runs a sweep on so many threads (0 for as many as the machine has) and writes results.csv, summary.json and charts/.
/// The folder is not yet committed.
///
/// # Errors
/// The results cannot be written (a full disk marks them partial instead), or a chart cannot be drawn.
pub fn run(
    loaded: &LoadedSweep,
    threads: usize,
    folder: Option<&OutputFolder>,
    progress: &dyn SweepProgress,
) -> Result<SweepOutcome, RunError> {
    let runs = loaded.plans.len() * loaded.sweep.replications as usize;
    let file = folder.map(|folder| folder.create(RESULTS)).transpose()?;
    let collector = Mutex::new(Collector::new(&loaded.sweep, file.map(BufWriter::new)));
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| RunError::Plan(format!("no threads to run on: {error}")))?;
    pool.broadcast(|_| {
        while !stop.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= runs {
                return;
            }
            let row = run_one(loaded, index);
            let mut collector = lock(&collector);
            collector.take(index, row);
            progress.done(collector.done, collector.failed);
            if collector.error.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
        }
    });
    let collector = collector.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    pool.install(|| write_all(loaded, collector, folder))
}

/// Panics are caught where they could happen; a poisoned lock would still hold whole rows.
fn lock<'a, 'b>(collector: &'a Mutex<Collector<'b>>) -> MutexGuard<'a, Collector<'b>> {
    collector.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn run_one(loaded: &LoadedSweep, index: usize) -> Row {
    let replications = loaded.sweep.replications as usize;
    let (point, replication) = (index / replications, (index % replications) as u64);
    let plan = Plan { replication, ..loaded.plans[point].clone() };
    let seed = plan.seed;
    let failed = |reason: String, is_bug| Row {
        point,
        replication,
        seed,
        hash: String::new(),
        end: RowEnd::Failed { reason, is_bug },
        met: 0,
        expectations: 0,
        kpis: Vec::new(),
        notices: Vec::new(),
    };
    let summary = match panic::catch_unwind(AssertUnwindSafe(|| single::measure(&Arc::new(plan)))) {
        Ok(Ok(summary)) => summary,
        Ok(Err(error)) => return failed(error.to_string(), false),
        Err(payload) => return failed(format!("a bug of kubesim: {}", message_of(payload.as_ref())), true),
    };
    Row {
        point,
        replication,
        seed,
        hash: summary.hash,
        end: match summary.partial_reason {
            Some(reason) => RowEnd::Partial(reason),
            None => RowEnd::Whole,
        },
        met: summary.expectations.iter().filter(|expectation| expectation.met).count() as u64,
        expectations: summary.expectations.len() as u64,
        kpis: summary.kpis.into_values().collect(),
        // The first are those of the plan, which all runs share.
        notices: summary.notices.into_iter().skip(loaded.plans[point].notices.len()).collect(),
    }
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or("no message".to_string())
}

/// Puts rows in order.
struct Collector<'a> {
    sweep: &'a Sweep,
    /// Rows that came before those in front of them.
    waiting: BTreeMap<usize, Row>,
    /// The first row that has not come.
    next: usize,
    file: Option<BufWriter<std::fs::File>>,
    points: Vec<PointStatistics>,
    /// Values of the KPIs whose distribution is drawn.
    drawn: Vec<Vec<f64>>,
    bugs: Vec<(usize, u64)>,
    heard: Heard,
    done: u64,
    failed: u64,
    error: Option<std::io::Error>,
}

impl<'a> Collector<'a> {
    fn new(sweep: &'a Sweep, file: Option<BufWriter<std::fs::File>>) -> Collector<'a> {
        let mut collector = Collector {
            sweep,
            waiting: BTreeMap::new(),
            next: 0,
            file,
            points: (0..sweep.points()).map(|_| PointStatistics::new(kpis::NAMES.len())).collect(),
            drawn: vec![Vec::new(); sweep.histograms.len()],
            bugs: Vec::new(),
            heard: Heard::default(),
            done: 0,
            failed: 0,
            error: None,
        };
        collector.write(&header(sweep));
        collector
    }

    fn take(&mut self, index: usize, row: Row) {
        self.done += 1;
        self.failed += u64::from(matches!(row.end, RowEnd::Failed { .. }));
        self.waiting.insert(index, row);
        while let Some(row) = self.waiting.remove(&self.next) {
            self.next += 1;
            if matches!(row.end, RowEnd::Failed { is_bug: true, .. }) {
                self.bugs.push((row.point, row.replication));
            }
            self.write(&line(self.sweep, &row));
            self.points[row.point].push(&row);
            for (histogram, values) in self.sweep.histograms.iter().zip(&mut self.drawn) {
                let kpi = kpis::NAMES.iter().position(|name| *name == histogram.kpi);
                values.extend(kpi.and_then(|index| row.kpis.get(index)?.0));
            }
            self.heard.take(&row.notices);
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_none()
            && let Some(file) = &mut self.file
        {
            self.error = file.write_all(bytes).err();
        }
    }
}

/// Notices of runs, each with the number of runs that gave it.
#[derive(Default)]
struct Heard {
    notices: Vec<(String, u64)>,
    /// Notices beyond [`MOST_NOTICES`] different ones.
    others: u64,
}

/// Most different notices of runs that are kept.
const MOST_NOTICES: usize = 20;

impl Heard {
    fn take(&mut self, notices: &[String]) {
        for notice in notices {
            match self.notices.iter().position(|(known, _)| known == notice) {
                Some(index) => self.notices[index].1 += 1,
                None if self.notices.len() < MOST_NOTICES => self.notices.push((notice.clone(), 1)),
                None => self.others += 1,
            }
        }
    }

    fn words(&self, runs: u64) -> Vec<String> {
        let word = |(notice, count): &(String, u64)| format!("in {count} of {runs} runs: {notice}");
        let mut words: Vec<String> = self.notices.iter().map(word).collect();
        words.extend((self.others > 0).then(|| format!("{} other notices of runs are not kept", self.others)));
        words
    }
}

/// Finishes results.csv, and writes charts and the summary over it.
fn write_all(
    loaded: &LoadedSweep,
    mut collector: Collector<'_>,
    folder: Option<&OutputFolder>,
) -> Result<SweepOutcome, RunError> {
    if let Some(file) = collector.file.as_mut().filter(|_| collector.error.is_none()) {
        collector.error = file.flush().err();
    }
    // What is still in the buffer could not be written; the file is cut after its last whole row.
    collector.file = None;
    let mut summary = summarise(loaded, &collector.points);
    let heard = collector.heard.words(summary.runs);
    summary.notices.extend(heard);
    let mut charts = sweep_charts::charts(&loaded.sweep, &mut summary);
    charts.extend(sweep_charts::histograms(&loaded.sweep, collector.drawn, &summary));
    let outcome = |summary| SweepOutcome { summary, bugs: collector.bugs };
    let Some(folder) = folder else { return Ok(outcome(summary)) };
    let written = match collector.error {
        Some(error) => Err(RunError::Output(folder.write_error(RESULTS, error))),
        None => sweep_charts::write(&charts, folder),
    };
    match written {
        Err(RunError::Output(error)) if error.is_disk_full() => {
            folder.discard(single::CHARTS)?;
            folder.make_room(&[RESULTS.to_string()])?;
            summary.partial_reason = Some("the disk is full: results.csv ends early, charts are missing".to_string());
        }
        written => written?,
    }
    folder.write(FILE_NAME, summary.to_json().as_bytes())?;
    Ok(outcome(summary))
}

fn header(sweep: &Sweep) -> Vec<u8> {
    let mut line = b"point,replication".to_vec();
    let own = ["seed", "hash", "partial", "reason", "expectations_met", "expectations_total"];
    let paths = sweep.grid.iter().map(|axis| axis.path.as_str());
    for name in paths.chain(own).chain(kpis::NAMES) {
        line.push(b',');
        push_text(&mut line, name);
    }
    line.push(b'\n');
    line
}

fn line(sweep: &Sweep, row: &Row) -> Vec<u8> {
    let mut line = Vec::new();
    push_u64(&mut line, row.point as u64);
    line.push(b',');
    push_u64(&mut line, row.replication);
    for (axis, index) in sweep.grid.iter().zip(sweep.indices(row.point)) {
        line.push(b',');
        push_text(&mut line, &axis.text(index));
    }
    line.push(b',');
    push_u64(&mut line, row.seed);
    let (partial, reason) = match &row.end {
        RowEnd::Whole => ("false", ""),
        RowEnd::Partial(reason) | RowEnd::Failed { reason, .. } => ("true", reason.as_str()),
    };
    for text in [&row.hash, partial, reason] {
        line.push(b',');
        push_text(&mut line, text);
    }
    for number in [row.met, row.expectations] {
        line.push(b',');
        push_u64(&mut line, number);
    }
    let missing = kpis::NAMES.len() - row.kpis.len();
    for value in row.kpis.iter().copied().chain(std::iter::repeat_n(Value(None), missing)) {
        line.push(b',');
        if let Some(number) = value.0 {
            push_f64(&mut line, number);
        }
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
