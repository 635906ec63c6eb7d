//! What the YAML library says about a text, in words that help: what is wrong, at which field, and what to do.

use std::sync::Arc;

use super::diagnostic::{Code, Diagnostic, Mark, Source};
use super::entry::join;
use super::yaml;

/// The problem of a document that cannot be read: `said` are the library's words, `mark` is where.
pub fn problem(said: &str, source: &Arc<Source>, mark: Mark) -> Diagnostic {
    let lines: Vec<&str> = source.text.lines().collect();
    let line = lines.get(mark.line.saturating_sub(1)).copied().unwrap_or("");
    let rest: String = line.chars().skip(mark.column.saturating_sub(1)).collect();
    let (code, message, help) = explain(said, line, &rest);
    let mut problem = Diagnostic::error(code, message).at(source, mark).maybe_help(help.map(str::to_string));
    // Where the structure itself is broken, a path read off the indentation would mislead.
    let in_structure =
        ["did not find expected", "simple key", "mapping values", "tabs disallowed", "only valid inside"];
    if !is_conflict(line) && !in_structure.iter().any(|words| said.contains(words)) {
        problem = problem.path(path_of_line(&lines, mark.line.saturating_sub(1)));
    }
    problem
}

const RENDER: &str =
    "this looks like an unrendered template: render it first (`helm template CHART | kubesim check -`)";

fn explain(said: &str, line: &str, rest: &str) -> (Code, String, Option<&'static str>) {
    let lower = said.to_lowercase();
    let has = |words: &str| lower.contains(words);
    if line.contains("{{") {
        return (Code::Syntax, format!("not YAML: {said}"), Some(RENDER));
    }
    if is_conflict(line) {
        return (
            Code::Syntax,
            "a conflict marker of a merge".into(),
            Some("resolve the conflict and take the markers out"),
        );
    }
    let word = |stop: &[char]| rest.split(stop).next().unwrap_or("").trim().to_string();
    if has("duplicate") {
        return (Code::DuplicateKey, format!("the key `{}` is given twice", word(&[':'])), Some("keep one of the two"));
    }
    if has("recursive references") {
        let alias = word(&[' ', ',', ']', '}']);
        return (Code::Syntax, format!("`{alias}` stands inside what it stands for"), Some("take the alias out"));
    }
    if has("unknown anchor") {
        let alias = word(&[' ', ',', ']', '}']);
        let message = format!("`{alias}` stands for nothing: no `&{}` comes before it", alias.trim_start_matches('*'));
        return (Code::Syntax, message, Some("a value that begins with `*` needs quotes"));
    }
    if has("depth {") || has("recursion limit") {
        let message = format!("nested deeper than {} levels, the most that is read", yaml::DEPTH_MAX);
        return (Code::TooLarge, message, None);
    }
    if has("replay") {
        let message = format!("aliases stand for more than {} values, the most that is read", yaml::ALIASED_VALUES_MAX);
        return (Code::TooLarge, message, Some("write the values out where they are used"));
    }
    if has("nodes {") || has("events {") {
        let message = format!("the file holds more than {} values, the most that is read", yaml::VALUES_MAX);
        return (Code::TooLarge, message, None);
    }
    if has("budget") || has("limit exceeded") || has("too large") {
        return (Code::TooLarge, format!("the document is too large: {said}"), None);
    }
    let help = if has("tabs disallowed") {
        return (Code::Syntax, "a tab may not be used for indentation".into(), Some("use spaces"));
    } else if has("simple key") {
        return (Code::Syntax, "a `:` is missing after the key".into(), Some("mappings are written `key: value`"));
    } else if has("did not find expected") {
        Some("the indentation of this line fits nothing above it")
    } else if has("mapping values are not allowed") {
        Some("a value with `: ` in it needs quotes; or the indentation of this line is wrong")
    } else if has("unexpected character") && rest.starts_with(|c: char| c.is_control()) {
        return (Code::Syntax, "control characters are not allowed in YAML".into(), Some("take the character out"));
    } else if has("unexpected character") || has("trailing content") {
        Some("put the whole value in quotes")
    } else {
        None
    };
    (Code::Syntax, said.to_string(), help)
}

fn is_conflict(line: &str) -> bool {
    ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|marker| line.starts_with(marker))
}

/// A key, or the `-` of a list's item, with its column counted from 0.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Step<'a> {
    Key(usize, &'a str),
    Item(usize),
}

