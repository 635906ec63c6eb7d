//! All faults of a run: their windows, what they have struck so far, and what they do to whatever comes by.
//!
//! When several faults meet one request, a cut network comes first, then faults in the order of the list: the first that
//! answers, refuses or loses wins, and later ones neither strike nor count the request; delays before it add up.

use std::rc::Rc;

use crate::apiserver::WatchEvent;
use crate::component::{Draws, Purpose, draw_span};
use crate::model::name::hash_text;
use crate::model::{ApiError, Cause, Kind, Labels, Map, Request, Selector, Span, Time};

use super::FaultAction;
use super::api_server::ApiServerFault;
use super::beginning::{Repeat, Trigger, TriggerEvent, Windows};
use super::crash::{CrashPoint, OfReconcile};
use super::partition::{CONNECTION_LOST_AFTER, Void, into_the_void};
use super::refuse_connections::refused;
use super::slow_requests::Slowness;
use super::target::{Addressee, ObjectTarget, RequestTarget, WatchTarget};
use super::trigger::{EventKey, Occurrences, Tally};

const REQUEST_DELAY: Purpose = Purpose("request-fault-delay");
const REPLY_DELAY: Purpose = Purpose("reply-fault-delay");

/// A fault of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// When, from the start.
    pub at: Span,
    /// How long; `None` until the end of the run (or as the action says).
    pub duration: Option<Span>,
    /// It begins when a condition holds, at `at` or later; [`Faults::begin`] tells when.
    pub waits: bool,
    /// It begins with an event, at `at` or later.
    pub after: Option<Trigger>,
    /// How often it begins.
    pub repeat: Repeat,
    /// Whose draws its draws are: the same in variants that change the fault.
    pub name: String,
    /// What it does.
    pub action: FaultAction,
}

/// What a fault remembers.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    /// Keeps its draws apart from those of other faults.
    pub(super) key: u64,
    pub(super) selector: Option<Selector>,
    pub(super) windows: Windows,
    /// Times that it was there for, and those at which luck did not spare the world.
    pub(super) came: u64,
    pub(super) began: u64,
    /// What it begins with: its own selector, and what has come so far.
    pub(super) after_selector: Option<Selector>,
    pub(super) after_tally: Tally,
    pub(super) of_reconcile: OfReconcile,
    /// What was decided of the newest event of each stream: its version, and whether it is late.
    pub(super) late: Map<u64, (u64, bool)>,
}

/// The faults of a run.
#[derive(Clone, Debug)]
pub struct Faults {
    pub(super) list: Rc<[Fault]>,
    pub(super) states: Vec<State>,
    /// Whether any fault can ever hit a request, or a watch event: most runs have none and should not pay.
    of_requests: bool,
    pub(super) of_watches: bool,
    needs_labels: bool,
    /// Whether delays depend on more than the kind of an event.
    needs_events: bool,
    /// Whether any fault begins with a watch event, or with a request.
    pub(super) after_watches: bool,
    pub(super) after_requests: bool,
}

impl Fault {
    /// Whether it is known beforehand when it begins.
    pub(super) fn has_fixed_times(&self) -> bool {
        !self.waits && self.after.is_none() && self.repeat.probability.is_none()
    }

    fn after_event(&self) -> Option<&TriggerEvent> {
        self.after.as_ref().map(|after| &after.event)
    }
}

/// A change on its way to a process, as a fault sees it.
#[derive(Clone, Copy, Debug)]
pub struct ChangeSeen<'a> {
    /// Of which kind.
    pub kind: Kind,
    /// When it was committed.
    pub committed_at: Time,
    /// Its version.
    pub rv: u64,
    /// What the process will be told, where [`Faults::needs_events`].
    pub event: Option<&'a WatchEvent>,
}

/// A request as a fault sees it.
#[derive(Clone, Copy, Debug)]
pub struct RequestSeen<'a> {
    /// Who sent it.
    pub from: Addressee<'a>,
    /// What it asks for.
    pub request: &'a Request,
    /// Labels of the object it is about, where there is one.
    pub labels: Option<&'a Labels>,
    /// What draws belong to.
    pub key: EventKey,
}

