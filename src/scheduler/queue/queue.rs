//! The scheduling queue: activeQ, backoffQ, the unschedulable pool, and the pods in flight.
//!
//! Upstream: pkg/scheduler/backend/queue/scheduling_queue.go, v1.36. Not modelled: activation by plugins, pending plugins.

use std::rc::Rc;

use super::active::{ActiveQueue, Age, active_key, age};
use super::backoff::{BackoffQueue, BackoffSettings};
use super::counters::{self, QueueCounters};
use super::nominator::Nominator;
use super::unschedulable::{self, MAX_IN_POOL, UnschedulablePods};
use crate::model::scheduling::Waiting;
use crate::model::{Cause, Key, Kind, Name, Pod, Set, Time, Uid};
use crate::scheduler::explain;
use crate::scheduler::framework::{ClusterEvent, PodInfo, Profiles, SortKey, names};
use crate::scheduler::preemption::Nomination;

/// A pending pod and its history.
#[derive(Clone, Debug)]
pub struct QueuedPodInfo {
    /// The pod as last seen.
    pub info: Rc<PodInfo>,
    /// When it was first queued, or when its last attempt failed.
    pub timestamp: Time,
    /// When it could first be tried: what it waits for its gates is not counted.
    pub initial_attempt: Option<Time>,
    /// Attempts begun.
    pub attempts: u32,
    /// Attempts that ended in a rejection.
    pub unschedulable_count: u32,
    /// Attempts in a row that ended in an error.
    pub consecutive_errors_count: u32,
    /// Who rejected it last.
    pub unschedulable_plugins: Vec<&'static str>,
    /// PreEnqueue holds it back.
    pub gated: bool,
    /// The plugin that does; empty while none does.
    pub gating_plugin: &'static str,
    /// Its place in activeQ.
    pub order: SortKey,
    /// What put it where it can be tried.
    pub cause: Cause,
    /// Decides between pods that QueueSort holds for equal.
    pub age: Age,
}

impl QueuedPodInfo {
    /// The pod's key.
    pub fn key(&self) -> Key {
        key_of(&self.info.pod)
    }

    /// The pod's uid.
    pub fn uid(&self) -> &Uid {
        &self.info.pod.meta.uid
    }
}

/// The key of a pod.
pub fn key_of(pod: &Pod) -> Key {
    Key { kind: Kind::Pod, namespace: pod.meta.namespace.clone(), name: pod.meta.name.clone() }
}

/// Where a pod went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// It can be tried.
    Active,
    /// It can be tried when its back-off is over, or nothing else is to be tried.
    Backoff,
    /// It waits for an event.
    Unschedulable,
}

impl Place {
    /// The name of the queue in metrics.
    pub fn label(self) -> &'static str {
        match self {
            Place::Active => "active",
            Place::Backoff => "backoff",
            Place::Unschedulable => "unschedulable",
        }
    }
}

/// How an attempt failed.
#[derive(Clone, Debug)]
pub enum Failure {
    /// These plugins rejected the pod; empty when nothing in particular did (no nodes), which counts as an error.
    Rejected(Vec<&'static str>),
    /// Something went wrong.
    Error,
}

/// The pod of an attempt that is under way (it computes, or waits for a permit), and what happened since it was taken.
#[derive(Clone, Debug)]
struct InFlight {
    uid: Uid,
    events: Vec<(ClusterEvent, Cause)>,
}

/// The queue.
#[derive(Clone, Debug)]
pub struct SchedulingQueue {
    active: ActiveQueue,
    backoff: BackoffQueue,
    pool: UnschedulablePods,
    in_flight: Vec<InFlight>,
    nominator: Nominator,
    /// Pods whose preemption is under way.
    preempting: Set<Uid>,
    profiles: Profiles,
    counters: QueueCounters,
    next_sequence: u64,
}

impl SchedulingQueue {
    /// An empty queue.
    pub fn new(profiles: impl Into<Profiles>, backoff: BackoffSettings) -> SchedulingQueue {
        SchedulingQueue {
            active: ActiveQueue::default(),
            backoff: BackoffQueue::new(backoff),
            pool: UnschedulablePods::default(),
            in_flight: Vec::new(),
            nominator: Nominator::default(),
            preempting: Set::default(),
            profiles: profiles.into(),
            counters: QueueCounters::default(),
            next_sequence: 0,
        }
    }

