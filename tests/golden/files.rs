//! Finding the files, handing their cases to the readers, and the report.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::case::{Disagreement, Reader};
use crate::{TABLES, e2e};

/// What was found.
#[derive(Default)]
pub struct Report {
    /// What to print.
    pub lines: Vec<String>,
    /// Files found, read or not.
    pub files: usize,
    /// The files that a reader has read, as `slice/stem`.
    pub read: Vec<String>,
    /// Cases that disagree, and lines, files or folders that cannot be read.
    pub failures: usize,
}

/// How many disagreements of one file are printed in full.
const SHOWN_PER_FILE: usize = 10;

/// How many characters of a value are printed.
const SHOWN_CHARACTERS: usize = 4_000;

/// Reads all vectors under `root`: folders are slices, visited by name.
pub fn read_all(root: &Path, readers: &[(&str, &str, Reader)]) -> Report {
    let mut report = Report::default();
    for folder in report.entries(root) {
        if !folder.is_dir() {
            continue;
        }
        let slice = name_of(&folder);
        for path in report.entries(&folder) {
            let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
            match path.extension().and_then(|extension| extension.to_str()) {
                Some("jsonl") if stem.starts_with("version-") => {}
                Some("jsonl") => report.read_file(&path, &slice, &stem, readers),
                Some("csv") => report.read_table(&path, &slice, &stem),
                Some("md") | None => {}
                Some(_) => report.not_read(&format!("{slice}/{}", name_of(&path))),
            }
        }
    }
    report
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

impl Report {
    /// The entries of a folder, sorted by name.
    fn entries(&mut self, folder: &Path) -> Vec<PathBuf> {
        let found = fs::read_dir(folder).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>()
        });
        match found {
            Ok(mut paths) => {
                paths.sort();
                paths
            }
            Err(error) => {
                self.fail(&format!("golden: {}: cannot be read: {error}", folder.display()));
                Vec::new()
            }
        }
    }

    fn not_read(&mut self, name: &str) {
        self.files += 1;
        self.lines.push(format!("golden: {name}: not read"));
    }

    fn fail(&mut self, line: &str) {
        self.failures += 1;
        self.lines.push(line.to_owned());
    }

    fn read_file(&mut self, path: &Path, slice: &str, stem: &str, readers: &[(&str, &str, Reader)]) {
        let name = format!("{slice}/{}", name_of(path));
        let reader = readers.iter().find(|(of, file, _)| *of == slice && *file == stem).map(|(_, _, reader)| *reader);
        if reader.is_none() && slice != "e2e" {
            return self.not_read(&name);
        }
        self.files += 1;
        let content = match fs::read_to_string(path) {
            Ok(content) => content,
            Err(error) => return self.fail(&format!("golden: {name}: cannot be read: {error}")),
        };
        match reader {
            Some(reader) => {
                self.read.push(format!("{slice}/{stem}"));
                self.tally(&name, &content, |_| Ok(Some(reader)));
            }
            None => {
                self.tally(&name, &content, |case| e2e::reader_of(case, e2e::FAMILIES_BEGUN));
                self.lines.extend(e2e::take_second());
            }
        }
    }

    /// Replays a table; its rows are the cases.
    fn read_table(&mut self, path: &Path, slice: &str, stem: &str) {
        let name = format!("{slice}/{}", name_of(path));
        let Some((.., reader)) = TABLES.iter().find(|(of, file, _)| *of == slice && *file == stem) else {
            return self.not_read(&name);
        };
        self.files += 1;
        let content = match fs::read_to_string(path) {
            Ok(content) => content,
            Err(error) => return self.fail(&format!("golden: {name}: cannot be read: {error}")),
        };
        self.read.push(format!("{slice}/{stem}"));
        let outcomes: Vec<(String, Result<bool, Disagreement>)> = reader(&content)
            .into_iter()
            .enumerate()
            .map(|(index, outcome)| (format!("row {index}"), outcome.map(|()| true)))
            .collect();
        self.count(&name, outcomes);
    }

    /// Replays the cases of one file. `reader_of` gives the reader of a case, `None` if the case does not count yet.
    fn tally(&mut self, name: &str, content: &str, reader_of: impl Fn(&Value) -> Result<Option<Reader>, Disagreement>) {
        let lines = content.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        self.count(name, lines.map(|(number, line)| replay_line(line, number + 1, &reader_of)));
    }

    /// Reports the outcomes of one file: the id of each case, and `true` if it agrees, `false` if it does not count yet.
    fn count(&mut self, name: &str, outcomes: impl IntoIterator<Item = (String, Result<bool, Disagreement>)>) {
        let (mut cases, mut agreed, mut skipped) = (0, 0, 0);
        let mut details = Vec::new();
        for (id, outcome) in outcomes {
            match outcome {
                Ok(false) => skipped += 1,
                Ok(true) => (cases, agreed) = (cases + 1, agreed + 1),
                Err(disagreement) => {
                    cases += 1;
                    details.push(describe(&id, &disagreement));
                }
            }
        }
        if cases > 0 || skipped == 0 {
            self.lines.push(format!("golden: {name}: {agreed} of {cases} agree"));
        }
        if skipped > 0 {
            self.lines.push(format!("golden: {name}: not read: {skipped} cases"));
        }
        self.failures += details.len();
        let more = details.len().saturating_sub(SHOWN_PER_FILE);
        self.lines.extend(details.into_iter().take(SHOWN_PER_FILE));
        if more > 0 {
            self.lines.push(format!("  and {more} more of {name} disagree"));
        }
    }
}

