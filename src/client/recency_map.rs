//! A map that forgets what was used least recently once it is full.
//!
//! Upstream: github.com/golang/groupcache/lru, as client-go/tools/record/events_cache.go (v0.36) uses it.

use std::collections::BTreeMap;
use std::hash::Hash;

use crate::model::Map;

/// At most `limit` entries, by key; reading one is a use of it. O(log n) a call.
#[derive(Clone, Debug)]
pub struct RecencyMap<K, V> {
    limit: usize,
    entries: Map<K, (V, u64)>,
    /// Keys by the number of their last use.
    by_use: BTreeMap<u64, K>,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V> RecencyMap<K, V> {
    /// An empty map for this many entries.
    pub fn new(limit: usize) -> RecencyMap<K, V> {
        RecencyMap { limit, entries: Map::default(), by_use: BTreeMap::new(), uses: 0 }
    }

    /// The entry of a key, made by `make` if there is none; the entry used least recently may go for it.
    pub fn entry(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        let this_use = self.uses;
        match self.entries.get_mut(key) {
            Some((_, last_use)) => {
                self.by_use.remove(last_use);
                *last_use = this_use;
            }
            None => {
                if self.entries.len() >= self.limit
                    && let Some((_, oldest)) = self.by_use.pop_first()
                {
                    // The order of the entries shows nowhere.
                    self.entries.swap_remove(&oldest);
                }
                self.entries.insert(key.clone(), (make(), this_use));
            }
        }
        self.by_use.insert(this_use, key.clone());
        &mut self.entries.get_mut(key).expect("found or just made").0
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_least_recently_goes() {
        let mut map = RecencyMap::new(2);
        *map.entry(&'a', || 1) += 10;
        map.entry(&'b', || 2);
        // `a` is used again, so `c` drives `b` out.
        assert_eq!(*map.entry(&'a', || 0), 11);
        map.entry(&'c', || 3);
        assert_eq!((*map.entry(&'a', || 0), map.len()), (11, 2));
        assert_eq!(*map.entry(&'b', || 7), 7);
    }
}
