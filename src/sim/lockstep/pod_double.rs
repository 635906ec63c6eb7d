//! The controller recordings' own model of scheduler and kubelet (vectors/controllers/README.md).

use crate::component::{Change, Component, Context, HandlerResync, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::{
    Condition, ConditionStatus, Key, Kind, Map, Name, Patch, Pod, PodPhase, PodStatus, Preconditions, Request, Span,
    Time, Uid,
};

use super::super::plan::PodDoublePlan;

/// The controller recordings' scheduler and kubelet: binds, starts, readies and ends pods after fixed times.
#[derive(Clone)]
pub struct PodDouble {
    plan: PodDoublePlan,
    planned: Map<u64, (Key, Uid, PodStep)>,
    seen: Map<Uid, Seen>,
    next_token: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum PodStep {
    Bind,
    Run,
    Ready,
    Gone,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Seen {
    Alive,
    Ending,
}

impl PodDouble {
    /// A double with these times.
    pub fn new(plan: PodDoublePlan) -> PodDouble {
        PodDouble { plan, planned: Map::default(), seen: Map::default(), next_token: 0 }
    }

    fn observe(&mut self, change: &Change, ctx: &mut Context<'_>) {
        let Some(pod) = change.object().as_pod() else { return };
        let uid = pod.meta.uid.clone();
        if let Change::Deleted { .. } = change {
            self.seen.swap_remove(&uid);
            return;
        }
        if !self.seen.contains_key(&uid) {
            self.seen.insert(uid.clone(), Seen::Alive);
            self.plan_life(pod, ctx);
        }
        if pod.meta.is_deleting() && self.seen[&uid] == Seen::Alive {
            self.seen.insert(uid, Seen::Ending);
            let grace = pod.meta.deletion.map_or(0, |deletion| deletion.grace_seconds);
            if let Some(after) = override_of(pod, "sim/terminate-after", self.plan.terminate_after) {
                let after = after.min(Span::from_seconds(grace));
                self.at(ctx.now + after, pod, PodStep::Gone, ctx);
            }
        }
    }

    /// Binding, start and readiness of a new pod, as far as they come at all.
    fn plan_life(&mut self, pod: &Pod, ctx: &mut Context<'_>) {
        let number: i64 = pod.meta.name.as_str().rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(0);
        let bound = ctx.now + self.plan.bind_after + Span(self.plan.stagger.0 * (number % 16));
        self.at(bound, pod, PodStep::Bind, ctx);
        let Some(start) = override_of(pod, "sim/start-after", self.plan.start_after) else { return };
        self.at(bound + start, pod, PodStep::Run, ctx);
        let Some(ready) = override_of(pod, "sim/ready-after", self.plan.ready_after) else { return };
        if ready != Span::ZERO {
            self.at(bound + start + ready, pod, PodStep::Ready, ctx);
        }
    }

    fn at(&mut self, at: Time, pod: &Pod, step: PodStep, ctx: &mut Context<'_>) {
        let token = self.next_token;
        self.next_token += 1;
        let key = Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() };
        self.planned.insert(token, (key, pod.meta.uid.clone(), step));
        ctx.out.set_timer(token, at, Nature::Work);
    }

    fn due(&mut self, token: u64, ctx: &mut Context<'_>) {
        let (key, uid, step) = self.planned.swap_remove(&token).expect("each timer fires once");
        let state = self.seen.get(&uid).copied();
        let wanted = if step == PodStep::Gone { Seen::Ending } else { Seen::Alive };
        let Some(pod) = ctx.informers.pod(&key).filter(|pod| pod.meta.uid == uid).cloned() else { return };
        if state != Some(wanted) {
            return;
        }
        match step {
            PodStep::Bind => ctx.out.request(Request::Bind { pod: key, uid, node: Name::new("n1") }, 0),
            PodStep::Run => {
                let at_once = override_of(&pod, "sim/ready-after", self.plan.ready_after) == Some(Span::ZERO);
                self.write(key, &pod, PodPhase::Running, at_once, ctx);
            }
            PodStep::Ready => self.write(key, &pod, PodPhase::Running, true, ctx),
            PodStep::Gone => {
                self.write(key.clone(), &pod, PodPhase::Succeeded, false, ctx);
                let preconditions = Preconditions { uid, ..Preconditions::default() };
                ctx.out.request(Request::Delete { key, grace_seconds: Some(0), preconditions }, 0);
            }
        }
    }

    fn write(&self, key: Key, pod: &Pod, phase: PodPhase, ready: bool, ctx: &mut Context<'_>) {
        let second = ctx.now.truncated_to_seconds();
        let status = if ready { ConditionStatus::True } else { ConditionStatus::False };
        let condition = Condition {
            condition_type: Name::new("Ready"),
            status,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition: second,
            last_update: None,
        };
        let start_time = pod.status.start_time.or(Some(second));
        let status = PodStatus { phase, conditions: vec![condition], start_time, ..pod.status.clone() };
        ctx.out.request(
            Request::Patch { key, patch: Patch::PodStatus { uid: pod.meta.uid.clone(), status: Box::new(status) } },
            0,
        );
    }
}

/// A time of the double, or what the pod's annotation says instead; `None` for never.
fn override_of(pod: &Pod, annotation: &str, default: Span) -> Option<Span> {
    match pod.meta.annotations.get_str(annotation) {
        None => Some(default),
        Some(text) => text.as_str().parse::<f64>().ok().map(|seconds| Span((seconds * 1e9).round() as i64)),
    }
}

impl Component for PodDouble {
    fn name(&self) -> &'static str {
        "double"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(Kind::Pod) }]
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => self.observe(&delta.change, ctx),
            Input::Timer { token } => self.due(token, ctx),
            Input::Start | Input::Reply { .. } | Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn metrics(&self, _now: Time, _sink: &mut dyn MetricSink) {}

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
