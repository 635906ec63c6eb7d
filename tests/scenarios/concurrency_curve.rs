//! concurrency-curve.yaml: its server of finite capacity.

use super::common::{plan, run};
use super::failures;
use kubesim::sim::Plan;
use kubesim::sim::plan::ComponentPlan;

fn with_workers(workers: u32) -> Plan {
    let mut plan = plan("concurrency-curve", "");
    let ComponentPlan::ReplicaSet(queue) = &mut plan.processes[0].components[0] else { panic!("another order") };
    queue.workers = workers;
    plan
}

/// Seconds to the last write, and refused requests.
fn outcome(plan: &Plan) -> (f64, u64) {
    let world = run(plan).world;
    ((world.api().truth().last_write() - plan.start_at).as_seconds(), world.counters().refused)
}

#[test]
fn the_curve_falls_and_rises_again() {
    let [one, five, best, many] = [1, 5, 15, 100].map(|workers| outcome(&with_workers(workers)));
    assert!(one.0 > 3.0 * five.0 && five.0 > 1.5 * best.0, "{one:?} {five:?} {best:?}");
    assert!(many.0 > 1.2 * best.0, "{best:?} {many:?}");
    assert!(best.1 == 0 && many.1 > 10, "{best:?} {many:?}");
}

#[test]
fn a_server_without_bounds_makes_no_worker_one_too_many() {
    let mut without = with_workers(100);
    without.api_server.capacity = None;
    assert_eq!(failures(without.clone()).len(), 1, "all is written within the first two seconds");
    assert_eq!(outcome(&without).1, 0);
}
