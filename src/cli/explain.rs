//! `kubesim explain`: why a pod is on its node, or on none.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::args::Format;
use super::exit::Exit;
use super::inspect::arguments::InstantArguments;
use super::table::Table;
use super::{data, inspect, print, print_error};
use crate::experiment::explain::ask;
use crate::experiment::replay::Replay;
use crate::model::{Kind, Span};
use crate::plot::png::Renderer;
use crate::plot::score_bars;
use crate::report::explain;
use crate::report::explain::{Attempt, Explanation, Line, Out};
use crate::report::explain_chart;
use crate::rules::suggest;
use crate::scenario::diagnostic::CODES;
use crate::scenario::references::ObjectRef;

/// Examples in its help.
pub const EXAMPLES: &str = "  \
# Why is this pod where it is?
  kubesim explain pod/ml-training output/ml-training --variant=base

  # Why had it no node a minute after the start?
  kubesim explain pod/ml-training --at=1m --in=output/ml-training --variant=full

  # The same as a picture
  kubesim explain pod/ml-training output/ml-training --variant=base --chart=why.png

  # What does the code of an error mean?
  kubesim explain E0011

  # Every attempt to find a node, as data
  kubesim explain shop/pod/web-0 output/shop --all -o json";

/// Most pods that a message names.
const PODS_SHOWN: usize = 5;

/// Arguments of `kubesim explain`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct ExplainArguments {
    /// The pod, or the code of an error
    #[arg(value_name = "[NAMESPACE/]pod/NAME | CODE")]
    pub object: String,
    /// Folder of the results
    #[arg(value_name = "DIR", conflicts_with = "folder")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub instant: InstantArguments,
    /// Namespace of the pod, default if left out
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Show every attempt to find a node, not only the last
    #[arg(long)]
    pub all: bool,
    /// Show at most this many nodes a table; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub limit: usize,
    /// Draw the last attempt: the scores of the nodes that fit, and who kept the others out (.svg or .png)
    #[arg(long, value_name = "FILE")]
    pub chart: Option<PathBuf>,
    /// What to print: table for people, json or yaml for scripts
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "table", hide_possible_values = true)]
    pub output: Format,
}

/// Repeats the run up to the instant and prints what its scheduler thought of the pod.
///
/// # Errors
/// The pod's name cannot be read, the folder holds no run, or there is no such pod.
pub fn run(arguments: &ExplainArguments) -> anyhow::Result<Exit> {
    if let Some(text) = explain_code(&arguments.object)? {
        return print(&text).map(|()| Exit::Done);
    }
    let folder = arguments.instant.folder_or(arguments.dir.as_deref())?;
    let replay = Replay::open(folder, arguments.instant.variant.as_deref())?;
    let object = inspect::object(&arguments.object, arguments.namespace.as_deref(), &replay.plan.kinds)?;
    if object.kind != Kind::Pod {
        bail!(
            "{object} is no pod, and the scheduler looks at pods only{}",
            pods_of(&object, &replay, arguments.instant.at)?
        );
    }
    let (observed, past) = ask(replay, &object.namespace, &object.name, arguments.instant.at)?;
    if let Some(notice) = &past.notice {
        print_error(&format!("notice: {notice}"));
    }
    let asked = arguments.instant.at.map_or("the end of the run".to_string(), |at| at.to_string());
    let Some(explanation) = explain::explain(&observed, arguments.all) else {
        let pods = past.world.api().truth().iter(Kind::Pod).map(|pod| pod.key());
        let names: Vec<String> =
            pods.filter(|pod| pod.namespace == *object.namespace).map(|pod| pod.name.to_string()).collect();
        let elsewhere = past.world.api().truth().iter(Kind::Pod).map(|pod| pod.key());
        let elsewhere = elsewhere.filter(|pod| pod.name == *object.name).map(|pod| pod.namespace.to_string()).next();
        let elsewhere = elsewhere.map(|namespace| format!("namespace {namespace} has one: -n {namespace}"));
        let help = elsewhere.or_else(|| suggest::help(&object.name, names.iter().map(String::as_str)));
        let help = help.map_or_else(String::new, |help| format!(" ({help})"));
        bail!("there is no {object} at {asked}, and none came to the scheduler{help}");
    };
    if let Some(file) = &arguments.chart {
        draw(file, &explanation, &object.to_string(), &asked, arguments.limit)?;
    }
    let value = || serde_json::to_value(&explanation).context("cannot write the answer as data");
    print(&match arguments.output {
        Format::Table => render(&explanation, &object.to_string(), &asked, arguments.limit),
        Format::Json => data::to_json(&value()?)?,
        Format::Yaml => data::to_yaml(&value()?)?,
    })?;
    Ok(Exit::Done)
}

