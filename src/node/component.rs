//! The kubelets of all nodes: watches, container steps, status writes, deletions, heartbeats.
//!
//! Each node's kubelet has its API clients: row r of [`client_rows`] for status writes and for Kubernetes Events; row 0 of
//! the component's clients renews the leases of all nodes. Requests about one pod go out one at a time; a status that
//! changes while one is on its way is sent afterwards, only the newest. A write that fails is tried again at the next sweep.
//!
//! What happened before the process started is read at [`Input::Start`] from the caches and the sensors: containers that run
//! are found running.
//!
//! DIVERGES: upstream's status manager reads the pod before each write, and writes one pod at a time.
//!
//! Upstream: pkg/kubelet/{kubelet,pod_workers}.go, pkg/kubelet/status/status_manager.go, v1.36.

use std::rc::Rc;

use super::admission::{RejectedPods, Rejection};
use super::rows::{NodeRow, PodRow, Stage};
use super::startup::{self, Next};
use super::status::{self, Observed};
use super::steps::{
    ask, back_off_event, client_rows, container_event, create_and_start, found_progress, launch, pulled_message,
    send_event, stop_next,
};
use super::{Progress, Role, Settings, admission, containers, heartbeats, pleg, restarts, role, termination};
use crate::component::{
    Change, ClientRow, Component, ContainerNotice, ContainerStep, Context, Delta, HandlerResync, Input, MetricSink,
    Purpose, WatchSpec,
};
use crate::engine::calendar::Nature;
use crate::model::api::{Answer, Field, FieldRequirement, ObjectSelector, Reason};
use crate::model::{
    Action, ApiResult, EventType, Key, Kind, Map, Name, Node, Object, Patch, Pod, PodPhase, Preconditions, Request,
    Resources, Set, Span, Time, Uid,
};
use crate::rules::pod_requests;

/// Draws of where a node's relists lie in their period.
pub const PLEG_OFFSET: Purpose = Purpose("pleg-offset");

/// Draws of how late a kubelet looks again at a container in back-off.
pub const CRASH_LOOP: Purpose = Purpose("crash-loop-look");

/// How often the status manager looks for writes that failed.
///
/// Upstream: pkg/kubelet/status/status_manager.go, `syncPeriod`, v1.36.
const SWEEP_PERIOD: Span = Span::from_seconds(10);

const LEASES: u64 = 0;
const HEARTBEAT: u64 = 0;
const SWEEP: u64 = 1;
const FIRST_FREE_TOKEN: u64 = 2;
/// The relist timer of row r has this token plus r.
const FIRST_RELIST: u64 = 1 << 40;

/// The kubelets of all nodes.
#[derive(Clone, Debug)]
pub struct Kubelets {
    settings: Settings,
    has_started: bool,
    nodes: Map<Name, NodeRow>,
    pods: Map<Uid, Box<PodRow>>,
    /// Pods bound to nodes that do not exist (yet), or have no kubelet.
    homeless: Map<Name, Vec<Key>>,
    tokens: Map<u64, Expected>,
    next_token: u64,
    /// Pods whose last write failed, in that order.
    failed: Vec<Uid>,
    /// Pods that something is being done for.
    busy: Set<Uid>,
    lease_keys: Option<Rc<[Key]>>,
    condition_names: status::ConditionNames,
}

/// What a token stands for.
#[derive(Clone, Debug)]
enum Expected {
    StatusWritten(Uid),
    Deleted(Uid),
    /// The initial delay of this container's readiness probe.
    ProbeDelay(Uid, usize),
    /// The back-off of a container of the pod.
    BackoffEnds(Uid),
}

