//! All agents over time: one component with a row for each node.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::component::{
    Change, ClientRow, Component, Context, Delta, HandlerResync, Input, MetricSink, Purpose, WatchSpec, draw_span,
};
use crate::engine::calendar::Nature;
use crate::model::api::{Answer, Field, FieldRequirement, ListVersion, ObjectSelector};
use crate::model::{
    Action, ApiResult, Condition, ConditionStatus, ContainerState, ContainerStatus, EventType, Kind, Map, Name, Object,
    Patch, Pod, PodPhase, PodStatus, Preconditions, Request, Rv, Selector, Set, Time, Uid,
};
use crate::polling::settings::Settings;

/// When an agent looks for the first time.
const OFFSET: Purpose = Purpose("polling-agent-offset");
/// Start of the containers of a pod.
const START: Purpose = Purpose("polling-agent-start");
/// From there to the status.
const REPORT: Purpose = Purpose("polling-agent-report");

/// The look of row r has this token plus r, as a timer and as a request.
const FIRST_LOOK: u64 = 1 << 40;

/// The agents of all nodes.
#[derive(Clone, Debug)]
pub struct Agents {
    settings: Arc<Settings>,
    /// The type of a condition.
    ready: Name,
    rows: Map<Name, Row>,
    /// On how many nodes a pod runs.
    copies: Map<Uid, u32>,
    steps: BTreeMap<u64, Step>,
    next_token: u64,
    /// How many pods run.
    running: u64,
    started: u64,
    started_twice: u64,
    stopped: u64,
    looks: u64,
}

/// A node with its agent.
#[derive(Clone, Debug, Default)]
struct Row {
    /// Whether the node is there.
    exists: bool,
    /// Pods whose containers run or start here.
    pods: Map<Uid, Stage>,
    addresses: u64,
    /// The version of the last list.
    listed: Rv,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Starting,
    Running,
}

/// What is to be done for a pod when a timer fires.
#[derive(Clone, Debug)]
struct Step {
    row: usize,
    pod: Rc<Pod>,
    /// When its containers ran; `None` before they do.
    running_since: Option<Time>,
}

impl Agents {
    /// Agents that know no node.
    pub fn new(settings: Arc<Settings>) -> Agents {
        Agents {
            settings,
            ready: Name::new("Ready"),
            rows: Map::default(),
            copies: Map::default(),
            steps: BTreeMap::new(),
            next_token: 0,
            running: 0,
            started: 0,
            started_twice: 0,
            stopped: 0,
            looks: 0,
        }
    }

    fn on_delta(&mut self, delta: &Delta, ctx: &mut Context<'_>) {
        let Object::Node(node) = delta.change.object() else { return };
        let name = &node.meta.name;
        if let Some(row) = self.rows.get_mut(name) {
            row.exists = !matches!(delta.change, Change::Deleted { .. });
            return;
        }
        let index = self.rows.len();
        self.rows.insert(name.clone(), Row { exists: true, ..Row::default() });
        let offset = draw_span(ctx.draws, &self.settings.agent.offset, OFFSET, name.stable_hash(), 0);
        ctx.out.set_periodic_timer(FIRST_LOOK + index as u64, ctx.now + offset);
    }

    /// An agent asks for the pods of its node.
    fn look(&mut self, row: usize, ctx: &mut Context<'_>) {
        let token = FIRST_LOOK + row as u64;
        ctx.out.set_periodic_timer(token, ctx.now + self.settings.agent.period);
        let Some((name, state)) = self.rows.get_index(row) else { return };
        if !state.exists {
            return;
        }
        self.looks += 1;
        let mine = FieldRequirement { field: Field::SpecNodeName, value: name.clone(), negated: false };
        let selector = ObjectSelector { labels: Selector::default(), fields: vec![mine] };
        let request = Request::List { kind: Kind::Pod, namespace: None, selector, version: ListVersion::Newest };
        ctx.out.request_from(ClientRow(row as u32), request, token);
    }

    /// The pods of a node: those that are new to its agent are started, those that are no longer its own are stopped. What has
    /// not changed since the last list is at work already.
    fn found(&mut self, row: usize, pods: &[Object], version: Rv, ctx: &mut Context<'_>) {
        // A server that lags may show an older state than the one before did: then all is looked at.
        let last = std::mem::replace(&mut self.rows[row].listed, version);
        let seen = if version < last { Rv(0) } else { last };
        let mut known = 0;
        for pod in pods.iter().filter_map(Object::as_pod) {
            let is_old = pod.meta.resource_version <= seen && !pod.meta.is_deleting() && !pod.is_terminal();
            known += usize::from(is_old || self.look_at(row, pod, ctx));
        }
        if known == self.rows[row].pods.len() {
            return;
        }
        let mine: Set<&Uid> = pods.iter().filter_map(Object::as_pod).map(|pod| &pod.meta.uid).collect();
        let running = self.rows[row].pods.keys();
        let strangers: Vec<Uid> = running.filter(|uid| !mine.contains(*uid)).cloned().collect();
        for uid in strangers {
            self.stop(row, &uid);
        }
    }

    /// What a pod of a node's list means to its agent. Whether it is at work on it after that.
    fn look_at(&mut self, row: usize, pod: &Rc<Pod>, ctx: &mut Context<'_>) -> bool {
        if pod.meta.is_deleting() {
            self.delete(row, pod, ctx);
        } else if !pod.is_terminal() {
            self.start(row, pod, ctx);
        }
        self.rows[row].pods.contains_key(&pod.meta.uid)
    }

