//! How the program ends: the codes that scripts rely on.

use std::process::ExitCode;

use crate::experiment::single::RunError;
use crate::report::OutputError;

/// How the program ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// All done, and every expectation was met.
    Done,
    /// The run is complete, but an expectation was not met.
    ExpectationFailed,
    /// The input or the command line cannot be used; nothing was written.
    BadInput,
    /// A budget or a full disk stopped the run.
    Stopped,
    /// A bug of ours.
    Bug,
}

impl Exit {
    /// The number that a shell sees.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ExpectationFailed => 1,
            Exit::BadInput => 2,
            Exit::Stopped => 3,
            Exit::Bug => 70,
        }
    }

    /// The end that an error leads to: a full disk is nobody's mistake, everything else is in the input.
    pub fn of(error: &anyhow::Error) -> Exit {
        let output = match error.downcast_ref::<RunError>() {
            Some(RunError::Output(output)) => Some(output),
            // We drew it: the user can do nothing about it.
            Some(RunError::Chart(_)) => return Exit::Bug,
            _ => error.downcast_ref::<OutputError>(),
        };
        match output {
            Some(output) if output.is_disk_full() => Exit::Stopped,
            _ => Exit::BadInput,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use super::*;

    #[test]
    fn a_full_disk_stops_a_run_and_other_errors_are_bad_input() {
        let io = |kind| OutputError::Io { action: "cannot write", path: "out".into(), source: Error::from(kind) };
        assert_eq!(Exit::of(&io(ErrorKind::StorageFull).into()), Exit::Stopped);
        assert_eq!(Exit::of(&RunError::Output(io(ErrorKind::QuotaExceeded)).into()), Exit::Stopped);
        assert_eq!(Exit::of(&io(ErrorKind::PermissionDenied).into()), Exit::BadInput);
        assert_eq!(Exit::of(&OutputError::NotOurs("out".into()).into()), Exit::BadInput);
        assert_eq!(Exit::of(&anyhow::anyhow!("no such file")), Exit::BadInput);
    }
}
