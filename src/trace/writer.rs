//! trace.csv: one row a record, and its hash.

use std::io::{self, Write};

use super::hasher::{TraceHash, TraceHasher};
use super::row;
use super::row_buffer::RowBuffer;
use crate::model::{Record, Time};

/// Writes trace.csv into any writer and hashes its rows on the way.
#[derive(Debug)]
pub struct TraceWriter<W: Write> {
    start: Time,
    rows: RowBuffer<W>,
    hasher: TraceHasher,
    hashed: usize,
}

impl<W: Write> TraceWriter<W> {
    /// A writer of the trace of a run that starts at `start`.
    pub fn new(out: W, start: Time) -> TraceWriter<W> {
        TraceWriter {
            start,
            rows: RowBuffer::new(out, row::HEADER),
            hasher: TraceHasher::new(start),
            hashed: row::HEADER.len(),
        }
    }

    /// Writes the row of a record.
    pub fn record(&mut self, record: &Record) {
        let bytes = self.rows.bytes();
        row::push_row(bytes, record, self.start);
        if RowBuffer::<W>::is_due(bytes) {
            self.hasher.update(&bytes[self.hashed..]);
            self.hashed = 0;
            self.rows.row_done();
        }
    }

    /// Whether a write has failed: what follows is lost, a run may as well stop.
    pub fn failed(&self) -> bool {
        self.rows.failed()
    }

    /// Writes what is left; returns the writer and the hash of all rows.
    ///
    /// # Errors
    /// The first error of the writer, `StorageFull` when the disk is full.
    pub fn finish(mut self) -> io::Result<(W, TraceHash)> {
        self.hasher.update(&self.rows.bytes()[self.hashed..]);
        let hash = self.hasher.hash();
        Ok((self.rows.finish()?, hash))
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::record;
    use super::super::row_buffer::tests::SmallDisk;
    use super::*;
    use crate::model::Action;

    #[test]
    fn a_file_and_a_hash_alone_agree() {
        let (mut writer, mut hasher) = (TraceWriter::new(Vec::new(), Time(0)), TraceHasher::new(Time(0)));
        for n in 1..3_000 {
            let example = record(n, n as i64 * 1_000_003, Action::Deliver);
            writer.record(&example);
            hasher.record(&example);
        }
        let (bytes, hash) = writer.finish().expect("memory takes every write");
        assert!(bytes.len() > 200_000);
        assert_eq!(hash, hasher.hash());
        assert_eq!(hash.0, xxhash_rust::xxh3::xxh3_128(&bytes[row::HEADER.len()..]));
    }

    #[test]
    fn a_trace_without_rows_is_a_header() {
        let (bytes, hash) = TraceWriter::new(Vec::new(), Time(0)).finish().expect("memory takes every write");
        assert_eq!(bytes, row::HEADER.as_bytes());
        assert_eq!(hash, TraceHasher::new(Time(0)).hash());
    }

    #[test]
    fn a_full_disk_comes_out_at_the_end() {
        let mut writer = TraceWriter::new(SmallDisk(100), Time(0));
        for n in 1..3_000 {
            writer.record(&record(n, 0, Action::Deliver));
        }
        assert!(writer.failed());
        assert_eq!(writer.finish().err().map(|error| error.kind()), Some(io::ErrorKind::StorageFull));
    }
}
