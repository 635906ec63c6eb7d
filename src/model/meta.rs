//! ObjectMeta as every object carries it.

use std::rc::Rc;

use serde_json::Value;

use super::{Kind, Labels, Name, Rv, Time, Uid};

/// The object as its manifest wrote it, defaulted: what patches, apply, output and conditions work on. Pods made from a
/// template share the template's. Only `spec` (and fields we do not type) is read from it: metadata and status are typed.
pub type Source = Option<Rc<Value>>;

/// A reference to an owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnerReference {
    /// Kind of the owner; `None` for kinds we do not hold.
    pub kind: Option<Kind>,
    /// `apiVersion/kind` of an owner whose kind is not a built-in one; else empty.
    pub foreign_kind: Name,
    /// Name of the owner.
    pub name: Name,
    /// Uid of the owner.
    pub uid: Uid,
    /// Whether it is the managing controller.
    pub controller: bool,
    /// Whether foreground deletion of the owner waits for this object.
    pub block_owner_deletion: bool,
}

/// Set once an object is being deleted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Deletion {
    /// `deletionTimestamp` (whole seconds): when the grace period ends.
    pub at: Time,
    /// `deletionGracePeriodSeconds`.
    pub grace_seconds: i64,
}

/// The metadata of an object.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// `namespace`, empty for cluster-scoped kinds.
    pub namespace: Name,
    /// `name`; empty in a create request that gives `generate_name`.
    pub name: Name,
    /// `generateName`, a prefix.
    pub generate_name: Name,
    /// `uid`, given by the API server.
    pub uid: Uid,
    /// `resourceVersion` of this version of the object.
    pub resource_version: Rv,
    /// `generation`: rises with each change of spec, for the kinds that have one.
    pub generation: i64,
    /// `creationTimestamp`, whole seconds.
    pub creation: Time,
    /// Set once the object is being deleted.
    pub deletion: Option<Deletion>,
    /// `labels`.
    pub labels: Labels,
    /// `annotations`.
    pub annotations: Labels,
    /// `ownerReferences`.
    pub owners: Option<Rc<[OwnerReference]>>,
    /// `finalizers`.
    pub finalizers: Option<Rc<[Name]>>,
}

impl OwnerReference {
    /// `apiVersion` and `kind`, as manifests write them.
    pub fn api_version_and_kind(&self) -> (&str, &str) {
        match self.kind {
            Some(kind) => (kind.info().api_version, kind.info().name),
            None => self.foreign_kind.as_str().rsplit_once('/').unwrap_or_default(),
        }
    }
}

impl Meta {
    /// Metadata of a namespaced object with this name.
    pub fn named(namespace: impl Into<Name>, name: impl Into<Name>) -> Meta {
        Meta { namespace: namespace.into(), name: name.into(), ..Meta::default() }
    }

    /// The managing controller, if any.
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owners.iter().flat_map(|owners| owners.iter()).find(|owner| owner.controller)
    }

    /// Whether any finalizer holds the object.
    pub fn has_finalizers(&self) -> bool {
        self.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty())
    }

    /// Whether deletion has begun.
    pub fn is_deleting(&self) -> bool {
        self.deletion.is_some()
    }
}
