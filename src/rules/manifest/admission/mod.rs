//! What admission plugins add to an object and refuse.

use serde_json::Value;

use super::{Errors, ManifestKind};

/// The kinds that plugins look at.
const KINDS: [&str; 7] =
    ["LimitRange", "Namespace", "PriorityClass", "ResourceQuota", "RuntimeClass", "ServiceAccount", "StorageClass"];

/// What admission plugins look at beside the object: the objects of the cluster, as stored.
#[derive(Clone, Default, Debug)]
pub struct Surroundings {
    /// PriorityClasses, RuntimeClasses, StorageClasses, LimitRanges, ResourceQuotas, ServiceAccounts, Namespaces.
    pub objects: Vec<Value>,
    /// Whether every namespace exists; otherwise those of a new cluster and those among the objects.
    pub any_namespace: bool,
}

impl Surroundings {
    /// Of all objects, those that plugins look at.
    pub fn of<'a>(objects: impl Iterator<Item = &'a Value>) -> Surroundings {
        let of_interest = |object: &&Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            KINDS.contains(&kind)
        };
        Surroundings { objects: objects.filter(of_interest).cloned().collect(), ..Surroundings::default() }
    }
}

/// What plugins add to an object that is created.
pub fn mutate(_kind: ManifestKind, _object: &mut Value, _around: &Surroundings, _errors: &mut Errors) {}

/// What plugins refuse once the object is complete.
pub fn validate(_kind: ManifestKind, _object: &Value, _around: &Surroundings, _errors: &mut Errors) {}

/// What plugins add to an object that is updated.
pub fn mutate_update(
    _kind: ManifestKind,
    _stored: &Value,
    _object: &mut Value,
    _around: &Surroundings,
    _errors: &mut Errors,
) {
}
