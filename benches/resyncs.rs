//! 100,000 objects that ten controllers of one process get again once an hour, in the real world: informer, handlers, work
//! queues, workers. Nobody looks, so records are numbered and not kept.
//!
//! Aim: 24 hours, which are 24 million reconciles, under 12 s, so 500 ns a reconcile. One iteration is one hour: a million.
//! `cargo bench --bench resyncs`; profile: `perf record target/release/deps/resyncs-* --bench --profile-time 5`.

#![allow(missing_docs, clippy::unwrap_used)]

use std::sync::Arc;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use kubesim::model::Span;
use kubesim::sim::resyncs::plan_of_resyncs;
use kubesim::sim::{NoObserver, World};

const CONTROLLERS: usize = 10;
const OBJECTS: usize = 100_000;

fn resyncs(c: &mut Criterion) {
    let plan = Arc::new(plan_of_resyncs(CONTROLLERS, OBJECTS, 1_000));
    let mut world = World::new(plan.clone()).unwrap();
    let minute = Span::from_seconds(60);
    // The first lists are worked off; the resyncs come at full hours.
    world.run_until(plan.start_at + minute, &mut NoObserver);
    let mut hours = 0;
    let mut group = c.benchmark_group("resyncs");
    group.sample_size(10);
    group.throughput(Throughput::Elements((CONTROLLERS * OBJECTS) as u64));
    group.bench_function("an hour of 100000 objects and 10 controllers", |b| {
        b.iter_batched(
            || hours += 1,
            |()| {
                let before = world.counters().reconciles;
                let now = world.now();
                world.run_until(now + Span::from_seconds(3600), &mut NoObserver);
                let reconciles = world.counters().reconciles - before;
                assert!(reconciles >= (CONTROLLERS * OBJECTS) as u64, "{reconciles} reconciles");
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, resyncs);
criterion_main!(benches);