impl Component for Kubelets {
    fn name(&self) -> &'static str {
        "kubelet"
    }

    fn watches(&self) -> Vec<WatchSpec> {
        let bound = FieldRequirement { field: Field::SpecNodeName, value: Name::EMPTY, negated: true };
        let pods = ObjectSelector { fields: vec![bound], ..ObjectSelector::everything() };
        vec![
            WatchSpec { resync: HandlerResync::Never, ..WatchSpec::all(Kind::Node) },
            WatchSpec { kind: Kind::Pod, selector: pods, resync: HandlerResync::Never },
        ]
    }

    fn handle(&mut self, input: Input, ctx: &mut Context<'_>) {
        match input {
            Input::Start => self.start(ctx),
            // What arrives before the start is in the caches and with the sensors when it comes.
            _ if !self.has_started => {}
            Input::Delta(delta) => self.on_delta(&delta, ctx),
            Input::Reply { token, result } => self.on_reply(token, &result, ctx),
            Input::Timer { token: HEARTBEAT } => self.renew_leases(ctx),
            Input::Timer { token: SWEEP } => self.sweep(ctx),
            Input::Timer { token } if token >= FIRST_RELIST => self.relist((token - FIRST_RELIST) as usize, ctx),
            Input::Timer { token } => match self.tokens.swap_remove(&token) {
                Some(Expected::ProbeDelay(uid, container)) => self.on_ready(&uid, container, ctx),
                Some(Expected::BackoffEnds(uid)) => {
                    self.start_again(&uid, ctx);
                    self.settle(&uid, ctx);
                }
                _ => {}
            },
            Input::Container(notice) => self.on_notice(&notice, ctx),
            Input::Cancel => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.busy.is_empty()
    }

    fn metrics(&self, _now: Time, sink: &mut dyn MetricSink) {
        for (name, node) in &self.nodes {
            let labels = [("node", name.as_str())];
            sink.sample("kubelet_running_pods", &labels, f64::from(node.running_pods));
            for (reason, count) in &node.rejections {
                let labels = [labels[0], ("reason", *reason)];
                sink.sample("kubelet_admission_rejections_total", &labels, f64::from(*count));
            }
            if node.pods_started > 0 {
                let sum = node.start_durations.as_seconds();
                sink.sample("kubelet_pod_start_duration_seconds_sum", &labels, sum);
                sink.sample("kubelet_pod_start_duration_seconds_count", &labels, node.pods_started as f64);
            }
        }
    }

    fn boxed_clone(&self) -> Box<dyn Component> {
        Box::new(self.clone())
    }
}

/// Start, nodes and heartbeats.
impl Kubelets {
    /// Kubelets that have not started and know no node.
    pub fn new(settings: Settings) -> Kubelets {
        Kubelets {
            settings,
            has_started: false,
            nodes: Map::default(),
            pods: Map::default(),
            homeless: Map::default(),
            tokens: Map::default(),
            next_token: FIRST_FREE_TOKEN,
            failed: Vec::new(),
            busy: Set::default(),
            lease_keys: None,
            condition_names: status::ConditionNames::default(),
        }
    }

    fn start(&mut self, ctx: &mut Context<'_>) {
        *self = Kubelets { has_started: true, ..Kubelets::new(self.settings) };
        // Oldest first, so that nodes have the same rows after a restart.
        let mut nodes: Vec<_> = ctx.informers.list(Kind::Node).into_iter().filter_map(Object::as_node).collect();
        nodes.sort_by_key(|node| node.meta.creation);
        for node in nodes {
            self.add_node(node, ctx);
        }
        let mut pods: Vec<_> = ctx.informers.list(Kind::Pod).into_iter().filter_map(Object::as_pod).collect();
        pods.sort_by_key(|pod| pod.meta.creation);
        // Addresses in use first, lest one is given to a new pod.
        for pod in &pods {
            if let Some(node) = self.nodes.get_mut(&pod.node_name) {
                node.addresses.keep(&pod.status.pod_ip);
            }
        }
        for pod in pods {
            self.adopt(pod, ctx);
        }
        if self.settings.heartbeat_period > Span::ZERO {
            self.renew_leases(ctx);
        }
    }

    fn renew_leases(&mut self, ctx: &mut Context<'_>) {
        let nodes = &self.nodes;
        let existing = || nodes.iter().filter(|(_, row)| row.node.is_some()).map(|(name, _)| name);
        let keys = self.lease_keys.get_or_insert_with(|| heartbeats::lease_keys(existing()));
        if !keys.is_empty() {
            ctx.out.request_from(ClientRow(0), Request::RenewLeases { keys: keys.clone() }, LEASES);
        }
        ctx.out.set_periodic_timer(HEARTBEAT, ctx.now + self.settings.heartbeat_period);
    }

