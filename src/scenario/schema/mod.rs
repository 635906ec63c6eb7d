//! The JSON Schema of a Scenario, made from the readers themselves: docs/scenario.schema.json and `kubesim schema`.
//!
//! The readers of [`mod@super::file`] and its parts are led over [`samples`] with a [`shape::Record`], which notes every
//! field they know, the type they ask for, what they insist on and what excludes each other. What remains is written by
//! hand: a sentence for each field ([`descriptions`]) and the grammar of plain values ([`specials`]). Tests hold that every
//! field has a type and a sentence, and that there is no sentence without a field.
//!
//! The schema is a little stricter than the readers where that helps in an editor (kinds are not taken in any case, `null`
//! is no value) and looser where a rule lies between fields (`latency` and `request` exclude each other).

pub mod descriptions;
mod load_descriptions;
pub mod samples;
pub mod shape;
pub mod specials;

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use self::shape::{Form, Mapping, Record, ShapeRef, Special};
use super::diagnostic::{Diagnostics, Source};
use super::entry::Entry;
use super::known::Known;
use super::{defaults, file, load, sweep, yaml};

/// Address by which the schema calls itself.
const ID: &str = "https://kubesim.dev/schemas/v1alpha1/scenario.schema.json";

/// What the readers asked for, led over the samples.
fn record() -> Record {
    let record = Record::default();
    for text in samples::SAMPLES {
        let source = Arc::new(Source { file: "sample".to_string(), text: (*text).to_string() });
        let mut problems = Diagnostics::default();
        for document in yaml::parse(&source, &mut problems) {
            let collected = RefCell::new(std::mem::take(&mut problems));
            let known = Known::of(&document.value, &[]);
            let root = Entry::recorded(&document, &collected, record.clone()).among(&known);
            file::read(&root);
            let spec = &document.value["spec"];
            if !spec["include"].is_null() {
                load::include_list(&root.with(&spec["include"], "spec.include"));
            }
            load::variants(&root);
            sweep::of_document(&root);
            problems = collected.into_inner();
        }
        assert!(problems.is_empty(), "samples are read without a problem:\n{problems}");
    }
    record
}

/// The schema, as a draft 2020-12 document.
pub fn schema() -> Value {
    let record = record();
    let mut writer = Writer::default();
    let mut top = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": ID,
        "title": "Scenario",
        "description": "A kubesim scenario: what runs, what people do, what goes wrong, and what is expected.",
    });
    let own = writer.shape(record.shape(), "");
    let map = top.as_object_mut().expect("it is written as an object");
    map.extend(own.as_object().cloned().unwrap_or_default());
    let mut definitions = Map::new();
    for (name, shape) in record.definitions() {
        let path = format!("${name}");
        let mut definition = Map::new();
        definition.insert("description".into(), descriptions::of(&path).into());
        definition.extend(writer.shape(&shape, &path).as_object().cloned().unwrap_or_default());
        definitions.insert(name.to_string(), Value::Object(definition));
    }
    writer.used.sort();
    for special in &writer.used {
        let name = special.name().expect("only those with a name are noted");
        definitions.insert(name.to_string(), special.schema());
    }
    map.insert("$defs".into(), Value::Object(definitions));
    top
}

/// The text of docs/scenario.schema.json.
pub fn text() -> String {
    serde_json::to_string_pretty(&schema()).expect("keys are texts and numbers are finite") + "\n"
}

/// Shapes to schemas; remembers which definitions are used.
#[derive(Default)]
struct Writer {
    used: Vec<Special>,
}

