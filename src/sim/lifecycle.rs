//! Processes come and go, people act.

use crate::client::process::ComponentSlot;
use crate::client::shared_informer::Informer;
use crate::component::Input;
use crate::model::{Action, Cause, RecordId};

use super::event::ProcessIndex;
use super::plan::CacheStart;
use super::world::World;

impl World {
    /// A process starts with empty memory: informers list, components begin when all lists are there.
    pub(super) fn process_starts(&mut self, process: ProcessIndex, cause: Cause) {
        // While a fault keeps the process down, its own start comes when that fault is over.
        if self.processes[process].alive || !self.has_container(process) || self.is_held_down(process) {
            return;
        }
        let clock = self.hosts[process].clock.monotonic(self.calendar.now());
        let components = super::build::components(&self.plan, process, clock);
        let caches = self.plan.processes[process].election.as_ref().map(|election| election.caches);
        let owner = &mut self.processes[process];
        owner.alive = true;
        owner.acts = caches.is_none();
        owner.started = false;
        owner.incarnation += 1;
        owner.lists = 0;
        owner.client_requests.clear();
        owner.informers = crate::component::Informers::new();
        owner.components = components.into_iter().map(ComponentSlot::new).collect();
        let record = self.note(cause, Some(process), Action::ProcessStart, None, "");
        if let Some(transport) = &mut self.transport {
            transport.process_started(process, self.calendar.now());
        }
        match caches {
            Some(CacheStart::OnElection) => self.election_starts(process, record),
            None | Some(CacheStart::AtOnce) => {
                self.start_informers(process, record);
                self.start_when_synced(process, record);
            }
        }
    }

    /// Starts the loops of the components once every informer has its first list and the process may act; one that may
    /// not takes part in its election from then on.
    pub(super) fn start_when_synced(&mut self, process: ProcessIndex, cause: Cause) {
        let owner = &mut self.processes[process];
        if owner.started || !owner.informers.iter().all(Informer::has_synced) {
            return;
        }
        if !owner.acts {
            if self.elections[process].is_none() {
                self.election_starts(process, cause);
            }
            return;
        }
        if self.waits_for_poll(process, cause) {
            return;
        }
        self.processes[process].started = true;
        self.add_late_handlers(process, cause);
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
        self.forget_ending(process);
        self.forget_waiting(process);
        self.stop_acting(process);
        self.election_ends(process);
        let owner = &mut self.processes[process];
        owner.alive = false;
        owner.incarnation += 1;
    }

    /// A process stops to act: queues, caches, timers and watches of its components are gone.
    pub(super) fn stop_acting(&mut self, process: ProcessIndex) {
        let watches: Vec<_> =
            self.api.watches().filter(|watch| watch.owner.0 == process).map(|watch| watch.id).collect();
        for id in watches {
            self.api.close_watch(id);
        }
        if let Some(election) = &self.elections[process] {
            let lease = election.lease().clone();
            self.leadership.ends(&lease, process, self.calendar.now());
        }
        let owner = &mut self.processes[process];
        owner.acts = false;
        owner.started = false;
        owner.informers = crate::component::Informers::new();
        for slot in std::mem::take(&mut owner.components) {
            for id in slot.timers.values() {
                self.calendar.cancel(*id);
            }
        }
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
