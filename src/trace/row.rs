//! One row of trace.csv.

use super::csv_field::{push_i64, push_seconds, push_text, push_u64};
use crate::model::record::Detail;
use crate::model::{Record, Rv, Time};

/// The header line.
pub const HEADER: &str = "time_s,event,cause,process,component,action,kind,namespace,name,detail,seen_rv,truth_rv\n";

/// Appends the row of a record, line end included. `start` is the instant at which the run starts.
///
/// Times are exact seconds without trailing zeros; `cause` is 0 for roots; a version is empty where there is none
/// (nothing watched, or no object concerned), so that `truth_rv - seen_rv` is never taken for staleness there.
pub fn push_row(row: &mut Vec<u8>, record: &Record, start: Time) {
    push_seconds(row, record.time, start);
    row.push(b',');
    push_u64(row, record.id.0);
    row.push(b',');
    push_u64(row, record.cause.0);
    row.push(b',');
    push_text(row, record.process.as_str());
    row.push(b',');
    push_text(row, record.component.as_str());
    row.push(b',');
    row.extend_from_slice(record.action.as_str().as_bytes());
    row.push(b',');
    match &record.key {
        Some(key) => {
            row.extend_from_slice(key.kind.as_str().as_bytes());
            row.push(b',');
            push_text(row, key.namespace.as_str());
            row.push(b',');
            push_text(row, key.name.as_str());
        }
        None => row.extend_from_slice(b",,"),
    }
    row.push(b',');
    push_detail(row, &record.detail);
    row.push(b',');
    push_version(row, record.seen_rv);
    row.push(b',');
    push_version(row, record.truth_rv);
    row.push(b'\n');
}

/// The detail as its `Display` writes it, without the formatting machinery for the frequent cases.
fn push_detail(row: &mut Vec<u8>, detail: &Detail) {
    match detail {
        Detail::None => {}
        Detail::Words(words) => push_text(row, words),
        Detail::Text(text) => push_text(row, text.as_str()),
        Detail::Number(words, number) if is_plain(words) => {
            row.extend_from_slice(words.as_bytes());
            row.push(b' ');
            push_i64(row, *number);
        }
        Detail::Record(words, id) if is_plain(words) => {
            row.extend_from_slice(words.as_bytes());
            row.push(b' ');
            push_u64(row, id.0);
        }
        Detail::Number(..) | Detail::Span(..) | Detail::Record(..) => push_text(row, &detail.to_string()),
    }
}

fn is_plain(words: &str) -> bool {
    !words.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'))
}

fn push_version(row: &mut Vec<u8>, version: Rv) {
    if version.0 != 0 {
        push_u64(row, version.0);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::model::{Action, Key, Kind, Name, RecordId};

    pub(crate) fn record(id: u64, time_ns: i64, action: Action) -> Record {
        Record {
            id: RecordId(id),
            time: Time(time_ns),
            cause: RecordId(id - 1),
            process: Name::new("kube-controller-manager"),
            component: Name::new("replicaset"),
            action,
            key: Some(Key::new(Kind::ReplicaSet, "default", "api-7d4b9c")),
            detail: Detail::None,
            seen_rv: Rv(41),
            truth_rv: Rv(44),
        }
    }

    fn row(record: &Record) -> String {
        let mut bytes = Vec::new();
        push_row(&mut bytes, record, Time(1_000));
        String::from_utf8(bytes).expect("UTF-8")
    }

    #[test]
    fn a_row_has_the_columns_of_the_header() {
        let mut example = record(7, 2_007_001_000, Action::Reconcile);
        example.detail = Detail::Number("worker", 3);
        assert_eq!(
            row(&example),
            "2.007,7,6,kube-controller-manager,replicaset,reconcile,ReplicaSet,default,api-7d4b9c,worker 3,41,44\n"
        );
        assert_eq!(HEADER.split(',').count(), row(&example).split(',').count());
    }

    #[test]
    fn a_row_without_an_object_or_versions_keeps_its_columns() {
        let mut root = record(1, 1_000, Action::User);
        root.key = None;
        root.detail = Detail::from("delete pod -l \"app=api,tier=web\"".to_string());
        root.component = Name::EMPTY;
        root.process = Name::new("kubectl");
        (root.seen_rv, root.truth_rv) = (Rv(0), Rv(0));
        assert_eq!(row(&root), "0,1,0,kubectl,,user,,,,\"delete pod -l \"\"app=api,tier=web\"\"\",,\n");
    }

    #[test]
    fn every_detail_reads_as_it_displays() {
        for detail in [
            Detail::None,
            Detail::Words("slow start"),
            Detail::Words("from, to"),
            Detail::Number("worker", -3),
            Detail::Number("a,b", 3),
            Detail::Record("first added by", RecordId(12)),
            Detail::Record("a\"b", RecordId(12)),
            Detail::from("any text\nof two lines".to_string()),
        ] {
            let mut example = record(2, 1_000, Action::Decide);
            example.detail = detail.clone();
            let text = format!("{HEADER}{}", row(&example));
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let read = reader.records().next().expect("one row").expect("well-formed");
            assert_eq!(read.get(9), Some(detail.to_string().as_str()));
        }
    }
}
