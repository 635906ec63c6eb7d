//! The transport of whole-system recordings: fixed travel times a client, one commit slot each 0.1 ms, watch delays by
//! process, resource and version, and workers that begin at a poll of the caches.
//!
//! Rules: vectors/e2e/README.md, "The API double".

use std::sync::Arc;

use crate::engine::calendar::Nature;
use crate::faults::Subresource;
use crate::model::{Answer, ApiResult, Cause, Kind, Request, Span, Time};

use super::super::event::{Event, ProcessIndex, RequestId};
use super::super::plan::Plan;
use super::super::world::{InFlight, Sender, World};

/// How requests and watch events travel in a recording, in place of the plan's latencies.
#[derive(Clone, Debug)]
pub struct TransportPlan {
    /// Travel times of the clients that have any; all others are at the API server at once and need no slot.
    pub clients: Vec<ClientTravel>,
    /// How processes see changes; others see them at once.
    pub watches: Vec<ProcessWatch>,
    /// More for each resource, by `Kind::index`.
    pub watch_extra: [Span; Kind::COUNT],
    /// More for each earlier write of the object, counted modulo `WRITES_MODULUS`.
    pub watch_per_write: Span,
    /// Time between two commits.
    pub slot: Span,
    /// When processes start, from the start of the run.
    pub processes_start: Span,
}

/// How a process sees changes.
#[derive(Clone, Debug)]
pub struct ProcessWatch {
    /// Its name.
    pub process: String,
    /// Commit to cache.
    pub delay: Span,
    /// Whether resource and earlier writes add to the delay.
    pub is_odd: bool,
    /// When its loops begin.
    pub readiness: Readiness,
}

/// How a process sees that its caches are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readiness {
    /// It looks when it starts and then again each period.
    Poll(Span),
    /// At once, but not before this long after its start, when kinds that are not simulated are there too.
    After(Span),
}

/// The number of earlier writes counts modulo this.
const WRITES_MODULUS: u32 = 5;

/// Travel times of one client.
#[derive(Clone, Debug)]
pub struct ClientTravel {
    /// What the recording calls it.
    pub actor: String,
    /// Its process.
    pub process: String,
    /// Whose it is in the process.
    pub owner: ClientOwner,
    /// Client to API server.
    pub request: Span,
    /// API server to client.
    pub reply: Span,
}

/// Whose client it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ClientOwner {
    /// The process' informers.
    Informers,
    /// A component; its Kubernetes Events too unless they have a client of their own.
    Component(String),
    /// A component's Kubernetes Events.
    Events(String),
}

/// The transport of a run.
#[derive(Clone, Debug)]
pub struct Transport {
    plan: Arc<TransportPlan>,
    processes: Vec<ProcessClients>,
    next_slot: Time,
    arrived: Vec<RequestId>,
}

/// Clients of one process, as indexes into the plan's.
#[derive(Clone, Debug)]
struct ProcessClients {
    informers: Option<usize>,
    /// By component: its main client, and the one of its Events.
    components: Vec<(Option<usize>, Option<usize>)>,
    /// Its watches, as an index into the plan's; `None` for a process that sees the truth at once.
    watch: Option<usize>,
    started_at: Time,
}

impl Transport {
    /// The transport of a plan that has one.
    pub fn new(plan: &Arc<Plan>) -> Option<Transport> {
        let transport = plan.transport.clone()?;
        let processes = (0..plan.processes.len()).map(|process| clients_of(plan, &transport, process)).collect();
        Some(Transport { plan: transport, processes, next_slot: Time::default(), arrived: Vec::new() })
    }

    fn client(&self, process: ProcessIndex, sender: &Sender) -> Option<&ClientTravel> {
        let clients = &self.processes[process];
        let index = match sender {
            Sender::Reflector(_) | Sender::Elector { .. } => clients.informers,
            Sender::Component { component, .. } => clients.components[*component].0,
            Sender::Recorder { component, .. } => clients.components[*component].1,
        };
        index.map(|index| &self.plan.clients[index])
    }

    fn watch(&self, process: ProcessIndex) -> Option<&ProcessWatch> {
        self.processes[process].watch.map(|index| &self.plan.watches[index])
    }

    /// Client to API server.
    pub fn request_travel(&self, process: ProcessIndex, sender: &Sender) -> Span {
        self.client(process, sender).map_or(Span::ZERO, |client| client.request)
    }

    /// API server to client. A stream is there at once; what it begins with takes as long as an event.
    pub fn reply_travel(&self, process: ProcessIndex, sender: &Sender, result: &ApiResult) -> Span {
        match result {
            Ok(Answer::Stream(_)) => Span::ZERO,
            _ => self.answer_travel(process, sender),
        }
    }

    /// The way of an answer that opens no stream.
    pub fn answer_travel(&self, process: ProcessIndex, sender: &Sender) -> Span {
        self.client(process, sender).map_or(Span::ZERO, |client| client.reply)
    }

    /// Commit to cache of the `nth` write of an object.
    pub fn watch_delay(&self, process: ProcessIndex, kind: Kind, nth: u32) -> Span {
        let Some(watch) = self.watch(process) else { return Span::ZERO };
        if !watch.is_odd {
            return watch.delay;
        }
        let odd = Span(self.plan.watch_per_write.0 * i64::from(nth % WRITES_MODULUS));
        watch.delay + self.plan.watch_extra[kind.index()] + odd
    }

    /// Whether the request waits for a commit slot.
    fn needs_slot(&self, flight: &InFlight) -> bool {
        flight.request.is_write()
            && !matches!(flight.request.kind(), Kind::Event | Kind::Lease)
            && self.client(flight.process, &flight.sender).is_some()
    }

    /// A process starts.
    pub fn process_started(&mut self, process: ProcessIndex, now: Time) {
        self.processes[process].started_at = now;
    }

