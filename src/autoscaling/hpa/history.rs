//! What the controller remembers of one autoscaler, in memory only: a restart or another leader begins anew.
//!
//! An entry that nobody looks at any more is overwritten by the next, so the lists are not in the order of time.

use crate::model::{Span, Time};

/// A number at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Replicas wanted, or by how many the scale changed.
    pub replicas: i32,
    /// When.
    pub at: Time,
}

/// What was wanted and done before.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    /// What metrics asked for, before any limit.
    pub recommendations: Vec<Entry>,
    /// Writes that scaled up, kept while there is a `behavior`.
    pub ups: Vec<Entry>,
    /// Writes that scaled down.
    pub downs: Vec<Entry>,
}

impl History {
    /// Begins with the replicas there are, unless it has begun: so the first scale-down waits a whole window.
    pub fn begin(&mut self, current: i32, now: Time) {
        if self.recommendations.is_empty() {
            self.recommendations.push(Entry { replicas: current, at: now });
        }
    }
}

/// Stores an entry in the place of the last one older than `oldest`, else at the end.
pub fn store(entries: &mut Vec<Entry>, entry: Entry, oldest: Time) {
    match entries.iter().rposition(|entry| entry.at < oldest) {
        Some(index) => entries[index] = entry,
        None => entries.push(entry),
    }
}

/// The sum of the entries that are less than `period` old.
pub fn sum_within(entries: &[Entry], period: Span, now: Time) -> i32 {
    let recent = entries.iter().filter(|entry| entry.at > now - period);
    recent.fold(0, |sum, entry| sum.saturating_add(entry.replicas))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_outdated_entry_is_overwritten() {
        let entry = |replicas, at| Entry { replicas, at: Time(at) };
        let mut entries = vec![entry(1, 10), entry(2, 30), entry(3, 12), entry(4, 40)];
        // Older than 20: the entries of 10 and 12; the one of 12 comes last in the list.
        store(&mut entries, entry(5, 50), Time(20));
        assert_eq!(entries, [entry(1, 10), entry(2, 30), entry(5, 50), entry(4, 40)]);
        store(&mut entries, entry(6, 51), Time(10));
        assert_eq!(entries.len(), 5);
        // Since 41 (51 - 10, exclusive): 5 + 6.
        assert_eq!(sum_within(&entries, Span(10), Time(51)), 11);
    }
}
