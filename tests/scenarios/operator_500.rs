//! operator-500.yaml: workers share the work, and one object that fails holds up no other.

use super::common::plan;
use super::failures;
use kubesim::sim::Plan;
use kubesim::sim::plan::{ComponentPlan, OperatorSettings, QueuePlan};

/// The operator of a plan, to change.
fn change(plan: &mut Plan, change: impl FnOnce(&mut QueuePlan, &mut OperatorSettings)) {
    let components = plan.processes.iter_mut().flat_map(|process| &mut process.components);
    let operator = components.into_iter().find_map(|component| match component {
        ComponentPlan::Operator(queue, operator) => Some((queue, operator)),
        _ => None,
    });
    let (queue, operator) = operator.expect("there is an operator");
    change(queue, std::sync::Arc::make_mut(operator));
}

#[test]
fn operator_500_expects_the_failure_the_workers_and_the_back_off() {
    for variant in ["base", "five", "backoff"] {
        let mut without = plan("operator-500", variant);
        change(&mut without, |_, operator| operator.fails.clear());
        assert!(!failures(without).is_empty(), "{variant}: nothing expects the failure");
    }
    for (variant, workers) in [("base", 5), ("five", 1)] {
        let mut other = plan("operator-500", variant);
        change(&mut other, |queue, _| queue.workers = workers);
        assert!(!failures(other).is_empty(), "{variant}: nothing expects its workers");
    }
    let mut without = plan("operator-500", "backoff");
    change(&mut without, |_, operator| operator.error_backoff = None);
    assert!(!failures(without).is_empty(), "nothing expects the back-off");
}
