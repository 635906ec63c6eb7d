//! How an informer's cache changes: by a list that replaces it, and by watch events. Both give the calls of its handlers.
//!
//! Upstream: client-go/tools/cache/{reflector.go,the_real_fifo.go,controller.go}, v0.36: a list first deletes what it does
//! not hold (tombstones), then updates or adds each item; a delete and re-create seen only by a list is one update.

use crate::component::{Change, Delta};
use crate::model::{Object, Rv, Set};

use super::informers::Informer;

/// Replaces the cache with a list; the calls for handlers, tombstones first.
pub fn replace(informer: &mut Informer, items: Vec<Object>, version: Rv) -> Vec<Delta> {
    let is_initial = !informer.synced;
    let listed: Set<_> = items.iter().map(Object::key).collect();
    let mut deltas = Vec::new();
    for key in informer.cache.keys_sorted() {
        if !listed.contains(&key) {
            let last = informer.cache.remove(&key).expect("its own key");
            deltas.push(Change::Deleted { last, tombstone: true });
        }
    }
    for item in items {
        deltas.push(upsert(informer, item));
    }
    informer.last_rv = version;
    informer.synced = true;
    deltas.into_iter().map(|change| Delta { change, is_resync: false, is_initial }).collect()
}

/// Applies an ADDED or MODIFIED object.
pub fn upsert(informer: &mut Informer, object: Object) -> Change {
    informer.last_rv = informer.last_rv.max(object.meta().resource_version);
    match informer.cache.insert(object.clone()) {
        Some(old) => Change::Updated { old, new: object },
        None => Change::Added(object),
    }
}

/// Applies a DELETED object. Handlers are told even if the cache never held it (its ADDED was lost): recorded in
/// vectors/clientgo/informer.jsonl, inf-rnd-054.
pub fn delete(informer: &mut Informer, last: Object) -> Change {
    informer.last_rv = informer.last_rv.max(last.meta().resource_version);
    informer.cache.remove(&last.key());
    Change::Deleted { last, tombstone: false }
}
