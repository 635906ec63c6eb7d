//! restart-storm.yaml: what the rate-limited add costs after a restart.

use super::common::plan;
use super::failures;
use kubesim::sim::plan::{ComponentPlan, HandlerAdd};

#[test]
fn restart_storm_expects_the_restart_and_the_limiter() {
    let mut without = plan("restart-storm", "base");
    without.faults.clear();
    assert!(!failures(without).is_empty(), "nothing expects the restart");
    for (variant, add) in [("base", HandlerAdd::Plain), ("plain", HandlerAdd::RateLimited)] {
        let mut other = plan("restart-storm", variant);
        let components = other.processes.iter_mut().flat_map(|process| &mut process.components);
        for component in components {
            if let ComponentPlan::Operator(queue, _) = component {
                queue.handler_add = add;
            }
        }
        assert!(!failures(other).is_empty(), "{variant}: nothing expects how keys are added");
    }
}
