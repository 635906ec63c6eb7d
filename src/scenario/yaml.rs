//! YAML and JSON text to documents: the only place that knows the YAML library.
//!
//! A stream is cut at its `---` lines and every part is read on its own, so one broken document does not hide the problems
//! of the others. Every value keeps its place. Values are typed as kubectl types them (YAML 1.1: `no` is a bool, `017` is
//! 15).

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{Location, Spanned};

use super::diagnostic::{Code, Diagnostic, Diagnostics, Mark, Source};
use super::parallel;
use super::syntax;

/// Largest file that is read.
pub const FILE_BYTES_MAX: usize = 256 << 20;
/// Most documents in a file.
pub const DOCUMENTS_MAX: usize = 100_000;
/// Most values in a file, aliases expanded.
pub const VALUES_MAX: usize = 10_000_000;
/// Most values that aliases may stand for in a document.
pub const ALIASED_VALUES_MAX: usize = 200_000;
/// Deepest nesting.
pub const DEPTH_MAX: usize = 128;

/// Where a value and everything in it stands.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Place {
    /// The key, for the value of a mapping.
    pub key: Option<Mark>,
    /// The value.
    pub value: Mark,
    /// What is in it.
    pub children: Children,
}

impl Place {
    /// How many values there are, this one included.
    fn count(&self) -> usize {
        1 + match &self.children {
            Children::None => 0,
            Children::List(items) => items.iter().map(Place::count).sum(),
            // A key is a value too.
            Children::Map(fields) => fields.iter().map(|(_, field)| 1 + field.count()).sum(),
        }
    }
}

/// Places inside a value.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Children {
    /// A scalar.
    #[default]
    None,
    /// A sequence.
    List(Vec<Place>),
    /// A mapping.
    Map(Vec<(String, Place)>),
}

/// A document of a stream, or an item of a `List` in it.
#[derive(Clone, Debug)]
pub struct Document {
    /// The text it comes from.
    pub source: Arc<Source>,
    /// The value.
    pub value: Value,
    /// Where everything in it stands.
    pub place: Place,
    /// Path of the item that this document is, when it stands in a `List`: `items[1]`; else empty.
    pub item: String,
    /// Values that were set later, by path, and where that was said.
    pub set_at: Vec<(String, Arc<Source>, Mark)>,
}

/// Which part of a field a problem is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Its name.
    Key,
    /// Its value.
    Value,
}

impl Document {
    /// The place of a field; of its nearest parent that is there when it is not.
    pub fn find(&self, path: &str, part: Part) -> (Arc<Source>, Mark) {
        let set = self.set_at.iter().rev().find(|(set, _, _)| is_set_at(set, path));
        if let Some((_, source, mark)) = set {
            return (source.clone(), *mark);
        }
        (self.source.clone(), find(&self.place, path, part))
    }

    /// A problem at a field of this document.
    pub fn problem(&self, code: Code, path: &str, part: Part, message: impl Into<String>) -> Diagnostic {
        let (source, mark) = self.find(path, part);
        let separator = if self.item.is_empty() || path.is_empty() || path.starts_with('[') { "" } else { "." };
        Diagnostic::error(code, message).at(&source, mark).path(format!("{}{separator}{path}", self.item))
    }
}

/// Whether a path leads to a place or into it; keys in brackets are like those behind dots.
fn is_set_at(set: &str, path: &str) -> bool {
    let plain = |path: &str| path.replace('[', ".").replace(']', "");
    is_prefix(&plain(set), &plain(path))
}

