//! How faults come to begin: by their time, a condition that `sim` judges, or an event that comes by.

use super::beginning::{Begun, Trigger, TriggerEvent};
use super::state::{Fault, Faults, RequestSeen, of_event};
use super::target::Addressee;
use super::trigger::{EventKey, Occurrences};
use crate::apiserver::WatchEvent;
use crate::component::{Draws, Purpose};
use crate::engine::sampling::uniform_unit;
use crate::model::Time;

const BEGINS: Purpose = Purpose("fault-begins");

impl Faults {
    /// A fault's time has come, its condition holds, or the event came that it begins with.
    pub fn begin(&mut self, fault: usize, now: Time, draws: &mut dyn Draws) -> Begun {
        let Fault { duration, repeat, .. } = self.list[fault];
        let has_fixed_times = self.list[fault].has_fixed_times();
        let state = &mut self.states[fault];
        state.came += 1;
        let lucky = |probability| uniform_unit(draws.bits(BEGINS, state.key, state.came)) < probability;
        let strikes = repeat.probability.is_none_or(lucky);
        let ends = duration.map(|duration| now + duration);
        if strikes {
            state.began += 1;
            state.windows.push(now, ends);
        }
        let again = repeat.every.filter(|_| repeat.times.is_none_or(|times| state.began < times));
        let again = again.map(|every| now + every);
        if let Some(again) = again.filter(|_| has_fixed_times) {
            state.windows.push(again, duration.map(|duration| again + duration));
        }
        Begun { strikes, ends, again }
    }

    /// The faults that wait and begin with a watch event that has reached a process.
    pub fn begin_after_event(&mut self, to: Addressee<'_>, event: &WatchEvent, draws: &mut dyn Draws) -> Vec<usize> {
        if !self.after_watches {
            return Vec::new();
        }
        let list = self.list.clone();
        let begins = |(index, fault): (usize, &Fault)| {
            let Some(Trigger { event: TriggerEvent::WatchEvent(target), occurrences }) = &fault.after else {
                return None;
            };
            let meets = target.covers(to, event, self.states[index].after_selector.as_ref());
            (meets && self.sets_off(index, occurrences, of_event(to, event), event.committed_at, draws))
                .then_some(index)
        };
        list.iter().enumerate().filter_map(begins).collect()
    }

    /// The faults that wait and begin with a request that was carried out.
    pub fn begin_after_request(&mut self, seen: RequestSeen<'_>, now: Time, draws: &mut dyn Draws) -> Vec<usize> {
        let list = self.list.clone();
        let begins = |(index, fault): (usize, &Fault)| {
            let Some(Trigger { event: TriggerEvent::Request(target), occurrences }) = &fault.after else { return None };
            let selector = self.states[index].after_selector.as_ref();
            let meets = target.covers(seen.from, seen.request, seen.labels, selector);
            (meets && self.sets_off(index, occurrences, seen.key, now, draws)).then_some(index)
        };
        list.iter().enumerate().filter_map(begins).collect()
    }

    fn sets_off(
        &mut self,
        fault: usize,
        which: &Occurrences,
        event: EventKey,
        at: Time,
        draws: &mut dyn Draws,
    ) -> bool {
        let state = &mut self.states[fault];
        let lasts = state.windows.covering(at).is_some();
        !lasts && which.strike(&mut state.after_tally, state.key, event, draws)
    }

    /// Whether a fault can begin with a request.
    pub fn after_requests(&self) -> bool {
        self.after_requests
    }
}
