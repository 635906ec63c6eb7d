//! The election of a process: runs its elector, sends its calls, and lets the process act or end.
//!
//! Upstream: cmd/kube-controller-manager/app/controllermanager.go (informers start when it leads; it exits when it stops
//! leading), cmd/kube-scheduler/app/server.go (informers start first), v1.36.

use std::rc::Rc;

use crate::client::leader_election::{ElectionRecord, Elector, Input, LockReply, LockRequest, Output, Timer};
use crate::client::process::ClientUse;
use crate::component::ClientRow;
use crate::engine::calendar::{EventId, Nature};
use crate::model::api::Reason;
use crate::model::{
    Action, Answer, ApiResult, Cause, Key, Kind, Lease, Map, Meta, Name, Object, RecordId, Request, Rv, Span, Time,
};

use super::event::{Event, ProcessIndex, RequestId};
use super::plan::{CacheStart, ElectionPlan};
use super::world::{Sender, World};

/// What a running process does in its election.
#[derive(Clone)]
pub struct Election {
    elector: Elector,
    /// The Lease's name, by which leaders are counted.
    lease: Name,
    /// The Lease as it was read or written last: what the elector does not change goes with its next write.
    object: Option<Rc<Lease>>,
    timers: [Option<EventId>; Timer::ALL.len()],
    /// The call in flight: its request, its number, and whether it is a Get.
    flight: Option<(RequestId, u64, bool)>,
    /// Calls sent, by verb: occurrences of latency draws.
    pub(super) sent: Map<&'static str, u64>,
    /// The record of the last call or timer.
    cause: Cause,
    /// When the last write that was answered was sent and answered.
    renewed: Option<(Time, Time)>,
    /// It stood still since its last renewal.
    was_paused: bool,
    /// Its work has ended, and until when it acts nevertheless.
    acts_until: Option<Time>,
    /// From its end to its next start.
    back: Span,
}

impl Election {
    /// The elector, for probes.
    pub fn elector(&self) -> &Elector {
        &self.elector
    }

    /// Name of the Lease.
    pub fn lease(&self) -> &Name {
        &self.lease
    }
}

impl World {
    /// The election that a process takes part in, for probes.
    pub fn election(&self, process: ProcessIndex) -> Option<&Election> {
        self.elections[process].as_ref()
    }

    /// A process begins to compete.
    pub(super) fn election_starts(&mut self, process: ProcessIndex, cause: Cause) {
        let plan = self.plan.clone();
        let Some(election) = &plan.processes[process].election else { return };
        let owner = &self.processes[process];
        // Upstream: host name and a uuid, so that no two processes share an identity.
        let identity = format!("{}_{}", owner.name.as_str().replace('#', "-"), owner.incarnation);
        self.elections[process] = Some(Election {
            elector: Elector::new(election.settings, Name::new(identity)),
            lease: Name::new(&election.name),
            object: None,
            timers: [None; Timer::ALL.len()],
            flight: None,
            sent: Map::default(),
            cause,
            renewed: None,
            was_paused: false,
            acts_until: None,
            back: election.restart_after,
        });
        self.elect(process, Input::Start, cause);
    }

    /// A process is asked to end, and starts again `back` after its end.
    pub(super) fn process_ends(&mut self, process: ProcessIndex, back: Span, cause: Cause) {
        match &mut self.elections[process] {
            Some(election) if self.processes[process].alive => {
                election.back = back;
                self.elect(process, Input::Cancel, cause);
            }
            _ => self.process_exits(process, back, cause),
        }
    }

    /// A process is over, and starts again after a while, unless it runs in a container: then its kubelet starts that anew.
    pub(super) fn process_exits(&mut self, process: ProcessIndex, back: Span, cause: Cause) {
        // Without its lease it exits with 1.
        self.hosted_exits(process, if self.is_ending(process) { 0 } else { 1 }, cause);
        self.process_stops(process, cause);
        let event = Event::ProcessStart { process, cause };
        self.calendar.schedule(self.calendar.now() + back.max(Span::ZERO), Nature::Work, event);
    }

    /// A timer of an elector fires.
    pub(super) fn elector_fires(&mut self, process: ProcessIndex, incarnation: u64, timer: Timer) {
        if self.processes[process].incarnation != incarnation {
            return;
        }
        let Some(election) = &mut self.elections[process] else { return };
        election.timers[timer as usize] = None;
        let cause = match timer {
            Timer::Call | Timer::Deadline => election.cause,
            Timer::Tick | Timer::Acquire | Timer::Round => {
                self.note(RecordId(0), Some(process), Action::Timer, None, "leader election")
            }
        };
        self.elect(process, Input::Timer(timer), cause);
    }