/// Draws the last attempt into a file; its ending says how.
fn draw(file: &Path, explanation: &Explanation, object: &str, asked: &str, limit: usize) -> anyhow::Result<()> {
    let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    if !["svg", "png"].contains(&ending.as_str()) {
        bail!("{} ends in neither .svg nor .png: charts are drawn as these", file.display());
    }
    let bars = explain_chart::bars(explanation, object, asked, limit);
    let bars = bars.with_context(|| format!("there is no attempt to draw: {}", explanation.conclusion))?;
    let svg = score_bars::draw(&bars);
    let bytes = match ending.as_str() {
        "svg" => svg.into_bytes(),
        _ => Renderer::default().png(&svg)?,
    };
    fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

/// What there is to say about the code of an error; `None` if the word is none.
fn explain_code(word: &str) -> anyhow::Result<Option<String>> {
    let is_code =
        word.len() == 5 && word.starts_with(['E', 'e']) && word[1..].bytes().all(|byte| byte.is_ascii_digit());
    if !is_code {
        return Ok(None);
    }
    let found = CODES.iter().find(|info| info.text.eq_ignore_ascii_case(word));
    let last = CODES.last().map_or("", |info| info.text);
    let info = found.with_context(|| format!("there is no code {word}: they go from E0001 to {last}"))?;
    Ok(Some(format!("{}: {}\n\n{}\n\n{}\n", info.text, info.title, info.meaning, info.way_out)))
}

/// ` (its pods: a, b)`, for what has pods: those whose name begins with its own.
fn pods_of(object: &ObjectRef, replay: &Replay, at: Option<Span>) -> anyhow::Result<String> {
    let past = replay.until(at.unwrap_or(replay.length))?;
    let prefix = format!("{}-", object.name);
    let pods = past.world.api().truth().iter(Kind::Pod).map(|pod| pod.key());
    let mut own: Vec<String> = pods
        .filter(|pod| pod.namespace == *object.namespace && pod.name.as_str().starts_with(&prefix))
        .map(|pod| format!("pod/{}", pod.name))
        .collect();
    own.sort();
    let more = if own.len() > PODS_SHOWN { ", ..." } else { "" };
    own.truncate(PODS_SHOWN);
    Ok(if own.is_empty() { String::new() } else { format!(" (its pods: {}{more})", own.join(", ")) })
}

/// The answer as people read it. Tables show at most `limit` nodes each; 0 shows all.
pub fn render(explanation: &Explanation, object: &str, asked: &str, limit: usize) -> String {
    let mut text = format!("{object} at {asked}: {}\n", explanation.conclusion);
    if !explanation.waits_for.is_empty() {
        let mut table = Table::new(&["WAITS WITH", "FOR"]);
        for waits in &explanation.waits_for {
            table.push(vec![waits.plugin.to_string(), waits.events.to_string()]);
        }
        text.push('\n');
        text.push_str(&table.render());
    }
    if !explanation.before.is_empty() {
        text.push_str(if explanation.attempts.is_empty() { "\nNo attempt was made:\n" } else { "\nBefore:\n" });
        text.push_str(&lines(&explanation.before));
    }
    let untold = explanation.attempt_count - explanation.attempts.len();
    if untold > 0 {
        let attempts = if untold == 1 { "attempt is" } else { "attempts are" };
        text.push_str(&format!("({untold} earlier {attempts} not shown; --all shows every attempt.)\n"));
    }
    for attempt in &explanation.attempts {
        text.push('\n');
        text.push_str(&render_attempt(attempt, limit));
    }
    text
}

fn lines(lines: &[Line]) -> String {
    let width = lines.iter().map(|line| line.time.to_string().chars().count()).max().unwrap_or(0);
    lines.iter().map(|line| format!("  {:<width$}   {}\n", line.time.to_string(), line.text)).collect()
}

fn render_attempt(attempt: &Attempt, limit: usize) -> String {
    let Attempt { number, time, nodes, evaluated, feasible, .. } = attempt;
    let fit = if *feasible == 1 { "fits" } else { "fit" };
    let mut text = format!("Attempt {number} at {time}: {evaluated} of {nodes} nodes looked at, {feasible} {fit}.\n");
    if let Some(by) = &attempt.pre_filter {
        text.push_str(&format!("No node was looked at, because of {}: {}.\n", by.plugin, by.reason));
    }
    if attempt.excluded > 0 {
        let plugins = attempt.narrowed_by.join(" and ");
        let names = if attempt.narrowed_by.len() == 1 { "names" } else { "name" };
        let left_out = attempt.excluded;
        text.push_str(&format!(
            "{plugins} {names} the only nodes that come into question, which leaves {left_out} out.\n"
        ));
    }
    let unseen = attempt.nodes - attempt.excluded - attempt.evaluated;
    if let Some(node) = &attempt.nominated {
        text.push_str(&format!("It is nominated to {node}, which still fits: the others were not asked.\n"));
    } else if attempt.chosen.is_some() && unseen > 0 {
        let nodes = if unseen == 1 { "node was" } else { "nodes were" };
        text.push_str(&format!("{unseen} {nodes} not looked at: enough others fit.\n"));
    }
    if !attempt.out.is_empty() {
        text.push_str("\nOut:\n");
        text.push_str(&render_out(&attempt.out, limit));
    }
    match (attempt.scores.is_empty(), &attempt.chosen) {
        (false, _) => {
            text.push_str("\nFit (weight x score):\n");
            text.push_str(&render_scores(attempt, limit));
        }
        (true, Some(chosen)) => text.push_str(&format!("\nFits: {chosen}, taken without scores as the only one.\n")),
        (true, None) => {}
    }
    if !attempt.tied.is_empty() {
        let count = attempt.tied.len();
        let taken = match attempt.tie_broken_by {
            Some("name") => "the first by name is taken",
            _ => "a draw takes one",
        };
        text.push_str(&format!("{count} nodes share the highest total; {taken}, Kubernetes takes any.\n"));
    }
    if !attempt.after.is_empty() {
        text.push_str("\nThen:\n");
        text.push_str(&lines(&attempt.after));
    }
    text
}

fn shown(limit: usize, all: usize) -> usize {
    if limit == 0 { all } else { limit.min(all) }
}

fn more(left: usize) -> String {
    if left == 0 { String::new() } else { format!("... and {left} more (--limit=0 shows all)\n") }
}

fn render_out(out: &[Out], limit: usize) -> String {
    let mut table = Table::new(&["NODE", "PLUGIN", "REASON", "BECAUSE"]);
    let count = shown(limit, out.len());
    for node in &out[..count] {
        table.push(vec![node.node.clone(), node.plugin.to_string(), node.reasons.join(", "), node.detail.clone()]);
    }
    table.render() + &more(out.len() - count)
}

fn render_scores(attempt: &Attempt, limit: usize) -> String {
    let names = attempt.score_plugins.iter().map(|plugin| plugin.name);
    let header: Vec<&str> = ["NODE"].into_iter().chain(names).chain(["TOTAL", "", "BECAUSE"]).collect();
    let mut table = Table::new(&header);
    let count = shown(limit, attempt.scores.len());
    for row in &attempt.scores[..count] {
        let scores = attempt.score_plugins.iter().zip(&row.scores);
        let mut cells = vec![row.node.clone()];
        cells.extend(scores.map(|(plugin, score)| format!("{} x {score}", plugin.weight)));
        let chosen = if row.chosen { "chosen" } else { "" };
        cells.extend([row.total.to_string(), chosen.to_string(), row.detail.clone()]);
        table.push(cells);
    }
    table.render() + &more(attempt.scores.len() - count)
}
