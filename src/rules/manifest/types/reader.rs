//! Reading JSON as one of the API's types, without stopping at the first mistake.
//!
//! The types tell serde what they want at each place, so the reader can judge what is there: it notes each mistake with its
//! path, goes on with a zero value, and notes what the server's own types would write differently.

use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value, json};

use super::super::{FieldError, Reason};
use super::zero;
use crate::rules::quantity::Quantity;
use crate::rules::{suggest, timestamp};

/// What reading has found.
#[derive(Default, Debug)]
pub struct Readout {
    /// Unknown fields and values of the wrong type.
    pub errors: Vec<FieldError>,
    /// JSON pointers and what is to stand there; `None` removes the field.
    edits: Vec<(String, Option<Value>)>,
}

impl Readout {
    /// Makes the value what the server's types would write.
    pub fn tidy(&self, value: &mut Value) {
        for (pointer, edit) in &self.edits {
            match edit {
                Some(new) => {
                    if let Some(place) = value.pointer_mut(pointer) {
                        *place = new.clone();
                    }
                }
                None => {
                    let Some((parent, key)) = pointer.rsplit_once('/') else { continue };
                    if let Some(fields) = value.pointer_mut(parent).and_then(Value::as_object_mut) {
                        fields.shift_remove(&key.replace("~1", "/").replace("~0", "~"));
                    }
                }
            }
        }
    }
}

/// Reads a value as a type. `path` is where the value stands, `skipped` a field of it that is not looked into; in a patch,
/// keys that start with `$` are no fields. Without errors there is always a typed value.
pub fn read_as<T: DeserializeOwned>(
    value: &Value,
    path: &str,
    skipped: &'static str,
    is_patch: bool,
) -> (Option<T>, Readout) {
    let found = RefCell::default();
    let notes = Notes { found: &found, is_patch };
    let reader =
        Reader { value, place: Place { parent: None, step: Step::Root(path) }, skipped, slot: Slot::Item, notes };
    let typed = T::deserialize(reader);
    let mut found: Readout = found.into_inner();
    match typed {
        Ok(typed) => (Some(typed), found),
        Err(error) => {
            // What the types refuse themselves: another apiVersion or kind than theirs.
            if found.errors.is_empty() {
                found.errors.push(wrong(path, error.to_string()));
            }
            (None, found)
        }
    }
}

fn wrong(path: &str, message: String) -> FieldError {
    FieldError { path: path.to_string(), reason: Reason::TypeInvalid, message, help: None }
}

type Failure = serde_json::Error;

#[derive(Clone, Copy)]
struct Notes<'a> {
    found: &'a RefCell<Readout>,
    is_patch: bool,
}

/// Where a value stands.
#[derive(Clone, Copy)]
enum Slot<'a> {
    /// A field of an API type.
    Field(&'static str, &'a str),
    /// An item of a list, a value of a map, the whole.
    Item,
    /// In something that may be anything.
    Free,
}

/// How to get to a value. Its text is made when something has to be said of it, which is seldom.
#[derive(Clone, Copy)]
struct Place<'a> {
    parent: Option<&'a Place<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    /// Where the reading began.
    Root(&'a str),
    /// A field of an API type.
    Field(&'a str),
    /// A key of a map.
    Key(&'a str),
    /// An item of a list.
    Index(usize),
}

impl Place<'_> {
    /// As people write it: `spec.containers[0].resources.limits[cpu]`.
    fn path(&self) -> String {
        let mut path = self.parent.map_or_else(String::new, Place::path);
        match self.step {
            Step::Root(root) => path.push_str(root),
            Step::Field(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name);
            }
            Step::Key(key) => path.extend(["[", key, "]"]),
            Step::Index(index) => path.push_str(&format!("[{index}]")),
        }
        path
    }

    /// As a JSON pointer.
    fn pointer(&self) -> String {
        let mut pointer = self.parent.map_or_else(String::new, Place::pointer);
        match self.step {
            Step::Root("") => {}
            Step::Root(root) => pointer.extend(["/", &root.replace('.', "/")]),
            Step::Field(name) | Step::Key(name) => pointer.extend(["/", &name.replace('~', "~0").replace('/', "~1")]),
            Step::Index(index) => pointer.push_str(&format!("/{index}")),
        }
        pointer
    }
}

/// A value at a place.
struct Reader<'a> {
    value: &'a Value,
    place: Place<'a>,
    /// A field of this object that is not looked into.
    skipped: &'static str,
    slot: Slot<'a>,
    notes: Notes<'a>,
}

impl<'a> Reader<'a> {
    fn mistake(&self, wanted: &str, help: Option<&str>) {
        let message = format!("must be {wanted}, not {}", shown(self.value));
        let error = FieldError { help: help.map(String::from), ..wrong(&self.place.path(), message) };
        self.notes.found.borrow_mut().errors.push(error);
    }