impl Writer {
    /// The schema of what was asked for at a place; `path` is how descriptions call it.
    fn shape(&mut self, shape: &ShapeRef, path: &str) -> Value {
        let shape = shape.borrow();
        let is_special = shape.forms.iter().any(|form| matches!(form, Form::Special(_)));
        // A text of a special form was first read as a text.
        let is_general = |form: &Form| match form {
            Form::Text => shape.forms.len() > 1,
            Form::TextOrNumber => is_special,
            _ => false,
        };
        let mut found: Vec<Value> =
            shape.forms.iter().filter(|form| !is_general(form)).map(|form| self.form(form)).collect();
        found.extend(shape.definition.map(|name| json!({"$ref": format!("#/$defs/{name}")})));
        if let Some(mapping) = &shape.mapping {
            found.push(self.mapping(mapping, path));
        }
        if let Some(item) = &shape.item {
            found.push(json!({"type": "array", "items": self.shape(item, &format!("{path}[]"))}));
        }
        if let Some(pairs) = &shape.pairs {
            let values = self.shape(pairs, &format!("{path}{{}}"));
            found.push(json!({"type": "object", "additionalProperties": values}));
        }
        match found.len() {
            1 => found.remove(0),
            _ => json!({"anyOf": found}),
        }
    }

    fn form(&mut self, form: &Form) -> Value {
        match form {
            Form::Text => json!({"type": "string"}),
            Form::TextOrNumber => json!({"type": ["string", "number"]}),
            Form::Whole(least, i64::MAX) => json!({"type": "integer", "minimum": least}),
            Form::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
            Form::Number => json!({"type": "number"}),
            Form::Truth => json!({"type": "boolean"}),
            Form::Words(words) => json!({"enum": words}),
            Form::Special(special) => match special.name() {
                None => special.schema(),
                Some(name) => {
                    if !self.used.contains(special) {
                        self.used.push(*special);
                    }
                    json!({"$ref": format!("#/$defs/{name}")})
                }
            },
        }
    }

    fn mapping(&mut self, mapping: &Mapping, path: &str) -> Value {
        let mut properties = Map::new();
        for (name, field) in &mapping.fields {
            let inner = if path.is_empty() { (*name).to_string() } else { format!("{path}.{name}") };
            let mut property = Map::new();
            property.insert("description".into(), description(&inner).into());
            property.extend(self.shape(field, &inner).as_object().cloned().unwrap_or_default());
            properties.insert((*name).to_string(), Value::Object(property));
        }
        let mut object = Map::new();
        object.insert("type".into(), "object".into());
        object.insert("properties".into(), Value::Object(properties));
        let required = required_always(mapping.readings.iter());
        let choices = choices(mapping, &required);
        if !required.is_empty() {
            object.insert("required".into(), required.into());
        }
        if !choices.is_empty() {
            object.insert("oneOf".into(), choices.into());
        }
        object.insert("additionalProperties".into(), false.into());
        Value::Object(object)
    }
}

/// The sentence of a field, with its default where it has one.
fn description(path: &str) -> String {
    let sentence = descriptions::of(path);
    let setting = format!("`{path}`");
    match defaults::rows().into_iter().find(|row| row.setting == setting) {
        Some(row) => format!("{sentence} Default: {}.", row.value),
        None => sentence.to_string(),
    }
}

/// What every one of some readings insisted on.
fn required_always<'a>(mut readings: impl Iterator<Item = &'a shape::Reading>) -> Vec<&'static str> {
    let Some(first) = readings.next() else { return Vec::new() };
    let mut required = first.required.clone();
    readings.for_each(|reading| required.retain(|name| reading.required.contains(name)));
    required
}

/// One schema for each field of which exactly one is given, with what it needs beside it.
fn choices(mapping: &Mapping, always: &[&'static str]) -> Vec<Value> {
    let chosen = mapping.readings.iter().filter_map(|reading| reading.one_of.as_ref());
    let mut names: Vec<&'static str> = Vec::new();
    chosen.flat_map(|(names, _)| names).for_each(|name| {
        if !names.contains(name) {
            names.push(name);
        }
    });
    let choice = |name: &&'static str| {
        let chose = |reading: &&shape::Reading| reading.one_of.as_ref().is_some_and(|(_, chosen)| chosen == name);
        let mut required = vec![*name];
        let beside = required_always(mapping.readings.iter().filter(chose));
        required.extend(beside.into_iter().filter(|other| !always.contains(other)));
        json!({"required": required})
    };
    names.iter().map(choice).collect()
}

#[cfg(test)]
mod tests;
