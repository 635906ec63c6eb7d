//! Where pods are placed.

use std::collections::BTreeMap;
use std::fmt::Write;

use kubesim::model::{Kind, Object};
use kubesim::sim::{Plan, World};

use crate::common::{plan_of, run, run_until};
use kubesim::model::Span;

const ZONE: &str = "topology.kubernetes.io/zone";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Pods of the application `web` that are not on their way out, by the value of a node label, in its order; places without pods
/// count.
fn spread(world: &World, label: &str) -> Vec<usize> {
    let truth = world.api().truth();
    let place = |node: &Object| node.meta().labels.get(&label.into()).unwrap().clone();
    let places: BTreeMap<_, _> = truth.iter(Kind::Node).map(|node| (node.meta().name.clone(), place(node))).collect();
    let mut counts: BTreeMap<_, usize> = places.values().map(|place| (place.clone(), 0)).collect();
    for pod in truth.iter(Kind::Pod).filter_map(Object::as_pod).filter(|pod| pod.is_active()) {
        if pod.meta.labels.get(&"app".into()).is_some_and(|app| *app == "web") {
            *counts.get_mut(&places[&pod.node_name]).unwrap() += 1;
        }
    }
    counts.into_values().collect()
}

fn skew(counts: &[usize]) -> usize {
    counts.iter().max().unwrap() - counts.iter().min().unwrap()
}

/// A Deployment with one hard constraint, restarted at 30 s.
fn rolled_out(test: &str, (replicas, zones): (usize, usize), constraint: &str) -> Plan {
    let nodes: String =
        (0..zones).map(|zone| format!("{{cpu: \"8\", memory: 16Gi, labels: {{{ZONE}: z{zone}}}}},")).collect();
    let text = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: rollout}}
spec:
  duration: 2m
  nodes: [{nodes}]
  timeline: [{{at: 30s, kubectl: kubectl rollout restart deployment/web}}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      topologySpreadConstraints:
      - {{{constraint}, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: web}}}}}}
      containers: [{{name: c, image: "registry.example/c:1", resources: {{requests: {{cpu: 100m, memory: 64Mi}}}}}}]
"#
    );
    plan_of(test, &text)
}

/// Seeds by default: enough to meet each end by far, quick enough for every day.
const SEEDS: u64 = 60;

/// The seeds, or as many as `KUBESIM_CASE_SEEDS` says.
#[allow(clippy::disallowed_methods, reason = "more seeds are a matter of who runs the test")]
fn seeds() -> u64 {
    std::env::var("KUBESIM_CASE_SEEDS").map_or(SEEDS, |given| given.parse().unwrap())
}

/// How often the pods were spread in each way: before the rollout and at the end.
type Ways = BTreeMap<Vec<usize>, u64>;

fn ways(plan: &Plan, label: &str) -> (Ways, Ways) {
    let (mut before, mut after) = (Ways::new(), Ways::new());
    for seed in 0..seeds() {
        let plan = Plan { seed, ..plan.clone() };
        let (mut world, mut keep) = run_until(&plan, Span::from_seconds(29));
        *before.entry(spread(&world, label)).or_default() += 1;
        world.run(&mut keep);
        *after.entry(spread(&world, label)).or_default() += 1;
    }
    (before, after)
}

fn beyond(ways: &Ways, most: usize) -> u64 {
    ways.iter().filter(|(way, _)| skew(way) > most).map(|(_, times)| times).sum()
}

