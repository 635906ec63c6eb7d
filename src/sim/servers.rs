//! The API servers under load: who is let in, who waits, how long a request is worked on.
//!
//! A request that arrives passes flow control, is worked on by the server's machine, and then takes effect (reads) or goes
//! on to etcd (writes). It holds its seats until its reply leaves. With no limits and no capacity given, none of this
//! happens: a request takes effect when it arrives, or after its commit.

use crate::apiserver::durations::Durations;
use crate::apiserver::executor::Executor;
use crate::apiserver::flow_control::{
    Arrival, Decision, Distinguisher, FlowControl, Identity, Schema, Ticket, Width, Woken, schema_of,
};
use crate::apiserver::settings::{ApiServerSettings, Limits};
use crate::component::draw_span;
use crate::engine::calendar::{EventId, Nature};
use crate::model::api::{ListVersion, Reason};
use crate::model::{Answer, ApiError, ApiResult, Kind, Name, Request, Span, Time};

use super::dispatch::REQUEST_LATENCY;
use super::event::{Event, ProcessIndex, RequestId};
use super::plan::{Plan, ProcessPlan};
use super::world::{InFlight, World};

/// What a client that is refused is told.
///
/// Upstream: apimachinery/pkg/api/errors/errors.go, `NewGenericServerResponse`, v1.36.
const TOO_MANY: &str = "the server has received too many requests and has asked us to try again later";

/// How long a read waits for the cache to catch up.
///
/// Upstream: apiserver/pkg/storage/cacher/watch_cache.go, `blockTimeout`, v1.36.
pub(super) const FRESHNESS_WAIT: Span = Span::from_seconds(3);

/// The API servers and their clients.
#[derive(Clone, Debug)]
pub struct Servers {
    all: Vec<Server>,
    clients: Vec<Client>,
    /// Nothing is limited: requests take effect at once.
    is_unlimited: bool,
    durations: Durations,
}

/// One API server.
#[derive(Clone, Debug)]
struct Server {
    flow: FlowControl,
    executor: Option<Executor>,
    /// How far its watch cache is behind.
    cache_lag: Span,
    /// The pending event that looks after it.
    wake: Option<(Time, EventId)>,
    /// Let in or refused after a wait, and not yet looked after.
    woken: Woken,
    /// Scratch: requests whose work is done.
    ended: Vec<u32>,
}

/// A process as client.
#[derive(Clone, Copy, Debug)]
struct Client {
    identity: Identity,
    /// Hash of the user's name.
    user: u64,
    /// Its server.
    server: u16,
    /// The server it is connected to when nothing is wrong.
    home: u16,
}

/// Where a request is with its server.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtServer {
    /// Which one.
    pub server: u16,
    /// What it must give back; `None` before it was let in.
    pub ticket: Option<Ticket>,
    /// It waits for a seat.
    pub waits: bool,
    /// When it arrived.
    pub arrived_at: Time,
    /// What it asks, for metrics: the request itself is taken out when it takes effect.
    asked: Option<(&'static str, Kind)>,
}

impl Server {
    fn new(settings: &ApiServerSettings, cache_lag: Span, now: Time) -> Server {
        Server {
            flow: FlowControl::new(settings.limits, now),
            executor: settings
                .capacity
                .as_ref()
                .map(|capacity| Executor::new(capacity.executors, capacity.contention, now)),
            cache_lag,
            wake: None,
            woken: Woken::default(),
            ended: Vec::new(),
        }
    }
}

impl Servers {
    /// The servers of a plan.
    pub fn new(plan: &Plan) -> Servers {
        let settings = &plan.api_server;
        let count = settings.replicas.max(1);
        let server = |index: u32| {
            let cache_lag = settings.cache_lag.get(index as usize).copied().unwrap_or(Span::ZERO);
            Server::new(settings, cache_lag, plan.start_at)
        };
        let client = |(index, process): (usize, &ProcessPlan)| Client {
            identity: identity_of(process),
            user: Name::new(&process.name).stable_hash(),
            server: (index as u32 % count) as u16,
            home: (index as u32 % count) as u16,
        };
        Servers {
            all: (0..count).map(server).collect(),
            clients: plan.processes.iter().enumerate().map(client).collect(),
            is_unlimited: is_unlimited(settings),
            durations: Durations::default(),
        }
    }