    fn on_delta(&mut self, delta: &Delta, ctx: &mut Context<'_>) {
        match (&delta.change, delta.change.object()) {
            (Change::Deleted { .. }, Object::Node(node)) => {
                self.lease_keys = None;
                if let Some(row) = self.nodes.get_mut(&node.meta.name) {
                    row.node = None;
                }
            }
            (_, Object::Node(node)) => self.add_node(node, ctx),
            (Change::Deleted { .. }, Object::Pod(last)) => self.vanish(last, ctx),
            (change, Object::Pod(pod)) => {
                if let Change::Updated { old: Object::Pod(old), .. } = change
                    && old.meta.uid != pod.meta.uid
                {
                    self.vanish(old, ctx);
                }
                self.adopt(pod, ctx);
            }
            _ => {}
        }
    }

    fn add_node(&mut self, node: &Rc<Node>, ctx: &mut Context<'_>) {
        let name = &node.meta.name;
        // A node without a kubelet has a row too: it shifts neither clients nor addresses of the others.
        let served = heartbeats::has_kubelet(node).then(|| node.clone());
        if let Some(row) = self.nodes.get_mut(name) {
            if row.node.is_some() != served.is_some() {
                self.lease_keys = None;
            }
            row.node = served;
        } else {
            let bits = ctx.draws.bits(PLEG_OFFSET, name.stable_hash(), 0);
            let offset = pleg::offset(bits, self.settings.pleg_period);
            let number = u32::try_from(self.nodes.len()).expect("nodes fit 32 bits");
            self.nodes.insert(name.clone(), NodeRow::new(number, served, offset));
            self.lease_keys = None;
        }
        for key in self.homeless.swap_remove(name).unwrap_or_default() {
            if let Some(pod) = ctx.informers.pod(&key).cloned() {
                self.adopt(&pod, ctx);
            }
        }
    }
}

/// Pods as the API server tells of them.
impl Kubelets {
    /// A pod is new, or changed.
    fn adopt(&mut self, pod: &Rc<Pod>, ctx: &mut Context<'_>) {
        let uid = &pod.meta.uid;
        if let Some(known) = self.pods.get_mut(uid) {
            known.pod = pod.clone();
        } else {
            // A pod that has ended is left alone, unless its deletion waits for its kubelet.
            if pod.is_terminal() && !pod.meta.is_deleting() {
                return;
            }
            let key = Object::from(pod.clone()).key();
            let Some(row) = self.nodes.get_index_of(&pod.node_name).filter(|row| self.nodes[*row].node.is_some())
            else {
                let waiting = self.homeless.entry(pod.node_name.clone()).or_default();
                if !waiting.contains(&key) {
                    waiting.push(key);
                }
                return;
            };
            self.add_pod(pod, key, row, ctx);
        }
        if pod.meta.is_deleting() {
            self.terminate(uid, ctx);
        }
        self.settle(uid, ctx);
    }

    fn add_pod(&mut self, pod: &Rc<Pod>, key: Key, row: usize, ctx: &mut Context<'_>) {
        let uid = &pod.meta.uid;
        let found = |index| found_progress(uid, index, ctx);
        let progress: Vec<Progress> = (0..containers(&pod.spec).count()).map(found).collect();
        let is_fresh =
            pod.status.start_time.is_none() && progress.iter().all(|progress| *progress == Progress::Waiting);
        let new = PodRow::new(pod.clone(), key, row, progress, ctx.out.cause(), ctx.now);
        self.pods.insert(uid.clone(), Box::new(new));
        if pod.meta.is_deleting() {
            self.nodes[row].take(uid, pod.status.phase);
            return;
        }
        let before = ctx.out.cause();
        if !is_fresh || self.admit(uid, row, ctx) {
            self.nodes[row].take(uid, pod.status.phase);
            self.ask_for_probes(uid, ctx);
            self.report(uid, ctx);
            self.start_again(uid, ctx);
            self.bring_up(uid, ctx);
        }
        ctx.out.set_cause(before);
    }