    /// An elector's call is answered.
    pub(super) fn elector_answered(&mut self, process: ProcessIndex, call: u64, answered: Answered) {
        let now = self.calendar.now();
        let Some(election) = &mut self.elections[process] else { return };
        let Some((_, _, is_get)) = election.flight.take_if(|(_, number, _)| *number == call) else { return };
        let reply = match answered.result {
            Ok(Answer::Object(Object::Lease(lease))) => {
                let resource_version = lease.meta.resource_version.0;
                let reply = if is_get {
                    LockReply::Found { record: record_of(&lease), resource_version }
                } else {
                    election.renewed = Some((answered.sent_at, now));
                    election.was_paused = false;
                    LockReply::Written { resource_version }
                };
                election.object = Some(lease);
                reply
            }
            Err(error) if error.reason == Reason::NotFound => LockReply::NotFound,
            _ => LockReply::Failed,
        };
        self.elect(process, Input::Reply { call, reply }, answered.cause);
    }

    /// The elector of a process takes an input; what it asks for is carried out at once.
    fn elect(&mut self, process: ProcessIndex, input: Input, cause: Cause) {
        let reading = self.hosts[process].clock.reading(self.calendar.now());
        let Some(election) = &mut self.elections[process] else { return };
        election.cause = cause;
        let mut outputs = Vec::new();
        election.elector.handle(input, reading, &mut self.draws, &mut outputs);
        for output in outputs {
            match output {
                Output::Send { call, request } => self.elector_sends(process, call, request, cause),
                Output::Abandon { .. } => self.elector_abandons(process),
                Output::SetTimer { timer, after } => self.set_elector_timer(process, timer, after),
                Output::ClearTimer(timer) => self.clear_elector_timer(process, timer),
                Output::NewLeader(leader) => {
                    let text = match leader.is_empty() {
                        true => "nobody leads".to_string(),
                        false => format!("new leader: {leader}"),
                    };
                    self.note(cause, Some(process), Action::Decide, None, text);
                }
                Output::Started => self.process_leads(process, cause),
                Output::WorkDone => self.work_ends(process, cause),
                Output::Stopped => self.leave_if_done(process, cause),
            }
        }
    }

    fn elector_sends(&mut self, process: ProcessIndex, call: u64, request: LockRequest, cause: Cause) {
        let plan = self.plan.clone();
        let (Some(plan), Some(election)) = (&plan.processes[process].election, &self.elections[process]) else {
            return;
        };
        let is_get = request == LockRequest::Get;
        let request = match request {
            LockRequest::Get => Request::Get(Key::new(Kind::Lease, plan.namespace.as_str(), plan.name.as_str())),
            LockRequest::Create(record) => Request::Create(lease_of(plan, None, &record).into()),
            LockRequest::Update { record, resource_version } => {
                let mut lease = lease_of(plan, election.object.as_deref(), &record);
                lease.meta.resource_version = Rv(resource_version);
                Request::Update(lease.into())
            }
        };
        let id = self.send(process, ClientRow(0), ClientUse::Main, Sender::Elector { call }, request, cause);
        if let Some(election) = &mut self.elections[process] {
            election.flight = Some((id, call, is_get));
        }
    }

    /// Nobody waits for the call any more: what has not reached etcd never will, as its connection is closed.
    fn elector_abandons(&mut self, process: ProcessIndex) {
        let flight = self.elections[process].as_mut().and_then(|election| election.flight.take());
        if let Some((id, _, _)) = flight {
            self.requests.get_mut(id).abandoned = true;
            self.give_up_call(id);
        }
    }

    fn set_elector_timer(&mut self, process: ProcessIndex, timer: Timer, after: Span) {
        self.clear_elector_timer(process, timer);
        let at = self.calendar.now() + self.hosts[process].clock.true_span(after);
        let event = Event::Elector { process, incarnation: self.processes[process].incarnation, timer };
        self.put_elector_timer(process, timer, at, event);
    }

    /// Schedules an elector's timer, which may be one that waited for its host.
    pub(super) fn put_elector_timer(&mut self, process: ProcessIndex, timer: Timer, at: Time, event: Event) {
        let id = self.calendar.schedule(at, Nature::Upkeep, event);
        if let Some(election) = &mut self.elections[process] {
            election.timers[timer as usize] = Some(id);
        }
    }

    fn clear_elector_timer(&mut self, process: ProcessIndex, timer: Timer) {
        let election = self.elections[process].as_mut();
        if let Some(id) = election.and_then(|election| election.timers[timer as usize].take()) {
            self.calendar.cancel(id);
        }
    }

    /// A process has won: it acts from now on.
    fn process_leads(&mut self, process: ProcessIndex, cause: Cause) {
        let now = self.calendar.now();
        let Some(lease) = self.elections[process].as_ref().map(|election| election.lease.clone()) else { return };
        let record = self.note(cause, Some(process), Action::Decide, None, format!("leads: {lease}"));
        let mut leadership = std::mem::take(&mut self.leadership);
        leadership.begins(&lease, process, now, |old| self.why_both_may_act(old, process));
        self.leadership = leadership;
        self.processes[process].acts = true;
        let caches = self.plan.processes[process].election.as_ref().map(|election| election.caches);
        if caches == Some(CacheStart::OnElection) {
            self.start_informers(process, record);
        }
        self.start_when_synced(process, record);
    }