/// The id of the case on a line, and `true` if it agrees, `false` if it does not count yet.
fn replay_line(
    line: &str,
    line_number: usize,
    reader_of: impl Fn(&Value) -> Result<Option<Reader>, Disagreement>,
) -> (String, Result<bool, Disagreement>) {
    let case: Value = match serde_json::from_str(line) {
        Ok(case) => case,
        Err(error) => return (format!("line {line_number}"), Err(Disagreement::new("a JSON object a line", error))),
    };
    let id = ["id", "case"].iter().find_map(|name| case.get(name)?.as_str());
    let id = id.map_or_else(|| format!("line {line_number}"), str::to_owned);
    let outcome = match reader_of(&case) {
        Ok(Some(reader)) => replay(reader, &case).map(|()| true),
        Ok(None) => Ok(false),
        Err(disagreement) => Err(disagreement),
    };
    (id, outcome)
}

/// Replays a case; a panic in the code under test is a disagreement of this case and does not hide the others.
fn replay(reader: Reader, case: &Value) -> Result<(), Disagreement> {
    catch_unwind(AssertUnwindSafe(|| reader(case))).unwrap_or_else(|panic| {
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(Disagreement::new("an outcome", format!("panic: {}", message.unwrap_or_default())))
    })
}

fn describe(id: &str, disagreement: &Disagreement) -> String {
    let (expected, got) = (shortened(&disagreement.expected), shortened(&disagreement.got));
    format!("  disagrees: {id}\n    expected: {expected}\n    got:      {got}")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn even(case: &Value) -> Result<(), Disagreement> {
        // A panic that prints nothing.
        let number = case["n"].as_i64().unwrap_or_else(|| std::panic::resume_unwind(Box::new("no number n")));
        if number % 2 == 0 { Ok(()) } else { Err(Disagreement::new("even", number)) }
    }

    #[test]
    fn disagreements_panics_and_malformed_lines_fail() {
        let mut report = Report::default();
        let content = "{\"id\":\"a\",\"n\":2}\n{\"case\":\"b\",\"n\":3}\n\n{\"n\":\"x\"}\n{\"n\":";
        report.tally("slice/file.jsonl", content, |_| Ok(Some(even)));
        assert_eq!(report.failures, 3);
        assert_eq!(report.lines[0], "golden: slice/file.jsonl: 1 of 4 agree");
        assert_eq!(report.lines[1], "  disagrees: b\n    expected: even\n    got:      3");
        assert!(report.lines[2].contains("line 4") && report.lines[2].contains("panic: no number n"));
        assert!(report.lines[3].contains("line 5"));
    }

    #[test]
    fn cases_that_do_not_count_yet_are_told_apart() {
        let mut report = Report::default();
        let content = "{\"n\":2}\n{\"n\":4,\"later\":true}\n{\"n\":5,\"later\":true}";
        report.tally("e2e/file.jsonl", content, |case| Ok(case.get("later").is_none().then_some(even as Reader)));
        assert_eq!(report.failures, 0);
        assert_eq!(report.lines, ["golden: e2e/file.jsonl: 1 of 1 agree", "golden: e2e/file.jsonl: not read: 2 cases"]);
    }

    #[test]
    fn a_folder_that_is_not_there_fails() {
        assert_eq!(read_all(Path::new("tests/no-such-folder"), &[]).failures, 1);
    }
}
