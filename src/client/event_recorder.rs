//! Kubernetes Events as a component reports them: aggregated, filtered, counted, sent one after the other.
//!
//! Upstream: client-go/tools/record/{event.go,events_cache.go}, v0.36: ten alike within ten minutes become one
//! "(combined from similar events)", a source may send 25 about one object and then one each five minutes, equal events
//! become a PATCH of the count. The scheduler's recorder is the newer one of client-go/tools/events/event_broadcaster.go:
//! equal events about one version of an object make a series, of which the first and the second are sent, and nothing waits
//! for the answer to anything.

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};

use smallvec::SmallVec;

use crate::model::name::FixedHash;
use crate::model::{Cause, EventType, Key, Kind, KubeEvent, Map, Meta, Name, Patch, Request, Rv, Span, Time, Uid};

use super::recency_map::RecencyMap;
use super::token_bucket::TokenBucket;

const MAX_ALIKE: usize = 10;
const ALIKE_WINDOW: Span = Span::from_seconds(600);
const SPAM_BURST: u32 = 25;
/// A series without a further event for so long is over.
const SERIES_END: Span = Span::from_seconds(360);
const SPAM_QPS: f64 = 1.0 / 300.0;
/// Entries each of the recorder's memories holds (upstream: `maxLruCacheEntries`).
const REMEMBERED: usize = 4_096;

/// What a component reports.
#[derive(Clone, Debug)]
pub struct Report {
    /// About what.
    pub regarding: Key,
    /// Its uid.
    pub uid: Uid,
    /// Which version of it the reporter had in hand (looked at where Events make series).
    pub version: Rv,
    /// The part of it that is meant, e.g. `spec.containers{web}`; empty for all of it.
    pub field_path: Name,
    /// Normal or Warning.
    pub event_type: EventType,
    /// Reason.
    pub reason: &'static str,
    /// Text.
    pub message: Name,
}

/// Texts of which the recorder keeps the last, so that equal ones of many Events share their memory.
const RECENT_TEXTS: usize = 16;

/// What makes Events alike, as a hash: uid, name, type and reason, whatever part of the object they are about.
///
/// Upstream: `EventAggregatorByReasonFunc`.
#[derive(Clone, Copy, Hash)]
struct AlikeKey(u64);

impl AlikeKey {
    fn of(report: &Report) -> AlikeKey {
        let Report { uid, regarding, event_type, reason, .. } = report;
        AlikeKey(hash(&(uid, &regarding.name, event_type, reason)))
    }
}

/// What makes Events the same, as a hash: they are alike, and their text and the part they are about are equal.
///
/// Upstream: `getEventKey`, which has the `FieldPath`.
#[derive(Clone, Copy)]
struct SameKey(u64);

fn hash(what: &impl Hash) -> u64 {
    FixedHash.hash_one(what)
}

/// The different texts of alike events, as hashes, and when the last came.
#[derive(Clone, Debug)]
struct Alike {
    messages: SmallVec<[u64; 2]>,
    last: Time,
}

/// What was observed of equal events. `event` is the name of the Event that was created for them, empty before.
#[derive(Clone, Debug, Default)]
struct Observed {
    event: Name,
    count: i32,
}

/// The recorder of one component (of one client of it).
#[derive(Clone, Debug)]
pub struct EventRecorder {
    source: Name,
    alike: RecencyMap<Alike>,
    spam: RecencyMap<TokenBucket>,
    observed: RecencyMap<Observed>,
    waiting: VecDeque<(Cause, Request)>,
    in_flight: bool,
    last_stamp: i64,
    /// Series by what makes events equal there; `None` for the older recorder.
    series: Option<Map<u64, Series>>,
    /// When series that are over were last taken out.
    swept: Time,
    reasons: Vec<(&'static str, Name)>,
    texts: VecDeque<Name>,
}

/// Equal events: the Event that was created, whether a second one was seen, and when the last.
#[derive(Clone, Debug)]
struct Series {
    event: Name,
    message: Name,
    is_series: bool,
    last: Time,
}

impl EventRecorder {
    /// A recorder whose events come from this source.
    pub fn new(source: Name) -> EventRecorder {
        EventRecorder {
            source,
            alike: RecencyMap::new(REMEMBERED),
            spam: RecencyMap::new(REMEMBERED),
            observed: RecencyMap::new(REMEMBERED),
            waiting: VecDeque::new(),
            in_flight: false,
            last_stamp: i64::MIN,
            series: None,
            swept: Time::default(),
            reasons: Vec::new(),
            texts: VecDeque::new(),
        }
    }

