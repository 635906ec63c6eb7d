//! The command lines of `get`, `describe` and `events`.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, ValueEnum};

use crate::cli::args::duration;
use crate::model::{Kind, Span};

/// Examples of `kubesim get`.
pub const GET_EXAMPLES: &str = "  \
# The pods at the end of a run, and on which nodes they are
  kubesim get pods -o wide output/quickstart

  # Deployments and ReplicaSets as they were a minute after the start
  kubesim get deploy,rs --at=1m output/quickstart

  # One pod in full, of a variant of a scenario
  kubesim get pod/api-gnkbcbmflp-2v4wd -o yaml --in=output/dropped-watch-event --variant=store";
/// Examples of `kubesim describe`.
pub const DESCRIBE_EXAMPLES: &str = "  \
# A Deployment with its conditions and events
  kubesim describe deployment web output/quickstart

  # A node two minutes after the start, with the pods on it
  kubesim describe node/node-1 --at=2m output/quickstart";
/// Examples of `kubesim events`.
pub const EVENTS_EXAMPLES: &str = "  \
# What happened, in order of time
  kubesim events output/quickstart

  # Only what was wrong with one pod
  kubesim events --for=pod/web-0 --types=Warning output/quickstart";

/// Which instant of which run.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct InstantArguments {
    /// Folder of the results, when it is not the last word
    #[arg(long = "in", value_name = "DIR", id = "folder")]
    pub folder: Option<PathBuf>,
    /// Ask about this instant, counted from the start of the run, for example 3m; by default about its end
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub at: Option<Span>,
    /// Variant of the scenario, where it has several
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
}

impl InstantArguments {
    /// The folder, of a command that takes it as an argument of its own too.
    ///
    /// # Errors
    /// There is none.
    pub fn folder_or<'a>(&'a self, dir: Option<&'a Path>) -> anyhow::Result<&'a Path> {
        dir.or(self.folder.as_deref()).context("no folder is given")
    }
}

/// Which namespaces.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct NamespaceArguments {
    /// Namespace, default if left out
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: Option<String>,
    /// All namespaces
    #[arg(short = 'A', long)]
    pub all_namespaces: bool,
}

impl NamespaceArguments {
    /// The namespace that is asked for; `None` for all, and for kinds without.
    pub fn of(&self, kind: Kind) -> Option<&str> {
        let is_one = kind.info().namespaced && !self.all_namespaces;
        is_one.then(|| self.namespace.as_deref().unwrap_or("default"))
    }
}

/// Arguments of `kubesim get`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct GetArguments {
    /// Types and names as kubectl takes them, then the folder of the results
    #[arg(value_name = "TYPE [NAME...] DIR", required = true)]
    pub words: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub instant: InstantArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub namespaces: NamespaceArguments,
    /// Only objects with these labels, for example app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Only objects with these fields, for example status.phase=Running
    #[arg(long, value_name = "SELECTOR")]
    pub field_selector: Option<String>,
    /// wide for more columns, yaml, json, or name
    #[arg(short, long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub output: Option<GetFormat>,
    /// Leave out the line of headers
    #[arg(long)]
    pub no_headers: bool,
    /// Show labels in the last column
    #[arg(long)]
    pub show_labels: bool,
}

/// How objects are printed, other than in columns.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum GetFormat {
    /// More columns.
    Wide,
    /// The objects themselves.
    Yaml,
    /// The objects themselves.
    Json,
    /// Types and names.
    Name,
}

/// Arguments of `kubesim describe`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct DescribeArguments {
    /// Types and names as kubectl takes them (the beginning of a name is enough), then the folder of the results
    #[arg(value_name = "TYPE [NAME...] DIR", required = true)]
    pub words: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub instant: InstantArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub namespaces: NamespaceArguments,
    /// Only objects with these labels, for example app=web,tier!=cache
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub selector: Option<String>,
    /// Whether events are shown
    #[arg(long, value_name = "true|false", default_value_t = true, action = clap::ArgAction::Set)]
    pub show_events: bool,
}

/// Arguments of `kubesim events`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct EventsArguments {
    /// Folder of the results
    #[arg(value_name = "DIR")]
    pub words: Vec<String>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub instant: InstantArguments,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub namespaces: NamespaceArguments,
    /// Only events about this object, for example pod/web-0
    #[arg(long = "for", value_name = "TYPE/NAME")]
    pub regarding: Option<String>,
    /// Only events of these types: Normal, Warning
    #[arg(long, value_name = "TYPES", value_delimiter = ',')]
    pub types: Vec<String>,
    /// Leave out the line of headers
    #[arg(long)]
    pub no_headers: bool,
}
