//! What admission plugins add to an object and refuse.
//!
//! One file a plugin. The plugins are those that are on by default and look at the kinds that are known here:
//! NamespaceLifecycle, LimitRanger, ServiceAccount, TaintNodesByCondition, Priority, DefaultTolerationSeconds, RuntimeClass,
//! DefaultStorageClass, StorageObjectInUseProtection. ResourceQuota is not among them yet: quotas are read and checked
//! themselves, but nothing is counted against them.
//!
//! Upstream: plugin/pkg/admission/*, apiserver/pkg/admission/plugin/namespace/lifecycle, v1.36.

mod limit_range;
mod namespace;
mod node_taint;
mod priority;
mod runtime_class;
mod service_account;
mod storage;
mod tolerations;

use serde_json::Value;

use super::{Errors, Field, ManifestKind};

pub use service_account::TOKEN_VOLUME;

/// The kinds that plugins look at.
const KINDS: [&str; 7] =
    ["LimitRange", "Namespace", "PriorityClass", "ResourceQuota", "RuntimeClass", "ServiceAccount", "StorageClass"];

/// Whether plugins look at this object when they judge others.
pub fn is_looked_at(object: &Value) -> bool {
    KINDS.contains(&object["kind"].as_str().unwrap_or_default())
}

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
    pub fn among<'a>(objects: impl Iterator<Item = &'a Value>) -> Surroundings {
        Surroundings {
            objects: objects.filter(|object| is_looked_at(object)).cloned().collect(),
            ..Surroundings::default()
        }
    }

    /// Objects of a kind, in the given order.
    pub(super) fn of<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Field<'a>> {
        self.objects.iter().filter(move |object| object["kind"] == kind).map(Field::root)
    }

    /// The object of a kind with this name; in a namespace unless that is empty.
    fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<Field<'_>> {
        let is_it = |object: &&Value| {
            let metadata = &object["metadata"];
            let of_namespace = metadata["namespace"].as_str().unwrap_or_default();
            object["kind"] == kind && metadata["name"] == name && of_namespace == namespace
        };
        self.objects.iter().find(is_it).map(Field::root)
    }
}

/// What plugins add to an object that is created.
pub fn mutate(kind: ManifestKind, object: &mut Value, around: &Surroundings, errors: &mut Errors) {
    namespace::place(kind, object);
    namespace::check(kind, &Field::root(object), around, errors);
    match kind {
        ManifestKind::Pod => {
            limit_range::fill_in(object, around);
            service_account::assign(object, around, errors);
            priority::resolve(object, around, errors);
            tolerations::add_defaults(object);
            runtime_class::apply(object, around, errors);
        }
        ManifestKind::Node => node_taint::add(object),
        ManifestKind::PersistentVolumeClaim => {
            storage::add_default_class(object, around);
            storage::protect(object, "kubernetes.io/pvc-protection");
        }
        ManifestKind::PersistentVolume => storage::protect(object, "kubernetes.io/pv-protection"),
        _ => {}
    }
}

/// What plugins refuse once the object is complete.
pub fn validate(kind: ManifestKind, object: &Value, around: &Surroundings, errors: &mut Errors) {
    let root = Field::root(object);
    match kind {
        ManifestKind::Pod => limit_range::check_pod(&root, around, errors),
        ManifestKind::PersistentVolumeClaim => limit_range::check_claim(&root, around, errors),
        ManifestKind::PriorityClass => priority::check_class(&root, around, errors),
        _ => {}
    }
}

/// What plugins add to an object that is updated.
pub fn mutate_update(
    kind: ManifestKind,
    stored: &Value,
    object: &mut Value,
    _around: &Surroundings,
    _errors: &mut Errors,
) {
    namespace::place(kind, object);
    if kind == ManifestKind::Pod {
        priority::keep(stored, object);
        tolerations::add_defaults(object);
    }
}

#[cfg(test)]
mod tests;