    /// What is counted for metrics.
    pub fn counters(&self) -> &QueueCounters {
        &self.counters
    }

    /// Pods that were promised a node.
    pub fn nominator(&self) -> &Nominator {
        &self.nominator
    }

    /// Promises a node to a pod.
    pub fn nominate(&mut self, pod: &Rc<PodInfo>, node: &Name) {
        self.nominator.add(pod, node);
    }

    /// What PostFilter decided about a pod that is back in the queue.
    pub fn decide_nomination(&mut self, key: &Key, nomination: &Nomination) {
        if let Some(info) = self.find(key).map(|(_, queued)| queued.info.clone()) {
            self.nominator.nominate(&info, nomination);
        }
    }

    /// A pod's preemption begins: until [`release`](Self::release) it cannot be tried (PreEnqueue of DefaultPreemption).
    pub fn hold(&mut self, uid: &Uid) {
        self.preempting.insert(uid.clone());
    }

    /// The deletions of a pod's preemption are sent, or have failed.
    pub fn release(&mut self, uid: &Uid) {
        self.preempting.swap_remove(uid);
    }

    /// Makes a waiting pod ready to be tried whatever it waits for.
    pub fn activate(&mut self, key: &Key, cause: Cause, now: Time) {
        if let Some(mut queued) = self.backoff.remove(key).or_else(|| self.pool.remove(key)) {
            queued.cause = cause;
            self.enqueue(queued, false, counters::FORCE_ACTIVATE, now);
        }
    }

    /// Ends a pod's nomination: it is assumed, gone, or may look elsewhere. Returns the node, if there was one.
    pub fn end_nomination(&mut self, uid: &Uid) -> Option<Name> {
        self.nominator.delete(uid)
    }

    /// A pod is new.
    pub fn add(&mut self, pod: &Rc<Pod>, cause: Cause, now: Time) -> Place {
        self.add_because(pod, cause, counters::POD_ADD, now)
    }

    fn add_because(&mut self, pod: &Rc<Pod>, cause: Cause, event: &'static str, now: Time) -> Place {
        self.remove_everywhere(&key_of(pod));
        let queued = QueuedPodInfo {
            info: Rc::new(PodInfo::new(pod.clone())),
            timestamp: now,
            initial_attempt: None,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors_count: 0,
            unschedulable_plugins: Vec::new(),
            gated: false,
            gating_plugin: "",
            order: SortKey::default(),
            cause,
            age: age(&pod.meta, self.next_sequence),
        };
        self.next_sequence += 1;
        let node = &pod.status.nominated_node_name;
        if !node.is_empty() {
            self.nominator.add(&queued.info, node);
        }
        self.enqueue(queued, false, event, now)
    }

    /// A pending pod changed.
    pub fn update(&mut self, old: &Rc<Pod>, new: &Rc<Pod>, cause: Cause, now: Time) {
        let event = ClusterEvent::PodUpdated { old: old.clone(), new: new.clone() };
        if let Some(in_flight) = self.in_flight.iter_mut().find(|in_flight| in_flight.uid == new.meta.uid) {
            in_flight.events.push((event, cause));
            return;
        }
        let key = key_of(new);
        let is_pooled = self.pool.get(&key).is_some();
        let found = self.active.get_mut(&key).or_else(|| self.backoff.get_mut(&key));
        let Some(queued) = found.or_else(|| self.pool.get_mut(&key)) else {
            self.add_because(new, cause, counters::POD_UPDATE, now);
            return;
        };
        set_pod(queued, new);
        let info = queued.info.clone();
        self.update_nomination(old, &info);
        let wakes = is_pooled && self.pool.get(&key).is_some_and(|queued| self.is_worth_requeuing(queued, &event));
        if wakes && let Some(mut queued) = self.pool.remove(&key) {
            queued.cause = cause;
            self.requeue(queued, counters::label(&event), now);
        }
    }