/// kubernetes/kubernetes#98215 (also #105661): a spread that is right at scheduling time is wrong after the rollout.
#[test]
fn c41_old_pods_count_while_new_ones_are_spread() {
    let constraint = format!("maxSkew: 1, topologyKey: {HOSTNAME}");
    let (before, after) = ways(&rolled_out("c41", (5, 3), &constraint), HOSTNAME);
    // Whoever is placed alone is placed well: 2 / 2 / 1.
    assert_eq!(beyond(&before, 1), 0, "{before:?}");
    // New pods are spread over the gaps that the old ones leave; then the old ones go, and what is left may be 3 / 2 / 0.
    assert!(beyond(&after, 1) > 0, "{after:?}");
    assert!(after.keys().any(|way| skew(way) == 3), "{after:?}");
    // Why: the selector means pods of both revisions. With the revision in it the new ones are alone again.
    let keyed = format!("{constraint}, matchLabelKeys: [pod-template-hash]");
    let (before, after) = ways(&rolled_out("c41-keyed", (5, 3), &keyed), HOSTNAME);
    assert_eq!((beyond(&before, 1), beyond(&after, 1)), (0, 0), "{after:?}");
}

/// kubernetes/kubernetes#121284: 3 pods, 2 zones, maxSkew 2, and all three end in one zone.
#[test]
fn c41_two_zones_may_end_with_all_pods_in_one() {
    let constraint = format!("maxSkew: 2, topologyKey: {ZONE}");
    let (before, after) = ways(&rolled_out("c41-zones", (3, 2), &constraint), ZONE);
    // The first is placed anywhere, the second may follow it (2 - 0 = 2), the third then may not: 3 - 0 = 3.
    assert_eq!(beyond(&before, 2), 0, "{before:?}");
    // 2 / 1 of the old: a new one makes it 2 / 2, an old one goes, 2 / 1 or 1 / 2, and so on: the sums are always fine.
    assert!(beyond(&after, 2) > 0, "{after:?}");
    assert!(after.keys().filter(|way| skew(way) > 2).all(|way| way[0] == 0 || way[1] == 0));
    let keyed = format!("{constraint}, matchLabelKeys: [pod-template-hash]");
    let (_, after) = ways(&rolled_out("c41-zones-keyed", (3, 2), &keyed), ZONE);
    assert_eq!(beyond(&after, 2), 0, "{after:?}");
}

/// Pods by node, a row a zone.
type Matrix = [[usize; 3]; 3];

/// Shares of nodes that are in use, percent; the report has them once, twice, four and eight times.
const USED: Matrix = [[10, 10, 0], [5, 10, 0], [5, 5, 5]];

/// Ten pods of 1 % on nodes with these shares in use, with soft constraints over nodes and zones.
fn loaded(version: &str, times: usize, (node_skew, zone_skew): (i64, i64)) -> Plan {
    let mut nodes = String::new();
    let mut pods = String::new();
    for (zone, row) in USED.iter().enumerate() {
        for (node, share) in row.iter().enumerate() {
            let (name, used) = (format!("n{zone}{node}"), share * times);
            writeln!(nodes, "  - {{name: {name}, cpu: \"100\", memory: 100Gi, labels: {{{ZONE}: z{zone}}}}}").unwrap();
            let requests = format!("resources: {{requests: {{cpu: \"{used}\", memory: {used}Gi}}}}");
            let containers = format!("[{{name: c, image: \"registry.example/load:1\", {requests}}}]");
            let spec = format!("{{nodeName: {name}, containers: {containers}}}");
            writeln!(pods, "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: load-{name}}}, spec: {spec}}}")
                .unwrap();
        }
    }
    let constraint = |key: &str, skew: i64| {
        let selector = "labelSelector: {matchLabels: {app: web}}";
        format!("{{maxSkew: {skew}, topologyKey: {key}, whenUnsatisfiable: ScheduleAnyway, {selector}}}")
    };
    let constraints = format!("[{}, {}]", constraint(HOSTNAME, node_skew), constraint(ZONE, zone_skew));
    let text = format!(
        r#"apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: loaded}}
spec:
  kubernetesVersion: "{version}"
  duration: 30s
  model: {{ties: name}}
  nodes:
{nodes}{pods}---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 10
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      topologySpreadConstraints: {constraints}
      containers: [{{name: c, image: "registry.example/c:1", resources: {{requests: {{cpu: "1", memory: 1Gi}}}}}}]
"#
    );
    plan_of(&format!("c43-{version}-{times}-{node_skew}-{zone_skew}"), &text)
}

