//! The command line: its words, and help that reads like kubectl's.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::inspect::arguments::{self, InstantArguments};
use crate::model::Span;
use crate::rules::go_duration;
use crate::scenario::Overrides;

const TOP_TEMPLATE: &str = "{about-with-newline}\nCommands:\n{subcommands}\n\nOptions:\n{options}\n\nUsage:\n  {usage}\n\n\
Use \"kubesim <command> --help\" for more information about a given command.\n";
const COMMAND_TEMPLATE: &str =
    "{about-with-newline}\nExamples:\n{before-help}Options:\n{options}\n\nUsage:\n  {usage}\n";

const RUN_EXAMPLES: &str = "  \
# Run a scenario; results go to output/dropped-watch-event
  kubesim run scenarios/dropped-watch-event.yaml

  # Run manifests as they are, with another seed, for ten minutes of virtual time
  kubesim run app.yaml --seed=7 --until=10m

  # Read a scenario and its manifests from several files, and print the result as data
  kubesim run scenario.yaml manifests/ -o json";
const SWEEP_EXAMPLES: &str = "  \
# Run every point of spec.sweep as often as the scenario says; results go to output/sweep-workers-sweep
  kubesim sweep scenarios/sweep-workers.yaml

  # More replications, another seed, on two threads
  kubesim sweep scenarios/sweep-workers.yaml --replications=50 --seed=7 --threads=2

  # Means, intervals and the best point as data
  kubesim sweep scenarios/sweep-workers.yaml -o json";
const WHY_EXAMPLES: &str = "  \
# Why did this pod come to be as it is?
  kubesim why pod/api-7d4b9c-x2k8p output/quickstart

  # Why was the Deployment as it was three minutes after the start?
  kubesim why deployment/api --at=3m --in=output/quickstart

  # The same in a variant of a scenario, and in another namespace
  kubesim why shop/deployment/web --in=output/dropped-watch-event --variant=relist";

/// kubesim simulates the control plane of a Kubernetes cluster on a virtual clock and says why things happen.
#[derive(Parser, Debug)]
#[command(
    name = "kubesim",
    version,
    help_template = TOP_TEMPLATE,
    override_usage = "kubesim <command> [options]",
    disable_help_subcommand = true
)]
pub struct Arguments {
    /// What to do; without it help is printed.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run a scenario, print what became of it and write the results
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim run FILE... [options]",
        before_help = RUN_EXAMPLES,
        next_line_help = true
    )]
    Run(RunArguments),
    /// Run every point of a scenario's sweep, with statistics and charts over all of them
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim sweep FILE... [options]",
        before_help = SWEEP_EXAMPLES,
        next_line_help = true
    )]
    Sweep(SweepArguments),
    /// Print the chain of causes behind an object of a finished run
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim why [NAMESPACE/]KIND/NAME (DIR | --in=DIR) [options]",
        before_help = WHY_EXAMPLES,
        next_line_help = true
    )]
    Why(WhyArguments),
    /// Print why a pod of a finished run is on its node, or on none
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim explain [NAMESPACE/]pod/NAME (DIR | --in=DIR) [options]\n       kubesim explain CODE",
        before_help = super::explain::EXAMPLES,
        next_line_help = true
    )]
    Explain(super::explain::ExplainArguments),
    /// Print objects of a finished run, at its end or at any instant
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim get TYPE[,TYPE...] [NAME... | -l SELECTOR] (DIR | --in=DIR) [options]",
        before_help = arguments::GET_EXAMPLES,
        next_line_help = true
    )]
    Get(arguments::GetArguments),
    /// Print objects of a finished run in words, with their events
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim describe TYPE [NAME... | -l SELECTOR] (DIR | --in=DIR) [options]",
        before_help = arguments::DESCRIBE_EXAMPLES,
        next_line_help = true
    )]
    Describe(arguments::DescribeArguments),
    /// Print the events of a finished run in order of time
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim events (DIR | --in=DIR) [options]",
        before_help = arguments::EVENTS_EXAMPLES,
        next_line_help = true
    )]
    Events(arguments::EventsArguments),
    /// Say what files hold and what is wrong with them, without running anything
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim check FILE... [options]",
        before_help = super::check::EXAMPLES,
        next_line_help = true
    )]
    Check(super::check::CheckArguments),
    /// Write a commented scenario to start from
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim new NAME",
        before_help = super::new::EXAMPLES,
        next_line_help = true
    )]
    New(super::new::NewArguments),
    /// Print the JSON Schema of a Scenario, with which editors complete and check it
    #[command(
        help_template = COMMAND_TEMPLATE,
        override_usage = "kubesim schema",
        before_help = super::schema::EXAMPLES,
        next_line_help = true
    )]
    Schema(super::schema::SchemaArguments),
}

