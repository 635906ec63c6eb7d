//! `kubesim why`: the chain of causes behind an object.

use super::args::WhyArguments;
use super::exit::Exit;

/// Prints the chain.
///
/// # Errors
/// The folder holds no trace, or the object is not in it.
pub fn run(_arguments: &WhyArguments) -> anyhow::Result<Exit> {
    Ok(Exit::Done)
}
