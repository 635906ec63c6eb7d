//! Carries out what [`crate::faults`] decides: faults begin and end, requests and watch events are hit, processes die.

use std::rc::Rc;

use crate::component::draw_span;
use crate::engine::calendar::Nature;
use crate::faults::partition::CONNECTION_LOST_AFTER;
use crate::faults::trigger::EventKey;
use crate::faults::{
    Addressee, AtReply, AtServer, ChangeSeen, CrashPoint, Fault, KillTasks, RequestSeen, lose_replies,
};
use crate::model::api::Reason;
use crate::model::{Action, Answer, ApiError, Cause, Key, Kind, Labels, Name, RecordId, Request, Rv, Span, Time};

pub use crate::faults::Faults;

use super::dispatch::REQUEST_LATENCY;
use super::event::{ComponentIndex, Event, ProcessIndex, RequestId};
use super::plan::{ApiServerFault, Cut, FaultAction, Plan, ProcessRef, WorldCondition};
use super::streams::StreamBreak;
use super::world::{InFlight, Sender, World};
use crate::apiserver::{WatchEvent, WatchId};
use crate::client::process::Process;

/// Exit code of a process that SIGKILL has ended.
const KILLED: i32 = 137;

/// The faults of a plan, before anything happened.
pub(super) fn of_plan(plan: &Plan) -> Faults {
    let fault = |fault: &super::plan::FaultPlan| Fault {
        at: fault.at,
        duration: fault.duration,
        waits: fault.when.is_some(),
        after: fault.after.clone(),
        repeat: fault.repeat,
        name: fault.name.clone(),
        action: fault.action.clone(),
    };
    Faults::new(plan.start_at, plan.faults.iter().map(fault).collect())
}

/// What faults have done to processes, and which of them wait for a condition.
#[derive(Clone, Debug, Default)]
pub struct Strikes {
    /// Faults that wait for a condition, once their time has come; what they look at had this version when they last did.
    armed: Vec<(usize, Option<u64>)>,
    /// Judges of the faults that have a condition, by fault.
    judges: Vec<Option<Rc<dyn WorldCondition>>>,
    /// Faults whose condition came true, or the event they begin with: they begin at this instant.
    due: Vec<usize>,
    /// Faults that wait for an event, once their time has come.
    listening: Vec<usize>,
    /// Processes that a fault keeps down, and until when.
    down: Vec<(ProcessIndex, Time)>,
    /// Processes that die at this instant: nothing leaves them any more.
    dying: Vec<ProcessIndex>,
    /// Requests whose reply is the death of their process.
    fatal_replies: Vec<FatalReply>,
    /// Faults that connected processes to a server that lags, and that server.
    pub(super) lagging: Vec<(usize, u16)>,
}

/// A request whose reply is the death of its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FatalReply {
    process: ProcessIndex,
    /// Another incarnation has other requests of the same number.
    incarnation: u64,
    component: ComponentIndex,
    token: u64,
    /// By which fault.
    fault: usize,
}

impl Strikes {
    /// Nothing has happened yet.
    pub fn new(plan: &Plan) -> Strikes {
        let judge =
            |fault: &super::plan::FaultPlan| fault.when.as_ref().map(|when| (when.judge)(&when.text, &plan.kinds));
        Strikes { judges: plan.faults.iter().map(judge).collect(), ..Strikes::default() }
    }

    /// Whether the process dies at this instant.
    pub fn is_dying(&self, process: ProcessIndex) -> bool {
        !self.dying.is_empty() && self.dying.contains(&process)
    }
}

impl World {
    /// How often each fault of the plan has struck, in the plan's order.
    pub fn fault_strikes(&self) -> Vec<u64> {
        self.faults.struck().collect()
    }

    /// When a fault of the plan has begun and ended, or will as far as that is known: one that waits for its condition has
    /// no window yet, one that repeats has many.
    pub fn fault_windows(&self, fault: usize) -> Vec<(Time, Option<Time>)> {
        self.faults.windows(fault).collect()
    }

