//! Hands an input to a component and carries out what it asks for.

use crate::client::event_recorder::{EventRecorder, Report};
use crate::client::process::ClientUse;
use crate::client::rest::Departure;
use crate::component::{ClientRow, Context, Effect, Input, Outbox, Purpose};
use crate::engine::calendar::Nature;
use crate::model::name::hash_text;
use crate::model::{Action, Cause, Name, RecordId, Request, Span};

use super::client_calls::ClientCall;
use super::election::Answered;
use super::event::{ComponentIndex, Event, ProcessIndex, RequestId, TimerEvent};
use super::physical::Asked;
use super::servers::AtServer;
use super::world::{InFlight, Sender, World};

/// Latency of requests; the parts of one request share the occurrence.
pub(super) const REQUEST_LATENCY: Purpose = Purpose("request-latency");
/// What an attempt adds to the entity of its draws (an odd number, 2^64 over the golden ratio).
const ANOTHER_ATTEMPT: u64 = 0x9E37_79B9_7F4A_7C15;

impl World {
    /// A component handles an input; its records and effects follow at once.
    pub(super) fn hand(&mut self, process: ProcessIndex, component: ComponentIndex, input: Input, cause: Cause) {
        if self.strikes.is_dying(process) {
            return;
        }
        let now = self.hosts[process].clock.monotonic(self.calendar.now());
        let mut out = Outbox::reusing(std::mem::take(&mut self.outbox), cause, self.next_record, self.unheard);
        let owner = &mut self.processes[process];
        let slot = &mut owner.components[component];
        let mut context =
            Context { now, informers: &owner.informers, sensors: &self.plant, draws: &mut self.draws, out: &mut out };
        slot.component.handle(input, &mut context);
        self.next_record = out.next_record();
        if !out.notes.is_empty() {
            self.fresh_notes.append(&mut out.notes);
        }
        self.take_records(process, component, &mut out);
        if !out.effects.is_empty() {
            for (cause, effect) in out.effects.drain(..) {
                self.carry_out(process, component, cause, effect);
            }
        }
        self.outbox = out;
        if !self.endings.is_empty() {
            self.ends_if_idle(process);
        }
    }

    fn take_records(&mut self, process: ProcessIndex, component: ComponentIndex, out: &mut Outbox) {
        let now = self.calendar.now();
        let (begun, failed) = out.reconciles;
        self.counters.reconciles += begun;
        self.counters.retries += failed;
        if out.records.is_empty() {
            return;
        }
        for mut record in out.records.drain(..) {
            record.time = now;
            record.process = self.processes[process].name.clone();
            record.component = self.processes[process].components[component].name.clone();
            self.fill_versions(&mut record, Some(process));
            self.fresh.push(record);
        }
    }

    fn carry_out(&mut self, process: ProcessIndex, component: ComponentIndex, cause: Cause, effect: Effect) {
        if self.strikes.is_dying(process) {
            return;
        }
        match effect {
            Effect::Request { row, request, token } => {
                if self.crashes_at_request((process, component), &request, token, cause) {
                    return;
                }
                let sender = Sender::Component { component, token };
                self.processes[process].components[component].in_flight += 1;
                self.send(process, row, ClientUse::Main, sender, request, cause);
            }
            Effect::SetTimer { token, at, nature, is_root } => {
                let incarnation = self.processes[process].incarnation;
                let at = self.hosts[process].clock.true_instant(at, self.calendar.now());
                let timer = TimerEvent { process, incarnation, component, token, cause, is_root };
                let id = self.calendar.schedule(at, nature, Event::Timer(Box::new(timer)));
                if let Some(replaced) = self.processes[process].components[component].timers.insert(token, id) {
                    self.calendar.cancel(replaced);
                }
            }
            Effect::ClearTimer { token } => {
                if let Some(id) = self.processes[process].components[component].timers.swap_remove(&token) {
                    self.calendar.cancel(id);
                }
            }
            Effect::Event { row, regarding, uid, version, field_path, event_type, reason, message } => {
                let message = Name::from(message);
                let report = Report { regarding, uid, version, field_path, event_type, reason, message };
                match self.plan.processes[process].own_events {
                    true => self.writes_event((process, component), report, cause),
                    false => self.report(process, component, row, report, cause),
                }
            }
            Effect::Container { notice, image, entity } => {
                self.container_begins((process, component), Asked { notice, image, entity }, cause);
            }
        }
    }

