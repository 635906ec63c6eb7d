//! What informers ask the API server for, and what they make of the answers: the loop around `client::reflector`.

use crate::apiserver::WatchId;
use crate::client::fifo::Shape;
use crate::client::process::ClientUse;
use crate::client::reflector::{Ask, Failure, Mode, Next, StreamEnd, Version};
use crate::client::shared_informer::{Informer, InformerSettings};
use crate::component::{ClientRow, Draws, HandlerResync, Purpose, WatchSpec};
use crate::engine::calendar::Nature;
use crate::engine::sampling::uniform_unit;
use crate::model::api::{ListVersion, Reason};
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiError, ApiResult, Cause, Gate, Gates, Kind, RecordId, Request, Span};

use super::event::{Event, ProcessIndex, ReflectorEvent};
use super::plan::{CacheStart, ComponentPlan, RateLimit, ResyncDraw, ResyncModel, ResyncPlan};
use super::streams::EMPTY_STREAM;
use super::world::{Sender, World};

const RESYNC_PERIOD: Purpose = Purpose("resync-period");

fn handler_resync(spec: &WatchSpec, period: Span) -> Span {
    match spec.resync {
        HandlerResync::Default => period,
        HandlerResync::Never => Span::ZERO,
    }
}

impl World {
    /// A process' informers are made for its components, and ask for everything.
    pub(super) fn start_informers(&mut self, process: ProcessIndex, cause: Cause) {
        let now = self.calendar.now();
        let limit = self.plan.processes[process].client;
        self.processes[process].informer_client = limit.and_then(RateLimit::bucket);
        for component in 0..self.processes[process].components.len() {
            let waits = self.adds_handlers_late(process, component) && !self.processes[process].acts;
            for spec in self.processes[process].components[component].component.watches() {
                let settings = self.informer_settings(process, spec.kind);
                let informer = self.processes[process].informers.ensure_with(spec.kind, &spec.selector, settings);
                if !waits {
                    informer.add_handler(component, handler_resync(&spec, settings.resync), now);
                }
            }
        }
        let kinds: Vec<Kind> = self.processes[process].informers.iter().map(|informer| informer.kind).collect();
        for kind in kinds {
            let (informer, draws) = self.informer_and_draws(process, kind);
            let ask = informer.start(now, draws);
            self.ask(process, kind, ask, cause);
        }
    }

    /// Whether a component listens to its caches only once its process leads: until then no key waits in its queue.
    ///
    /// Upstream: controller-runtime pkg/manager/runnable_group.go (caches start before the election, controllers after it)
    /// and pkg/internal/controller/controller.go (`Start` adds the handlers of its sources), v0.24; without `EnableWarmup`.
    fn adds_handlers_late(&self, process: ProcessIndex, component: usize) -> bool {
        let plan = &self.plan.processes[process];
        plan.election.as_ref().is_some_and(|election| election.caches == CacheStart::AtOnce)
            && matches!(plan.components[component], ComponentPlan::Operator(..))
    }

    /// The process leads: components that waited for it listen, and hear of everything their caches hold.
    pub(super) fn add_late_handlers(&mut self, process: ProcessIndex, cause: Cause) {
        let now = self.calendar.now();
        for component in 0..self.processes[process].components.len() {
            if !self.adds_handlers_late(process, component) {
                continue;
            }
            for spec in self.processes[process].components[component].component.watches() {
                let resync = self.resync_period(process, spec.kind);
                let informer = self.processes[process].informers.get_informer_mut(spec.kind).expect("it was ensured");
                informer.add_handler(component, handler_resync(&spec, resync), now);
                self.call_handlers(process, spec.kind, cause, None);
            }
        }
    }

    fn informer_settings(&mut self, process: ProcessIndex, kind: Kind) -> InformerSettings {
        let (mode, shape) = mode_and_shape(self.plan.gates.of(&self.plan.processes[process].name));
        let resync = self.resync_period(process, kind);
        let owner = &self.processes[process];
        let draws_for = (owner.name.stable_hash() ^ kind.draw_number(), owner.incarnation << 32);
        InformerSettings { mode, shape, resync, now: self.calendar.now(), draws_for }
    }

    /// Upstream: cmd/kube-controller-manager/app/controllermanager.go, `ResyncPeriod`, v1.36: the minimum times a factor
    /// in [1, 2), drawn once when the shared informer factory is made.
    fn resync_period(&mut self, process: ProcessIndex, kind: Kind) -> Span {
        match self.plan.processes[process].resync {
            ResyncPlan::Never => Span::ZERO,
            ResyncPlan::Every(period) => period.max(Span::ZERO),
            ResyncPlan::AtLeast(minimum) => {
                let owner = &self.processes[process];
                let entity = match self.plan.model.resync_draw {
                    ResyncDraw::PerProcess => owner.name.stable_hash(),
                    ResyncDraw::PerController => owner.name.stable_hash() ^ kind.draw_number(),
                };
                let unit = uniform_unit(self.draws.bits(RESYNC_PERIOD, entity, owner.incarnation));
                Span((minimum.0 as f64 * (1.0 + unit)) as i64)
            }
        }
    }

