//! Values to YAML, laid out as `kubectl get -o yaml` lays it out: block style, lists level with their key, quotes only where
//! a reader would take the text for something else.
//!
//! Upstream: sigs.k8s.io/yaml (go-yaml's emitter). Long lines are not folded: both forms are read as the same text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// Spaces of one level.
const INDENT: usize = 2;
/// Where remarks begin, when the line leaves room.
const REMARK_COLUMN: usize = 60;
/// Words that YAML 1.1 reads as truth values or as nothing, in lower case.
const WORDS: [&str; 12] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "<<", "="];

/// Remarks behind the lines of a value, as a tree beside it: what is in a value has its remark too.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Remarks {
    own: Option<&'static str>,
    /// By key; items of lists by their index.
    inner: BTreeMap<String, Remarks>,
}

impl Remarks {
    /// Puts a remark behind the value that these keys and indices lead to.
    pub fn add<'s>(&mut self, steps: impl IntoIterator<Item = &'s str>, remark: &'static str) {
        let place = steps.into_iter().fold(self, |place, step| place.inner.entry(step.to_string()).or_default());
        place.own = Some(remark);
    }
}

/// The value as a document, with a line end.
pub fn to_text(value: &Value) -> String {
    remarked(value, &Remarks::default())
}

/// The value as a document whose lines carry remarks as comments.
pub fn remarked(value: &Value, remarks: &Remarks) -> String {
    let mut writer = Writer { text: String::new(), line_start: 0 };
    let place = Place { indent: 0, remark: remarks.own, tree: Some(remarks) };
    match value {
        Value::Object(fields) if !fields.is_empty() => writer.fields(fields, place, true),
        Value::Array(items) if !items.is_empty() => writer.items(items, place, true),
        scalar => writer.leaf(scalar, place),
    }
    writer.text
}

/// The value as an item of a list that stands at the left edge.
pub fn push_item(text: &mut String, value: &Value) {
    let mut writer = Writer { text: std::mem::take(text), line_start: 0 };
    writer.item(value, Place { indent: 0, remark: None, tree: None });
    *text = writer.text;
}

struct Writer {
    text: String,
    /// Where the last line begins.
    line_start: usize,
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    indent: usize,
    remark: Option<&'static str>,
    tree: Option<&'a Remarks>,
}

impl<'a> Place<'a> {
    fn inside(self, step: &str) -> Place<'a> {
        let tree = self.tree.and_then(|tree| tree.inner.get(step));
        Place { remark: tree.and_then(|tree| tree.own).or(self.remark), tree, ..self }
    }

    fn deeper(self) -> Place<'a> {
        Place { indent: self.indent + INDENT, ..self }
    }
}

impl Writer {
    fn margin(&mut self, indent: usize) {
        self.text.extend(std::iter::repeat_n(' ', indent));
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        self.line_start = self.text.len();
    }

    /// The fields of a mapping; the first one stands on the line that is begun unless `on_new_line`.
    fn fields(&mut self, fields: &Map<String, Value>, place: Place<'_>, on_new_line: bool) {
        for (index, (key, value)) in fields.iter().enumerate() {
            if index > 0 || on_new_line {
                self.margin(place.indent);
            }
            push_text(&mut self.text, key, None);
            self.text.push(':');
            let own = place.inside(key);
            match value {
                Value::Object(inner) if !inner.is_empty() => {
                    self.new_line();
                    self.fields(inner, own.deeper(), true);
                }
                Value::Array(items) if !items.is_empty() => {
                    self.new_line();
                    self.items(items, own, true);
                }
                scalar => {
                    self.text.push(' ');
                    self.leaf(scalar, own.deeper());
                }
            }
        }
    }

    /// The items of a list; the first one stands on the line that is begun unless `on_new_line`.
    fn items(&mut self, items: &[Value], place: Place<'_>, on_new_line: bool) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 || on_new_line {
                self.margin(place.indent);
            }
            let own = if place.tree.is_some() { place.inside(&index.to_string()) } else { place };
            self.item(item, own);
        }
    }

    fn item(&mut self, item: &Value, place: Place<'_>) {
        self.text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => self.fields(fields, place.deeper(), false),
            Value::Array(items) if !items.is_empty() => self.items(items, place.deeper(), false),
            scalar => self.leaf(scalar, place.deeper()),
        }
    }

    /// A value on the rest of the line, or as a block of lines.
    fn leaf(&mut self, value: &Value, place: Place<'_>) {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(truth) => self.text.push_str(if *truth { "true" } else { "false" }),
            Value::Number(number) => {
                let _ = write!(self.text, "{number}");
            }
            Value::String(text) => {
                if push_text(&mut self.text, text, Some(place.indent)) {
                    // A comment in a block would be part of its text.
                    return self.new_line();
                }
            }
            Value::Array(_) => self.text.push_str("[]"),
            Value::Object(_) => self.text.push_str("{}"),
        }
        if let Some(remark) = place.remark {
            let gap = REMARK_COLUMN.saturating_sub(self.text.len() - self.line_start).max(2);
            self.margin(gap);
            let _ = write!(self.text, "# {remark}");
        }
        self.new_line();
    }
}

/// Writes a text so that it is read back as this text; whether it became a block of lines, which needs an indent.
fn push_text(out: &mut String, text: &str, indent: Option<usize>) -> bool {
    if is_simple(text) {
        out.push_str(text);
        return false;
    }
    // At the left edge a line of the text could be taken for the end of the document.
    if let Some(indent) = indent.filter(|indent| *indent > 0 && is_block(text)) {
        out.push_str(if text.ends_with('\n') { "|" } else { "|-" });
        for line in text.trim_end_matches('\n').split('\n') {
            out.push('\n');
            if !line.is_empty() {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push_str(line);
            }
        }
        return true;
    }
    if is_other_type(text) || text.chars().any(is_special) {
        push_double_quoted(out, text);
    } else if is_plain(text) {
        out.push_str(text);
    } else {
        out.push('\'');
        out.push_str(&text.replace('\'', "''"));
        out.push('\'');
    }
    false
}