fn is_prefix(prefix: &str, path: &str) -> bool {
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn find(place: &Place, path: &str, part: Part) -> Mark {
    let rest = path.strip_prefix('.').unwrap_or(path);
    if rest.is_empty() {
        return match (part, place.key) {
            (Part::Key, Some(key)) => key,
            _ => place.value,
        };
    }
    let bracket = rest.strip_prefix('[').and_then(bracketed);
    let next = match (&place.children, bracket) {
        (Children::List(items), Some((index, after))) => {
            index.parse::<usize>().ok().and_then(|index| items.get(index)).map(|item| (item, after))
        }
        (Children::Map(fields), Some((key, after))) => {
            let key = key.trim_matches('"');
            fields.iter().find(|(name, _)| name == key).map(|(_, field)| (field, after))
        }
        (Children::Map(fields), None) => longest_key(fields, rest),
        _ => None,
    };
    match next {
        Some((child, after)) => find(child, after, part),
        // A field that is missing is best shown at the key of the mapping that misses it.
        None => place.key.unwrap_or(place.value),
    }
}

/// What stands before the bracket that closes, and what after it; keys may have pairs of brackets themselves.
pub(super) fn bracketed(inner: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, sign) in inner.char_indices() {
        match sign {
            '[' => depth += 1,
            ']' if depth == 0 => return Some((&inner[..at], &inner[at + 1..])),
            ']' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The field whose name is the longest beginning of the path: names may contain dots.
fn longest_key<'a, 'p>(fields: &'a [(String, Place)], path: &'p str) -> Option<(&'a Place, &'p str)> {
    let fitting = fields.iter().filter(|(name, _)| !name.is_empty() && is_prefix(name, path));
    fitting.max_by_key(|(name, _)| name.len()).map(|(name, field)| (field, &path[name.len()..]))
}

/// Text of a file's bytes: UTF-8 with or without byte-order mark, UTF-16 with one.
///
/// # Errors
/// What is wrong, in words that follow the file's name.
pub fn decode_text(bytes: &[u8]) -> Result<String, String> {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<u16> = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
        String::from_utf16(&units).map_err(|_| "is not valid UTF-16 text".to_string())
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => decode_text(rest),
        _ => String::from_utf8(bytes.to_vec())
            .map_err(|error| format!("is not UTF-8 text (byte {})", error.utf8_error().valid_up_to())),
    }
}

/// All documents of a text; empty ones are left out. Problems are added to `problems`, and what could be read is given back.
pub fn parse(source: &Arc<Source>, problems: &mut Diagnostics) -> Vec<Document> {
    parse_within(source, VALUES_MAX, problems)
}

fn parse_within(source: &Arc<Source>, values_max: usize, problems: &mut Diagnostics) -> Vec<Document> {
    let mut documents = Vec::new();
    let parts = split(&source.text);
    if parts.len() > DOCUMENTS_MAX {
        let message = format!("{} holds {} documents, at most {DOCUMENTS_MAX} are read", source.file, parts.len());
        problems.push(Diagnostic::error(Code::TooLarge, message));
        return documents;
    }
    if values_at_most(&source.text, &parts) <= values_max {
        // No bound is near: the parts have nothing to do with each other.
        for (read, found) in parallel::map(&parts, |part| read_documents(source, part, values_max)) {
            documents.extend(read);
            problems.extend(found);
        }
        documents.retain(|document: &Document| !document.value.is_null());
        return documents;
    }
    let mut values_left = values_max;
    for part in &parts {
        let (read, found) = read_documents(source, part, values_left);
        values_left = values_left.saturating_sub(read.iter().map(|document| document.place.count()).sum());
        documents.extend(read);
        problems.extend(found);
    }
    documents.retain(|document| !document.value.is_null());
    documents
}

/// At least as many values as a text can hold: no sign begins more than two (`?` a mapping and its key, `:` a value, `{` and
/// `}` a mapping and the key that it may be). Aliases stand for more.
fn values_at_most(text: &str, parts: &[(usize, &str)]) -> usize {
    let with_aliases = parts.iter().filter(|(_, part)| part.contains('*')).count();
    text.len().saturating_mul(2).saturating_add(with_aliases.saturating_mul(ALIASED_VALUES_MAX))
}

/// The documents of a part, and what is wrong with its text. Documents that hold nothing are among them.
fn read_documents(
    source: &Arc<Source>,
    (lines_before, text): &(usize, &str),
    values_max: usize,
) -> (Vec<Document>, Diagnostics) {
    let mut problems = Diagnostics::default();
    let read = read_part(text, values_max, |error| problems.push(syntax_problem(source, *lines_before, error)));
    let documents = match read {
        Ok(values) => values.into_iter().map(|value| {
            let (value, mut place) = value.into_parts(*lines_before);
            place.key = None;
            Document { source: source.clone(), value, place, item: String::new(), set_at: Vec::new() }
        }),
        Err(error) => {
            problems.push(syntax_problem(source, *lines_before, &error));
            return (Vec::new(), problems);
        }
    };
    (documents.collect(), problems)
}

/// Reads a part; of a key that is given twice the first value counts, and `report` is told.
fn read_part(
    text: &str,
    values_max: usize,
    report: impl FnOnce(&serde_saphyr::Error),
) -> Result<Vec<Located>, serde_saphyr::Error> {
    match parse_part(text, values_max, DuplicateKeyPolicy::Error) {
        Err(error) if matches!(error.without_snippet(), serde_saphyr::Error::DuplicateMappingKey { .. }) => {
            report(&error);
            parse_part(text, values_max, DuplicateKeyPolicy::FirstWins)
        }
        read => read,
    }
}

/// A single value given as YAML, as on a command line (`--set path=value`).
///
/// # Errors
/// What is wrong with the text.
pub fn parse_value(text: &str) -> Result<Value, String> {
    let values = parse_part(text, VALUES_MAX, DuplicateKeyPolicy::Error).map_err(|error| message_of(&error))?;
    match values.into_iter().next() {
        Some(value) => Ok(value.into_parts(0).0),
        None => Ok(Value::Null),
    }
}

fn parse_part(
    text: &str,
    values_max: usize,
    duplicate_keys: DuplicateKeyPolicy,
) -> Result<Vec<Located>, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        duplicate_keys: duplicate_keys,
        budget: serde_saphyr::budget! {
            max_events: values_max.saturating_mul(2).max(1_000),
            max_nodes: values_max,
            max_depth: DEPTH_MAX,
            max_total_scalar_bytes: FILE_BYTES_MAX,
            max_documents: 16,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: ALIASED_VALUES_MAX },
        legacy_octal_numbers: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        with_snippet: false,
    };
    serde_saphyr::from_multiple_with_options::<Located>(text, options)
}

