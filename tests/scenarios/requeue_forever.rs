//! requeue-forever.yaml: what waits is the limiter.

use std::sync::Arc;

use super::common::plan;
use super::failures;
use kubesim::controllers::custom::Afterwards;
use kubesim::sim::plan::ComponentPlan;

#[test]
fn requeue_forever_expects_what_follows_a_reconcile() {
    for variant in ["base", "after"] {
        let mut without = plan("requeue-forever", variant);
        for component in without.processes.iter_mut().flat_map(|process| &mut process.components) {
            if let ComponentPlan::Operator(_, operator) = component {
                Arc::make_mut(operator).afterwards = Afterwards::Done;
            }
        }
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the requeue");
    }
}
