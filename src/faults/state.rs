//! All faults of a run: their windows, what they have struck so far, and what they do to whatever comes by.

use std::rc::Rc;

use crate::apiserver::WatchEvent;
use crate::component::{Draws, Purpose, draw_span};
use crate::engine::sampling::uniform_unit;
use crate::model::name::hash_text;
use crate::model::{ApiError, Cause, Kind, Labels, Request, Selector, Span, Time};

use super::FaultAction;
use super::api_server::ApiServerFault;
use super::crash::{CrashPoint, OfReconcile};
use super::drop_watch_events::DropStage;
use super::partition::{CONNECTION_LOST_AFTER, Void, into_the_void};
use super::refuse_connections::refused;
use super::slow_requests::Slowness;
use super::target::{Addressee, ObjectTarget, RequestTarget};
use super::trigger::{EventKey, Occurrences, Tally};

const WATCH_DELAY: Purpose = Purpose("watch-fault-delay");
const WATCH_DELAY_CHANCE: Purpose = Purpose("watch-fault-delay-chance");
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
    /// Whose draws its draws are: the same in variants that change the fault.
    pub name: String,
    /// What it does.
    pub action: FaultAction,
}

/// What a fault remembers.
#[derive(Clone, Debug, Default)]
struct State {
    /// Keeps its draws apart from those of other faults.
    key: u64,
    selector: Option<Selector>,
    /// Its window, once known: from the first instant to the one that is no more part of it.
    window: Option<(Time, Option<Time>)>,
    tally: Tally,
    of_reconcile: OfReconcile,
}

