//! Scheduling alone: an attempt with what is remembered, and assuming its result; pods a second at 1,000 and 5,000 nodes.
//!
//! Aims at 5,000 nodes, all scored: 4,500 simple pods a second, 3,000 with spread and anti-affinity, 2,000 that are all
//! different; with adaptive sampling 35 and 45 us a pod at 1,000 and 5,000 nodes. `cargo bench --bench scheduler`;
//! instructions: `valgrind --tool=callgrind target/release/deps/scheduler-* --test`.

#![allow(missing_docs, clippy::unwrap_used)]

use std::rc::Rc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use kubesim::model::{
    Container, Labels, Meta, Name, Node, Pod, PodAffinityTerm, PodSpec, PodStatus, Resources, Selector,
    TopologySpreadConstraint, Uid,
};
use kubesim::scheduler::cache::{Cache, Counted};
use kubesim::scheduler::framework::{PodInfo, Profile, Version};
use kubesim::scheduler::memo::Memo;
use kubesim::scheduler::queue::Nominator;
use kubesim::scheduler::schedule_one::{Search, schedule_pod_remembering};

const GIB: i64 = 1 << 30;
const HOSTNAME: &str = "kubernetes.io/hostname";
const ZONE: &str = "topology.kubernetes.io/zone";
/// Pods of an iteration; they leave at its end.
const PODS: u64 = 500;

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Simple,
    Spread,
    Different,
}

fn node(at: usize) -> Node {
    let name = format!("node-{at:05}");
    let allocatable = Rc::new(Resources {
        cpu_milli: Some(32_000),
        memory_bytes: Some(128 * GIB),
        pods: Some(110),
        ..Resources::default()
    });
    let labels = Labels::default().with(HOSTNAME, name.as_str()).with(ZONE, format!("zone-{}", at % 3));
    Node {
        meta: Meta { labels, ..Meta::named("", name) },
        unschedulable: false,
        taints: Rc::new([]),
        capacity: allocatable.clone(),
        allocatable,
        conditions: Vec::new(),
        images: Rc::new([]),
        source: None,
    }
}

fn spread(topology_key: &str, app: &Selector) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 5,
        topology_key: topology_key.into(),
        is_required: true,
        selector: Some(app.clone()),
        min_domains: None,
        honors_node_affinity: true,
        honors_node_taints: false,
        match_label_keys: Vec::new(),
    }
}

fn spec(shape: Shape, number: u64) -> PodSpec {
    let (cpu_milli, memory_bytes) = match shape {
        Shape::Different => (100 + (number as i64 * 37) % 900, GIB / 8 + (number as i64 * 7_919) % GIB),
        _ => (100, GIB / 8),
    };
    let requests = Resources { cpu_milli: Some(cpu_milli), memory_bytes: Some(memory_bytes), ..Resources::default() };
    let mut spec = PodSpec {
        containers: vec![Container { name: "main".into(), requests, ..Container::default() }],
        scheduler_name: "default-scheduler".into(),
        ..PodSpec::default()
    };
    if shape == Shape::Spread {
        let app = Selector::from_labels(&Labels::default().with("app", "web"));
        spec.topology_spread_constraints = vec![spread(ZONE, &app)];
        spec.pod_anti_affinity.required =
            vec![PodAffinityTerm { selector: Some(app), topology_key: HOSTNAME.into(), ..PodAffinityTerm::default() }];
    }
    spec
}

fn pod(shape: Shape, spec: &Rc<PodSpec>, number: u64) -> Rc<PodInfo> {
    let name = format!("p{number}");
    let spec = if shape == Shape::Different { Rc::new(self::spec(shape, number)) } else { spec.clone() };
    let meta = Meta {
        uid: Uid::from(name.as_str()),
        labels: Labels::default().with("app", "web"),
        ..Meta::named("default", name)
    };
    let pod = Pod { meta, spec, node_name: Name::EMPTY, status: PodStatus::default(), source: None };
    Rc::new(PodInfo::new(Rc::new(pod)))
}

fn scheduler(c: &mut Criterion) {
    let mut group = c.benchmark_group("scheduler");
    group.sample_size(10).throughput(Throughput::Elements(PODS));
    for (label, shape, percentage, nodes) in [
        ("simple, all scored", Shape::Simple, 100, 5_000),
        ("spread and anti-affinity, all scored", Shape::Spread, 100, 5_000),
        ("all different, all scored", Shape::Different, 100, 5_000),
        ("simple, adaptive", Shape::Simple, 0, 1_000),
        ("simple, adaptive", Shape::Simple, 0, 5_000),
        ("all different, adaptive", Shape::Different, 0, 5_000),
    ] {
        let (profile, nominated) = (Profile::default_profile(Version::V1_36), Nominator::default());
        let mut cache = Cache::new();
        (0..nodes).for_each(|at| cache.set_node(&Rc::new(node(at))));
        let mut memo = Memo::default();
        let mut search = Search { next_start_node_index: 0, percentage_of_nodes_to_score: percentage };
        let template = Rc::new(spec(shape, 0));
        let mut number = 0;
        group.bench_with_input(BenchmarkId::new(label, nodes), &(), |b, ()| {
            b.iter(|| {
                for _ in 0..PODS {
                    number += 1;
                    let info = pod(shape, &template, number);
                    let snapshot = cache.snapshot();
                    let placed =
                        schedule_pod_remembering(&profile, &info, &snapshot, &nominated, &mut search, &mut memo);
                    cache.assume(&info, &placed.unwrap().node, Counted::AtOnce).unwrap();
                }
                for gone in number - PODS + 1..=number {
                    cache.forget(&Uid::from(format!("p{gone}"))).unwrap();
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, scheduler);
criterion_main!(benches);
