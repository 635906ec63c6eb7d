//! sweep-workers.yaml: what its keys wait for.

use super::common::plan;
use super::failures;
use kubesim::model::Distribution;
use kubesim::sim::plan::ComponentPlan;

#[test]
fn the_keys_of_sweep_workers_wait_for_workers_and_client_only() {
    let mut without = plan("sweep-workers", "");
    without.processes[0].client = None;
    let ComponentPlan::ReplicaSet(queue) = &mut without.processes[0].components[0] else { panic!("another order") };
    queue.reconcile_time = Distribution::ZERO;
    let waits = "metric(\"workqueue_depth\", {\"name\": \"replicaset\"}) > 0.0";
    assert_eq!(failures(without), [format!("at 1s {waits}")]);
}
