//! concurrency-curve.yaml: its server of finite capacity.

use super::common::{plan, run};
use super::failures;
use kubesim::model::Action;
use kubesim::sim::Plan;
use kubesim::sim::plan::ComponentPlan;

/// The scenario with another number of workers.
fn with_workers(workers: u32) -> Plan {
    let mut plan = plan("concurrency-curve", "base");
    for component in plan.processes.iter_mut().flat_map(|process| &mut process.components) {
        if let ComponentPlan::Operator(queue, _) = component {
            queue.workers = workers;
        }
    }
    plan
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
struct Curve {
    /// Seconds to the last write of an object.
    last_write: f64,
    /// Requests answered 429.
    refused: u64,
    /// Reconciles that failed and whose object was queued again.
    requeues: usize,
}

fn curve(plan: &Plan) -> Curve {
    let found = run(plan);
    Curve {
        last_write: (found.world.api().truth().last_write() - plan.start_at).as_seconds(),
        refused: found.world.counters().refused,
        requeues: found.records.iter().filter(|record| record.action == Action::ReconcileError).count(),
    }
}

#[test]
fn the_curve_falls_and_rises_again() {
    let [one, four, best, crowd, many] = [1, 4, 8, 30, 100].map(|workers| curve(&with_workers(workers)));
    // 94 s, a quarter of it, 18 s and not below the server's 15 s.
    assert!(
        one.last_write > 3.5 * four.last_write && four.last_write > 1.3 * best.last_write,
        "{one:?} {four:?} {best:?}"
    );
    assert!(best.last_write > 15.0, "{best:?}");
    // 36 s, and 70 s.
    assert!(crowd.last_write > 1.7 * best.last_write, "{best:?} {crowd:?}");
    assert!(many.last_write > 1.7 * crowd.last_write, "{crowd:?} {many:?}");
    for few in [one, four, best] {
        assert!(few.refused == 0 && few.requeues == 0, "{few:?}");
    }
    assert!(crowd.refused > 0, "{crowd:?}");
    assert!(many.refused > 20 * crowd.refused && many.requeues > 60, "{crowd:?} {many:?}");
}

#[test]
fn a_server_without_bounds_makes_no_worker_one_too_many() {
    let mut before = f64::INFINITY;
    for workers in [1, 4, 8, 30, 100] {
        let mut without = with_workers(workers);
        without.api_server.capacity = None;
        let found = curve(&without);
        assert!(found.last_write < before && found.refused == 0 && found.requeues == 0, "{workers}: {found:?}");
        before = found.last_write;
    }
}

#[test]
fn concurrency_curve_fails_in_each_variant_without_what_it_is_about() {
    // Eight workers without bounds are done before the 15 s that the server needs.
    let mut base = plan("concurrency-curve", "base");
    base.api_server.capacity = None;
    assert_eq!(failures(base).len(), 1);
    // One worker beside eight, and a hundred at a server without bounds.
    let one = Plan { processes: plan("concurrency-curve", "base").processes, ..plan("concurrency-curve", "one") };
    assert_eq!(failures(one).len(), 1);
    let mut hundred = plan("concurrency-curve", "hundred");
    hundred.api_server.capacity = None;
    assert_eq!(failures(hundred).len(), 3, "done in time, nobody refused, nothing failed");
    let mut unlimited = plan("concurrency-curve", "unlimited");
    unlimited.api_server.capacity = plan("concurrency-curve", "base").api_server.capacity;
    assert_eq!(failures(unlimited).len(), 2);
}
