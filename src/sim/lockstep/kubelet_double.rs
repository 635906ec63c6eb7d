//! Kubelets of the whole-system recordings: they start, ready and end pods after fixed times.
//!
//! Rules: vectors/e2e/README.md, "Kubelet double".

use std::rc::Rc;

use super::double::{NO_ANSWER, Pending, Role, annotation_of, deletion_of, key_of, status_with, time_of};
use crate::component::{Change, Context, Input};
use crate::model::{
    ApiResult, ContainerState, ContainerStatus, Kind, Map, Name, Object, Patch, Pod, PodPhase, PodStatus, Request,
    Span, Time, Uid,
};

/// For how many seconds after Running a pod's program runs before it ends by itself.
const RUN_FOR: &str = "sim/run-for";

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
    pending: Pending<(Uid, Step)>,
}

/// What it knows of a pod.
#[derive(Clone, Debug)]
struct Row {
    pod: Rc<Pod>,
    ran: bool,
    ending: bool,
    /// Its program has ended by itself.
    exited: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Run,
    Ready,
    /// The program ends by itself.
    Exit,
    /// The pod was deleted: its containers have ended.
    End,
}

impl KubeletDouble {
    /// Kubelets that have seen nothing.
    pub fn new(plan: KubeletDoublePlan) -> KubeletDouble {
        KubeletDouble { plan, pods: Map::default(), pending: Pending::default() }
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
            self.pods.insert(uid.clone(), Row { pod: pod.clone(), ran: false, ending: false, exited: false });
            if !pod.meta.is_deleting()
                && let Some(start) = time_of(pod, "sim/start-after", self.plan.start)
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
                true => time_of(pod, "sim/terminate-after", self.plan.terminate),
                false => Some(Span::ZERO),
            };
            let grace = Span::from_seconds(deletion.grace_seconds);
            self.at(ctx.now + after.unwrap_or(grace).min(grace), uid, Step::End, ctx);
        }
    }

    fn at(&mut self, at: Time, uid: &Uid, step: Step, ctx: &mut Context<'_>) {
        self.pending.at(at, (uid.clone(), step), ctx);
    }

    fn due(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some((uid, step)) = self.pending.take(token) else { return };
        let Some(row) = self.pods.get_mut(&uid) else { return };
        if row.ending != (step == Step::End) || row.exited {
            return;
        }
        row.ran |= step == Step::Run;
        row.exited |= step == Step::Exit;
        let pod = row.pod.clone();
        let is_bad = pod.spec.containers.iter().any(|container| container.image.as_str().ends_with(":bad"));
        let ready_at_once = time_of(&pod, "sim/ready-after", self.plan.ready) == Some(Span::ZERO);
        let committed = ctx.now + self.plan.request;
        let status = match step {
            Step::Run if is_bad => {
                row.ran = false;
                waiting(&pod, committed)
            }
            Step::Run => running(&pod, ready_at_once, committed),
            Step::Ready => running(&pod, true, committed),
            Step::Exit => ended(&pod, exit_code_of(&pod), committed),
            Step::End => ended(&pod, 0, committed),
        };
        let patch = Patch::PodStatus { uid: uid.clone(), status: Box::new(status) };
        let token = self.pending.token((uid, step));
        ctx.out.request(Request::Patch { key: key_of(&pod), patch }, token);
    }

    fn answered(&mut self, token: u64, result: &ApiResult, ctx: &mut Context<'_>) {
        let Some((uid, step)) = self.pending.take(token) else { return };
        let Some(row) = self.pods.get(&uid) else { return };
        let pod = row.pod.clone();
        match step {
            Step::Run if result.is_ok() && row.ran => {
                let (now, committed, way) = (ctx.now, ctx.now - self.plan.reply, self.plan.request);
                let sent_at = |after: Span| (committed + after - way).max(now);
                let ready = time_of(&pod, "sim/ready-after", self.plan.ready).filter(|ready| *ready > Span::ZERO);
                if let Some(at) = ready.map(sent_at) {
                    self.at(at, &uid, Step::Ready, ctx);
                }
                let run_for = annotation_of(&pod, RUN_FOR).and_then(|_| time_of(&pod, RUN_FOR, Span::ZERO));
                if let Some(at) = run_for.map(sent_at) {
                    self.at(at, &uid, Step::Exit, ctx);
                }
            }
            Step::End => ctx.out.request(deletion_of(&Object::Pod(pod), Some(0)), NO_ANSWER),
            _ => {}
        }
    }
}

