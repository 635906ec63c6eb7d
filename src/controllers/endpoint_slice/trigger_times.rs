//! When the change happened that a slice shows: who measures how long the network takes to follow reads it there.
//!
//! Upstream: endpointslice/util/trigger_time_tracker.go, v1.36.

use std::rc::Rc;

use crate::model::{Key, Labels, Map, Name, Pod, Service, Time};
use crate::rules::timestamp::format_seconds;

/// Annotation of a slice with that time.
const LAST_CHANGE: &str = "endpoints.kubernetes.io/last-change-trigger-time";

/// What was seen of each Service at its last sync.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TriggerTimes {
    services: Map<Key, Seen>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Seen {
    service: Time,
    /// When the readiness of each pod changed.
    pods: Map<Name, Time>,
}

impl TriggerTimes {
    /// The time of the earliest change since the last sync of this Service: of itself, or of a pod's readiness. `None` if
    /// nothing changed. A Service that is seen for the first time changed when it was created.
    pub fn changed_at(&mut self, key: &Key, service: &Service, pods: &[Rc<Pod>]) -> Option<Time> {
        let ready_since = |pod: &Rc<Pod>| Some((pod.meta.name.clone(), pod.ready_condition()?.last_transition));
        let mut now = Seen { service: service.meta.creation, pods: Map::default() };
        now.pods.extend(pods.iter().filter_map(ready_since));
        let before = self.services.insert(key.clone(), now.clone());
        let Some(before) = before else { return Some(service.meta.creation) };
        let changed_pods = now.pods.iter().filter(|(name, at)| before.pods.get(*name).is_none_or(|seen| seen < at));
        let changed_service = (now.service > before.service).then_some(now.service);
        changed_pods.map(|(_, at)| *at).chain(changed_service).min()
    }

    /// Forgets a Service.
    pub fn forget(&mut self, key: &Key) {
        self.services.shift_remove(key);
    }
}

/// Annotations of a slice that is written for a change at a time; without a time the old one goes.
pub fn annotated(annotations: &Labels, changed_at: Option<Time>) -> Labels {
    match changed_at {
        Some(time) => annotations.with(LAST_CHANGE, Name::new(format_seconds(time))),
        None => annotations.without(LAST_CHANGE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Condition, ConditionStatus, Kind, Meta, Span};

    fn at(seconds: i64) -> Time {
        Time(0) + Span::from_seconds(seconds)
    }

    fn pod(name: &str, ready_since: i64) -> Rc<Pod> {
        let mut pod = Pod { meta: Meta::named("default", name), ..Pod::default() };
        let ready = Condition {
            condition_type: "Ready".into(),
            status: ConditionStatus::True,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition: at(ready_since),
            last_update: None,
        };
        pod.status.conditions.push(ready);
        Rc::new(pod)
    }

    #[test]
    fn the_earliest_change_since_the_last_sync() {
        let mut times = TriggerTimes::default();
        let key = Key { kind: Kind::Service, namespace: "default".into(), name: "web".into() };
        let mut service = Service { meta: Meta::named("default", "web"), ..Service::default() };
        service.meta.creation = at(5);
        let mut changed = |service: &Service, pods: &[Rc<Pod>]| times.changed_at(&key, service, pods);
        assert_eq!(changed(&service, &[pod("a", 9)]), Some(at(5)), "the first sync");
        assert_eq!(changed(&service, &[pod("a", 9)]), None);
        assert_eq!(changed(&service, &[pod("a", 20), pod("b", 14)]), Some(at(14)));
        assert_eq!(changed(&service, &[pod("a", 20)]), None, "a pod that is gone left no time");
        service.meta.creation = at(30);
        assert_eq!(changed(&service, &[pod("a", 40)]), Some(at(30)), "made anew under the same name");
        times.forget(&key);
        assert_eq!(times.changed_at(&key, &service, &[]), Some(at(30)));
    }

    #[test]
    fn the_annotation_comes_and_goes() {
        let with = annotated(&Labels::NONE, Some(at(0)));
        assert_eq!(with.get_str(LAST_CHANGE).unwrap().as_str(), "1970-01-01T00:00:00Z");
        assert_eq!(annotated(&with, None), Labels::NONE);
    }
}
