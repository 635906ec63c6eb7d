//! 100,000 pods that clients ask for one by one (benches/polling-100k.yaml) on 1,000 nodes, without probes or files: the
//! orchestrator that polls and answers at once, and the one that answers when the pod runs.
//!
//! Aim: under 2 s each, of which giving the memory of 400,000 objects back is no part. `cargo bench --bench polling`; instructions:
//! `valgrind --tool=callgrind target/release/deps/polling-* --test`. The variant `kubernetes` is timed only when
//! `KUBESIM_BENCH_KUBERNETES` is set: it takes far longer, and its pods do not all run in that time.

#![allow(missing_docs, clippy::unwrap_used)]

use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use kubesim::model::{Kind, PodPhase};
use kubesim::scenario::{Overrides, load};
use kubesim::sim::{NoObserver, Plan, World};

const PODS: usize = 100_000;

fn plans() -> Vec<Arc<Plan>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/polling-100k.yaml");
    let loaded = load(&[file], &Overrides::default()).unwrap();
    let polls = |plan: &Plan| plan.variant != "kubernetes" || std::env::var_os("KUBESIM_BENCH_KUBERNETES").is_some();
    loaded.plans.into_iter().filter(polls).map(Arc::new).collect()
}

fn run(plan: &Arc<Plan>) -> World {
    let mut world = World::new(plan.clone()).unwrap();
    world.run(&mut NoObserver);
    world
}

fn polling(c: &mut Criterion) {
    let mut group = c.benchmark_group("polling");
    group.sample_size(10);
    for plan in plans() {
        let world = run(&plan);
        let pods = world.api().truth().iter(Kind::Pod).filter_map(|object| object.as_pod());
        let running = pods.filter(|pod| pod.status.phase == PodPhase::Running).count();
        assert_eq!(running, PODS, "{}: pods that run", plan.variant);
        drop(world);
        group.bench_function(format!("100,000 pods, {}", plan.variant), |b| b.iter_with_large_drop(|| run(&plan)));
    }
    group.finish();
}

criterion_group!(benches, polling);
criterion_main!(benches);
