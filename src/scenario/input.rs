//! What a file holds, told apart by its content and never by its name: a stream of documents, or something that this
//! version knows and does not read yet.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::diagnostic::{Code, Diagnostic, Diagnostics, Mark, Severity, Source};
use super::files;
use super::load_plans;
use super::syntax;
use super::yaml::{self, Document, Part};
use crate::workload::files as load_files;
use crate::workload::table;

/// A file that was read.
#[derive(Clone, Debug, Default)]
pub struct ReadFile {
    /// Its documents; empty ones are left out.
    pub documents: Vec<Document>,
    /// What it is, when it is known and not read yet.
    pub not_read: Vec<Diagnostic>,
    /// Whether it holds a configuration file of something that has no part in a simulation: no mistake, whatever is beside it.
    pub has_foreign_configuration: bool,
    /// What is wrong with its text.
    pub problems: Diagnostics,
}

/// Configuration files of tools and of components that are not simulated: group, kind, and what holds as long as they are not read.
const CONFIGURATIONS: &[(&str, &str, &str)] = &[
    ("kind.x-k8s.io", "Cluster", "nodes come from `spec.nodes`, Node manifests or --nodes"),
    ("kubeadm.k8s.io", "ClusterConfiguration", "settings of the components come from `spec.controlPlane`"),
    ("kubeadm.k8s.io", "InitConfiguration", "settings of the components come from `spec.controlPlane`"),
    ("kubeadm.k8s.io", "JoinConfiguration", "settings of the components come from `spec.controlPlane`"),
    ("kubeproxy.config.k8s.io", "KubeProxyConfiguration", "there is no kube-proxy here"),
];

/// Kinds of what this program writes.
const RESULTS: [&str; 4] = ["Summary", "RunResult", "SweepResult", "CheckResult"];

/// First bytes of files that are no text, and what to do with them.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "is compressed with gzip: unpack it first"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd: unpack it first"),
    (b"PK\x03\x04", "is a zip archive: unpack it first"),
    (b"\x89PNG", "is a picture, no text"),
    (b"\x7fELF", "is a program, no text"),
    (b"%PDF", "is a PDF, no text"),
];

/// Reads a file.
pub fn read(path: &Path) -> ReadFile {
    let shown = path.display().to_string();
    match std::fs::File::open(path).map_err(|error| files::why(&error)) {
        Ok(file) => read_from(file, &shown, yaml::FILE_BYTES_MAX),
        Err(why) => {
            let near = files::neighbour(path).map(|near| format!("did you mean {}?", near.display()));
            problem(Diagnostic::error(Code::Unreadable, format!("{shown}: {why}")).maybe_help(near))
        }
    }
}

/// Reads standard input.
pub fn read_standard_input() -> ReadFile {
    read_from(std::io::stdin().lock(), STANDARD_INPUT, yaml::FILE_BYTES_MAX)
}

/// What standard input is called where a file name would stand.
pub const STANDARD_INPUT: &str = "(standard input)";

fn problem(problem: Diagnostic) -> ReadFile {
    ReadFile { problems: problem.into(), ..ReadFile::default() }
}

/// Never more than the bound is taken in, whatever the length of a file is said to be: a device has none.
fn read_from(reader: impl Read, shown: &str, bytes_max: usize) -> ReadFile {
    let mut bytes = Vec::new();
    if let Err(error) = reader.take(bytes_max as u64 + 1).read_to_end(&mut bytes) {
        return problem(Diagnostic::error(Code::Unreadable, format!("{shown}: {}", files::why(&error))));
    }
    if bytes.len() > bytes_max {
        let message = format!("{shown} has more than {} MiB, the most that is read", bytes_max >> 20);
        return problem(Diagnostic::error(Code::TooLarge, message));
    }
    from_bytes(&bytes, shown)
}

/// The content of a file's bytes; `shown` is its name in messages.
pub fn from_bytes(bytes: &[u8], shown: &str) -> ReadFile {
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return problem(Diagnostic::error(Code::Unreadable, format!("{shown} {what}")));
    }
    if is_message_pack_trace(bytes) {
        return not_read(Diagnostic::error(Code::NotSimulated, format!("{shown} is a SimKube trace: not read yet")));
    }
    let text = match yaml::decode_text(bytes) {
        Ok(text) => text,
        Err(message) => return problem(not_text(bytes, shown, &message)),
    };
    if let Some(load) = load_table(&text, shown) {
        return load;
    }
    if let Some(columns) = csv_columns(&text) {
        let message = format!("{shown} is a table (CSV) with the columns {columns}: such tables are not read yet");
        return not_read(Diagnostic::error(Code::NotSimulated, message));
    }
    let source = Arc::new(Source { file: shown.to_string(), text });
    let mut file = ReadFile::default();
    for document in yaml::parse(&source, &mut file.problems) {
        match known_and_not_read(&document) {
            Some(problem) if problem.path == "kind" && configuration(&document).is_some() => {
                file.has_foreign_configuration = true;
                file.problems.push(problem);
            }
            Some(problem) => file.not_read.push(problem),
            None => file.documents.push(document),
        }
    }
    file
}

