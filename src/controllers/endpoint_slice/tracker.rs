//! What the controller wrote last, to tell whether its cache has seen it and which changes are its own.
//!
//! Upstream: endpointslice/util/endpointslice_tracker.go, v1.36.

use std::rc::Rc;

use super::decide::SERVICE_NAME;
use crate::model::{EndpointSlice, Key, Kind, Map, Meta, Name, Uid};

/// What is known of one slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// It was written with this generation.
    Generation(i64),
    /// It was deleted.
    Deleted,
}

/// Slices that were written, by Service.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tracker {
    services: Map<Key, OfService>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct OfService {
    /// The uid of the Service at its last sync.
    uid: Option<Uid>,
    slices: Map<Uid, Known>,
}

/// The Service that a slice belongs to by its label; `None` without the label.
pub fn service_key(slice: &Meta) -> Option<Key> {
    let name = slice.labels.get_str(SERVICE_NAME).filter(|name| !name.is_empty())?;
    Some(Key { kind: Kind::Service, namespace: slice.namespace.clone(), name: name.clone() })
}

impl Tracker {
    fn known(&self, slice: &Meta) -> Option<Known> {
        self.services.get(&service_key(slice)?)?.slices.get(&slice.uid).copied()
    }

    fn set(&mut self, slice: &Meta, known: Known) {
        if let Some(key) = service_key(slice) {
            self.services.entry(key).or_default().slices.insert(slice.uid.clone(), known);
        }
    }

    /// Whether a new version of a slice was not written here: its Service has to be looked at.
    pub fn is_news(&self, slice: &Meta) -> bool {
        match self.known(slice) {
            Some(Known::Generation(generation)) => slice.generation > generation,
            // Any generation is larger than that of a slice that should be gone.
            Some(Known::Deleted) | None => true,
        }
    }

    /// Whether the cache has not yet seen what was written for a Service: `cached` are its slices there. Writes for an
    /// older Service of the same name count no more.
    pub fn is_cache_stale(&mut self, key: &Key, uid: &Uid, cached: &[Rc<EndpointSlice>]) -> bool {
        let service = self.services.entry(key.clone()).or_default();
        if service.uid.as_ref().is_some_and(|known| known != uid) {
            service.slices.clear();
        }
        service.uid = Some(uid.clone());
        let is_older = |slice: &Rc<EndpointSlice>| match service.slices.get(&slice.meta.uid) {
            Some(Known::Deleted) => true,
            Some(Known::Generation(generation)) => *generation > slice.meta.generation,
            None => false,
        };
        let is_missing = |(uid, known): (&Name, &Known)| {
            *known != Known::Deleted && !cached.iter().any(|slice| slice.meta.uid == *uid)
        };
        cached.iter().any(is_older) || service.slices.iter().any(is_missing)
    }

    /// Notes what a write made of a slice.
    pub fn wrote(&mut self, slice: &Meta) {
        self.set(slice, Known::Generation(slice.generation));
    }

    /// Notes that a slice was deleted.
    pub fn deleted(&mut self, slice: &Meta) {
        self.set(slice, Known::Deleted);
    }

    /// The cache has seen a slice go. Whether that was not expected: its Service has to be looked at.
    pub fn is_loss(&mut self, slice: &Meta) -> bool {
        let known = service_key(slice).and_then(|key| self.services.get_mut(&key)?.slices.shift_remove(&slice.uid));
        matches!(known, Some(Known::Generation(_)))
    }

    /// Forgets a Service.
    pub fn forget(&mut self, key: &Key) {
        self.services.shift_remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Labels;

    fn slice(uid: &str, generation: i64) -> Rc<EndpointSlice> {
        let labels = Labels::NONE.with(SERVICE_NAME, "web");
        let meta = Meta { uid: uid.into(), generation, labels, ..Meta::named("default", uid) };
        Rc::new(EndpointSlice { meta, ..EndpointSlice::default() })
    }

    fn key() -> Key {
        Key { kind: Kind::Service, namespace: "default".into(), name: "web".into() }
    }

    #[test]
    fn own_writes_are_no_news() {
        let mut tracker = Tracker::default();
        assert!(tracker.is_news(&slice("a", 1).meta));
        tracker.wrote(&slice("a", 2).meta);
        assert!(!tracker.is_news(&slice("a", 1).meta) && !tracker.is_news(&slice("a", 2).meta));
        assert!(tracker.is_news(&slice("a", 3).meta) && tracker.is_news(&slice("b", 1).meta));
        assert_eq!(service_key(&Meta::named("default", "x")), None);
    }

    #[test]
    fn a_cache_that_lags_is_seen() {
        let mut tracker = Tracker::default();
        let uid = Uid::new("s1");
        let is_stale =
            |tracker: &mut Tracker, cached: &[Rc<EndpointSlice>]| tracker.is_cache_stale(&key(), &uid, cached);
        assert!(!is_stale(&mut tracker, &[slice("a", 1)]));
        tracker.wrote(&slice("a", 2).meta);
        assert!(is_stale(&mut tracker, &[slice("a", 1)]), "an older generation");
        assert!(is_stale(&mut tracker, &[]), "not there yet");
        assert!(!is_stale(&mut tracker, &[slice("a", 2), slice("b", 1)]));
        tracker.deleted(&slice("a", 2).meta);
        assert!(is_stale(&mut tracker, &[slice("a", 2)]), "still there");
        assert!(!is_stale(&mut tracker, &[]));
        tracker.wrote(&slice("c", 1).meta);
        assert!(!tracker.is_cache_stale(&key(), &Uid::new("s2"), &[]), "written for the Service before");
    }

    #[test]
    fn a_slice_that_somebody_else_deleted_is_a_loss() {
        let mut tracker = Tracker::default();
        assert!(!tracker.is_loss(&slice("a", 1).meta));
        tracker.wrote(&slice("a", 1).meta);
        tracker.wrote(&slice("b", 1).meta);
        tracker.deleted(&slice("b", 1).meta);
        assert!(tracker.is_loss(&slice("a", 1).meta) && !tracker.is_loss(&slice("b", 1).meta));
    }
}
