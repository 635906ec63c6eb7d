//! Custom resources: objects of kinds that a scenario brings, with spec and status as JSON.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::rc::Rc;

use serde_json::Value;

use super::kind::{Kind, KindInfo};
use super::meta::{Meta, Source};

/// A kind of custom resource: a small copyable handle, as built-in kinds are.
///
/// What is fixed about it lives as long as the program: a scenario makes its kinds once, all its worlds share them.
#[derive(Clone, Copy)]
pub struct CustomKind {
    slot: u8,
    info: &'static KindInfo,
}

impl CustomKind {
    /// How many kinds of its own a scenario may bring.
    pub const SLOTS: usize = 24;

    /// A kind in this slot; `None` when there is no such slot. Without a plural English rules make one.
    pub(super) fn new(
        slot: usize,
        api_version: &str,
        name: &str,
        plural: Option<&str>,
        namespaced: bool,
    ) -> Option<CustomKind> {
        let slot = u8::try_from(slot).ok().filter(|slot| usize::from(*slot) < CustomKind::SLOTS)?;
        let singular = name.to_ascii_lowercase();
        let plural = plural.map_or_else(|| plural_of(&singular), str::to_string);
        let info = KindInfo {
            api_version: lasting(api_version.to_string()),
            name: lasting(name.to_string()),
            plural: lasting(plural),
            aliases: Box::leak(Box::new([lasting(singular)])),
            namespaced,
        };
        Some(CustomKind { slot, info: Box::leak(Box::new(info)) })
    }

    /// Its slot, from 0.
    pub const fn slot(self) -> usize {
        self.slot as usize
    }

    /// What is fixed about it.
    pub fn info(self) -> &'static KindInfo {
        self.info
    }
}

fn lasting(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// The plural of a kind as kubebuilder and controller-gen guess it.
fn plural_of(singular: &str) -> String {
    let is_vowel = |letter: char| "aeiou".contains(letter);
    match singular.strip_suffix('y') {
        Some(stem) if !stem.ends_with(is_vowel) => format!("{stem}ies"),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| singular.ends_with(end)) => format!("{singular}es"),
        _ => format!("{singular}s"),
    }
}

impl PartialEq for CustomKind {
    fn eq(&self, other: &CustomKind) -> bool {
        self.slot == other.slot && (std::ptr::eq(self.info, other.info) || self.info == other.info)
    }
}

impl Eq for CustomKind {}

impl Ord for CustomKind {
    fn cmp(&self, other: &CustomKind) -> Ordering {
        let words = |kind: &CustomKind| (kind.info.api_version, kind.info.name);
        self.slot.cmp(&other.slot).then_with(|| words(self).cmp(&words(other)))
    }
}

impl PartialOrd for CustomKind {
    fn partial_cmp(&self, other: &CustomKind) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for CustomKind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.slot.hash(state);
    }
}

impl fmt::Debug for CustomKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)
    }
}

/// A custom resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Custom {
    /// Its kind.
    pub kind: CustomKind,
    /// Metadata.
    pub meta: Meta,
    /// The manifest: `spec` and all other fields but `metadata` and `status`.
    pub source: Source,
    /// `status`, an empty object or null when there is none.
    pub status: Rc<Value>,
}

impl Custom {
    /// `spec`, or null.
    pub fn spec(&self) -> &Value {
        self.field("spec")
    }

    /// A field of the manifest outside `metadata` and `status`, or null.
    pub fn field(&self, name: &str) -> &Value {
        self.source.as_ref().map_or(&Value::Null, |source| &source[name])
    }

    /// Its kind, as any object's.
    pub fn object_kind(&self) -> Kind {
        Kind::Custom(self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_follow_english() {
        for (singular, plural) in
            [("database", "databases"), ("policy", "policies"), ("gateway", "gateways"), ("mesh", "meshes")]
        {
            assert_eq!(plural_of(singular), plural);
        }
    }
}