    /// A recorder of events.k8s.io, whose equal events make series.
    pub fn in_series(source: Name) -> EventRecorder {
        EventRecorder { series: Some(Map::default()), ..EventRecorder::new(source) }
    }

    /// Takes a report; what has to be sent waits for [`EventRecorder::next_request`].
    pub fn report(&mut self, report: Report, now: Time, cause: Cause) {
        let alike_key = AlikeKey::of(&report);
        if self.series.is_some() {
            return self.report_in_series(alike_key, report, now, cause);
        }
        let (message, same_key) = self.aggregate(alike_key, &report.message, &report.field_path, now);
        let observed = self.observed.entry(same_key.0, Observed::default);
        // An event that the spam filter stops counts all the same.
        observed.count += 1;
        let (count, existing) = (observed.count, observed.event.clone());
        let spam_key = hash(&(&report.uid, &report.regarding.name));
        let bucket = self.spam.entry(spam_key, || TokenBucket::new(SPAM_QPS, SPAM_BURST));
        if !bucket.try_accept(now) {
            return;
        }
        if !existing.is_empty() {
            let patch = Patch::EventCount { count, message };
            self.waiting.push_back((cause, Request::Patch { key: event_key(&report.regarding, existing), patch }));
            return;
        }
        // DIVERGES: when the first of equal events was stopped by the spam filter, upstream patches an Event that is not
        // there and creates it after the 404.
        let event = self.event(report, message, count, now);
        self.observed.entry(same_key.0, Observed::default).event = event.meta.name.clone();
        self.waiting.push_back((cause, Request::Create(event.into())));
    }

    /// DIVERGES: upstream looks at its series every six minutes, tells the last count of those that ended and forgets those
    /// older than that; here an old one is forgotten when a new one comes, and its last count is not told.
    fn report_in_series(&mut self, alike_key: AlikeKey, report: Report, now: Time, cause: Cause) {
        let series_key = hash(&(alike_key, report.version));
        let known = self.series.as_mut().and_then(|series| series.get_mut(&series_key));
        match known.filter(|series| now - series.last <= SERIES_END) {
            Some(series) => {
                series.last = now;
                if !series.is_series {
                    series.is_series = true;
                    let patch = Patch::EventCount { count: 2, message: series.message.clone() };
                    let key = event_key(&report.regarding, series.event.clone());
                    self.waiting.push_back((cause, Request::Patch { key, patch }));
                }
            }
            None => {
                self.sweep(now);
                let message = report.message.clone();
                let event = self.event(report, message.clone(), 1, now);
                let series = Series { event: event.meta.name.clone(), message, is_series: false, last: now };
                self.series.get_or_insert_default().insert(series_key, series);
                self.waiting.push_back((cause, Request::Create(event.into())));
            }
        }
    }

    /// Forgets the series that are over, so that the list does not grow with the length of a run.
    fn sweep(&mut self, now: Time) {
        if now - self.swept <= SERIES_END {
            return;
        }
        self.swept = now;
        if let Some(series) = &mut self.series {
            series.retain(|_, one| now - one.last <= SERIES_END);
        }
    }

    fn event(&mut self, report: Report, message: Name, count: i32, now: Time) -> KubeEvent {
        let namespace = namespace_of(&report.regarding);
        let name = Name::from(format!("{}.{:016x}", report.regarding.name, self.stamp(now)));
        let second = now.truncated_to_seconds();
        KubeEvent {
            meta: Meta::named(namespace, name),
            regarding: report.regarding,
            regarding_uid: report.uid,
            field_path: self.shared(report.field_path),
            event_type: report.event_type,
            reason: self.reason(report.reason),
            message: self.shared(message),
            source_component: self.source.clone(),
            first: second,
            last: second,
            count,
        }
    }

    /// What makes the name of an Event unique: the nanosecond, which a real clock never shows twice; a virtual one does, so
    /// each further Event of an instant takes the next one. The source keeps the Events of two recorders apart.
    fn stamp(&mut self, now: Time) -> u64 {
        self.last_stamp = now.0.max(self.last_stamp.saturating_add(1));
        self.last_stamp as u64 ^ (self.source.stable_hash() & 0xfff)
    }

