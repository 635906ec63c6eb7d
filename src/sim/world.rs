//! The world: everything that is, at one instant of a run. Cloning it gives a world that goes on to the same end.

use std::sync::Arc;

use crate::apiserver::{ApiServer, WatchId};
use crate::client::process::Process;
use crate::component::{Draws, Outbox, Purpose};
use crate::engine::calendar::{Calendar, EventId};
use crate::engine::draws::KeyedDraws;
use crate::model::name::hash_text;
use crate::model::scheduling::SchedulingNote;
use crate::model::{Action, ApiResult, Cause, Key, Kind, Map, Name, Record, RecordId, Request, Span, Time, Uid};
use crate::plant::Plant;

use super::client_calls::ClientCall;
use super::election::Election;
use super::event::{ComponentIndex, Event, ProcessIndex, RequestId};
use super::faults::{Faults, Strikes};
use super::hosted::Hosted;
use super::hosts::Host;
use super::leadership::Leadership;
use super::load::LoadState;
use super::lockstep::Transport;
use super::own_events::OwnEvents;
use super::plan::Plan;
use super::servers::{AtServer, Servers};
use super::shutdown::Ending;

/// A world.
#[derive(Clone)]
pub struct World {
    /// What it was built from.
    pub(super) plan: Arc<Plan>,
    pub(super) calendar: Calendar<Event>,
    pub(super) api: ApiServer,
    pub(super) processes: Vec<Process>,
    pub(super) plant: Plant,
    /// What loads have done so far.
    pub(super) loads: LoadState,
    pub(super) draws: WorldDraws,
    pub(super) faults: Faults,
    /// The host of each process.
    pub(super) hosts: Vec<Host>,
    /// A fault has made a host stand still.
    pub(super) some_host_paused: bool,
    /// What each running process does in its election.
    pub(super) elections: Vec<Option<Election>>,
    pub(super) leadership: Leadership,
    pub(super) strikes: Strikes,
    /// Whether any process of the plan runs in pods.
    pub(super) hosts_processes: bool,
    /// The processes that run in pods, by the pod's uid.
    pub(super) hosted: Map<Uid, Hosted>,
    /// Processes that were told to end and have something in hand.
    pub(super) endings: Vec<Ending>,
    /// How requests and watch events travel in a recording.
    pub(super) transport: Option<Transport>,
    pub(super) requests: Requests,
    pub(super) servers: Servers,
    pub(super) next_record: u64,
    pub(super) counters: Counters,
    /// Answers by verb, kind and code: `apiserver_request_total`.
    pub(super) answers: Map<(&'static str, Kind, u16), u64>,
    /// Records not yet given to the observer.
    pub(super) fresh: Vec<Record>,
    /// The observer wants no records: those of components are not kept.
    pub(super) unheard: bool,
    /// Events of programs that keep the store themselves.
    pub(super) own_events: OwnEvents,
    /// What the scheduler thought, not yet given to the observer.
    pub(super) fresh_notes: Vec<SchedulingNote>,
    /// Scratch: an empty outbox with its room, for the next input.
    pub(super) outbox: Outbox,
    /// Scratch: watches without a scheduled delivery.
    pub(super) idle_watches: Vec<WatchId>,
    /// When watches are looked at next, and the event of it.
    pub(super) watch_upkeep: Option<(Time, EventId)>,
    /// Informers whose next resume of a watch is answered 410.
    pub(super) refused_resumes: Vec<(ProcessIndex, Kind)>,
    /// Deliveries so far; the log is trimmed now and then.
    pub(super) deliveries: u64,
    /// The last instant whose end the observer was told of.
    pub(super) looked_at: Option<Time>,
    /// The last instant an expectation asks for.
    pub(super) last_expectation: Time,
    /// When the run ended.
    pub(super) ended_at: Option<Time>,
}

/// What a run counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Events taken from the calendar.
    pub events: u64,
    /// Requests answered.
    pub requests: u64,
    /// Of these, answered by 409.
    pub conflicts: u64,
    /// Of these, answered 429, by flow control or by a fault.
    pub refused: u64,
    /// Reconciles begun.
    pub reconciles: u64,
    /// Retries: reconciles that ended in an error.
    pub retries: u64,
    /// Pods created.
    pub pods_created: u64,
    /// Pods gone.
    pub pods_deleted: u64,
}

/// Draws of a world.
#[derive(Clone, Debug)]
pub enum WorldDraws {
    /// By what is drawn for whom.
    Keyed(KeyedDraws),
    /// Always the middle (recordings).
    Middle,
}

impl Draws for WorldDraws {
    fn bits(&mut self, purpose: Purpose, entity: u64, occurrence: u64) -> u64 {
        match self {
            WorldDraws::Keyed(keyed) => keyed.bits(hash_text(purpose.0), entity, occurrence),
            WorldDraws::Middle => 1 << 63,
        }
    }
}

/// Who sent a request.
#[derive(Clone, Debug)]
pub enum Sender {
    /// A component, from one of its clients.
    Component {
        /// Which.
        component: ComponentIndex,
        /// Comes back with the reply.
        token: u64,
    },
    /// A component's event recorder.
    Recorder {
        /// Which component.
        component: ComponentIndex,
        /// Which of its clients.
        row: crate::component::ClientRow,
    },
    /// An informer's list or watch.
    Reflector(Kind),
    /// A process' leader elector.
    Elector {
        /// Number of the call.
        call: u64,
    },
}

