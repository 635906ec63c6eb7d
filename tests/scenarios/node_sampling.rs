//! node-sampling.yaml: what looking at fewer nodes costs and saves.

use std::rc::Rc;

use super::common::{Ran, plans, run, scenario};
use super::failures;
use kubesim::component::MetricSink;
use kubesim::model::{Kind, Object};
use kubesim::probes::metrics;
use kubesim::report::balance::CpuBalance;
use kubesim::scenario::Overrides;
use kubesim::sim::Plan;

/// Fewer pods than the scenario has: what is shown does not depend on their number.
const PODS: usize = 400;

fn with(percentage: u32, more: &[(&str, &str)]) -> Plan {
    let set = [
        ("KubeSchedulerConfiguration:percentageOfNodesToScore", percentage.to_string()),
        ("deployment/web:spec.replicas", PODS.to_string()),
    ];
    let more = more.iter().map(|(path, value)| (*path, value.to_string()));
    let set = set.into_iter().chain(more).map(|(path, value)| (path.to_string(), value)).collect();
    plans(&scenario("node-sampling"), &Overrides { set, ..Overrides::default() }).remove(0)
}

struct Computed(f64);

impl MetricSink for Computed {
    fn sample(&mut self, metric: &'static str, _labels: &[(&'static str, &str)], value: f64) {
        if metric == "scheduler_scheduling_algorithm_duration_seconds_sum" {
            self.0 = value;
        }
    }
}

/// Computing time of a cycle in milliseconds, and the deviation of the nodes' shares.
fn measured(plan: &Plan) -> (f64, f64) {
    let Ran { world, .. } = run(plan);
    let mut computed = Computed(0.0);
    metrics::collect(&world, world.ended_at(), &mut computed);
    let truth = world.api().truth();
    let nodes = truth.iter(Kind::Node).filter_map(Object::as_node).map(Rc::as_ref);
    let pods = truth.iter(Kind::Pod).filter_map(Object::as_pod).map(Rc::as_ref);
    (computed.0 * 1e3 / PODS as f64, CpuBalance::of(nodes, pods).unwrap().deviation)
}

#[test]
fn looking_at_fewer_nodes_is_quicker_and_worse() {
    let of = |percentage| measured(&with(percentage, &[]));
    let (few, adaptive, all) = (of(5), of(0), of(100));
    // 0.1 ms and 2 us for each of 100, 420 and 1,000 nodes.
    for (measured, expected_ms) in [(few, 0.3), (adaptive, 0.94), (all, 2.1)] {
        assert!((measured.0 - expected_ms).abs() < 1e-6, "{measured:?} and {expected_ms} ms");
    }
    // 400 pods, 40 for the hundred nodes of each size: 4 of 10 nodes have one pod. Looking at all nodes only the largest get
    // some: 2 of 44 CPUs at most.
    assert!(few.1 > 1.5 * adaptive.1 && adaptive.1 >= all.1, "{few:?}, {adaptive:?}, {all:?}");
    // At 1,000 nodes the scheduler takes 50 - 1000 / 125 = 42 % of its own accord.
    assert_eq!(of(42), adaptive);
}

#[test]
fn where_all_nodes_are_alike_few_are_enough() {
    let alike = [("spec.nodes", "[{count: 1000, cpu: 26, memory: 104Gi}]")];
    let deviation = |percentage| measured(&with(percentage, &alike)).1;
    // 400 of 1,000 nodes have one pod, whichever they are.
    assert!((deviation(5) - deviation(100)).abs() < 1e-9);
}

#[test]
fn the_expectations_need_a_scheduler() {
    let mut without = with(0, &[]);
    without.processes.retain(|process| process.name != "kube-scheduler");
    assert!(failures(without).iter().any(|failure| failure.contains("spec.nodeName=")));
}
