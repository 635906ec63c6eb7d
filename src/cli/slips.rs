//! Slips in the command line that clap does not guess: a command with swapped letters.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use super::args::Arguments;
use crate::rules::suggest;

/// What to say about a command that does not exist; `None` for any other error.
pub fn unknown_command(error: &Error) -> Option<String> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let command = Arguments::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    // Files alone are what people try first.
    let is_file = given.contains(['.', '/']);
    let tip = match suggest::nearest(given, names.iter().copied()) {
        Some(near) => format!("did you mean `kubesim {near}`?"),
        None if is_file => format!("to run a file: kubesim run {given}"),
        None => format!("commands are {}", names.join(", ")),
    };
    Some(format!("error: unknown command `{given}`\n\n  tip: {tip}\n\nFor more information, try 'kubesim --help'."))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn slips_in_commands_are_guessed() {
        for (given, tip) in [
            ("rnu", "did you mean `kubesim run`?"),
            ("chekc", "did you mean `kubesim check`?"),
            ("app.yaml", "to run a file: kubesim run app.yaml"),
            ("banana", "commands are run, sweep, why"),
        ] {
            let error = Arguments::try_parse_from(["kubesim", given]).unwrap_err();
            let text = unknown_command(&error).unwrap();
            assert!(text.contains(tip), "{text}");
        }
        let other = Arguments::try_parse_from(["kubesim", "run", "--banana"]).unwrap_err();
        assert_eq!(unknown_command(&other), None);
    }
}