    /// The context of a leader's work is cancelled; a stop hook lets it act a while longer.
    fn work_ends(&mut self, process: ProcessIndex, cause: Cause) {
        let hook = self.plan.processes[process].election.as_ref().map_or(Span::ZERO, |election| election.stop_hook);
        let incarnation = self.processes[process].incarnation;
        let until = self.calendar.now() + self.hosts[process].clock.true_span(hook);
        let Some(election) = &mut self.elections[process] else { return };
        election.acts_until = Some(until);
        let text = format!("leads no more: {}", election.lease);
        let record = self.note(cause, Some(process), Action::Decide, None, text);
        match hook {
            Span::ZERO => self.stop_acting(process),
            _ => {
                let event = Event::HookEnds { process, incarnation, cause: record };
                self.calendar.schedule(until, Nature::Work, event);
            }
        }
    }

    /// A stop hook is over.
    pub(super) fn hook_ends(&mut self, process: ProcessIndex, incarnation: u64, cause: Cause) {
        if self.processes[process].incarnation == incarnation && self.elections[process].is_some() {
            self.stop_acting(process);
            self.leave_if_done(process, cause);
        }
    }

    /// A process whose elector has stopped and that acts no more exits: it does not compete again.
    fn leave_if_done(&mut self, process: ProcessIndex, cause: Cause) {
        let now = self.calendar.now();
        let Some(election) = &self.elections[process] else { return };
        if election.elector.is_stopped() && election.acts_until.is_none_or(|until| until <= now) {
            let back = election.back;
            self.process_exits(process, back, cause);
        }
    }

    /// A dead process competes no more.
    pub(super) fn election_ends(&mut self, process: ProcessIndex) {
        for timer in Timer::ALL {
            self.clear_elector_timer(process, timer);
        }
        self.elections[process] = None;
    }

    /// A host stood still: what its elector believes may be long over.
    pub(super) fn note_pause(&mut self, process: ProcessIndex) {
        if let Some(election) = &mut self.elections[process] {
            election.was_paused = true;
        }
    }

    /// What permits a new leader beside an old one, although everybody keeps the rules; `None` if nothing does.
    ///
    /// With true clocks the old one acts until a retry period and a renew deadline after the answer to its last renewal,
    /// the new one begins a lease after it saw that renewal, so not before its commit.
    fn why_both_may_act(&self, old: ProcessIndex, new: ProcessIndex) -> Option<&'static str> {
        let settings = self.plan.processes[old].election.as_ref()?.settings;
        let Some(election) = &self.elections[old] else { return Some("no election holds it") };
        let apart = [old, new].iter().any(|process| !self.hosts[*process].clock.measures_true());
        let (sent, answered) = election.renewed.unwrap_or_default();
        let grace = settings.lease_duration - settings.renew_deadline - settings.retry_period;
        if apart {
            Some("clocks that run apart")
        } else if election.was_paused {
            Some("a host that stood still")
        } else if election.acts_until.is_some() {
            Some("a stop hook that outlives the lease")
        } else if answered - sent > grace {
            Some("a renewal that was answered late")
        } else {
            None
        }
    }
}

/// An answer to an elector's call.
pub(super) struct Answered {
    /// What came.
    pub result: ApiResult,
    /// When the request was sent.
    pub sent_at: Time,
    /// The record of the request.
    pub cause: Cause,
}

/// Upstream: tools/leaderelection/resourcelock/leaselock.go, `LeaseSpecToLeaderElectionRecord`.
fn record_of(lease: &Lease) -> ElectionRecord {
    ElectionRecord {
        holder: lease.holder.clone(),
        lease_duration_seconds: i32::try_from(lease.duration_seconds).unwrap_or(i32::MAX),
        acquire_time: lease.acquire_time.unwrap_or_default(),
        renew_time: lease.renew_time.unwrap_or_default(),
        transitions: i32::try_from(lease.transitions.unwrap_or(0)).unwrap_or(i32::MAX),
    }
}

/// The Lease that a candidate writes: a record over what it knows of the object.
///
/// Upstream: the same file, `LeaderElectionRecordToLeaseSpec`.
fn lease_of(plan: &ElectionPlan, known: Option<&Lease>, record: &ElectionRecord) -> Lease {
    let micro = |time: Time| Some(Time(time.0.div_euclid(1_000) * 1_000));
    let meta =
        known.map_or_else(|| Meta::named(plan.namespace.as_str(), plan.name.as_str()), |lease| lease.meta.clone());
    Lease {
        meta,
        holder: record.holder.clone(),
        duration_seconds: i64::from(record.lease_duration_seconds),
        acquire_time: micro(record.acquire_time),
        renew_time: micro(record.renew_time),
        transitions: Some(i64::from(record.transitions)),
    }
}
