//! Processes come and go, faults begin and end, people act.

use crate::client::process::ComponentSlot;
use crate::client::shared_informer::Informer;
use crate::component::Input;
use crate::engine::calendar::Nature;
use crate::model::{Action, Cause, RecordId, Span};

use super::event::{Event, ProcessIndex};
use super::plan::FaultAction;
use super::world::World;

impl World {
    /// A process starts with empty memory: informers list, components begin when all lists are there.
    pub(super) fn process_starts(&mut self, process: ProcessIndex, cause: Cause) {
        // While a fault keeps the process down, its own start comes when that fault is over.
        if self.processes[process].alive || self.faults.holds_down(&self.processes[process], self.calendar.now()) {
            return;
        }
        let components = super::build::components(&self.plan, process, self.calendar.now());
        let owner = &mut self.processes[process];
        owner.alive = true;
        owner.started = false;
        owner.incarnation += 1;
        owner.lists = 0;
        owner.client_requests.clear();
        owner.informers = crate::component::Informers::new();
        owner.components = components.into_iter().map(ComponentSlot::new).collect();
        let record = self.note(cause, Some(process), Action::ProcessStart, None, "");
        self.start_informers(process, record);
        self.start_when_synced(process, record);
    }

    /// Starts the loops of the components once every informer has its first list.
    pub(super) fn start_when_synced(&mut self, process: ProcessIndex, cause: Cause) {
        let owner = &mut self.processes[process];
        if owner.started || !owner.informers.iter().all(Informer::has_synced) {
            return;
        }
        owner.started = true;
        for component in 0..self.processes[process].components.len() {
            self.hand(process, component, Input::Start, cause);
        }
    }

    /// A process dies: its memory, timers and watches are gone; what it had sent goes on, answers find nobody.
    pub(super) fn process_stops(&mut self, process: ProcessIndex, cause: Cause) {
        if !self.processes[process].alive {
            return;
        }
        self.note(cause, Some(process), Action::ProcessStop, None, "");
        let watches: Vec<_> =
            self.api.watches().filter(|watch| watch.owner.0 == process).map(|watch| watch.id).collect();
        for id in watches {
            self.api.close_watch(id);
        }
        let owner = &mut self.processes[process];
        owner.alive = false;
        owner.started = false;
        owner.incarnation += 1;
        owner.informers = crate::component::Informers::new();
        for slot in std::mem::take(&mut owner.components) {
            for id in slot.timers.values() {
                self.calendar.cancel(*id);
            }
        }
    }

    /// A fault begins.
    pub(super) fn fault_begins(&mut self, index: usize) {
        let plan = self.plan.clone();
        let fault = &plan.faults[index];
        let record = self.note(RecordId(0), None, Action::Fault, None, format!("begins: {}", fault.text));
        if let FaultAction::Kill { process, restart_after } = &fault.action {
            for target in self.addressed(process) {
                self.process_stops(target, record);
                let back = fault.duration.unwrap_or(*restart_after).max(Span::ZERO);
                let event = Event::ProcessStart { process: target, cause: record };
                self.calendar.schedule(self.calendar.now() + back, Nature::Work, event);
            }
        }
    }

    /// A fault ends.
    pub(super) fn fault_ends(&mut self, index: usize) {
        let text = format!("ends: {}", self.plan.faults[index].text);
        self.note(RecordId(0), None, Action::Fault, None, text);
    }

    fn addressed(&self, to: &super::plan::ProcessRef) -> Vec<ProcessIndex> {
        (0..self.processes.len())
            .filter(|index| super::faults::is_addressed(to, &self.processes[*index], None))
            .collect()
    }

    /// Somebody acts: the command goes to kubectl, which talks to the API server like everyone else.
    pub(super) fn timeline(&mut self, index: usize) {
        let text = self.plan.timeline[index].command.text.clone();
        let record = self.note(RecordId(0), None, Action::User, None, text);
        let found = self.processes.iter().position(|process| process.name == super::build::KUBECTL);
        let kubectl = found.expect("a plan with a timeline has kubectl");
        if !self.processes[kubectl].started {
            self.note(record, Some(kubectl), Action::Decide, None, "the command is lost: kubectl does not run");
            return;
        }
        self.hand(kubectl, 0, Input::Timer { token: index as u64 }, record);
    }
}
