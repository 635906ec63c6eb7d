//! `kubesim check`: everything that is wrong with files, and what they hold, without a run.

use std::io;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};

use super::args::{Format, InputArguments};
use super::exit::Exit;
use super::{data, has_color, print, print_error};
use crate::report::summary::API_VERSION;
use crate::scenario::diagnostic::{Diagnostic, Diagnostics, Severity};
use crate::scenario::examine::{self, Found, Group};

/// `kind` of what is printed as data.
const KIND: &str = "CheckResult";

/// Examples in the help.
pub const EXAMPLES: &str = "  \
# Is this scenario fine, with the files that it includes?
  kubesim check scenarios/dropped-watch-event.yaml

  # Check all manifests of a folder, and what a command prints
  kubesim check manifests/
  kubectl get all -o yaml | kubesim check -

  # Every problem as data: code, file, line, column, path, message, help
  kubesim check app.yaml -o json

  # What the codes of problems mean stands in docs/errors.md";

/// Arguments of `kubesim check`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct CheckArguments {
    /// Files, folders and patterns, read as `kubesim run` reads them; - is standard input. Where several files hold a
    /// Scenario, each file is checked by itself
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What to print: table for people, json or yaml for scripts
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value = "table", hide_possible_values = true)]
    pub output: Format,
    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub input: InputArguments,
}

/// Checks files and prints what was found.
///
/// # Errors
/// What was found cannot be printed.
pub fn check(arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let groups = examine::groups(&arguments.files, &arguments.input.overrides());
    match arguments.output {
        Format::Json => print(&data::to_json(&value(&groups))?)?,
        Format::Yaml => print(&data::to_yaml(&value(&groups))?)?,
        Format::Table => {
            let problems = worth_showing(&groups, arguments.quiet);
            if !problems.is_empty() {
                print_error(&(problems.render(has_color(&io::stderr())) + "\n"));
            }
            if !arguments.quiet {
                let notices = groups.iter().flat_map(notices_without_code);
                notices.for_each(|notice| print_error(&format!("notice: {notice}")));
                print(&groups.iter().map(|group| line(group) + "\n").collect::<String>())?;
            }
        }
    }
    let is_fine = groups.iter().all(|group| !group.examined.problems.has_errors());
    Ok(if is_fine { Exit::Done } else { Exit::BadInput })
}

/// The problems of all groups; one that several groups share (a file that two scenarios include) is shown once.
fn worth_showing(groups: &[Group], quiet: bool) -> Diagnostics {
    let mut all = Diagnostics::default();
    let problems = groups.iter().flat_map(|group| group.examined.problems.iter());
    all.extend(problems.filter(|problem| !quiet || problem.severity == Severity::Error).cloned());
    all
}

/// Notices that came from the meaning of the whole rather than from a place.
fn notices_without_code(group: &Group) -> impl Iterator<Item = &String> {
    let coded = |notice: &String| group.examined.problems.iter().any(|problem| problem.message == *notice);
    group.examined.notices.iter().filter(move |notice| !coded(notice))
}

/// `app.yaml: fine: 1 scenario, 12 objects of 4 kinds`.
fn line(group: &Group) -> String {
    let name = match group.files.as_slice() {
        [] => "(no file)".to_string(),
        [file] => file.clone(),
        [first, others @ ..] => format!("{first} and {}", counted(others.len(), "more file")),
    };
    let problems = &group.examined.problems;
    let errors = problems.iter().filter(|problem| problem.severity == Severity::Error).count();
    match errors {
        0 => format!("{name}: fine: {}", contents(&group.examined.found)),
        _ => {
            let codes =
                problems.iter().filter(|problem| problem.severity == Severity::Error).map(|problem| problem.code);
            let first = codes.min().unwrap_or_default();
            format!("{name}: {}; `kubesim explain {first}` tells more of a code", counted(errors, "error"))
        }
    }
}

fn contents(found: &Found) -> String {
    let mut parts = Vec::new();
    if found.scenarios > 0 {
        parts.push(counted(found.scenarios, "scenario"));
    }
    match found.object_count() {
        0 if parts.is_empty() => parts.push("no object".to_string()),
        0 => {}
        count => parts.push(format!("{} of {}", counted(count, "object"), counted(found.objects.len(), "kind"))),
    }
    parts.join(", ")
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// What was found, as data.
fn value(groups: &[Group]) -> Value {
    let group = |group: &Group| {
        let examined = &group.examined;
        let mut problems: Vec<Value> = examined.problems.iter().map(problem).collect();
        problems.extend(notices_without_code(group).map(|notice| {
            json!({"severity": "notice", "code": null, "file": null, "line": null, "column": null, "path": null,
                   "message": notice, "help": null})
        }));
        json!({
            "files": group.files,
            "fine": !examined.problems.has_errors(),
            "scenarios": examined.found.scenarios,
            "objects": examined.found.objects,
            "problems": problems,
        })
    };
    let is_fine = groups.iter().all(|group| !group.examined.problems.has_errors());
    json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "fine": is_fine,
        "groups": groups.iter().map(group).collect::<Vec<_>>(),
    })
}

fn problem(problem: &Diagnostic) -> Value {
    let severity = match problem.severity {
        Severity::Error => "error",
        Severity::Notice => "notice",
    };
    let place = problem.place.as_ref();
    json!({
        "severity": severity,
        "code": problem.code,
        "file": place.map(|(source, _)| &source.file),
        "line": place.map(|(_, mark)| mark.line),
        "column": place.map(|(_, mark)| mark.column),
        "path": (!problem.path.is_empty()).then_some(&problem.path),
        "message": problem.message,
        "help": problem.help,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_counted_in_words() {
        let found = |scenarios, objects: &[(&str, usize)]| Found {
            scenarios,
            objects: objects.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
        };
        assert_eq!(contents(&found(1, &[("Pod", 1)])), "1 scenario, 1 object of 1 kind");
        assert_eq!(contents(&found(0, &[("Pod", 3), ("Service", 9)])), "12 objects of 2 kinds");
        assert_eq!(contents(&found(2, &[])), "2 scenarios");
    }
}