    /// When a process sees that its caches are there, which they are now.
    pub fn next_poll(&self, process: ProcessIndex, now: Time) -> Time {
        let started = self.processes[process].started_at;
        match self.watch(process).map(|watch| watch.readiness) {
            None => now,
            Some(Readiness::After(span)) => now.max(started + span),
            Some(Readiness::Poll(period)) => match (now - started).0.rem_euclid(period.0.max(1)) {
                0 => now,
                over => now + period - Span(over),
            },
        }
    }

    /// What decides between writes that arrive in one instant.
    fn order(&self, flight: &InFlight) -> (&str, &'static str, &'static str, String) {
        let actor = self.client(flight.process, &flight.sender).map_or("", |client| client.actor.as_str());
        let key = flight.request.key();
        (actor, verb(&flight.request), flight.request.kind().info().plural, format!("{}/{}", key.namespace, key.name))
    }
}

fn clients_of(plan: &Arc<Plan>, transport: &TransportPlan, process: ProcessIndex) -> ProcessClients {
    let name = &plan.processes[process].name;
    let find = |owner: &ClientOwner| {
        transport.clients.iter().position(|client| client.process == *name && client.owner == *owner)
    };
    let components = super::super::build::components(plan, process, plan.start_at);
    let components = components.iter().map(|component| {
        let main = find(&ClientOwner::Component(component.name().to_string()));
        (main, find(&ClientOwner::Events(component.name().to_string())).or(main))
    });
    ProcessClients {
        informers: find(&ClientOwner::Informers),
        components: components.collect(),
        watch: transport.watches.iter().position(|watch| watch.process == *name),
        started_at: Time::default(),
    }
}

/// The verb as the recordings order it.
fn verb(request: &Request) -> &'static str {
    match request {
        Request::Create(_) | Request::Bind { .. } | Request::Evict { .. } => "create",
        Request::Delete { .. } => "delete",
        Request::Patch { .. } => "patch",
        Request::Get(_) | Request::List { .. } | Request::Watch { .. } => "get",
        Request::Update(_) | Request::UpdateStatus(_) | Request::Scale { .. } | Request::RenewLeases { .. } => "update",
    }
}

/// What a client says whose connection breaks before the answer has come.
///
/// Upstream: net/url, `Error`, around syscall.ECONNRESET; paths as client-go/rest/request.go makes them, v0.36.
pub(in crate::sim) fn connection_reset(request: &Request) -> String {
    let (key, info) = (request.key(), request.kind().info());
    let method = match verb(request) {
        "create" => "Post",
        "update" => "Put",
        "patch" => "Patch",
        "delete" => "Delete",
        _ => "Get",
    };
    let root = if info.api_version.contains('/') { "apis" } else { "api" };
    let mut path = format!("{root}/{}", info.api_version);
    if info.namespaced && !key.namespace.is_empty() {
        path.push_str(&format!("/namespaces/{}", key.namespace));
    }
    path.push_str(&format!("/{}", info.plural));
    if !key.name.is_empty() && !matches!(request, Request::Create(_)) {
        path.push_str(&format!("/{}", key.name));
    }
    if let Some(subresource) = Subresource::of(request) {
        path.push_str(&format!("/{}", subresource.as_str()));
    }
    format!("{method} \"http://api/{path}\": connection reset by peer")
}

impl World {
    /// A request arrives over a recording's transport: writes wait for the end of the instant, then for their slots.
    pub(in crate::sim) fn arrives_over_transport(&mut self, id: RequestId) {
        let now = self.calendar.now();
        let transport = self.transport.as_mut().expect("asked for by who has one");
        if !transport.needs_slot(self.requests.get_mut(id)) {
            if !self.request_meets_faults(id, now) {
                self.admit(id);
            }
            return;
        }
        transport.arrived.push(id);
        if transport.arrived.len() == 1 {
            self.calendar.schedule(now, Nature::Work, Event::CommitSlots);
        }
    }

    /// The writes that arrived in this instant get their slots, also those that a fault answers.
    pub(in crate::sim) fn assign_slots(&mut self) {
        let now = self.calendar.now();
        let transport = self.transport.as_mut().expect("slots belong to a transport");
        let mut arrived = std::mem::take(&mut transport.arrived);
        if arrived.len() > 1 {
            arrived.sort_by_cached_key(|id| {
                let (actor, verb, resource, name) = transport.order(self.requests.get_mut(*id));
                (actor.to_string(), verb, resource, name)
            });
        }
        for id in arrived {
            let transport = self.transport.as_mut().expect("slots belong to a transport");
            let at = transport.next_slot.max(now);
            transport.next_slot = at + transport.plan.slot;
            if self.request_meets_faults(id, at) {
                continue;
            }
            if at == now {
                self.admit(id);
            } else {
                self.calendar.schedule(at, Nature::Work, Event::Commit(id));
            }
        }
    }

    /// Whether a process whose caches are there has to wait for its next look at them; its start is then scheduled.
    pub(in crate::sim) fn waits_for_poll(&mut self, process: ProcessIndex, cause: Cause) -> bool {
        let now = self.calendar.now();
        let Some(at) = self.transport.as_ref().map(|transport| transport.next_poll(process, now)) else {
            return false;
        };
        if at > now {
            let incarnation = self.processes[process].incarnation;
            self.calendar.schedule(at, Nature::Work, Event::LoopsBegin { process, incarnation, cause });
        }
        at > now
    }

    /// A process looks at its caches.
    pub(in crate::sim) fn loops_begin(&mut self, process: ProcessIndex, incarnation: u64, cause: Cause) {
        if self.processes[process].incarnation == incarnation {
            self.start_when_synced(process, cause);
        }
    }
}
