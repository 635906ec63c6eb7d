//! Kubernetes Events as a component reports them: aggregated, filtered, counted, sent one after the other.
//!
//! Upstream: client-go/tools/record/{event.go,events_cache.go}, v0.36: ten alike within ten minutes become one
//! "(combined from similar events)", a source may send 25 about one object and then one each five minutes, equal events
//! become a PATCH of the count.

use std::collections::VecDeque;

use crate::model::{Cause, EventType, Key, KubeEvent, Map, Meta, Name, Patch, Request, Set, Span, Time, Uid};

use super::token_bucket::TokenBucket;

const MAX_ALIKE: usize = 10;
const ALIKE_WINDOW: Span = Span::from_seconds(600);
const SPAM_BURST: u32 = 25;
const SPAM_QPS: f64 = 1.0 / 300.0;

/// What a component reports.
#[derive(Clone, Debug)]
pub struct Report {
    /// About what.
    pub regarding: Key,
    /// Its uid.
    pub uid: Uid,
    /// Normal or Warning.
    pub event_type: EventType,
    /// Reason.
    pub reason: &'static str,
    /// Text.
    pub message: Name,
}

type AlikeKey = (Uid, Name, EventType, &'static str);
type SameKey = (AlikeKey, Name);

#[derive(Clone, Debug)]
struct Alike {
    messages: Set<Name>,
    last: Time,
}

#[derive(Clone, Debug)]
struct Sent {
    key: Key,
    count: i32,
}

/// The recorder of one component (of one client of it).
#[derive(Clone, Debug)]
pub struct EventRecorder {
    source: Name,
    alike: Map<AlikeKey, Alike>,
    spam: Map<(Uid, Name), TokenBucket>,
    sent: Map<SameKey, Sent>,
    waiting: VecDeque<(Cause, Request)>,
    in_flight: bool,
    last_stamp: i64,
}

impl EventRecorder {
    /// A recorder whose events come from this source.
    pub fn new(source: Name) -> EventRecorder {
        EventRecorder {
            source,
            alike: Map::default(),
            spam: Map::default(),
            sent: Map::default(),
            waiting: VecDeque::new(),
            in_flight: false,
            last_stamp: i64::MIN,
        }
    }

    /// Takes a report; what has to be sent waits for [`EventRecorder::next_request`].
    pub fn report(&mut self, report: Report, now: Time, cause: Cause) {
        let alike_key = (report.uid.clone(), report.regarding.name.clone(), report.event_type, report.reason);
        let (message, same_key) = self.aggregate(alike_key, &report.message, now);
        let spam_key = (report.uid.clone(), report.regarding.name.clone());
        let bucket = self.spam.entry(spam_key).or_insert_with(|| TokenBucket::new(SPAM_QPS, SPAM_BURST));
        if !bucket.try_accept(now) {
            return;
        }
        if let Some(sent) = self.sent.get_mut(&same_key) {
            sent.count += 1;
            let patch = Patch::EventCount { count: sent.count, message };
            self.waiting.push_back((cause, Request::Patch { key: sent.key.clone(), patch }));
            return;
        }
        let namespace = if report.regarding.namespace.is_empty() {
            Name::new("default")
        } else {
            report.regarding.namespace.clone()
        };
        let name = Name::from(format!("{}.{:016x}", report.regarding.name, self.stamp(now)));
        let second = now.truncated_to_seconds();
        let event = KubeEvent {
            meta: Meta::named(namespace, name),
            regarding: report.regarding,
            regarding_uid: report.uid,
            event_type: report.event_type,
            reason: Name::new(report.reason),
            message,
            source_component: self.source.clone(),
            first: second,
            last: second,
            count: 1,
        };
        let request = Request::Create(event.into());
        self.sent.insert(same_key, Sent { key: request.key(), count: 1 });
        self.waiting.push_back((cause, request));
    }

    /// What makes the name of an Event unique: the nanosecond, which a real clock never shows twice; a virtual one does, so
    /// each further Event of an instant takes the next one. The source keeps the Events of two recorders apart.
    fn stamp(&mut self, now: Time) -> u64 {
        self.last_stamp = now.0.max(self.last_stamp.saturating_add(1));
        self.last_stamp as u64 ^ (self.source.stable_hash() & 0xfff)
    }

    /// The text to send and what it is the same as: the tenth different text of one kind is combined with the others.
    fn aggregate(&mut self, key: AlikeKey, message: &Name, now: Time) -> (Name, SameKey) {
        let alike = self.alike.entry(key.clone()).or_insert_with(|| Alike { messages: Set::default(), last: now });
        if now - alike.last > ALIKE_WINDOW {
            alike.messages.clear();
        }
        alike.messages.insert(message.clone());
        alike.last = now;
        if alike.messages.len() < MAX_ALIKE {
            return (message.clone(), (key, message.clone()));
        }
        alike.messages.pop();
        (Name::from(format!("(combined from similar events): {message}")), (key, Name::EMPTY))
    }

    /// The next request to send, if none is in flight: a recorder sends one after the other.
    pub fn next_request(&mut self) -> Option<(Cause, Request)> {
        if self.in_flight {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.in_flight = true;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Kind;

    fn created(recorder: &mut EventRecorder, pods: std::ops::Range<usize>) -> (usize, usize) {
        let (mut creates, mut patches) = (0, 0);
        for pod in pods {
            let report = Report {
                regarding: Key::new(Kind::ReplicaSet, "default", "web"),
                uid: Name::new("u1"),
                event_type: EventType::Normal,
                reason: "SuccessfulCreate",
                message: Name::from(format!("Created pod: web-{pod}")),
            };
            recorder.report(report, Time(0), Cause::default());
            while let Some((_, request)) = recorder.next_request() {
                match request {
                    Request::Create(_) => creates += 1,
                    _ => patches += 1,
                }
                recorder.answered();
            }
        }
        (creates, patches)
    }

    #[test]
    fn thirty_pods_make_ten_creates_and_fifteen_patches() {
        // Recorded (vectors/e2e/README.md): aggregated after 10 alike, the spam filter lets 25 through: 9 single events,
        // the 10th creates the combined one, 11..25 patch it, 26..30 are dropped.
        let mut recorder = EventRecorder::new(Name::new("replicaset-controller"));
        assert_eq!(created(&mut recorder, 0..30), (10, 15));
    }

    #[test]
    fn two_reports_of_one_instant_have_two_names() {
        let mut recorder = EventRecorder::new(Name::new("kubelet"));
        let mut names = Vec::new();
        for reason in ["Pulled", "Created"] {
            let regarding = Key::new(Kind::Pod, "default", "web-1");
            let (uid, message) = (Name::new("u1"), Name::new(reason));
            let report = Report { regarding, uid, event_type: EventType::Normal, reason, message };
            recorder.report(report, Time(7), Cause::default());
            names.push(recorder.next_request().expect("nothing is in flight").1.key().name);
            recorder.answered();
        }
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn one_request_is_in_flight_at_a_time() {
        let mut recorder = EventRecorder::new(Name::new("x"));
        assert_eq!(created(&mut recorder, 0..1), (1, 0));
        assert!(recorder.is_idle());
    }
}
