//! Strict reading: fields that the API's types do not have.
//!
//! The server asks its decoder which keys no field took; so do we: the types are read from a JSON value by a reader that
//! compares each object's keys with the fields that the type names.
//!
//! Upstream: sigs.k8s.io/json (`UnmarshalStrict`), apiserver/pkg/endpoints/handlers/create.go, v1.36.

use std::cell::RefCell;

use k8s_openapi::api::{apps::v1 as apps, coordination::v1 as coordination, core::v1 as core};
use serde::de::value::StrDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::model::Kind;
use crate::rules::suggest;

/// A field that the API does not have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownField {
    /// Its path.
    pub path: String,
    /// Its name.
    pub name: String,
    /// The field of the same object that may be meant, or all of them when they are few.
    pub help: Option<String>,
}

/// All unknown fields of a manifest or of a patch (whose directives, `$patch` and the like, are left out). Reading ends at
/// a value of the wrong type, which [`super::decode()`] reports. `status` is what servers write and is read for nodes only.
pub fn unknown_fields(kind: Kind, manifest: &Value) -> Vec<UnknownField> {
    let found = RefCell::new(Vec::new());
    let skipped = if kind == Kind::Node { "" } else { "status" };
    let reader = Reader { value: manifest, path: String::new(), skipped, found: &found };
    // A value of the wrong type is not of interest here.
    let _ = match kind {
        Kind::Pod => core::Pod::deserialize(reader).err(),
        Kind::Node => core::Node::deserialize(reader).err(),
        Kind::Namespace => core::Namespace::deserialize(reader).err(),
        Kind::Event => core::Event::deserialize(reader).err(),
        Kind::ReplicaSet => apps::ReplicaSet::deserialize(reader).err(),
        Kind::Deployment => apps::Deployment::deserialize(reader).err(),
        Kind::Lease => coordination::Lease::deserialize(reader).err(),
    };
    found.into_inner()
}

type Failure = serde_json::Error;

/// A value at a path.
struct Reader<'a> {
    value: &'a Value,
    path: String,
    /// A field of this object that is not looked into.
    skipped: &'static str,
    found: &'a RefCell<Vec<UnknownField>>,
}

impl<'a> Reader<'a> {
    fn within(&self, value: &'a Value, path: String) -> Reader<'a> {
        Reader { value, path, skipped: "", found: self.found }
    }

    fn fields<'de, V: Visitor<'de>>(
        self,
        fields: &'a Map<String, Value>,
        known: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let dot = if self.path.is_empty() { "" } else { "." };
        if let Some(known) = known {
            let is_unknown = |name: &&String| !known.contains(&name.as_str()) && !name.starts_with('$');
            self.found.borrow_mut().extend(fields.keys().filter(is_unknown).map(|name| UnknownField {
                path: format!("{}{dot}{name}", self.path),
                name: name.clone(),
                help: suggest::help(name, known.iter().copied()),
            }));
        }
        visitor.visit_map(Fields { reader: &self, rest: fields.iter(), current: None })
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Items { reader: &self, rest: items.iter().enumerate() }),
            Value::Object(fields) => self.fields(fields, None, visitor),
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(text) => visitor.visit_str(text),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => visitor.visit_i64(whole),
                (None, float) => visitor.visit_f64(float.unwrap_or_default()),
            },
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        match self.value {
            Value::Object(fields) => self.fields(fields, Some(known), visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map enum identifier ignored_any
    }
}

struct Fields<'r, 'a> {
    reader: &'r Reader<'a>,
    rest: serde_json::map::Iter<'a>,
    current: Option<(&'a String, &'a Value)>,
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
        let dot = if self.reader.path.is_empty() { "" } else { "." };
        seed.deserialize(self.reader.within(value, format!("{}{dot}{name}", self.reader.path)))
    }
}

struct Items<'r, 'a> {
    reader: &'r Reader<'a>,
    rest: std::iter::Enumerate<std::slice::Iter<'a, Value>>,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Failure> {
        let Some((index, item)) = self.rest.next() else { return Ok(None) };
        seed.deserialize(self.reader.within(item, format!("{}[{index}]", self.reader.path))).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_are_named_with_what_may_be_meant() {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "label": {},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {}}}]}, "spec": {"replica": 2, "paused": null,
            "selector": {"matchLabels": {"any": "thing"}}, "strategy": {"rollingUpdate": {"maxSurge": "25%"}},
            "template": {"spec": {"containers": [{"name": "c"}, {"name": "d",
                "resources": {"request": {"cpu": "1"}, "limits": {"cpu": 1, "own.example/x": "2"}}}]}}},
            "status": {"newerThanWe": 1}});
        let found = unknown_fields(Kind::Deployment, &manifest);
        let shown: Vec<(&str, &str)> =
            found.iter().map(|field| (field.path.as_str(), field.help.as_deref().unwrap_or(""))).collect();
        assert_eq!(
            shown,
            [
                ("metadata.label", "did you mean `labels`?"),
                ("spec.replica", "did you mean `replicas`?"),
                ("spec.template.spec.containers[1].resources.request", "did you mean `requests`?"),
            ]
        );
    }

    #[test]
    fn directives_of_patches_are_no_fields_and_top_level_fields_are_checked() {
        let patch = json!({"spec": {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"$patch": "delete",
            "name": "c"}]}, "sepc": {}});
        let found = unknown_fields(Kind::Pod, &patch);
        assert_eq!(found.iter().map(|field| field.path.as_str()).collect::<Vec<_>>(), ["sepc"]);
        let node = json!({"status": {"capcity": {"cpu": "1"}, "allocatable": {"cpu": "1"}}});
        assert_eq!(unknown_fields(Kind::Node, &node)[0].path, "status.capcity");
        assert_eq!(unknown_fields(Kind::Pod, &json!({"spec": 3})), []);
    }
}
