//! Replays recordings of the real controllers: the same world as `run`, with the recording's latencies, names and doubles.
//!
//! A case of vectors/controllers becomes a [`Plan`]; [`PodDouble`] stands where the recording had its own model of
//! scheduler and kubelet. Nothing outside this file and tests/golden knows of recordings.

use std::sync::Arc;

use serde_json::Value;

use crate::component::{Change, Component, Context, HandlerResync, Input, MetricSink, WatchSpec};
use crate::engine::calendar::Nature;
use crate::kubectl::command::{Command, CommandVerb, Target};
use crate::model::{
    Condition, ConditionStatus, Distribution, Key, Kind, Map, Name, Patch, Pod, PodPhase, PodStatus, Preconditions,
    Request, Span, Time, Uid,
};

use super::plan::{
    AdmissionLimit, ApiServerSettings, ClockPlan, ComponentPlan, ContainerTimes, End, KubernetesVersion, Latency,
    ModelOptions, Plan, PodDoublePlan, ProcessPlan, QueuePlan, ResyncPlan, TimelineEntry,
};

/// 2000-01-01T00:00:00Z, where the controller recordings start.
const RECORDING_START: Time = Time(946_684_800 * crate::model::time::SECOND_NS);
/// Far more than any recording needs.
const EVENT_BUDGET: u64 = 10_000_000;

/// The plan of a case of vectors/controllers (deployment-*, replicaset-*).
///
/// # Errors
/// What of the case cannot be replayed.
pub fn plan_of_controller_case(case: &Value) -> Result<Plan, String> {
    let text = |name: &str| case[name].as_str().unwrap_or_default().to_string();
    let objects = case["objects"].as_array().ok_or("a case has objects")?;
    let mut timeline = Vec::new();
    for step in case["steps"].as_array().into_iter().flatten() {
        timeline.push(timeline_entry(step)?);
    }
    let queue = || QueuePlan::in_tree(1, Distribution::ZERO);
    let mut components = Vec::new();
    for controller in case["controllers"].as_array().ok_or("a case names its controllers")? {
        components.push(match controller.as_str() {
            Some("deployment") => ComponentPlan::Deployment(queue()),
            Some("replicaset") => ComponentPlan::ReplicaSet(queue()),
            other => return Err(format!("no controller {other:?} yet")),
        });
    }
    Ok(Plan {
        name: text("case"),
        variant: String::new(),
        seed: 0,
        replication: 0,
        version: KubernetesVersion::V1_36,
        start_at: RECORDING_START,
        end: End::After(seconds(&case["until"]).ok_or("a case has an end")?),
        event_budget: EVENT_BUDGET,
        kinds: crate::model::Kinds::default(),
        objects: objects.iter().cloned().map(Arc::new).collect(),
        latency: Latency::ZERO,
        process_latency: Vec::new(),
        api_server: ApiServerSettings::UNLIMITED,
        processes: vec![
            process("kube-controller-manager", components),
            process("double", vec![ComponentPlan::PodDouble(double(case))]),
            process("kubectl", vec![ComponentPlan::Kubectl]),
        ],
        containers: ContainerTimes::ZERO,
        timeline,
        faults: Vec::new(),
        expectations: Vec::new(),
        gates: KubernetesVersion::V1_36.gates(),
        model: ModelOptions::default(),
        admission_limit: admission_limit(&case["args"]),
        names_by_counter: true,
        notices: Vec::new(),
    })
}

fn process(name: &str, components: Vec<ComponentPlan>) -> ProcessPlan {
    ProcessPlan {
        name: name.to_string(),
        replica: 0,
        components,
        resync: ResyncPlan::Never,
        client: None,
        request_timeout: None,
        events_client: None,
        election: None,
        clock: ClockPlan::default(),
        runs_in: None,
    }
}

fn timeline_entry(step: &Value) -> Result<TimelineEntry, String> {
    let at = seconds(&step["t"]).ok_or("a step has a time")?;
    if step["op"] != "patch" {
        return Err(format!("no step {} yet", step["op"]));
    }
    let kind =
        step["kind"].as_str().and_then(Kind::from_user).ok_or_else(|| format!("no kind {} yet", step["kind"]))?;
    let name = step["name"].as_str().ok_or("a step names its object")?;
    let target = Target { kind, namespace: "default".to_string(), names: vec![name.to_string()], selector: None };
    let verb = CommandVerb::Patch { target, patch: Arc::new(step["patch"].clone()), strategic: false };
    Ok(TimelineEntry { at, command: Command { text: format!("patch {}/{name}", kind.singular()), verb } })
}

fn double(case: &Value) -> PodDoublePlan {
    let span = |name: &str| seconds(&case[name]).unwrap_or(Span::ZERO);
    PodDoublePlan {
        bind_after: span("bindAfter"),
        stagger: span("stagger"),
        start_after: span("startAfter"),
        ready_after: span("readyAfter"),
        terminate_after: span("terminateAfter"),
    }
}

fn admission_limit(args: &Value) -> Option<AdmissionLimit> {
    let number = |name: &str| args[name].as_str().and_then(|text| text.parse::<f64>().ok());
    let (pods, until) = (number("failPodCreatesFrom")?, number("failPodCreatesUntil")?);
    Some(AdmissionLimit { pods: pods as usize, until: Span((until * 1e9).round() as i64) })
}

/// A number of seconds as a span; recordings have millisecond resolution.
fn seconds(value: &Value) -> Option<Span> {
    value.as_f64().map(|seconds| Span((seconds * 1e9).round() as i64))
}

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
            Input::Start | Input::Reply { .. } | Input::Container(_) => {}
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
