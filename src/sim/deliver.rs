//! From the watch log to the handlers: watch batches reach an informer, whose calls reach components.

use crate::apiserver::instance::NextEntry;
use crate::apiserver::watch::EventKind;
use crate::apiserver::{WatchEvent, WatchId};
use crate::client::fifo::EntryType;
use crate::client::shared_informer::Informer;
use crate::component::{Input, Purpose, draw_span};
use crate::engine::calendar::Nature;
use crate::model::record::Detail;
use crate::model::{Action, Cause, Key, Kind, Object, Rv, Span, Time};

use super::event::{ComponentIndex, Event, ProcessIndex};
use super::plan::StreamModel;
use super::world::World;

const WATCH_LATENCY: Purpose = Purpose("watch-latency");
/// The logs are trimmed each time this many batches were delivered.
const TRIM_EVERY: u64 = 1_000;

impl World {
    /// Schedules a delivery for each watch of the kind that has none.
    pub(super) fn kick_watches(&mut self, kind: Kind) {
        let mut idle = std::mem::take(&mut self.idle_watches);
        self.api.idle_watches(kind, &mut idle);
        for id in idle.drain(..) {
            self.schedule_batch(id);
        }
        self.idle_watches = idle;
    }

    /// The next entry of a watch sets out, or its end.
    pub(super) fn schedule_batch(&mut self, id: WatchId) {
        let ready = match self.api.next_entry(id) {
            Some(next) => self.ready_at(id, &next),
            None if self.api.reached_end(id).is_some() => {
                let process = self.api.watch(id).expect("it has an end").owner.0;
                self.network_back(process, self.calendar.now())
            }
            None => return,
        };
        self.api.watch_mut(id).expect("it has a next entry").pending = true;
        self.calendar.schedule(ready, Nature::Work, Event::WatchBatch(id));
    }

    /// When an entry reaches a watch: commit plus the watch's delay, never before an earlier one or before the client has
    /// the stream open.
    pub(super) fn ready_at(&mut self, id: WatchId, entry: &NextEntry) -> Time {
        let NextEntry { committed_at, rv, nth, .. } = *entry;
        let watch = self.api.watch(id).expect("an open watch");
        let (process, kind, open_since) = (watch.owner.0, watch.kind, watch.open_since);
        let owner = &self.processes[process];
        let entity = owner.name.stable_hash() ^ kind.draw_number();
        let delay = match &self.transport {
            Some(transport) => transport.watch_delay(process, kind, nth),
            None => {
                let latency = &super::build::latency_of(&self.plan, &owner.name).watch;
                draw_span(&mut self.draws, latency, WATCH_LATENCY, entity, rv.0)
            }
        };
        let delay = delay + self.servers.cache_lag(process);
        // Faults of a stream do not touch what is replayed when it opens.
        let more = match committed_at >= open_since {
            true => self.watch_delay(id, committed_at, rv),
            false => Span::ZERO,
        };
        let undisturbed = match self.plan.model.streams {
            StreamModel::Real => (committed_at + delay + more).max(open_since),
            StreamModel::Recording => committed_at.max(open_since) + delay + more,
        };
        let reached = self.reaches(id, undisturbed);
        self.api.ready_at(id, reached)
    }

    /// Entries reach an informer.
    pub(super) fn watch_batch(&mut self, id: WatchId) {
        let Some(watch) = self.api.watch_mut(id).filter(|watch| !watch.is_detached()) else { return };
        watch.pending = false;
        let (process, incarnation) = watch.owner;
        if self.processes[process].incarnation != incarnation {
            return;
        }
        if let Some((items, version)) = watch.initial.take() {
            self.initial_events(id, items, version);
        }
        while let Some(next) = self.api.next_entry(id) {
            let ready = self.ready_at(id, &next);
            if ready > self.calendar.now() {
                self.api.watch_mut(id).expect("it has a next entry").pending = true;
                self.calendar.schedule(ready, Nature::Work, Event::WatchBatch(id));
                break;
            }
            if let Some(event) = self.api.take_entry(id, &next, ready) {
                self.watch_event(id, process, event);
            }
        }
        self.deliveries += 1;
        if self.deliveries.is_multiple_of(TRIM_EVERY) {
            self.api.trim_logs();
        }
        if let Some(end) = self.api.reached_end(id) {
            let kind = self.api.watch(id).expect("it is open").kind;
            self.api.detach_watch(id);
            self.stream_ended(process, kind, end.error, end.cause);
        }
    }

