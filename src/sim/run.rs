//! The loop: takes events in order of time and sequence until the run ends.

use crate::engine::calendar::Nature;
use crate::model::{RecordId, Span, Time};

use super::event::Event;
use super::observer::Observer;
use super::plan::End;
use super::world::World;

/// How long nothing must have been written before a run counts as quiet.
pub const QUIET: Span = Span::from_seconds(60);

/// Why a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// Its duration was over.
    Duration,
    /// Nothing was left to do.
    Quiet,
    /// It was not quiet when the longest time allowed was over.
    Limit,
    /// The event budget was spent: results are partial.
    Budget,
    /// The observer wanted no more (a full disk): results are partial.
    Stopped,
}

impl World {
    /// Runs to the end of the plan.
    pub fn run(&mut self, observer: &mut dyn Observer) -> Ending {
        self.unheard = !observer.wants_records();
        self.flush(observer);
        loop {
            let bound = self.bound();
            let next = self.calendar.peek_time().unwrap_or(Time::FAR_FUTURE);
            if next > self.calendar.now() {
                if self.conditions_hold() {
                    continue;
                }
                if let Some(ending) = self.end_of_instant(next, bound, observer) {
                    return ending;
                }
                // Budgets end a run at the end of an instant, so that a partial trace is a prefix of the whole one.
                if self.counters.events >= self.plan.event_budget {
                    return Ending::Budget;
                }
                if observer.wants_stop() {
                    return Ending::Stopped;
                }
            }
            self.step(observer);
        }
    }

    /// Runs until an instant, which is finished; for clones in mid-run and for steps.
    pub fn run_until(&mut self, until: Time, observer: &mut dyn Observer) {
        self.unheard = !observer.wants_records();
        self.flush(observer);
        loop {
            let next = self.calendar.peek_time().unwrap_or(Time::FAR_FUTURE);
            if next > self.calendar.now() && self.conditions_hold() {
                continue;
            }
            if next > until {
                return;
            }
            self.step(observer);
        }
    }

    /// Between instants: observers look, and the run may end. `next` is the time of the next event.
    fn end_of_instant(&mut self, next: Time, bound: Bound, observer: &mut dyn Observer) -> Option<Ending> {
        let now = self.calendar.now();
        if self.looked_at != Some(now) {
            self.looked_at = Some(now);
            observer.instant_ends(now, self);
        }
        let (end, ending) = match bound {
            Bound::At(end) => (end, Ending::Duration),
            Bound::QuietOr(limit) => match self.quiet_at() {
                Some(quiet) if quiet.max(self.last_expectation) <= limit => {
                    (quiet.max(self.last_expectation), Ending::Quiet)
                }
                _ => (limit, Ending::Limit),
            },
        };
        while let Some(look) = observer.next_look().filter(|look| *look < next && *look <= end) {
            observer.instant_ends(look.max(now), self);
        }
        if next <= end {
            return None;
        }
        observer.instant_ends(end.max(now), self);
        self.ended_at = Some(end.max(now));
        Some(ending)
    }

    fn bound(&self) -> Bound {
        match self.plan.end {
            End::After(duration) => Bound::At(self.plan.start_at + duration),
            End::Quiet { limit } => Bound::QuietOr(self.plan.start_at + limit),
        }
    }

    /// When the run will be quiet if nothing more happens than upkeep and back-off.
    fn quiet_at(&self) -> Option<Time> {
        self.is_settled().then(|| self.api.truth().last_write().max(self.plan.start_at) + QUIET)
    }

    /// One event.
    fn step(&mut self, observer: &mut dyn Observer) {
        let Some((_, event)) = self.calendar.pop() else { return };
        self.happens(event);
        self.flush(observer);
    }

    /// Carries out what an event means.
    pub(super) fn happens(&mut self, event: Event) {
        self.counters.events += 1;
        let Some(event) = self.put_off(event) else { return };
        match event {
            Event::RequestArrives(id) => self.request_arrives(id),
            Event::Commit(id) => self.commit(id),
            Event::ServerWakes(server) => self.server_wakes(server),
            Event::ReplyArrives(id) => self.reply_arrives(id),
            Event::RequestRetries(id) => self.request_retries(id),
            Event::RequestTimesOut(id) => self.request_times_out(id),
            Event::WatchBatch(id) => self.watch_batch(id),
            Event::HandlersCalled { process, incarnation, kind } => self.call_held_handlers(process, incarnation, kind),
            Event::WatchUpkeep => self.watch_upkeep(),
            Event::Reflector(timer) => self.reflector_timer(*timer),
            Event::Timer(timer) => self.timer_fires(*timer),
            Event::ContainerStep(step) => self.container_step(*step),
            Event::Resync { process, incarnation, kind } => self.resync(process, incarnation, kind),
            Event::Elector { process, incarnation, timer } => self.elector_fires(process, incarnation, timer),
            Event::HookEnds { process, incarnation, cause } => self.hook_ends(process, incarnation, cause),
            Event::ShutdownEnds { process, incarnation, cause } => self.shutdown_ends(process, incarnation, cause),
            Event::ProcessStart { process, cause } => self.process_starts(process, cause),
            Event::CommitSlots => self.assign_slots(),
            Event::LoopsBegin { process, incarnation, cause } => self.loops_begin(process, incarnation, cause),
            Event::LoadLook => self.load_look(),
            Event::FaultBegins(index) => self.fault_begins(index),
            Event::FaultEnds(index) => self.fault_ends(index),
            Event::StreamsGivenUp { fault, cause } => self.streams_given_up(fault, cause),
            Event::Crash { fault, process, cause } => self.crash(fault, process, cause),
            Event::Timeline(index) => self.timeline(index),
        }
    }

    fn flush(&mut self, observer: &mut dyn Observer) {
        for record in &self.fresh {
            observer.record(record);
        }
        self.fresh.clear();
        if !self.fresh_notes.is_empty() {
            for note in self.fresh_notes.drain(..) {
                observer.explained(self.calendar.now(), &note);
            }
        }
    }

    /// What has to happen by itself in every run.
    pub(super) fn schedule_plan(&mut self) {
        let plan = self.plan.clone();
        // First, so that what people do and what faults strike at the very start finds processes.
        for process in (0..self.processes.len()).filter(|index| plan.processes[*index].runs_in.is_none()) {
            let event = Event::ProcessStart { process, cause: RecordId(1) };
            let after = plan.transport.as_ref().map_or(Span::ZERO, |transport| transport.processes_start);
            self.calendar.schedule(plan.start_at + after, Nature::Work, event);
        }
        for (index, entry) in plan.timeline.iter().enumerate() {
            self.calendar.schedule(plan.start_at + entry.at, Nature::Work, Event::Timeline(index));
        }
        for (index, fault) in plan.faults.iter().enumerate() {
            self.calendar.schedule(plan.start_at + fault.at, Nature::Work, Event::FaultBegins(index));
            if let Some(duration) = fault.duration.filter(|_| fault.begins_for_sure()) {
                self.calendar.schedule(plan.start_at + fault.at + duration, Nature::Work, Event::FaultEnds(index));
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Bound {
    At(Time),
    QuietOr(Time),
}
