//! `kubesim run`: files in, one world a variant, results out.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use anyhow::Context;

use super::args::{Format, RunArguments};
use super::bug::BugReport;
use super::exit::Exit;
use super::progress::Position;
use super::result::{self, Paint, Whole};
use super::{data, has_color, print, print_error};
use crate::experiment::single::{self, Keep, Outcome};
use crate::report::OutputFolder;
use crate::scenario::{self, Loaded, Overrides, resolved};

/// Folder of the results, below the current one, of scenarios for which none is named.
pub const RESULTS: &str = "output";

/// Runs a scenario, writes its results and prints what became of it.
///
/// # Errors
/// The input is wrong, or the results cannot be written.
pub fn run(arguments: &RunArguments, report: &BugReport) -> anyhow::Result<Exit> {
    let Loaded { plans, resolved, .. } = load(arguments)?;
    if arguments.explain_defaults {
        print(&resolved.explained())?;
        return Ok(Exit::Done);
    }
    let known: Vec<String> = plans.iter().flat_map(|plan| plan.notices.iter().cloned()).collect();
    let target = arguments.simulation.out.clone().unwrap_or_else(|| PathBuf::from(RESULTS).join(&plans[0].name));
    let folder = OutputFolder::begin(&target)?;
    let with_bar = !arguments.simulation.quiet && io::stderr().is_terminal();
    let position = Arc::new(Position::new(&plans, with_bar));
    report.watch(position.clone(), reproduce(arguments, plans[0].seed));
    let (written, outcomes) = thread::scope(|scope| {
        let writing = scope.spawn(|| folder.write(resolved::FILE_NAME, resolved.to_yaml().as_bytes()));
        let outcomes = single::run_all(plans, Some(&folder), keep(arguments), &*position);
        (writing.join(), outcomes)
    });
    position.finish();
    written.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
    let outcomes = outcomes.context("the run was stopped and its results are gone")?;
    folder.commit().context("the run is done but its results cannot be put in place")?;
    let whole =
        Whole { folder: target.display().to_string(), wall: position.wall(), simulating: position.simulating() };
    if !arguments.simulation.quiet {
        during_the_run(&outcomes, &known).iter().for_each(|notice| print_error(&format!("notice: {notice}")));
    }
    print(&text(&outcomes, &whole, arguments)?)?;
    let exit = exit(&outcomes);
    // The process ends: giving its memory back piece by piece would take longer than drawing the charts.
    std::mem::forget((outcomes, resolved));
    Ok(exit)
}

/// Tables tell nothing of pods that are ready.
fn keep(arguments: &RunArguments) -> Keep {
    match arguments.simulation.output {
        Format::Table => Keep::WorthAWord,
        Format::Json | Format::Yaml => Keep::All,
    }
}

/// Notices that came up while the worlds ran, each once, with its variant where there are several.
fn during_the_run(outcomes: &[Outcome], known: &[String]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for outcome in outcomes {
        for notice in outcome.summary.notices.iter().filter(|notice| !known.contains(notice)) {
            let variant = &outcome.summary.variant;
            let text = if variant.is_empty() { notice.clone() } else { format!("{variant}: {notice}") };
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }
    found
}

/// The plans of the files, with what the command line changes.
fn load(arguments: &RunArguments) -> anyhow::Result<Loaded> {
    let mut loaded = scenario::load(&arguments.simulation.files, &arguments.simulation.overrides())?;
    anyhow::ensure!(!loaded.plans.is_empty(), "there is nothing to run");
    if !arguments.simulation.quiet {
        loaded.notices.iter().for_each(|notice| print_error(&format!("notice: {notice}")));
    }
    for plan in &mut loaded.plans {
        plan.event_budget = arguments.simulation.event_budget.unwrap_or(plan.event_budget);
        plan.replication = arguments.replication.unwrap_or(plan.replication);
    }
    if let Some(number) = arguments.replication {
        loaded.resolved.replace(&["replication"], number.into(), "--replication");
    }
    if let Some(events) = arguments.simulation.event_budget {
        loaded.resolved.replace(&["eventBudget"], events.into(), "--event-budget");
    }
    Ok(loaded)
}

fn text(outcomes: &[Outcome], whole: &Whole, arguments: &RunArguments) -> anyhow::Result<String> {
    match (arguments.simulation.output, arguments.simulation.quiet) {
        (Format::Json, _) => data::to_json(&data::value(outcomes, &whole.folder)?),
        (Format::Yaml, _) => data::to_yaml(&data::value(outcomes, &whole.folder)?),
        (Format::Table, true) => Ok(result::render_failures(outcomes, Paint { color: has_color(&io::stdout()) })),
        (Format::Table, false) => Ok(result::render(outcomes, whole, Paint { color: has_color(&io::stdout()) })),
    }
}

/// A run that was stopped says nothing about its expectations.
fn exit(outcomes: &[Outcome]) -> Exit {
    if outcomes.iter().any(|outcome| outcome.summary.partial) {
        Exit::Stopped
    } else if outcomes.iter().all(|outcome| outcome.summary.all_met()) {
        Exit::Done
    } else {
        Exit::ExpectationFailed
    }
}

/// The command that runs the same simulation again.
fn reproduce(arguments: &RunArguments, seed: u64) -> String {
    let overrides = Overrides { seed: Some(seed), ..arguments.simulation.overrides() };
    command_again(&arguments.simulation.files, &overrides, arguments.replication, arguments.simulation.event_budget)
}

/// The `kubesim run` that runs one world of these files again.
pub fn command_again(
    files: &[PathBuf],
    overrides: &Overrides,
    replication: Option<u64>,
    event_budget: Option<u64>,
) -> String {
    let mut words = vec!["kubesim".to_string(), "run".to_string()];
    words.extend(files.iter().map(|file| file.display().to_string()));
    let mut option = |name: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [name.to_string(), value]));
    };
    option("--seed", overrides.seed.map(|seed| seed.to_string()));
    option("--replication", replication.map(|number| number.to_string()));
    option("--until", overrides.until.map(|until| until.to_string()));
    option("--event-budget", event_budget.map(|budget| budget.to_string()));
    option("--nodes", overrides.nodes.clone());
    overrides.set.iter().for_each(|(path, value)| option("--set", Some(format!("{path}={value}"))));
    if overrides.allow_outside {
        words.push("--allow-outside".to_string());
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%[]".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Arguments, Command};

    #[test]
    fn the_command_of_a_report_gives_the_same_run() {
        let line =
            ["kubesim", "run", "my app.yaml", "--until=90s", "--set", "spec.model.resync=relist", "--out", "elsewhere"];
        let Some(Command::Run(arguments)) = Arguments::parse_from(line).command else { panic!("not a run") };
        let expected = "kubesim run 'my app.yaml' --seed 7 --until 1m30s --set spec.model.resync=relist";
        assert_eq!(reproduce(&arguments, 7), expected);
    }
}