    /// A fault's time has come: it begins, or waits from now on for its condition or its event.
    pub(super) fn fault_begins(&mut self, index: usize) {
        let plan = self.plan.clone();
        let fault = &plan.faults[index];
        if fault.when.is_some() || fault.after.is_some() {
            let Some(due) = self.strikes.due.iter().position(|due| *due == index) else {
                return match fault.when {
                    Some(_) => self.strikes.armed.push((index, None)),
                    None => self.strikes.listening.push(index),
                };
            };
            self.strikes.due.remove(due);
        }
        let now = self.calendar.now();
        let begun = self.faults.begin(index, now, &mut self.draws);
        if let Some(again) = begun.again {
            self.calendar.schedule(again, Nature::Work, Event::FaultBegins(index));
        }
        if !begun.strikes {
            self.note(RecordId(0), None, Action::Fault, None, format!("does not begin this time: {}", fault.text));
            return;
        }
        // The end of what begins at its time, whatever happens, is in the calendar from the start.
        let is_planned = fault.begins_for_sure() && now == plan.start_at + fault.at;
        if let Some(ends) = begun.ends.filter(|_| !is_planned) {
            self.calendar.schedule(ends, Nature::Work, Event::FaultEnds(index));
        }
        let record = self.note(RecordId(0), None, Action::Fault, None, format!("begins: {}", fault.text));
        self.strikes_at_once(index, fault, record);
    }

    /// A watch event has reached a process: faults that wait for it begin at this instant.
    pub(super) fn event_sets_off(&mut self, process: ProcessIndex, event: &WatchEvent) {
        if self.strikes.listening.is_empty() {
            return;
        }
        let to = Addressee::process(&self.processes[process]);
        let begin = self.faults.begin_after_event(to, event, &mut self.draws);
        self.begin_now(begin);
    }

    /// A request was carried out: faults that wait for it begin at this instant.
    pub(super) fn request_sets_off(&mut self, id: RequestId, request: &Request) {
        if self.strikes.listening.is_empty() || !self.faults.after_requests() {
            return;
        }
        let now = self.calendar.now();
        let labels = labels_of(&self.api, &self.faults, request);
        let seen = seen(&self.processes, self.requests.get_mut(id), request, labels.as_ref());
        let begin = self.faults.begin_after_request(seen, now, &mut self.draws);
        self.begin_now(begin);
    }

    fn begin_now(&mut self, faults: Vec<usize>) {
        for fault in faults.into_iter().filter(|fault| self.strikes.listening.contains(fault)) {
            self.strikes.due.push(fault);
            self.calendar.schedule(self.calendar.now(), Nature::Work, Event::FaultBegins(fault));
        }
    }

