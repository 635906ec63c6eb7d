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
use crate::report::summary::FILE_NAME;
use crate::report::why::{self, ChainLine, Rows};
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
    let path = trace_of(folder, arguments.variant.as_deref())?;
    let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let rows = Rows::read(BufReader::new(file)).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
    let chain = why::explain(&rows, object.kind, &object.namespace, &object.name, arguments.at)
        .map_err(|problem| anyhow!(problem))?;
    let asked = arguments.at.map_or("at the end of the run".to_string(), |at| format!("at {at}"));
    print(&render(&object.to_string(), &asked, &chain))?;
    Ok(Exit::Done)
}

fn render(object: &str, asked: &str, chain: &[ChainLine]) -> String {
    let mut table = Table::new(&["TIME", "WHAT HAPPENED"]);
    for line in chain {
        let text = line.to_string();
        let (time, happened) = text.split_once(' ').unwrap_or((&text, ""));
        table.push(vec![time.to_string(), happened.trim_start().to_string()]);
    }
    format!(
        "The last thing that happened to {object} {asked}; each line was caused by the one below it.\n\n{}",
        table.render()
    )
}

/// The trace in a folder of results: its own, or that of a variant.
fn trace_of(folder: &Path, variant: Option<&str>) -> anyhow::Result<PathBuf> {
    let summary = match fs::read(folder.join(FILE_NAME)) {
        Ok(text) => serde_json::from_slice::<Value>(&text).unwrap_or_default(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{} holds no results of kubesim: run a scenario first", folder.display())
        }
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", folder.display())),
    };
    let variants: Vec<&str> =
        summary["variants"].as_array().into_iter().flatten().filter_map(|one| one["variant"].as_str()).collect();
    match variant {
        None if variants.is_empty() => Ok(folder.join(TRACE)),
        None => bail!("{} holds the variants {}: name one with --variant", folder.display(), variants.join(", ")),
        Some(name) if variants.contains(&name) => Ok(folder.join(name).join(TRACE)),
        Some(name) if variants.is_empty() => bail!("{} holds no variants, and no `{name}`", folder.display()),
        Some(name) => {
            let help = suggest::help(name, variants.iter().copied());
            let help = help.unwrap_or_else(|| format!("there are {}", variants.join(", ")));
            bail!("{} holds no variant `{name}` ({help})", folder.display())
        }
    }
}