/// Whether a text of letters, digits and a few signs is plain at first sight, as most are.
fn is_simple(text: &str) -> bool {
    const NUMBERS: [&str; 3] = ["inf", "nan", "infinity"];
    let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && text.bytes().all(is_harmless)
        && !(text.len() <= 8 && WORDS.iter().chain(&NUMBERS).any(|word| word.eq_ignore_ascii_case(text)))
}

/// Control characters, line ends and what readers take for one.
fn is_special(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// Several lines that a block shows as they are.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    text.contains('\n')
        && !body.is_empty()
        && !body.ends_with('\n')
        && !body.starts_with([' ', '\n'])
        && body.split('\n').all(|line| !line.ends_with(' ') && !line.chars().any(is_special))
}

/// Whether a reader takes the plain text for a number, a truth value, a time or nothing.
fn is_other_type(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if text.is_empty() || WORDS.contains(&lower.as_str()) {
        return true;
    }
    let number = lower.strip_prefix(['+', '-']).unwrap_or(&lower);
    let bare = number.replace('_', "");
    if bare.is_empty() {
        return false;
    }
    let digits = |text: &str| text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let based = ["0x", "0o", "0b"].iter().any(|base| bare.strip_prefix(base).is_some_and(|rest| !rest.is_empty()));
    let sexagesimal =
        bare.contains(':') && digits(&bare) && bare.chars().all(|c| c.is_ascii_digit() || c == ':' || c == '.');
    based && bare.chars().all(|c| c.is_ascii_hexdigit() || c == 'x' || c == 'o')
        || sexagesimal
        || matches!(bare.as_str(), ".inf" | ".nan" | "inf" | "nan" | "infinity")
        || digits(&bare) && bare.parse::<f64>().is_ok()
        || is_date(text)
}

/// `2026-01-01`, alone or with a time behind it.
fn is_date(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let (year, month, rest) = (parts.next(), parts.next(), parts.next());
    let number =
        |part: &str, most: usize| !part.is_empty() && part.len() <= most && part.chars().all(|c| c.is_ascii_digit());
    let (Some(year), Some(month), Some(rest)) = (year, month, rest) else { return false };
    let day = rest.split(['T', 't', ' ', '\t']).next().unwrap_or("");
    year.len() == 4 && number(year, 4) && number(month, 2) && number(day, 2)
}

/// Whether the text may stand without quotes.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let (first, second) = (characters.next().unwrap_or(' '), characters.next().unwrap_or(' '));
    let begins_well = match first {
        '-' | '?' | ':' => second != ' ' && !text.starts_with("---"),
        '.' => !text.starts_with("..."),
        _ => !" ,[]{}#&*!|>'\"%@`".contains(first),
    };
    begins_well && !text.ends_with([' ', ':']) && !text.contains(": ") && !text.contains(" #")
}

fn push_double_quoted(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            _ if is_special(c) => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_laid_out_as_kubectl_does() {
        let value = json!({"apiVersion": "v1", "items": [{"a": [1, [true, null]], "b": {}}, "x", []],
            "metadata": {"labels": {"a.b/c": "1", "no": "yes"}, "text": "two\nlines\n", "open": "a\nb"}});
        let expected = "\
apiVersion: v1
items:
- a:
  - 1
  - - true
    - null
  b: {}
- x
- []
metadata:
  labels:
    a.b/c: \"1\"
    \"no\": \"yes\"
  text: |
    two
    lines
  open: |-
    a
    b
";
        assert_eq!(to_text(&value), expected);
    }

    #[test]
    fn a_text_that_is_the_whole_document_is_no_block() {
        assert_eq!(to_text(&json!("a\n---")), "\"a\\n---\"\n");
        assert_eq!(to_text(&json!(["a\n---"])), "- |-\n  a\n  ---\n");
    }

    #[test]
    fn texts_have_the_quotes_they_need() {
        for (text, expected) in [
            ("100Mi", "100Mi"),
            ("10.0.0.1", "10.0.0.1"),
            ("a: b", "'a: b'"),
            ("it's#1", "it's#1"),
            ("it's #1: x", "'it''s #1: x'"),
            ("{}", "'{}'"),
            ("1e3", "\"1e3\""),
            ("1_000", "\"1_000\""),
            ("0x1F", "\"0x1F\""),
            ("12:30", "\"12:30\""),
            ("1.36", "\"1.36\""),
            ("2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""),
            ("", "\"\""),
            ("Off", "\"Off\""),
            ("a\tb", "\"a\\tb\""),
            (" a", "' a'"),
            ("-1s", "-1s"),
            ("- a", "'- a'"),
            ("--flag=1", "--flag=1"),
            ("---", "'---'"),
        ] {
            assert_eq!(to_text(&json!(text)), format!("{expected}\n"));
        }
    }

    #[test]
    fn remarks_stand_behind_every_line_of_their_value() {
        let value = json!({"spec": {"seed": 0, "nodes": [{"count": 5, "cpu": "8"}], "name": "x"}});
        let mut remarks = Remarks::default();
        remarks.add(["spec", "seed"], "default");
        remarks.add(["spec", "nodes"], "default");
        let text = remarked(&value, &remarks);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[1], ["seed:", "0", "#", "default"]);
        assert_eq!(lines[3], ["-", "count:", "5", "#", "default"]);
        assert_eq!(lines[4], ["cpu:", "\"8\"", "#", "default"]);
        assert_eq!(lines[5], ["name:", "x"]);
    }
}
