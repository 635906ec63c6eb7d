//! Hosts of processes: their clocks, and whether they stand still.
//!
//! A host's clock starts off by an offset and runs at a rate. Somebody can step it: then what it shows jumps, while what
//! it measures spans by does not (Go's monotonic reading), unless the host is told to have no such thing.
//!
//! DIVERGES: a step moves the stamps of leader elections only; what controllers and the scheduler write into objects stays
//! on the clock without the step.
//!
//! DIVERGES: a timer that was set before the rate changes fires when the old rate says.

use crate::client::leader_election::Reading;
use crate::engine::calendar::Nature;
use crate::model::{Span, Time};

use super::event::{Event, ProcessIndex};
use super::plan::{ClockPlan, ProcessRef};
use super::world::World;

/// A host's clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HostClock {
    /// Seconds it shows for a true second.
    rate: f64,
    /// A true instant and what the clock showed then.
    since: (Time, Time),
    /// Steps so far that only what it shows follows.
    stepped: Span,
    /// Whether spans are measured by a clock that no step moves.
    is_monotonic: bool,
}

impl HostClock {
    /// A clock as the plan has it, at the true instant at which the run starts.
    pub fn new(plan: &ClockPlan, start: Time) -> HostClock {
        HostClock {
            rate: plan.rate,
            since: (start, start + plan.offset),
            stepped: Span::ZERO,
            is_monotonic: plan.monotonic,
        }
    }

    /// What spans are measured by, at a true instant.
    pub fn monotonic(&self, now: Time) -> Time {
        let (since, shown) = self.since;
        shown + self.scaled(now - since)
    }

    /// Both of its faces at a true instant.
    pub fn reading(&self, now: Time) -> Reading {
        let monotonic = self.monotonic(now);
        Reading { wall: monotonic + self.stepped, monotonic }
    }

    /// How long a span of this clock truly takes.
    pub fn true_span(&self, span: Span) -> Span {
        match self.runs_true() {
            true => span,
            false => Span((span.0 as f64 / self.rate) as i64),
        }
    }

    /// The true instant at which the clock will measure `at`; `now` if that is over.
    pub fn true_instant(&self, at: Time, now: Time) -> Time {
        now + self.true_span(at - self.monotonic(now)).max(Span::ZERO)
    }

    /// Somebody sets it `by` so much forward (or back) at a true instant.
    pub fn step(&mut self, by: Span, now: Time) {
        if self.is_monotonic {
            self.stepped = self.stepped + by;
        } else {
            self.since = (now, self.monotonic(now) + by);
        }
    }

    /// From now on it runs at this rate.
    pub fn set_rate(&mut self, rate: f64, now: Time) {
        self.since = (now, self.monotonic(now));
        self.rate = rate;
    }

    /// From now on a step moves what spans are measured by, or no longer does.
    pub fn set_monotonic(&mut self, is_monotonic: bool) {
        self.is_monotonic = is_monotonic;
    }

    /// Whether it measures spans as they truly are: at the true rate, and no step has moved it.
    pub fn measures_true(&self) -> bool {
        self.runs_true() && self.is_monotonic
    }

    #[expect(clippy::float_cmp, reason = "the rate is given, not computed")]
    fn runs_true(&self) -> bool {
        self.rate == 1.0
    }

    fn scaled(&self, span: Span) -> Span {
        match self.runs_true() {
            true => span,
            false => Span((span.0 as f64 * self.rate) as i64),
        }
    }
}

/// A host: one a process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Host {
    /// Its clock.
    pub clock: HostClock,
    /// It stands still until this true instant: nothing on it happens before.
    pub paused_until: Option<Time>,
}

impl Host {
    /// A host as the plan has it, at the true instant at which the run starts.
    pub fn new(plan: &ClockPlan, start: Time) -> Host {
        Host { clock: HostClock::new(plan, start), paused_until: None }
    }

    /// When something that should happen now can happen; `None` when it can now.
    pub fn resumes_at(&self, now: Time) -> Option<Time> {
        self.paused_until.filter(|until| now < *until)
    }
}

impl World {
    /// The host of a process stands still until an instant.
    pub(super) fn pause(&mut self, process: ProcessIndex, until: Time) {
        let host = &mut self.hosts[process];
        host.paused_until = Some(host.paused_until.map_or(until, |other| other.max(until)));
        self.some_host_paused = true;
        self.note_pause(process);
    }

