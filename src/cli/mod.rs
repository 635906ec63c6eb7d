//! The command line: the only room that prints, reads wall time, or uses anyhow.
//!
//! [`args`] (its words) and slips in them ([`slips`]); a file a subcommand ([`run`], [`sweep`], [`why`], [`explain`],
//! [`get`], [`describe`](mod@describe), [`events`], [`check`](mod@check), [`new`](mod@new), [`schema`](mod@schema)); asking
//! a finished run ([`inspect`], [`columns`]); what runs print ([`result`], [`sweep_result`], [`data`], [`workloads`],
//! [`reasons`], [`table`]); how far a run is ([`progress`]), and how the program ends ([`exit`], [`bug`]).

pub mod args;
mod autoscaler_row;
pub mod bug;
pub mod check;
pub mod columns;
pub mod data;
pub mod describe;
pub mod events;
pub mod exit;
pub mod explain;
pub mod get;
pub mod inspect;
pub mod new;
pub mod progress;
pub mod reasons;
pub mod result;
pub mod run;
pub mod schema;
pub mod slips;
pub mod sweep;
pub mod sweep_result;
pub mod table;
pub mod why;
pub mod workloads;

use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::{CommandFactory, Parser};

use self::args::{Arguments, Command};
use self::bug::BugReport;
use self::exit::Exit;
use crate::scenario::Diagnostics;

/// Runs the program with a command line, its own name first.
pub fn main(command_line: impl IntoIterator<Item = OsString>) -> Exit {
    let report = BugReport::default();
    report.guard(|| {
        let arguments = match Arguments::try_parse_from(command_line) {
            Ok(arguments) => arguments,
            // Help and version are no mistakes; clap gives them 0 and mistakes 2, as we do.
            Err(answer) => {
                let is_mistake = answer.use_stderr();
                if let Some(text) = slips::unknown_command(&answer) {
                    print_error(&text);
                    return Exit::BadInput;
                }
                // A closed terminal is nobody's mistake.
                let _ = answer.print();
                return if is_mistake { Exit::BadInput } else { Exit::Done };
            }
        };
        let done = match &arguments.command {
            Some(Command::Run(arguments)) => run::run(arguments, &report),
            Some(Command::Sweep(arguments)) => sweep::run(arguments),
            Some(Command::Why(arguments)) => why::run(arguments),
            Some(Command::Explain(arguments)) => explain::run(arguments),
            Some(Command::Get(arguments)) => get::run(arguments),
            Some(Command::Describe(arguments)) => describe::run(arguments),
            Some(Command::Events(arguments)) => events::run(arguments),
            Some(Command::Check(arguments)) => check::check(arguments),
            Some(Command::New(arguments)) => new::new(arguments),
            Some(Command::Schema(arguments)) => schema::schema(arguments),
            None => print(&Arguments::command().render_help().to_string()).map(|()| Exit::Done),
        };
        done.unwrap_or_else(|error| {
            print_error(&in_words(&error));
            Exit::of(&error)
        })
    })
}

/// An error as people read it; problems of a scenario are shown with their places.
fn in_words(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Diagnostics>() {
        Some(problems) => problems.render(has_color(&io::stderr())),
        None if error.to_string().starts_with("Error from server") => error.to_string(),
        None => format!("error: {error:#}"),
    }
}

/// Whether colours are wanted on a stream: on a terminal, unless NO_COLOR says otherwise.
fn has_color(stream: &impl IsTerminal) -> bool {
    #[allow(clippy::disallowed_methods, reason = "NO_COLOR changes what people see, and no result")]
    let is_off = std::env::var("NO_COLOR").is_ok_and(|value| !value.is_empty());
    stream.is_terminal() && !is_off
}

/// Prints a result. A reader that has seen enough (`| head`) is no error.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints what went wrong, or what is worth knowing, apart from results.
fn print_error(text: &str) {
    // When even this fails there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