    /// The server a process is connected to.
    pub fn of(&self, process: usize) -> u16 {
        self.clients[process].server
    }

    /// How far the watch cache of a process' server is behind etcd.
    pub fn cache_lag(&self, process: usize) -> Span {
        self.all[usize::from(self.of(process))].cache_lag
    }

    /// The process' connections go to another server from now on.
    pub fn connect(&mut self, process: usize, server: u16) {
        self.clients[process].server = server % self.all.len() as u16;
    }

    /// Starts one more server, whose watch cache is so far behind etcd; its number.
    pub fn start_another(&mut self, settings: &ApiServerSettings, cache_lag: Span, now: Time) -> u16 {
        self.all.push(Server::new(settings, cache_lag, now));
        (self.all.len() - 1) as u16
    }

    /// The process' connections go to the server that it had at first.
    pub fn connect_home(&mut self, process: usize) {
        self.clients[process].server = self.clients[process].home;
    }

    /// How many servers there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none; there always is one.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The flow control of each server, for metrics.
    pub fn flow_controls(&self) -> impl Iterator<Item = &FlowControl> {
        self.all.iter().map(|server| &server.flow)
    }

    /// How long requests took, for metrics.
    pub fn durations(&self) -> &Durations {
        &self.durations
    }

    /// Requests the servers work on, for metrics.
    ///
    /// `None` when they have no capacity of their own.
    pub fn in_work(&self) -> Option<usize> {
        self.all.iter().map(|server| server.executor.as_ref().map(Executor::running)).sum()
    }
}

fn is_unlimited(settings: &ApiServerSettings) -> bool {
    settings.limits == Limits::None && settings.capacity.is_none()
}

/// As whom the API server sees a process.
fn identity_of(process: &ProcessPlan) -> Identity {
    match process.name.as_str() {
        "kube-controller-manager" => Identity::ControllerManager,
        "kube-scheduler" => Identity::Scheduler,
        "kubelet" => Identity::Node,
        "kubectl" => Identity::User,
        _ => Identity::ServiceAccount,
    }
}

impl World {
    /// A request reaches its API server: it is let in, waits, or is refused.
    pub(super) fn admit(&mut self, id: RequestId) {
        let now = self.calendar.now();
        let flight = self.requests.get_mut(id);
        let server = self.servers.of(flight.process);
        let asked = Some((flight.request.verb(), flight.request.kind()));
        flight.at_server = AtServer { server, ticket: None, waits: false, arrived_at: now, asked };
        if self.servers.is_unlimited {
            return self.worked_on(id);
        }
        let arrival = self.arrival(id);
        let owner = &mut self.servers.all[usize::from(server)];
        match owner.flow.arrive(now, arrival, &mut owner.woken) {
            Decision::Serve(ticket) => {
                self.requests.get_mut(id).at_server.ticket = Some(ticket);
                self.begin_work(id);
            }
            Decision::Wait => self.requests.get_mut(id).at_server.waits = true,
            Decision::Refuse { retry_after_seconds, reason } => self.refuse(id, retry_after_seconds, reason),
        }
        self.look_after(server);
    }

    /// What flow control has to know of a request.
    fn arrival(&mut self, id: RequestId) -> Arrival {
        let flight = self.requests.get_mut(id);
        let client = self.servers.clients[flight.process];
        let kind = flight.request.kind();
        let schema = schema_of(client.identity, kind);
        let flow = flow_hash(&schema, client.user, flight);
        let cap = self.servers.all[usize::from(flight.at_server.server)].flow.width_cap(schema.level);
        let is_write = flight.request.is_write();
        let width = match &flight.request {
            Request::List { version, .. } => {
                let from_cache = *version != ListVersion::Newest;
                Width::of_list(self.api.truth().count(kind) as u64, object_bytes(kind), from_cache, cap)
            }
            Request::Watch { initial_events: true, .. } => {
                Width::of_list(self.api.truth().count(kind) as u64, object_bytes(kind), true, cap)
            }
            // Fewer watches than make a difference, whatever they are on.
            _ if !is_write || self.api.watch_count() < 10 => Width::ONE,
            _ => Width::of_write(
                self.api.watches().filter(|watch| watch.kind == kind && !watch.is_detached()).count() as u64,
                cap,
            ),
        };
        Arrival { request: id.0, level: schema.level, flow, width, is_write }
    }