/// What happens to a request when it arrives.
#[derive(Clone, PartialEq, Debug)]
pub enum AtServer {
    /// The server answers with an error.
    Answered(ApiError),
    /// The caller learns at once that nobody listens.
    Refused(ApiError),
    /// The caller learns nothing until it gives up.
    Silent(Time, ApiError),
    /// It is not there yet: the network holds it until then.
    Held(Time),
    /// It takes this much longer.
    Slower(Span),
}

/// What happens to a reply when it sets out.
#[derive(Clone, PartialEq, Debug)]
pub enum AtReply {
    /// It comes this much later.
    Later(Span),
    /// The network holds it until then.
    Held(Time),
    /// It is lost; the caller sees the error, at once or when it gives up.
    Lost(Option<Time>, ApiError),
}

impl Faults {
    /// None has struck yet.
    pub fn new(start: Time, list: Vec<Fault>) -> Faults {
        let state = |(index, fault): (usize, &Fault)| {
            let same = list[..index].iter().filter(|earlier| earlier.name == fault.name).count() as u64;
            let begins = start + fault.at;
            let mut windows = Windows::default();
            if fault.has_fixed_times() {
                windows.push(begins, fault.duration.map(|duration| begins + duration));
            }
            State {
                key: hash_text(&fault.name).rotate_left(17).wrapping_add(same),
                selector: object_target(&fault.action).and_then(ObjectTarget::compiled),
                windows,
                after_selector: fault.after.as_ref().and_then(|after| after.object().compiled()),
                ..State::default()
            }
        };
        let states: Vec<State> = list.iter().enumerate().map(state).collect();
        let hits = |test: fn(&FaultAction) -> bool| list.iter().any(|fault| test(&fault.action));
        Faults {
            of_requests: hits(hits_requests),
            of_watches: hits(|action| !hits_requests(action) || cuts_network(action)),
            needs_labels: states.iter().any(|state| state.selector.is_some() || state.after_selector.is_some()),
            needs_events: hits(|action| matches!(action, FaultAction::DelayWatch(of) if looks_at_object(&of.target))),
            after_watches: list.iter().any(|fault| matches!(fault.after_event(), Some(TriggerEvent::WatchEvent(_)))),
            after_requests: list.iter().any(|fault| matches!(fault.after_event(), Some(TriggerEvent::Request(_)))),
            states,
            list: list.into(),
        }
    }

    /// How often each fault struck.
    pub fn struck(&self) -> impl Iterator<Item = u64> {
        self.states.iter().map(|state| state.windows.iter().map(|window| window.tally.struck).sum())
    }

    /// The windows of a fault that have begun or will begin at a known time: start, and end where it has one.
    pub fn windows(&self, fault: usize) -> impl Iterator<Item = (Time, Option<Time>)> {
        self.states[fault].windows.iter().map(|window| (window.begins, window.ends))
    }

    /// The window of a fault that an instant lies in.
    pub fn window(&self, fault: usize, at: Time) -> Option<(Time, Option<Time>)> {
        self.states[fault].windows.covering(at).map(|window| (window.begins, window.ends))
    }

    /// Whether delays of watch events depend on more than their kind.
    pub fn needs_events(&self) -> bool {
        self.needs_events
    }

    /// The fault has struck, as the loop saw (a process that was killed).
    pub fn note_strike(&mut self, fault: usize, now: Time) {
        if let Some(window) = self.states[fault].windows.begun_mut(now) {
            window.tally.struck += 1;
        }
    }

    /// Whether a request can meet a fault at all.
    pub fn of_requests(&self) -> bool {
        self.of_requests
    }

    /// Whether targets ask for labels of the objects that requests are about.
    pub fn needs_labels(&self) -> bool {
        self.needs_labels
    }

    /// Whether an instant lies within the fault, whose end is not part of it.
    pub(super) fn covers(&self, fault: usize, at: Time) -> bool {
        self.states[fault].windows.covering(at).is_some()
    }

