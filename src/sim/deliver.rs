//! From the watch log to the handlers: watch batches, lists, resyncs, bookmarks.

use crate::apiserver::watch::EventKind;
use crate::apiserver::{WatchEvent, WatchId};
use crate::client::process::ClientUse;
use crate::client::reflector;
use crate::component::{Change, ClientRow, Delta, Draws, Input, Purpose, draw_span};
use crate::engine::calendar::Nature;
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiResult, Cause, Kind, Name, Object, RecordId, Request, Rv, Span, Time};

use super::event::{Event, ProcessIndex};
use super::plan::ResyncModel;
use super::world::{Sender, World};

const WATCH_LATENCY: Purpose = Purpose("watch-latency");
/// How long the log of a kind stays after every watch has passed it.
const LOG_KEEP: u64 = 1_000;

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

    fn schedule_batch(&mut self, id: WatchId) {
        let Some(next) = self.api.next_entry(id) else { return };
        let ready = self.ready_at(id, next.committed_at, next.rv);
        self.api.watch_mut(id).expect("it has a next entry").pending = true;
        self.calendar.schedule(ready, Nature::Work, Event::WatchBatch(id));
    }

    /// When an entry reaches a watch: commit plus the watch's delay, never before an earlier one.
    fn ready_at(&mut self, id: WatchId, committed_at: Time, rv: Rv) -> Time {
        let watch = self.api.watch(id).expect("an open watch");
        let (process, kind) = (watch.owner.0, watch.kind);
        let owner = &self.processes[process];
        let entity = owner.name.stable_hash() ^ kind.draw_number();
        let latency = &super::build::latency_of(&self.plan, &owner.name).watch;
        let delay = draw_span(&mut self.draws, latency, WATCH_LATENCY, entity, rv.0);
        let more = self.faults.watch_delay(owner, kind, committed_at, rv.0, &mut self.draws as &mut dyn Draws);
        self.api.ready_at(id, committed_at + delay + more)
    }

    /// Entries reach an informer.
    pub(super) fn watch_batch(&mut self, id: WatchId) {
        let Some(watch) = self.api.watch_mut(id) else { return };
        watch.pending = false;
        let (process, incarnation) = watch.owner;
        if self.processes[process].incarnation != incarnation {
            return;
        }
        while let Some(next) = self.api.next_entry(id) {
            let ready = self.ready_at(id, next.committed_at, next.rv);
            if ready > self.calendar.now() {
                self.api.watch_mut(id).expect("it has a next entry").pending = true;
                self.calendar.schedule(ready, Nature::Work, Event::WatchBatch(id));
                break;
            }
            if let Some(event) = self.api.take_entry(id, ready) {
                self.watch_event(id, process, event);
            }
        }
        self.deliveries += 1;
        if self.deliveries.is_multiple_of(LOG_KEEP) {
            self.api.trim_logs(LOG_KEEP);
        }
    }

    fn watch_event(&mut self, id: WatchId, process: ProcessIndex, event: WatchEvent) {
        let key = event.object.key();
        if let Some(fault) = self.faults.drops(&self.processes[process], None, &event) {
            let text = format!("{} lost before the cache: {}", event.event_type.as_str(), self.plan.faults[fault].text);
            self.note(event.cause, Some(process), Action::Lost, Some(key.clone()), text);
            self.api.watch_mut(id).expect("open").lost.entry(key).or_insert(event.committed_at);
            return;
        }
        self.api.watch_mut(id).expect("open").lost.swap_remove(&key);
        let informer = self.processes[process].informers.get_informer_mut(key.kind).expect("it watches the kind");
        let change = match event.event_type {
            EventKind::Added | EventKind::Modified => reflector::upsert(informer, event.object.clone()),
            EventKind::Deleted => reflector::delete(informer, event.object.clone()),
        };
        let words = Detail::Words(event.event_type.as_str());
        let record = self.note(event.cause, Some(process), Action::Deliver, Some(key), words);
        let delta = Delta { change, is_resync: false, is_initial: false };
        self.call_handlers(process, delta, record, Some(&event));
    }

    /// Calls the handlers of every component that watches the kind, unless a fault takes the call.
    fn call_handlers(&mut self, process: ProcessIndex, delta: Delta, cause: Cause, event: Option<&WatchEvent>) {
        let kind = delta.change.object().kind();
        for component in 0..self.processes[process].components.len() {
            let slot = &self.processes[process].components[component];
            let Some((_, with_resync)) = slot.handlers.iter().find(|(of, _)| *of == kind) else { continue };
            if delta.is_resync && !with_resync {
                continue;
            }
            let name = slot.name.clone();
            if let Some(event) = event
                && let Some(fault) = self.faults.drops(&self.processes[process], Some(&name), event)
            {
                self.note_lost_call(process, name, event, cause, fault);
                continue;
            }
            self.hand(process, component, Input::Delta(delta.clone()), cause);
        }
    }

    fn note_lost_call(
        &mut self,
        process: ProcessIndex,
        component: Name,
        event: &WatchEvent,
        cause: Cause,
        fault: usize,
    ) {
        let text = format!("{} lost after the cache: {}", event.event_type.as_str(), self.plan.faults[fault].text);
        self.note(cause, Some(process), Action::Lost, Some(event.object.key()), text);
        self.fresh.last_mut().expect("just noted").component = component;
    }

    /// An informer asks for everything of its kind.
    pub(super) fn send_list(&mut self, process: ProcessIndex, kind: Kind, cause: Cause) {
        let informer = self.processes[process].informers.get_informer(kind).expect("it watches the kind");
        let request = Request::List { kind, namespace: None, selector: informer.selector.clone() };
        self.send(process, ClientRow(0), ClientUse::Main, Sender::Reflector(kind), request, cause);
    }

    /// The list of an informer arrives: the cache is replaced, and changes since the list follow on a new watch.
    pub(super) fn list_arrives(&mut self, process: ProcessIndex, kind: Kind, result: ApiResult, cause: Cause) {
        let Ok(Answer::List { items, resource_version }) = result else {
            // The API server of this version refuses no list.
            unreachable!("a list was answered by {result:?}");
        };
        let stale: Vec<WatchId> =
            self.api.watches().filter(|w| w.owner.0 == process && w.kind == kind).map(|w| w.id).collect();
        for id in stale {
            self.api.close_watch(id);
        }
        let owner = &mut self.processes[process];
        let incarnation = owner.incarnation;
        let informer = owner.informers.get_informer_mut(kind).expect("it watches the kind");
        let selector = informer.selector.clone();
        let count = items.len() as i64;
        let deltas = reflector::replace(informer, items, resource_version);
        let record = self.note(cause, Some(process), Action::Relist, None, Detail::Number(kind.info().plural, count));
        let watch = self.api.open_watch((process, incarnation), kind, selector, resource_version);
        for delta in deltas {
            self.call_handlers(process, delta, record, None);
        }
        match watch {
            Ok(id) => self.schedule_batch(id),
            // DIVERGES: upstream's reflector waits for its back-off (0.8 s and more) before it lists again.
            Err(_) => self.send_list(process, kind, record),
        }
        self.start_when_synced(process, record);
    }

    /// A resync: the cache is replayed to the handlers, or listed again where the model says so.
    pub(super) fn resync(&mut self, process: ProcessIndex, incarnation: u64, kind: Kind) {
        let owner = &self.processes[process];
        if owner.incarnation != incarnation || !owner.alive {
            return;
        }
        let period = owner.resync.iter().find(|(of, _)| *of == kind).map_or(Span::ZERO, |(_, period)| *period);
        let relist = self.plan.model.resync == ResyncModel::Relist;
        let word = if relist { "resync by listing" } else { "resync of the cache" };
        let text = format!("{word}: {}", kind.info().plural);
        let record = self.note(RecordId(0), Some(process), Action::Timer, None, text);
        if relist {
            self.send_list(process, kind, record);
        } else {
            let informer = self.processes[process].informers.get_informer(kind).expect("it watches the kind");
            let objects: Vec<Object> = informer.cache.sorted().into_iter().cloned().collect();
            for object in objects {
                let change = Change::Updated { old: object.clone(), new: object };
                self.call_handlers(process, Delta { change, is_resync: true, is_initial: false }, record, None);
            }
        }
        let event = Event::Resync { process, incarnation, kind };
        self.calendar.schedule(self.calendar.now() + period, Nature::Upkeep, event);
    }

    /// Every watch that has nothing on its way is told the newest version.
    pub(super) fn bookmarks(&mut self) {
        let newest = self.api.truth().revision();
        let quiet: Vec<(ProcessIndex, Kind)> =
            self.api.watches().filter(|watch| !watch.pending).map(|watch| (watch.owner.0, watch.kind)).collect();
        for (process, kind) in quiet {
            if let Some(informer) = self.processes[process].informers.get_informer_mut(kind) {
                informer.last_rv = informer.last_rv.max(newest);
            }
        }
        self.calendar.schedule(self.calendar.now() + super::build::BOOKMARK_PERIOD, Nature::Upkeep, Event::Bookmarks);
    }
}
