//! Whether a controller's cache has caught up with what the controller itself wrote for an owner. Until then 1.36
//! refuses to sync that owner.
//!
//! Upstream: pkg/controller/util/consistency/consistency.go, v1.36 (gates `StaleControllerConsistency*`, on by default).

use crate::model::{Key, Kind, Map, Rv, Uid};

/// Whether the controllers check (1.36) or not (earlier versions, or the gate is off).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// A sync waits until the cache has seen the controller's own last write.
    Checked,
    /// A sync works with whatever the cache holds.
    Unchecked,
}

/// The last version that a controller wrote, by owner and kind.
#[derive(Clone, Debug)]
pub struct ConsistencyStore {
    mode: Consistency,
    writes: Map<Key, Written>,
}

#[derive(Clone, Debug)]
struct Written {
    owner_uid: Uid,
    versions: Vec<(Kind, Rv)>,
}

impl ConsistencyStore {
    /// An empty store; with [`Consistency::Unchecked`] it stays empty and everything is ready.
    pub fn new(mode: Consistency) -> ConsistencyStore {
        ConsistencyStore { mode, writes: Map::default() }
    }

    /// Notes that an object of `kind` was written at `version` on behalf of the owner. An owner of the same name with
    /// another uid starts anew.
    pub fn wrote_at(&mut self, owner: &Key, owner_uid: &Uid, kind: Kind, version: Rv) {
        if self.mode == Consistency::Unchecked {
            return;
        }
        let fresh = || Written { owner_uid: owner_uid.clone(), versions: Vec::new() };
        let written = self.writes.entry(owner.clone()).or_insert_with(fresh);
        if written.owner_uid != *owner_uid {
            *written = fresh();
        }
        match written.versions.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, last)) => *last = version.max(*last),
            None => written.versions.push((kind, version)),
        }
    }

    /// Forgets the owner, if its uid is the one given (`None`: whatever it is).
    pub fn forget(&mut self, owner: &Key, owner_uid: Option<&Uid>) {
        if self.writes.get(owner).is_some_and(|written| owner_uid.is_none_or(|uid| written.owner_uid == *uid)) {
            self.writes.swap_remove(owner);
        }
    }

    /// Checks that the caches (`read_at` gives the newest version seen of a kind; 0 when it is not watched) are at least
    /// as new as what was written for the owner, and if so forgets the owner.
    ///
    /// # Errors
    /// What is behind, in upstream's words.
    pub fn ensure_ready(&mut self, owner: &Key, read_at: impl Fn(Kind) -> Rv) -> Result<(), String> {
        let Some(written) = self.writes.get(owner) else { return Ok(()) };
        for &(kind, wrote) in &written.versions {
            let read = read_at(kind);
            if read != Rv(0) && wrote > read {
                let resource = kind.qualified_plural();
                return Err(format!(
                    "read version: {read} is not as new as written version: {wrote} for group resource {resource}"
                ));
            }
        }
        self.writes.swap_remove(owner);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_waits_until_every_kind_has_caught_up() {
        let owner = Key::new(Kind::ReplicaSet, "default", "web");
        let mut store = ConsistencyStore::new(Consistency::Checked);
        store.wrote_at(&owner, &"u1".into(), Kind::Pod, Rv(7));
        store.wrote_at(&owner, &"u1".into(), Kind::Pod, Rv(5));
        store.wrote_at(&owner, &"u1".into(), Kind::ReplicaSet, Rv(9));
        assert!(store.ensure_ready(&owner, |_| Rv(6)).is_err_and(|text| text.contains("written version: 7")));
        assert!(store.ensure_ready(&owner, |_| Rv(8)).is_err_and(|text| text.contains("replicasets.apps")));
        assert_eq!(store.ensure_ready(&owner, |_| Rv(9)), Ok(()));
        // Once ready, the owner is forgotten: an older reading does not block it again.
        assert_eq!(store.ensure_ready(&owner, |_| Rv(1)), Ok(()));
    }

    #[test]
    fn another_owner_of_the_name_starts_anew_and_unchecked_never_waits() {
        let owner = Key::new(Kind::ReplicaSet, "default", "web");
        let mut store = ConsistencyStore::new(Consistency::Checked);
        store.wrote_at(&owner, &"u1".into(), Kind::Pod, Rv(7));
        store.wrote_at(&owner, &"u2".into(), Kind::ReplicaSet, Rv(3));
        store.forget(&owner, Some(&"u1".into()));
        assert!(store.ensure_ready(&owner, |_| Rv(2)).is_err());
        assert_eq!(store.ensure_ready(&owner, |_| Rv(3)), Ok(()));
        let mut unchecked = ConsistencyStore::new(Consistency::Unchecked);
        unchecked.wrote_at(&owner, &"u1".into(), Kind::Pod, Rv(7));
        assert_eq!(unchecked.ensure_ready(&owner, |_| Rv(1)), Ok(()));
    }
}