    /// A request is let in: the server works on it.
    fn begin_work(&mut self, id: RequestId) {
        let now = self.calendar.now();
        let Some(capacity) = &self.plan.api_server.capacity else { return self.worked_on(id) };
        let flight = self.requests.get_mut(id);
        let (entity, occurrence) = flight.draw;
        let work = capacity.work_of(flight.request.verb());
        let work = draw_span(&mut self.draws, work, REQUEST_LATENCY, entity, occurrence * 4 + 3);
        let server = &mut self.servers.all[usize::from(flight.at_server.server)];
        server.executor.as_mut().expect("a server with a capacity has executors").begin(now, id.0, work);
    }

    /// Whether a read has to wait until its server's cache is as new as it asks for, 3 s at most; it goes on then.
    pub(super) fn waits_for_cache(&mut self, id: RequestId) -> bool {
        let now = self.calendar.now();
        let flight = self.requests.get_mut(id);
        let Request::List { kind, version: ListVersion::NotOlderThan(version), .. } = &flight.request else {
            return false;
        };
        let lag = self.servers.all[usize::from(flight.at_server.server)].cache_lag;
        let fresh = self.api.cached_at(*kind, *version, lag);
        let gives_up = flight.at_server.arrived_at + FRESHNESS_WAIT;
        match fresh {
            Some(at) if at <= now => false,
            // Whatever comes first; a version from the future may yet be written.
            _ if now < gives_up => {
                let at = fresh.map_or(gives_up, |at| at.min(gives_up));
                self.calendar.schedule(at, Nature::Work, Event::Commit(id));
                true
            }
            _ => {
                let message =
                    format!("Too large resource version: {version}, current: {}", self.api.truth().revision());
                let mut error = ApiError::new(Reason::Timeout, message);
                error.retry_after_seconds = Some(1);
                self.answer_without_effect(id, Err(error));
                true
            }
        }
    }

    /// What a list from a cache that lags answers; `None` for one that is answered as of now.
    pub(super) fn cached_list(&mut self, id: RequestId, request: &Request) -> Option<ApiResult> {
        let Request::List { kind, namespace, selector, version } = request else { return None };
        let lag = self.servers.all[usize::from(self.requests.get_mut(id).at_server.server)].cache_lag;
        if lag == Span::ZERO || *version == ListVersion::Newest {
            return None;
        }
        let cached = self.calendar.now() - lag;
        let (items, resource_version) = self.api.list_from_cache(*kind, namespace.as_ref(), selector, cached);
        Some(Ok(Answer::List { items, resource_version }))
    }

    /// A request was answered: its seats are free, and its server may go on with others.
    pub(super) fn leave_server(&mut self, id: RequestId) {
        let at_server = self.requests.get_mut(id).at_server;
        let now = self.calendar.now();
        if let Some((verb, kind)) = at_server.asked {
            self.servers.durations.record(verb, kind, now - at_server.arrived_at);
        }
        let Some(ticket) = at_server.ticket else { return };
        let server = &mut self.servers.all[usize::from(at_server.server)];
        server.flow.finish(now, ticket, &mut server.woken);
    }

    /// The connections of a dead process are closed: its requests that wait for a seat leave their queues.
    pub(super) fn forget_waiting(&mut self, process: ProcessIndex) {
        if self.servers.is_unlimited {
            return;
        }
        let waits = |flight: &InFlight| flight.process == process && flight.at_server.waits;
        let waiting: Vec<RequestId> =
            self.requests.iter().filter(|(_, flight)| waits(flight)).map(|(id, _)| id).collect();
        waiting.into_iter().for_each(|id| self.leave_queue(id));
    }

