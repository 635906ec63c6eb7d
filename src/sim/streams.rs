//! The server's end of watches: opening, bookmarks, time-outs, and the ways in which they break.

use crate::apiserver::WatchId;
use crate::apiserver::instance::NextEntry;
use crate::apiserver::watch::EventKind;
use crate::engine::calendar::Nature;
use crate::model::api::{ObjectSelector, Reason};
use crate::model::record::Detail;
use crate::model::{Action, Answer, ApiError, ApiResult, Cause, Gate, Kind, RecordId, Request, Rv, Span, Time};

use super::event::{Event, ProcessIndex, ReflectorEvent, RequestId};
use super::plan::StreamModel;
use super::servers::FRESHNESS_WAIT;
use super::world::World;

/// The number of a stream on which nothing comes and that ends at once: a client's answer when it never got one.
pub(super) const EMPTY_STREAM: u64 = 0;

impl World {
    /// A WATCH is carried out: a stream is opened. What comes on it is sent once the client has it.
    pub(super) fn open_stream(&mut self, id: RequestId) {
        let flight = self.requests.get_mut(id);
        let (process, incarnation, cause) = (flight.process, flight.incarnation, flight.cause);
        let request = flight.request.clone();
        let Request::Watch { kind, version, .. } = request else { unreachable!("only watches are opened") };
        let result = self.open_watch_of(process, incarnation, &request);
        self.counters.requests += 1;
        self.count(&request, &result, kind);
        let detail = match (&result, version) {
            (Ok(_), Some(version)) => Detail::Number(kind.info().plural, version.0 as i64),
            (Ok(_), None) => Detail::Words(kind.info().plural),
            (Err(_), _) => {
                let why = super::requests::detail_of(&result).to_string();
                Detail::from(super::requests::of_kind(&request, why))
            }
        };
        let record = self.note(cause, Some(process), Action::Watch, None, detail);
        self.reply(id, result, record);
    }

    fn open_watch_of(&mut self, process: ProcessIndex, incarnation: u64, request: &Request) -> ApiResult {
        let now = self.calendar.now();
        let Request::Watch { kind, selector, version, initial_events, timeout_seconds } = request else {
            unreachable!("only watches are opened")
        };
        if self.processes[process].incarnation != incarnation {
            return Err(ApiError::new(Reason::ConnectionLost, "the client is gone"));
        }
        let (owner, selector) = ((process, incarnation), selector.clone());
        let id = if *initial_events {
            self.check_watch_list()?;
            self.open_watch_list_of(owner, *kind, selector, *version)
        } else {
            self.check_resume(process, *kind)?;
            let newest = self.api.truth().revision();
            self.api.open_watch(owner, *kind, selector, version.unwrap_or(newest))?
        };
        self.api.take_place(id);
        let watch = self.api.watch_mut(id).expect("just opened");
        // Nothing is sent before the client has it open.
        watch.pending = true;
        if self.plan.model.streams == StreamModel::Real {
            watch.deadline = now + Span::from_seconds(*timeout_seconds);
            watch.plan_bookmark(now);
        }
        let due = watch.due_at();
        self.plan_watch_upkeep(due);
        Ok(Answer::Stream(id.0))
    }

    /// Upstream: apimachinery/pkg/apis/meta/internalversion/validation/validation.go (`validateWatchOptions`), v1.36.
    fn check_watch_list(&self) -> Result<(), ApiError> {
        if self.plan.gates.api_server.is_on(Gate::WatchList) {
            return Ok(());
        }
        let message = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden \
                       for watch unless the WatchList feature gate is enabled";
        Err(ApiError::new(Reason::Invalid, message))
    }

