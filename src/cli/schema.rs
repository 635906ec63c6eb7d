//! `kubesim schema`: the JSON Schema of a Scenario, for editors.

use clap::Args;

use super::exit::Exit;
use super::print;
use crate::scenario::schema;

/// Examples in the help.
pub const EXAMPLES: &str = "  \
# Let an editor complete and check scenarios: put the schema beside them ...
  kubesim schema > kubesim.schema.json

  # ... and begin each of them with this line
  # yaml-language-server: $schema=kubesim.schema.json";

/// Arguments of `kubesim schema`.
#[derive(Args, Clone, PartialEq, Debug)]
pub struct SchemaArguments {}

/// Prints the schema.
///
/// # Errors
/// It cannot be printed.
pub fn schema(_: &SchemaArguments) -> anyhow::Result<Exit> {
    print(&schema::text())?;
    Ok(Exit::Done)
}