    fn reason(&mut self, reason: &'static str) -> Name {
        if let Some((_, name)) = self.reasons.iter().find(|(known, _)| *known == reason) {
            return name.clone();
        }
        let name = Name::new(reason);
        self.reasons.push((reason, name.clone()));
        name
    }

    /// The same text, as the recorder has had it before.
    fn shared(&mut self, text: Name) -> Name {
        if let Some(known) = self.texts.iter().find(|known| **known == text) {
            return known.clone();
        }
        if self.texts.len() >= RECENT_TEXTS {
            self.texts.pop_front();
        }
        self.texts.push_back(text.clone());
        text
    }

    /// The text to send and what it is the same as: the tenth different text of one kind is combined with the others.
    fn aggregate(&mut self, key: AlikeKey, message: &Name, field_path: &Name, now: Time) -> (Name, SameKey) {
        let alike = self.alike.entry(key.0, || Alike { messages: SmallVec::new(), last: now });
        if now - alike.last > ALIKE_WINDOW {
            alike.messages.clear();
        }
        let text = hash(message);
        if !alike.messages.contains(&text) {
            alike.messages.push(text);
        }
        alike.last = now;
        if alike.messages.len() < MAX_ALIKE {
            return (message.clone(), SameKey(hash(&(key, message, field_path))));
        }
        alike.messages.pop();
        let combined = Name::from(format!("(combined from similar events): {message}"));
        (combined, SameKey(hash(&(key, &Name::EMPTY, &Name::EMPTY))))
    }