    fn report(
        &mut self,
        process: ProcessIndex,
        component: ComponentIndex,
        row: ClientRow,
        report: Report,
        cause: Cause,
    ) {
        let now = self.calendar.now();
        let slot = &mut self.processes[process].components[component];
        let source = event_source(slot.name.as_str());
        let recorder = slot.recorders.entry(row).or_insert_with(|| match source {
            "default-scheduler" => EventRecorder::in_series(Name::new(source)),
            _ => EventRecorder::new(Name::new(source)),
        });
        recorder.report(report, now, cause);
        self.send_next_event(process, component, row);
    }

    /// Sends what the recorder has waiting, if nothing of it is in flight.
    pub(super) fn send_next_event(&mut self, process: ProcessIndex, component: ComponentIndex, row: ClientRow) {
        let slot = &mut self.processes[process].components[component];
        let Some((cause, request)) = slot.recorders.get_mut(&row).and_then(EventRecorder::next_request) else { return };
        slot.in_flight += 1;
        self.send(process, row, ClientUse::Events, Sender::Recorder { component, row }, request, cause);
    }

    /// A client sends a request: it waits for a token, then travels.
    pub(super) fn send(
        &mut self,
        process: ProcessIndex,
        row: ClientRow,
        usage: ClientUse,
        sender: Sender,
        request: Request,
        cause: Cause,
    ) -> RequestId {
        let handed_at = self.calendar.now();
        let draw = self.draw_of(process, &sender, request.verb());
        let incarnation = self.processes[process].incarnation;
        let timeout = match sender {
            // An elector times its calls itself.
            Sender::Elector { .. } => None,
            _ => self.plan.processes[process].request_timeout,
        };
        let client = ClientCall::new(&request, (row, usage), timeout);
        let at_server = AtServer::default();
        let flight = InFlight {
            process,
            incarnation,
            sender,
            request,
            cause,
            handed_at,
            client,
            draw,
            result: None,
            abandoned: false,
            at_server,
            has_met_faults: false,
        };
        let id = self.requests.insert(flight);
        match self.next_departure(id) {
            Departure::After(wait) => self.depart(id, wait),
            Departure::TooLate => unreachable!("a call has no deadline before it has left"),
        }
        id
    }

    /// For whom the latencies of a request are drawn, and its how-manieth of this verb it is.
    fn draw_of(&mut self, process: ProcessIndex, sender: &Sender, verb: &'static str) -> (u64, u64) {
        let owner = &mut self.processes[process];
        let who = owner.name.stable_hash();
        let incarnation = owner.incarnation;
        let (entity, count) = match sender {
            Sender::Component { component, .. } | Sender::Recorder { component, .. } => {
                let slot = &mut owner.components[*component];
                let entity = who ^ slot.name.stable_hash().rotate_left(9) ^ hash_text(verb);
                (entity, slot.sent.entry(verb).or_insert(0))
            }
            Sender::Reflector(kind) => (who ^ kind.draw_number(), &mut owner.lists),
            Sender::Elector { .. } => {
                let election = self.elections[process].as_mut().expect("its elector sends");
                let entity = who ^ hash_text("leader-election") ^ hash_text(verb).rotate_left(9);
                (entity, election.sent.entry(verb).or_insert(0))
            }
        };
        *count += 1;
        // Counters start anew with the process; its incarnation keeps the draws apart.
        (entity, (incarnation << 32) | *count)
    }

