//! What is wrong with the input, or worth knowing about it: all problems at once, each with its place and a way out.

use std::fmt;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

/// A text that was read, kept to show the place of a problem in it.
#[derive(PartialEq, Eq, Debug)]
pub struct Source {
    /// File name as the user gave it.
    pub file: String,
    /// The whole text.
    pub text: String,
}

/// A place in a text; line and column count from 1, columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Mark {
    /// Line.
    pub line: usize,
    /// Column.
    pub column: usize,
    /// Characters to underline; at least one is shown.
    pub length: usize,
}

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The scenario cannot be run.
    Error,
    /// It runs, but not all of it means what the text says.
    Notice,
}

/// What there is to say about a code; docs/errors.md is made from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// `E0001` and so on.
    pub text: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What to do about it.
    pub way_out: &'static str,
}

macro_rules! codes {
    ($($name:ident $code:literal $title:literal $meaning:literal $way_out:literal;)*) => {
        /// The kinds of problem. A code never changes its meaning.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = $meaning] $name,)*
        }

        /// All codes, in the order of their numbers.
        pub const CODES: &[CodeInfo] = &[$(CodeInfo {
            code: Code::$name,
            text: $code,
            title: $title,
            meaning: $meaning,
            way_out: $way_out,
        },)*];
    };
}

codes! {
    Unreadable "E0001" "file cannot be read" "The file or folder does not exist, may not be read, or is not text." "Check the name and the permissions. Archives must be unpacked; text must be UTF-8, or UTF-16 with a byte-order mark.";
    Syntax "E0002" "not valid YAML" "The text cannot be read as YAML (or JSON) at this place." "Mend the text at the place shown. Most often the indentation is off, or a value needs quotes. Templates must be rendered first: `helm template`.";
    DuplicateKey "E0003" "key given twice" "A mapping holds the same key twice; only one of the two values could count." "Keep one of the two.";
    UnknownField "E0004" "unknown field" "The field does not exist at this place." "Take it out, or write it as the help says. Fields of Kubernetes objects are those of the API version of the manifest; those of a Scenario stand in [scenario.md](scenario.md).";
    BadValue "E0005" "value cannot be used" "The value is of another type or form than the field takes." "Write it as the message says. [scenario.md](scenario.md) tells how durations, quantities, distributions and references are written.";
    MissingField "E0006" "field missing" "A field that has no default is not given." "Give it.";
    NotSimulated "E0007" "not simulated yet" "The word belongs to the format, but this version does not simulate it." "Take it out to run the rest. As a notice it only says what is left out.";
    TwoScenarios "E0008" "two scenarios" "The files hold more than one Scenario document; a run has one." "Keep one, or run them one after the other. `spec.variants` are for worlds that differ in a few values. `kubesim check` looks at files with a Scenario each one by one.";
    DuplicateObject "E0009" "object given twice" "Two manifests describe the same object; only one of the two could count." "Take one of them out, or give it another name or namespace.";
    UnknownKind "E0010" "unknown kind" "No object of this apiVersion and kind exists in Kubernetes." "Correct `apiVersion` or `kind`. Custom resources keep the group of whoever defines them and are left out with a notice.";
    BadManifest "E0011" "manifest not valid" "The API server would not accept this manifest." "Change the field as the message says: these are the API server's own rules, and `kubectl apply` would fail as well.";
    UnknownObject "E0012" "object does not exist" "A reference names an object that no file describes." "Correct the name, or add the manifest. Objects outside the namespace `default` are written NAMESPACE/KIND/NAME.";
    UnknownProcess "E0013" "process does not exist" "A reference names a process or controller that does not run in this scenario." "Name one that runs here: kube-controller-manager, kube-scheduler or kubelet, or a controller in one, as in kube-controller-manager/replicaset.";
    BadCondition "E0014" "condition cannot be read" "The condition is not a CEL expression, or asks for something that does not exist." "Conditions are CEL; [scenario.md](scenario.md) lists the functions `object`, `objects`, `exists`, `count` and `metric`.";
    NeverHappens "E0015" "after the end of the run" "The time lies after the end of the run, so this would never happen or never be judged." "Lengthen `spec.duration`, or take an earlier time.";
    BadFlag "E0016" "flag cannot be used" "The component has no such flag, or the value does not fit it." "Correct the flag. Real flags without an effect here are no errors but notices.";
    BadCommand "E0017" "command cannot be used" "The kubectl command line cannot be carried out as written." "Write a command line that kubectl of this version takes; [scenario.md](scenario.md) lists the commands that are carried out.";
    BadPath "E0018" "path leads nowhere" "The path of a `set` does not name a place in the scenario or a manifest." "Begin the path with `spec.` or with an object and a colon. Items of lists are addressed by their `name` or as `[0]`.";
    Contradiction "E0019" "fields exclude each other" "Of several fields exactly one may be given." "Give exactly one of them.";
    UnknownVersion "E0020" "unknown version" "The version of Kubernetes or of the format is not one we follow." "Take one of the versions that the help lists.";
    OutsideFolder "E0021" "outside the scenario's folder" "A file named by a scenario lies outside the scenario's folder." "Move the file there, or run with `--allow-outside`.";
    TooLarge "E0022" "too large" "The input is larger than a bound that keeps the program safe." "Split the input, or write out what aliases stand for.";
    BadName "E0023" "name cannot be used" "The name is taken, or has characters that names may not have." "Take a name of lower-case letters, digits, `-` and `.`, that begins and ends with a letter or digit.";
    NothingToSimulate "E0024" "nothing to simulate" "The files hold neither a scenario nor a manifest." "Give a scenario or manifests; `kubesim new NAME` writes a scenario to start from.";
    BadLoad "E0025" "load cannot be read" "A file of recorded load is no series of rates in time, or no log of requests." "Mend the line as the message says. [load.md](load.md) tells which files are read. Rates are finite and not negative, times go forward.";
}