/// The same by hand. Spread (weight 2): each matching pod on the node counts ln(9 + 2) = 2.398, each in its zone
/// ln(3 + 2) = 1.609, and each constraint maxSkew - 1; normalized 100 (highest + lowest - it) / highest. Room (weight 1): the
/// share that is left, 100 - used - pods - 1. All other scores are the same on all nodes.
fn by_hand(times: usize, (node_skew, zone_skew): (i64, i64), whole: fn(f64) -> f64) -> Matrix {
    let mut pods: Matrix = Matrix::default();
    let places = || (0..3).flat_map(|zone| (0..3).map(move |node| (zone, node)));
    for _ in 0..10 {
        let raw = |(zone, node): (usize, usize)| {
            let (on_node, in_zone): (usize, usize) = (pods[zone][node], pods[zone].iter().sum());
            let sum = on_node as f64 * 2.398 + (node_skew - 1) as f64 + in_zone as f64 * 1.609 + (zone_skew - 1) as f64;
            whole(sum) as i64
        };
        let (highest, lowest) = (places().map(raw).max().unwrap(), places().map(raw).min().unwrap());
        let total = |(zone, node): (usize, usize)| {
            let spread = if highest == 0 { 100 } else { 100 * (highest + lowest - raw((zone, node))) / highest };
            2 * spread + 100 - (USED[zone][node] * times + pods[zone][node] + 1) as i64
        };
        // Of equal totals the first by name.
        let (zone, node) = places().rev().max_by_key(|place| total(*place)).unwrap();
        pods[zone][node] += 1;
    }
    pods
}

/// kubernetes/kubernetes#91918: how ten pods share nine nodes, three in each of three zones, when both even spreading and free
/// room count. The report's numbers are those of its time: it cut the sum of a node's raw score to a whole number, which is
/// rounded now.
#[test]
fn c43_ten_pods_between_spreading_and_free_room() {
    const EVEN: Matrix = [[1, 1, 2], [1, 1, 1], [1, 1, 1]];
    const LESS: Matrix = [[1, 1, 2], [1, 0, 2], [1, 1, 1]];
    const FREE: Matrix = [[0, 0, 3], [1, 0, 3], [1, 1, 1]];
    let loads = [1, 2, 4, 8];
    // (maxSkew of nodes and zones, what the report has where we know it, what today's scores give)
    let rows = [
        ((1, 1), Some([EVEN, EVEN, EVEN, LESS]), [EVEN, EVEN, EVEN, LESS]),
        // With 40 %, the eighth pod: one on each node but n01 and n04. n02 is empty and has raw 2.398 + 1 + 2 * 1.609 + 3 = 9.6,
        // n01 has 1 + 2 * 1.609 + 3 = 7.2, the highest is 11. Cut: n02 2 * (100 * (11 + 7 - 9) / 11 = 81) + 98 = 260, n01
        // 2 * 100 + 59 = 259. Rounded: n02 2 * (100 * (11 + 7 - 10) / 11 = 72) + 98 = 242.
        ((2, 4), Some([EVEN, EVEN, LESS, LESS]), [EVEN, EVEN, EVEN, FREE]),
        ((3, 5), None, [EVEN, EVEN, LESS, FREE]),
    ];
    for (skews, reported, today) in rows {
        for (index, times) in loads.into_iter().enumerate() {
            if let Some(reported) = reported {
                assert_eq!(by_hand(times, skews, f64::floor), reported[index], "cut, {skews:?}, {times} times");
            }
            assert_eq!(by_hand(times, skews, f64::round), today[index], "rounded, {skews:?}, {times} times");
            for version in ["1.35", "1.36"] {
                let counts = spread(&run(&loaded(version, times, skews)).world, HOSTNAME);
                assert_eq!(counts, today[index].as_flattened(), "{version}, {skews:?}, {times} times");
            }
        }
    }
}