    /// A nomination that only memory knows outlives an update that says nothing of one.
    fn update_nomination(&mut self, old: &Pod, new: &Rc<PodInfo>) {
        let node = &new.pod.status.nominated_node_name;
        if node.is_empty() && old.status.nominated_node_name.is_empty() {
            return self.nominator.set_pod(new);
        }
        self.nominator.delete(&new.pod.meta.uid);
        if !node.is_empty() {
            self.nominator.add(new, node);
        }
    }

    /// A pending pod is gone, or was bound.
    pub fn delete(&mut self, key: &Key) {
        if let Some(uid) = self.find(key).map(|(_, queued)| queued.uid().clone()) {
            self.nominator.delete(&uid);
        }
        self.remove_everywhere(key);
    }

    /// Takes the next pod: the head of activeQ or, when it is empty, of the rejected pods in backoffQ.
    pub fn pop(&mut self, now: Time) -> Option<QueuedPodInfo> {
        self.flush_backoff_completed(now);
        let early = self.backoff.settings().pop_from_backoff_q;
        let mut pod = match self.active.pop_first() {
            Some(first) => first,
            None => {
                let first = if early { self.backoff.pop_rejected() } else { None }?;
                self.counters.entered(Place::Active, counters::POP_FROM_BACKOFF_Q);
                first
            }
        };
        self.counters.left(&pod);
        pod.attempts += 1;
        pod.unschedulable_plugins.clear();
        self.in_flight.push(InFlight { uid: pod.uid().clone(), events: Vec::new() });
        Some(pod)
    }

    /// The attempt is over, or the pod will not come back: ends the recording of events.
    pub fn done(&mut self, uid: &Uid) {
        self.in_flight.retain(|in_flight| in_flight.uid != *uid);
    }

    /// An attempt failed. With `pod` as the informer has it now. If a pod of this name is queued (it was deleted and created
    /// again meanwhile), that one stays and this one is dropped.
    pub fn add_unschedulable(
        &mut self,
        mut queued: QueuedPodInfo,
        pod: &Rc<Pod>,
        failure: Failure,
        cause: Cause,
        now: Time,
    ) -> Place {
        let own = self.in_flight.iter().position(|in_flight| in_flight.uid == *queued.uid());
        let events = own.map(|at| self.in_flight.remove(at).events).unwrap_or_default();
        if let Some((place, _)) = self.find(&queued.key()) {
            return place;
        }
        set_pod(&mut queued, pod);
        self.nominator.set_pod(&queued.info);
        queued.timestamp = now;
        match failure {
            Failure::Rejected(plugins) if !plugins.is_empty() => {
                let profile = &queued.info.pod.spec.scheduler_name;
                plugins.iter().for_each(|plugin| self.counters.rejected(plugin, profile));
                queued.unschedulable_plugins = plugins;
                queued.unschedulable_count += 1;
                queued.consecutive_errors_count = 0;
            }
            _ => queued.consecutive_errors_count += 1,
        }
        let is_error = queued.consecutive_errors_count > 0;
        let woken = events.iter().find(|(event, _)| self.is_worth_requeuing(&queued, event));
        if let Some(cause) = woken.map(|(_, cause)| *cause).or(is_error.then_some(cause)) {
            queued.cause = cause;
            return self.requeue(queued, counters::SCHEDULE_ATTEMPT_FAILURE, now);
        }
        self.counters.entered(Place::Unschedulable, counters::SCHEDULE_ATTEMPT_FAILURE);
        self.pool.add(queued);
        Place::Unschedulable
    }

    /// Something happened in the cluster: moves the pods it may help. Returns how many moved.
    pub fn move_on_event(&mut self, event: ClusterEvent, cause: Cause, now: Time) -> usize {
        self.move_some_on_event(event, cause, now, |_| true)
    }

