//! metrics.csv: tidy and long, one row a sample.

use std::io::{self, Write};

use super::csv_field::{push_seconds, push_text};
use super::number::push_f64;
use super::row_buffer::RowBuffer;
use crate::component::MetricSink;
use crate::model::Time;

/// The header line.
pub const HEADER: &str = "time_s,metric,labels,value\n";

/// Writes metrics.csv.
#[derive(Debug)]
pub struct MetricsCsv<W: Write> {
    start: Time,
    rows: RowBuffer<W>,
    labels: String,
}

impl<W: Write> MetricsCsv<W> {
    /// A writer for a run that starts at `start`.
    pub fn new(out: W, start: Time) -> MetricsCsv<W> {
        MetricsCsv { start, rows: RowBuffer::new(out, HEADER), labels: String::new() }
    }

    /// One sample. Labels are written in the order given, as in the Prometheus text format: `a="b",c="d"`.
    pub fn write<V: AsRef<str>>(&mut self, time: Time, metric: &str, labels: &[(&str, V)], value: f64) {
        self.labels.clear();
        push_labels(&mut self.labels, labels);
        let row = self.rows.bytes();
        push_seconds(row, time, self.start);
        row.push(b',');
        push_text(row, metric);
        row.push(b',');
        push_text(row, &self.labels);
        row.push(b',');
        push_f64(row, value);
        row.push(b'\n');
        self.rows.row_done();
    }

    /// A sink for all samples of one instant.
    pub fn at(&mut self, time: Time) -> SamplesAt<'_, W> {
        SamplesAt { file: self, time }
    }

    /// Whether a write has failed.
    pub fn failed(&self) -> bool {
        self.rows.failed()
    }

    /// Writes what is left and returns the writer.
    ///
    /// # Errors
    /// The first error of the writer.
    pub fn finish(self) -> io::Result<W> {
        self.rows.finish()
    }
}

/// Writes the samples of one instant into a metrics.csv.
#[derive(Debug)]
pub struct SamplesAt<'a, W: Write> {
    file: &'a mut MetricsCsv<W>,
    time: Time,
}

impl<W: Write> MetricSink for SamplesAt<'_, W> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        self.file.write(self.time, metric, labels, value);
    }
}

/// Appends labels as the Prometheus text format writes them between its braces: `a="b",c="d"`; in values a backslash, a
/// quote and a line end are escaped with a backslash.
pub fn push_labels<K: AsRef<str>, V: AsRef<str>>(text: &mut String, labels: &[(K, V)]) {
    for (index, (name, value)) in labels.iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(name.as_ref());
        text.push_str("=\"");
        for letter in value.as_ref().chars() {
            match letter {
                '\\' => text.push_str("\\\\"),
                '"' => text.push_str("\\\""),
                '\n' => text.push_str("\\n"),
                other => text.push(other),
            }
        }
        text.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_rows() {
        let mut file = MetricsCsv::new(Vec::new(), Time(0));
        file.write(Time(500_000_000), "workqueue_depth", &[("name", "replicaset")], 3.0);
        file.at(Time(1_000_000_000)).sample("x_seconds", &[("a", "b\"c"), ("d", "e")], 0.005);
        file.write::<&str>(Time(1_000_000_000), "up", &[], 1.0);
        let bytes = file.finish().expect("memory takes every write");
        // Inside the CSV field every quote is doubled; b"c is b\"c in Prometheus text first.
        assert_eq!(
            String::from_utf8(bytes).expect("UTF-8"),
            format!(
                "{HEADER}0.5,workqueue_depth,\"name=\"\"replicaset\"\"\",3\n\
                 1,x_seconds,\"a=\"\"b\\\"\"c\"\",d=\"\"e\"\"\",0.005\n1,up,,1\n"
            )
        );
    }
}