    /// The clock of a process' host is set, and may run at another rate from now on.
    pub(super) fn change_clock(&mut self, process: ProcessIndex, (step, rate, monotonic): (Span, Option<f64>, bool)) {
        let now = self.calendar.now();
        let clock = &mut self.hosts[process].clock;
        clock.set_monotonic(monotonic);
        clock.step(step, now);
        if let Some(rate) = rate {
            clock.set_rate(rate, now);
        }
    }

    /// Clocks run at the rates of the plan again; a step stays.
    pub(super) fn restore_clocks(&mut self, of: &ProcessRef) {
        let (now, plan) = (self.calendar.now(), self.plan.clone());
        for process in self.addressed(&ProcessRef { leader: false, ..of.clone() }) {
            self.hosts[process].clock.set_rate(plan.processes[process].clock.rate, now);
        }
    }

    /// Puts an event off while the host that it happens on stands still; gives it back if it can happen now.
    pub(super) fn put_off(&mut self, event: Event) -> Option<Event> {
        if !self.some_host_paused {
            return Some(event);
        }
        let process = match &event {
            Event::ReplyArrives(id) | Event::RequestRetries(id) | Event::RequestTimesOut(id) => {
                Some(self.requests.get_mut(*id).process)
            }
            Event::WatchBatch(id) => self.api.watch(*id).map(|watch| watch.owner.0),
            Event::Timer(timer) => Some(timer.process),
            Event::Reflector(timer) => Some(timer.process),
            Event::ContainerStep(step) => Some(step.owner.0),
            Event::Resync { process, .. }
            | Event::Elector { process, .. }
            | Event::HookEnds { process, .. }
            | Event::ShutdownEnds { process, .. }
            | Event::LoopsBegin { process, .. }
            | Event::HandlersCalled { process, .. }
            | Event::ProcessStart { process, .. } => Some(*process),
            Event::RequestArrives(_)
            | Event::Commit(_)
            | Event::CommitSlots
            | Event::ServerWakes(_)
            | Event::WatchUpkeep
            | Event::LoadLook
            | Event::FaultBegins(_)
            | Event::StreamsGivenUp { .. }
            | Event::Crash { .. }
            | Event::FaultEnds(_)
            | Event::Timeline(_) => None,
        };
        let now = self.calendar.now();
        let resumes = process.and_then(|process| Some((process, self.hosts[process].resumes_at(now)?)));
        let Some((process, at)) = resumes else { return Some(event) };
        match event {
            Event::Elector { timer, incarnation, .. } if self.processes[process].incarnation == incarnation => {
                self.put_elector_timer(process, timer, at, event);
            }
            Event::Timer(ref timer) if self.processes[process].incarnation == timer.incarnation => {
                let (component, token) = (timer.component, timer.token);
                let id = self.calendar.schedule(at, Nature::Work, event);
                if let Some(slot) = self.processes[process].components.get_mut(component) {
                    slot.timers.insert(token, id);
                }
            }
            event => {
                self.calendar.schedule(at, Nature::Work, event);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn clock(offset: i64, rate: f64, monotonic: bool) -> HostClock {
        HostClock::new(&ClockPlan { offset: Span(offset * S), rate, monotonic }, Time(100 * S))
    }

    #[test]
    fn a_clock_is_off_and_runs_apart() {
        let clock = clock(30, 1.5, true);
        // 10 s after the start it shows 100 + 30 + 15.
        assert_eq!(clock.monotonic(Time(110 * S)), Time(145 * S));
        // 3 s of it take 2.
        assert_eq!(clock.true_span(Span(3 * S)), Span(2 * S));
        assert_eq!(clock.true_instant(Time(148 * S), Time(110 * S)), Time(112 * S));
        assert_eq!(clock.true_instant(Time(0), Time(110 * S)), Time(110 * S));
    }

    #[test]
    fn a_step_moves_what_is_shown() {
        let mut stepped = clock(0, 1.0, true);
        stepped.step(Span(3600 * S), Time(110 * S));
        let reading = stepped.reading(Time(111 * S));
        assert_eq!((reading.wall, reading.monotonic), (Time(3711 * S), Time(111 * S)));
        let mut moved = clock(0, 1.0, false);
        moved.step(Span(3600 * S), Time(110 * S));
        let reading = moved.reading(Time(111 * S));
        assert_eq!((reading.wall, reading.monotonic), (Time(3711 * S), Time(3711 * S)));
    }

    #[test]
    fn a_new_rate_counts_from_now() {
        let mut clock = clock(0, 1.0, true);
        clock.set_rate(2.0, Time(110 * S));
        assert_eq!(clock.monotonic(Time(111 * S)), Time(112 * S));
    }
}
