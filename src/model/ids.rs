//! Identifiers: resource versions, object keys, and numbers of records.

use std::fmt;

use indexmap::Equivalent;

use super::{Kind, Name};

/// A resourceVersion: the number of the commit that wrote this version; 0 means "none given".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Rv(pub u64);

impl fmt::Display for Rv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The uid of an object, as text: Kubernetes compares uids as strings (deletion ranking), so we do.
pub type Uid = Name;

/// The number of a trace record; records count from 1, 0 means "no cause recorded yet".
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct RecordId(pub u64);

/// What caused something: the record that did.
pub type Cause = RecordId;

/// Kind, namespace (empty for cluster-scoped kinds) and name: what a cache is keyed by. Orders by kind, namespace, name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key {
    /// The kind.
    pub kind: Kind,
    /// The namespace, empty for cluster-scoped kinds.
    pub namespace: Name,
    /// The name.
    pub name: Name,
}

/// Namespace and name: a [`Key`] among objects of one kind, in less memory.
pub type Place = (Name, Name);

/// A [`Place`] to look up without a copy: it hashes as the pair does.
#[derive(Clone, Copy, Hash, Debug)]
pub struct PlaceRef<'a>(&'a Name, &'a Name);

impl PlaceRef<'_> {
    /// The place of an object.
    pub fn of(key: &Key) -> PlaceRef<'_> {
        PlaceRef(&key.namespace, &key.name)
    }
}

impl Equivalent<Place> for PlaceRef<'_> {
    fn equivalent(&self, (namespace, name): &Place) -> bool {
        self.0 == namespace && self.1 == name
    }
}

impl Key {
    /// The place among objects of its kind.
    pub fn into_place(self) -> Place {
        (self.namespace, self.name)
    }

    /// A key.
    pub fn new(kind: Kind, namespace: impl Into<Name>, name: impl Into<Name>) -> Key {
        Key { kind, namespace: namespace.into(), name: name.into() }
    }

    /// A stable hash of the key, the entity of keyed draws.
    pub fn stable_hash(&self) -> u64 {
        let kind = self.kind.draw_number().wrapping_mul(0x9e37_79b9_7f4a_7c15);
        kind ^ self.namespace.stable_hash().rotate_left(17) ^ self.name.stable_hash().rotate_left(41)
    }
}

/// `kind/name` or `namespace/kind/name` outside `default`, as scenarios write references.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.namespace.is_empty() && self.namespace != "default" {
            write!(f, "{}/", self.namespace)?;
        }
        write!(f, "{}/{}", self.kind.singular(), self.name)
    }
}

/// The text of a uid with these bits: of version 4, variant 1, as the real server's uids are.
pub fn uid_text(high: u64, low: u64) -> String {
    let (high, low) = (high & 0xffff_ffff_ffff_0fff | 0x4000, low & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000);
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