/// A request between client and server.
#[derive(Clone, Debug)]
pub struct InFlight {
    /// The process.
    pub process: ProcessIndex,
    /// Its incarnation when it sent the request.
    pub incarnation: u64,
    /// Who in it.
    pub sender: Sender,
    /// The request.
    pub request: Request,
    /// The record that made it be sent; after the commit, the record of the request itself.
    pub cause: Cause,
    /// When it was handed to the client.
    pub handed_at: Time,
    /// The client's side of it.
    pub client: ClientCall,
    /// Number of the draw of its latencies, and for whom.
    pub draw: (u64, u64),
    /// The reply on its way.
    pub result: Option<ApiResult>,
    /// Where it is with its API server.
    pub at_server: AtServer,
    /// Its client has closed the connection: what has not reached etcd never will.
    pub abandoned: bool,
    /// Faults have had their say about its arrival.
    pub has_met_faults: bool,
}

/// Requests in flight, by number.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    slots: Vec<Option<InFlight>>,
    free: Vec<u32>,
}

impl Requests {
    /// Takes a request in.
    pub fn insert(&mut self, request: InFlight) -> RequestId {
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(request);
                RequestId(slot)
            }
            None => {
                self.slots.push(Some(request));
                RequestId(u32::try_from(self.slots.len() - 1).expect("fewer than 2^32 requests are in flight"))
            }
        }
    }

    /// A request in flight.
    pub fn get_mut(&mut self, id: RequestId) -> &mut InFlight {
        self.slots[id.0 as usize].as_mut().expect("an event names a request in flight")
    }

    /// Takes a request out.
    pub fn remove(&mut self, id: RequestId) -> InFlight {
        self.free.push(id.0);
        self.slots[id.0 as usize].take().expect("an event names a request in flight")
    }

    /// All in flight.
    pub fn iter(&self) -> impl Iterator<Item = (RequestId, &InFlight)> {
        let number = |slot: usize| RequestId(u32::try_from(slot).expect("checked when it was taken in"));
        self.slots.iter().enumerate().filter_map(move |(slot, request)| Some((number(slot), request.as_ref()?)))
    }

    /// How many are in flight.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether none is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl World {
    /// The plan it was built from.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The current instant.
    pub fn now(&self) -> Time {
        self.calendar.now()
    }

    /// The current instant, counted from the start.
    pub fn elapsed(&self) -> Span {
        self.calendar.now() - self.plan.start_at
    }

    /// When the run ended; the current instant while it has not.
    pub fn ended_at(&self) -> Time {
        self.ended_at.unwrap_or(self.calendar.now())
    }

    /// What has been counted so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Answers of the API server by verb, kind and HTTP code.
    pub fn answers(&self) -> impl Iterator<Item = (&(&'static str, Kind, u16), &u64)> {
        self.answers.iter()
    }

    /// The API servers, for metrics.
    pub fn servers(&self) -> &Servers {
        &self.servers
    }

    /// The API server with the truth, for probes and invariants.
    pub fn api(&self) -> &ApiServer {
        &self.api
    }

    /// The processes, for probes and invariants.
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Who led, and when nobody or more than one did.
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Makes a record of something that happened in no component; returns its number.
    pub(super) fn note(
        &mut self,
        cause: Cause,
        process: Option<ProcessIndex>,
        action: Action,
        key: Option<Key>,
        detail: impl Into<crate::model::record::Detail>,
    ) -> RecordId {
        let id = RecordId(self.next_record);
        self.next_record += 1;
        if self.unheard {
            return id;
        }
        let mut record = Record::new(id, cause, action, key, detail.into());
        record.time = self.calendar.now();
        if let Some(index) = process {
            record.process = self.processes[index].name.clone();
        }
        self.fill_versions(&mut record, process);
        self.fresh.push(record);
        id
    }

    /// Puts a component's name on the record just made.
    pub(super) fn name_last(&mut self, component: Name) {
        if let Some(record) = self.fresh.last_mut() {
            record.component = component;
        }
    }

    /// What the process had seen of the kind, and what was true: the loop fills this in, never a component.
    pub(super) fn fill_versions(&self, record: &mut Record, process: Option<ProcessIndex>) {
        let Some(key) = &record.key else { return };
        record.truth_rv = self.api.truth().kind_revision(key.kind);
        if let Some(index) = process {
            // A bookmark can carry an informer past the newest version of its kind.
            record.seen_rv = self.processes[index].informers.last_rv(key.kind).min(record.truth_rv);
        }
    }

    /// Nothing is left to do but upkeep and retries that wait for their back-off.
    pub fn is_settled(&self) -> bool {
        self.calendar.work_pending() == 0 && self.is_idle()
    }

    /// Nothing is queued or in flight anywhere.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
            && self.processes.iter().all(|process| {
                // A standby whose queues fill has nothing to do.
                !process.alive
                    || !process.acts
                    || process.components.iter().all(crate::client::process::ComponentSlot::is_idle)
            })
    }
}