    /// The same, but of the pods that wait only those for which `pre_check` holds are asked.
    pub fn move_some_on_event(
        &mut self,
        event: ClusterEvent,
        cause: Cause,
        now: Time,
        pre_check: impl Fn(&Pod) -> bool,
    ) -> usize {
        let (profiles, label) = (self.profiles.clone(), counters::label(&event));
        let moved = self
            .pool
            .drain_where(|queued| pre_check(&queued.info.pod) && is_worth_requeuing(&profiles, queued, &event));
        for in_flight in &mut self.in_flight {
            in_flight.events.push((event.clone(), cause));
        }
        let count = moved.len();
        for mut queued in moved {
            queued.cause = cause;
            self.requeue(queued, label, now);
        }
        count
    }

    /// Moves pods that have waited for more than five minutes. Returns how many moved.
    pub fn flush_unschedulable_leftover(&mut self, cause: Cause, now: Time) -> usize {
        let moved = self.pool.drain_where(|queued| !queued.gated && now - queued.timestamp > MAX_IN_POOL);
        let count = moved.len();
        for mut queued in moved {
            queued.cause = cause;
            self.requeue(queued, counters::UNSCHEDULABLE_TIMEOUT, now);
        }
        count
    }

    /// Moves pods whose back-off is over to activeQ. Upstream does this on every whole second; doing it before each look at
    /// activeQ is the same, because activeQ does not order by arrival.
    pub fn flush_backoff_completed(&mut self, now: Time) {
        while let Some(queued) = self.backoff.pop_completed(now) {
            self.enqueue(queued, false, counters::BACKOFF_COMPLETE, now);
        }
    }

    /// When a back-off ends next; nothing else may be waiting for it.
    pub fn next_backoff_flush(&self) -> Option<Time> {
        self.backoff.next_flush()
    }

    /// When the flush of leftovers, at `origin + k * 30 s`, finds something next.
    pub fn next_leftover_flush(&self, origin: Time, now: Time) -> Option<Time> {
        self.pool.next_flush(origin, now)
    }

    /// Pods in activeQ.
    pub fn active_len(&self) -> usize {
        self.active.len()
    }

    /// Pods in backoffQ.
    pub fn backoff_len(&self) -> usize {
        self.backoff.len()
    }

    /// Pods that wait for an event.
    pub fn unschedulable_len(&self) -> usize {
        self.pool.waiting()
    }

    /// Gated pods.
    pub fn gated_len(&self) -> usize {
        self.pool.gated()
    }

    /// A pod that is not in flight, and where it is.
    pub fn find(&self, key: &Key) -> Option<(Place, &QueuedPodInfo)> {
        let active = self.active.get(key).map(|queued| (Place::Active, queued));
        let backoff = || self.backoff.get(key).map(|queued| (Place::Backoff, queued));
        let pool = || self.pool.get(key).map(|queued| (Place::Unschedulable, queued));
        active.or_else(backoff).or_else(pool)
    }

    /// What a pod waits for; the grid of the flush of leftovers begins at `origin`.
    pub fn waiting(&self, key: &Key, origin: Time, now: Time) -> Waiting {
        match self.find(key) {
            None => Waiting::Nothing,
            Some((Place::Active, _)) => Waiting::Turn,
            Some((Place::Backoff, queued)) => Waiting::Backoff {
                until: self.backoff.flush_of(queued),
                unless_idle: self.backoff.settings().pop_from_backoff_q && queued.consecutive_errors_count == 0,
            },
            Some((Place::Unschedulable, queued))
                if queued.gated && !queued.info.pod.spec.scheduling_gates.is_empty() =>
            {
                Waiting::Gates(queued.info.pod.spec.scheduling_gates.clone())
            }
            Some((Place::Unschedulable, queued)) => Waiting::Event {
                hints: queued.unschedulable_plugins.iter().map(|plugin| (*plugin, explain::hints(plugin))).collect(),
                at_the_latest: Some(unschedulable::flush_of(queued.timestamp, origin, now)),
            },
        }
    }

    fn is_worth_requeuing(&self, queued: &QueuedPodInfo, event: &ClusterEvent) -> bool {
        is_worth_requeuing(&self.profiles, queued, event)
    }

