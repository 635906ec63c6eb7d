//! Real and broken inputs, where they are there: `../shared/corpus` beside the repository, or the folder that
//! KUBESIM_CORPUS names. Every file is answered in bounded time and memory, and broken YAML is named at its place.

#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods, clippy::print_stderr)]

use std::fs;
use std::path::{Path, PathBuf};

use kubesim::scenario::diagnostic::Diagnostic;
use kubesim::scenario::{Overrides, examine};

/// Broken inputs that are about text and form, by number; what values mean is tested with the rules of the kinds.
const ABOUT_TEXT: [&str; 24] = [
    "010", "011", "013", "014", "015", "030", "031", "105", "106", "107", "109", "110", "111", "113", "114", "115",
    "117", "118", "119", "121", "122", "123", "125", "026",
];

fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("KUBESIM_CORPUS").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus"));
    if !folder.is_dir() {
        eprintln!("corpus: skipped, there is no {}", folder.display());
        return None;
    }
    Some(folder)
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}

fn problems(path: &Path) -> Vec<Diagnostic> {
    let groups = examine::groups(&[path.to_path_buf()], &Overrides::default());
    groups.into_iter().flat_map(|group| group.examined.problems).collect()
}

/// Runs on a thread with the stack of the program: code without optimisation needs more than a test has.
fn on_a_stack_of_the_program(test: fn()) {
    std::thread::Builder::new().stack_size(8 << 20).spawn(test).unwrap().join().unwrap();
}

#[test]
fn every_file_is_answered() {
    on_a_stack_of_the_program(|| {
        let Some(corpus) = corpus() else { return };
        let mut files = Vec::new();
        files_below(&corpus, &mut files);
        assert!(files.len() > 100);
        for path in files {
            let problems = problems(&path);
            // What cannot be read says so in words that a person can use.
            assert!(problems.iter().all(|problem| !problem.message.is_empty()), "{}", path.display());
        }
    });
}

/// Paths as both sides can agree on them: a key in brackets is like one behind a dot.
fn plain(path: &str) -> String {
    path.replace("[", ".").replace(']', "")
}

/// Whether problems name one of the places that the index allows: `line 23 or 24`, `spec.replicas`, or `-`.
fn names(problems: &[Diagnostic], wanted: &str) -> bool {
    let line = |problem: &Diagnostic| problem.place.as_ref().map_or(0, |(_, mark)| mark.line).to_string();
    let words: Vec<&str> = wanted.split([' ', ',']).filter(|word| !word.is_empty()).collect();
    wanted == "-"
        || wanted == "line of the quote"
        || problems.iter().any(|problem| {
            let is_line = wanted.starts_with("line") && words.contains(&line(problem).as_str());
            let is_path = words.iter().any(|word| !word.is_empty() && plain(word) == plain(&problem.path));
            // Bytes that are no text stand in no field yet: the line is named.
            is_line || is_path || problem.code == "E0001" && problem.place.is_some()
        })
}

#[test]
fn broken_text_is_named_at_its_place() {
    on_a_stack_of_the_program(|| {
        let Some(corpus) = corpus() else { return };
        let index = fs::read_to_string(corpus.join("invalid/INDEX.md")).unwrap();
        let mut judged = 0;
        for row in index.lines().filter(|row| ABOUT_TEXT.iter().any(|number| row.starts_with(&format!("| {number}-"))))
        {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let (file, verdict, place) = (cells[1], cells[2], cells[3]);
            let problems = problems(&corpus.join("invalid").join(file));
            let shown: Vec<String> =
                problems.iter().map(|p| format!("{} {}: {}", p.location(), p.path, p.message)).collect();
            // A file without any object may be an error as well, as long as it says so.
            let is_empty = problems.iter().all(|problem| problem.code == "E0024");
            match verdict {
                "accept" => assert!(is_empty, "{file} is to be accepted: {shown:?}"),
                _ => assert!(!problems.is_empty() && names(&problems, place), "{file}: {place} is not in {shown:?}"),
            }
            judged += 1;
        }
        assert_eq!(judged, ABOUT_TEXT.len());
    });
}