    /// When something on a stream that would reach a process at `at` gets there: later while the network is away, and
    /// never when it is away for so long that the stream is given up ([`Faults::gives_up_streams`]); then the answer is
    /// that instant.
    pub fn network_back(&self, to: Addressee<'_>, at: Time) -> Time {
        if !self.of_watches {
            return at;
        }
        let mut at = at;
        // Windows can follow each other.
        while let Some(index) = self.cut_off(to, at) {
            let (began, ends) = self.window(index, at).expect("it covers an instant");
            let given_up = began + CONNECTION_LOST_AFTER;
            match ends {
                Some(ends) if ends <= given_up => at = ends,
                _ => return given_up.max(at),
            }
        }
        at
    }

    /// Whether a fault that began [`CONNECTION_LOST_AFTER`] ago, or an idle time-out ago, still keeps processes from the
    /// API server, so that they give their streams up.
    pub fn gives_up_streams(&self, fault: usize, now: Time) -> bool {
        let patience = match &self.list[fault].action {
            FaultAction::StallWatch(stall) => stall.idle_timeout,
            action => cuts_network(action).then_some(CONNECTION_LOST_AFTER),
        };
        let window = self.window(fault, now);
        patience.is_some_and(|patience| window.is_some_and(|(began, _)| began + patience <= now))
    }

    /// Until when a stream that was opened at `opened_at` is silent, if it is so at `at`: until the fault ends or its client
    /// gives it up.
    pub fn silent_until(&self, to: Addressee<'_>, kind: Kind, opened_at: Time, at: Time) -> Option<Time> {
        if !self.of_watches {
            return None;
        }
        self.list.iter().enumerate().find_map(|(index, fault)| {
            let FaultAction::StallWatch(stall) = &fault.action else { return None };
            let (began, ends) = self.states[index].windows.begun(at).map(|window| (window.begins, window.ends))?;
            let is_meant = stall.kind.is_none_or(|of| of == kind) && stall.to.covers(to) && opened_at < began;
            let given_up = stall.idle_timeout.map(|timeout| began + timeout);
            let until = ends.into_iter().chain(given_up).min().unwrap_or(Time::FAR_FUTURE);
            (is_meant && at < until).then_some(until)
        })
    }

    /// The fault that keeps a process and the API server apart at an instant.
    fn cut_off(&self, who: Addressee<'_>, at: Time) -> Option<usize> {
        self.list.iter().enumerate().position(|(index, fault)| {
            let cuts = match &fault.action {
                FaultAction::Partition(partition) => partition.of.covers(who),
                FaultAction::ApiServer(ApiServerFault::Unreachable) => true,
                _ => false,
            };
            cuts && self.covers(index, at)
        })
    }

    /// What happens to a request that arrives now; `usual` is what it takes in all without a fault.
    pub fn at_server(
        &mut self,
        seen: RequestSeen<'_>,
        now: Time,
        usual: Span,
        draws: &mut dyn Draws,
    ) -> Option<(usize, AtServer)> {
        if !self.of_requests {
            return None;
        }
        if let Some(index) = self.cut_off(seen.from, now) {
            self.note_strike(index, now);
            return Some((index, self.void(index, now)));
        }
        let list = self.list.clone();
        let mut slower: Option<(usize, Span)> = None;
        for (index, fault) in list.iter().enumerate() {
            let struck = match &fault.action {
                FaultAction::ApiServer(ApiServerFault::Down) if self.covers(index, now) => {
                    self.note_strike(index, now);
                    AtServer::Refused(refused())
                }
                FaultAction::RefuseConnections(of)
                    if self.meets(index, &of.target, &of.occurrences, seen, now, draws) =>
                {
                    AtServer::Refused(refused())
                }
                FaultAction::Respond(of) if self.meets(index, &of.target, &of.occurrences, seen, now, draws) => {
                    AtServer::Answered(of.error())
                }
                FaultAction::ApiServer(ApiServerFault::Slow(slowness)) if self.covers(index, now) => {
                    self.note_strike(index, now);
                    AtServer::Slower(self.slowness(index, slowness, usual, seen, draws))
                }
                FaultAction::SlowRequests(of) if self.meets(index, &of.target, &of.occurrences, seen, now, draws) => {
                    AtServer::Slower(self.slowness(index, &of.slowness, usual, seen, draws))
                }
                _ => continue,
            };
            match struck {
                AtServer::Slower(by) => {
                    let (first, so_far) = slower.unwrap_or((index, Span::ZERO));
                    slower = Some((first, so_far + by));
                }
                other => return Some((index, other)),
            }
        }
        slower.map(|(index, by)| (index, AtServer::Slower(by)))
    }