    fn requeue(&mut self, queued: QueuedPodInfo, event: &'static str, now: Time) -> Place {
        let is_backing_off = self.backoff.is_backing_off(&queued, now);
        self.enqueue(queued, is_backing_off, event, now)
    }

    /// Puts a pod where it can be tried, unless PreEnqueue holds it back.
    ///
    /// Upstream: `moveToActiveQ`, `moveToBackoffQ`.
    fn enqueue(&mut self, mut queued: QueuedPodInfo, is_backing_off: bool, event: &'static str, now: Time) -> Place {
        let profile = self.profiles.of(&queued.info.pod);
        queued.order = profile.queue_sort(&queued.info, queued.timestamp);
        let is_preempting = self.preempting.contains(queued.uid());
        let gating = profile.pre_enqueue(&queued.info).or(is_preempting.then_some(names::DEFAULT_PREEMPTION));
        queued.gated = gating.is_some();
        queued.gating_plugin = gating.unwrap_or_default();
        if let Some(plugin) = gating {
            if !queued.unschedulable_plugins.contains(&plugin) {
                self.counters.rejected(plugin, &queued.info.pod.spec.scheduler_name);
                queued.unschedulable_plugins.push(plugin);
            }
            self.counters.entered(Place::Unschedulable, event);
            self.pool.add(queued);
            return Place::Unschedulable;
        }
        if is_backing_off {
            self.counters.entered(Place::Backoff, event);
            self.backoff.add(queued);
            return Place::Backoff;
        }
        self.counters.entered(Place::Active, event);
        queued.initial_attempt.get_or_insert(now);
        self.active.insert(active_key(&queued), queued);
        Place::Active
    }

    fn remove_everywhere(&mut self, key: &Key) {
        let found = self.active.remove(key).or_else(|| self.backoff.remove(key)).or_else(|| self.pool.remove(key));
        if let Some(queued) = found {
            self.counters.left(&queued);
        }
    }
}

/// Whether the event may help a pod of the pool. One that is held back is looked at only after the events for which the
/// plugin that holds it back is registered.
///
/// Upstream: `isPodWorthRequeuing`, and `isEventOfInterest` for gated pods.
fn is_worth_requeuing(profiles: &Profiles, queued: &QueuedPodInfo, event: &ClusterEvent) -> bool {
    let profile = profiles.of(&queued.info.pod);
    if queued.gating_plugin == names::DEFAULT_PREEMPTION && matches!(event, ClusterEvent::AssignedPodDeleted(_)) {
        // Registered for deletions, and says Skip itself: the plugins that rejected the pod decide.
    } else if queued.gated && !profile.reconsiders_gated(queued.gating_plugin, &queued.info, event) {
        return false;
    }
    profile.is_worth_requeuing(&queued.info, &queued.unschedulable_plugins, event)
}

/// Takes the newer version of a pod; requests are computed anew only when its spec changed.
fn set_pod(queued: &mut QueuedPodInfo, pod: &Rc<Pod>) {
    let info = match Rc::ptr_eq(&queued.info.pod.spec, &pod.spec) {
        true => queued.info.with_pod(pod.clone()),
        false => PodInfo::new(pod.clone()),
    };
    queued.info = Rc::new(info);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Node, RecordId, Rv, Span};
    use crate::scheduler::cache::testing::{bound, node, pod, pod_with};
    use crate::scheduler::framework::{Profile, Version, names};

    fn seconds(milliseconds: i64) -> Time {
        Time::default() + Span::from_milliseconds(milliseconds)
    }

    fn queue(pop_from_backoff_q: bool) -> SchedulingQueue {
        let settings = BackoffSettings { pop_from_backoff_q, ..BackoffSettings::default() };
        SchedulingQueue::new(Rc::new(Profile::default_profile(Version::V1_36)), settings)
    }

    fn add(queue: &mut SchedulingQueue, name: &str, priority: i32, at_ms: i64) -> Place {
        let mut pod = pod_with(name, 1_000, 0);
        Rc::make_mut(&mut pod.spec).priority = priority;
        queue.add(&Rc::new(pod), RecordId(1), seconds(at_ms))
    }