    /// All that a streaming list begins with, and the bookmark that ends it.
    fn initial_events(&mut self, id: WatchId, items: Vec<Object>, version: Rv) {
        let watch = self.api.watch(id).expect("it is open");
        let (process, kind, cause) = (watch.owner.0, watch.kind, watch.initial_cause);
        let count = items.len() as i64;
        let now = self.calendar.now();
        self.api.watch_mut(id).expect("it is open").begins();
        let informer = self.processes[process].informers.get_informer_mut(kind).expect("it watches the kind");
        for item in items {
            informer.stream_event(EntryType::Added, item);
        }
        informer.bookmark(now, version, true);
        let record = self.note_relist(process, kind, count, cause);
        self.call_handlers(process, kind, record, None);
        self.list_is_in(process, kind, record);
    }

    fn watch_event(&mut self, id: WatchId, process: ProcessIndex, event: WatchEvent) {
        let copies = self.copies(process, &event);
        self.event_sets_off(process, &event);
        self.watch_event_once(id, process, &event, None);
        for fault in copies.into_iter().flat_map(|(fault, copies)| std::iter::repeat_n(fault, copies as usize)) {
            self.watch_event_once(id, process, &event, Some(fault));
        }
    }

    /// The event arrives; `again` is the fault that made a copy of it.
    fn watch_event_once(&mut self, id: WatchId, process: ProcessIndex, event: &WatchEvent, again: Option<usize>) {
        let key = event.object.key();
        let is_replayed = self.api.watch(id).is_some_and(|watch| event.committed_at < watch.open_since);
        if !is_replayed && let Some(fault) = self.drops(process, None, event) {
            let text = format!("{} lost before the cache: {}", event.event_type.as_str(), self.plan.faults[fault].text);
            self.note(event.cause, Some(process), Action::Lost, Some(key.clone()), text);
            self.api.watch_mut(id).expect("open").lost.entry(key).or_insert(event.committed_at);
            return;
        }
        self.api.watch_mut(id).expect("open").lost.swap_remove(&key);
        self.apply_event(process, event, key, again);
    }

    /// An event is in the informer: the cache changes and the handlers are told.
    fn apply_event(&mut self, process: ProcessIndex, event: &WatchEvent, key: Key, again: Option<usize>) {
        let kind = key.kind;
        let entry_type = match event.event_type {
            EventKind::Added => EntryType::Added,
            EventKind::Modified => EntryType::Updated,
            EventKind::Deleted => EntryType::Deleted,
        };
        let informer = self.processes[process].informers.get_informer_mut(kind).expect("it watches the kind");
        informer.stream_event(entry_type, event.object.clone());
        let words = match again {
            None => Detail::Words(event.event_type.as_str()),
            Some(fault) => format!("{} again: {}", event.event_type.as_str(), self.plan.faults[fault].text).into(),
        };
        let record = self.note(event.cause, Some(process), Action::Deliver, Some(key), words);
        self.call_handlers(process, kind, record, Some(event));
    }

