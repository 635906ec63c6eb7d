//! Reflector and shared informer end to end, against a double of the API server that follows a script.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value, json};

use crate::case::{Disagreement, compare, compare_lists, field, int, int_or_zero, list, only_fields, text};
use kubesim::client::fifo::{EntryType, Shape};
use kubesim::client::reflector::{Ask, Failure, Mode, Next, StreamEnd, Version};
use kubesim::client::shared_informer::{Informer, InformerSettings};
use kubesim::component::{Change, Delta, Draws, Purpose};
use kubesim::model::api::ObjectSelector;
use kubesim::model::{Kind, Meta, Name, Namespace, Object, RecordId, Rv, Span, Time};

/// The version of the store before the first object.
const FIRST_VERSION: u64 = 100;

/// An object whose kind does not matter.
pub fn object(key: &str, version: u64, uid: &str) -> Object {
    let meta = Meta { resource_version: Rv(version), uid: Name::new(uid), ..Meta::named("", key) };
    Namespace { meta, terminating: false, source: None }.into()
}

/// Its version.
pub fn version(object: &Object) -> u64 {
    object.meta().resource_version.0
}

/// `script` and `faults`, with the draws -> `requests`, `callbacks`, `store_end`, `api_end`, `last_sync_rv`.
pub fn informer(case: &Value) -> Result<(), Disagreement> {
    // Recorded with the queue of 1.36. That of 1.33 tells the same, but in another order across keys, which is not
    // compared; that of 1.32 says nothing of deletions of what it never held.
    only_fields(case, FIELDS)?;
    for shape in [Shape::RealAtomic, Shape::Real] {
        with_shape(case, shape)?;
    }
    Ok(())
}

const FIELDS: &[&str] = &[
    "mode",
    "request_latency_ns",
    "informer_resync_ns",
    "handler_resync_ns",
    "handler_sleep_ns",
    "existing",
    "script",
    "faults",
    "jitter_u",
    "end",
    "requests",
    "callbacks",
    "store_end",
    "api_end",
    "last_sync_rv",
];

/// What became of a script: the callbacks by instant, handler and key, and the cache at the end.
pub fn callbacks(case: &Value) -> Result<(Vec<Value>, Value), Disagreement> {
    let mut replay = Replay::new(case, Shape::RealAtomic)?;
    replay.run(int(case, "end")?)?;
    let cached = versions(replay.informer.cache.sorted().into_iter());
    Ok((replay.callbacks.into_iter().map(|(_, callback)| callback).collect(), cached))
}

fn with_shape(case: &Value, shape: Shape) -> Result<(), Disagreement> {
    let mut replay = Replay::new(case, shape)?;
    replay.run(int(case, "end")?)?;
    compare_lists("requests", list(case, "requests")?, &replay.requests_as_recorded(), 0.0)?;
    let mut callbacks = replay.callbacks;
    callbacks.sort_by(|a, b| a.0.cmp(&b.0));
    let callbacks: Vec<Value> = callbacks.into_iter().map(|(_, callback)| callback).collect();
    compare_lists("callbacks", list(case, "callbacks")?, &callbacks, 0.0)?;
    let cached = replay.informer.cache.sorted();
    compare("store_end", field(case, "store_end")?, &versions(cached.into_iter()), 0.0)?;
    compare("api_end", field(case, "api_end")?, &versions(replay.api.objects.values()), 0.0)?;
    let last = replay.informer.reflector().last_sync().map_or(String::new(), |version| version.0.to_string());
    compare("last_sync_rv", field(case, "last_sync_rv")?, &json!(last), 0.0)
}

fn versions<'a>(objects: impl Iterator<Item = &'a Object>) -> Value {
    let pairs = objects.map(|object| (object.meta().name.to_string(), json!(version(object).to_string())));
    Value::Object(pairs.collect::<Map<_, _>>())
}

/// What comes next.
#[derive(Clone, Copy)]
enum Event {
    Script(usize),
    /// A request arrives, is carried out and answered.
    Answer(usize),
    Timer,
    Resync,
    /// The server ends the stream with this number.
    TimeOut(u64),
    /// A busy handler is free.
    HandlerFree,
}

struct Request {
    sent_at: i64,
    ask: Ask,
    result: Option<&'static str>,
}

/// Objects, history and the one open stream.
#[derive(Default)]
struct Api {
    version: u64,
    compacted: u64,
    objects: BTreeMap<String, Object>,
    log: Vec<(EntryType, Object)>,
    stream: Option<u64>,
    streams: u64,
}

struct Fault {
    from: i64,
    to: i64,
    kind: String,
    on: String,
}

