//! `kubesim why`: the chain of causes behind an object, from the trace of a finished run.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use serde_json::Value;

use super::args::WhyArguments;
use super::exit::Exit;
use super::print;
use super::table::Table;
use crate::model::Span;
use crate::report::chain::{self, ChainLine};
use crate::report::summary::FILE_NAME;
use crate::report::why::{self, Explanation, Rows, Start};
use crate::rules::suggest;
use crate::scenario::references;

const TRACE: &str = "trace.csv";

/// Prints the chain, last record first.
///
/// # Errors
/// The object's name cannot be read, the folder holds no trace, or the object is not in it.
pub fn run(arguments: &WhyArguments) -> anyhow::Result<Exit> {
    let object = references::parse_object(&arguments.object).map_err(|(message, help)| match help {
        Some(help) => anyhow!("{message} ({help})"),
        None => anyhow!(message),
    })?;
    let folder = arguments.dir.as_deref().or(arguments.folder.as_deref()).context("no folder is given")?;
    let (path, end) = trace_of(folder, arguments.variant.as_deref())?;
    if let (Some(at), Some(end)) = (arguments.at, end)
        && at > end
    {
        bail!("the run ended at {end}, before {at}");
    }
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = Rows::read(BufReader::new(file)).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let explanation = why::explain(&rows, object.kind, &object.namespace, &object.name, arguments.at)
        .map_err(|problem| anyhow!(problem))?;
    let asked = arguments.at.map_or("the end of the run".to_string(), |at| at.to_string());
    print(&render(&object.to_string(), &asked, explanation, arguments.limit))?;
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

fn heading(object: &str, asked: &str, explanation: &Explanation) -> String {
    let ChainLine { time, actor, phrase, .. } = &explanation.chain[0];
    let what = match explanation.start {
        Start::Write => "change of",
        Start::Failure => "decision about",
        Start::Other => return format!("Nothing changed {object} until {asked}; it was last heard of at {time}."),
    };
    format!("The last {what} {object} until {asked}: {actor} {phrase} it at {time}.")
}

/// The trace in a folder of results, its own or that of a variant, and how long its run was.
fn trace_of(folder: &Path, variant: Option<&str>) -> anyhow::Result<(PathBuf, Option<Span>)> {
    let summary = match fs::read(folder.join(FILE_NAME)) {
        Ok(text) => serde_json::from_slice::<Value>(&text).unwrap_or_default(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{} holds no results of kubesim: run a scenario first", folder.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let variants: Vec<&str> =
        summary["variants"].as_array().into_iter().flatten().filter_map(|one| one["variant"].as_str()).collect();
    let end = |one: &Value| one["simulated_seconds"].as_f64().map(|seconds| Span((seconds * 1e9).round() as i64));
    let of_variant = |name: &str| summary["variants"].as_array()?.iter().find(|one| one["variant"] == name);
    match variant {
        None if variants.is_empty() => Ok((folder.join(TRACE), end(&summary))),
        None => bail!("{} holds the variants {}: name one with --variant", folder.display(), variants.join(", ")),
        Some(name) if variants.contains(&name) => Ok((folder.join(name).join(TRACE), of_variant(name).and_then(end))),
        Some(name) if variants.is_empty() => bail!("{} holds no variants, and no `{name}`", folder.display()),
        Some(name) => {
            let help = suggest::help(name, variants.iter().copied());
            let help = help.unwrap_or_else(|| format!("there are {}", variants.join(", ")));
            bail!("{} holds no variant `{name}` ({help})", folder.display())
        }
    }
}