    /// What a fault does the moment it begins.
    fn strikes_at_once(&mut self, index: usize, fault: &super::plan::FaultPlan, record: RecordId) {
        let now = self.calendar.now();
        if let FaultAction::Kill { process, .. }
        | FaultAction::Stop { process, .. }
        | FaultAction::Pause { process }
        | FaultAction::Clock { process, .. } = &fault.action
        {
            self.addressed(process).into_iter().for_each(|_| self.faults.note_strike(index, now));
        }
        match &fault.action {
            FaultAction::Kill { process, restart_after } => {
                for target in self.addressed(process) {
                    let back = fault.duration.unwrap_or(*restart_after).max(Span::ZERO);
                    self.goes_down(target, back, record);
                }
            }
            FaultAction::KillTasks(kill) => self.kills_tasks(index, kill, record),
            FaultAction::Stop { process, restart_after } => {
                for target in self.addressed(process) {
                    self.told_to_end(target, fault.duration.unwrap_or(*restart_after), record);
                }
            }
            FaultAction::OomKill(victims) => {
                (0..self.out_of_memory(victims, record)).for_each(|_| self.faults.note_strike(index, now));
            }
            FaultAction::Pause { process } => {
                let until = fault.duration.map_or(Time::FAR_FUTURE, |duration| self.calendar.now() + duration);
                self.addressed(process).into_iter().for_each(|target| self.pause(target, until));
            }
            FaultAction::Clock { process, step, rate, monotonic } => {
                for target in self.addressed(process) {
                    self.change_clock(target, (*step, *rate, *monotonic));
                }
            }
            FaultAction::Partition(_) | FaultAction::ApiServer(ApiServerFault::Unreachable) => {
                // On open streams nothing comes any more, also when nobody sends a request.
                let all = || (0..self.processes.len()).collect();
                let cut_off = fault.action.process().map_or_else(all, |of| self.addressed(of));
                self.note_streams(index, &cut_off, None);
                let at = self.calendar.now() + CONNECTION_LOST_AFTER;
                self.calendar.schedule(at, Nature::Work, Event::StreamsGivenUp { fault: index, cause: record });
            }
            // The server's end of every connection closes: clients see the streams end, and find nobody to resume them.
            FaultAction::ApiServer(ApiServerFault::Down) => {
                (0..self.processes.len())
                    .for_each(|process| self.close_streams(process, None, StreamBreak::Clean, record));
            }
            FaultAction::CutWatch(cut) => {
                let how = match cut.cut {
                    Cut::Clean => StreamBreak::Clean,
                    Cut::Error => StreamBreak::Error(Reason::InternalError),
                    Cut::Gone => StreamBreak::Gone,
                };
                let meant = self.addressed(&cut.to);
                self.note_streams(index, &meant, cut.kind);
                for process in meant {
                    self.close_streams(process, cut.kind, how, record);
                }
            }
            FaultAction::Reconnect(reconnect) => self.reconnects(index, reconnect, record),
            FaultAction::StallWatch(stall) => {
                self.note_streams(index, &self.addressed(&stall.to), stall.kind);
                if let Some(timeout) = stall.idle_timeout {
                    let at = self.calendar.now() + timeout;
                    self.calendar.schedule(at, Nature::Work, Event::StreamsGivenUp { fault: index, cause: record });
                }
            }
            _ => {}
        }
    }

    /// Background tasks end without having done anything; who fired them goes on.
    fn kills_tasks(&mut self, index: usize, kill: &KillTasks, cause: Cause) {
        let now = self.calendar.now();
        let selector = kill.target.compiled();
        for process in self.addressed(&kill.process) {
            let mut left = kill.count.unwrap_or(u64::MAX);
            let truth = self.api.truth();
            let mut is_meant = |key: &Key| {
                let labels = truth.get(key).map(|object| &object.meta().labels);
                let meant = left > 0 && labels.is_some_and(|labels| kill.covers(key, labels, selector.as_ref()));
                left -= u64::from(meant);
                meant
            };
            let components = self.processes[process].components.iter_mut();
            let ended: Vec<(Name, Key)> = components
                .flat_map(|slot| {
                    let ended = slot.component.end_tasks(&mut is_meant);
                    let name = slot.name.clone();
                    ended.into_iter().map(move |key| (name.clone(), key))
                })
                .collect();
            for (component, key) in ended {
                self.faults.note_strike(index, now);
                self.note(cause, Some(process), Action::Lost, Some(key), "the background task is killed");
                self.name_last(component);
            }
        }
    }

    /// Counts the streams that a fault hits.
    pub(super) fn note_streams(&mut self, fault: usize, meant: &[ProcessIndex], kind: Option<Kind>) {
        let is_meant = |watch: &&crate::apiserver::Watch| {
            meant.contains(&watch.owner.0) && kind.is_none_or(|kind| kind == watch.kind)
        };
        let now = self.calendar.now();
        for _ in 0..self.api.watches().filter(is_meant).count() {
            self.faults.note_strike(fault, now);
        }
    }

