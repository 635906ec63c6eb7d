//! Reading a document field by field: every problem is collected, every field that nobody asked for is an unknown field.
//!
//! Serde would stop at the first mistake; a person with five mistakes wants to see five.

use std::cell::RefCell;

use serde_json::{Map, Value};

use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::known::Known;
use super::schema::shape::{Form, Reading, Record, Special};
use super::yaml::{Document, Part};
use crate::model::Span;
use crate::rules::{go_duration, suggest};

/// A value of a document, with its path and the place where problems go.
#[derive(Clone)]
pub struct Entry<'a> {
    /// The value.
    pub value: &'a Value,
    /// Its path.
    pub path: String,
    /// The document it belongs to.
    pub document: &'a Document,
    /// What names may stand for.
    pub known: &'a Known,
    problems: &'a RefCell<Diagnostics>,
    /// Where it is noted what is asked for; only when the schema is made.
    record: Option<Record>,
}

impl<'a> Entry<'a> {
    /// The whole document.
    pub fn root(document: &'a Document, problems: &'a RefCell<Diagnostics>) -> Entry<'a> {
        Entry { value: &document.value, path: String::new(), document, known: Known::BUILT_IN, problems, record: None }
    }

    /// The same, where names may stand for these kinds and processes.
    pub fn among(self, known: &'a Known) -> Entry<'a> {
        Entry { known, ..self }
    }

    /// The whole document, read to learn what its readers ask for.
    pub fn recorded(document: &'a Document, problems: &'a RefCell<Diagnostics>, record: Record) -> Entry<'a> {
        Entry { record: Some(record), ..Entry::root(document, problems) }
    }

    /// Another value of the same document, which this entry is the root of.
    pub fn with(&self, value: &'a Value, path: &str) -> Entry<'a> {
        self.part(value, path.to_string(), self.record.as_ref().and_then(|record| record.descend(path)))
    }

    /// A part of this value; what is asked of it goes to `record`.
    fn part(&self, value: &'a Value, path: String, record: Option<Record>) -> Entry<'a> {
        Entry { value, path, document: self.document, known: self.known, problems: self.problems, record }
    }

    /// Says what kind of plain value this is, for the schema.
    pub fn is_a(&self, special: Special) {
        self.note(Form::Special(special));
    }

    /// This value as a use of a definition of the schema, which may contain itself.
    pub fn defined(&self, name: &'static str) -> Entry<'a> {
        Entry { record: self.record.as_ref().map(|record| record.definition(name)), ..self.clone() }
    }

    fn note(&self, form: Form) {
        if let Some(record) = &self.record {
            record.form(form);
        }
    }

    /// Adds a problem with this value.
    pub fn problem(&self, code: Code, message: impl Into<String>, help: Option<String>) {
        self.add(self.document.problem(code, &self.path, Part::Value, message).maybe_help(help));
    }

    /// Adds a problem that is already complete.
    pub fn add(&self, diagnostic: Diagnostic) {
        self.problems.borrow_mut().push(diagnostic);
    }

    fn wrong(&self, wanted: &str) {
        self.problem(Code::BadValue, format!("must be {wanted}, not {}", shown(self.value)), None);
    }

    /// The value as a plain one; a problem that says what is `wanted` when it is none.
    fn read<T>(&self, form: Form, wanted: &str, plain: impl Fn(&'a Value) -> Option<T>) -> Option<T> {
        self.note(form);
        let found = plain(self.value);
        if found.is_none() {
            self.wrong(wanted);
        }
        found
    }

    /// The value as a mapping to read field by field.
    pub fn fields(&self) -> Option<Fields<'a>> {
        let Value::Object(map) = self.value else {
            self.wrong("a mapping");
            return None;
        };
        Some(Fields {
            entry: self.clone(),
            map,
            known: Vec::new(),
            switches: Vec::new(),
            later: &[],
            reading: Reading::default(),
        })
    }

    /// The items of a list.
    pub fn items(&self) -> Vec<Entry<'a>> {
        let Value::Array(items) = self.value else {
            self.wrong("a list");
            return Vec::new();
        };
        let record = self.record.as_ref().map(Record::item);
        let item = |(index, value)| self.part(value, format!("{}[{index}]", self.path), record.clone());
        items.iter().enumerate().map(item).collect()
    }

    /// The pairs of a mapping whose keys are free.
    pub fn pairs(&self) -> Vec<(&'a str, Entry<'a>)> {
        let Value::Object(map) = self.value else {
            self.wrong("a mapping");
            return Vec::new();
        };
        let record = self.record.as_ref().map(Record::pair);
        let pair =
            |(key, value): (&'a String, _)| (key.as_str(), self.part(value, join(&self.path, key), record.clone()));
        map.iter().map(pair).collect()
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        self.read(Form::Text, "text (put it in quotes)", Value::as_str)
    }

    /// A text; numbers are taken as they are written (quantities, versions).
    pub fn text_or_number(&self) -> Option<String> {
        self.read(Form::TextOrNumber, "text or a number", |value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
    }

    /// A whole number in a range.
    pub fn whole(&self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let wanted = match *range.end() {
            i64::MAX => format!("a whole number from {}", range.start()),
            end => format!("a whole number from {} to {end}", range.start()),
        };
        let in_range = |value: &Value| value.as_i64().filter(|number| range.contains(number));
        self.read(Form::Whole(*range.start(), *range.end()), &wanted, in_range)
    }

    /// A number.
    pub fn number(&self) -> Option<f64> {
        self.read(Form::Number, "a number", Value::as_f64)
    }

    /// A truth value.
    pub fn truth(&self) -> Option<bool> {
        self.read(Form::Truth, "true or false", Value::as_bool)
    }

    /// A Go duration, not negative.
    pub fn duration(&self) -> Option<Span> {
        self.is_a(Special::Duration);
        let help = || Some("durations are written as Go writes them: 250ms, 30s, 1h30m".to_string());
        let Value::String(text) = self.value else {
            self.problem(Code::BadValue, format!("must be a duration, not {}", shown(self.value)), help());
            return None;
        };
        match go_duration::parse(text) {
            Ok(ns) if ns >= 0 => Some(Span(ns)),
            Ok(_) => {
                self.problem(Code::BadValue, format!("must not be negative: {}", shown(self.value)), None);
                None
            }
            Err(_) => {
                self.problem(Code::BadValue, format!("{} is not a duration", shown(self.value)), help());
                None
            }
        }
    }

    /// A Go duration, which may be negative.
    pub fn signed_duration(&self) -> Option<Span> {
        self.is_a(Special::SignedDuration);
        let parsed = self.value.as_str().and_then(|text| go_duration::parse(text).ok());
        if parsed.is_none() {
            let help = "durations are written as Go writes them: 250ms, 1h30m, -30s";
            self.problem(Code::BadValue, format!("must be a duration, not {}", shown(self.value)), Some(help.into()));
        }
        parsed.map(Span)
    }

    /// One of a few words.
    pub fn word<T: Copy>(&self, words: &[(&'static str, T)]) -> Option<T> {
        self.note(Form::Words(words.iter().map(|(word, _)| *word).collect()));
        let text = self.text()?;
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == text) {
            return Some(*meaning);
        }
        let known = words.iter().map(|(word, _)| *word);
        self.problem(Code::BadValue, format!("unknown value {}", shown(self.value)), suggest::help(text, known));
        None
    }
}

/// A mapping that is read field by field.
pub struct Fields<'a> {
    /// The mapping itself.
    pub entry: Entry<'a>,
    map: &'a Map<String, Value>,
    known: Vec<&'static str>,
    /// Keys that were meant as `on` and `off`.
    switches: Vec<&'static str>,
    later: &'static [&'static str],
    reading: Reading,
}

impl<'a> Fields<'a> {
    /// The field, if it is given and not null.
    pub fn get(&mut self, name: &'static str) -> Option<Entry<'a>> {
        if !self.known.contains(&name) {
            self.known.push(name);
        }
        let record = self.entry.record.as_ref().map(|record| record.field(name));
        let value = self.map.get(name).filter(|value| !value.is_null())?;
        Some(self.entry.part(value, join(&self.entry.path, name), record))
    }

    /// The field; it is a problem when it is not given.
    pub fn require(&mut self, name: &'static str) -> Option<Entry<'a>> {
        self.reading.required.push(name);
        let found = self.get(name);
        if found.is_none() {
            let path = join(&self.entry.path, name);
            let problem =
                self.entry.document.problem(Code::MissingField, &path, Part::Key, format!("`{name}` must be given"));
            self.entry.add(problem);
        }
        found
    }

    /// The same for a name that YAML 1.1 takes for a truth value when it is not quoted: `on`, `off`.
    pub fn require_switch(&mut self, name: &'static str) -> Option<Entry<'a>> {
        let taken_for = if name == "on" { "true" } else { "false" };
        if self.map.contains_key(name) || !self.map.contains_key(taken_for) {
            return self.require(name);
        }
        self.get(name);
        self.reading.required.push(name);
        self.switches.push(taken_for);
        let record = self.entry.record.as_ref().map(|record| record.field(name));
        Some(self.entry.part(&self.map[taken_for], join(&self.entry.path, taken_for), record))
    }

    /// The one field of several that is given; it is a problem when none or more than one is.
    pub fn one_of(&mut self, names: &[&'static str]) -> Option<(&'static str, Entry<'a>)> {
        let mut found: Vec<_> = names.iter().filter_map(|name| self.get(name).map(|entry| (*name, entry))).collect();
        let all = names.join(", ");
        match found.len() {
            1 => {
                self.reading.one_of = Some((names.to_vec(), found[0].0));
                found.pop()
            }
            0 => {
                // An unknown or later field in its place says enough.
                if self.map.keys().all(|key| self.known.contains(&key.as_str())) {
                    self.entry.problem(Code::MissingField, format!("one of these must be given: {all}"), None);
                }
                None
            }
            _ => {
                let given: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
                let message = format!("{} exclude each other", given.join(" and "));
                self.entry.problem(Code::Contradiction, message, Some(format!("give exactly one of: {all}")));
                None
            }
        }
    }

    /// Words of the format that this version does not simulate.
    pub fn later(&mut self, names: &'static [&'static str]) {
        self.later = names;
    }

    /// Everything was asked for: what is left is unknown.
    pub fn finish(self) {
        if let Some(record) = &self.entry.record {
            record.reading(self.reading);
        }
        let is_asked_for = |key: &str| self.known.contains(&key) || self.switches.contains(&key);
        for key in self.map.keys().filter(|key| !is_asked_for(key)) {
            let path = join(&self.entry.path, key);
            let problem = |code, message| self.entry.document.problem(code, &path, Part::Key, message);
            self.entry.add(if self.later.contains(&key.as_str()) {
                problem(Code::NotSimulated, format!("`{key}` is not simulated yet")).help(
                    "the word is part of the format, but this version would ignore it; take it out to run the rest",
                )
            } else {
                let known = self.known.iter().chain(self.later).copied();
                problem(Code::UnknownField, format!("unknown field `{key}`")).maybe_help(suggest::help(key, known))
            });
        }
    }
}

/// `a.b` from `a` and `b`; keys with dots or other signs are put in brackets.
pub fn join(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    match (path.is_empty(), plain) {
        (true, true) => key.to_string(),
        (false, true) => format!("{path}.{key}"),
        (_, false) => format!("{path}[{key}]"),
    }
}

/// A value in a message.
pub fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_string(),
        Value::Object(_) => "a mapping".to_string(),
        Value::Array(_) => "a list".to_string(),
        Value::String(text) if text.chars().count() > 60 => {
            format!("\"{}...\"", text.chars().take(60).collect::<String>())
        }
        other => other.to_string(),
    }
}
