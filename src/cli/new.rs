//! `kubesim new`: a scenario to start from.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

use anyhow::Context;
use clap::Args;

use super::exit::Exit;
use super::print;
use crate::rules::names;

/// Examples in the help.
pub const EXAMPLES: &str = "  \
# Write spike.yaml, a scenario that runs, with a comment on everything in it
  kubesim new spike

  # Only show it
  kubesim new -";

/// The scenario; `NAME` stands for its name.
const STARTER: &str = include_str!("starter.yaml");
/// Name when it is only shown.
const EXAMPLE_NAME: &str = "example";

/// Arguments of `kubesim new`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct NewArguments {
    /// Name of the scenario: NAME.yaml is written in the current folder, never over a file that is there; - prints it
    #[arg(value_name = "NAME")]
    pub name: String,
}

/// Writes the starter scenario.
///
/// # Errors
/// The name cannot be used, or the file is there already or cannot be written.
pub fn new(arguments: &NewArguments) -> anyhow::Result<Exit> {
    let name = arguments.name.as_str();
    if name == "-" {
        print(&text(EXAMPLE_NAME))?;
        return Ok(Exit::Done);
    }
    if !names::is_dns_subdomain(name) {
        let usable = suggestion(name).map_or(String::new(), |usable| format!("; for example `{usable}`"));
        anyhow::bail!(
            "`{name}` cannot be a name: names have lower-case letters, digits, `-` and `.`, and begin and end with a \
             letter or digit{usable}"
        );
    }
    let path = format!("{name}.yaml");
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = match file {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            anyhow::bail!("{path} is there already and is left as it is: take another name")
        }
        other => other.with_context(|| format!("cannot write {path}"))?,
    };
    file.write_all(text(name).as_bytes()).with_context(|| format!("cannot write {path}"))?;
    print(&format!("{path} is written; try: kubesim run {path}\n"))?;
    Ok(Exit::Done)
}

fn text(name: &str) -> String {
    STARTER.replace("NAME", name)
}

/// A name that can be used, as near as possible: without the ending and the folder, in small letters.
fn suggestion(name: &str) -> Option<String> {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = last.strip_suffix(".yaml").or_else(|| last.strip_suffix(".yml")).unwrap_or(last);
    let usable: String =
        stem.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let usable = usable.trim_matches(['-', '.']);
    names::is_dns_subdomain(usable).then(|| usable.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_cannot_be_used_have_a_neighbour_that_can() {
        for (name, usable) in [("My App", Some("my-app")), ("../x.yaml", Some("x")), ("a_b", Some("a-b")), ("?", None)]
        {
            assert_eq!(suggestion(name).as_deref(), usable, "{name}");
        }
    }

    #[test]
    fn the_name_is_put_in_everywhere() {
        assert!(text("spike").contains("metadata: {name: spike}") && !text("spike").contains("NAME"));
    }
}
