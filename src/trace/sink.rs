//! Where the records of a run go.

use std::io::{self, Write};

use super::hasher::{TraceHash, TraceHasher};
use super::writer::TraceWriter;
use crate::model::{Record, Time};

/// Takes the records of a run, in order.
pub trait RecordSink {
    /// Takes a record.
    fn record(&mut self, record: &Record);

    /// Whether the sink can take no more (a full disk): the run may stop and is then partial.
    fn failed(&self) -> bool {
        false
    }
}

/// Writes trace.csv.
#[derive(Debug)]
pub struct CsvSink<W: Write>(TraceWriter<W>);

impl<W: Write> CsvSink<W> {
    /// A sink for a run that starts at `start`.
    pub fn new(out: W, start: Time) -> CsvSink<W> {
        CsvSink(TraceWriter::new(out, start))
    }

    /// Writes what is left; returns the writer and the hash of the trace.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<(W, TraceHash)> {
        self.0.finish()
    }
}

impl<W: Write> RecordSink for CsvSink<W> {
    fn record(&mut self, record: &Record) {
        self.0.record(record);
    }

    fn failed(&self) -> bool {
        self.0.failed()
    }
}

/// Only hashes, as a sweep does.
#[derive(Clone, Debug)]
pub struct HashSink(TraceHasher);

impl HashSink {
    /// A sink for a run that starts at `start`.
    pub fn new(start: Time) -> HashSink {
        HashSink(TraceHasher::new(start))
    }

    /// The hash of the trace so far.
    pub fn hash(&self) -> TraceHash {
        self.0.hash()
    }
}

impl RecordSink for HashSink {
    fn record(&mut self, record: &Record) {
        self.0.record(record);
    }
}

/// Keeps the records.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VecSink {
    /// All records so far.
    pub records: Vec<Record>,
}

impl RecordSink for VecSink {
    fn record(&mut self, record: &Record) {
        self.records.push(record.clone());
    }
}

/// Both, one after the other.
impl<A: RecordSink, B: RecordSink> RecordSink for (A, B) {
    fn record(&mut self, record: &Record) {
        self.0.record(record);
        self.1.record(record);
    }

    fn failed(&self) -> bool {
        self.0.failed() || self.1.failed()
    }
}

impl<S: RecordSink + ?Sized> RecordSink for &mut S {
    fn record(&mut self, record: &Record) {
        (**self).record(record);
    }

    fn failed(&self) -> bool {
        (**self).failed()
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::tests::record;
    use super::*;
    use crate::model::Action;

    #[test]
    fn all_sinks_take_the_same_records() {
        let (mut kept, mut hashed) = (VecSink::default(), HashSink::new(Time(0)));
        let mut written = CsvSink::new(Vec::new(), Time(0));
        for n in 1..50 {
            ((&mut kept, &mut hashed), &mut written).record(&record(n, n as i64, Action::Update));
        }
        let (bytes, hash) = written.finish().expect("memory takes every write");
        assert_eq!(hash, hashed.hash());
        assert_eq!(bytes.iter().filter(|&&byte| byte == b'\n').count(), 1 + kept.records.len());
    }
}
