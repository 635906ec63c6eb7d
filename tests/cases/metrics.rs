//! Metrics have the labels that docs/metrics.md says.

use std::collections::BTreeSet;

use kubesim::component::MetricSink;
use kubesim::model::Span;
use kubesim::probes::{metric_table, metrics};

use crate::common::{label, run_until, shipped};

/// Names of what was sampled; labels that the table does not know are a failure.
struct Labels<'a> {
    world: &'a str,
    seen: &'a mut BTreeSet<&'static str>,
}

impl MetricSink for Labels<'_> {
    fn sample(&mut self, metric: &'static str, labels: &[(&'static str, &str)], _value: f64) {
        let row = metric_table::find(metric).unwrap_or_else(|| panic!("{}: {metric} is in no table", self.world));
        let mut given: Vec<&str> = labels.iter().map(|(name, _)| *name).collect();
        let mut known = row.labels.to_vec();
        given.sort_unstable();
        known.sort_unstable();
        assert_eq!(given, known, "{}: {metric}", self.world);
        self.seen.insert(metric);
    }
}

#[test]
fn runs_have_the_labels_of_the_table() {
    let mut seen = BTreeSet::new();
    for plan in shipped().into_iter().filter(|plan| matches!(plan.variant.as_str(), "" | "base")) {
        let (world, _) = run_until(&plan, Span::from_seconds(60));
        let now = plan.start_at + Span::from_seconds(60);
        metrics::collect(&world, now, &mut Labels { world: &label(&plan), seen: &mut seen });
    }
    // Two settings of the API server that no shipped scenario has, and rejections, may be missing.
    assert!(seen.len() >= metrics::NAMES.len() - 6, "{seen:?}");
}
