//! Fields of the API's types by name: whether a path such as `status.readyReplicas` leads anywhere.
//!
//! The types are asked to read a value that consists of the path alone; each tells the names of its fields on the way.

use std::cell::RefCell;

use k8s_openapi::api::{
    apps::v1 as apps, coordination::v1 as coordination, core::v1 as core, discovery::v1 as discovery,
    policy::v1 as policy, scheduling::v1 as scheduling,
};
use serde::de::value::{Error, StrDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::model::Kind;

/// The first field of a path that its object does not have, and the names that it does have. A step of the path is a field's
/// name, or `None` for an item of a list. `None` when the path leads somewhere, or goes where names are free.
pub fn unknown(kind: Kind, path: &[Option<&str>]) -> Option<(String, Vec<&'static str>)> {
    let found = RefCell::new(None);
    let path = Path { steps: path, found: &found };
    // What is read is never of interest: reading ends with an error where the path does.
    let _ = match kind {
        Kind::Pod => core::Pod::deserialize(path).err(),
        Kind::Node => core::Node::deserialize(path).err(),
        Kind::Namespace => core::Namespace::deserialize(path).err(),
        Kind::Event => core::Event::deserialize(path).err(),
        Kind::ReplicaSet => apps::ReplicaSet::deserialize(path).err(),
        Kind::Deployment => apps::Deployment::deserialize(path).err(),
        Kind::Lease => coordination::Lease::deserialize(path).err(),
        Kind::Service => core::Service::deserialize(path).err(),
        Kind::PodDisruptionBudget => policy::PodDisruptionBudget::deserialize(path).err(),
        Kind::PriorityClass => scheduling::PriorityClass::deserialize(path).err(),
        Kind::HorizontalPodAutoscaler => {
            k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler::deserialize(path).err()
        }
        Kind::EndpointSlice => discovery::EndpointSlice::deserialize(path).err(),
        #[allow(unreachable_patterns, reason = "kinds are added elsewhere; one that is not known here is not judged")]
        _ => None,
    };
    found.into_inner()
}

type Found = RefCell<Option<(String, Vec<&'static str>)>>;

/// A value that has one field, which has one field, and so on.
#[derive(Clone, Copy)]
struct Path<'a> {
    steps: &'a [Option<&'a str>],
    found: &'a Found,
}

impl<'a> Path<'a> {
    fn next(self) -> Path<'a> {
        Path { steps: &self.steps[1..], ..self }
    }
}

fn end<T>() -> Result<T, Error> {
    Err(Error::custom("the path ends here"))
}

impl<'de> Deserializer<'de> for Path<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.steps.first() {
            Some(Some(field)) if fields.contains(field) => visitor.visit_map(One { path: self, is_read: false }),
            Some(Some(field)) => {
                *self.found.borrow_mut() = Some(((*field).to_string(), fields.to_vec()));
                end()
            }
            _ => end(),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.steps.first() {
            Some(None) => visitor.visit_seq(One { path: self, is_read: false }),
            _ => end(),
        }
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        end()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map enum identifier ignored_any
    }
}

/// The one field or item of a value.
struct One<'a> {
    path: Path<'a>,
    is_read: bool,
}

impl<'de> MapAccess<'de> for One<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Error> {
        let Some(Some(field)) = self.path.steps.first().filter(|_| !self.is_read) else { return Ok(None) };
        self.is_read = true;
        let key: StrDeserializer<'_, Error> = (*field).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(self.path.next())
    }
}

impl<'de> SeqAccess<'de> for One<'_> {
    type Error = Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Error> {
        if self.is_read {
            return Ok(None);
        }
        self.is_read = true;
        seed.deserialize(self.path.next()).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_somewhere_or_name_the_field_that_is_not_there() {
        let unknown = |kind, path: &str| {
            let steps: Vec<Option<&str>> = path.split('.').map(|step| (step != "[]").then_some(step)).collect();
            unknown(kind, &steps).map(|(field, _)| field)
        };
        for path in [
            "status.readyReplicas",
            "metadata.labels.anything",
            "metadata.name",
            "spec.template.spec.containers.[].resources.requests.cpu",
            "spec.strategy.rollingUpdate.maxSurge",
            "status.conditions.[].lastTransitionTime",
            "spec.replicas.deeper",
        ] {
            assert_eq!(unknown(Kind::Deployment, path), None, "{path}");
        }
        for (kind, path, field) in [
            (Kind::Deployment, "status.readyReplica", "readyReplica"),
            (Kind::Deployment, "stats", "stats"),
            (Kind::Deployment, "spec.template.spec.containers.[].img", "img"),
            (Kind::Pod, "status.conditions.[].kind", "kind"),
            (Kind::Node, "status.capacities", "capacities"),
            (Kind::Lease, "spec.holder", "holder"),
            (Kind::Namespace, "metadata.labls.x", "labls"),
            (Kind::Event, "involvedObject.nam", "nam"),
            (Kind::ReplicaSet, "spec.selector.matchLabel", "matchLabel"),
        ] {
            assert_eq!(unknown(kind, path).as_deref(), Some(field), "{path}");
        }
        let (_, known) = super::unknown(Kind::Lease, &[Some("spec"), Some("x")]).unwrap();
        assert!(known.contains(&"holderIdentity"));
    }
}