    fn pop(queue: &mut SchedulingQueue, at_ms: i64) -> Option<QueuedPodInfo> {
        queue.pop(seconds(at_ms))
    }

    fn pop_name(queue: &mut SchedulingQueue, at_ms: i64) -> Option<String> {
        pop(queue, at_ms).map(|queued| queued.info.pod.meta.name.to_string())
    }

    fn reject(queue: &mut SchedulingQueue, queued: QueuedPodInfo, plugin: &'static str, at_ms: i64) -> Place {
        let pod = queued.info.pod.clone();
        queue.add_unschedulable(queued, &pod, Failure::Rejected(vec![plugin]), RecordId(2), seconds(at_ms))
    }

    fn err(queue: &mut SchedulingQueue, queued: QueuedPodInfo, at_ms: i64) -> Place {
        let pod = queued.info.pod.clone();
        queue.add_unschedulable(queued, &pod, Failure::Error, RecordId(2), seconds(at_ms))
    }

    fn pod_deleted() -> ClusterEvent {
        ClusterEvent::AssignedPodDeleted(Rc::new(bound("x", "a", 1, 0)))
    }

    fn node_added() -> ClusterEvent {
        ClusterEvent::NodeAdded(Rc::new(node("a")))
    }

    #[test]
    fn pods_leave_by_priority_then_by_age_then_by_arrival() {
        let mut queue = queue(true);
        for (name, priority, at) in [("old", 0, 0), ("high", 5, 20), ("twin-b", 0, 10), ("twin-a", 0, 10)] {
            assert_eq!(add(&mut queue, name, priority, at), Place::Active);
        }
        let order: Vec<_> = std::iter::from_fn(|| pop_name(&mut queue, 30)).collect();
        assert_eq!(order, ["high", "old", "twin-b", "twin-a"]);
    }

    #[test]
    fn pods_of_one_list_leave_in_the_order_of_their_creation() {
        let mut queue = queue(true);
        // A list comes in order of names. In second 1 came c (version 7) and d, whose status was written later (9); in
        // second 2 b (8) and a, which nobody has touched (8 is taken, so 10).
        for (name, second, version) in [("a", 2, 10), ("b", 2, 8), ("c", 1, 7), ("d", 1, 9)] {
            let mut pod = pod(name);
            (pod.meta.creation, pod.meta.resource_version) = (seconds(second * 1_000), Rv(version));
            queue.add(&Rc::new(pod), RecordId(1), seconds(5_000));
        }
        let order: Vec<_> = std::iter::from_fn(|| pop_name(&mut queue, 5_000)).collect();
        assert_eq!(order, ["c", "d", "b", "a"]);
    }

    #[test]
    fn only_events_that_help_the_rejecting_plugin_move_a_pod() {
        for (plugin, event, moves) in [
            (names::NODE_RESOURCES_FIT, pod_deleted(), true),
            (names::NODE_RESOURCES_FIT, node_added(), true),
            (names::TAINT_TOLERATION, pod_deleted(), false),
            (names::TAINT_TOLERATION, node_added(), true),
            (names::NODE_NAME, node_added(), true),
            (
                names::NODE_UNSCHEDULABLE,
                ClusterEvent::NodeAdded(Rc::new(Node { unschedulable: true, ..node("a") })),
                false,
            ),
        ] {
            let mut queue = queue(true);
            add(&mut queue, "p", 0, 0);
            let queued = pop(&mut queue, 0).expect("one pod");
            assert_eq!(reject(&mut queue, queued, plugin, 0), Place::Unschedulable);
            assert_eq!(queue.move_on_event(event, RecordId(7), seconds(500)), usize::from(moves), "{plugin}");
            // It is still backing off, yet an idle scheduler takes it at once.
            assert_eq!(queue.backoff_len(), usize::from(moves));
            let next = pop(&mut queue, 500);
            assert_eq!(next.map(|next| (next.attempts, next.cause)), moves.then_some((2, RecordId(7))));
        }
    }