    /// Clients that have not heard of the API server for too long give their streams up.
    pub(super) fn streams_given_up(&mut self, fault: usize, cause: Cause) {
        let now = self.calendar.now();
        if !self.faults.gives_up_streams(fault, now) {
            return;
        }
        let plan = self.plan.clone();
        if let FaultAction::StallWatch(stall) = &plan.faults[fault].action {
            let (began, _) = self.faults.window(fault, now).expect("it lasts");
            let meant = self.addressed(&stall.to);
            let is_silent = |watch: &&crate::apiserver::Watch| {
                meant.contains(&watch.owner.0)
                    && stall.kind.is_none_or(|kind| kind == watch.kind)
                    && watch.open_since < began
            };
            let silent: Vec<_> = self.api.watches().filter(is_silent).map(|watch| watch.id).collect();
            silent.into_iter().for_each(|id| self.silence(id, Some(Span::ZERO), cause));
            return;
        }
        let cut_off = match &plan.faults[fault].action {
            FaultAction::Partition(partition) => self.addressed(&partition.of),
            _ => (0..self.processes.len()).collect(),
        };
        for process in cut_off {
            self.close_streams(process, None, StreamBreak::Silent { idle_timeout: Some(Span::ZERO) }, cause);
        }
    }

    /// A process stops, and starts again after a while unless another fault still keeps it down then.
    fn goes_down(&mut self, process: ProcessIndex, back: Span, cause: Cause) {
        self.strikes.down.push((process, self.calendar.now() + back));
        self.hosted_exits(process, KILLED, cause);
        self.process_exits(process, back, cause);
    }

    /// A fault ends.
    pub(super) fn fault_ends(&mut self, index: usize) {
        let plan = self.plan.clone();
        let text = format!("ends: {}", plan.faults[index].text);
        let record = self.note(RecordId(0), None, Action::Fault, None, text);
        match &plan.faults[index].action {
            FaultAction::Clock { process, .. } => self.restore_clocks(process),
            FaultAction::Reconnect(_) => self.reconnects_home(index, record),
            _ => {}
        }
    }

    pub(super) fn addressed(&self, to: &ProcessRef) -> Vec<ProcessIndex> {
        let is_meant = |process: &Process| to.covers(Addressee::process(process));
        (0..self.processes.len()).filter(|index| is_meant(&self.processes[*index])).collect()
    }

    /// Whether a fault keeps the process down at this instant; its own start follows when that fault is over.
    pub(super) fn is_held_down(&mut self, process: ProcessIndex) -> bool {
        let now = self.calendar.now();
        self.strikes.down.retain(|(_, until)| now < *until);
        self.strikes.down.iter().any(|(down, _)| *down == process)
    }

    /// The end of an instant: faults whose condition holds now begin in it. Whether there are any.
    pub(super) fn conditions_hold(&mut self) -> bool {
        if self.strikes.armed.is_empty() {
            return false;
        }
        let mut armed = std::mem::take(&mut self.strikes.armed);
        let before = armed.len();
        armed.retain_mut(|(index, seen)| {
            let judge = self.strikes.judges[*index].clone().expect("only faults with a condition are armed");
            let version = self.version_of(judge.as_ref());
            if *seen == Some(version) && !judge.depends_on_metrics() {
                return true;
            }
            *seen = Some(version);
            if !judge.holds(self) {
                return true;
            }
            self.strikes.due.push(*index);
            self.calendar.schedule(self.calendar.now(), Nature::Work, Event::FaultBegins(*index));
            false
        });
        let began = armed.len() < before;
        self.strikes.armed = armed;
        began
    }

    /// The newest version of anything that a condition looks at.
    fn version_of(&self, condition: &dyn WorldCondition) -> u64 {
        self.plan
            .kinds
            .iter()
            .filter(|kind| condition.depends_on(*kind))
            .map(|kind| self.api.truth().kind_revision(kind).0)
            .max()
            .unwrap_or(0)
    }

    /// How much later the next change on a watch reaches its process.
    pub(super) fn watch_delay(&mut self, id: WatchId, committed_at: Time, rv: Rv) -> Span {
        let watch = self.api.watch(id).expect("an open watch");
        let (process, kind) = (watch.owner.0, watch.kind);
        let event = if self.faults.needs_events() { self.api.peek_entry(id) } else { None };
        let event = event.as_ref().filter(|event| event.object.meta().resource_version == rv);
        let to = Addressee::process(&self.processes[process]);
        let change = ChangeSeen { kind, committed_at, rv: rv.0, event };
        self.faults.watch_delay(to, change, &mut self.draws)
    }

