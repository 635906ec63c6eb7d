//! The controller recordings' own model of scheduler and kubelet (vectors/controllers/README.md).

use crate::component::{Change, Context, Input};
use crate::model::{Key, Kind, Map, Name, Object, Patch, Pod, PodPhase, PodStatus, Request, Span, Time, Uid};

use super::super::plan::PodDoublePlan;
use super::double::{NO_ANSWER, Pending, Role, deletion_of, key_of, number_of, status_with, time_of};

/// The controller recordings' scheduler and kubelet: binds, starts, readies and ends pods after fixed times.
#[derive(Clone)]
pub struct PodDouble {
    plan: PodDoublePlan,
    planned: Pending<(Key, Uid, PodStep)>,
    seen: Map<Uid, Seen>,
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
        PodDouble { plan, planned: Pending::default(), seen: Map::default() }
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
            if let Some(after) = time_of(pod, "sim/terminate-after", self.plan.terminate_after) {
                let after = after.min(Span::from_seconds(grace));
                self.at(ctx.now + after, pod, PodStep::Gone, ctx);
            }
        }
    }

    /// Binding, start and readiness of a new pod, as far as they come at all.
    fn plan_life(&mut self, pod: &Pod, ctx: &mut Context<'_>) {
        let number: i64 = number_of(pod).parse().unwrap_or(0);
        let bound = ctx.now + self.plan.bind_after + Span(self.plan.stagger.0 * (number % 16));
        self.at(bound, pod, PodStep::Bind, ctx);
        let Some(start) = time_of(pod, "sim/start-after", self.plan.start_after) else { return };
        self.at(bound + start, pod, PodStep::Run, ctx);
        let Some(ready) = time_of(pod, "sim/ready-after", self.plan.ready_after) else { return };
        if ready != Span::ZERO {
            self.at(bound + start + ready, pod, PodStep::Ready, ctx);
        }
    }

    fn at(&mut self, at: Time, pod: &Pod, step: PodStep, ctx: &mut Context<'_>) {
        self.planned.at(at, (key_of(pod), pod.meta.uid.clone(), step), ctx);
    }

    fn due(&mut self, token: u64, ctx: &mut Context<'_>) {
        let (key, uid, step) = self.planned.take(token).expect("each timer fires once");
        let state = self.seen.get(&uid).copied();
        let wanted = if step == PodStep::Gone { Seen::Ending } else { Seen::Alive };
        let Some(pod) = ctx.informers.pod(&key).filter(|pod| pod.meta.uid == uid).cloned() else { return };
        if state != Some(wanted) {
            return;
        }
        match step {
            PodStep::Bind => ctx.out.request(Request::Bind { pod: key, uid, node: Name::new("n1") }, NO_ANSWER),
            PodStep::Run => {
                let at_once = time_of(&pod, "sim/ready-after", self.plan.ready_after) == Some(Span::ZERO);
                self.write(&pod, PodPhase::Running, at_once, ctx);
            }
            PodStep::Ready => self.write(&pod, PodPhase::Running, true, ctx),
            PodStep::Gone => {
                self.write(&pod, PodPhase::Succeeded, false, ctx);
                ctx.out.request(deletion_of(&Object::Pod(pod), Some(0)), NO_ANSWER);
            }
        }
    }

    fn write(&self, pod: &Pod, phase: PodPhase, ready: bool, ctx: &mut Context<'_>) {
        let start_time = pod.status.start_time.or(Some(ctx.now.truncated_to_seconds()));
        let status = Box::new(PodStatus { start_time, ..status_with(pod, phase, ready, ctx.now) });
        let patch = Patch::PodStatus { uid: pod.meta.uid.clone(), status };
        ctx.out.request(Request::Patch { key: key_of(pod), patch }, NO_ANSWER);
    }
}

impl Role for PodDouble {
    const NAME: &'static str = "double";
    const KINDS: &'static [Kind] = &[Kind::Pod];

    fn play(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => self.observe(&delta.change, ctx),
            Input::Timer { token } => self.due(token, ctx),
            Input::Start | Input::Reply { .. } | Input::Container(_) | Input::Cancel => {}
        }
    }
}