    pub(super) fn informer_and_draws(&mut self, process: ProcessIndex, kind: Kind) -> (&mut Informer, &mut dyn Draws) {
        let informer = self.processes[process].informers.get_informer_mut(kind).expect("it watches the kind");
        (informer, &mut self.draws)
    }

    /// A reflector's request sets out.
    pub(super) fn ask(&mut self, process: ProcessIndex, kind: Kind, ask: Ask, cause: Cause) {
        let informer = self.processes[process].informers.get_informer(kind).expect("it watches the kind");
        let selector = informer.selector.clone();
        let request = match ask {
            Ask::List { version } => {
                let version = match version {
                    Version::At(version) => ListVersion::NotOlderThan(version),
                    Version::Newest => ListVersion::Newest,
                    Version::Any => ListVersion::Any,
                };
                Request::List { kind, namespace: None, selector, version }
            }
            Ask::Watch { version, initial_events, timeout_seconds } => {
                let version = match version {
                    Version::At(version) => Some(version),
                    Version::Newest | Version::Any => None,
                };
                Request::Watch { kind, selector, version, initial_events, timeout_seconds }
            }
        };
        self.send(process, ClientRow(0), ClientUse::Main, Sender::Reflector(kind), request, cause);
    }

    /// A reflector goes on. Its waits are work: a run that ended before them would leave a cache behind the truth.
    pub(super) fn follow(&mut self, process: ProcessIndex, kind: Kind, next: Next, cause: Cause) {
        match next {
            Next::Ask(ask) => self.ask(process, kind, ask, cause),
            Next::Wait(delay) => {
                let incarnation = self.processes[process].incarnation;
                let timer = ReflectorEvent { process, incarnation, kind, cause, silent: None };
                let at = self.calendar.now() + delay;
                self.calendar.schedule(at, Nature::Work, Event::Reflector(Box::new(timer)));
            }
        }
    }

    /// A reflector's wait is over, or a silent stream is given up.
    pub(super) fn reflector_timer(&mut self, timer: ReflectorEvent) {
        let (process, kind) = (timer.process, timer.kind);
        let owner = &self.processes[process];
        if owner.incarnation != timer.incarnation || owner.informers.get_informer(kind).is_none() {
            return;
        }
        let now = self.calendar.now();
        let (informer, draws) = self.informer_and_draws(process, kind);
        let next = match timer.silent {
            None => Next::Ask(informer.timer(now, draws)),
            // Upstream: a connection that fails its health check is an error inside the stream, so a relist follows.
            Some(watch) if informer.stream == Some(watch.0) => {
                informer.ended(now, StreamEnd::Failed(Failure::Other), draws)
            }
            Some(_) => return,
        };
        self.follow(process, kind, next, timer.cause);
    }

    /// A list or the opening of a watch is answered.
    pub(super) fn reflector_answered(&mut self, process: ProcessIndex, kind: Kind, result: ApiResult, cause: Cause) {
        let now = self.calendar.now();
        let (informer, draws) = self.informer_and_draws(process, kind);
        match result {
            Ok(Answer::List { items, resource_version }) => {
                let count = items.len() as i64;
                let next = informer.listed(now, Ok((items, resource_version)), draws);
                let owner = (process, self.processes[process].incarnation);
                self.api.listed_while_detached(owner, kind);
                let record = self.note_relist(process, kind, count, cause);
                // Upstream: the watch is opened while the handlers are still being told.
                self.follow(process, kind, next, record);
                self.call_handlers(process, kind, record, None);
                self.list_is_in(process, kind, record);
            }
            Ok(Answer::Stream(EMPTY_STREAM)) => {
                informer.opened(now, Ok(()), draws);
                self.stream_ended(process, kind, None, cause);
            }
            Ok(Answer::Stream(watch)) => {
                let next = informer.opened(now, Ok(()), draws);
                debug_assert!(next.is_none(), "an open stream asks for nothing");
                informer.stream = Some(watch);
                self.stream_is_open(WatchId(watch), cause);
            }
            Ok(other) => unreachable!("a reflector asks for lists and watches, and got {other:?}"),
            Err(error) => {
                let next = informer.failed(now, failure_of(&error), draws);
                self.follow(process, kind, next, cause);
            }
        }
    }

