//! Kubelets of the whole-system recordings: they start, ready and end pods after fixed times.
//!
//! Rules: vectors/e2e/README.md, "Kubelet double".

use std::rc::Rc;

use crate::component::{Change, Component, Context, HandlerResync, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::model::{
    ApiResult, Condition, ConditionStatus, ContainerState, ContainerStatus, Key, Kind, Map, Name, Patch, Pod, PodPhase,
    PodStatus, Preconditions, Request, Span, Time, Uid,
};

/// Times of the double.
#[derive(Clone, Debug)]
pub struct KubeletDoublePlan {
    /// First sight of a bound pod to the write of Running.
    pub start: Span,
    /// Commit of Running to commit of Ready.
    pub ready: Span,
    /// Sight of a deletion to the write of the final phase, at most the grace period.
    pub terminate: Span,
    /// Its client's way to the API server.
    pub request: Span,
    /// And back.
    pub reply: Span,
}

/// The kubelets of all nodes.
#[derive(Clone)]
pub struct KubeletDouble {
    plan: KubeletDoublePlan,
    pods: Map<Uid, Row>,
    /// What timers and answers are about.
    pending: Map<u64, (Uid, Step)>,
    next_token: u64,
}

/// What it knows of a pod.
#[derive(Clone, Debug)]
struct Row {
    pod: Rc<Pod>,
    ran: bool,
    ending: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Run,
    Ready,
    End,
}

impl KubeletDouble {
    /// Kubelets that have seen nothing.
    pub fn new(plan: KubeletDoublePlan) -> KubeletDouble {
        KubeletDouble { plan, pods: Map::default(), pending: Map::default(), next_token: 0 }
    }

    fn observe(&mut self, change: &Change, ctx: &mut Context<'_>) {
        let Some(pod) = change.object().as_pod() else { return };
        let uid = &pod.meta.uid;
        if matches!(change, Change::Deleted { .. }) {
            self.pods.swap_remove(uid);
            return;
        }
        if pod.node_name.is_empty() {
            return;
        }
        if !self.pods.contains_key(uid) {
            self.pods.insert(uid.clone(), Row { pod: pod.clone(), ran: false, ending: false });
            if !pod.meta.is_deleting()
                && let Some(start) = override_of(pod, "sim/start-after", self.plan.start)
            {
                self.at(ctx.now + start, uid, Step::Run, ctx);
            }
        }
        let row = self.pods.get_mut(uid).expect("just looked at");
        row.pod = pod.clone();
        if let Some(deletion) = pod.meta.deletion
            && !row.ending
        {
            row.ending = true;
            let after = match row.ran {
                true => override_of(pod, "sim/terminate-after", self.plan.terminate),
                false => Some(Span::ZERO),
            };
            let grace = Span::from_seconds(deletion.grace_seconds);
            self.at(ctx.now + after.unwrap_or(grace).min(grace), uid, Step::End, ctx);
        }
    }

    fn token(&mut self, uid: &Uid, step: Step) -> u64 {
        self.next_token += 1;
        self.pending.insert(self.next_token, (uid.clone(), step));
        self.next_token
    }

    fn at(&mut self, at: Time, uid: &Uid, step: Step, ctx: &mut Context<'_>) {
        let token = self.token(uid, step);
        ctx.out.set_timer(token, at, Nature::Work);
    }

    fn due(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some((uid, step)) = self.pending.swap_remove(&token) else { return };
        let Some(row) = self.pods.get_mut(&uid) else { return };
        if row.ending != (step == Step::End) {
            return;
        }
        row.ran |= step == Step::Run;
        let pod = row.pod.clone();
        let is_bad = pod.spec.containers.iter().any(|container| container.image.as_str().ends_with(":bad"));
        let ready_at_once = override_of(&pod, "sim/ready-after", self.plan.ready) == Some(Span::ZERO);
        let committed = ctx.now + self.plan.request;
        let status = match step {
            Step::Run if is_bad => {
                row.ran = false;
                waiting(&pod, committed)
            }
            Step::Run => running(&pod, ready_at_once, committed),
            Step::Ready => running(&pod, true, committed),
            Step::End => ended(&pod, committed),
        };
        let patch = Patch::PodStatus { uid: uid.clone(), status: Box::new(status) };
        let token = self.token(&uid, step);
        ctx.out.request(Request::Patch { key: key_of(&pod), patch }, token);
    }

    fn answered(&mut self, token: u64, result: &ApiResult, ctx: &mut Context<'_>) {
        let Some((uid, step)) = self.pending.swap_remove(&token) else { return };
        let Some(row) = self.pods.get(&uid) else { return };
        let pod = row.pod.clone();
        match step {
            Step::Run if result.is_ok() && row.ran => {
                let Some(ready) = override_of(&pod, "sim/ready-after", self.plan.ready) else { return };
                if ready > Span::ZERO {
                    let committed = ctx.now - self.plan.reply;
                    let at = committed + ready - self.plan.request;
                    self.at(at.max(ctx.now), &uid, Step::Ready, ctx);
                }
            }
            Step::End => {
                let preconditions = Preconditions { uid, ..Preconditions::default() };
                ctx.out.request(Request::Delete { key: key_of(&pod), grace_seconds: Some(0), preconditions }, 0);
            }
            _ => {}
        }
    }
}

fn key_of(pod: &Pod) -> Key {
    Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() }
}