    fn edit(&self, new: Option<Value>) {
        self.notes.found.borrow_mut().edits.push((self.place.pointer(), new));
    }

    /// Notes that a zero value counts as absent here.
    fn leave_out_zero(&self, is_zero: bool) {
        if let Slot::Field(type_name, field) = self.slot
            && is_zero
            && zero::is_left_out(type_name, field)
        {
            self.edit(None);
        }
    }

    /// Null where the type has no room for it is its zero value.
    fn null_is(&self, zero: Value) -> bool {
        let is_null = self.value.is_null();
        if is_null {
            self.edit(Some(zero));
        }
        is_null
    }

    fn fields<'de, V: Visitor<'de>>(self, known: Option<Known>, visitor: V) -> Result<V::Value, Failure> {
        let empty = Map::new();
        let fields = self.value.as_object().unwrap_or(&empty);
        if let Some(known) = &known {
            self.note_unknown(fields, known);
        }
        visitor.visit_map(Fields { reader: &self, known, rest: fields.iter(), current: None })
    }

    fn note_unknown(&self, fields: &Map<String, Value>, known: &Known) {
        let is_directive = |name: &str| self.notes.is_patch && name.starts_with('$');
        for name in fields.keys().filter(|name| !known.fields.contains(&name.as_str()) && !is_directive(name)) {
            let error = FieldError {
                path: Place { parent: Some(&self.place), step: Step::Field(name) }.path(),
                reason: Reason::UnknownField,
                message: format!("unknown field `{name}`"),
                help: suggest::help(name, known.fields.iter().copied()),
            };
            self.notes.found.borrow_mut().errors.push(error);
        }
    }

    /// A whole number from `least` to `most`; zero when it is none, which is noted.
    fn whole_number(&self, least: i64, most: i64) -> i64 {
        if self.null_is(json!(0)) {
            return 0;
        }
        let Some(number) = whole(self.value) else {
            let digits = self.value.as_str().is_some_and(|text| text.parse::<i64>().is_ok());
            self.mistake("a whole number", digits.then_some("take it out of its quotes"));
            return 0;
        };
        if number < least || number > most {
            self.mistake(&format!("a whole number from {least} to {most}"), None);
            return 0;
        }
        if self.value.as_i64().is_none() {
            self.edit(Some(json!(number)));
        }
        self.leave_out_zero(number == 0);
        number
    }

    fn text(&self) -> &'a str {
        if self.null_is(json!("")) {
            return "";
        }
        let Some(text) = self.value.as_str() else {
            let help = (self.value.is_number() || self.value.is_boolean()).then_some("put it in quotes");
            self.mistake("text", help);
            return "";
        };
        self.leave_out_zero(text.is_empty());
        text
    }

    /// Canonical text of a quantity.
    fn quantity(&self) -> String {
        let text = match self.value {
            Value::Null => "0".to_string(),
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => {
                self.mistake("a quantity like `500m` or `1Gi`", None);
                return "0".to_string();
            }
        };
        match Quantity::parse(&text) {
            Ok(quantity) => {
                let canonical = quantity.to_string();
                if self.value.as_str() != Some(canonical.as_str()) {
                    self.edit(Some(Value::String(canonical.clone())));
                }
                canonical
            }
            Err(error) => {
                let error = wrong(&self.place.path(), format!("{text:?}: {error}"));
                self.notes.found.borrow_mut().errors.push(error);
                "0".to_string()
            }
        }
    }

    /// A timestamp; the beginning of the epoch when it is none, which is noted.
    fn timestamp(&self, has_micros: bool) -> &'a str {
        const EPOCH: &str = "1970-01-01T00:00:00Z";
        match self.value.as_str() {
            Some(text) if timestamp::is_rfc3339(text, has_micros) => text,
            _ => {
                let example = if has_micros { "2026-01-01T00:00:00.000000Z" } else { "2026-01-01T00:00:00Z" };
                self.mistake(&format!("a time like {example}"), None);
                EPOCH
            }
        }
    }
}

/// The fields of a type.
struct Known {
    type_name: &'static str,
    fields: &'static [&'static str],
}

/// A whole number, also one with a point and nothing behind it, which is how YAML is handed to the server.
fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let float = value.as_f64().filter(|_| value.is_f64())?;
        // Above 2^53 a float with no fraction may stand for another number than the one that was written.
        (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then_some(float as i64)
    })
}