    /// Admits or rejects a pod that is not among its node's pods yet.
    fn admit(&mut self, uid: &Uid, row: usize, ctx: &mut Context<'_>) -> bool {
        let node = &self.nodes[row];
        let counted = node.pods.iter().map(|uid| &self.pods[uid]).filter(|pod| pod.counts());
        let used = counted.fold(Resources::default(), |sum, pod| pod_requests::sum(&sum, &pod.needs));
        let pod = self.pods.get_mut(uid).expect("it was added");
        let object = node.node.as_ref().expect("pods are only added to nodes that exist");
        let rejection = admission::admit(&pod.needs, &used, object).err();
        let detail = rejection.as_ref().map_or("admitted", |rejection| rejection.reason);
        let record = ctx.out.record(Action::Admit, Some(pod.key.clone()), detail);
        ctx.out.set_cause(record);
        pod.cause = record;
        let Some(rejection) = rejection else { return true };
        pod.stage = Stage::Rejected;
        if self.settings.rejected_pods == RejectedPods::Failed {
            pod.status = status::rejected(&pod.pod, rejection.reason, &rejection.message, ctx.now);
        }
        pod.rejection = Some(rejection.clone());
        *self.nodes[pod.row].rejections.entry(rejection.reason).or_insert(0) += 1;
        send_event(pod, EventType::Warning, rejection.reason, rejection.message, ctx);
        self.nodes[row].take(uid, self.pods[uid].status.phase);
        self.write_status(uid, ctx);
        false
    }

    /// The object is gone from the API server.
    fn vanish(&mut self, last: &Rc<Pod>, ctx: &mut Context<'_>) {
        let uid = &last.meta.uid;
        let Some(pod) = self.pods.get_mut(uid) else { return };
        pod.pod = last.clone();
        pod.has_vanished = true;
        pod.cause = ctx.out.cause();
        if matches!(pod.stage, Stage::Active | Stage::Terminating { .. }) {
            self.terminate(uid, ctx);
        }
        self.settle(uid, ctx);
    }

    /// Stops the pod's containers, or takes a shorter grace over.
    fn terminate(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid) else { return };
        let grace = termination::grace_seconds(pod.pod.meta.deletion, &pod.pod.spec);
        let deadline = ctx.now + Span::from_seconds(grace);
        match pod.stage {
            Stage::Active => {
                pod.cause = ctx.out.cause();
                pod.stage = Stage::Terminating { deadline };
                for progress in &mut pod.actual {
                    if matches!(progress, Progress::Pulling { .. }) {
                        *progress = Progress::Waiting;
                    }
                }
                stop_next(pod, deadline, &self.nodes, ctx);
            }
            Stage::Terminating { deadline: before } if deadline < before => {
                pod.stage = Stage::Terminating { deadline };
                let step = ContainerStep::Stop { grace_seconds: grace };
                let told: Vec<usize> = (0..pod.actual.len())
                    .filter(|index| pod.stopping[*index] && matches!(pod.actual[*index], Progress::Running { .. }))
                    .collect();
                told.into_iter().for_each(|index| ask(pod, index, step, &self.nodes, ctx));
            }
            Stage::Rejected if !pod.has_vanished => {
                pod.stage = Stage::Over;
                if !pod.is_request_in_flight {
                    self.delete(uid, ctx);
                }
            }
            _ => {}
        }
    }

    /// After something happened to a pod: drops it when nothing is left of it, and sees to the next relist.
    fn settle(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get(uid) else { return };
        let runs = matches!(pod.stage, Stage::Active | Stage::Terminating { .. }) && !termination::is_over(&pod.actual);
        if pod.has_vanished && !runs {
            return self.remove(uid);
        }
        let is_unreported = pod.is_unreported();
        let is_busy = is_unreported
            || pod.is_under_way()
            || pod.is_request_in_flight
            || matches!(pod.stage, Stage::Terminating { .. });
        if is_busy {
            self.busy.insert(uid.clone());
        } else {
            self.busy.swap_remove(uid);
        }
        let row = pod.row;
        let node = &mut self.nodes[row];
        if is_unreported && !node.unreported.contains(uid) {
            node.unreported.push(uid.clone());
            if !node.is_tick_pending {
                node.is_tick_pending = true;
                let at = pleg::next_tick(ctx.now, node.last_tick, node.offset, self.settings.pleg_period);
                ctx.out.set_timer(FIRST_RELIST + row as u64, at, Nature::Work);
            }
        }
    }

    fn remove(&mut self, uid: &Uid) {
        // The order of pods shows nowhere: lists of them are kept apart.
        self.busy.swap_remove(uid);
        if let Some(pod) = self.pods.swap_remove(uid) {
            let node = &mut self.nodes[pod.row];
            node.let_go(uid, pod.status.phase);
            node.addresses.release(&pod.address);
        }
    }
}

