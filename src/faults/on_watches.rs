//! What faults do to watch events: which are lost, come again, come later.

use super::FaultAction;
use super::delay_watch::DelayWatch;
use super::drop_watch_events::DropStage;
use super::state::{ChangeSeen, Faults, looks_at_object, of_event};
use super::target::Addressee;
use super::trigger::{EventKey, Occurrences};
use crate::apiserver::WatchEvent;
use crate::component::{Draws, Purpose, draw_span};
use crate::model::Span;

const WATCH_DELAY: Purpose = Purpose("watch-fault-delay");
const HANDLER_DELAY: Purpose = Purpose("handler-fault-delay");

impl Faults {
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
                && self.strike(index, event.committed_at, &drop.occurrences, of_event(to, event), draws)
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
                && self.strike(index, event.committed_at, &duplicate.occurrences, of_event(to, event), draws);
            strikes.then_some((index, duplicate.copies))
        })
    }

    /// How much later a change reaches a process. Asked as often as the loop likes, of the changes of a stream in order: the
    /// answer is the same.
    pub fn watch_delay(&mut self, to: Addressee<'_>, change: ChangeSeen<'_>, draws: &mut dyn Draws) -> Span {
        let mut delay = Span::ZERO;
        if !self.of_watches {
            return delay;
        }
        let list = self.list.clone();
        for (index, fault) in list.iter().enumerate() {
            let (by, occurrences) = match &fault.action {
                FaultAction::DelayWatch(of) if of.stage == DropStage::Store && self.is_meant(index, of, to, change) => {
                    (&of.by, &of.occurrences)
                }
                FaultAction::ReorderWatches(of)
                    if (of.kinds.is_empty() || of.kinds.contains(&change.kind)) && of.to.covers(to) =>
                {
                    (&of.by, &of.occurrences)
                }
                _ => continue,
            };
            let entity = to.process.stable_hash() ^ change.kind.draw_number();
            if self.covers(index, change.committed_at) && self.is_late(index, entity, change, occurrences, draws) {
                let entity = self.states[index].key ^ entity;
                delay = delay + draw_span(draws, by, WATCH_DELAY, entity, change.rv);
            }
        }
        delay
    }

    fn is_meant(&self, fault: usize, of: &DelayWatch, to: Addressee<'_>, change: ChangeSeen<'_>) -> bool {
        match change.event {
            Some(event) => of.target.covers(to, event, self.states[fault].selector.as_ref()),
            None => {
                !looks_at_object(&of.target)
                    && of.target.object.kind.is_none_or(|of| of == change.kind)
                    && of.target.to.covers(to)
            }
        }
    }

    /// Whether a change is late: decided when it is asked for the first time.
    fn is_late(
        &mut self,
        fault: usize,
        stream: u64,
        change: ChangeSeen<'_>,
        which: &Occurrences,
        draws: &mut dyn Draws,
    ) -> bool {
        match self.states[fault].late.get(&stream) {
            Some((rv, is_late)) if *rv == change.rv => return *is_late,
            Some((rv, _)) if *rv > change.rv => return false,
            _ => {}
        }
        let key = EventKey { entity: stream, occurrence: change.rv };
        let is_late = self.strike(fault, change.committed_at, which, key, draws);
        self.states[fault].late.insert(stream, (change.rv, is_late));
        is_late
    }

    /// How much later a component's handler is told of an event that is in the cache, and by which fault.
    pub fn handler_delay(
        &mut self,
        to: Addressee<'_>,
        event: &WatchEvent,
        draws: &mut dyn Draws,
    ) -> Option<(usize, Span)> {
        if !self.of_watches {
            return None;
        }
        let list = self.list.clone();
        let mut found: Option<(usize, Span)> = None;
        for (index, fault) in list.iter().enumerate() {
            let FaultAction::DelayWatch(delay) = &fault.action else { continue };
            let strikes = delay.stage == DropStage::Handler
                && self.covers(index, event.committed_at)
                && delay.target.covers(to, event, self.states[index].selector.as_ref())
                && self.strike(index, event.committed_at, &delay.occurrences, of_event(to, event), draws);
            if strikes {
                let EventKey { entity, occurrence } = of_event(to, event);
                let by = draw_span(draws, &delay.by, HANDLER_DELAY, self.states[index].key ^ entity, occurrence);
                let (first, so_far) = found.unwrap_or((index, Span::ZERO));
                found = Some((first, so_far + by));
            }
        }
        found
    }
}