struct Replay<'a> {
    case: &'a Value,
    now: Time,
    calendar: BTreeMap<(i64, u64), Event>,
    sequence: u64,
    latency: i64,
    faults: Vec<Fault>,
    api: Api,
    informer: Informer,
    draws: Recorded,
    requests: Vec<Request>,
    /// Instant, handler and key; the callback as recorded.
    callbacks: Vec<((i64, usize, String), Value)>,
}

/// Draws in the order of the recording.
struct Recorded {
    jitters: VecDeque<f64>,
    timeouts: VecDeque<i64>,
}

impl Draws for Recorded {
    fn bits(&mut self, purpose: Purpose, _entity: u64, _occurrence: u64) -> u64 {
        let unit = match purpose.0 {
            "reflector-jitter" => self.jitters.pop_front().unwrap_or(0.0),
            // trunc(300 + 300 u) is the recorded number of seconds.
            "watch-timeout" => self.timeouts.pop_front().map_or(0.0, |seconds| (seconds as f64 - 299.5) / 300.0),
            other => panic!("nothing draws {other}"),
        };
        ((unit * (1_u64 << 53) as f64) as u64) << 11
    }
}

impl<'a> Replay<'a> {
    fn new(case: &'a Value, shape: Shape) -> Result<Replay<'a>, Disagreement> {
        let timeouts = list(case, "requests")?.iter().filter(|request| request[1] != "list");
        let draws = Recorded {
            jitters: list(case, "jitter_u")?.iter().filter_map(Value::as_f64).collect(),
            timeouts: timeouts.filter_map(|request| request[3].as_i64()).collect(),
        };
        let settings = InformerSettings {
            mode: match text(case, "mode")? {
                "list" => Mode::List,
                "watchlist" => Mode::WatchList,
                other => return Err(Disagreement::new("a known mode", other)),
            },
            shape,
            resync: Span(int(case, "informer_resync_ns")?),
            ..InformerSettings::default()
        };
        let mut replay = Replay {
            case,
            now: Time(0),
            calendar: BTreeMap::new(),
            sequence: 0,
            latency: int(case, "request_latency_ns")?,
            faults: Vec::new(),
            api: Api { version: FIRST_VERSION, ..Api::default() },
            informer: Informer::new(Kind::Namespace, ObjectSelector::everything(), settings),
            draws,
            requests: Vec::new(),
            callbacks: Vec::new(),
        };
        let faults = if case.get("faults").is_some() { list(case, "faults")? } else { &[] };
        replay.faults = faults.iter().map(Fault::read).collect::<Result<_, _>>()?;
        for key in list(case, "existing")? {
            let key = key.as_str().ok_or_else(|| Disagreement::new("a key", key))?;
            replay.api.write(key, EntryType::Added);
        }
        replay.api.compacted = replay.api.version;
        for period in list(case, "handler_resync_ns")? {
            let period = period.as_i64().ok_or_else(|| Disagreement::new("a period", period))?;
            replay.add_handler(period)?;
        }
        Ok(replay)
    }

    fn add_handler(&mut self, period: i64) -> Result<(), Disagreement> {
        let handler = self.informer.add_handler(0, Span(period), self.now);
        let busy = int_or_zero(self.case, "handler_sleep_ns")?;
        self.informer.processor.set_busy_for(handler, Span(busy));
        Ok(())
    }

    fn run(&mut self, end: i64) -> Result<(), Disagreement> {
        for (index, operation) in list(self.case, "script")?.iter().enumerate() {
            self.schedule(int(operation, "t")?, Event::Script(index));
        }
        let ask = self.informer.start(self.now, &mut self.draws);
        self.send(ask);
        while let Some(((at, _), event)) = self.calendar.pop_first() {
            if at > end {
                break;
            }
            self.now = Time(at);
            match event {
                Event::Script(index) => self.operation(index)?,
                Event::Answer(request) => self.answer(request),
                Event::Timer => {
                    let ask = self.informer.timer(self.now, &mut self.draws);
                    self.send(ask);
                }
                Event::Resync if self.informer.reflector().next_resync() == Some(self.now) => {
                    self.informer.resync(self.now);
                }
                Event::TimeOut(stream) if self.api.stream == Some(stream) => self.end_stream(StreamEnd::Clean),
                Event::HandlerFree => self.call_buffered(),
                Event::Resync | Event::TimeOut(_) => {}
            }
            self.after_event();
        }
        Ok(())
    }

    fn schedule(&mut self, at: i64, event: Event) {
        self.sequence += 1;
        self.calendar.insert((at, self.sequence), event);
    }

    fn send(&mut self, ask: Ask) {
        self.requests.push(Request { sent_at: self.now.0, ask, result: None });
        self.schedule(self.now.0 + self.latency, Event::Answer(self.requests.len() - 1));
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Ask(ask) => self.send(ask),
            Next::Wait(delay) => self.schedule((self.now + delay).0, Event::Timer),
        }
    }

