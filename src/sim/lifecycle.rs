//! Processes come and go, faults begin and end, people act.

use crate::client::process::ComponentSlot;
use crate::component::{HandlerResync, Input, Purpose};
use crate::engine::calendar::Nature;
use crate::engine::sampling::uniform_unit;
use crate::model::{Action, Cause, Kind, RecordId, Span};

use super::event::{Event, ProcessIndex};
use super::plan::{FaultAction, ResyncDraw, ResyncPlan};
use super::world::World;
use crate::component::Draws;

const RESYNC_PERIOD: Purpose = Purpose("resync-period");

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
        for slot in &mut owner.components {
            for spec in slot.component.watches() {
                owner.informers.ensure(spec.kind, &spec.selector);
                slot.handlers.push((spec.kind, spec.resync == HandlerResync::Default));
            }
        }
        let kinds: Vec<Kind> = owner.informers.iter().map(|informer| informer.kind).collect();
        let record = self.note(cause, Some(process), Action::ProcessStart, None, "");
        for kind in &kinds {
            self.send_list(process, *kind, record);
        }
        self.start_when_synced(process, record);
    }

    /// Starts the loops of the components once every informer has its first list.
    pub(super) fn start_when_synced(&mut self, process: ProcessIndex, cause: Cause) {
        let owner = &mut self.processes[process];
        if owner.started || !owner.informers.iter().all(|informer| informer.synced) {
            return;
        }
        owner.started = true;
        self.schedule_resyncs(process);
        for component in 0..self.processes[process].components.len() {
            self.hand(process, component, Input::Start, cause);
        }
    }

    fn schedule_resyncs(&mut self, process: ProcessIndex) {
        let incarnation = self.processes[process].incarnation;
        let kinds: Vec<Kind> = self.processes[process].informers.iter().map(|informer| informer.kind).collect();
        let mut periods = Vec::new();
        for kind in kinds {
            let Some(period) = self.resync_period(process, kind) else { continue };
            periods.push((kind, period));
            let event = Event::Resync { process, incarnation, kind };
            self.calendar.schedule(self.calendar.now() + period, Nature::Upkeep, event);
        }
        self.processes[process].resync = periods;
    }

    /// Upstream: cmd/kube-controller-manager/app/controllermanager.go, `ResyncPeriod`, v1.36: the minimum times a factor
    /// in [1, 2), drawn once when the shared informer factory is made.
    fn resync_period(&mut self, process: ProcessIndex, kind: Kind) -> Option<Span> {
        match self.plan.processes[process].resync {
            ResyncPlan::Never => None,
            ResyncPlan::Every(period) => Some(period).filter(|period| *period > Span::ZERO),
            ResyncPlan::AtLeast(minimum) => {
                let owner = &self.processes[process];
                let entity = match self.plan.model.resync_draw {
                    ResyncDraw::PerProcess => owner.name.stable_hash(),
                    ResyncDraw::PerController => owner.name.stable_hash() ^ kind.draw_number(),
                };
                let unit = uniform_unit(self.draws.bits(RESYNC_PERIOD, entity, owner.incarnation));
                Some(Span((minimum.0 as f64 * (1.0 + unit)) as i64))
            }
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