/// Containers.
impl Kubelets {
    fn bring_up(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| pod.stage == Stage::Active) else { return };
        while let Next::Launch(index) = startup::next(&pod.pod.spec, &pod.actual, &pod.observed) {
            if pod.address.is_empty() {
                let addresses = &mut self.nodes[pod.row].addresses;
                pod.address = if pod.pod.spec.host_network { addresses.host() } else { addresses.take() };
            }
            launch(pod, index, &self.nodes, ctx);
        }
    }

    /// A kubelet that was started again probes containers that were not ready.
    fn ask_for_probes(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let pod = &self.pods[uid];
        for (index, container) in containers(&pod.pod.spec).enumerate() {
            let is_up = matches!(pod.actual[index], Progress::Running { .. });
            if is_up && container.readiness_probe.is_some() && !pod.probe_succeeds[index] {
                ask(pod, index, ContainerStep::Ready, &self.nodes, ctx);
            }
            if is_up && role(&pod.pod.spec, index) == Role::Init {
                ask(pod, index, ContainerStep::Complete, &self.nodes, ctx);
            }
        }
    }

    /// A step of a container is over. Steps that a dead kubelet asked for are heard too: what counts is what the sensors say.
    fn on_notice(&mut self, notice: &ContainerNotice, ctx: &mut Context<'_>) {
        let (uid, index) = (&notice.uid, notice.container as usize);
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| index < pod.actual.len()) else { return };
        let found = found_progress(uid, index, ctx);
        match (notice.step, pod.actual[index]) {
            (ContainerStep::Pull, Progress::Pulling { since }) => {
                let image = &containers(&pod.pod.spec).nth(index).expect("checked above").image;
                if !ctx.sensors.has_image(&notice.node, image) {
                    return;
                }
                let node = &mut self.nodes[pod.row];
                let message = pulled_message(image, ctx.now - since.max(node.last_pull_end), ctx.now - since);
                node.last_pull_end = ctx.now;
                pod.cause = ctx.out.cause();
                container_event(pod, index, EventType::Normal, "Pulled", message, ctx);
                create_and_start(pod, index, &self.nodes, ctx);
            }
            (ContainerStep::Start, Progress::Starting) if matches!(found, Progress::Running { .. }) => {
                pod.actual[index] = found;
                pod.cause = ctx.out.cause();
                container_event(pod, index, EventType::Normal, "Started", "Container started".to_string(), ctx);
                self.ask_for_probes_of(uid, index, ctx);
            }
            (ContainerStep::Complete, Progress::Running { .. }) if matches!(found, Progress::Ended { .. }) => {
                pod.actual[index] = found;
                pod.cause = ctx.out.cause();
            }
            (ContainerStep::Stop { .. }, Progress::Running { .. } | Progress::Starting)
                if !matches!(found, Progress::Running { .. }) =>
            {
                pod.actual[index] = found;
                pod.cause = ctx.out.cause();
                if let Stage::Terminating { deadline } = pod.stage {
                    stop_next(pod, deadline, &self.nodes, ctx);
                }
            }
            (ContainerStep::Ready, Progress::Running { .. }) => self.on_ready(uid, index, ctx),
            _ => {}
        }
        self.bring_up(uid, ctx);
        self.settle(uid, ctx);
    }

    fn ask_for_probes_of(&mut self, uid: &Uid, index: usize, ctx: &mut Context<'_>) {
        let pod = &self.pods[uid];
        let container = containers(&pod.pod.spec).nth(index).expect("the caller checked the index");
        if role(&pod.pod.spec, index) == Role::Init {
            ask(pod, index, ContainerStep::Complete, &self.nodes, ctx);
        } else if container.readiness_probe.is_some() {
            ask(pod, index, ContainerStep::Ready, &self.nodes, ctx);
        }
    }

    /// The container's readiness probe can succeed from now on: it does, or will after the initial delay. The result is
    /// reported at once if the container is known to run, else with that.
    fn on_ready(&mut self, uid: &Uid, index: usize, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| pod.stage == Stage::Active) else { return };
        let Progress::Running { since } = pod.actual[index] else { return };
        let Some(probe) = containers(&pod.pod.spec).nth(index).and_then(|container| container.readiness_probe) else {
            return;
        };
        if pod.probe_succeeds[index] {
            return;
        }
        let at = startup::probe_succeeds_at(since, ctx.now, &probe);
        if at > ctx.now {
            let token = self.next_token;
            self.next_token += 1;
            self.tokens.insert(token, Expected::ProbeDelay(uid.clone(), index));
            ctx.out.set_timer(token, at, Nature::Work);
            return;
        }
        pod.probe_succeeds[index] = true;
        pod.cause = ctx.out.cause();
        if matches!(pod.observed[index], Progress::Running { .. }) {
            self.report(uid, ctx);
        }
        self.settle(uid, ctx);
    }

    /// The kubelet looks at the containers of its node.
    fn relist(&mut self, row: usize, ctx: &mut Context<'_>) {
        let Some((_, node)) = self.nodes.get_index_mut(row) else { return };
        node.is_tick_pending = false;
        node.last_tick = Some(ctx.now);
        for uid in std::mem::take(&mut node.unreported) {
            let Some(pod) = self.pods.get_mut(&uid).filter(|pod| pod.is_unreported()) else { continue };
            ctx.out.set_cause(pod.cause);
            pod.look();
            pod.has_sandbox = pod.stage == Stage::Active;
            if !pod.has_sandbox {
                pod.stage = Stage::Over;
            }
            let is_over = pod.stage == Stage::Over;
            let has_changed = self.report(&uid, ctx);
            if is_over && !has_changed && !self.pods[&uid].is_request_in_flight {
                self.delete(&uid, ctx);
            }
            self.start_again(&uid, ctx);
            self.bring_up(&uid, ctx);
            self.settle(&uid, ctx);
        }
    }

    /// Starts containers again that have ended, or waits for the end of their back-off.
    fn start_again(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| pod.stage == Stage::Active) else { return };
        let mut has_changed = false;
        for index in 0..pod.actual.len() {
            let Progress::Ended { finished_at, exit_code, .. } = pod.observed[index] else { continue };
            if pod.actual[index] != pod.observed[index] || !restarts::is_restarted(&pod.pod.spec, index, exit_code) {
                continue;
            }
            let at = restarts::starts_at(pod.runs_mut(index).backoff, finished_at);
            if at > ctx.now {
                has_changed |= !std::mem::replace(&mut pod.runs_mut(index).is_backing_off, true);
                back_off_event(pod, index, ctx);
                let number = u64::try_from(pod.runs_mut(index).restarts).unwrap_or(0) << 8 | index as u64;
                let bits = ctx.draws.bits(CRASH_LOOP, pod.key.stable_hash(), number);
                let token = self.next_token;
                self.next_token += 1;
                self.tokens.insert(token, Expected::BackoffEnds(uid.clone()));
                ctx.out.set_timer(token, ctx.now + restarts::next_look(at, ctx.now, bits), Nature::Work);
                continue;
            }
            let runs = pod.runs_mut(index);
            runs.backoff = Some(restarts::after_start(runs.backoff, finished_at, ctx.now));
            (pod.probe_succeeds[index], pod.stopping[index]) = (false, false);
            launch(pod, index, &self.nodes, ctx);
        }
        if has_changed {
            self.report(uid, ctx);
        }
    }
}