impl Code {
    /// `E0001` and so on.
    pub fn as_str(self) -> &'static str {
        CODES[self as usize].text
    }
}

/// One problem.
#[derive(Clone, PartialEq, Debug)]
pub struct Diagnostic {
    /// Which kind of problem.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Where; `None` when it is about no text (a file that cannot be read, a command-line option).
    pub place: Option<(Arc<Source>, Mark)>,
    /// Field path, as in `spec.faults[0].at`; empty when there is none.
    pub path: String,
    /// What is wrong, with what was found.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: code.as_str(),
            severity: Severity::Error,
            place: None,
            path: String::new(),
            message: message.into(),
            help: None,
        }
    }

    /// This problem at a place. What no file holds (line 0) has none.
    pub fn at(mut self, source: &Arc<Source>, mark: Mark) -> Diagnostic {
        self.place = (mark.line > 0).then(|| (source.clone(), mark));
        self
    }

    /// This problem at a field.
    pub fn path(mut self, path: impl Into<String>) -> Diagnostic {
        self.path = path.into();
        self
    }

    /// This problem with a way out.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// This problem with a way out, if there is one.
    pub fn maybe_help(mut self, help: Option<String>) -> Diagnostic {
        self.help = help.or(self.help);
        self
    }

    /// `file:line:column`, or the empty text.
    pub fn location(&self) -> String {
        match &self.place {
            Some((source, mark)) => format!("{}:{}:{}", source.file, mark.line, mark.column),
            None => String::new(),
        }
    }

    /// The problem as a person reads it: message, place, the line itself, help.
    pub fn render(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Notice => Level::NOTE.with_name("notice"),
        };
        let message = match self.path.is_empty() {
            true => self.message.clone(),
            false => format!("{}: {}", self.path, self.message),
        };
        let title = level.primary_title(message).id(self.code);
        let mut line = String::new();
        let mut shown = String::new();
        let mut group = match &self.place {
            Some((source, mark)) => {
                let (start, end) = excerpt(&source.text, *mark, &mut line);
                let column = line[..start].chars().count() + 1;
                shown = format!("{}:{}:{column}", source.file, mark.line.max(1));
                let annotation = AnnotationKind::Primary.span(start..end);
                let snippet = Snippet::source(line.as_str())
                    .line_start(mark.line.max(1))
                    .path(&source.file)
                    .annotation(annotation);
                title.element(snippet)
            }
            None => Group::with_title(title).elements(None::<Origin<'_>>),
        };
        match (&self.help, &self.place) {
            (Some(help), Some(_)) => group = group.element(Level::HELP.message(help)),
            // Without a line to show there is no margin to hang the help on.
            (Some(help), None) => return format!("{}\n  = help: {help}", renderer.render(&[group])),
            (None, _) => {}
        }
        // The renderer counts columns in the line that it is given, which may be cut.
        renderer.render(&[group]).replacen(&shown, &self.location(), 1)
    }
}