    /// The attempt leaves after its wait for a token and arrives after its way.
    pub(super) fn depart(&mut self, id: RequestId, wait: Span) {
        let now = self.calendar.now();
        let flight = self.requests.get_mut(id);
        flight.client.throttled = wait;
        flight.has_met_faults = false;
        if flight.client.call.attempts() > 1 {
            // A latency of its own: that of an attempt, whoever else sends something meanwhile.
            flight.draw.0 = flight.draw.0.wrapping_add(ANOTHER_ATTEMPT);
        } else if let Some(deadline) = flight.client.call.deadline() {
            let event = self.calendar.schedule(deadline, Nature::Work, Event::RequestTimesOut(id));
            flight.client.time_out = Some(event);
        }
        let (entity, occurrence) = flight.draw;
        let by_verb = self.plan.api_server.request_by_verb.get(flight.client.verb);
        let travel = match &self.transport {
            Some(transport) => transport.request_travel(flight.process, &flight.sender),
            None => {
                let latency = by_verb.unwrap_or_else(|| {
                    &super::build::latency_of(&self.plan, &self.processes[flight.process].name).request
                });
                crate::component::draw_span(&mut self.draws, latency, REQUEST_LATENCY, entity, occurrence * 4)
            }
        };
        self.calendar.schedule(now + wait + travel, Nature::Work, Event::RequestArrives(id));
    }

    /// How long the client's rate limiter holds the next attempt back.
    pub(super) fn next_departure(&mut self, id: RequestId) -> Departure {
        let now = self.calendar.now();
        let flight = self.requests.get_mut(id);
        let component = match flight.sender {
            Sender::Component { component, .. } | Sender::Recorder { component, .. } => component,
            // The informers of a process have a client of their own.
            Sender::Reflector(_) => {
                let bucket = self.processes[flight.process].informer_client.as_mut();
                return flight.client.call.depart(now, bucket);
            }
            // An elector has a client of its own too, with one call at a time.
            Sender::Elector { .. } => return flight.client.call.depart(now, None),
        };
        let plan = &self.plan.processes[flight.process];
        let (row, usage) = flight.client.client;
        let (limit, usage) = match (usage, plan.events_client) {
            (ClientUse::Events, Some(own)) => (Some(own), ClientUse::Events),
            _ => (plan.client, ClientUse::Main),
        };
        let limiters = &mut self.processes[flight.process].components[component].limiters;
        let bucket = limit.and_then(|limit| limiters.entry((row, usage)).or_insert_with(|| limit.bucket()).as_mut());
        flight.client.call.depart(now, bucket)
    }

    /// Tells a component of its reply: it is still the one that asked.
    pub(super) fn deliver_reply(&mut self, request: InFlight) {
        let process = request.process;
        let Some(result) = request.result else { unreachable!("a reply that arrives holds a result") };
        // One that acts no more still hears of its lease.
        let is_done = self.processes[process].components.is_empty();
        match request.sender {
            Sender::Elector { call } => {
                let (sent_at, cause) = (request.handed_at, request.cause);
                self.elector_answered(process, call, Answered { result, sent_at, cause });
            }
            _ if is_done => {}
            Sender::Component { component, token } => {
                if self.crashes_at_reply((process, component), token, request.cause) {
                    return;
                }
                self.processes[process].components[component].in_flight -= 1;
                self.hand(process, component, Input::Reply { token, result }, request.cause);
            }
            Sender::Recorder { component, row } => {
                let slot = &mut self.processes[process].components[component];
                slot.in_flight -= 1;
                if let Some(recorder) = slot.recorders.get_mut(&row) {
                    recorder.answered();
                }
                self.send_next_event(process, component, row);
            }
            Sender::Reflector(kind) => self.reflector_answered(process, kind, result, request.cause),
        }
    }

    /// A component's timer fires.
    pub(super) fn timer_fires(&mut self, timer: TimerEvent) {
        let owner = &mut self.processes[timer.process];
        if owner.incarnation != timer.incarnation || !owner.alive {
            return;
        }
        owner.components[timer.component].timers.swap_remove(&timer.token);
        let cause = if timer.is_root {
            let id = self.note(RecordId(0), Some(timer.process), Action::Timer, None, "periodic");
            let name = self.processes[timer.process].components[timer.component].name.clone();
            self.name_last(name);
            id
        } else {
            timer.cause
        };
        self.hand(timer.process, timer.component, Input::Timer { token: timer.token }, cause);
    }
}

/// What Kubernetes Events name as their source.
///
/// Upstream: the `EventSource` of each component's recorder, v1.36.
fn event_source(component: &str) -> &str {
    match component {
        "replicaset" => "replicaset-controller",
        "deployment" => "deployment-controller",
        "horizontalpodautoscaler" => "horizontal-pod-autoscaler",
        "scheduler" => "default-scheduler",
        "kubelet" => "kubelet",
        other => other,
    }
}