/// A time of the double, or what the pod's annotation says instead; `None` for never. `#1=4,*=2` chooses by the number at
/// the end of the pod's name.
fn override_of(pod: &Pod, annotation: &str, default: Span) -> Option<Span> {
    let Some(text) = pod.meta.annotations.get_str(annotation) else { return Some(default) };
    let text = text.as_str();
    let chosen = match text.strip_prefix('#') {
        None => text,
        Some(_) => {
            let number = pod.meta.name.as_str().rsplit('-').next().unwrap_or_default();
            let choices = text.split(',').filter_map(|choice| choice.split_once('='));
            let own = choices.clone().find(|(who, _)| who.strip_prefix('#') == Some(number));
            own.or_else(|| choices.clone().find(|(who, _)| *who == "*"))?.1
        }
    };
    chosen.parse::<f64>().ok().map(|seconds| Span((seconds * 1e9).round() as i64))
}

/// The status with the Ready condition as given, and all containers in one state.
fn status(pod: &Pod, phase: PodPhase, ready: bool, state: &ContainerState, at: Time) -> PodStatus {
    let condition = Condition {
        condition_type: Name::new("Ready"),
        status: if ready { ConditionStatus::True } else { ConditionStatus::False },
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: at.truncated_to_seconds(),
        last_update: None,
    };
    let containers = pod.spec.containers.iter().map(|container| ContainerStatus {
        name: container.name.clone(),
        ready,
        restart_count: 0,
        last: None,
        state: state.clone(),
        held: None,
    });
    PodStatus { phase, conditions: vec![condition], containers: containers.collect(), ..pod.status.clone() }
}

fn waiting(pod: &Pod, at: Time) -> PodStatus {
    let state = ContainerState::Waiting { reason: Name::new("ImagePullBackOff") };
    status(pod, PodPhase::Pending, false, &state, at)
}

fn running(pod: &Pod, ready: bool, at: Time) -> PodStatus {
    let started_at = pod.status.start_time.unwrap_or(at.truncated_to_seconds());
    let running = status(pod, PodPhase::Running, ready, &ContainerState::Running { started_at }, at);
    PodStatus { start_time: Some(started_at), ..running }
}

fn ended(pod: &Pod, at: Time) -> PodStatus {
    let finished_at = at.truncated_to_seconds();
    let started_at = pod.status.start_time.unwrap_or(finished_at);
    let reason = Name::new("Completed");
    let state = ContainerState::Terminated { exit_code: 0, reason, started_at, finished_at };
    status(pod, PodPhase::Succeeded, false, &state, at)
}

impl Component for KubeletDouble {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(Kind::Pod) }]
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => self.observe(&delta.change, ctx),
            Input::Timer { token } => self.due(token, ctx),
            Input::Reply { token, result } => self.answered(token, &result, ctx),
            Input::Start | Input::Container(_) | Input::Cancel => {}
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