/// Longest line that is shown whole.
const LINE_CHARACTERS_MAX: usize = 160;

/// Writes the line of a mark to `line`, cut around the mark when it is very long, and gives the bytes to underline.
fn excerpt(text: &str, mark: Mark, line: &mut String) -> (usize, usize) {
    let whole = text.lines().nth(mark.line.saturating_sub(1)).unwrap_or("");
    let column = mark.column.saturating_sub(1);
    let count = whole.chars().count();
    let skip = if count > LINE_CHARACTERS_MAX { column.saturating_sub(LINE_CHARACTERS_MAX / 2) } else { 0 };
    line.extend(whole.chars().skip(skip).take(LINE_CHARACTERS_MAX));
    let byte = |character: usize| line.char_indices().nth(character).map_or(line.len(), |(byte, _)| byte);
    let start = byte(column - skip.min(column));
    let end = byte((column - skip.min(column)).saturating_add(mark.length.max(1)));
    (start, end.max(start))
}

/// Problems, in the order in which they were found; never only the first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a problem; one that is already there (found again in another variant) is not repeated.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        if !self.list.contains(&diagnostic) {
            self.list.push(diagnostic);
        }
    }

    /// Puts problems without a place first and the others in the order of their places; files stay in the order in which
    /// their first problem was found.
    pub fn sort(&mut self) {
        let mut files: Vec<String> = Vec::new();
        for (source, _) in self.list.iter().filter_map(|diagnostic| diagnostic.place.as_ref()) {
            if !files.contains(&source.file) {
                files.push(source.file.clone());
            }
        }
        let file = |source: &Source| files.iter().position(|file| *file == source.file);
        self.list.sort_by_key(|diagnostic| diagnostic.place.as_ref().map(|(source, mark)| (file(source), *mark)));
    }

    /// All problems.
    pub fn iter(&self) -> impl Iterator<Item = &Diagnostic> {
        self.list.iter()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether one of them keeps the scenario from running.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// All of them as a person reads them; `color` for a terminal.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let parts: Vec<String> = self.list.iter().map(|diagnostic| diagnostic.render(&renderer)).collect();
        parts.join("\n\n")
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![diagnostic] }
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, diagnostics: I) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_shows_its_place_and_a_way_out() {
        let source = Arc::new(Source { file: "app.yaml".into(), text: "spec:\n  duratoin: 5m\n".into() });
        let mark = Mark { line: 2, column: 3, length: 8 };
        let problem = Diagnostic::error(Code::UnknownField, "unknown field `duratoin`")
            .at(&source, mark)
            .path("spec")
            .help("did you mean `duration`?");
        let expected = "error[E0004]: spec: unknown field `duratoin`\n \
            --> app.yaml:2:3\n  \
            |\n2 |   duratoin: 5m\n  \
            |   ^^^^^^^^\n  \
            |\n  \
            = help: did you mean `duration`?";
        assert_eq!(Diagnostics::from(problem).to_string(), expected);
    }

    #[test]
    fn a_problem_without_a_place_is_one_line_and_long_lines_are_cut() {
        let problem = Diagnostic::error(Code::Unreadable, "no such file: app.yaml");
        assert_eq!(Diagnostics::from(problem.clone()).to_string(), "error[E0001]: no such file: app.yaml");
        let helped = Diagnostics::from(problem.help("look again")).to_string();
        assert_eq!(helped, "error[E0001]: no such file: app.yaml\n  = help: look again");
        let mut line = String::new();
        let text = format!("{}é!", "x".repeat(1000));
        // Column 1001 is the é; 920 characters are cut off, so it stands at byte 80 and takes two bytes.
        assert_eq!(excerpt(&text, Mark { line: 1, column: 1001, length: 1 }, &mut line), (80, 82));
        assert_eq!(line.chars().count(), 82);
        let source = Arc::new(Source { file: "app.yaml".into(), text });
        let problem = Diagnostic::error(Code::Syntax, "no").at(&source, Mark { line: 1, column: 1001, length: 1 });
        assert!(Diagnostics::from(problem).to_string().contains("--> app.yaml:1:1001\n"));
    }

    #[test]
    fn codes_are_numbered_in_order() {
        for (index, info) in CODES.iter().enumerate() {
            assert_eq!(info.code as usize, index);
            assert_eq!(info.text, format!("E{:04}", index + 1));
        }
    }
}
