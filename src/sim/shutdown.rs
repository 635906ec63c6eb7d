//! Orderly ends: an operator that is told to end (SIGTERM) first ends what it has in hand.
//!
//! Its context is cancelled, so no key comes in any more and calls fail; workers end their reconciles, for which it waits so
//! long as its settings say. Only then does it stop to compete for its lease, and perhaps gives it back. A process without
//! such settings, or one that does nothing, stops at once.
//!
//! Upstream: sigs.k8s.io/controller-runtime pkg/manager/internal.go (`engageStopProcedure`), v0.24.

use crate::component::Input;
use crate::engine::calendar::Nature;
use crate::model::{Action, ApiError, Cause, Span};

use super::event::{Event, ProcessIndex, RequestId};
use super::plan::{ComponentPlan, OperatorSettings};
use super::world::{Sender, World};

/// A process that is about to end.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    process: ProcessIndex,
    /// From its end to its next start.
    back: Span,
    /// The record of what told it to end.
    cause: Cause,
    /// Nothing is in hand any more: the event of its end is on its way.
    is_over: bool,
}

impl World {
    /// A process is told to end, and starts again `back` after its end. Told twice it ends at once.
    pub(super) fn told_to_end(&mut self, process: ProcessIndex, back: Span, cause: Cause) {
        if self.endings.iter().any(|ending| ending.process == process) {
            return self.process_exits(process, back, cause);
        }
        let owner = &self.processes[process];
        let shutdown = self.operator(process).map(|operator| operator.shutdown);
        let shutdown = shutdown.filter(|shutdown| owner.started && owner.acts && shutdown.timeout > Span::ZERO);
        let Some(shutdown) = shutdown.filter(|_| owner.alive) else { return self.process_ends(process, back, cause) };
        let incarnation = owner.incarnation;
        let text = format!("SIGTERM: takes no more keys, waits {} at most for reconciles under way", shutdown.timeout);
        let record = self.note(cause, Some(process), Action::Decide, None, text);
        self.endings.push(Ending { process, back, cause: record, is_over: false });
        let at = self.calendar.now() + self.hosts[process].clock.true_span(shutdown.timeout);
        self.calendar.schedule(at, Nature::Work, Event::ShutdownEnds { process, incarnation, cause: record });
        for component in 0..self.processes[process].components.len() {
            self.hand(process, component, Input::Cancel, record);
        }
        if !shutdown.without_cancel {
            self.cancel_calls(process, record);
        }
        self.ends_if_idle(process);
    }

    /// What a process that is told to end does about its work, if it is an operator.
    fn operator(&self, process: ProcessIndex) -> Option<&OperatorSettings> {
        self.plan.processes[process].components.iter().find_map(|component| match component {
            ComponentPlan::Operator(_, settings) => Some(settings.as_ref()),
            _ => None,
        })
    }

    /// The calls of a process' components are cancelled: callers are told at once, and what has not reached etcd never will.
    fn cancel_calls(&mut self, process: ProcessIndex, cause: Cause) {
        let incarnation = self.processes[process].incarnation;
        let calls: Vec<RequestId> = self
            .requests
            .iter()
            .filter(|(_, flight)| flight.process == process && flight.incarnation == incarnation)
            .filter(|(_, flight)| matches!(flight.sender, Sender::Component { .. }) && !flight.client.is_given_up)
            .map(|(id, _)| id)
            .collect();
        for id in calls {
            let flight = self.requests.get_mut(id);
            flight.abandoned = true;
            let mut answer = flight.clone();
            answer.result = Some(Err(ApiError::canceled()));
            answer.cause = cause;
            if let Some(time_out) = self.requests.get_mut(id).client.time_out.take() {
                self.calendar.cancel(time_out);
            }
            self.give_up_call(id);
            self.deliver_reply(answer);
        }
    }

    /// After something happened in a process that is about to end: whether it has nothing in hand any more.
    pub(super) fn ends_if_idle(&mut self, process: ProcessIndex) {
        let owner = &self.processes[process];
        let is_idle = owner.components.iter().all(|slot| slot.component.is_idle());
        let incarnation = owner.incarnation;
        let ending = self.endings.iter_mut().find(|ending| ending.process == process && !ending.is_over);
        if let Some(ending) = ending.filter(|_| is_idle) {
            ending.is_over = true;
            let event = Event::ShutdownEnds { process, incarnation, cause: ending.cause };
            self.calendar.schedule(self.calendar.now(), Nature::Work, event);
        }
    }

    /// Nothing is in hand any more, or there was too much of it.
    pub(super) fn shutdown_ends(&mut self, process: ProcessIndex, incarnation: u64, cause: Cause) {
        let Some(position) = self.endings.iter().position(|ending| ending.process == process) else { return };
        if !self.processes[process].is(incarnation) {
            return;
        }
        let ending = self.endings[position];
        if !ending.is_over {
            let words = "does not wait any longer: reconciles under way are cut off";
            self.note(cause, Some(process), Action::Decide, None, words);
        }
        self.process_ends(process, ending.back, cause);
    }

    /// A process is gone, however it ended.
    pub(super) fn forget_ending(&mut self, process: ProcessIndex) {
        self.endings.retain(|ending| ending.process != process);
    }

    /// Whether a process was told to end.
    pub(super) fn is_ending(&self, process: ProcessIndex) -> bool {
        self.endings.iter().any(|ending| ending.process == process)
    }
}
