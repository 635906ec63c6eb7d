//! Versions: every change of an object has a new, higher resourceVersion, and no two objects share one.

use crate::apiserver::etcd::Etcd;
use crate::model::{Key, Kind, Map, Object, Rv, Set};

/// The last version seen of every object that exists, by kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    kinds: Map<Kind, (Rv, Map<Key, Object>)>,
}

impl Versions {
    /// Compares with the last time, for the kinds that changed since.
    pub(super) fn check(&mut self, truth: &Etcd) -> Result<(), String> {
        for kind in truth.kinds() {
            // Renewals change a lease without a version: nobody watches them.
            if kind == Kind::Lease {
                continue;
            }
            let revision = truth.kind_revision(kind);
            if self.kinds.get(&kind).is_none_or(|(checked, _)| *checked != revision) {
                self.check_kind(kind, revision, truth.iter(kind))?;
            }
        }
        Ok(())
    }

    fn check_kind<'a>(
        &mut self,
        kind: Kind,
        revision: Rv,
        objects: impl Iterator<Item = &'a Object>,
    ) -> Result<(), String> {
        let (checked, before) = self.kinds.entry(kind).or_default();
        *checked = revision;
        let now: Map<Key, Object> = objects.map(|object| (object.key(), object.clone())).collect();
        let mut taken = Set::default();
        for (key, object) in &now {
            let version = object.meta().resource_version;
            if version > revision {
                return Err(format!("{key} has version {version}, newer than the store"));
            }
            if !taken.insert(version) {
                return Err(format!("{key} shares version {version} with another"));
            }
            let Some(old) = before.get(key) else { continue };
            let old_version = old.meta().resource_version;
            if version < old_version || (version == old_version && object != old) {
                return Err(format!("{key} changed from version {old_version} to {version}"));
            }
        }
        *before = now;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Meta, Namespace};

    fn namespace(name: &str, version: u64, terminating: bool) -> Object {
        let mut meta = Meta::named("", name);
        meta.resource_version = Rv(version);
        Namespace { meta, terminating, source: None }.into()
    }

    #[test]
    fn versions_that_stand_still_or_go_back_are_found() {
        let after = |objects: &[Object]| {
            let mut versions = Versions::default();
            versions.check_kind(Kind::Namespace, Rv(5), [namespace("a", 5, false)].iter()).expect("a first look");
            versions.check_kind(Kind::Namespace, Rv(6), objects.iter()).is_ok()
        };
        assert!(after(&[namespace("a", 6, true)]));
        assert!(after(&[namespace("a", 5, false), namespace("b", 6, false)]));
        assert!(!after(&[namespace("a", 5, true)]));
        assert!(!after(&[namespace("a", 4, true)]));
        assert!(!after(&[namespace("a", 7, true)]));
        assert!(!after(&[namespace("a", 6, true), namespace("b", 6, false)]));
    }
}
