//! events.csv: one row per write of a Kubernetes Event.

use std::io::{self, Write};

use super::csv_field::{push_i64, push_seconds, push_text};
use super::row_buffer::RowBuffer;
use crate::model::{KubeEvent, Time};

/// The header line.
pub const HEADER: &str = "time_s,namespace,type,reason,object,component,count,message\n";

/// Writes events.csv.
#[derive(Debug)]
pub struct EventsCsv<W: Write> {
    start: Time,
    rows: RowBuffer<W>,
}

impl<W: Write> EventsCsv<W> {
    /// A writer for a run that starts at `start`.
    pub fn new(out: W, start: Time) -> EventsCsv<W> {
        EventsCsv { start, rows: RowBuffer::new(out, HEADER) }
    }

    /// One write of an Event: `time` is that of the commit. A repeated Event is written again with a higher count.
    pub fn write(&mut self, time: Time, event: &KubeEvent) {
        let row = self.rows.bytes();
        push_seconds(row, time, self.start);
        row.push(b',');
        push_text(row, event.meta.namespace.as_str());
        row.push(b',');
        row.extend_from_slice(event.event_type.as_str().as_bytes());
        row.push(b',');
        push_text(row, event.reason.as_str());
        row.push(b',');
        row.extend_from_slice(event.regarding.kind.singular().as_bytes());
        row.push(b'/');
        push_text(row, event.regarding.name.as_str());
        row.push(b',');
        push_text(row, event.source_component.as_str());
        row.push(b',');
        push_i64(row, i64::from(event.count));
        row.push(b',');
        push_text(row, event.message.as_str());
        row.push(b'\n');
        self.rows.row_done();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{EventType, Key, Kind, Meta, Name};

    #[test]
    fn an_event_is_a_row() {
        let event = KubeEvent {
            meta: Meta { namespace: Name::new("shop"), name: Name::new("api.17c"), ..Meta::default() },
            regarding: Key::new(Kind::Pod, "shop", "api-x7k2p"),
            regarding_uid: Name::new("u1"),
            field_path: Name::EMPTY,
            event_type: EventType::Warning,
            reason: Name::new("FailedScheduling"),
            message: Name::new("0/3 nodes are available: 3 Insufficient cpu, none fits."),
            source_component: Name::new("default-scheduler"),
            first: Time(0),
            last: Time(0),
            count: 2,
        };
        let mut file = EventsCsv::new(Vec::new(), Time(0));
        file.write(Time(1_012_000_000), &event);
        let bytes = file.finish().expect("memory takes every write");
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert_eq!(
            text,
            format!(
                "{HEADER}1.012,shop,Warning,FailedScheduling,pod/api-x7k2p,default-scheduler,2,\
                 \"0/3 nodes are available: 3 Insufficient cpu, none fits.\"\n"
            )
        );
    }
}