    /// How much later a component's handler is told of an event, and by which fault.
    pub(super) fn handler_delay(
        &mut self,
        process: ProcessIndex,
        component: &Name,
        event: &WatchEvent,
    ) -> Option<(usize, Span)> {
        let to = Addressee::component(&self.processes[process], component);
        self.faults.handler_delay(to, event, &mut self.draws)
    }

    /// When something on a stream gets to a process: later while nothing passes the network or the stream is silent. A
    /// silent stream ends at its time-out at the latest, and what was held comes then.
    pub(super) fn reaches(&self, id: WatchId, undisturbed: Time) -> Time {
        let Some(watch) = self.api.watch(id) else { return undisturbed };
        let to = Addressee::process(&self.processes[watch.owner.0]);
        let at = self.faults.network_back(to, undisturbed);
        match self.faults.silent_until(to, watch.kind, watch.open_since, at) {
            Some(until) => until.min(watch.deadline.max(at)),
            None => at,
        }
    }

    /// Whether a stream is silent now.
    pub(super) fn is_silent(&self, id: WatchId) -> bool {
        let now = self.calendar.now();
        self.reaches(id, now) > now
    }

    /// When something gets to a process: later while nothing passes the network.
    pub(super) fn network_back(&self, process: ProcessIndex, at: Time) -> Time {
        self.faults.network_back(Addressee::process(&self.processes[process]), at)
    }

    /// The fault that takes a watch event from a process or one of its components.
    pub(super) fn drops(
        &mut self,
        process: ProcessIndex,
        component: Option<&Name>,
        event: &WatchEvent,
    ) -> Option<usize> {
        let to = Addressee { component, ..Addressee::process(&self.processes[process]) };
        self.faults.drops(to, event, &mut self.draws)
    }

    /// How many more times an event comes, and by which fault.
    pub(super) fn copies(&mut self, process: ProcessIndex, event: &WatchEvent) -> Option<(usize, u32)> {
        let to = Addressee::process(&self.processes[process]);
        self.faults.copies(to, event, &mut self.draws)
    }

    /// A request arrives and would be carried out at `served_at`: whether a fault sees to it.
    pub(super) fn request_meets_faults(&mut self, id: RequestId, served_at: Time) -> bool {
        if !self.faults.of_requests() {
            return false;
        }
        let (now, usual) = (self.calendar.now(), self.usual_time(id));
        let flight = self.requests.get_mut(id);
        if flight.has_met_faults {
            return false;
        }
        let flight = &*flight;
        let labels = labels_of(&self.api, &self.faults, &flight.request);
        let seen = seen(&self.processes, flight, &flight.request, labels.as_ref());
        let Some((fault, struck)) = self.faults.at_server(seen, now, usual, &mut self.draws) else { return false };
        match struck {
            AtServer::Held(until) => self.calendar.schedule(until, Nature::Work, Event::RequestArrives(id)),
            AtServer::Slower(by) => {
                self.requests.get_mut(id).has_met_faults = true;
                self.calendar.schedule(now + by, Nature::Work, Event::RequestArrives(id))
            }
            AtServer::Answered(error) => {
                let reply = self.reply_time(id);
                self.fails(id, fault, served_at + reply, error, IsAnswer::Yes)
            }
            AtServer::Refused(error) => {
                let reply = self.reply_time(id);
                self.fails(id, fault, now + reply, error, IsAnswer::No)
            }
            AtServer::Silent(until, error) => self.fails(id, fault, until, error, IsAnswer::No),
        };
        true
    }

    /// A write that the server was working on when it went down.
    pub(super) fn dies_with_the_server(&mut self, id: RequestId) -> bool {
        if !self.faults.server_is_down(self.calendar.now()) || !self.requests.get_mut(id).request.is_write() {
            return false;
        }
        let is_down =
            |fault: &super::plan::FaultPlan| matches!(fault.action, FaultAction::ApiServer(ApiServerFault::Down));
        let fault = self.plan.faults.iter().position(is_down).expect("a fault keeps the server down");
        let reply = self.reply_time(id);
        self.fails(id, fault, self.calendar.now() + reply, lose_replies::broken(), IsAnswer::No);
        true
    }