/// The faults of a run.
#[derive(Clone, Debug)]
pub struct Faults {
    list: Rc<[Fault]>,
    states: Vec<State>,
    /// Whether any fault can ever hit a request, or a watch event: most runs have none and should not pay.
    of_requests: bool,
    of_watches: bool,
    needs_labels: bool,
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
            State {
                key: hash_text(&fault.name).rotate_left(17).wrapping_add(same),
                selector: object_target(&fault.action).and_then(ObjectTarget::compiled),
                window: (!fault.waits).then(|| (begins, fault.duration.map(|duration| begins + duration))),
                ..State::default()
            }
        };
        let states: Vec<State> = list.iter().enumerate().map(state).collect();
        let hits = |test: fn(&FaultAction) -> bool| list.iter().any(|fault| test(&fault.action));
        Faults {
            of_requests: hits(hits_requests),
            of_watches: hits(|action| !hits_requests(action) || cuts_network(action)),
            needs_labels: states.iter().any(|state| state.selector.is_some()),
            states,
            list: list.into(),
        }
    }

    /// How often each fault struck.
    pub fn struck(&self) -> impl Iterator<Item = u64> {
        self.states.iter().map(|state| state.tally.struck)
    }

    /// Windows of the faults that have begun or will begin at a known time: start, and end where it has one.
    pub fn windows(&self) -> impl Iterator<Item = Option<(Time, Option<Time>)>> {
        self.states.iter().map(|state| state.window)
    }

    /// The condition of a fault holds: it begins now. Gives its end, if it has one.
    pub fn begin(&mut self, fault: usize, now: Time) -> Option<Time> {
        let ends = self.list[fault].duration.map(|duration| now + duration);
        self.states[fault].window = Some((now, ends));
        ends
    }

    /// The fault has struck, as the loop saw (a process that was killed).
    pub fn note_strike(&mut self, fault: usize) {
        self.states[fault].tally.struck += 1;
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
    fn covers(&self, fault: usize, at: Time) -> bool {
        let window = self.states[fault].window;
        window.is_some_and(|(begins, ends)| begins <= at && ends.is_none_or(|ends| at < ends))
    }

    /// The fault that takes this event from a process (`stage: store`, without a component) or from one of its
    /// components (`stage: handler`), if any. Events are judged by when they were committed.
    pub fn drops(&mut self, to: Addressee<'_>, event: &WatchEvent, draws: &mut dyn Draws) -> Option<usize> {
        if !self.of_watches {
            return None;
        }
        let stage = if to.component.is_some() { DropStage::Handler } else { DropStage::Store };
        let list = self.list.clone();
        list.iter().enumerate().position(|(index, fault)| {
            let FaultAction::DropWatchEvents(drop) = &fault.action else { return false };
            drop.stage == stage
                && self.covers(index, event.committed_at)
                && drop.target.covers(to, event, self.states[index].selector.as_ref())
                && self.strike(index, &drop.occurrences, of_event(to, event), draws)
        })
    }

    /// How many more times the event comes, and by which fault.
    pub fn copies(&mut self, to: Addressee<'_>, event: &WatchEvent, draws: &mut dyn Draws) -> Option<(usize, u32)> {
        if !self.of_watches {
            return None;
        }
        let list = self.list.clone();
        list.iter().enumerate().find_map(|(index, fault)| {
            let FaultAction::DuplicateWatchEvents(duplicate) = &fault.action else { return None };
            let strikes = self.covers(index, event.committed_at)
                && duplicate.target.covers(to, event, self.states[index].selector.as_ref())
                && self.strike(index, &duplicate.occurrences, of_event(to, event), draws);
            strikes.then_some((index, duplicate.copies))
        })
    }

    /// How much later a change that was committed at `committed_at` with version `rv` reaches a process. Asked as often as
    /// the loop likes: the answer is the same.
    pub fn watch_delay(
        &mut self,
        to: Addressee<'_>,
        kind: Kind,
        committed_at: Time,
        rv: u64,
        draws: &mut dyn Draws,
    ) -> Span {
        let mut delay = Span::ZERO;
        if !self.of_watches {
            return delay;
        }
        let list = self.list.clone();
        for (index, fault) in list.iter().enumerate() {
            let (by, probability) = match &fault.action {
                FaultAction::DelayWatch(of) if of.kind.is_none_or(|of| of == kind) && of.to.covers(to) => {
                    (&of.by, of.probability)
                }
                FaultAction::ReorderWatches(of)
                    if (of.kinds.is_empty() || of.kinds.contains(&kind)) && of.to.covers(to) =>
                {
                    (&of.by, None)
                }
                _ => continue,
            };
            if !self.covers(index, committed_at) {
                continue;
            }
            let entity = self.states[index].key ^ to.process.stable_hash() ^ kind.draw_number();
            let unlucky = |probability: f64| uniform_unit(draws.bits(WATCH_DELAY_CHANCE, entity, rv)) < probability;
            if probability.is_none_or(unlucky) {
                delay = delay + draw_span(draws, by, WATCH_DELAY, entity, rv);
                // Counts looks, not events: what matters is whether it ever struck.
                self.states[index].tally.struck += 1;
            }
        }
        delay
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
            let (began, ends) = self.states[index].window.expect("it covers an instant");
            let given_up = began + CONNECTION_LOST_AFTER;
            match ends {
                Some(ends) if ends <= given_up => at = ends,
                _ => return given_up.max(at),
            }
        }
        at
    }

    /// Whether a fault that began [`CONNECTION_LOST_AFTER`] ago still keeps processes from the API server, so that they
    /// give their streams up.
    pub fn gives_up_streams(&self, fault: usize, now: Time) -> bool {
        let gives_up =
            cuts_network(&self.list[fault].action) || matches!(self.list[fault].action, FaultAction::StallWatch(_));
        gives_up && self.covers(fault, now)
    }

    /// Until when a stream that was opened at `opened_at` is silent, if it is so at `at`: until the fault ends or its client
    /// gives it up.
    pub fn silent_until(&self, to: Addressee<'_>, kind: Kind, opened_at: Time, at: Time) -> Option<Time> {
        if !self.of_watches {
            return None;
        }
        self.list.iter().enumerate().find_map(|(index, fault)| {
            let FaultAction::StallWatch(stall) = &fault.action else { return None };
            let (began, ends) = self.states[index].window?;
            let is_meant = stall.kind.is_none_or(|of| of == kind) && stall.to.covers(to) && opened_at < began;
            let given_up = stall.idle_timeout.map(|timeout| began + timeout);
            let until = ends.into_iter().chain(given_up).min().unwrap_or(Time::FAR_FUTURE);
            (is_meant && began <= at && at < until).then_some(until)
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
            self.states[index].tally.struck += 1;
            return Some((index, self.void(index, now)));
        }
        let list = self.list.clone();
        let mut slower: Option<(usize, Span)> = None;
        for (index, fault) in list.iter().enumerate() {
            let struck = match &fault.action {
                FaultAction::ApiServer(ApiServerFault::Down) if self.covers(index, now) => {
                    self.states[index].tally.struck += 1;
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
                    self.states[index].tally.struck += 1;
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
        let (began, ends) = self.states[fault].window.expect("it covers an instant");
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
            self.states[index].tally.struck += 1;
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
    pub fn crashes(&mut self, seen: RequestSeen<'_>, reconcile: Cause, now: Time) -> Option<(usize, CrashPoint)> {
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
            let state = &mut self.states[index];
            if !matches || state.of_reconcile.number(reconcile) != crash.nth || state.tally.struck >= crash.count {
                return None;
            }
            state.tally.struck += 1;
            Some((index, crash.point))
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
            && self.strike(fault, occurrences, seen.key, draws)
    }

    fn strike(&mut self, fault: usize, which: &Occurrences, event: EventKey, draws: &mut dyn Draws) -> bool {
        let state = &mut self.states[fault];
        which.strike(&mut state.tally, state.key, event, draws)
    }
}

/// What the draws about a watch event belong to.
fn of_event(to: Addressee<'_>, event: &WatchEvent) -> EventKey {
    let component = to.component.map_or(0, |component| component.stable_hash().rotate_left(9));
    let entity = to.process.stable_hash() ^ component ^ event.object.kind().draw_number();
    EventKey { entity, occurrence: event.object.meta().resource_version.0 }
}

fn object_target(action: &FaultAction) -> Option<&ObjectTarget> {
    Some(match action {
        FaultAction::DropWatchEvents(of) => &of.target.object,
        FaultAction::DuplicateWatchEvents(of) => &of.target.object,
        FaultAction::Respond(of) => &of.target.object,
        FaultAction::RefuseConnections(of) => &of.target.object,
        FaultAction::LoseReplies(of) => &of.target.object,
        FaultAction::DelayReplies(of) => &of.target.object,
        FaultAction::SlowRequests(of) => &of.target.object,
        FaultAction::Crash(of) => &of.target.object,
        FaultAction::DelayWatch(_)
        | FaultAction::ReorderWatches(_)
        | FaultAction::CutWatch(_)
        | FaultAction::StallWatch(_)
        | FaultAction::Reconnect(_)
        | FaultAction::Partition(_)
        | FaultAction::ApiServer(_)
        | FaultAction::Kill { .. }
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
        | FaultAction::Stop { .. }
        | FaultAction::OomKill(_)
        | FaultAction::Pause { .. }
        | FaultAction::Clock { .. } => false,
    }
}

fn cuts_network(action: &FaultAction) -> bool {
    matches!(action, FaultAction::Partition(_) | FaultAction::ApiServer(ApiServerFault::Unreachable))
}
