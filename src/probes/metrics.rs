//! All metrics of a world at an instant: those of its components, and those that kube-state-metrics would show.
//!
//! Names are those of the real components; what has no counterpart begins with `kubesim_`.

use super::metric_table::METRICS;
use super::node_rooms;
use crate::apiserver::flow_control::{LEVELS, LevelCounts};
use crate::client::informers::Cache;
use crate::client::process::Process;
use crate::component::MetricSink;
use crate::model::{Kind, Map, Name, Object, Time, Uid};
use crate::plot::charts;
use crate::sim::World;
use crate::sim::plan::{ComponentPlan, PollingPart};

/// The names of all metrics that a run can have, in order. A condition may ask for any of them at any time: one without a
/// series is 0.
pub const NAMES: [&str; METRICS.len()] = {
    let mut names = [""; METRICS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = METRICS[index].name;
        index += 1;
    }
    names
};

/// Gives every metric to the sink, in an order that depends on names only.
pub fn collect(world: &World, now: Time, sink: &mut dyn MetricSink) {
    // A standby works no queue: what its metrics would show is shown by the one that acts.
    let acting: Vec<&Process> = world.processes().iter().filter(|process| process.alive && process.acts).collect();
    let mut sums = Sums::default();
    for (index, process) in acting.iter().enumerate() {
        let is_twin = |(other, twin): (usize, &&Process)| other != index && is_same_program(twin, process);
        let has_twin = acting.iter().enumerate().any(is_twin);
        for slot in &process.components {
            slot.component.metrics(now, if has_twin { &mut sums } else { &mut *sink });
        }
        client_requests(process, sink);
    }
    sums.give(sink);
    elections(world, sink);
    workloads(world, sink);
    requests(world, sink);
    double_assignments(world, sink);
    api_servers(world, sink);
    node_rooms::collect(world, sink);
    loads(world, sink);
    staleness(world, now, sink);
}

/// Whether two processes report the same series, as two versions of an operator do that run at once.
fn is_same_program(one: &Process, other: &Process) -> bool {
    let names = |process: &Process| process.components.iter().map(|slot| slot.component.name()).collect::<Vec<_>>();
    !one.components.is_empty() && names(one) == names(other)
}

/// Adds up what several processes report under the same labels: nobody scrapes them, so there is no `instance`.
#[derive(Default)]
struct Sums(Map<Series, f64>);

/// A metric and its labels.
type Series = (&'static str, Vec<(&'static str, String)>);

impl MetricSink for Sums {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        let labels = labels.iter().map(|(name, value)| (*name, value.to_string())).collect();
        *self.0.entry((metric, labels)).or_insert(0.0) += value;
    }
}

