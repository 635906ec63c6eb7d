//! A row of trace.csv: formatted and hashed (`hash`, as a sweep does), and written to nowhere as well (`csv`). An iteration
//! is 1,000 rows, so microseconds an iteration are nanoseconds a row. Aim: 150 ns a row.
//!
//! `cargo bench --bench trace -- --warm-up-time 0.5 --measurement-time 2 --sample-size 10`

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use kubesim::model::record::Detail;
use kubesim::model::{Action, Key, Kind, Name, Record, RecordId, Rv, Time};
use kubesim::trace::{CsvSink, HashSink, RecordSink};

const ROWS: u64 = 1_000;

/// Records as a rollout makes them: with and without an object, with every sort of detail.
fn records() -> Vec<Record> {
    let process = Name::new("kube-controller-manager");
    let component = Name::new("replicaset");
    let pods: Vec<Key> = (0..50).map(|n| Key::new(Kind::Pod, "default", format!("api-7d4b9c8f6-x{n:04}"))).collect();
    let details = [
        Detail::None,
        Detail::Words("pod added"),
        Detail::Number("worker", 3),
        Detail::Record("first added by", RecordId(1_234_567)),
    ];
    let actions = [Action::Deliver, Action::Enqueue, Action::Coalesced, Action::Reconcile, Action::Create];
    (1..=ROWS)
        .map(|id| Record {
            id: RecordId(1_000_000 + id),
            time: Time(120_000_000_000 + id as i64 * 1_234_567),
            cause: RecordId(1_000_000 + id / 2),
            process: process.clone(),
            component: component.clone(),
            action: actions[id as usize % actions.len()],
            key: (id % 10 != 0).then(|| pods[id as usize % pods.len()].clone()),
            detail: details[id as usize % details.len()].clone(),
            seen_rv: Rv(50_000 + id),
            truth_rv: Rv(50_003 + id),
        })
        .collect()
}

fn rows(criterion: &mut Criterion) {
    let records = records();
    let mut group = criterion.benchmark_group("trace");
    group.throughput(Throughput::Elements(ROWS));
    let mut hash = HashSink::new(Time(0));
    group.bench_function("hash", |bencher| bencher.iter(|| records.iter().for_each(|record| hash.record(record))));
    black_box(hash.hash());
    let mut csv = CsvSink::new(std::io::sink(), Time(0));
    group.bench_function("csv", |bencher| bencher.iter(|| records.iter().for_each(|record| csv.record(record))));
    black_box(csv.finish().expect("nowhere takes every write"));
    group.finish();
}

criterion_group!(benches, rows);
criterion_main!(benches);