/// What every command that reads a scenario may change about it.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct InputArguments {
    /// Nodes of the cluster, instead of the scenario's: COUNTxCPUcpu,MEMORY, for example 5x8cpu,32Gi
    #[arg(long, value_name = "NODES")]
    pub nodes: Option<String>,
    /// Set a value of the scenario or of a manifest, for example spec.model.resync=relist or
    /// deployment/api:spec.replicas=5; may be given several times. What the grid of a sweep sets counts more
    #[arg(long, value_name = "PATH=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Let the scenario name files outside its own folder
    #[arg(long)]
    pub allow_outside: bool,
}

impl InputArguments {
    /// What they change.
    pub fn overrides(&self) -> Overrides {
        Overrides {
            nodes: self.nodes.clone(),
            set: self.set.clone(),
            allow_outside: self.allow_outside,
            ..Overrides::default()
        }
    }
}

/// What every command that simulates takes.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct SimulationArguments {
    /// Files, folders and patterns with at most one Scenario, and any manifests; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Seed of all random draws, instead of the scenario's (which is 0 if it names none)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Stop after this much virtual time, for example 90s or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub until: Option<Span>,
    /// Stop each run after this many events of the simulation; its results are then marked partial
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub event_budget: Option<u64>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArguments,
    /// Folder for the results, by default output/NAME, of a sweep output/NAME-sweep. A folder of earlier results is
    /// replaced, any other that is not empty is refused
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What to print: table for people, json or yaml for scripts
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "table", hide_possible_values = true)]
    pub output: Format,
    /// Print only errors, and of a run the expectations that are not met
    #[arg(short, long)]
    pub quiet: bool,
}

impl SimulationArguments {
    /// What they change about the scenario.
    pub fn overrides(&self) -> Overrides {
        Overrides { seed: self.seed, until: self.until, ..self.input.overrides() }
    }
}

/// Arguments of `kubesim run`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct RunArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArguments,
    /// Replication of a sweep that is to be run again; with another number the same scenario has other luck
    #[arg(long, value_name = "N")]
    pub replication: Option<u64>,
    /// Print the resolved scenario, every default filled in, and run nothing; the text is a scenario itself
    #[arg(long)]
    pub explain_defaults: bool,
}

/// Arguments of `kubesim sweep`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct SweepArguments {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub simulation: SimulationArguments,
    /// Runs of each point, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub replications: Option<u64>,
    /// Threads to run on, by default as many as the machine has; the results are the same for any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
}

/// Arguments of `kubesim why`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct WhyArguments {
    /// The object, as kubectl names it
    #[arg(value_name = "[NAMESPACE/]KIND/NAME")]
    pub object: String,
    /// Folder of the results
    #[arg(value_name = "DIR", required_unless_present = "folder", conflicts_with = "folder")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub instant: InstantArguments,
    /// Namespace of the object, default if left out
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// Show at most this many lines; the root is always there, 0 shows all
    #[arg(long, value_name = "N", default_value_t = 30)]
    pub limit: usize,
}

/// How a result is printed.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// For people.
    Table,
    /// For scripts.
    Json,
    /// For scripts.
    Yaml,
}

/// `PATH=VALUE` of `--set`.
fn setting(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("must be PATH=VALUE")?;
    if path.is_empty() { Err("the path is empty".to_string()) } else { Ok((path.to_string(), value.to_string())) }
}

/// Reads a Go duration that is not negative.
///
/// # Errors
/// What is wrong with it.
pub(super) fn duration(text: &str) -> Result<Span, String> {
    match go_duration::parse(text) {
        Ok(ns) if ns >= 0 => Ok(Span(ns)),
        Ok(_) => Err("must not be negative".to_string()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn times_are_go_durations() {
        assert_eq!(duration("1m30s"), Ok(Span::from_seconds(90)));
        assert!(duration("-1s").is_err() && duration("3").is_err());
    }

    #[test]
    fn every_option_and_command_is_shown_in_help() {
        let mut top = Arguments::command();
        let shown = top.render_help().to_string();
        for command in top.get_subcommands_mut() {
            assert!(shown.contains(command.get_name()));
            let help = command.render_help().to_string();
            assert!(help.contains("Examples:") && help.contains("Options:") && help.contains("Usage:"), "{help}");
            for option in command.get_opts() {
                let long = option.get_long().unwrap();
                assert!(!option.is_hide_set() && help.contains(&format!("--{long}")), "{long}");
            }
        }
    }
}