    /// The containers of a pod stop on a node.
    fn stop(&mut self, row: usize, uid: &Uid) {
        let Some(stage) = self.rows[row].pods.swap_remove(uid) else { return };
        self.running -= u64::from(stage == Stage::Running);
        self.stopped += 1;
        match self.copies.get_mut(uid) {
            Some(copies) if *copies > 1 => *copies -= 1,
            _ => drop(self.copies.swap_remove(uid)),
        }
    }

    fn start(&mut self, row: usize, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        let uid = &pod.meta.uid;
        if self.rows[row].pods.contains_key(uid) {
            return;
        }
        self.started += 1;
        let copies = self.copies.entry(uid.clone()).or_insert(0);
        self.started_twice += u64::from(*copies > 0);
        *copies += 1;
        self.rows[row].pods.insert(uid.clone(), Stage::Starting);
        let entity = Object::Pod(pod.clone()).key().stable_hash();
        let span = draw_span(ctx.draws, &self.settings.agent.start, START, entity, row as u64);
        let key = Object::Pod(pod.clone()).key();
        let seen = ctx.out.record(Action::Decide, Some(key), "the agent sees it");
        ctx.out.set_cause(seen);
        self.step_at(Step { row, pod: pod.clone(), running_since: None }, ctx.now + span, ctx);
    }

    fn step_at(&mut self, step: Step, at: Time, ctx: &mut Context<'_>) {
        let token = self.next_token;
        self.next_token += 1;
        self.steps.insert(token, step);
        ctx.out.set_timer(token, at, Nature::Work);
    }

    fn next_step(&mut self, token: u64, ctx: &mut Context<'_>) {
        let Some(step) = self.steps.remove(&token) else { return };
        let Step { row, pod, running_since } = &step;
        let key = Object::Pod(pod.clone()).key();
        let Some(stage) = self.rows[*row].pods.get_mut(&pod.meta.uid) else { return };
        match running_since {
            None => {
                *stage = Stage::Running;
                self.running += 1;
                let runs = ctx.out.record(Action::Container, Some(key.clone()), "its containers run");
                ctx.out.set_cause(runs);
                let span = draw_span(ctx.draws, &self.settings.agent.report, REPORT, key.stable_hash(), *row as u64);
                self.step_at(Step { running_since: Some(ctx.now), ..step }, ctx.now + span, ctx);
            }
            Some(since) => {
                self.rows[*row].addresses += 1;
                let address = address(*row as u64, self.rows[*row].addresses);
                let status = Box::new(running(pod, *since, (address, self.ready.clone()), ctx.now));
                let patch = Patch::PodStatus { uid: pod.meta.uid.clone(), status };
                ctx.out.request_from(ClientRow(*row as u32), Request::Patch { key, patch }, token);
                ctx.out.event(&Object::Pod(pod.clone()), EventType::Normal, "Running", "Pod is running".to_string());
            }
        }
    }

    /// A pod is to go: its agent stops it and removes it at once.
    fn delete(&mut self, row: usize, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        self.stop(row, &pod.meta.uid);
        let token = self.next_token;
        self.next_token += 1;
        let preconditions = Preconditions { uid: pod.meta.uid.clone(), ..Preconditions::default() };
        let key = Object::Pod(pod.clone()).key();
        let request = Request::Delete { key, grace_seconds: Some(0), preconditions };
        ctx.out.request_from(ClientRow(row as u32), request, token);
    }

    fn on_reply(&mut self, token: u64, result: ApiResult, ctx: &mut Context<'_>) {
        if let (Some(row), Ok(Answer::List { items, resource_version })) = (token.checked_sub(FIRST_LOOK), result) {
            self.found(row as usize, &items, resource_version, ctx);
        }
    }
}

/// The n-th address of a node's network.
fn address(row: u64, number: u64) -> Name {
    let host = (number - 1) % 253 + 2;
    Name::from(format!("10.{}.{}.{host}", (100 + row / 256) % 256, row % 256))
}

/// The status of a pod that runs.
fn running(pod: &Pod, since: Time, (address, ready): (Name, Name), now: Time) -> PodStatus {
    let ready = Condition {
        condition_type: ready,
        status: ConditionStatus::True,
        reason: Name::EMPTY,
        message: Name::EMPTY,
        last_transition: now.truncated_to_seconds(),
        last_update: None,
    };
    let container = |name: &Name| ContainerStatus {
        name: name.clone(),
        ready: true,
        restart_count: 0,
        state: ContainerState::Running { started_at: since.truncated_to_seconds() },
        last: None,
        held: None,
    };
    PodStatus {
        phase: PodPhase::Running,
        conditions: vec![ready],
        start_time: Some(since.truncated_to_seconds()),
        pod_ip: address,
        containers: pod.spec.containers.iter().map(|spec| container(&spec.name)).collect(),
        ..PodStatus::default()
    }
}

impl Component for Agents {
    fn name(&self) -> &'static str {
        "agent"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        vec![WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(Kind::Node) }]
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Delta(delta) => self.on_delta(&delta, ctx),
            Input::Reply { token, result } => self.on_reply(token, result, ctx),
            Input::Timer { token } if token >= FIRST_LOOK => self.look((token - FIRST_LOOK) as usize, ctx),
            Input::Timer { token } => self.next_step(token, ctx),
            Input::Start | Input::Container(_) | Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.steps.is_empty()
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        sink.sample("polling_running_pods", &[], self.running as f64);
        sink.sample("polling_started_total", &[], self.started as f64);
        sink.sample("polling_started_twice_total", &[], self.started_twice as f64);
        sink.sample("polling_stopped_total", &[], self.stopped as f64);
        sink.sample("polling_looks_total", &[], self.looks as f64);
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}