/// Longest value that a message shows whole.
const SHOWN_CHARACTERS_MAX: usize = 60;

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
        _ => {
            let text = value.to_string();
            match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
                Some((end, _)) => format!("{}...", &text[..end]),
                None => text,
            }
        }
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Failure;

    /// `IntOrString`, or what may be anything.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.slot, Slot::Free) {
            return match self.value {
                Value::Array(items) => visitor.visit_seq(Items { reader: &self, rest: items.iter().enumerate() }),
                Value::Object(_) => self.fields(None, visitor),
                Value::Null => visitor.visit_unit(),
                Value::Bool(value) => visitor.visit_bool(*value),
                Value::String(text) => visitor.visit_str(text),
                Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                    (Some(whole), _) => visitor.visit_i64(whole),
                    (None, float) => visitor.visit_f64(float.unwrap_or_default()),
                },
            };
        }
        match self.value {
            Value::String(text) => visitor.visit_str(text),
            value if value.is_null() || whole(value).is_some() => {
                visitor.visit_i64(self.whole_number(i64::from(i32::MIN), i64::from(i32::MAX)))
            }
            _ => {
                self.mistake("a whole number or text", None);
                visitor.visit_i64(0)
            }
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        type_name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if !self.null_is(json!({})) && !self.value.is_object() {
            self.mistake("an object", None);
        }
        self.fields(Some(Known { type_name, fields }), visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if matches!(self.slot, Slot::Free) {
            return self.fields(None, visitor);
        }
        if !self.null_is(json!({})) && !self.value.is_object() {
            self.mistake("an object", None);
        }
        self.leave_out_empty();
        self.fields(None, visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if !self.null_is(json!([])) && !self.value.is_array() {
            self.mistake("a list", self.value.is_object().then_some("start each item with a dash"));
        }
        self.leave_out_empty();
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        visitor.visit_seq(Items { reader: &self, rest: items.iter().enumerate() })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.value {
            Value::Null => {
                self.edit(None);
                visitor.visit_none()
            }
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, Failure> {
        let text = |text: &str| -> Value { Value::String(text.to_string()) };
        match name {
            "Quantity" => visitor.visit_newtype_struct(text(&self.quantity())),
            "Time" => visitor.visit_newtype_struct(text(self.timestamp(false))),
            "MicroTime" => visitor.visit_newtype_struct(text(self.timestamp(true))),
            _ => visitor.visit_newtype_struct(Reader { slot: Slot::Free, ..self }),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        if self.null_is(json!(false)) {
            return visitor.visit_bool(false);
        }
        let Some(given) = self.value.as_bool() else {
            let quoted = matches!(self.value.as_str(), Some("true" | "false"));
            self.mistake("true or false", quoted.then_some("take it out of its quotes"));
            return visitor.visit_bool(false);
        };
        self.leave_out_zero(!given);
        visitor.visit_bool(given)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_i64(self.whole_number(i64::from(i32::MIN), i64::from(i32::MAX)))
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_i64(self.whole_number(i64::MIN, i64::MAX))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let number = self.value.as_f64();
        if number.is_none() && !self.null_is(json!(0)) {
            self.mistake("a number", None);
        }
        visitor.visit_f64(number.unwrap_or_default())
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_str(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_str(self.text())
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

impl Reader<'_> {
    /// Notes that an empty list or map counts as absent here.
    fn leave_out_empty(&self) {
        let is_empty = match self.value {
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if let Slot::Field(type_name, field) = self.slot
            && is_empty
            && zero::is_empty_left_out(type_name, field)
        {
            self.edit(None);
        }
    }
}

struct Fields<'r, 'a> {
    reader: &'r Reader<'a>,
    known: Option<Known>,
    rest: serde_json::map::Iter<'r>,
    current: Option<(&'r String, &'r Value)>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Failure> {
        let skipped = self.reader.skipped;
        self.current = self.rest.by_ref().find(|(name, _)| name.as_str() != skipped);
        let Some((name, _)) = self.current else { return Ok(None) };
        let name: StrDeserializer<'_, Failure> = name.as_str().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Failure> {
        let (name, value) = self.current.take().expect("a value is asked for after its key");
        let step = if self.known.is_some() { Step::Field(name) } else { Step::Key(name) };
        let place = Place { parent: Some(&self.reader.place), step };
        let slot = match (&self.known, self.reader.slot) {
            (Some(known), _) => Slot::Field(known.type_name, name),
            (None, Slot::Free) => Slot::Free,
            (None, _) => Slot::Item,
        };
        seed.deserialize(Reader { value, place, skipped: "", slot, notes: self.reader.notes })
    }
}

struct Items<'r, 'a> {
    reader: &'r Reader<'a>,
    rest: std::iter::Enumerate<std::slice::Iter<'r, Value>>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        let slot = if matches!(self.reader.slot, Slot::Free) { Slot::Free } else { Slot::Item };
        let place = Place { parent: Some(&self.reader.place), step: Step::Index(index) };
        let item = Reader { value, place, skipped: "", slot, notes: self.reader.notes };
        seed.deserialize(item).map(Some)
    }
}