    fn slowness(
        &self,
        fault: usize,
        slowness: &Slowness,
        usual: Span,
        seen: RequestSeen<'_>,
        draws: &mut dyn Draws,
    ) -> Span {
        let entity = self.states[fault].key ^ seen.key.entity;
        slowness.added(usual, |by| draw_span(draws, by, REQUEST_DELAY, entity, seen.key.occurrence))
    }

    fn void(&self, fault: usize, sent: Time) -> AtServer {
        let timeout = match &self.list[fault].action {
            FaultAction::Partition(partition) => partition.timeout,
            _ => None,
        };
        let (began, ends) = self.window(fault, sent).expect("it covers an instant");
        match into_the_void(sent, began, ends, timeout) {
            Void::ArrivesAt(at) => AtServer::Held(at),
            Void::LostUntil(until, error) => AtServer::Silent(until, error),
        }
    }

    /// Whether the server is down, so that what it works on is lost.
    pub fn server_is_down(&self, now: Time) -> bool {
        self.of_requests
            && self.list.iter().enumerate().any(|(index, fault)| {
                matches!(fault.action, FaultAction::ApiServer(ApiServerFault::Down)) && self.covers(index, now)
            })
    }

    /// What happens to the reply of a request that was handed to its client at `handed_at`.
    pub fn at_reply(
        &mut self,
        seen: RequestSeen<'_>,
        handed_at: Time,
        now: Time,
        draws: &mut dyn Draws,
    ) -> Option<(usize, AtReply)> {
        if !self.of_requests {
            return None;
        }
        if let Some(index) = self.cut_off(seen.from, now) {
            self.note_strike(index, now);
            let struck = match self.void(index, now) {
                AtServer::Silent(until, error) => AtReply::Lost(Some(until), error),
                AtServer::Held(until) => AtReply::Held(until),
                other => unreachable!("the void answers nothing: {other:?}"),
            };
            return Some((index, struck));
        }
        let list = self.list.clone();
        list.iter().enumerate().find_map(|(index, fault)| match &fault.action {
            FaultAction::LoseReplies(of) if self.meets(index, &of.target, &of.occurrences, seen, now, draws) => {
                let until = of.timeout.map(|timeout| (handed_at + timeout).max(now));
                Some((index, AtReply::Lost(until, of.error())))
            }
            FaultAction::DelayReplies(of) if self.meets(index, &of.target, &of.occurrences, seen, now, draws) => {
                let entity = self.states[index].key ^ seen.key.entity;
                let by = draw_span(draws, &of.by, REPLY_DELAY, entity, seen.key.occurrence);
                Some((index, AtReply::Later(by)))
            }
            _ => None,
        })
    }

    /// The fault that lets the process die at this request of a reconcile, and where.
    pub fn crashes(
        &mut self,
        seen: RequestSeen<'_>,
        reconcile: Cause,
        now: Time,
        draws: &mut dyn Draws,
    ) -> Option<(usize, CrashPoint)> {
        if !self.of_requests {
            return None;
        }
        let list = self.list.clone();
        list.iter().enumerate().find_map(|(index, fault)| {
            let FaultAction::Crash(crash) = &fault.action else { return None };
            let selector = self.states[index].selector.as_ref();
            let matches = self.covers(index, now)
                && crash.of.covers(seen.from)
                && crash.target.covers(seen.from, seen.request, seen.labels, selector);
            if !matches || self.states[index].of_reconcile.number(reconcile) != crash.nth {
                return None;
            }
            // Records are numbered otherwise when another fault is there: what is drawn belongs to how many came before.
            let came = self.states[index].windows.begun(now).map_or(0, |window| window.tally.matched);
            let key = EventKey { entity: 0, occurrence: came };
            self.strike(index, now, &crash.occurrences, key, draws).then_some((index, crash.point))
        })
    }

