//! Which faults are under way, and what they do to watch events on their way.

use std::sync::Arc;

use crate::apiserver::WatchEvent;
use crate::apiserver::watch::EventKind;
use crate::client::process::Process;
use crate::component::{Draws, Purpose, draw_span};
use crate::model::{Kind, Name, Span, Time};

use super::plan::{DropStage, FaultAction, Plan, ProcessRef, WatchEventType};

const WATCH_FAULT: Purpose = Purpose("watch-fault-delay");

/// The faults of a run and how often they struck.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: Arc<Plan>,
    dropped: Vec<u64>,
}

impl Faults {
    /// None has struck yet.
    pub fn new(plan: Arc<Plan>) -> Faults {
        let count = plan.faults.len();
        Faults { plan, dropped: vec![0; count] }
    }

    /// How many watch events each fault has taken.
    pub fn dropped(&self) -> &[u64] {
        &self.dropped
    }

    /// The fault that takes this event from a process (`stage: store`) or from one of its components
    /// (`stage: handler`), if any. Events are judged by when they were committed.
    pub fn drops(&mut self, process: &Process, component: Option<&Name>, event: &WatchEvent) -> Option<usize> {
        let stage = if component.is_some() { DropStage::Handler } else { DropStage::Store };
        let plan = self.plan.clone();
        let index = (0..plan.faults.len()).find(|&index| {
            let FaultAction::DropWatchEvents { to, kind, event_type, name, stage: at, count } =
                &plan.faults[index].action
            else {
                return false;
            };
            *at == stage
                && *kind == event.object.kind()
                && self.covers(index, event.committed_at)
                && event_type.is_none_or(|wanted| is_type(wanted, event.event_type))
                && name.as_ref().is_none_or(|name| *name == event.object.meta().name.as_str())
                && count.is_none_or(|count| self.dropped[index] < count)
                && is_addressed(to, process, component)
        })?;
        self.dropped[index] += 1;
        Some(index)
    }

    /// Extra delay of a watch event to a process.
    pub fn watch_delay(
        &self,
        process: &Process,
        kind: Kind,
        committed_at: Time,
        occurrence: u64,
        draws: &mut dyn Draws,
    ) -> Span {
        let mut delay = Span::ZERO;
        for (index, fault) in self.plan.faults.iter().enumerate() {
            let FaultAction::DelayWatch { to, kind: of, by } = &fault.action else { continue };
            if of.is_none_or(|of| of == kind) && self.covers(index, committed_at) && is_addressed(to, process, None) {
                let entity = process.name.stable_hash() ^ kind.index() as u64;
                delay = delay + draw_span(draws, by, WATCH_FAULT, entity, occurrence);
            }
        }
        delay
    }

    /// Whether a fault keeps the process down at this instant; its own start follows when the fault is over.
    pub fn holds_down(&self, process: &Process, now: Time) -> bool {
        self.plan.faults.iter().any(|fault| {
            let FaultAction::Kill { process: to, restart_after } = &fault.action else { return false };
            // Who led is dead, and another one leads by now.
            if to.leader {
                return false;
            }
            let begins = self.plan.start_at + fault.at;
            let ends = begins + fault.duration.unwrap_or(*restart_after);
            begins <= now && now < ends && is_addressed(to, process, None)
        })
    }

    /// Whether an instant lies within the fault, whose end is not part of it.
    fn covers(&self, index: usize, at: Time) -> bool {
        let fault = &self.plan.faults[index];
        let begins = self.plan.start_at + fault.at;
        at >= begins && fault.duration.is_none_or(|duration| at < begins + duration)
    }
}

/// Whether a reference means this process (and component).
pub fn is_addressed(to: &ProcessRef, process: &Process, component: Option<&Name>) -> bool {
    let (name, replica) = process.name.as_str().split_once('#').unwrap_or((process.name.as_str(), "0"));
    to.process == name
        && to.replica.is_none_or(|wanted| replica.parse() == Ok(wanted))
        && (!to.leader || process.acts)
        && match (&to.component, component) {
            (Some(wanted), Some(component)) => component.as_str() == wanted,
            _ => true,
        }
}

fn is_type(wanted: WatchEventType, event: EventKind) -> bool {
    matches!(
        (wanted, event),
        (WatchEventType::Added, EventKind::Added)
            | (WatchEventType::Modified, EventKind::Modified)
            | (WatchEventType::Deleted, EventKind::Deleted)
    )
}
