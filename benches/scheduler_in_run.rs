//! The scheduler inside a running simulation: its process alone with the API server, nodes and pods that are there from the
//! start, no observer. CPU time a pod for everything that happens to it until its binding was seen: informers, queue, attempt,
//! assume, reserve, requests, Events.
//!
//! Aims at 5,000 nodes, all scored: 4,500 simple pods a second, 3,000 with spread and anti-affinity, 2,000 that are all
//! different; with adaptive sampling 35 and 45 us a pod at 1,000 and 5,000 nodes. `cargo bench --bench scheduler_in_run`;
//! profile: `perf record target/release/deps/scheduler_in_run-* simple`.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, clippy::disallowed_types)]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{env, fs};

use kubesim::model::Kind;
use kubesim::scenario::{Overrides, load};
use kubesim::sim::plan::End;
use kubesim::sim::{NoObserver, Plan, World};
use serde_json::{Value, json};

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Simple,
    Spread,
    Different,
}

fn plan(percentage: u32) -> Plan {
    let text = format!(
        "apiVersion: kubesim.dev/v1alpha1\nkind: Scenario\nmetadata: {{name: in-run}}\n\
         spec: {{nodes: [{{count: 1}}]}}\n---\n\
         apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         percentageOfNodesToScore: {percentage}\nclientConnection: {{qps: 100000, burst: 100000}}\n"
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("in-run-{percentage}.yaml"));
    fs::write(&file, text).unwrap();
    let mut plan = load(&[file], &Overrides::default()).unwrap().plans.remove(0);
    plan.processes.retain(|process| process.name == "kube-scheduler");
    plan.objects.retain(|object| object["kind"] != "Node");
    plan.end = End::After(kubesim::model::Span::from_seconds(600));
    plan
}

fn node(at: usize) -> Value {
    let name = format!("node-{at:05}");
    let labels = json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": format!("zone-{}", at % 3)});
    let resources = json!({"cpu": "32", "memory": "128Gi", "pods": "110"});
    let status = json!({"capacity": resources, "allocatable": resources});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}, "status": status})
}

fn pod(shape: Shape, at: usize) -> Value {
    let name = format!("p{at:05}");
    let (cpu, memory) = match shape {
        // No two alike, as in traces of GPU clusters: 37 and 41 have no common divisor.
        Shape::Different => (format!("{}m", 100 + 7 * (at % 1_999)), format!("{}Mi", 64 + at)),
        _ => ("100m".to_string(), "128Mi".to_string()),
    };
    let requests = json!({"cpu": cpu, "memory": memory});
    let mut spec =
        json!({"containers": [{"name": "c", "image": "registry.example/web:1", "resources": {"requests": requests}}]});
    if shape == Shape::Spread {
        let app = json!({"matchLabels": {"app": "web"}});
        spec["topologySpreadConstraints"] = json!([{"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule", "labelSelector": app}]);
        spec["affinity"] = json!({"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
            [{"topologyKey": "kubernetes.io/hostname", "labelSelector": app}]}});
    }
    json!({"apiVersion": "v1", "kind": "Pod", "spec": spec,
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}}})
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// CPU time of a run in which all pods get a node.
fn run(plan: &Plan, pods: usize) -> Duration {
    let mut world = World::new(Arc::new(plan.clone())).unwrap();
    let before = cpu();
    world.run(&mut NoObserver);
    let took = cpu() - before;
    let placed = world.api().truth().iter(Kind::Pod).filter_map(|object| object.as_pod());
    assert_eq!(placed.filter(|pod| !pod.node_name.is_empty()).count(), pods);
    took
}

fn main() {
    // `cargo test` runs every bench once with this argument.
    let is_test = env::args().any(|argument| argument == "--test");
    let wanted: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let rounds = if is_test { 1 } else { 3 };
    for (label, shape, percentage, nodes, aim_us) in [
        ("simple, all scored", Shape::Simple, 100, 5_000, 222.0),
        ("spread and anti-affinity, all scored", Shape::Spread, 100, 5_000, 333.0),
        ("all different, all scored", Shape::Different, 100, 5_000, 500.0),
        ("simple, adaptive", Shape::Simple, 0, 1_000, 35.0),
        ("simple, adaptive", Shape::Simple, 0, 5_000, 45.0),
    ] {
        if !wanted.is_empty() && !wanted.iter().any(|word| label.contains(word.as_str())) {
            continue;
        }
        let pods = if is_test { 20 } else { 2_000 };
        let mut without = plan(percentage);
        without.objects.extend((0..nodes).map(|at| Arc::new(node(at))));
        let mut with = without.clone();
        with.objects.extend((0..pods).map(|at| Arc::new(pod(shape, at))));
        // What the nodes alone take is no pod's.
        let fastest = |plan: &Plan, pods| (0..rounds).map(|_| run(plan, pods)).min().unwrap();
        let took = fastest(&with, pods).saturating_sub(fastest(&without, 0));
        let each_us = took.as_secs_f64() * 1e6 / pods as f64;
        println!("{label}, {nodes} nodes: {each_us:.1} us a pod, {:.0} pods/s; aim {aim_us} us", 1e6 / each_us);
    }
}
