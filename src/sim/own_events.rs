//! Events of programs that keep the store themselves: in the store at once, without a recorder that counts or holds back,
//! and without a request that a fault could hit.

use crate::apiserver::Writer;
use crate::client::event_recorder::Report;
use crate::model::record::Detail;
use crate::model::{Action, Cause, EventType, Key, Kind, KubeEvent, Meta, Name, Pod, RecordId};
use crate::rules::admission::NodeRegistration;

use super::event::{ComponentIndex, ProcessIndex};
use super::requests::detail_of;
use super::world::World;

/// What makes their names unique, and texts that come again and again.
#[derive(Clone, Debug, Default)]
pub struct OwnEvents {
    last_stamp: i64,
    /// Reasons, each with the last message that it came with.
    texts: Vec<(&'static str, Name, Name)>,
}

impl OwnEvents {
    /// The nanosecond, or the next one that no other Event has.
    fn stamp(&mut self, now_ns: i64) -> i64 {
        self.last_stamp = now_ns.max(self.last_stamp + 1);
        self.last_stamp
    }

    /// Reason and message, kept once while they stay the same.
    fn shared(&mut self, reason: &'static str, message: Name) -> (Name, Name) {
        match self.texts.iter_mut().find(|(known, ..)| *known == reason) {
            Some((_, name, last)) => {
                if *last != message {
                    *last = message;
                }
                (name.clone(), last.clone())
            }
            None => {
                let name = Name::new(reason);
                self.texts.push((reason, name.clone(), message.clone()));
                (name, message)
            }
        }
    }
}

/// What the server is called in its Events.
const SERVER: &str = "server";

impl World {
    /// A component of such a program says something.
    pub(super) fn writes_event(
        &mut self,
        (process, component): (ProcessIndex, ComponentIndex),
        report: Report,
        cause: Cause,
    ) {
        let source = self.processes[process].components[component].name.clone();
        self.stores_event(Some(process), source, report, cause);
    }

    /// The server has saved a pod, and says so.
    pub(super) fn tells_of_new(&mut self, pod: &Pod, cause: Cause) {
        let report = Report {
            regarding: Key::new(Kind::Pod, pod.meta.namespace.clone(), pod.meta.name.clone()),
            uid: pod.meta.uid.clone(),
            version: pod.meta.resource_version,
            field_path: Name::EMPTY,
            event_type: EventType::Normal,
            reason: "Created",
            message: Name::new("Pod is created"),
        };
        self.stores_event(None, Name::new(SERVER), report, cause);
    }

    fn stores_event(&mut self, process: Option<ProcessIndex>, source: Name, report: Report, cause: Cause) {
        let now = self.calendar.now();
        let stamp = self.own_events.stamp(now.0);
        let name = Name::from(format!("{}.{stamp:016x}", report.regarding.name));
        let (reason, message) = self.own_events.shared(report.reason, report.message);
        let second = now.truncated_to_seconds();
        let event = KubeEvent {
            meta: Meta::named(report.regarding.namespace.clone(), name),
            regarding: report.regarding,
            regarding_uid: report.uid,
            field_path: report.field_path,
            event_type: report.event_type,
            reason,
            message,
            source_component: source.clone(),
            first: second,
            last: second,
            count: 1,
        };
        let record = RecordId(self.next_record);
        let mut writer = Writer { now, cause: record, draws: &mut self.draws, existing: NodeRegistration::New };
        let result = self.api.create_owned(event.into(), &mut writer);
        let (key, detail) = match &result {
            Ok(answer) => (answer.object().map(|event| event.key()), Detail::None),
            Err(_) => (None, detail_of(&result)),
        };
        self.note(cause, process, Action::Create, key, detail);
        self.name_last(source);
        self.kick_watches(Kind::Event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_events_of_an_instant_have_the_same_stamp() {
        let mut events = OwnEvents::default();
        assert_eq!([5, 5, 5, 6, 20].map(|now| events.stamp(now)), [5, 6, 7, 8, 20]);
    }

    #[test]
    fn a_message_that_comes_again_is_kept_once() {
        let mut events = OwnEvents::default();
        let texts = ["a", "a", "b"].map(|text| events.shared("Created", Name::new(text)));
        assert_eq!(texts.clone().map(|(_, message)| message.to_string()), ["a", "a", "b"]);
        assert!(texts[0].1.as_str().as_ptr() == texts[1].1.as_str().as_ptr());
    }
}