    fn meets(
        &mut self,
        fault: usize,
        target: &RequestTarget,
        occurrences: &Occurrences,
        seen: RequestSeen<'_>,
        now: Time,
        draws: &mut dyn Draws,
    ) -> bool {
        self.covers(fault, now)
            && target.covers(seen.from, seen.request, seen.labels, self.states[fault].selector.as_ref())
            && self.strike(fault, now, occurrences, seen.key, draws)
    }

    /// Whether an event of an instant within the fault is struck. Each window counts for itself.
    pub(super) fn strike(
        &mut self,
        fault: usize,
        at: Time,
        which: &Occurrences,
        event: EventKey,
        draws: &mut dyn Draws,
    ) -> bool {
        let state = &mut self.states[fault];
        let Some(window) = state.windows.begun_mut(at) else { return false };
        which.strike(&mut window.tally, state.key, event, draws)
    }
}

/// Whether more than the kind of an event decides.
pub(super) fn looks_at_object(target: &WatchTarget) -> bool {
    let ObjectTarget { namespace, name, selector, .. } = &target.object;
    target.event_type.is_some() || namespace.is_some() || name.is_some() || selector.is_some()
}

/// What the draws about a watch event belong to.
pub(super) fn of_event(to: Addressee<'_>, event: &WatchEvent) -> EventKey {
    let component = to.component.map_or(0, |component| component.stable_hash().rotate_left(9));
    let entity = to.process.stable_hash() ^ component ^ event.object.kind().draw_number();
    EventKey { entity, occurrence: event.object.meta().resource_version.0 }
}

fn object_target(action: &FaultAction) -> Option<&ObjectTarget> {
    Some(match action {
        FaultAction::DropWatchEvents(of) => &of.target.object,
        FaultAction::DuplicateWatchEvents(of) => &of.target.object,
        FaultAction::DelayWatch(of) => &of.target.object,
        FaultAction::Respond(of) => &of.target.object,
        FaultAction::RefuseConnections(of) => &of.target.object,
        FaultAction::LoseReplies(of) => &of.target.object,
        FaultAction::DelayReplies(of) => &of.target.object,
        FaultAction::SlowRequests(of) => &of.target.object,
        FaultAction::Crash(of) => &of.target.object,
        FaultAction::ReorderWatches(_)
        | FaultAction::CutWatch(_)
        | FaultAction::StallWatch(_)
        | FaultAction::Reconnect(_)
        | FaultAction::Partition(_)
        | FaultAction::ApiServer(_)
        | FaultAction::Kill { .. }
        | FaultAction::KillTasks(_)
        | FaultAction::Stop { .. }
        | FaultAction::OomKill(_)
        | FaultAction::Pause { .. }
        | FaultAction::Clock { .. } => return None,
    })
}

fn hits_requests(action: &FaultAction) -> bool {
    match action {
        FaultAction::Respond(_)
        | FaultAction::RefuseConnections(_)
        | FaultAction::LoseReplies(_)
        | FaultAction::DelayReplies(_)
        | FaultAction::SlowRequests(_)
        | FaultAction::Partition(_)
        | FaultAction::ApiServer(_)
        | FaultAction::Crash(_) => true,
        FaultAction::DropWatchEvents(_)
        | FaultAction::DuplicateWatchEvents(_)
        | FaultAction::DelayWatch(_)
        | FaultAction::ReorderWatches(_)
        | FaultAction::CutWatch(_)
        | FaultAction::StallWatch(_)
        | FaultAction::Reconnect(_)
        | FaultAction::Kill { .. }
        | FaultAction::KillTasks(_)
        | FaultAction::Stop { .. }
        | FaultAction::OomKill(_)
        | FaultAction::Pause { .. }
        | FaultAction::Clock { .. } => false,
    }
}

fn cuts_network(action: &FaultAction) -> bool {
    matches!(action, FaultAction::Partition(_) | FaultAction::ApiServer(ApiServerFault::Unreachable))
}