    /// What an informer's queue holds is applied, and its handlers are called, unless a fault takes the call.
    pub(super) fn call_handlers(
        &mut self,
        process: ProcessIndex,
        kind: Kind,
        cause: Cause,
        event: Option<&WatchEvent>,
    ) {
        let now = self.calendar.now();
        let mut informer = self.processes[process].informers.get_informer_mut(kind).expect("it watches the kind");
        while let Some(call) = informer.next_call() {
            let handlers = call.only.map_or(0..informer.processor.len(), |only| only..only + 1);
            let last = handlers.end.saturating_sub(1);
            let mut delta = Some(call.delta);
            for handler in handlers {
                let processor = &mut self.informer(process, kind).processor;
                if !processor.wants(handler, call.is_sync) {
                    continue;
                }
                let component = processor.owner(handler);
                let fate = match event {
                    Some(event) => self.fate_of_call((process, component), event, cause),
                    None => CallFate::Made,
                };
                // Handlers take no time here, so none is ever busy, unless a fault holds its calls.
                let told = if handler == last { delta.take() } else { delta.clone() };
                let told = told.expect("only the last handler takes it");
                match fate {
                    CallFate::Lost => {}
                    CallFate::Later(from, record) => {
                        self.informer(process, kind).processor.hold(handler, told, record, from);
                        self.plan_held_calls(process, kind);
                    }
                    CallFate::Made => {
                        if let Some(delta) = self.informer(process, kind).processor.offer(handler, told, cause, now) {
                            self.hand(process, component, Input::Delta(delta), cause);
                        }
                    }
                }
            }
            informer = self.informer(process, kind);
        }
    }

    fn informer(&mut self, process: ProcessIndex, kind: Kind) -> &mut Informer {
        self.processes[process].informers.get_informer_mut(kind).expect("it watches the kind")
    }

    /// Calls of handlers that a fault has held back are due.
    pub(super) fn call_held_handlers(&mut self, process: ProcessIndex, incarnation: u64, kind: Kind) {
        let now = self.calendar.now();
        loop {
            let owner = &mut self.processes[process];
            if owner.incarnation != incarnation {
                return;
            }
            // A process that acts no more has no informers.
            let Some(informer) = owner.informers.get_informer_mut(kind) else { return };
            let due = informer.processor.next_buffered().filter(|(due, _)| *due <= now);
            let Some((_, handler)) = due else { break };
            let component = informer.processor.owner(handler);
            let Some((delta, cause)) = informer.processor.take_buffered(handler, now) else { break };
            self.hand(process, component, Input::Delta(delta), cause);
        }
        self.plan_held_calls(process, kind);
    }

    fn plan_held_calls(&mut self, process: ProcessIndex, kind: Kind) {
        let Some((due, _)) = self.informer(process, kind).processor.next_buffered() else { return };
        let incarnation = self.processes[process].incarnation;
        self.calendar.schedule(due, Nature::Work, Event::HandlersCalled { process, incarnation, kind });
    }

    /// What faults make of the call of a component's handler.
    fn fate_of_call(
        &mut self,
        (process, component): (ProcessIndex, ComponentIndex),
        event: &WatchEvent,
        cause: Cause,
    ) -> CallFate {
        if self.plan.faults.is_empty() {
            return CallFate::Made;
        }
        let key = event.object.key();
        let word = event.event_type.as_str();
        let name = self.processes[process].components[component].name.clone();
        let (text, fate) = if let Some(fault) = self.drops(process, Some(&name), event) {
            (format!("{word} lost after the cache: {}", self.plan.faults[fault].text), None)
        } else if let Some((fault, by)) = self.handler_delay(process, &name, event) {
            let from = self.calendar.now() + by;
            (format!("{word} held back after the cache: {}", self.plan.faults[fault].text), Some(from))
        } else {
            return CallFate::Made;
        };
        let record = self.note(cause, Some(process), Action::Lost, Some(key), text);
        self.name_last(name);
        fate.map_or(CallFate::Lost, |from| CallFate::Later(from, record))
    }
}

/// What becomes of the call of a handler.
enum CallFate {
    /// It is made, or waits behind those that are held back.
    Made,
    /// It is made later, because of this record.
    Later(Time, Cause),
    /// It is never made.
    Lost,
}
