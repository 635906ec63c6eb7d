//! The program `kubesim`: see [`kubesim::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    kubesim::cli::main(std::env::args_os()).into()
}