    #[test]
    fn an_event_during_the_attempt_is_not_lost() {
        let mut queue = queue(true);
        add(&mut queue, "p", 0, 0);
        let queued = pop(&mut queue, 0).expect("one pod");
        queue.move_on_event(pod_deleted(), RecordId(9), seconds(1));
        assert_eq!(reject(&mut queue, queued, names::NODE_RESOURCES_FIT, 2), Place::Backoff);
        // The same event before the pop does not count.
        let queued = pop(&mut queue, 3).expect("popped from backoffQ");
        assert_eq!(queued.cause, RecordId(9));
        assert_eq!(reject(&mut queue, queued, names::NODE_RESOURCES_FIT, 4), Place::Unschedulable);
    }

    #[test]
    fn back_off_doubles_to_ten_seconds() {
        let mut pod = QueuedPodInfo {
            info: Rc::new(PodInfo::new(Rc::new(pod("p")))),
            timestamp: seconds(0),
            initial_attempt: None,
            attempts: 0,
            unschedulable_count: 0,
            consecutive_errors_count: 0,
            unschedulable_plugins: Vec::new(),
            gated: false,
            gating_plugin: "",
            order: SortKey::default(),
            cause: RecordId(1),
            age: Age::default(),
        };
        for (rejections, errors, seconds) in
            [(0, 0, 0), (1, 0, 1), (2, 0, 2), (4, 0, 8), (5, 0, 10), (60, 0, 10), (4, 1, 1)]
        {
            (pod.unschedulable_count, pod.consecutive_errors_count) = (rejections, errors);
            assert_eq!(BackoffSettings::default().duration(&pod), Span::from_seconds(seconds));
        }
        // 3, 6, then 12 > 7; an initial one that is the longest: always that.
        for (initial, max, rejections, seconds) in [(3, 7, 2, 6), (3, 7, 3, 7), (9, 9, 1, 9), (9, 9, 2, 9)] {
            (pod.unschedulable_count, pod.consecutive_errors_count) = (rejections, 0);
            let (initial, max) = (Span::from_seconds(initial), Span::from_seconds(max));
            let settings = BackoffSettings { initial, max, ..BackoffSettings::default() };
            assert_eq!(settings.duration(&pod), Span::from_seconds(seconds));
        }
    }

    #[test]
    fn error_pods_wait_for_their_back_off() {
        // Failed at 0.5 s: back-off to 1.5 s. With the gate cut to 1 s and over strictly after that second: flush at 2 s.
        // Without the gate over at 1.5 s, found by the flush at 2 s.
        for gate in [true, false] {
            let mut queue = queue(gate);
            add(&mut queue, "p", 0, 0);
            let queued = pop(&mut queue, 0).expect("one pod");
            assert_eq!(err(&mut queue, queued, 500), Place::Backoff);
            assert_eq!(queue.next_backoff_flush(), Some(seconds(2_000)));
            assert_eq!(pop_name(&mut queue, 1_999), None);
            assert_eq!(pop_name(&mut queue, 2_000), Some("p".into()));
        }
        // An error exactly on a second: 0 s to 1 s, which is not strictly before the flush at 1 s: 2 s, with and without the gate.
        for gate in [true, false] {
            let mut queue = queue(gate);
            add(&mut queue, "p", 0, 0);
            let queued = pop(&mut queue, 0).expect("one pod");
            err(&mut queue, queued, 0);
            assert_eq!(queue.next_backoff_flush(), Some(seconds(2_000)));
            assert_eq!(pop_name(&mut queue, 1_999), None);
            assert_eq!(pop_name(&mut queue, 2_000), Some("p".into()));
        }
    }

    #[test]
    fn without_pop_from_backoff_a_moved_pod_waits() {
        let mut queue = queue(false);
        add(&mut queue, "p", 0, 0);
        let queued = pop(&mut queue, 100).expect("one pod");
        reject(&mut queue, queued, names::NODE_RESOURCES_FIT, 100);
        queue.move_on_event(pod_deleted(), RecordId(3), seconds(200));
        // Back-off from 0.1 to 1.1 s; the flush after it runs at 2 s.
        assert_eq!(pop_name(&mut queue, 1_999), None);
        assert_eq!(pop_name(&mut queue, 2_000), Some("p".into()));
    }

