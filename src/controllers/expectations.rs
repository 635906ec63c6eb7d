//! What a controller has asked for and not yet seen in its cache, a key each: it waits before it asks again.
//!
//! Upstream: pkg/controller/controller_utils.go (`ControllerExpectations`, `UIDTrackingControllerExpectations`), v1.36.

use crate::model::{Key, Map, Name, Set, Span, Time};

/// Expectations older than this count as fulfilled.
pub const TIMEOUT: Span = Span::from_seconds(5 * 60);

/// The open expectations of one controller.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    open: Map<Key, Expected>,
}

#[derive(Clone, Debug)]
struct Expected {
    adds: i64,
    deletes: i64,
    /// The objects whose deletion counts, by name: each counts once.
    names: Set<Name>,
    since: Time,
}

impl Expectations {
    /// Whether the owner may act: nothing is open, or it has been open for too long.
    pub fn are_satisfied(&self, owner: &Key, now: Time) -> bool {
        self.open
            .get(owner)
            .is_none_or(|expected| (expected.adds <= 0 && expected.deletes <= 0) || now - expected.since > TIMEOUT)
    }

    /// From `now` on, `count` new objects are expected, whatever was expected before.
    pub fn expect_creations(&mut self, owner: &Key, count: usize, now: Time) {
        let expected = Expected { adds: count as i64, deletes: 0, names: Set::default(), since: now };
        self.open.insert(owner.clone(), expected);
    }

    /// From `now` on, these objects are expected to be deleted, whatever was expected before.
    pub fn expect_deletions(&mut self, owner: &Key, names: impl IntoIterator<Item = Name>, now: Time) {
        let names: Set<Name> = names.into_iter().collect();
        let expected = Expected { adds: 0, deletes: names.len() as i64, names, since: now };
        self.open.insert(owner.clone(), expected);
    }

    /// A new object was seen, or will never be.
    pub fn creation_observed(&mut self, owner: &Key) {
        if let Some(expected) = self.open.get_mut(owner) {
            expected.adds -= 1;
        }
    }

    /// The deletion of this object was seen, or will never be. Only the first time counts.
    pub fn deletion_observed(&mut self, owner: &Key, name: &Name) {
        if let Some(expected) = self.open.get_mut(owner)
            && expected.names.swap_remove(name)
        {
            expected.deletes -= 1;
        }
    }

    /// Forgets the owner.
    pub fn forget(&mut self, owner: &Key) {
        self.open.swap_remove(owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    #[test]
    fn creations_count_down_and_time_out() {
        let owner = Key::new(Kind::ReplicaSet, "default", "web");
        let mut expectations = Expectations::default();
        let start = Time(0);
        assert!(expectations.are_satisfied(&owner, start));
        expectations.expect_creations(&owner, 2, start);
        expectations.creation_observed(&owner);
        assert!(!expectations.are_satisfied(&owner, start));
        // Exactly five minutes are not yet too long; one nanosecond more is.
        assert!(!expectations.are_satisfied(&owner, start + TIMEOUT));
        assert!(expectations.are_satisfied(&owner, start + TIMEOUT + Span(1)));
        expectations.creation_observed(&owner);
        assert!(expectations.are_satisfied(&owner, start));
    }

    #[test]
    fn a_deletion_counts_once_and_only_if_expected() {
        let owner = Key::new(Kind::ReplicaSet, "default", "web");
        let mut expectations = Expectations::default();
        expectations.expect_deletions(&owner, ["a".into(), "b".into()], Time(0));
        expectations.deletion_observed(&owner, &"a".into());
        expectations.deletion_observed(&owner, &"a".into());
        expectations.deletion_observed(&owner, &"c".into());
        assert!(!expectations.are_satisfied(&owner, Time(0)));
        expectations.deletion_observed(&owner, &"b".into());
        assert!(expectations.are_satisfied(&owner, Time(0)));
    }
}