/// Requests about pods and their replies.
impl Kubelets {
    /// Works out the pod's status and writes it if it is new; says whether it was.
    fn report(&mut self, uid: &Uid, ctx: &mut Context<'_>) -> bool {
        let Some(pod) = self.pods.get_mut(uid) else { return false };
        let new = status::status(&Observed {
            pod: &pod.pod,
            previous: &pod.status,
            progress: &pod.observed,
            runs: pod.runs(),
            probe_succeeds: &pod.probe_succeeds,
            has_sandbox: pod.has_sandbox,
            pod_ip: &pod.address,
            is_over: pod.stage == Stage::Over,
            names: &self.condition_names,
            now: ctx.now,
        });
        if new == pod.status {
            return false;
        }
        let node = &mut self.nodes[pod.row];
        node.changes_phase(pod.status.phase, new.phase);
        if new.phase == PodPhase::Running
            && let Some(since) = pod.start_counts_from.take()
        {
            node.pods_started += 1;
            node.start_durations = node.start_durations + (ctx.now - since);
        }
        pod.status = new;
        self.write_status(uid, ctx);
        true
    }

    fn write_status(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| !pod.has_vanished) else { return };
        if pod.is_request_in_flight {
            pod.is_status_newer = true;
            return;
        }
        pod.is_status_newer = false;
        let patch = match &pod.rejection {
            // DIVERGES: a kubelet never gives a pod back to the scheduler.
            Some(Rejection { reason, message })
                if pod.stage == Stage::Rejected && self.settings.rejected_pods == RejectedPods::Pending =>
            {
                Patch::Unbind { uid: uid.clone(), reason: Name::from(*reason), message: Name::from(message.as_str()) }
            }
            _ => Patch::PodStatus { uid: uid.clone(), status: Box::new(pod.status.clone()) },
        };
        let request = Request::Patch { key: pod.key.clone(), patch };
        self.send(uid, request, Expected::StatusWritten(uid.clone()), ctx);
    }

    fn delete(&mut self, uid: &Uid, ctx: &mut Context<'_>) {
        let Some(pod) = self.pods.get_mut(uid).filter(|pod| !pod.has_vanished) else { return };
        pod.is_delete_due = true;
        let preconditions = Preconditions { uid: uid.clone(), ..Preconditions::default() };
        let request = Request::Delete { key: pod.key.clone(), grace_seconds: Some(0), preconditions };
        self.send(uid, request, Expected::Deleted(uid.clone()), ctx);
    }

    fn send(&mut self, uid: &Uid, request: Request, expected: Expected, ctx: &mut Context<'_>) {
        let pod = self.pods.get_mut(uid).expect("the caller holds it");
        pod.is_request_in_flight = true;
        let token = self.next_token;
        self.next_token += 1;
        self.tokens.insert(token, expected);
        self.busy.insert(uid.clone());
        ctx.out.request_from(client_rows(pod.row).0, request, token);
    }

    fn on_reply(&mut self, token: u64, result: &ApiResult, ctx: &mut Context<'_>) {
        let (uid, was_delete) = match self.tokens.swap_remove(&token) {
            Some(Expected::StatusWritten(uid)) => (uid, false),
            Some(Expected::Deleted(uid)) => (uid, true),
            _ => return,
        };
        let Some(pod) = self.pods.get_mut(&uid) else { return };
        pod.is_request_in_flight = false;
        match result.as_ref().map_err(|error| error.reason) {
            Ok(Answer::Object(_) | Answer::List { .. } | Answer::Done(_)) if !was_delete => {
                if pod.is_status_newer {
                    self.write_status(&uid, ctx);
                } else if pod.stage == Stage::Over {
                    self.delete(&uid, ctx);
                }
            }
            // Gone, or another pod by now: its DELETED is on its way.
            Ok(_) | Err(Reason::NotFound) => {}
            Err(Reason::Conflict) if was_delete => {}
            Err(_) => {
                if self.failed.is_empty() {
                    ctx.out.set_timer(SWEEP, ctx.now + SWEEP_PERIOD, Nature::Backoff);
                }
                self.failed.push(uid.clone());
            }
        }
        self.settle(&uid, ctx);
    }

    /// Tries failed writes again.
    fn sweep(&mut self, ctx: &mut Context<'_>) {
        for uid in std::mem::take(&mut self.failed) {
            match self.pods.get(&uid) {
                Some(pod) if pod.is_request_in_flight => {}
                Some(pod) if pod.is_delete_due => self.delete(&uid, ctx),
                Some(_) => self.write_status(&uid, ctx),
                None => {}
            }
        }
    }
}

#[cfg(test)]
#[path = "component_tests.rs"]
mod tests;
