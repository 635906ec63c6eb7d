//! How many pods to create or delete, in which batches, and what the status says.
//!
//! Upstream: pkg/controller/replicaset/replica_set.go (`manageReplicas`, `slowStartBatch`),
//! replica_set_utils.go (`calculateStatus`), pkg/controller/controller_utils.go, v1.36.

use std::rc::Rc;

use crate::controllers::claim::controller_reference;
use crate::model::{
    Condition, ConditionStatus, Meta, Name, Object, Pod, PodStatus, ReplicaSet, ReplicaSetStatus, Span, Time,
    find_condition,
};

/// At most this many pods are created or deleted in one sync.
pub const BURST_REPLICAS: usize = 500;

/// The condition of a ReplicaSet whose pods cannot be created or deleted.
pub const REPLICA_FAILURE: &str = "ReplicaFailure";

/// What to do about the number of pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manage {
    /// It is right.
    Nothing,
    /// Create this many.
    Create(usize),
    /// Delete this many.
    Delete(usize),
}

/// What to do when there are `active` pods and `replicas` are wanted.
pub fn manage(active: usize, replicas: i32) -> Manage {
    let wanted = usize::try_from(replicas).unwrap_or(0);
    match active.cmp(&wanted) {
        std::cmp::Ordering::Less => Manage::Create((wanted - active).min(BURST_REPLICAS)),
        std::cmp::Ordering::Equal => Manage::Nothing,
        std::cmp::Ordering::Greater => Manage::Delete((active - wanted).min(BURST_REPLICAS)),
    }
}

/// The size of the next batch when `remaining` pods are still to be created: 1 at first, then twice the batch before.
pub fn next_batch(previous: Option<usize>, remaining: usize) -> usize {
    previous.map_or(1, |previous| 2 * previous).min(remaining)
}

/// The pod to create for a ReplicaSet; the server completes the name.
pub fn new_pod(replica_set: &Rc<ReplicaSet>) -> Pod {
    let (owner, template) = (&replica_set.meta, &replica_set.spec.template);
    let meta = Meta {
        namespace: owner.namespace.clone(),
        generate_name: Name::from(format!("{}-", owner.name)),
        labels: template.labels.clone(),
        annotations: template.annotations.clone(),
        owners: Some([controller_reference(&Object::ReplicaSet(replica_set.clone()))].into()),
        ..Meta::default()
    };
    Pod {
        meta,
        spec: template.spec.clone(),
        node_name: Name::EMPTY,
        status: PodStatus::default(),
        source: Some(template.source.clone()),
    }
}

/// The status of a ReplicaSet with these pods. `failure` says what went wrong while pods were created or deleted.
pub fn new_status(
    replica_set: &ReplicaSet,
    active: &[Rc<Pod>],
    terminating: usize,
    failure: Option<&str>,
    now: Time,
) -> ReplicaSetStatus {
    let spec = &replica_set.spec;
    let count = |holds: &dyn Fn(&Pod) -> bool| active.iter().filter(|pod| holds(pod)).count() as i32;
    ReplicaSetStatus {
        replicas: active.len() as i32,
        fully_labeled_replicas: count(&|pod| spec.template.labels.is_subset_of(&pod.meta.labels)),
        ready_replicas: count(&Pod::is_ready),
        available_replicas: count(&|pod| pod.is_available(spec.min_ready_seconds, now)),
        terminating_replicas: Some(terminating as i32),
        observed_generation: replica_set.status.observed_generation,
        conditions: new_conditions(replica_set, active.len(), failure, now),
    }
}

/// A failure is recorded once, in the words of the first time, and removed when it is over.
fn new_conditions(replica_set: &ReplicaSet, active: usize, failure: Option<&str>, now: Time) -> Vec<Condition> {
    let mut conditions = replica_set.status.conditions.clone();
    match (failure, find_condition(&conditions, REPLICA_FAILURE)) {
        (Some(message), None) => {
            let reason = match manage(active, replica_set.spec.replicas) {
                Manage::Create(_) => "FailedCreate",
                Manage::Delete(_) => "FailedDelete",
                Manage::Nothing => "",
            };
            conditions.push(Condition {
                condition_type: REPLICA_FAILURE.into(),
                status: ConditionStatus::True,
                reason: reason.into(),
                message: message.into(),
                last_transition: now.truncated_to_seconds(),
                last_update: None,
            });
        }
        (None, Some(_)) => conditions.retain(|condition| condition.condition_type != REPLICA_FAILURE),
        _ => {}
    }
    conditions
}

/// Whether the new status must be written.
pub fn status_needs_write(replica_set: &ReplicaSet, new: &ReplicaSetStatus) -> bool {
    replica_set.meta.generation != replica_set.status.observed_generation
        || ReplicaSetStatus { observed_generation: replica_set.status.observed_generation, ..new.clone() }
            != replica_set.status
}