/// What is known and left out is a notice, as long as something else is there to run.
fn not_read(mut problem: Diagnostic) -> ReadFile {
    problem.severity = Severity::Notice;
    ReadFile { not_read: vec![problem], ..ReadFile::default() }
}

/// The place of the first bytes that are no UTF-8.
fn not_text(bytes: &[u8], shown: &str, message: &str) -> Diagnostic {
    let problem = Diagnostic::error(Code::Unreadable, format!("{shown} {message}"));
    let Err(error) = std::str::from_utf8(bytes) else { return problem };
    // Far from text there is no line worth showing.
    let before = &bytes[..error.valid_up_to()];
    let is_text = !bytes.starts_with(&[0xff, 0xfe]) && !bytes.starts_with(&[0xfe, 0xff]) && !bytes.contains(&0);
    if !is_text || before.is_empty() {
        return problem.help("give YAML or JSON text in UTF-8, or in UTF-16 with a byte-order mark");
    }
    let before = String::from_utf8_lossy(before);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    let source = Source { file: shown.to_string(), text: String::from_utf8_lossy(bytes).into_owned() };
    let lines: Vec<&str> = source.text.lines().collect();
    let problem = problem.path(syntax::path_of_line(&lines, line - 1));
    problem.at(&Arc::new(source), Mark { line, column, length: 1 }).help("save the file as UTF-8")
}

/// SimKube writes a MessagePack map that begins with `version`.
fn is_message_pack_trace(bytes: &[u8]) -> bool {
    matches!(bytes, [0x80..=0x8f, rest @ ..] if rest.starts_with(b"\xa7version"))
}

/// Reads the text of a file whatever it holds, up to a bound for recorded load.
///
/// # Errors
/// It cannot be read, or is no text.
pub fn read_text(path: &Path) -> Result<String, Box<Diagnostic>> {
    let shown = path.display().to_string();
    let unreadable = |why: &str| Box::new(Diagnostic::error(Code::Unreadable, format!("{shown}: {why}")));
    let file = std::fs::File::open(path).map_err(|error| unreadable(&files::why(&error)))?;
    let mut bytes = Vec::new();
    let read = file.take(LOAD_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(&files::why(&error)))?;
    if bytes.len() > LOAD_BYTES_MAX {
        let message = format!("{shown} has more than {} MiB, the most that is read", LOAD_BYTES_MAX >> 20);
        return Err(Box::new(Diagnostic::error(Code::TooLarge, message)));
    }
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(Box::new(Diagnostic::error(Code::Unreadable, format!("{shown} {what}"))));
    }
    yaml::decode_text(&bytes).map_err(|message| Box::new(not_text(&bytes, &shown, &message)))
}

/// Most bytes of a file of recorded load.
const LOAD_BYTES_MAX: usize = 256 << 20;

/// A table that begins with a column of times is a load: two columns are a series of rates, more a log of requests. What is
/// wrong with it is an error; a good one is named in a scenario and not run by itself.
fn load_table(text: &str, shown: &str) -> Option<ReadFile> {
    let columns = csv_columns(text)?;
    let first = columns.split(", ").next()?;
    if !table::is_time_name(first) {
        return None;
    }
    let is_series = columns.split(", ").count() == 2;
    let read = match is_series {
        true => load_files::series(text, &load_files::Columns::default()).map(|series| series.len()),
        false => load_files::requests(text, &load_files::Columns::default()).map(|requests| requests.len()),
    };
    Some(match read {
        Ok(rows) => {
            let (what, word) =
                if is_series { ("series of rates", "rate: {file") } else { ("log of requests", "arrivals: {log") };
            let message = format!("{shown} is a {what} ({rows} in all): nothing to run by itself");
            let help = format!("name it in a scenario: spec.load[].{word}: {shown}}}");
            not_read(Diagnostic::error(Code::NotSimulated, message).help(help))
        }
        Err(found) => {
            let source = Arc::new(Source { file: shown.to_string(), text: text.to_string() });
            problem(load_plans::diagnostic(found, &source))
        }
    })
}

