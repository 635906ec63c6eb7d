//! A map that forgets what was used least recently once it is full.
//!
//! Upstream: github.com/golang/groupcache/lru, as client-go/tools/record/events_cache.go (v0.36) uses it.

use std::collections::VecDeque;

use crate::model::Map;

/// At most `limit` entries, by the hash of what they are about; reading one is a use of it. O(1) a call until it is full,
/// O(log n) on the average then.
///
/// Keys are 64-bit hashes and not the texts they stand for: a recorder remembers thousands of them for hours, and two
/// different ones among a million meet with a probability of 3 in 100 million.
#[derive(Clone, Debug)]
pub struct RecencyMap<V> {
    limit: usize,
    entries: Map<u64, (V, u64)>,
    /// The keys in the order of their last use, as it was when it was looked at last: one that was used again since is passed
    /// over, and no key that is not among them was used earlier. Most maps never fill up and never need it.
    by_use: VecDeque<(u64, u64)>,
    uses: u64,
}

impl<V> RecencyMap<V> {
    /// An empty map for this many entries.
    pub fn new(limit: usize) -> RecencyMap<V> {
        RecencyMap { limit, entries: Map::default(), by_use: VecDeque::new(), uses: 0 }
    }

    /// The entry of a key, made by `make` if there is none; the entry used least recently may go for it.
    pub fn entry(&mut self, key: u64, make: impl FnOnce() -> V) -> &mut V {
        self.uses += 1;
        if !self.entries.contains_key(&key) && self.entries.len() >= self.limit {
            self.forget_oldest();
        }
        let (value, last_use) = self.entries.entry(key).or_insert_with(|| (make(), 0));
        *last_use = self.uses;
        value
    }

    fn forget_oldest(&mut self) {
        loop {
            let Some((number, key)) = self.by_use.pop_front() else {
                let mut uses: Vec<_> = self.entries.iter().map(|(key, (_, last_use))| (*last_use, *key)).collect();
                uses.sort_unstable();
                self.by_use = uses.into();
                continue;
            };
            if self.entries.get(&key).is_some_and(|(_, last_use)| *last_use == number) {
                // The order of the entries shows nowhere.
                self.entries.swap_remove(&key);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_used_least_recently_goes() {
        let mut map = RecencyMap::new(2);
        *map.entry(1, || 1) += 10;
        map.entry(2, || 2);
        // 1 is used again, so 3 drives 2 out.
        assert_eq!(*map.entry(1, || 0), 11);
        map.entry(3, || 3);
        assert_eq!((*map.entry(1, || 0), map.entries.len()), (11, 2));
        assert_eq!(*map.entry(2, || 7), 7);
    }

    #[test]
    fn many_uses_of_few_keys_take_no_room() {
        let mut map = RecencyMap::new(3);
        for use_number in 0..1000 {
            *map.entry(use_number % 3, || 0) += 1;
        }
        assert!(map.by_use.is_empty());
        // 0 was used last (number 999): 4 drives out 1. Then 2 is used again, so 5 drives out 0 and 6 drives out 4.
        map.entry(4, || 0);
        assert_eq!(*map.entry(2, || 0), 333);
        map.entry(5, || 0);
        map.entry(6, || 0);
        assert_eq!((*map.entry(2, || 0), map.entries.get(&0), map.entries.get(&4)), (333, None, None));
    }
}
