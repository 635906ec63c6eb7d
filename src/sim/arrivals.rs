//! A controller double whose keys come by themselves: the real work queue and the real workers under a load that queueing
//! theory has formulas for.
//!
//! The double is a [`Reconciler`] like any other, in a Plan like the doubles of [`super::lockstep`], and nothing else in the
//! world knows of it. When its informer hands it the first object it puts every key into the delaying queue, as a
//! controller does that wants to look again later, so the arrivals are those of `AddAfter`. Each key is new, so none is
//! coalesced; a reconcile sends nothing and takes the queue's own computing time.

use crate::client::reconciler::{Enqueue, Outcome, Reconciler, Step};
use crate::component::{Context, Delta, Purpose, WatchSpec, draw_span};
use crate::model::{ApiResult, Distribution, Key, Kind, Name, Span};

use super::load_plan::LoadPlans;
use super::plan::{
    ApiServerSettings, ArrivalsPlan, ComponentPlan, ContainerTimes, End, KubernetesVersion, Latency, ModelOptions,
    Plan, ProcessPlan, QueuePlan,
};

const BETWEEN: Purpose = Purpose("between-arrivals");
/// Far more than any queue needs that drains.
const EVENT_BUDGET: u64 = 100_000_000;
const LONGEST: Span = Span::from_seconds(365 * 86_400);

/// The double.
#[derive(Clone, Debug)]
pub struct Arrivals {
    between: Distribution,
    count: u64,
    /// The keys are on their way.
    begun: bool,
}

impl Arrivals {
    /// A double that has not begun.
    pub fn new(plan: &ArrivalsPlan) -> Arrivals {
        Arrivals { between: plan.between.clone(), count: plan.count, begun: false }
    }
}

impl Reconciler for Arrivals {
    type State = ();

    fn name(&self) -> &'static str {
        "arrivals"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec::all(Kind::Namespace)]
    }

    fn observe(&mut self, _delta: &Delta, ctx: &mut Context<'_>, keys: &mut Vec<Enqueue>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let mut after = Span::ZERO;
        for number in 0..self.count {
            after = after + draw_span(ctx.draws, &self.between, BETWEEN, 0, number);
            keys.push(Enqueue::After(Key::new(Kind::Namespace, Name::EMPTY, format!("key-{number}")), after));
        }
    }

    fn begin(&mut self, _key: &Key, _ctx: &mut Context<'_>) -> Step<()> {
        Step::Finish(Outcome::DONE)
    }

    fn resume(&mut self, _key: &Key, _state: (), _replies: Vec<ApiResult>, _ctx: &mut Context<'_>) -> Step<()> {
        unreachable!("no reconcile sends a request")
    }
}

/// The plan of a queue with this many workers: `count` keys with times `between` them, each of which takes `service`.
pub fn plan_of_queue(workers: u32, between: Distribution, service: Distribution, count: u64) -> Plan {
    let queue = QueuePlan::in_tree(workers, service);
    let arrivals = ComponentPlan::Arrivals(ArrivalsPlan { queue, between, count });
    let process = ProcessPlan::new("kube-controller-manager", vec![arrivals]);
    Plan {
        name: format!("queue-{workers}"),
        variant: String::new(),
        seed: 0,
        replication: 0,
        version: KubernetesVersion::V1_36,
        start_at: crate::model::Time(0),
        end: End::Quiet { limit: LONGEST },
        event_budget: EVENT_BUDGET,
        kinds: crate::model::Kinds::default(),
        objects: Vec::new(),
        latency: Latency::ZERO,
        process_latency: Vec::new(),
        api_server: ApiServerSettings::UNLIMITED,
        processes: vec![process],
        containers: ContainerTimes::ZERO,
        load: LoadPlans::default(),
        timeline: Vec::new(),
        faults: Vec::new(),
        expectations: Vec::new(),
        gates: KubernetesVersion::V1_36.gates(),
        model: ModelOptions::default(),
        admission_limit: None,
        transport: None,
        names_by_counter: false,
        notices: Vec::new(),
    }
}