    /// A request of which nobody wants the answer any more leaves the queue that it waits in, if it does.
    pub(super) fn leave_queue(&mut self, id: RequestId) {
        let at_server = self.requests.get_mut(id).at_server;
        if !at_server.waits {
            return;
        }
        let now = self.calendar.now();
        let server = &mut self.servers.all[usize::from(at_server.server)];
        // One that has just got its seat is looked after next, and goes on.
        if server.flow.cancel(now, id.0, &mut server.woken) {
            self.forget_call(id);
            self.look_after(at_server.server);
        }
    }

    /// An event of a server: work is done, or somebody has waited long enough.
    pub(super) fn server_wakes(&mut self, server: u16) {
        let now = self.calendar.now();
        let owner = &mut self.servers.all[usize::from(server)];
        owner.wake = None;
        owner.flow.wake(now, &mut owner.woken);
        self.look_after(server);
    }

    /// Lets go on whoever can, and plans the server's next event.
    pub(super) fn look_after(&mut self, server: u16) {
        if self.servers.is_unlimited {
            return;
        }
        let index = usize::from(server);
        let now = self.calendar.now();
        loop {
            let woken = std::mem::take(&mut self.servers.all[index].woken);
            let mut ended = std::mem::take(&mut self.servers.all[index].ended);
            if let Some(executor) = &mut self.servers.all[index].executor {
                executor.end(now, &mut ended);
            }
            if woken.is_empty() && ended.is_empty() {
                break;
            }
            for (request, ticket) in woken.served {
                let at_server = &mut self.requests.get_mut(RequestId(request)).at_server;
                (at_server.ticket, at_server.waits) = (Some(ticket), false);
                self.begin_work(RequestId(request));
            }
            for (request, retry_after_seconds) in woken.timed_out {
                self.requests.get_mut(RequestId(request)).at_server.waits = false;
                self.refuse(RequestId(request), retry_after_seconds, "time-out");
            }
            for request in ended.drain(..) {
                self.worked_on(RequestId(request));
            }
            self.servers.all[index].ended = ended;
        }
        self.plan_wake(index);
    }

    fn plan_wake(&mut self, index: usize) {
        let server = &mut self.servers.all[index];
        let end = server.executor.as_ref().and_then(Executor::next_end);
        let next = end.into_iter().chain(server.flow.next_change()).min();
        if next == server.wake.map(|(at, _)| at) {
            return;
        }
        if let Some((_, event)) = server.wake.take() {
            self.calendar.cancel(event);
        }
        server.wake = next.map(|at| {
            let at = at.max(self.calendar.now());
            (at, self.calendar.schedule(at, Nature::Work, Event::ServerWakes(index as u16)))
        });
    }

    /// 429.
    fn refuse(&mut self, id: RequestId, retry_after_seconds: u32, reason: &'static str) {
        let mut error = ApiError::new(Reason::TooManyRequests, format!("{TOO_MANY} ({reason})"));
        error.retry_after_seconds = Some(retry_after_seconds);
        self.answer_without_effect(id, Err(error));
    }
}

/// What tells flows apart: the schema, and the user or the namespace.
///
/// DIVERGES: upstream hashes the names by SHA-256; which flows share queues is another matter of luck here.
fn flow_hash(schema: &Schema, user: u64, flight: &InFlight) -> u64 {
    let own = match schema.by {
        // Kubelets are one process with a client for each node.
        Distinguisher::User => user ^ u64::from(flight.client.client.0.0).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        Distinguisher::Namespace => flight.request.key().namespace.stable_hash(),
    };
    let mut hash = own ^ u64::from(schema.precedence).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

/// Size of an object in a list, for the width of lists. Ours: upstream measures what is stored.
fn object_bytes(kind: Kind) -> u64 {
    match kind {
        Kind::Pod => 4_000,
        Kind::Node => 8_000,
        Kind::Event | Kind::Lease => 800,
        _ => 2_000,
    }
}
