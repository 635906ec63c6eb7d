//! What people see of a bug of ours: what broke, where the run was, and how to see it again.

use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Arc, OnceLock};

use super::exit::Exit;
use super::progress::Position;

/// What a report needs to know; shared with the panic hook.
#[derive(Clone, Debug, Default)]
pub struct BugReport(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    position: OnceLock<Arc<Position>>,
    command: OnceLock<String>,
}

impl BugReport {
    /// From now on a panic is reported with the position of this run and with the command that runs it again.
    pub fn watch(&self, position: Arc<Position>, command: String) {
        // A program runs one command: both are set once.
        let _ = self.0.position.set(position);
        let _ = self.0.command.set(command);
    }

    /// Runs the program; a panic is reported on the terminal and ends in [`Exit::Bug`].
    pub fn guard(&self, program: impl FnOnce() -> Exit) -> Exit {
        let report = self.clone();
        panic::set_hook(Box::new(move |info| {
            let (message, place) = described(info);
            super::print_error(&report.render(&message, &place));
        }));
        let exit = panic::catch_unwind(AssertUnwindSafe(program)).unwrap_or(Exit::Bug);
        drop(panic::take_hook());
        exit
    }

    fn render(&self, message: &str, place: &str) -> String {
        let position = match self.0.position.get() {
            Some(position) => format!("\n  at {} or within the thousand events after it", position.of_this_thread()),
            None => String::new(),
        };
        let command = match self.0.command.get() {
            Some(command) => format!("\n  To see it again: {command}"),
            None => String::new(),
        };
        format!(
            "kubesim has a bug: {message}\n  in {place}{position}{command}\n  \
             Please report it with these lines and the files of the scenario."
        )
    }
}

fn described(info: &PanicHookInfo<'_>) -> (String, String) {
    let message = info.payload_as_str().unwrap_or("no message").to_string();
    let place =
        info.location().map_or("an unknown place".to_string(), |place| format!("{}:{}", place.file(), place.line()));
    (message, place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_what_broke_and_how_to_see_it_again() {
        let report = BugReport::default();
        assert_eq!(
            report.render("no such slot", "src/x.rs:7"),
            "kubesim has a bug: no such slot\n  in src/x.rs:7\n  \
             Please report it with these lines and the files of the scenario."
        );
        report.watch(Arc::new(Position::new(&[], false)), "kubesim run a.yaml --seed 0".into());
        let text = report.render("no such slot", "src/x.rs:7");
        assert!(
            text.contains("at seed 0, simulated time 0s, event 0")
                && text.contains("see it again: kubesim run a.yaml --seed 0")
        );
    }
}