/// Cuts a stream before each line that starts a document; gives the number of lines before each part.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_marker =
            line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
        // Directives belong to the document that follows them, so a part that holds nothing else is not cut off.
        if is_marker && !only_directives(&text[start..offset]) {
            parts.push((start_line, &text[start..offset]));
            (start, start_line) = (offset, number);
        }
        offset += line.len();
    }
    parts.push((start_line, &text[start..]));
    parts.retain(|(_, part)| part.lines().any(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')));
    parts
}

fn only_directives(part: &str) -> bool {
    part.lines().all(|line| line.starts_with('%') || line.trim().is_empty() || line.starts_with('#'))
}

fn syntax_problem(source: &Arc<Source>, lines_before: usize, error: &serde_saphyr::Error) -> Diagnostic {
    let place = match error.location() {
        Some(location) => mark(&location, lines_before),
        None => Mark { line: lines_before + 1, column: 1, length: 1 },
    };
    syntax::problem(&message_of(error), source, place)
}

/// The library's words without its own snippet and position, which we show ourselves.
fn message_of(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    let first = text.lines().next().unwrap_or("cannot be read").trim();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    let end = first.find(" at line ").or_else(|| first.find(", line ")).unwrap_or(first.len());
    first[..end].to_string()
}

fn mark(location: &Location, lines_before: usize) -> Mark {
    Mark {
        line: location.line() as usize + lines_before,
        column: (location.column() as usize).max(1),
        length: location.span().len() as usize,
    }
}

/// A value with its places, as the library hands it out.
struct Located {
    location: Location,
    inner: Inner,
}

enum Inner {
    Scalar(Value),
    List(Vec<Located>),
    Map(Vec<(String, Location, Located)>),
}

impl Located {
    fn into_parts(self, lines_before: usize) -> (Value, Place) {
        let value_mark = mark(&self.location, lines_before);
        let (value, children) = match self.inner {
            Inner::Scalar(value) => (value, Children::None),
            Inner::List(items) => {
                let (values, places) = items.into_iter().map(|item| item.into_parts(lines_before)).unzip();
                (Value::Array(values), Children::List(places))
            }
            Inner::Map(fields) => {
                let mut values = Map::with_capacity(fields.len());
                let mut places = Vec::with_capacity(fields.len());
                for (name, key, field) in fields {
                    let (value, mut place) = field.into_parts(lines_before);
                    place.key = Some(mark(&key, lines_before));
                    values.insert(name.clone(), value);
                    places.push((name, place));
                }
                (Value::Object(values), Children::Map(places))
            }
        };
        (value, Place { key: None, value: value_mark, children })
    }
}

impl<'de> Deserialize<'de> for Located {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Located, D::Error> {
        let spanned = Spanned::<Inner>::deserialize(deserializer)?;
        Ok(Located { location: spanned.referenced, inner: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Inner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Inner, D::Error> {
        deserializer.deserialize_any(InnerVisitor)
    }
}

struct InnerVisitor;

impl<'de> Visitor<'de> for InnerVisitor {
    type Value = Inner;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Inner, E> {
        Ok(Inner::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Inner, E> {
        Ok(Inner::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Inner, E> {
        Ok(Inner::Scalar(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Inner, E> {
        Ok(Inner::Scalar(Number::from_f64(value as f64).map_or(Value::Null, Value::Number)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Inner, E> {
        Ok(Inner::Scalar(Number::from_f64(value as f64).map_or(Value::Null, Value::Number)))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Inner, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("not a finite number"))?;
        Ok(Inner::Scalar(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Inner, E> {
        Ok(Inner::Scalar(Value::String(value.to_string())))
    }

    fn visit_string<E>(self, value: String) -> Result<Inner, E> {
        Ok(Inner::Scalar(Value::String(value)))
    }

    fn visit_unit<E>(self) -> Result<Inner, E> {
        Ok(Inner::Scalar(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Inner, E> {
        Ok(Inner::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inner, D::Error> {
        Inner::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Inner, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Located>()? {
            items.push(item);
        }
        Ok(Inner::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Inner, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Located>()? {
            let name = match key.inner {
                Inner::Scalar(Value::String(text)) => text,
                Inner::Scalar(Value::Null) => "null".to_string(),
                Inner::Scalar(other) => other.to_string(),
                _ => return Err(A::Error::custom("a key must be a word, not a list or a mapping")),
            };
            fields.push((name, key.location, map.next_value::<Located>()?));
        }
        Ok(Inner::Map(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> (Vec<Document>, Diagnostics) {
        let source = Arc::new(Source { file: "t.yaml".into(), text: text.into() });
        let mut problems = Diagnostics::default();
        let documents = parse(&source, &mut problems);
        (documents, problems)
    }

    fn at(document: &Document, path: &str, part: Part) -> (usize, usize) {
        let (_, mark) = document.find(path, part);
        (mark.line, mark.column)
    }

    #[test]
    fn values_are_typed_as_kubectl_types_them() {
        let (documents, problems) = read(
            "a: no\nb: 017\nc: 1.5\nd: '5'\ne: ~\nf: 5m\ng: .nan\nh: &x {i: [1, two]}\nj: *x\nk: {<<: *x, l: 1}\n",
        );
        assert!(problems.is_empty(), "{problems}");
        let expected = json!({"a": false, "b": 15, "c": 1.5, "d": "5", "e": null, "f": "5m", "g": ".nan",
            "h": {"i": [1, "two"]}, "j": {"i": [1, "two"]}, "k": {"i": [1, "two"], "l": 1}});
        assert_eq!(documents[0].value, expected);
    }

    #[test]
    fn every_field_has_its_place() {
        let text =
            "# head\nspec:\n  labels: {app.kubernetes.io/name: web}\n  items:\n  - a: 1\n    b: 2\n---\n---\nkind: X\n";
        let (documents, problems) = read(text);
        assert!(problems.is_empty(), "{problems}");
        assert_eq!(documents.len(), 2);
        let first = &documents[0];
        assert_eq!(at(first, "spec.items[0].b", Part::Value), (6, 8));
        assert_eq!(at(first, "spec.items[0].b", Part::Key), (6, 5));
        assert_eq!(at(first, "spec.items[0].zzz", Part::Value), (5, 5));
        assert_eq!(at(first, "spec.labels.app.kubernetes.io/name", Part::Value), (3, 36));
        assert_eq!(at(first, "spec.labels[app.kubernetes.io/name]", Part::Key), (3, 12));
        assert_eq!(at(&documents[1], "kind", Part::Value), (9, 7));
    }

    #[test]
    fn one_broken_document_does_not_hide_the_others() {
        let (documents, problems) = read("a: 1\n---\nb: [1\n---\nc: 1\nc: 2\n---\nd: 4\n");
        assert_eq!(
            documents.iter().map(|document| document.value.clone()).collect::<Vec<_>>(),
            [json!({"a": 1}), json!({"c": 1}), json!({"d": 4})]
        );
        let codes: Vec<_> = problems.iter().map(|problem| (problem.code, problem.location())).collect();
        assert_eq!(codes.len(), 2, "{problems}");
        assert_eq!((codes[0].0, codes[1].0), ("E0002", "E0003"));
        assert_eq!(codes[1].1, "t.yaml:6:1");
    }

    #[test]
    fn bombs_are_refused() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_string();
        for i in 1..9 {
            let alias = format!("*a{}", i - 1);
            bomb += &format!("a{i}: &a{i} [{}]\n", vec![alias; 10].join(", "));
        }
        for text in [bomb, "[".repeat(20_000)] {
            let (documents, problems) = read(&text);
            assert!(documents.is_empty());
            assert_eq!(problems.iter().map(|problem| problem.code).collect::<Vec<_>>(), ["E0022"], "{problems}");
        }
    }

    #[test]
    fn bounds_hold_over_all_documents_of_a_file() {
        let check = |text: &str, values_max: usize| {
            let source = Arc::new(Source { file: "t.yaml".into(), text: text.into() });
            let mut problems = Diagnostics::default();
            let documents = parse_within(&source, values_max, &mut problems);
            let shown: Vec<_> =
                problems.iter().map(|problem| format!("{} {}", problem.code, problem.message)).collect();
            (documents.len(), shown)
        };
        // A mapping, its key, a list and two items are 5 values: of 13 two documents leave 3.
        let document = "a: [1, 2]\n---\n";
        assert_eq!(check(&document.repeat(2), 13), (2, vec![]));
        let (read, shown) = check(&document.repeat(3), 13);
        assert_eq!(read, 2);
        assert_eq!(shown, ["E0022 the file holds more than 10000000 values, the most that is read"]);
        let (read, shown) = check(&"a: 1\n---\n".repeat(DOCUMENTS_MAX), VALUES_MAX);
        assert_eq!((read, shown.len()), (0, 1));
        assert_eq!(shown[0], "E0022 t.yaml holds 100001 documents, at most 100000 are read");
    }

    #[test]
    fn nesting_is_bounded_before_the_stack_is_spent() {
        // Tests have 2 MiB of stack, the program has 8.
        let with_the_stack_of_the_program = std::thread::Builder::new().stack_size(8 << 20).spawn(check_nesting);
        with_the_stack_of_the_program.expect("a thread can be made").join().expect("nesting is bounded");
    }

    fn check_nesting() {
        let check = |text: &str| {
            let (documents, problems) = read(text);
            let shown: Vec<_> =
                problems.iter().map(|problem| format!("{} {}", problem.code, problem.message)).collect();
            (documents.len(), shown)
        };
        let nested = |depth: usize| format!("a: {}{}\n", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(100)), (1, vec![]));
        let too_deep = vec!["E0022 nested deeper than 128 levels, the most that is read".to_string()];
        assert_eq!(check(&nested(200)), (0, too_deep.clone()));
        assert_eq!(check(&"[".repeat(100_000)), (0, too_deep.clone()));
        assert_eq!(check(&(0..300).map(|i| " ".repeat(i) + "a:\n").collect::<String>()), (0, too_deep));
    }

    #[test]
    fn texts_in_other_encodings_and_forms_are_read() {
        let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain("a: é".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(decode_text(&utf16), Ok("a: é".to_string()));
        assert_eq!(decode_text(b"\xef\xbb\xbfa: 1"), Ok("a: 1".to_string()));
        assert_eq!(decode_text(b"a\xff"), Err("is not UTF-8 text (byte 1)".to_string()));
        let (documents, problems) = read("%YAML 1.2\n---\r\na: 1\r\n--- {\"b\": 2}\n...\n--- # nothing\n");
        assert!(problems.is_empty(), "{problems}");
        assert_eq!(
            documents.iter().map(|document| document.value.clone()).collect::<Vec<_>>(),
            [json!({"a": 1}), json!({"b": 2})]
        );
    }
}