impl Sums {
    fn give(self, sink: &mut dyn MetricSink) {
        for ((metric, labels), value) in self.0 {
            let labels: Vec<(&'static str, &str)> =
                labels.iter().map(|(name, value)| (*name, value.as_str())).collect();
            sink.sample(metric, &labels, value);
        }
    }
}

/// Upstream: component-base/metrics/prometheus/clientgo/leaderelection/metrics.go; the process stands in for the
/// `instance` that a scrape would add.
fn elections(world: &World, sink: &mut dyn MetricSink) {
    for (index, process) in world.processes().iter().enumerate() {
        let Some(election) = world.election(index) else { continue };
        let labels = [("name", election.lease().as_str()), ("process", process.name.as_str())];
        let leads = election.elector().works();
        sink.sample("leader_election_master_status", &labels, f64::from(u8::from(leads)));
    }
}

/// What the clients of a process have received. Upstream's label `host` is left out: there is one API server.
fn client_requests(process: &Process, sink: &mut dyn MetricSink) {
    let mut answers: Vec<_> = process.client_requests.iter().collect();
    answers.sort();
    for ((method, code), count) in answers {
        let code = if *code == 0 { "<error>".to_string() } else { code.to_string() };
        let labels = [("code", code.as_str()), ("method", *method), ("process", process.name.as_str())];
        sink.sample("rest_client_requests_total", &labels, *count as f64);
    }
}

fn requests(world: &World, sink: &mut dyn MetricSink) {
    let mut answers: Vec<_> = world.answers().collect();
    answers.sort();
    for ((verb, kind, code), count) in answers {
        let code = code.to_string();
        let labels = [("code", code.as_str()), ("resource", kind.info().plural), ("verb", *verb)];
        sink.sample("apiserver_request_total", &labels, *count as f64);
    }
}

/// Only the server knows: who assigns may not have heard of what was assigned just before.
fn double_assignments(world: &World, sink: &mut dyn MetricSink) {
    if has_assigners(world) {
        sink.sample("polling_double_assignments_total", &[], world.api().rebound as f64);
    }
}

/// Whether the teaching orchestrator assigns pods in this run.
pub fn has_assigners(world: &World) -> bool {
    let is_assigner = |component: &ComponentPlan| match component {
        ComponentPlan::Polling(polling) => matches!(polling.part, PollingPart::Tasks | PollingPart::Loop),
        _ => false,
    };
    world.plan().processes.iter().flat_map(|process| &process.components).any(is_assigner)
}

/// What became of requests.
fn loads(world: &World, sink: &mut dyn MetricSink) {
    let mut results: Vec<_> = world.load_results().collect();
    results.sort_by_key(|(name, ..)| *name);
    for (name, counts, latencies) in results {
        let labels = [("load", name)];
        sink.sample("kubesim_requests_failed_total", &labels, counts.failed);
        sink.sample("kubesim_requests_served_total", &labels, counts.served);
        sink.sample("kubesim_requests_total", &labels, counts.arrived);
        for (quantile, share) in [("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99)] {
            let Some(ns) = latencies.and_then(|latencies| latencies.quantile_ns(share)) else { continue };
            let labels = [("load", name), ("quantile", quantile)];
            sink.sample("kubesim_request_duration_seconds", &labels, ns as f64 / 1e9);
        }
    }
}

/// What the API servers take on and how long it takes, all servers together.
fn api_servers(world: &World, sink: &mut dyn MetricSink) {
    let servers = world.servers();
    for (verb, kind, histogram) in servers.durations().sorted() {
        let labels = [("resource", kind.info().plural), ("verb", verb)];
        sink.sample("apiserver_request_duration_seconds_count", &labels, histogram.count() as f64);
        sink.sample("apiserver_request_duration_seconds_sum", &labels, histogram.sum_seconds());
        let labels = [("quantile", "0.99"), labels[0], labels[1]];
        sink.sample("apiserver_request_duration_seconds", &labels, histogram.quantile_seconds(0.99));
    }
    let mut levels = [LevelCounts::default(); LEVELS.len()];
    for server in servers.flow_controls() {
        for (sum, counts) in levels.iter_mut().zip(server.counts()) {
            sum.add(counts);
        }
        if let Some([reads, writes]) = server.in_flight() {
            sink.sample("apiserver_current_inflight_requests", &[("request_kind", "readOnly")], f64::from(reads));
            sink.sample("apiserver_current_inflight_requests", &[("request_kind", "mutating")], f64::from(writes));
        }
    }
    for (config, level) in LEVELS.iter().zip(levels).filter(|(_, level)| level.was_used()) {
        let labels = [("priority_level", config.text)];
        sink.sample("apiserver_flowcontrol_current_executing_requests", &labels, f64::from(level.executing));
        sink.sample("apiserver_flowcontrol_current_executing_seats", &labels, f64::from(level.seats_in_use));
        sink.sample("apiserver_flowcontrol_current_inqueue_requests", &labels, f64::from(level.waiting));
        sink.sample("apiserver_flowcontrol_current_limit_seats", &labels, f64::from(level.limit));
        sink.sample("apiserver_flowcontrol_dispatched_requests_total", &labels, level.dispatched as f64);
        for (reason, count) in [
            ("concurrency-limit", level.rejected_concurrency),
            ("queue-full", level.rejected_queue_full),
            ("time-out", level.rejected_time_out),
            ("cancelled", level.rejected_cancelled),
        ] {
            if count > 0 {
                let labels = [labels[0], ("reason", reason)];
                sink.sample("apiserver_flowcontrol_rejected_requests_total", &labels, count as f64);
            }
        }
    }
    if let Some(in_work) = servers.in_work() {
        sink.sample("kubesim_apiserver_requests_in_work", &[], in_work as f64);
    }
}

fn staleness(world: &World, now: Time, sink: &mut dyn MetricSink) {
    for watch in world.api().watches() {
        let age = world.api().oldest_missing(watch).map_or(0.0, |missing| (now - missing).as_seconds());
        let process = &world.processes()[watch.owner.0].name;
        sink.sample(charts::STALENESS, &[("process", process.as_str()), ("kind", watch.kind.as_str())], age);
    }
}

fn workloads(world: &World, sink: &mut dyn MetricSink) {
    let truth = world.api().truth();
    let cached = controller_cache(world);
    let mut sets: Vec<&Object> = truth.iter(Kind::ReplicaSet).collect();
    sets.sort_by_key(|object| object.key());
    let mut of_deployment: Map<Uid, (u32, u32)> = Map::default();
    for object in sets {
        let Some(set) = object.as_replica_set() else { continue };
        let uid = &set.meta.uid;
        let pods = (truth.pod_tallies().active_of(uid), cached.map_or(0, |cache| cache.active_pods_of(uid)));
        if let Some(owner) = set.meta.controller() {
            let sum = of_deployment.entry(owner.uid.clone()).or_insert((0, 0));
            *sum = (sum.0 + pods.0, sum.1 + pods.1);
        }
        let labels = [("namespace", set.meta.namespace.as_str()), ("replicaset", set.meta.name.as_str())];
        sink.sample(charts::REPLICASET_DESIRED, &labels, f64::from(set.spec.replicas));
        sink.sample(charts::REPLICASET_STATUS, &labels, f64::from(set.status.replicas));
        sink.sample(charts::REPLICASET_READY, &labels, f64::from(set.status.ready_replicas));
        pod_counts("replicaset", object, pods, cached.is_some(), sink);
    }
    let mut deployments: Vec<&Object> = truth.iter(Kind::Deployment).collect();
    deployments.sort_by_key(|object| object.key());
    for object in deployments {
        let Some(deployment) = object.as_deployment() else { continue };
        let labels = [("namespace", deployment.meta.namespace.as_str()), ("deployment", deployment.meta.name.as_str())];
        let status = &deployment.status;
        sink.sample(charts::DEPLOYMENT_DESIRED, &labels, f64::from(deployment.spec.replicas));
        sink.sample(charts::DEPLOYMENT_STATUS, &labels, f64::from(status.replicas));
        sink.sample(charts::DEPLOYMENT_READY, &labels, f64::from(status.ready_replicas));
        sink.sample("kube_deployment_status_replicas_available", &labels, f64::from(status.available_replicas));
        sink.sample("kube_deployment_status_replicas_updated", &labels, f64::from(status.updated_replicas));
        let pods = of_deployment.get(&deployment.meta.uid).copied().unwrap_or((0, 0));
        pod_counts("deployment", object, pods, cached.is_some(), sink);
    }
}

fn pod_counts(kind: &str, object: &Object, pods: (u32, u32), is_cached: bool, sink: &mut dyn MetricSink) {
    let meta = object.meta();
    let labels = [("kind", kind), ("namespace", meta.namespace.as_str()), ("name", meta.name.as_str())];
    sink.sample(charts::PODS_STORED, &labels, f64::from(pods.0));
    if is_cached {
        sink.sample(charts::PODS_CACHED, &labels, f64::from(pods.1));
    }
}

/// The pods that the process knows that runs the ReplicaSet controller; `None` while it is down.
fn controller_cache(world: &World) -> Option<&Cache> {
    let name = Name::new("replicaset");
    let mut running = world.processes().iter().filter(|process| process.alive && process.acts);
    let process = running.find(|process| process.components.iter().any(|slot| slot.name == name))?;
    Some(&process.informers.get_informer(Kind::Pod)?.cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `sample("name"` in a source file of the library, its tests left out.
    fn sampled_names(folder: &std::path::Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("the sources are there") {
            let path = entry.expect("readable").path();
            if path.is_dir() {
                sampled_names(&path, names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let source = std::fs::read_to_string(&path).expect("readable");
                let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
                let calls = code.split("sample(").skip(1);
                names.extend(
                    calls.filter_map(|call| Some(call.trim_start().strip_prefix('"')?.split_once('"')?.0.into())),
                );
            }
        }
    }

    #[test]
    fn the_names_are_those_of_all_samples() {
        let mut names = Vec::new();
        sampled_names(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
        let shown = [
            charts::DEPLOYMENT_DESIRED,
            charts::DEPLOYMENT_STATUS,
            charts::DEPLOYMENT_READY,
            charts::REPLICASET_DESIRED,
            charts::REPLICASET_STATUS,
            charts::REPLICASET_READY,
            charts::PODS_STORED,
            charts::PODS_CACHED,
            charts::QUEUE_DEPTH,
            charts::STALENESS,
            charts::REQUESTED_RATIO,
            charts::OVERSOLD,
        ];
        names.extend(shown.map(String::from));
        names.sort();
        names.dedup();
        assert_eq!(names, NAMES);
    }
}