    #[test]
    fn pods_older_than_five_minutes_leave_the_pool() {
        let mut queue = queue(true);
        add(&mut queue, "p", 0, 0);
        let queued = pop(&mut queue, 200_500).expect("one pod");
        reject(&mut queue, queued, names::NODE_RESOURCES_FIT, 200_500);
        // 200.5 + 300 = 500.5 s: the flush at 510 s. On the second, 200 + 300 = 500 is not older at 500 but at 510 too.
        assert_eq!(queue.next_leftover_flush(seconds(0), seconds(200_500)), Some(seconds(510_000)));
        assert_eq!(queue.flush_unschedulable_leftover(RecordId(4), seconds(500_500)), 0);
        assert_eq!(queue.flush_unschedulable_leftover(RecordId(4), seconds(510_000)), 1);
        assert_eq!(queue.next_leftover_flush(seconds(0), seconds(510_000)), None);
        // Exactly five minutes is not older: failed at 210 s, at 510 s not yet, at 540 s.
        let queued = pop(&mut queue, 210_000).expect("one pod");
        reject(&mut queue, queued, names::NODE_RESOURCES_FIT, 210_000);
        assert_eq!(queue.next_leftover_flush(seconds(0), seconds(210_000)), Some(seconds(540_000)));
    }

    #[test]
    fn gated_pods_wait_for_their_last_gate_and_nothing_else() {
        let mut queue = queue(true);
        let mut gated = pod("p");
        Rc::make_mut(&mut gated.spec).scheduling_gates = vec!["a".into(), "b".into()];
        let two = Rc::new(gated.clone());
        Rc::make_mut(&mut gated.spec).scheduling_gates = vec!["a".into()];
        let one = Rc::new(gated);
        assert_eq!(queue.add(&two, RecordId(1), seconds(0)), Place::Unschedulable);
        queue.move_on_event(node_added(), RecordId(2), seconds(1));
        assert_eq!(queue.flush_unschedulable_leftover(RecordId(2), seconds(900_000)), 0);
        assert_eq!(queue.next_leftover_flush(seconds(0), seconds(1)), None);
        queue.update(&two, &one, RecordId(3), seconds(2));
        assert_eq!((queue.gated_len(), queue.unschedulable_len(), pop_name(&mut queue, 2)), (1, 0, None));
        queue.update(&one, &Rc::new(pod("p")), RecordId(4), seconds(3));
        assert_eq!((queue.gated_len(), pop_name(&mut queue, 3)), (0, Some("p".into())));
    }

    #[test]
    fn a_status_update_moves_nothing_and_deletion_removes_everywhere() {
        let mut queue = queue(true);
        add(&mut queue, "p", 0, 0);
        let queued = pop(&mut queue, 0).expect("one pod");
        let old = queued.info.pod.clone();
        reject(&mut queue, queued, names::TAINT_TOLERATION, 0);
        let mut new = (*old).clone();
        new.status.nominated_node_name = "a".into();
        let new = Rc::new(new);
        queue.update(&old, &new, RecordId(3), seconds(1));
        assert_eq!((queue.unschedulable_len(), queue.active_len()), (1, 0));
        // A toleration does move it.
        let mut tolerant = (*new).clone();
        let any = crate::scheduler::cache::testing::toleration("", "", None);
        Rc::make_mut(&mut tolerant.spec).tolerations.push(any);
        queue.update(&new, &Rc::new(tolerant), RecordId(3), seconds(2));
        assert_eq!((queue.unschedulable_len(), queue.backoff_len()), (0, 1));
        queue.delete(&key_of(&old));
        assert_eq!((queue.unschedulable_len(), queue.backoff_len(), pop_name(&mut queue, 9_000)), (0, 0, None));
    }
}
