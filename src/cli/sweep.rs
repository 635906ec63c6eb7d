//! `kubesim sweep`: files in, every point of the grid so many times, statistics out.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::args::{Format, SweepArguments};
use super::exit::Exit;
use super::run::command_again;
use super::sweep_result::Took;
use super::{data, has_color, print, print_error, sweep_result};
use crate::experiment::sweep::{self, SweepOutcome, SweepProgress};
use crate::experiment::sweep_charts::NO_CHART;
use crate::report::OutputFolder;
use crate::scenario::{self, LoadedSweep, Overrides, resolved};

/// Results go to `output/NAME-sweep`, beside those of a run of the same scenario.
const SUFFIX: &str = "-sweep";
/// A bar is shown for what takes longer.
const BAR_AFTER: Duration = Duration::from_secs(1);

/// Runs the sweep of a scenario, writes its results and prints the points.
///
/// # Errors
/// The input is wrong, or the results cannot be written.
pub fn run(arguments: &SweepArguments) -> anyhow::Result<Exit> {
    let loaded = load(arguments)?;
    let name = format!("{}{SUFFIX}", loaded.plans[0].name);
    let target = arguments.simulation.out.clone().unwrap_or_else(|| PathBuf::from(super::run::RESULTS).join(name));
    let folder = OutputFolder::begin(&target)?;
    folder.write(resolved::FILE_NAME, loaded.resolved.to_yaml().as_bytes())?;
    let runs = loaded.plans.len() as u64 * loaded.sweep.replications;
    let with_bar = !arguments.simulation.quiet && io::stderr().is_terminal();
    let bar = Bar::new(runs, with_bar);
    let threads = arguments.threads.map_or(0, usize::from);
    let outcome = sweep::run(&loaded, threads, Some(&folder), &bar);
    bar.finish();
    let outcome = outcome.context("the sweep was stopped and its results are gone")?;
    folder.commit().context("the sweep is done but its results cannot be put in place")?;
    if !arguments.simulation.quiet {
        let own = outcome.summary.notices.iter().filter(|notice| !loaded.notices.contains(notice));
        // What has no chart stands in summary.json.
        let own = own.filter(|notice| !notice.starts_with(NO_CHART));
        own.for_each(|notice| print_error(&format!("notice: {notice}")));
    }
    for (point, replication) in &outcome.bugs {
        print_error(&format!("To see the bug again: {}", reproduce(arguments, &loaded, *point, *replication)));
    }
    print(&text(&loaded, &outcome, &target.display().to_string(), bar.took(), arguments)?)?;
    Ok(exit(&outcome))
}

fn load(arguments: &SweepArguments) -> anyhow::Result<LoadedSweep> {
    let mut loaded =
        scenario::load_sweep(&arguments.simulation.files, &arguments.simulation.overrides(), arguments.replications)?;
    if !arguments.simulation.quiet {
        loaded.notices.iter().for_each(|notice| print_error(&format!("notice: {notice}")));
    }
    for plan in &mut loaded.plans {
        plan.event_budget = arguments.simulation.event_budget.unwrap_or(plan.event_budget);
    }
    if let Some(events) = arguments.simulation.event_budget {
        loaded.resolved.replace(&["eventBudget"], events.into(), "--event-budget");
    }
    Ok(loaded)
}

fn text(
    loaded: &LoadedSweep,
    outcome: &SweepOutcome,
    folder: &str,
    took: Took,
    arguments: &SweepArguments,
) -> anyhow::Result<String> {
    match (arguments.simulation.output, arguments.simulation.quiet) {
        (Format::Json, _) => data::to_json(&sweep_result::value(&outcome.summary, folder)?),
        (Format::Yaml, _) => data::to_yaml(&sweep_result::value(&outcome.summary, folder)?),
        (Format::Table, true) => Ok(String::new()),
        (Format::Table, false) => {
            Ok(sweep_result::render(&loaded.sweep, &outcome.summary, folder, took, has_color(&io::stdout())))
        }
    }
}

/// Runs that were stopped say nothing about their expectations.
fn exit(outcome: &SweepOutcome) -> Exit {
    let summary = &outcome.summary;
    if !outcome.bugs.is_empty() {
        Exit::Bug
    } else if summary.runs_partial + summary.runs_failed > 0 || summary.partial_reason.is_some() {
        Exit::Stopped
    } else if summary.runs_unmet > 0 {
        Exit::ExpectationFailed
    } else {
        Exit::Done
    }
}

/// The command that runs one run of the sweep again.
fn reproduce(arguments: &SweepArguments, loaded: &LoadedSweep, point: usize, replication: u64) -> String {
    let mut overrides = Overrides { seed: Some(loaded.plans[point].seed), ..arguments.simulation.overrides() };
    let axes = loaded.sweep.grid.iter().zip(loaded.sweep.indices(point));
    overrides.set.extend(axes.map(|(axis, index)| axis.setting(index)));
    command_again(&arguments.simulation.files, &overrides, Some(replication), arguments.simulation.event_budget)
}

/// How far a sweep is: runs done, runs a second, time left.
struct Bar {
    started: Instant,
    /// Nanoseconds of wall time until the last run was done.
    simulating_ns: AtomicU64,
    bar: Option<Mutex<ProgressBar>>,
}

impl Bar {
    fn new(runs: u64, is_shown: bool) -> Bar {
        #[allow(
            clippy::disallowed_methods,
            reason = "how long a sweep takes is shown to people and goes into no result"
        )]
        let started = Instant::now();
        let bar = is_shown.then(|| {
            let bar = ProgressBar::with_draw_target(Some(runs), ProgressDrawTarget::hidden());
            let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs  {msg}");
            bar.set_style(style.expect("the template is well-formed"));
            Mutex::new(bar)
        });
        Bar { started, simulating_ns: AtomicU64::new(0), bar }
    }

    fn took(&self) -> Took {
        let simulating = Duration::from_nanos(self.simulating_ns.load(Ordering::Relaxed));
        Took { wall: self.wall(), simulating }
    }

    fn wall(&self) -> Duration {
        self.started.elapsed()
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).finish_and_clear();
        }
    }
}

impl SweepProgress for Bar {
    fn done(&self, runs: u64, failed: u64) {
        let ns = u64::try_from(self.wall().as_nanos()).unwrap_or(u64::MAX);
        self.simulating_ns.fetch_max(ns, Ordering::Relaxed);
        let Some(bar) = self.bar.as_ref().filter(|_| self.wall() >= BAR_AFTER) else { return };
        let bar = bar.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if bar.is_hidden() {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        let total = bar.length().unwrap_or(runs);
        bar.set_message(words(runs, total, failed, self.wall()));
        bar.set_position(runs);
    }
}

fn words(runs: u64, total: u64, failed: u64, wall: Duration) -> String {
    let rate = runs as f64 / wall.as_secs_f64().max(1e-3);
    let left = Duration::from_secs_f64(total.saturating_sub(runs) as f64 / rate.max(1e-9));
    let left = left.as_secs();
    let left = if left < 60 { format!("{left}s") } else { format!("{}m{:02}s", left / 60, left % 60) };
    let failed = if failed > 0 { format!("  {failed} failed") } else { String::new() };
    format!("{rate:.1} runs/s  {left} left{failed}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_rate_and_the_time_left() {
        // 50 runs in 10 s are 5 a second; 950 more take 190 s.
        assert_eq!(words(50, 1_000, 0, Duration::from_secs(10)), "5.0 runs/s  3m10s left");
        assert_eq!(words(990, 1_000, 2, Duration::from_secs(10)), "99.0 runs/s  0s left  2 failed");
    }
}