/// The code with which the pod's program ends by itself.
fn exit_code_of(pod: &Pod) -> i32 {
    annotation_of(pod, "sim/exit-code").and_then(|code| code.parse().ok()).unwrap_or(0)
}

/// The status with the Ready condition as given, and all containers in one state.
fn status(pod: &Pod, phase: PodPhase, ready: bool, state: &ContainerState, at: Time) -> PodStatus {
    let containers = pod.spec.containers.iter().map(|container| ContainerStatus {
        name: container.name.clone(),
        ready,
        restart_count: 0,
        last: None,
        state: state.clone(),
        held: None,
    });
    PodStatus { containers: containers.collect(), ..status_with(pod, phase, ready, at) }
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

fn ended(pod: &Pod, exit_code: i32, at: Time) -> PodStatus {
    let finished_at = at.truncated_to_seconds();
    let started_at = pod.status.start_time.unwrap_or(finished_at);
    let (phase, reason) = match exit_code {
        0 => (PodPhase::Succeeded, "Completed"),
        _ => (PodPhase::Failed, "Error"),
    };
    let state = ContainerState::Terminated { exit_code, reason: Name::new(reason), started_at, finished_at };
    status(pod, phase, false, &state, at)
}

impl Role for KubeletDouble {
    const NAME: &'static str = "kubelet";
    const KINDS: &'static [Kind] = &[Kind::Pod];

    fn play(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => self.observe(&delta.change, ctx),
            Input::Timer { token } => self.due(token, ctx),
            Input::Reply { token, result } => self.answered(token, &result, ctx),
            Input::Start | Input::Container(_) | Input::Cancel => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::sim::{NoObserver, World, lockstep::plan_of_system_case};

    #[test]
    fn a_program_that_ends_by_itself_ends_with_its_code() {
        let annotations = json!({"sim/run-for": "#1=3,*=never", "sim/exit-code": "7"});
        let pod = |name: &str| {
            let metadata = json!({"name": name, "annotations": annotations});
            let spec = json!({"nodeName": "n1", "containers": [{"name": "c", "image": "app:v1"}]});
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        };
        let actor = json!({"request_ms": 1, "response_ms": 1});
        let size = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let node =
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"}, "status": {"capacity": size}});
        let case = json!({"input": {
            "components": ["scheduler"], "until": 7, "nodes": [node], "setup": [pod("a-1"), pod("a-2")],
            "latency": {"kubelet": actor, "scheduler": actor}, "watch_ms": {"kcm": 1, "scheduler": 1, "kubelet": 1},
            "kubelet": {"start_s": 2, "ready_s": 1, "terminate_s": 2},
        }});
        let mut world = World::new(Arc::new(plan_of_system_case(&case).unwrap())).unwrap();
        world.run(&mut NoObserver);
        let state = |object: &Object| {
            let pod = object.as_pod().expect("a pod");
            let code = match pod.status.containers.first().map(|container| &container.state) {
                Some(ContainerState::Terminated { exit_code, .. }) => Some(*exit_code),
                _ => None,
            };
            (pod.meta.name.to_string(), pod.status.phase, code)
        };
        let states: Vec<_> = world.api().truth().iter(Kind::Pod).map(state).collect();
        let (ended, runs) = (("a-1".into(), PodPhase::Failed, Some(7)), ("a-2".into(), PodPhase::Running, None));
        assert_eq!(states, [ended, runs]);
    }
}