/// The steps that a line of block YAML begins with, outermost first: `- name: x` is an item and a key.
fn steps_of_line(line: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = line.trim_start_matches(' ');
    let mut column = line.len() - rest.len();
    if rest.starts_with('#') {
        return steps;
    }
    while let Some(after) = rest.strip_prefix('-').filter(|after| after.is_empty() || after.starts_with(' ')) {
        steps.push(Step::Item(column));
        let next = after.trim_start_matches(' ');
        column += rest.len() - next.len();
        rest = next;
    }
    let end = rest.find(": ").or_else(|| rest.strip_suffix(':').map(str::len));
    let key = end.map(|end| rest[..end].trim_matches(['"', '\'']));
    let key = key.filter(|key| !key.is_empty() && !key.starts_with(['{', '[', '&', '*', '|', '>']));
    steps.extend(key.map(|key| Step::Key(column, key)));
    steps
}

/// The path of the field on a line (counted from 0), read off the indentation; a guess, and empty when there is nothing to
/// go by.
pub(super) fn path_of_line(lines: &[&str], line: usize) -> String {
    let mut path: Vec<String> = Vec::new();
    let mut inner: Option<Step<'_>> = None;
    let mut items_before = 0;
    for line in lines[..(line + 1).min(lines.len())].iter().rev() {
        if inner.is_some() && line.starts_with("---") {
            break;
        }
        for step in steps_of_line(line).into_iter().rev() {
            let is_outer = match (inner, step) {
                (None, _) => true,
                (Some(Step::Key(column, _)), Step::Key(outer, _) | Step::Item(outer)) => outer < column,
                (Some(Step::Item(column)), Step::Key(outer, _)) => outer <= column,
                (Some(Step::Item(column)), Step::Item(outer)) => {
                    items_before += usize::from(outer == column);
                    outer < column
                }
            };
            if !is_outer {
                continue;
            }
            if let Some(Step::Item(_)) = inner {
                path.push(format!("[{items_before}]"));
                items_before = 0;
            }
            if let Step::Key(_, key) = step {
                path.push(key.to_string());
            }
            inner = Some(step);
        }
    }
    if let Some(Step::Item(_)) = inner {
        path.push(format!("[{items_before}]"));
    }
    path.iter().rev().fold(String::new(), |path, step| match step.starts_with('[') {
        true => path + step,
        false => join(&path, step),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_off_the_indentation() {
        let text = "kind: X\nspec:\n  a: 1\n  template:\n    containers:\n    - name: a\n      # of a\n      ports:\n        - 1\n    - image: i\n      name: b\n  last:\n    - - x\n      - y: 1\n---\nother: 1";
        let lines: Vec<&str> = text.lines().collect();
        for (line, path) in [
            (0, "kind"),
            (2, "spec.a"),
            (5, "spec.template.containers[0].name"),
            (8, "spec.template.containers[0].ports[0]"),
            (10, "spec.template.containers[1].name"),
            (11, "spec.last"),
            (13, "spec.last[0][1].y"),
            (15, "other"),
            (99, "other"),
        ] {
            assert_eq!(path_of_line(&lines, line), path, "line {line}");
        }
        assert_eq!(path_of_line(&["just words"], 0), "");
        assert_eq!(path_of_line(&[], 3), "");
    }

    #[test]
    fn what_the_library_says_is_put_into_words() {
        let source = |text: &str| Arc::new(Source { file: "f".into(), text: text.into() });
        let conflict = "a conflict marker of a merge";
        for (text, column, said, code, path, message) in [
            ("a: {{ .x }}", 4, "a key must be a word", "E0002", "a", "not YAML: a key must be a word"),
            ("<<<<<<< HEAD", 1, "simple key expected ':'", "E0002", "", conflict),
            ("a: 1\na: 2", 1, "duplicate entry", "E0003", "a", "the key `a` is given twice"),
            ("a: &b\n  c: *b", 6, "recursive references", "E0002", "a.c", "`*b` stands inside what it stands for"),
            ("a: *b", 4, "unknown anchor", "E0002", "a", "`*b` stands for nothing: no `&b` comes before it"),
            ("a: 1\n b", 2, "simple key expected ':'", "E0002", "", "a `:` is missing after the key"),
            ("a: \u{0}", 4, "unexpected character", "E0002", "a", "control characters are not allowed in YAML"),
            ("a", 1, "Depth { depth: 129 }", "E0022", "", "nested deeper than 128 levels, the most that is read"),
        ] {
            let line = text.lines().count();
            let found = problem(said, &source(text), Mark { line, column, length: 1 });
            assert_eq!((found.code, found.path.as_str(), found.message.as_str()), (code, path, message), "{text}");
        }
    }
}
