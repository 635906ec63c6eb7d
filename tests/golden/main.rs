//! Replays decisions recorded from the real Kubernetes code (`tests/vectors/<slice>/*.jsonl`) and compares.
//!
//! `cargo test --release --test golden -- --nocapture` prints one line a file:
//! `golden: <slice>/<file>: N of M agree`, or `golden: <slice>/<file>: not read` while no code here reads it; a
//! disagreement prints id, expected and got, and fails. `KUBESIM_VECTORS=DIR` reads DIR/<slice>/*.jsonl instead.
//!
//! To read one more file, write a [`case::Reader`] in the module of its slice and add a line to [`READERS`].

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

mod apiserver;
mod autoscaling;
mod case;
mod clientgo;
mod controllers;
mod e2e;
mod files;
mod scheduler;
mod textbook;

use std::path::{Path, PathBuf};

use case::Reader;

/// Which function reads which file: slice, file stem, function.
const READERS: &[(&str, &str, Reader)] = &[
    ("apiserver", "defaulting", apiserver::defaulting),
    ("apiserver", "crd-validation", apiserver::crd_validation),
    ("apiserver", "duration", apiserver::duration),
    ("apiserver", "quantity", apiserver::quantity),
    ("apiserver", "selector", apiserver::selector),
    ("apiserver", "validation", apiserver::validation),
    ("autoscaling", "hpa_closed_loop", autoscaling::hpa_steps::closed_loop),
    ("autoscaling", "hpa_pathologies", autoscaling::hpa_steps::closed_loop),
    ("autoscaling", "hpa_replica_calc", autoscaling::hpa::replica_calc),
    ("autoscaling", "hpa_sequences", autoscaling::hpa_steps::sequence),
    ("autoscaling", "hpa_sync_timing", autoscaling::hpa_timing::sync_timing),
    ("autoscaling", "keda_executor", autoscaling::keda::executor),
    ("autoscaling", "keda_loop", autoscaling::keda::keda_loop),
    ("autoscaling", "keda_scaledjob", autoscaling::keda::scaled_job),
    ("autoscaling", "keda_triggers", autoscaling::keda::triggers),
    ("autoscaling", "vpa_recommender", autoscaling::vpa::recommender),
    ("autoscaling", "vpa_updater", autoscaling::vpa::updater),
    ("clientgo", "fifo", clientgo::fifo),
    ("clientgo", "flowcontrol", clientgo::flowcontrol),
    ("clientgo", "informer", clientgo::informer),
    ("clientgo", "leaderelection", clientgo::leaderelection),
    ("clientgo", "leaderelection-stats", clientgo::leaderelection_stats),
    ("clientgo", "priorityqueue", clientgo::priorityqueue),
    ("clientgo", "ratelimiter", clientgo::ratelimiter),
    ("clientgo", "restclient", clientgo::restclient),
    ("clientgo", "workqueue", clientgo::workqueue),
    ("controllers", "cronjob-schedule", controllers::cronjob_schedule),
    ("controllers", "deployment-fenceposts", controllers::deployment_fenceposts),
    ("controllers", "rs-pod-deletion", controllers::rs_pod_deletion),
    ("controllers", "deployment-rollout", controllers::replay),
    ("controllers", "replicaset-slowstart", controllers::replay),
    ("scheduler", "allocation-scores", scheduler::one_pod),
    ("scheduler", "default-spread", scheduler::one_pod),
    ("scheduler", "gates", scheduler::timeline::replay),
    ("scheduler", "host-ports", scheduler::one_pod),
    ("scheduler", "image-locality", scheduler::one_pod),
    ("scheduler", "mixed", scheduler::one_pod),
    ("scheduler", "node-affinity", scheduler::one_pod),
    ("scheduler", "nominated", scheduler::one_pod),
    ("scheduler", "pod-affinity", scheduler::one_pod),
    ("scheduler", "preemption", scheduler::one_pod),
    ("scheduler", "resources", scheduler::one_pod),
    ("scheduler", "seed", scheduler::one_pod),
    ("scheduler", "sequence", scheduler::sequence::replay),
    ("scheduler", "taints", scheduler::one_pod),
    ("scheduler", "timeline", scheduler::timeline::replay),
    ("scheduler", "topology-spread", scheduler::one_pod),
    ("scheduler", "unschedulable", scheduler::one_pod),
    ("scheduler", "zero-request", scheduler::one_pod),
];

/// Which function reads which table (`.csv`): slice, file stem, function.
const TABLES: &[(&str, &str, textbook::TableReader)] =
    &[("textbook", "hpa", textbook::hpa), ("textbook", "keda", textbook::keda)];

#[test]
fn recorded_decisions_agree() {
    let chosen = std::env::var_os("KUBESIM_VECTORS").map(PathBuf::from);
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let mut readers = READERS.to_vec();
    if apiserver::corpus_is_there() {
        readers.push(("apiserver", "defaulting-corpus", apiserver::corpus));
    } else {
        println!("corpus: skipped");
    }
    let report = files::read_all(chosen.as_deref().unwrap_or(&own), &readers);
    // The test runner may have left its own text on the line.
    println!("\n{}", report.lines.join("\n"));
    assert!(report.failures == 0, "{} recorded cases disagree or cannot be read", report.failures);
    assert!(report.files > 0, "no vectors found");
    if chosen.is_none() {
        let of_lines = readers.iter().map(|(slice, stem, _)| format!("{slice}/{stem}"));
        let of_tables = TABLES.iter().map(|(slice, stem, _)| format!("{slice}/{stem}"));
        let missing: Vec<String> = of_lines.chain(of_tables).filter(|name| !report.read.contains(name)).collect();
        assert!(missing.is_empty(), "read by code but not found: {missing:?}");
    }
}