    /// The fault that a request meets, by when it was sent.
    fn fault(&self, sent_at: i64, on: &str) -> Option<&str> {
        let meets = |f: &&Fault| f.from <= sent_at && sent_at < f.to && (f.on == on || f.on == "both");
        let found = self.faults.iter().find(meets);
        found.map(|fault| fault.kind.as_str())
    }

    fn answer(&mut self, number: usize) {
        let Request { sent_at, ask, .. } = self.requests[number];
        let (on, is_plain_watch) = match ask {
            Ask::List { .. } => ("list", false),
            Ask::Watch { initial_events, .. } => ("watch", !initial_events),
        };
        let (failure, result) = match self.fault(sent_at, on) {
            Some("refused") => (Some(Failure::Refused), "refused"),
            Some("429") => (Some(Failure::TooManyRequests), "429"),
            Some("500") => (Some(Failure::Other), "500"),
            Some("410") => (Some(Failure::Expired), "410"),
            Some("short") if is_plain_watch => (None, "short"),
            _ if is_plain_watch && self.is_too_old(ask) => (Some(Failure::Expired), "410"),
            _ => (None, "ok"),
        };
        self.requests[number].result = Some(result);
        match ask {
            Ask::List { .. } => {
                let items = self.api.objects.values().cloned().collect();
                let answer = failure.map_or(Ok((items, Rv(self.api.version))), Err);
                let next = self.informer.listed(self.now, answer, &mut self.draws);
                self.follow(next);
            }
            Ask::Watch { version, initial_events, timeout_seconds } => {
                match self.informer.opened(self.now, failure.map_or(Ok(()), Err), &mut self.draws) {
                    Some(next) => self.follow(next),
                    None => self.open_stream(version, initial_events, timeout_seconds, result == "short"),
                }
            }
        }
    }

    fn is_too_old(&self, ask: Ask) -> bool {
        matches!(ask, Ask::Watch { version: Version::At(from), .. } if from.0 < self.api.compacted)
    }

    fn open_stream(&mut self, version: Version, initial_events: bool, timeout_seconds: i64, short: bool) {
        self.api.streams += 1;
        self.api.stream = Some(self.api.streams);
        if short {
            return self.end_stream(StreamEnd::Clean);
        }
        let end = self.now + Span::from_seconds(timeout_seconds);
        self.schedule(end.0, Event::TimeOut(self.api.streams));
        if initial_events {
            for object in self.api.objects.values() {
                self.informer.stream_event(EntryType::Added, object.clone());
            }
            self.informer.bookmark(self.now, Rv(self.api.version), true);
        } else if let Version::At(from) = version {
            let missed = self.api.log.iter().filter(|(_, object)| object.meta().resource_version > from);
            for (entry_type, object) in missed {
                self.informer.stream_event(*entry_type, object.clone());
            }
        }
    }

    fn end_stream(&mut self, end: StreamEnd) {
        if self.api.stream.take().is_some() {
            let next = self.informer.ended(self.now, end, &mut self.draws);
            self.follow(next);
        }
    }

    fn operation(&mut self, index: usize) -> Result<(), Disagreement> {
        let operation = &list(self.case, "script")?[index];
        only_fields(operation, &["t", "op", "key", "n", "drop"])?;
        let entry_type = match text(operation, "op")? {
            "create" => EntryType::Added,
            "update" => EntryType::Updated,
            "delete" => EntryType::Deleted,
            other => return self.other_operation(other, operation),
        };
        let object = self.api.write(text(operation, "key")?, entry_type);
        let is_dropped = operation.get("drop").is_some_and(|drop| drop == true);
        if self.api.stream.is_some() && !is_dropped {
            self.informer.stream_event(entry_type, object);
        }
        Ok(())
    }

    fn other_operation(&mut self, name: &str, operation: &Value) -> Result<(), Disagreement> {
        let number = int_or_zero(operation, "n")?;
        match name {
            "close" => self.end_stream(StreamEnd::Clean),
            "error410" => self.end_stream(StreamEnd::Failed(Failure::Expired)),
            "error500" => self.end_stream(StreamEnd::Failed(Failure::Other)),
            "bookmark" if self.api.stream.is_some() => {
                self.informer.bookmark(self.now, Rv(self.api.version), false);
            }
            "bookmark" => {}
            "compact" => self.api.compacted = self.api.version,
            "rv_bump" => self.api.version += u64::try_from(number).map_err(|_| Disagreement::new("a count", number))?,
            "add_handler" => self.add_handler(number)?,
            other => return Err(Disagreement::new("a known operation", other)),
        }
        Ok(())
    }