    /// A streaming list of the state of `version`, or of the newest, from the cache of the process' server, once that has it.
    ///
    /// Upstream: apiserver/pkg/storage/cacher/cacher.go (Watch, `waitUntilWatchCacheFreshAndForceAllEvents`), v1.36: what is
    /// not there within 3 s is an ERROR event in the stream.
    fn open_watch_list_of(
        &mut self,
        owner: (ProcessIndex, u64),
        kind: Kind,
        selector: ObjectSelector,
        version: Option<Rv>,
    ) -> WatchId {
        let lag = self.servers.cache_lag(owner.0);
        if lag == Span::ZERO || self.plan.model.streams == StreamModel::Recording {
            return self.api.open_watch_list(owner, kind, selector);
        }
        let now = self.calendar.now();
        let newest = self.api.truth().revision();
        let fresh = self.api.cached_at(kind, version.unwrap_or(newest), lag).map(|fresh| fresh.max(now));
        if let Some(fresh) = fresh.filter(|fresh| *fresh <= now + FRESHNESS_WAIT) {
            let id = self.api.open_watch_list_of_cache(owner, kind, selector, fresh - lag);
            self.api.watch_mut(id).expect("just opened").initial_at = fresh;
            return id;
        }
        let id = self.api.open_watch(owner, kind, selector, newest).expect("the newest version is in the window");
        let watch = self.api.watch_mut(id).expect("just opened");
        (watch.initial_at, watch.is_too_new) = (now + FRESHNESS_WAIT, true);
        id
    }

    fn check_resume(&mut self, process: ProcessIndex, kind: Kind) -> Result<(), ApiError> {
        match self.refused_resumes.iter().position(|refused| *refused == (process, kind)) {
            Some(index) => {
                self.refused_resumes.remove(index);
                Err(ApiError::new(Reason::Expired, "too old resource version"))
            }
            None => Ok(()),
        }
    }

    /// A client has its stream: what it begins with, and what was committed meanwhile, sets out.
    pub(super) fn stream_is_open(&mut self, id: WatchId, cause: Cause) {
        let now = self.calendar.now();
        let Some(watch) = self.api.watch_mut(id) else { return };
        watch.open_since = now;
        let begins_at = watch.initial_at;
        if watch.is_too_new {
            self.api.refuse_watch(id, Reason::Timeout, cause);
            self.calendar.schedule(begins_at.max(now), Nature::Work, Event::WatchBatch(id));
            return;
        }
        if watch.initial.is_none() {
            watch.pending = false;
            return self.schedule_batch(id);
        }
        watch.initial_cause = cause;
        let version = watch.initial.as_ref().map_or_else(Default::default, |(_, version)| *version);
        match self.plan.model.streams {
            StreamModel::Real if begins_at <= now => self.watch_batch(id),
            StreamModel::Real => {
                self.calendar.schedule(begins_at, Nature::Work, Event::WatchBatch(id));
            }
            StreamModel::Recording => {
                let at = self
                    .ready_at(id, &NextEntry { committed_at: now, rv: version, nth: 0, event_type: EventKind::Added });
                self.calendar.schedule(at, Nature::Work, Event::WatchBatch(id));
            }
        }
    }

    /// One timer serves all watches: it is due when the first of them is.
    fn plan_watch_upkeep(&mut self, due: Time) {
        if self.watch_upkeep.is_some_and(|(at, _)| at <= due) || due == Time::FAR_FUTURE {
            return;
        }
        let event = self.calendar.schedule(due, Nature::Upkeep, Event::WatchUpkeep);
        if let Some((_, later)) = self.watch_upkeep.replace((due, event)) {
            self.calendar.cancel(later);
        }
    }