/// When (from `now`) the next pod that is ready becomes available; `None` if none is waiting.
pub fn next_availability_check(active: &[Rc<Pod>], min_ready_seconds: i32, now: Time) -> Option<Span> {
    let min_ready = Span::from_seconds(i64::from(min_ready_seconds));
    let waiting = active.iter().filter(|pod| pod.is_ready() && !pod.is_available(min_ready_seconds, now));
    let remaining = waiting.filter_map(|pod| Some(pod.ready_condition()?.last_transition + min_ready - now));
    remaining.filter(|remaining| *remaining > Span::ZERO).min()
}

/// When to look again at a ReplicaSet whose status (`written`, computed at `computed_at`) has been sent.
pub fn requeue_after(written: &ReplicaSet, active: &[Rc<Pod>], computed_at: Time, now: Time) -> Option<Span> {
    let min_ready_seconds = written.spec.min_ready_seconds;
    if min_ready_seconds <= 0 || written.status.ready_replicas == written.status.available_replicas {
        return None;
    }
    let check = next_availability_check(active, min_ready_seconds, computed_at);
    Some(
        check.map_or(Span::from_seconds(i64::from(min_ready_seconds)), |check| {
            (computed_at + check - now).max(Span::ZERO)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::time::SECOND_NS;
    use crate::model::{Labels, PodSpec, PodTemplate, ReplicaSetSpec, Selector};

    fn replica_set(replicas: i32, min_ready_seconds: i32) -> ReplicaSet {
        let labels = Labels::NONE.with("app", "web");
        let template = PodTemplate::new(labels.clone(), Labels::NONE, PodSpec::default(), serde_json::json!({}));
        ReplicaSet {
            meta: Meta { uid: "u1".into(), generation: 1, ..Meta::named("default", "web") },
            spec: ReplicaSetSpec {
                replicas,
                min_ready_seconds,
                selector: Rc::new(Selector::from_labels(&labels)),
                template: Rc::new(template),
            },
            status: ReplicaSetStatus::default(),
            source: None,
        }
    }

    fn ready_pod(owner: &Rc<ReplicaSet>, since_seconds: i64) -> Rc<Pod> {
        let mut pod = new_pod(owner);
        pod.status.conditions.push(Condition {
            condition_type: "Ready".into(),
            status: ConditionStatus::True,
            reason: Name::EMPTY,
            message: Name::EMPTY,
            last_transition: Time(since_seconds * SECOND_NS),
            last_update: None,
        });
        Rc::new(pod)
    }

    #[test]
    fn the_difference_is_made_up_within_the_burst() {
        for (active, replicas, expected) in [
            (3, 3, Manage::Nothing),
            (1, 3, Manage::Create(2)),
            (0, 501, Manage::Create(500)),
            (5, 3, Manage::Delete(2)),
            (600, 0, Manage::Delete(500)),
        ] {
            assert_eq!(manage(active, replicas), expected);
        }
    }

    #[test]
    fn batches_double_and_end_with_the_rest() {
        // 10 = 1 + 2 + 4 + 3.
        let (mut batches, mut previous, mut remaining) = (Vec::new(), None, 10);
        while remaining > 0 {
            let batch = next_batch(previous, remaining);
            batches.push(batch);
            (previous, remaining) = (Some(batch), remaining - batch);
        }
        assert_eq!(batches, [1, 2, 4, 3]);
    }

    #[test]
    fn status_counts_and_availability_waits() {
        let owner = Rc::new(replica_set(3, 10));
        let mut stranger = new_pod(&owner);
        stranger.meta.labels = Labels::NONE;
        let active = [ready_pod(&owner, 100), ready_pod(&owner, 105), Rc::new(stranger)];
        // At 110 s the first has been ready for 10 s, the second for 5: it becomes available in 5 s.
        let now = Time(110 * SECOND_NS);
        let status = new_status(&owner, &active, 2, None, now);
        let counts = (status.replicas, status.fully_labeled_replicas, status.ready_replicas, status.available_replicas);
        assert_eq!((counts, status.terminating_replicas), ((3, 2, 2, 1), Some(2)));
        assert!(status_needs_write(&owner, &status));
        let mut written = ReplicaSet { status, ..(*owner).clone() };
        assert_eq!(requeue_after(&written, &active, now, Time(112 * SECOND_NS)), Some(Span::from_seconds(3)));
        written.status.observed_generation = 1;
        assert!(!status_needs_write(&written, &written.status));
        written.status.available_replicas = 2;
        assert_eq!(requeue_after(&written, &active, now, now), None);
    }

    #[test]
    fn a_failure_is_recorded_once_and_removed_when_over() {
        let mut owner = replica_set(2, 0);
        let now = Time(1_500_000_000);
        owner.status = new_status(&owner, &[], 0, Some("quota"), now);
        let [failure] = &owner.status.conditions[..] else { panic!("one condition") };
        assert_eq!((failure.reason.as_str(), failure.message.as_str()), ("FailedCreate", "quota"));
        assert_eq!(failure.last_transition, Time(SECOND_NS));
        let again = new_status(&owner, &[], 0, Some("other words"), Time(9 * SECOND_NS));
        assert_eq!(again.conditions, owner.status.conditions);
        assert!(new_status(&owner, &[], 0, None, now).conditions.is_empty());
    }
}
