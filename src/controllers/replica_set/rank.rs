//! Which pods of a ReplicaSet are deleted first.
//!
//! Upstream: pkg/controller/controller_utils.go (`ActivePodsWithRanks`), pkg/controller/replicaset/replica_set.go
//! (`getPodsRankedByRelatedPodsOnSameNode`), v1.36, with the gates `PodDeletionCost` and `LogarithmicScaleDown`.

use std::rc::Rc;

use crate::model::{Map, Name, Pod, PodPhase, Time};

/// The annotation that makes a pod's deletion dearer (or cheaper): an int32.
pub const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

/// The order of deletion, as indices into `pods`: the first is deleted first. `related` are the pods of the same owner
/// family (all ReplicaSets of the Deployment, this one included): pods on nodes with many of them go earlier.
pub fn deletion_order(pods: &[Rc<Pod>], related: &[Rc<Pod>], now: Time) -> Vec<usize> {
    let mut on_node: Map<&Name, usize> = Map::default();
    for pod in related.iter().filter(|pod| pod.is_active()) {
        *on_node.entry(&pod.node_name).or_default() += 1;
    }
    let ranked: Vec<Ranked> = pods
        .iter()
        .map(|pod| Ranked::new(pod, on_node.get(&pod.node_name).copied().unwrap_or_default(), now))
        .collect();
    sorted((0..pods.len()).collect(), &|a, b| ranked[a].goes_before(&ranked[b]))
}

/// What the order looks at.
struct Ranked<'a> {
    pod: &'a Pod,
    phase: u8,
    is_ready: bool,
    deletion_cost: i32,
    related_on_node: usize,
    /// Since when it is ready; meaningful only if it is.
    ready_since: Time,
    now: Time,
}

