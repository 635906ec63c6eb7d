//! What became of requests for pods, and of races for their nodes: from the metrics of the components at the end of a run.

use crate::component::MetricSink;
use crate::model::Map;
use crate::probes::metrics;
use crate::report::kpis::{RaceFacts, RequestFacts};
use crate::sim::World;

/// The sums of metrics of the teaching orchestrator and of the clients, by name and first label's value.
#[derive(Default)]
struct Sums(Map<(&'static str, String), f64>);

impl MetricSink for Sums {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], value: f64) {
        if metric.starts_with("polling_") {
            let label = labels.first().map_or(String::new(), |(_, label)| label.to_string());
            *self.0.entry((metric, label)).or_insert(0.0) += value;
        }
    }
}

impl Sums {
    fn of(world: &World) -> Sums {
        let mut sums = Sums::default();
        for slot in world.processes().iter().filter(|process| process.alive).flat_map(|process| &process.components) {
            slot.component.metrics(world.ended_at(), &mut sums);
        }
        sums
    }

    fn get(&self, metric: &'static str, label: &str) -> Option<f64> {
        self.0.get(&(metric, label.to_string())).copied()
    }

    fn all(&self, metric: &str) -> Option<f64> {
        let found: Vec<f64> = self.0.iter().filter(|((name, _), _)| *name == metric).map(|(_, value)| *value).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }
}

/// What became of requests for pods, and races; each `None` in runs that have no such thing.
pub fn facts(world: &World) -> (Option<RequestFacts>, Option<RaceFacts>) {
    let sums = Sums::of(world);
    let requests = sums.get("polling_requests_total", "503").map(|given_up| RequestFacts {
        answered: sums.all("polling_request_duration_seconds_count").unwrap_or(0.0),
        given_up,
        p50_seconds: sums.get("polling_request_duration_seconds", "0.5"),
        p99_seconds: sums.get("polling_request_duration_seconds", "0.99"),
    });
    let races = metrics::has_assigners(world).then(|| RaceFacts {
        double_assignments: world.api().rebound as f64,
        conflicts: sums.all("polling_conflicts_total").unwrap_or(0.0),
    });
    (requests, races)
}