    /// Watches whose time it is are told the newest version, or end.
    pub(super) fn watch_upkeep(&mut self) {
        self.watch_upkeep = None;
        let now = self.calendar.now();
        let mut due = std::mem::take(&mut self.idle_watches);
        due.extend(self.api.watches().filter(|watch| watch.due_at() <= now).map(|watch| watch.id));
        for id in due.drain(..) {
            let watch = self.api.watch_mut(id).expect("it is due");
            if watch.deadline > now {
                watch.plan_bookmark(now);
                self.bookmark(id);
            } else {
                (watch.deadline, watch.next_bookmark) = (Time::FAR_FUTURE, Time::FAR_FUTURE);
                let (process, kind) = (watch.owner.0, watch.kind);
                let text = Detail::Text(format!("time-out of the watch of {}", kind.info().plural).into());
                let record = self.note(RecordId(0), Some(process), Action::Timer, None, text);
                self.end_stream(id, None, record);
            }
        }
        self.idle_watches = due;
        let next = self.api.watches().map(|watch| watch.due_at()).min();
        self.plan_watch_upkeep(next.unwrap_or(Time::FAR_FUTURE));
    }

    /// A watch that has nothing on its way is told the newest version; on others it would come behind what is.
    fn bookmark(&mut self, id: WatchId) {
        let newest = self.api.truth().revision();
        let now = self.calendar.now();
        let watch = self.api.watch(id).expect("it is due");
        if watch.pending {
            return;
        }
        let (process, kind) = (watch.owner.0, watch.kind);
        if self.is_silent(id) {
            return;
        }
        if let Some(informer) = self.processes[process].informers.get_informer_mut(kind) {
            informer.bookmark(now, newest, false);
        }
    }

    /// The server ends a stream behind what was committed so far: by an ERROR event, or just so.
    pub(super) fn end_stream(&mut self, id: WatchId, error: Option<Reason>, cause: Cause) {
        self.api.end_watch(id, error, cause);
        if self.api.watch(id).is_some_and(|watch| !watch.pending) {
            self.schedule_batch(id);
        }
    }

    /// Ends the streams of a process, of one kind or all. With `expired` the next resume of each is answered 410.
    pub fn close_streams(&mut self, process: ProcessIndex, kind: Option<Kind>, end: StreamBreak, cause: Cause) {
        for id in self.streams_of(process, kind) {
            let kind = self.api.watch(id).expect("it is open").kind;
            match end {
                StreamBreak::Clean => self.end_stream(id, None, cause),
                StreamBreak::Error(reason) => self.end_stream(id, Some(reason), cause),
                StreamBreak::Gone => {
                    self.refused_resumes.push((process, kind));
                    self.end_stream(id, None, cause);
                }
                StreamBreak::Silent { idle_timeout } => self.silence(id, idle_timeout, cause),
            }
        }
    }

    /// Nothing arrives on a stream any more, not even its end; its client notices after the idle time-out, if it has one.
    pub(super) fn silence(&mut self, id: WatchId, idle_timeout: Option<Span>, cause: Cause) {
        let watch = self.api.watch(id).expect("it is open");
        let ((process, incarnation), kind) = (watch.owner, watch.kind);
        self.api.detach_watch(id);
        if let Some(span) = idle_timeout {
            let timer = ReflectorEvent { process, incarnation, kind, cause, silent: Some(id) };
            self.calendar.schedule(self.calendar.now() + span, Nature::Work, Event::Reflector(Box::new(timer)));
        }
    }

    fn streams_of(&self, process: ProcessIndex, kind: Option<Kind>) -> Vec<WatchId> {
        let of = |watch: &&crate::apiserver::Watch| {
            watch.owner.0 == process && kind.is_none_or(|kind| kind == watch.kind) && !watch.is_detached()
        };
        self.api.watches().filter(of).map(|watch| watch.id).collect()
    }

    /// The API server starts anew: what it had cached of the past is gone, and its streams with it.
    pub fn forget_watch_history(&mut self) {
        self.api.forget_history();
    }
}

/// How a stream breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StreamBreak {
    /// It ends; the client resumes at once.
    Clean,
    /// An ERROR event, then it ends.
    Error(Reason),
    /// It ends, and the next resume is answered 410.
    Gone,
    /// Nothing arrives any more: half-open.
    Silent {
        /// After this long without anything the client gives up; `None` for never.
        idle_timeout: Option<Span>,
    },
}