/// The columns when the text is a table: its first line has separators and nothing of YAML or JSON.
fn csv_columns(text: &str) -> Option<String> {
    let header = text.lines().find(|line| !line.trim().is_empty())?.trim();
    let separator = [',', ';', '\t'].into_iter().find(|separator| header.contains(*separator))?;
    let is_yaml = header.starts_with(['{', '[', '-', '%', '&', '*', '!', '|', '>', '#', '\'', '@', '`', '}', ']'])
        || header.contains(": ")
        || header.ends_with(':');
    let cells: Vec<&str> = header.split(separator).map(|cell| cell.trim().trim_matches('"')).collect();
    let is_table = !is_yaml && cells.iter().all(|cell| !cell.is_empty() && cell.len() <= 100);
    let more = if cells.len() > 8 { format!(" and {} more", cells.len() - 8) } else { String::new() };
    is_table.then(|| format!("{}{more}", cells[..cells.len().min(8)].join(", ")))
}

/// What holds in place of a configuration file that is known and not read.
fn configuration(document: &Document) -> Option<&'static str> {
    let text = |field: &str| document.value.get(field).and_then(Value::as_str).unwrap_or("");
    let group = text("apiVersion").split('/').next().unwrap_or("");
    let found = CONFIGURATIONS.iter().find(|(known, name, _)| *known == group && *name == text("kind"));
    found.map(|(_, _, instead)| *instead)
}

/// A document that is known and not read yet.
fn known_and_not_read(document: &Document) -> Option<Diagnostic> {
    let text = |field: &str| document.value.get(field).and_then(Value::as_str).unwrap_or("");
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let group = api_version.split('/').next().unwrap_or("");
    let (path, message, help) = if let Some(instead) = configuration(document) {
        ("kind", format!("a {kind} is not read yet: {instead}"), None)
    } else if document.value.get("config").is_some_and(|config| config.get("trackedObjects").is_some())
        && document.value.get("events").is_some()
    {
        ("version", "a SimKube trace is not read yet".to_string(), Some("the objects in it can be given as manifests"))
    } else if group == "kubesim.dev" && RESULTS.contains(&kind) {
        ("kind", format!("a {kind} is a result and nothing to run"), Some("scenario.yaml beside it can be run again"))
    } else {
        return None;
    };
    let mut problem = document.problem(Code::NotSimulated, path, Part::Value, message);
    problem.severity = Severity::Notice;
    Some(problem.maybe_help(help.map(str::to_string)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(bytes: &[u8]) -> Vec<String> {
        let file = from_bytes(bytes, "f");
        file.problems.iter().chain(&file.not_read).map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn files_are_told_apart_by_their_content() {
        for (bytes, expected) in [
            (&b"name,cpu\na,10\n"[..], "f is a table (CSV) with the columns name, cpu: such tables are not read yet"),
            (b"time,requests\n0,10\n", "f is a series of rates (1 in all): nothing to run by itself"),
            (b"TIMESTAMP,a,b\n0,1,2\n0,1,2\n", "f is a log of requests (2 in all): nothing to run by itself"),
            (b"time,requests\n0,-1\n", "requests: `-1` is no rate: it is negative"),
            (b"time;requests\n0;10,5\n", "columns are separated by `;`, not by commas"),
            (b"\x83\xa7version\x63\xa6config\x80", "f is a SimKube trace: not read yet"),
            (
                b"{\"version\": 2, \"config\": {\"trackedObjects\": {}}, \"events\": []}",
                "a SimKube trace is not read yet",
            ),
            (b"\x1f\x8b\x08", "f is compressed with gzip: unpack it first"),
            (b"\x80\x81\x82", "f is not UTF-8 text (byte 0)"),
            (
                b"apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n",
                "a KubeProxyConfiguration is not read yet: there is no kube-proxy here",
            ),
            (b"apiVersion: kubesim.dev/v1alpha1\nkind: Summary\n", "a Summary is a result and nothing to run"),
            (b"a: 1\nb: \xff\n", "f is not UTF-8 text (byte 8)"),
        ] {
            assert_eq!(messages(bytes), [expected]);
        }
        for stream in [&b"a: 1, 2\n"[..], b"{\"a\": [1,\n2]}", b"- a,b\n", b"", b"# a,b\nc: d\n", b"key:\n  a,b\n"] {
            assert_eq!(messages(stream), Vec::<String>::new(), "{}", String::from_utf8_lossy(stream));
        }
        // Line 2, column 4: three characters stand before it.
        let file = from_bytes(b"a: 1\nb: \xff\n", "f");
        assert_eq!(file.problems.iter().map(Diagnostic::location).collect::<Vec<_>>(), ["f:2:4"]);
    }

    #[test]
    fn endless_files_are_bounded() {
        let file = read_from(std::io::repeat(b' '), "f", 3 << 20);
        let messages: Vec<_> = file.problems.iter().map(|problem| problem.message.as_str()).collect();
        assert_eq!(messages, ["f has more than 3 MiB, the most that is read"]);
    }
}
