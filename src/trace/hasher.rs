//! The hash of a trace: equal hashes mean equal traces.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use super::row;
use crate::model::{Record, Time};

/// Rows gathered before they are hashed: the hash is the same for any grouping, larger pieces are faster.
const PIECE_BYTES: usize = 16 * 1024;

/// The XXH3 hash (128 bits) of the rows of a trace.csv, header left out. Displays as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct TraceHash(pub u128);

impl fmt::Display for TraceHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Hashes the rows that a trace.csv of these records would have, with or without such a file.
#[derive(Clone)]
pub struct TraceHasher {
    start: Time,
    rows: Vec<u8>,
    state: Box<Xxh3>,
}

impl TraceHasher {
    /// A hasher of a run that starts at `start`.
    pub fn new(start: Time) -> TraceHasher {
        TraceHasher { start, rows: Vec::with_capacity(PIECE_BYTES + 1024), state: Box::new(Xxh3::new()) }
    }

    /// Takes the row of a record.
    pub fn record(&mut self, record: &Record) {
        row::push_row(&mut self.rows, record, self.start);
        if self.rows.len() >= PIECE_BYTES {
            self.state.update(&self.rows);
            self.rows.clear();
        }
    }

    /// Takes rows that are already text.
    pub fn update(&mut self, rows: &[u8]) {
        debug_assert!(self.rows.is_empty(), "a hasher takes records or rows, not both");
        self.state.update(rows);
    }

    /// The hash of the rows so far.
    pub fn hash(&self) -> TraceHash {
        let mut state = self.state.clone();
        state.update(&self.rows);
        TraceHash(state.digest128())
    }
}

impl fmt::Debug for TraceHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TraceHasher({})", self.hash())
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::record;
    use super::*;
    use crate::model::Action;

    #[test]
    fn the_hash_is_that_of_the_rows_in_one_piece() {
        let mut hasher = TraceHasher::new(Time(0));
        let mut rows = Vec::new();
        for n in 1..2_000 {
            let example = record(n, n as i64 * 1_001, Action::Enqueue);
            hasher.record(&example);
            row::push_row(&mut rows, &example, Time(0));
        }
        assert!(rows.len() > 2 * PIECE_BYTES);
        assert_eq!(hasher.hash(), TraceHash(xxhash_rust::xxh3::xxh3_128(&rows)));
    }

    #[test]
    fn a_clone_goes_on_by_itself_and_one_digit_changes_the_hash() {
        let mut one = TraceHasher::new(Time(0));
        one.record(&record(1, 5, Action::Create));
        let mut two = one.clone();
        one.record(&record(2, 6, Action::Create));
        two.record(&record(2, 7, Action::Create));
        assert_ne!(one.hash(), two.hash());
        assert_eq!(TraceHash(1).to_string(), "00000000000000000000000000000001");
    }
}