    /// The request ends in an error that its client sees at `at`; nothing was done.
    fn fails(
        &mut self,
        id: RequestId,
        fault: usize,
        at: Time,
        error: ApiError,
        is_answer: IsAnswer,
    ) -> crate::engine::calendar::EventId {
        self.leave_server(id);
        let flight = self.requests.get_mut(id);
        let (process, cause) = (flight.process, flight.cause);
        // The request stays with its sender, who may send it again.
        let request = flight.request.clone();
        let key = Some(request.key()).filter(|key| !key.name.is_empty());
        let why = &self.plan.faults[fault].text;
        let (action, text) = match is_answer {
            IsAnswer::Yes => {
                let text = format!("{} {:?}: {} ({why})", error.code(), error.reason, error.message);
                (super::requests::action_of(&request), super::requests::of_kind(&request, text))
            }
            IsAnswer::No => (Action::Lost, format!("{} lost: {} ({why})", request.verb(), error.message)),
        };
        let record = self.note(cause, Some(process), action, key, text);
        self.name_component(id);
        if is_answer == IsAnswer::Yes {
            self.counters.requests += 1;
            self.count(&request, &Err(error.clone()), request.kind());
        }
        let flight = self.requests.get_mut(id);
        flight.cause = record;
        flight.result = Some(Err(error));
        self.calendar.schedule(at, Nature::Work, Event::ReplyArrives(id))
    }

    /// When the reply of an executed request gets to its client; a fault may replace it by an error.
    pub(super) fn reply_meets_faults(&mut self, id: RequestId, request: &Request, usual: Time) -> Time {
        if !self.faults.of_requests() {
            return usual;
        }
        let now = self.calendar.now();
        let flight = &*self.requests.get_mut(id);
        let labels = match &flight.result {
            Some(Ok(Answer::Object(object))) if self.faults.needs_labels() => Some(object.meta().labels.clone()),
            _ => labels_of(&self.api, &self.faults, request),
        };
        let seen = seen(&self.processes, flight, request, labels.as_ref());
        let Some((fault, struck)) = self.faults.at_reply(seen, flight.handed_at, now, &mut self.draws) else {
            return usual;
        };
        match struck {
            AtReply::Later(by) => usual + by,
            AtReply::Held(until) => until.max(usual),
            AtReply::Lost(until, mut error) => {
                let (process, cause) = (flight.process, flight.cause);
                if self.transport.is_some() {
                    error.message = super::lockstep::transport::connection_reset(request);
                }
                let key = Some(request.key()).filter(|key| !key.name.is_empty());
                let verb = request.verb();
                let text = format!("reply of {verb} lost: {} ({})", error.message, self.plan.faults[fault].text);
                let record = self.note(cause, Some(process), Action::Lost, key, text);
                self.name_component(id);
                let flight = self.requests.get_mut(id);
                flight.cause = record;
                flight.result = Some(Err(error));
                // The client may send it again.
                flight.request = request.clone();
                until.unwrap_or(usual)
            }
        }
    }

    /// What a request takes in all, if nothing is in its way.
    fn usual_time(&mut self, id: RequestId) -> Span {
        let flight = self.requests.get_mut(id);
        let ((entity, occurrence), is_write) = (flight.draw, flight.request.is_write());
        let latency = super::build::latency_of(&self.plan, &self.processes[flight.process].name);
        let there = self.plan.api_server.request_by_verb.get(flight.request.verb()).unwrap_or(&latency.request);
        let mut piece = |of, number| draw_span(&mut self.draws, of, REQUEST_LATENCY, entity, occurrence * 4 + number);
        let there_and_back = piece(there, 0) + piece(&latency.reply, 2);
        if is_write { there_and_back + piece(&latency.commit, 1) } else { there_and_back }
    }

    fn reply_time(&mut self, id: RequestId) -> Span {
        let flight = self.requests.get_mut(id);
        if let Some(transport) = &self.transport {
            return transport.answer_travel(flight.process, &flight.sender);
        }
        let (entity, occurrence) = flight.draw;
        let latency = super::build::latency_of(&self.plan, &self.processes[flight.process].name);
        draw_span(&mut self.draws, &latency.reply, REQUEST_LATENCY, entity, occurrence * 4 + 2)
    }

