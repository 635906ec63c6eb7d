//! `kubesim why`: the chain of causes behind an object, from the trace of a finished run.

use std::fs::File;
use std::io::BufReader;

use anyhow::{Context, anyhow, bail};

use super::args::WhyArguments;
use super::exit::Exit;
use super::table::Table;
use super::{inspect, print};
use crate::experiment::replay;
use crate::report::chain::{self, ChainLine};
use crate::report::why::{self, Explanation, Rows, Start};

const TRACE: &str = "trace.csv";

/// Prints the chain, last record first.
///
/// # Errors
/// The object's name cannot be read, the folder holds no trace, or the object is not in it.
pub fn run(arguments: &WhyArguments) -> anyhow::Result<Exit> {
    let folder = arguments.instant.folder_or(arguments.dir.as_deref())?;
    let run = replay::find(folder, arguments.instant.variant.as_deref())?;
    // A trace alone can be asked about what is built in; kinds of its own stand in the scenario.
    let scenario = replay::Replay::open(folder, arguments.instant.variant.as_deref());
    let kinds = scenario.map(|replay| replay.plan.kinds.clone()).unwrap_or_default();
    let object = inspect::object(&arguments.object, arguments.namespace.as_deref(), &kinds)?;
    let path = run.folder.join(TRACE);
    if let (Some(at), Some(end)) = (arguments.instant.at, run.length)
        && at > end
    {
        bail!("the run ended at {end}, before {at}");
    }
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = Rows::read(BufReader::new(file)).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let explanation = why::explain(&rows, object.kind, &object.namespace, &object.name, arguments.instant.at)
        .map_err(|problem| anyhow!(problem))?;
    let asked = arguments.instant.at.map_or("the end of the run".to_string(), |at| at.to_string());
    let beside = why::circumstances(&rows, &object.namespace, &object.name, arguments.instant.at);
    let waits = why::held_back(&rows, object.kind, &object.namespace, &object.name, arguments.instant.at);
    let text = render(&object.to_string(), &asked, explanation, arguments.limit);
    print(&format!("{text}{}{}", render_beside("WHAT WAITS", &waits), render_beside("WHAT WAS MISSING", &beside)))?;
    Ok(Exit::Done)
}

fn render(object: &str, asked: &str, explanation: Explanation, limit: usize) -> String {
    let heading = heading(object, asked, &explanation);
    let chain::Shown { lines, left_out } = chain::cut(chain::condense(explanation.chain), limit);
    let mut table = Table::new(&["TIME", "WHAT HAPPENED"]);
    let last = lines.len() - 1;
    for (place, line) in lines.iter().enumerate() {
        if place == last && left_out > 0 {
            let steps = if left_out == 1 { "step" } else { "steps" };
            table.push(vec!["...".to_string(), format!("{left_out} more {steps}, back to:")]);
        }
        let text = line.to_string();
        let (time, happened) = text.split_once(' ').unwrap_or((&text, ""));
        table.push(vec![time.to_string(), happened.trim_start().to_string()]);
    }
    format!("{heading} Each line was caused by the one below it.\n\n{}", table.render())
}

/// Most lines of what did not happen.
const BESIDE_MAX: usize = 10;

/// What did not happen, newest last; nothing when there is none.
fn render_beside(heading: &'static str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let left_out = lines.len().saturating_sub(BESIDE_MAX);
    let mut table = Table::new(&["TIME", heading]);
    if left_out > 0 {
        table.push(vec!["...".to_string(), format!("{left_out} more before")]);
    }
    for line in &lines[left_out..] {
        let (time, what) = line.split_once(' ').unwrap_or((line, ""));
        table.push(vec![time.to_string(), what.to_string()]);
    }
    format!("\n{}", table.render())
}

fn heading(object: &str, asked: &str, explanation: &Explanation) -> String {
    let ChainLine { time, actor, phrase, .. } = &explanation.chain[0];
    let what = match explanation.start {
        Start::Write => "change of",
        Start::Failure => "decision about",
        Start::Other => return format!("Nothing changed {object} until {asked}; it was last heard of at {time}."),
    };
    format!("The last {what} {object} until {asked}: {actor} {phrase} it at {time}.")
}