    pub(super) fn note_relist(&mut self, process: ProcessIndex, kind: Kind, count: i64, cause: Cause) -> RecordId {
        let detail = Detail::Number(kind.info().plural, count);
        self.note(cause, Some(process), Action::Relist, None, detail)
    }

    /// Everything there is has arrived: resyncs count from now, and the process may be ready to start.
    pub(super) fn list_is_in(&mut self, process: ProcessIndex, kind: Kind, cause: Cause) {
        self.schedule_resync(process, kind);
        self.start_when_synced(process, cause);
    }

    /// An informer's stream ended.
    pub(super) fn stream_ended(&mut self, process: ProcessIndex, kind: Kind, error: Option<Reason>, cause: Cause) {
        let now = self.calendar.now();
        let (informer, draws) = self.informer_and_draws(process, kind);
        informer.stream = None;
        let end = match error {
            None => StreamEnd::Clean,
            // The one time-out that a stream brings: its server's cache was not as new as asked for in time.
            Some(Reason::Timeout) => StreamEnd::Failed(Failure::TooLarge),
            Some(reason) => StreamEnd::Failed(failure_of(&ApiError::new(reason, ""))),
        };
        let next = informer.ended(now, end, draws);
        self.follow(process, kind, next, cause);
    }

    fn schedule_resync(&mut self, process: ProcessIndex, kind: Kind) {
        let owner = &self.processes[process];
        let incarnation = owner.incarnation;
        let informer = owner.informers.get_informer(kind).expect("it watches the kind");
        if let Some(at) = informer.reflector().next_resync() {
            self.calendar.schedule(at, Nature::Upkeep, Event::Resync { process, incarnation, kind });
        }
    }

    /// A resync: the cache is replayed to the handlers, or listed again where the model says so.
    pub(super) fn resync(&mut self, process: ProcessIndex, incarnation: u64, kind: Kind) {
        let owner = &self.processes[process];
        if owner.incarnation != incarnation || !owner.alive {
            return;
        }
        let now = self.calendar.now();
        // A process that acts no more has none.
        let Some(informer) = owner.informers.get_informer(kind) else { return };
        // A relist since has put it off.
        if informer.reflector().next_resync() != Some(now) {
            return;
        }
        let relist = self.plan.model.resync == ResyncModel::Relist && informer.reflector().is_streaming();
        let word = if relist { "resync by listing" } else { "resync of the cache" };
        let text = format!("{word}: {}", kind.info().plural);
        let record = self.note(RecordId(0), Some(process), Action::Timer, None, text);
        let (informer, draws) = self.informer_and_draws(process, kind);
        if relist {
            let ask = informer.restart(now, draws);
            if let Some(watch) = informer.stream.take() {
                self.api.detach_watch(WatchId(watch));
            }
            self.ask(process, kind, ask, record);
            return;
        }
        informer.resync(now);
        self.call_handlers(process, kind, record, None);
        self.schedule_resync(process, kind);
    }
}

/// How the informers of a process get everything there is, and which queue they have.
///
/// Upstream: client-go/features/known_features.go and client-go/tools/cache/shared_informer.go (`newQueueFIFO`), v0.36:
/// WatchListClient (on since 1.35), InOrderInformers (on since 1.33) and AtomicFIFO (on since 1.36, and only with the former).
fn mode_and_shape(gates: Gates) -> (Mode, Shape) {
    let mode = if gates.is_on(Gate::WatchListClient) { Mode::WatchList } else { Mode::List };
    let shape = match (gates.is_on(Gate::InOrderInformers), gates.is_on(Gate::AtomicFifo)) {
        (false, _) => Shape::Delta,
        (true, false) => Shape::Real,
        (true, true) => Shape::RealAtomic,
    };
    (mode, shape)
}

/// What a reflector makes of an error.
fn failure_of(error: &ApiError) -> Failure {
    match error.reason {
        Reason::ConnectionRefused => Failure::Refused,
        Reason::TooManyRequests => Failure::TooManyRequests,
        Reason::Expired => Failure::Expired,
        Reason::Timeout if error.message.contains("Too large resource version") => Failure::TooLarge,
        _ => Failure::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::plan::KubernetesVersion;

    #[test]
    fn informers_are_as_the_gates_of_their_version_say() {
        let of = |version: KubernetesVersion| mode_and_shape(version.gates().others);
        assert_eq!(of(KubernetesVersion::V1_32), (Mode::List, Shape::Delta));
        assert_eq!(of(KubernetesVersion::V1_35), (Mode::WatchList, Shape::Real));
        assert_eq!(of(KubernetesVersion::V1_36), (Mode::WatchList, Shape::RealAtomic));
    }
}