    /// A component is about to send a request: whether its process dies before that. It may also be that it will die of
    /// the reply.
    pub(super) fn crashes_at_request(
        &mut self,
        (process, component): (ProcessIndex, ComponentIndex),
        request: &Request,
        token: u64,
        cause: Cause,
    ) -> bool {
        if !self.faults.of_requests() {
            return false;
        }
        let owner = &self.processes[process];
        let from = Addressee::component(owner, &owner.components[component].name);
        let labels = labels_of(&self.api, &self.faults, request);
        let key = EventKey { entity: 0, occurrence: 0 };
        let seen = RequestSeen { from, request, labels: labels.as_ref(), key };
        match self.faults.crashes(seen, cause, self.calendar.now(), &mut self.draws) {
            None => false,
            Some((fault, CrashPoint::After)) => {
                let incarnation = self.processes[process].incarnation;
                self.strikes.fatal_replies.push(FatalReply { process, incarnation, component, token, fault });
                false
            }
            Some((fault, CrashPoint::Before)) => {
                self.dies(fault, process, cause);
                true
            }
        }
    }

    /// A reply comes to a component: whether its process dies of it.
    pub(super) fn crashes_at_reply(
        &mut self,
        (process, component): (ProcessIndex, ComponentIndex),
        token: u64,
        cause: Cause,
    ) -> bool {
        let incarnation = self.processes[process].incarnation;
        let is_this = |fatal: &FatalReply| {
            (fatal.process, fatal.incarnation, fatal.component, fatal.token) == (process, incarnation, component, token)
        };
        let Some(fatal) = self.strikes.fatal_replies.iter().position(is_this) else { return false };
        let fault = self.strikes.fatal_replies.remove(fatal).fault;
        self.dies(fault, process, cause);
        true
    }

    fn dies(&mut self, fault: usize, process: ProcessIndex, cause: Cause) {
        self.strikes.dying.push(process);
        self.calendar.schedule(self.calendar.now(), Nature::Work, Event::Crash { fault, process, cause });
    }

    /// The process dies, and comes back after a while.
    pub(super) fn crash(&mut self, fault: usize, process: ProcessIndex, cause: Cause) {
        self.strikes.dying.retain(|dying| *dying != process);
        self.strikes.fatal_replies.retain(|fatal| fatal.process != process);
        let plan = self.plan.clone();
        let FaultAction::Crash(crash) = &plan.faults[fault].action else {
            unreachable!("only a crash lets a process die at a point")
        };
        let record = self.note(cause, Some(process), Action::Lost, None, plan.faults[fault].text.clone());
        self.goes_down(process, crash.restart_after, record);
    }
}

/// Whether an error is an answer of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IsAnswer {
    Yes,
    No,
}

fn seen<'a>(
    processes: &'a [Process],
    flight: &'a InFlight,
    request: &'a Request,
    labels: Option<&'a Labels>,
) -> RequestSeen<'a> {
    let owner = &processes[flight.process];
    let component = match flight.sender {
        Sender::Component { component, .. } | Sender::Recorder { component, .. } => owner.components.get(component),
        Sender::Reflector(_) | Sender::Elector { .. } => None,
    };
    let from = Addressee { component: component.map(|slot| &slot.name), ..Addressee::process(owner) };
    let (entity, occurrence) = flight.draw;
    RequestSeen { from, request, labels, key: EventKey { entity, occurrence } }
}

/// Labels of the object that a request brings or names; nothing when no fault asks for labels.
fn labels_of(api: &crate::apiserver::ApiServer, faults: &Faults, request: &Request) -> Option<Labels> {
    if !faults.needs_labels() {
        return None;
    }
    match request {
        Request::Create(object) | Request::Update(object) | Request::UpdateStatus(object) => {
            Some(object.meta().labels.clone())
        }
        other => api.truth().get(&other.key()).map(|object| object.meta().labels.clone()),
    }
}