    /// The next request to send, if none is in flight: the older recorder sends one after the other.
    pub fn next_request(&mut self) -> Option<(Cause, Request)> {
        if self.in_flight {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.in_flight = self.series.is_none();
        Some(next)
    }

    /// The request in flight was answered.
    pub fn answered(&mut self) {
        self.in_flight = false;
    }

    /// Nothing waits and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        !self.in_flight && self.waiting.is_empty()
    }
}

/// Events about objects without a namespace are in `default`.
fn namespace_of(regarding: &Key) -> Name {
    if regarding.namespace.is_empty() { Name::new("default") } else { regarding.namespace.clone() }
}

/// The key of an Event of this name about an object.
fn event_key(regarding: &Key, name: Name) -> Key {
    Key { kind: Kind::Event, namespace: namespace_of(regarding), name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Object, Set};

    fn recorder() -> EventRecorder {
        EventRecorder::new(Name::new("replicaset-controller"))
    }

    /// What is sent for a report at this second.
    fn sent(recorder: &mut EventRecorder, reason: &'static str, message: String, second: i64) -> Vec<Request> {
        let report = Report {
            regarding: Key::new(Kind::ReplicaSet, "default", "web"),
            uid: Name::new("u1"),
            version: Rv(0),
            field_path: Name::EMPTY,
            event_type: EventType::Normal,
            reason,
            message: Name::from(message),
        };
        recorder.report(report, Time(second * 1_000_000_000), Cause::default());
        let mut requests = Vec::new();
        while let Some((_, request)) = recorder.next_request() {
            requests.push(request);
            recorder.answered();
        }
        requests
    }

    fn created(recorder: &mut EventRecorder, pods: std::ops::Range<usize>) -> (usize, usize) {
        let requests: Vec<_> =
            pods.flat_map(|pod| sent(recorder, "SuccessfulCreate", format!("Created pod: web-{pod}"), 0)).collect();
        let creates = requests.iter().filter(|request| matches!(request, Request::Create(_))).count();
        (creates, requests.len() - creates)
    }

    #[test]
    fn thirty_pods_make_ten_creates_and_fifteen_patches() {
        // Recorded (vectors/e2e/README.md): aggregated after 10 alike, the spam filter lets 25 through: 9 single events,
        // the 10th creates the combined one, 11..25 patch it, 26..30 are dropped.
        assert_eq!(created(&mut recorder(), 0..30), (10, 15));
    }

    #[test]
    fn events_that_the_spam_filter_stops_count_all_the_same() {
        let mut recorder = recorder();
        created(&mut recorder, 0..30);
        // 10..30 share one Event, of which the create and 15 patches went out and 5 were stopped: 21. A token comes back
        // after 300 s, and the next report is the 22nd.
        let requests = sent(&mut recorder, "SuccessfulCreate", "Created pod: web-30".to_string(), 300);
        assert!(matches!(&requests[..], [Request::Patch { patch: Patch::EventCount { count: 22, .. }, .. }]));
    }

    #[test]
    fn two_events_of_an_instant_have_different_names() {
        let mut recorder = recorder();
        let pulled = sent(&mut recorder, "Pulled", "present".to_string(), 7);
        let started = sent(&mut recorder, "Created", "created".to_string(), 7);
        let mut other = EventRecorder::new(Name::new("kubelet"));
        let elsewhere = sent(&mut other, "Pulled", "present".to_string(), 7);
        let names: Set<_> = [&pulled, &started, &elsewhere].into_iter().map(|requests| requests[0].key()).collect();
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn events_of_two_containers_are_two_events() {
        let mut recorder = EventRecorder::new(Name::new("kubelet"));
        let mut report = |path: &str| {
            let report = Report {
                regarding: Key::new(Kind::Pod, "default", "web-1"),
                uid: Name::new("u1"),
                version: Rv(0),
                field_path: Name::new(path),
                event_type: EventType::Normal,
                reason: "Started",
                message: Name::new("Container started"),
            };
            recorder.report(report, Time(0), Cause::default());
            let (_, request) = recorder.next_request().unwrap();
            recorder.answered();
            request
        };
        let first = report("spec.containers{web}");
        let Request::Create(Object::Event(event)) = &first else { panic!("{first:?}") };
        assert_eq!((event.field_path.as_str(), event.count), ("spec.containers{web}", 1));
        assert!(matches!(report("spec.containers{log}"), Request::Create(_)));
        // The same text about the same container a second time is a count of 2.
        let again = report("spec.containers{web}");
        let Request::Patch { key, patch: Patch::EventCount { count: 2, .. } } = again else { panic!("{again:?}") };
        assert_eq!(key, first.key());
    }

    #[test]
    fn the_second_of_a_series_is_told_and_no_more() {
        let mut recorder = EventRecorder::in_series(Name::new("default-scheduler"));
        let mut report = |version, second: i64| {
            let report = Report {
                regarding: Key::new(Kind::Pod, "default", "web-1"),
                uid: Name::new("u1"),
                version: Rv(version),
                field_path: Name::EMPTY,
                event_type: EventType::Warning,
                reason: "FailedScheduling",
                message: Name::from(format!("at {second}")),
            };
            recorder.report(report, Time(second * 1_000_000_000), Cause::default());
            recorder.next_request().map(|(_, request)| request)
        };
        assert!(matches!(report(1, 0), Some(Request::Create(_))));
        // The same version: a series, with the words of the first.
        let second = report(1, 5);
        let Some(Request::Patch { patch: Patch::EventCount { count: 2, message }, .. }) = &second else {
            panic!("{second:?}")
        };
        assert_eq!(*message, "at 0");
        assert!(report(1, 6).is_none());
        // Another version of the pod, and a series that has been over for more than 360 s.
        assert!(matches!(report(2, 7), Some(Request::Create(_))));
        assert!(matches!(report(1, 367), Some(Request::Create(_))));
        // Those of 7 and 367 s are over at 1000 s, and forgotten.
        assert!(matches!(report(3, 1000), Some(Request::Create(_))));
        assert_eq!(recorder.series.map(|series| series.len()), Some(1));
    }

    #[test]
    fn one_request_is_in_flight_at_a_time() {
        let mut recorder = recorder();
        let report = |reason| Report {
            regarding: Key::new(Kind::ReplicaSet, "default", "web"),
            uid: Name::new("u1"),
            version: Rv(0),
            field_path: Name::EMPTY,
            event_type: EventType::Normal,
            reason,
            message: Name::new("text"),
        };
        recorder.report(report("A"), Time(0), Cause::default());
        recorder.report(report("B"), Time(0), Cause::default());
        assert!(recorder.next_request().is_some() && recorder.next_request().is_none() && !recorder.is_idle());
        recorder.answered();
        assert!(recorder.next_request().is_some());
        recorder.answered();
        assert!(recorder.is_idle());
    }
}
