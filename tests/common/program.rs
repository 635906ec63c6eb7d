//! The program called from outside, and the folders that it works in.

#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;

/// An empty folder for a test of a group.
pub fn empty_folder(group: &str, test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(group).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// What a command line did.
pub struct Done {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Calls the program in a folder.
pub fn kubesim(folder: &Path, line: &[&str]) -> Done {
    kubesim_fed(folder, line, "")
}

/// With a text on standard input.
pub fn kubesim_fed(folder: &Path, line: &[&str], input: &str) -> Done {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubesim"));
    let output = command.current_dir(folder).args(line).write_stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Done { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// All files below a folder with their bytes.
pub fn bytes(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push((path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap())),
            }
        }
    }
    found.sort();
    found
}
