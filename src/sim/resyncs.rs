//! Controller doubles that look at every object and do nothing: what resyncs cost, through the real informer, its handlers,
//! queues and workers.

use std::sync::Arc;

use serde_json::json;

use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Context, Delta, WatchSpec};
use crate::model::{ApiResult, Distribution, Key, Kind, Span};

use super::arrivals::plan_of_queue;
use super::plan::{ComponentPlan, End, Plan, QueuePlan, ResyncPlan};

/// A controller that finds every object as it should be.
#[derive(Clone, Debug)]
pub struct Onlooker;

impl Reconciler for Onlooker {
    type State = ();

    fn name(&self) -> &'static str {
        "onlooker"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec::all(Kind::Namespace)]
    }

    fn observe(&mut self, delta: &Delta, _ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        keys.push(Enqueue::Now(delta.change.object().key()));
    }

    fn begin(&mut self, key: &Key, ctx: &mut Context<'_>) -> Step<()> {
        match ctx.informers.get(key) {
            Some(_) => Step::Finish(Outcome::DONE),
            None => Step::Finish(Outcome::error("it is gone")),
        }
    }

    fn resume(&mut self, _key: &Key, _state: (), _replies: Vec<ApiResult>, _ctx: &mut Context<'_>) -> Step<()> {
        unreachable!("no reconcile sends a request")
    }
}

/// The plan of this many controllers in one process, and of objects that each of them gets again once an hour.
pub fn plan_of_resyncs(controllers: usize, objects: usize, hours: i64) -> Plan {
    let mut plan = plan_of_queue(1, Distribution::ZERO, Distribution::ZERO, 0);
    let queue = QueuePlan::in_tree(5, Distribution::ZERO);
    plan.processes[0].components = vec![ComponentPlan::Onlooker(queue); controllers];
    plan.processes[0].resync = ResyncPlan::Every(Span::from_seconds(3600));
    plan.name = format!("resyncs-{controllers}-{objects}");
    plan.objects = (0..objects)
        .map(|number| {
            let name = format!("object-{number:06}");
            Arc::new(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}))
        })
        .collect();
    plan.end = End::After(Span::from_seconds(hours * 3600));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::{NoObserver, World};

    #[test]
    fn every_controller_gets_every_object_each_hour() {
        let mut world = World::new(Arc::new(plan_of_resyncs(3, 7, 5))).unwrap();
        world.run(&mut NoObserver);
        // The first list and resyncs at 1, 2, 3, 4 and 5 h; the namespace `default` is there too.
        assert_eq!(world.counters().reconciles, 3 * (7 + 1) * 6);
        assert_eq!(world.counters().retries, 0);
    }
}