impl<'a> Ranked<'a> {
    fn new(pod: &'a Pod, related_on_node: usize, now: Time) -> Ranked<'a> {
        let phase = match pod.status.phase {
            PodPhase::Unknown => 1,
            PodPhase::Running => 2,
            _ => 0,
        };
        let is_ready = pod.is_ready();
        let ready_since = pod.ready_condition().map_or_else(Time::default, |ready| ready.last_transition);
        Ranked { pod, phase, is_ready, deletion_cost: deletion_cost(pod), related_on_node, ready_since, now }
    }

    /// Whether it is deleted before `other`. Not a total order: times in the same bucket compare by uid, but equal times
    /// are passed over.
    fn goes_before(&self, other: &Ranked<'_>) -> bool {
        let is_unassigned = self.pod.node_name.is_empty();
        if is_unassigned != other.pod.node_name.is_empty() {
            return is_unassigned;
        }
        if self.phase != other.phase {
            return self.phase < other.phase;
        }
        if self.is_ready != other.is_ready {
            return !self.is_ready;
        }
        if self.deletion_cost != other.deletion_cost {
            return self.deletion_cost < other.deletion_cost;
        }
        if self.related_on_node != other.related_on_node {
            return self.related_on_node > other.related_on_node;
        }
        if self.is_ready && self.ready_since != other.ready_since {
            return self.is_younger(self.ready_since, other, other.ready_since);
        }
        let (restarts, other_restarts) = (max_restarts(self.pod), max_restarts(other.pod));
        if restarts != other_restarts {
            return restarts > other_restarts;
        }
        let (creation, other_creation) = (self.pod.meta.creation, other.pod.meta.creation);
        creation != other_creation && self.is_younger(creation, other, other_creation)
    }

    /// Compares ages by power of two, within a power by uid.
    fn is_younger(&self, since: Time, other: &Ranked<'_>, other_since: Time) -> bool {
        let (bucket, other_bucket) = (age_bucket(since, self.now), age_bucket(other_since, self.now));
        if bucket == other_bucket { self.pod.meta.uid < other.pod.meta.uid } else { bucket < other_bucket }
    }
}

/// floor(log2(age in nanoseconds)); -1 for ages that are not positive.
fn age_bucket(since: Time, now: Time) -> i32 {
    let age_ns = (now - since).0;
    if age_ns > 0 { age_ns.ilog2() as i32 } else { -1 }
}

/// The deletion cost; 0 when absent or not a number as upstream reads it (no plus sign, no leading zero).
fn deletion_cost(pod: &Pod) -> i32 {
    let text = pod.meta.annotations.get_str(DELETION_COST).map_or("", Name::as_str);
    let is_number = text == "0" || text.starts_with('-') || text.starts_with(|first| ('1'..='9').contains(&first));
    if is_number { text.parse().unwrap_or(0) } else { 0 }
}

/// The most restarts of any container, and of any sidecar.
fn max_restarts(pod: &Pod) -> (i32, i32) {
    let containers = pod.status.containers.iter().map(|status| status.restart_count);
    let is_sidecar = |name: &Name| pod.spec.init_containers.iter().any(|init| init.is_sidecar && init.name == *name);
    let sidecars = pod.status.init_containers.iter().filter(|status| is_sidecar(&status.name));
    (containers.max().unwrap_or(0).max(0), sidecars.map(|status| status.restart_count).max().unwrap_or(0).max(0))
}

/// A stable merge sort that any relation can drive: the standard sort may panic when the relation is not an order.
fn sorted(mut items: Vec<usize>, goes_before: &impl Fn(usize, usize) -> bool) -> Vec<usize> {
    if items.len() < 2 {
        return items;
    }
    let right = sorted(items.split_off(items.len() / 2), goes_before);
    let left = sorted(items, goes_before);
    let mut merged = Vec::with_capacity(left.len() + right.len());
    let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
    while let (Some(&a), Some(&b)) = (left.peek(), right.peek()) {
        merged.extend(if goes_before(b, a) { right.next() } else { left.next() });
    }
    merged.extend(left);
    merged.extend(right);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::SECOND_NS;
    use crate::model::{Condition, ConditionStatus, ContainerState, ContainerStatus, Labels, Meta, PodStatus};

    const NOW: Time = Time(10_000 * SECOND_NS);

    /// A running pod on a node of its own, created 1000 s ago, ready since 500 s.
    fn pod(uid: &str) -> Pod {
        let ready = Condition {
            condition_type: "Ready".into(),
            status: ConditionStatus::True,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition: Time(NOW.0 - 500 * SECOND_NS),
            last_update: None,
        };
        let status = PodStatus { phase: PodPhase::Running, conditions: vec![ready], ..PodStatus::default() };
        let creation = Time(NOW.0 - 1_000 * SECOND_NS);
        let meta = Meta { uid: uid.into(), creation, ..Meta::named("default", uid) };
        Pod { meta, spec: Rc::default(), node_name: uid.into(), status, source: None }
    }

    fn restarted(mut pod: Pod, restart_count: i32) -> Pod {
        let state = ContainerState::Running { started_at: NOW };
        pod.status.containers =
            vec![ContainerStatus { name: "c".into(), ready: true, restart_count, state, last: None, held: None }];
        pod
    }

    fn ready_for(mut pod: Pod, seconds: i64) -> Pod {
        pod.status.conditions[0].last_transition = Time(NOW.0 - seconds * SECOND_NS);
        pod
    }

    fn created_before(mut pod: Pod, seconds: i64) -> Pod {
        pod.meta.creation = Time(NOW.0 - seconds * SECOND_NS);
        pod
    }

    fn with_cost(mut pod: Pod, cost: &str) -> Pod {
        pod.meta.annotations = Labels::NONE.with(DELETION_COST, cost);
        pod
    }

    /// Each pair: the first goes before the second, whatever their order in the list.
    #[test]
    fn each_criterion_decides() {
        let unassigned = Pod { node_name: Name::EMPTY, ..pod("z") };
        let mut pending = pod("z");
        pending.status.phase = PodPhase::Pending;
        let mut unready = pod("z");
        unready.status.conditions.clear();
        let pairs = [
            (unassigned, pending.clone()),
            (pending, unready.clone()),
            (unready, with_cost(pod("a"), "-5")),
            (with_cost(pod("z"), "-5"), pod("a")),
            // An invalid cost counts as 0: dearer than -1, cheaper than 1.
            (with_cost(pod("z"), "-1"), with_cost(pod("a"), "+7")),
            (with_cost(pod("z"), "bad"), with_cost(pod("a"), "1")),
            // Ready for 400 s: log2(4.00e11) = 38.5; for 600 s: log2(6.00e11) = 39.1: other buckets.
            (ready_for(pod("z"), 400), ready_for(pod("a"), 600)),
            // 300 s: 38.1 and 500 s: 38.9 share bucket 38: the uid decides.
            (ready_for(pod("a"), 500), ready_for(pod("z"), 300)),
            // Ready at this instant has bucket -1.
            (ready_for(pod("z"), 0), ready_for(pod("a"), 1)),
            (restarted(pod("z"), 3), restarted(pod("a"), 2)),
            // Equal ready times are passed over; created 500 s (38.9) against 1000 s ago (39.9).
            (created_before(pod("z"), 500), created_before(pod("a"), 1_000)),
            // 600 s: 39.1 and 1000 s: 39.9 share bucket 39.
            (created_before(pod("a"), 1_000), created_before(pod("z"), 600)),
        ];
        for (number, (first, second)) in pairs.into_iter().enumerate() {
            let (first, second) = (Rc::new(first), Rc::new(second));
            let forwards = [first.clone(), second.clone()];
            assert_eq!(deletion_order(&forwards, &[], NOW), [0, 1], "pair {number}");
            assert_eq!(deletion_order(&[second, first], &[], NOW), [1, 0], "pair {number} the other way round");
        }
    }

    #[test]
    fn crowded_nodes_are_thinned_out_first() {
        let on = |uid: &str, node: &str| Rc::new(Pod { node_name: node.into(), ..pod(uid) });
        let mut done = pod("e");
        (done.node_name, done.status.phase) = ("n1".into(), PodPhase::Succeeded);
        // n1 has one active pod of the family (the finished one does not count), n2 two.
        let (a, b, c) = (on("a", "n1"), on("b", "n2"), on("c", "n2"));
        let related = [a.clone(), b.clone(), c, Rc::new(done)];
        assert_eq!(deletion_order(&[a, b], &related, NOW), [1, 0]);
    }

    #[test]
    fn sidecar_restarts_come_after_those_of_containers() {
        let mut with_sidecar = restarted(pod("z"), 2);
        let sidecar = crate::model::Container { name: "s".into(), is_sidecar: true, ..Default::default() };
        with_sidecar.spec = Rc::new(crate::model::PodSpec { init_containers: vec![sidecar], ..Default::default() });
        let state = ContainerState::Running { started_at: NOW };
        with_sidecar.status.init_containers =
            vec![ContainerStatus { name: "s".into(), ready: true, restart_count: 9, state, last: None, held: None }];
        assert_eq!(max_restarts(&with_sidecar), (2, 9));
        let pods = [Rc::new(restarted(pod("a"), 2)), Rc::new(with_sidecar)];
        assert_eq!(deletion_order(&pods, &[], NOW), [1, 0]);
    }

    #[test]
    fn the_sort_is_stable_and_survives_a_cycle() {
        let by_tens = |a: usize, b: usize| a / 10 < b / 10;
        assert_eq!(sorted(vec![25, 12, 21, 19, 3], &by_tens), [3, 12, 19, 25, 21]);
        let cycle = |a: usize, b: usize| (a + 1) % 3 == b % 3;
        assert_eq!(sorted((0..90).collect(), &cycle).len(), 90);
    }
}
