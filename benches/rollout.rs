//! The whole loop: a first rollout of 5,000 pods on 500 nodes (benches/rollout-5000.yaml), without probes or files.
//!
//! Aim: under 1 s, under 200 MB, at most 60 events a pod. `cargo bench --bench rollout`; instructions:
//! `valgrind --tool=callgrind target/release/deps/rollout-* --profile-time 1`.

#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use kubesim::scenario::{Overrides, load};
use kubesim::sim::{NoObserver, Plan, World};

fn plan() -> Arc<Plan> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/rollout-5000.yaml");
    let loaded = load(&[file], &Overrides::default()).unwrap();
    Arc::new(loaded.plans.into_iter().next().unwrap())
}

fn rollout(c: &mut Criterion) {
    let plan = plan();
    let mut world = World::new(plan.clone()).unwrap();
    world.run(&mut NoObserver);
    let events_per_pod = world.counters().events as f64 / 5_000.0;
    assert!(events_per_pod <= 60.0, "{events_per_pod} events a pod");
    let mut group = c.benchmark_group("rollout");
    group.sample_size(10);
    group.bench_function("5000 pods on 500 nodes", |b| {
        b.iter(|| {
            let mut world = World::new(plan.clone()).unwrap();
            world.run(&mut NoObserver);
            world.counters().events
        });
    });
    group.finish();
}

criterion_group!(benches, rollout);
criterion_main!(benches);