    /// Handlers are called, and what they and the resync wait for is scheduled.
    fn after_event(&mut self) {
        while let Some(call) = self.informer.next_call() {
            let handlers = call.only.map_or(0..self.informer.processor.len(), |only| only..only + 1);
            for handler in handlers {
                if !self.informer.processor.wants(handler, call.is_sync) {
                    continue;
                }
                let delta = call.delta.clone();
                if let Some(delta) = self.informer.processor.offer(handler, delta, RecordId(0), self.now) {
                    self.called(handler, &delta);
                }
            }
        }
        if let Some((at, _)) = self.informer.processor.next_buffered() {
            self.schedule(at.0, Event::HandlerFree);
        }
        if let Some(at) = self.informer.reflector().next_resync() {
            let is_scheduled =
                self.calendar.iter().any(|((due, _), event)| *due == at.0 && matches!(event, Event::Resync));
            if !is_scheduled {
                self.schedule(at.0, Event::Resync);
            }
        }
    }

    fn call_buffered(&mut self) {
        while let Some((at, handler)) = self.informer.processor.next_buffered().filter(|(at, _)| *at <= self.now) {
            debug_assert!(at <= self.now);
            let (delta, _) = self.informer.processor.take_buffered(handler, self.now).expect("it is waiting");
            self.called(handler, &delta);
        }
    }

    fn called(&mut self, handler: usize, delta: &Delta) {
        let (operation, old, new, flag) = match &delta.change {
            Change::Added(new) => ("add", None, Some(new), if delta.is_initial { "initial" } else { "" }),
            Change::Updated { old, new } => {
                let flag = if old.meta().uid == new.meta().uid { "" } else { "uid" };
                ("update", Some(old), Some(new), flag)
            }
            Change::Deleted { last, tombstone } => {
                ("delete", Some(last), None, if *tombstone { "tombstone" } else { "" })
            }
        };
        let text = |object: Option<&Object>| object.map_or(String::new(), |object| version(object).to_string());
        let key = delta.change.object().meta().name.to_string();
        let callback = json!([self.now.0, handler, operation, key, text(old), text(new), flag]);
        self.callbacks.push(((self.now.0, handler, key), callback));
    }

    fn requests_as_recorded(&self) -> Vec<Value> {
        let answered = self.requests.iter().filter_map(|request| Some((request, request.result?)));
        let rows = answered.map(|(request, result)| {
            let (verb, version, timeout) = match request.ask {
                Ask::List { version } => ("list", version, 0),
                Ask::Watch { version, initial_events: true, timeout_seconds } => {
                    ("watchlist", version, timeout_seconds)
                }
                Ask::Watch { version, timeout_seconds, .. } => ("watch", version, timeout_seconds),
            };
            let version = match version {
                Version::Newest => String::new(),
                Version::Any => "0".to_owned(),
                Version::At(version) => version.0.to_string(),
            };
            json!([request.sent_at, verb, version, timeout, result])
        });
        rows.collect()
    }
}

impl Fault {
    fn read(fault: &Value) -> Result<Fault, Disagreement> {
        only_fields(fault, &["from", "to", "kind", "on"])?;
        let (kind, on) = (text(fault, "kind")?, text(fault, "on")?);
        if !["refused", "429", "500", "410", "short"].contains(&kind) {
            return Err(Disagreement::new("a known fault", kind));
        }
        if !["list", "watch", "both"].contains(&on) {
            return Err(Disagreement::new("a known kind of request", on));
        }
        Ok(Fault { from: int(fault, "from")?, to: int(fault, "to")?, kind: kind.to_owned(), on: on.to_owned() })
    }
}

impl Api {
    /// One commit. A deletion carries its own version and the object's last content.
    fn write(&mut self, key: &str, entry_type: EntryType) -> Object {
        self.version += 1;
        let uid = match self.objects.get(key) {
            Some(old) => old.meta().uid.to_string(),
            None => format!("{key}-{}", self.version),
        };
        let object = object(key, self.version, &uid);
        if entry_type == EntryType::Deleted {
            self.objects.remove(key);
        } else {
            self.objects.insert(key.to_owned(), object.clone());
        }
        self.log.push((entry_type, object.clone()));
        object
    }
}
