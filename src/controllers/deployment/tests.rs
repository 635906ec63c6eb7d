//! Decisions row by row, and whole syncs against the scripted double.

use std::rc::Rc;

use serde_json::json;

use super::sync::ReplicaSets;
use super::util::{self, condition};
use super::{DeploymentController, progress, rolling, scale};
use crate::client::reconciler::{Enqueue, Outcome};
use crate::controllers::double_for_tests::Script;
use crate::model::api::Reason;
use crate::model::time::SECOND_NS;
use crate::model::{
    ApiError, ConditionStatus, Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, IntOrPercent, Key,
    Kind, Labels, Meta, OwnerReference, PodSpec, PodTemplate, ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, Rv,
    Selector, Span, Time, find_condition,
};

const START: Time = Time(1_000 * SECOND_NS);

fn template(image: &str) -> Rc<PodTemplate> {
    let source = json!({ "spec": { "containers": [{ "image": image }] } });
    Rc::new(PodTemplate::new(Labels::NONE.with("app", "web"), Labels::NONE, PodSpec::default(), source))
}

fn deployment(replicas: i32) -> Deployment {
    Deployment {
        meta: Meta { uid: "d1".into(), resource_version: Rv(5), generation: 1, ..Meta::named("default", "web") },
        spec: DeploymentSpec {
            replicas,
            min_ready_seconds: 0,
            selector: Rc::new(Selector::from_labels(&Labels::NONE.with("app", "web"))),
            template: template("v1"),
            strategy: DeploymentStrategy::RollingUpdate {
                max_surge: IntOrPercent::Percent(25),
                max_unavailable: IntOrPercent::Percent(25),
            },
            revision_history_limit: Some(10),
            paused: false,
            progress_deadline_seconds: Some(600),
        },
        status: DeploymentStatus::default(),
        source: None,
    }
}

/// A ReplicaSet of the Deployment with `replicas` pods wanted and there, of which `available` are available.
fn replica_set(name: &str, image: &str, replicas: i32, available: i32) -> ReplicaSet {
    let owner = OwnerReference {
        kind: Some(Kind::Deployment),
        foreign_kind: crate::model::Name::EMPTY,
        name: "web".into(),
        uid: "d1".into(),
        controller: true,
        block_owner_deletion: true,
    };
    let labels = Labels::NONE.with("app", "web");
    ReplicaSet {
        meta: Meta {
            uid: name.into(),
            resource_version: Rv(6),
            generation: 1,
            labels: labels.clone(),
            owners: Some([owner].into()),
            ..Meta::named("default", name)
        },
        spec: ReplicaSetSpec {
            replicas,
            min_ready_seconds: 0,
            selector: Rc::new(Selector::from_labels(&labels)),
            template: template(image),
        },
        status: ReplicaSetStatus {
            replicas,
            ready_replicas: available,
            available_replicas: available,
            terminating_replicas: Some(0),
            observed_generation: 1,
            ..ReplicaSetStatus::default()
        },
        source: None,
    }
}

fn annotated(mut set: ReplicaSet, revision: i64, desired: i32, max: i32) -> ReplicaSet {
    set.meta.annotations = Labels::NONE
        .with(util::REVISION, revision.to_string())
        .with(util::DESIRED_REPLICAS, desired.to_string())
        .with(util::MAX_REPLICAS, max.to_string());
    set
}

fn key() -> Key {
    Key::new(Kind::Deployment, "default", "web")
}

#[test]
fn proportional_scaling_keeps_shares_and_gives_the_rest_to_the_largest() {
    // 10 -> 20 with 25 % surge: 25 pods may exist, 13 do, 12 to add. Old 8: round(8 x 25 / 13) = 15, +7;
    // new 5: round(5 x 25 / 13) = 10, +5. Nothing is left over.
    let of = |deployment: &Deployment, sizes: &[i32], max: i32| -> Vec<(String, i32)> {
        let sets = sizes.iter().enumerate().map(|(index, size)| {
            let mut set = annotated(replica_set(&format!("rs{index}"), "v", *size, 0), 1, 10, max);
            set.meta.creation = Time(index as i64 * SECOND_NS);
            Rc::new(set)
        });
        let sizes = scale::proportional_sizes(deployment, sets.collect());
        sizes.into_iter().map(|(set, size)| (set.meta.name.to_string(), size)).collect()
    };
    let pairs = |rows: &[(&str, i32)]| rows.iter().map(|(name, size)| (name.to_string(), *size)).collect::<Vec<_>>();
    assert_eq!(of(&deployment(20), &[8, 5], 13), pairs(&[("rs0", 15), ("rs1", 10)]));
    // Equal sizes, 10 -> 11: surge 3, 14 allowed, 12 there, 2 to add. Newer first: round(6 x 14 / 12) = 7, +1 each.
    assert_eq!(of(&deployment(11), &[6, 6], 12), pairs(&[("rs1", 7), ("rs0", 7)]));
    // 10 -> 5: surge 2, 7 allowed, 13 there, 6 to remove. 8: round(8 x 7 / 13 = 4.3) = 4, -4; 5: round(2.7) = 3, -2.
    assert_eq!(of(&deployment(5), &[8, 5], 13), pairs(&[("rs0", 4), ("rs1", 3)]));
    // Equal sizes, removing: the older first. 10 -> 5 from 6 + 6: 5 to remove; round(6 x 7 / 13 = 3.23) = 3, -3; then
    // -3 limited to the 2 left.
    assert_eq!(of(&deployment(5), &[6, 6], 13), pairs(&[("rs0", 3), ("rs1", 4)]));
    assert_eq!(of(&deployment(0), &[8, 5], 13), pairs(&[("rs0", 0), ("rs1", 0)]));
}

#[test]
fn the_newest_replica_set_grows_into_the_room() {
    // Desired 10, surge 3: 13 in all. (total now, new now) -> new.
    for (total, current, expected) in [(10, 0, 3), (13, 3, 3), (12, 4, 5), (8, 8, 10), (15, 5, 5)] {
        assert_eq!(scale::new_replicas(&deployment(10), total, current), expected, "{total} {current}");
    }
    let recreate = DeploymentSpec { strategy: DeploymentStrategy::Recreate, ..deployment(10).spec };
    assert_eq!(scale::new_replicas(&Deployment { spec: recreate, ..deployment(0) }, 10, 0), 10);
}

#[test]
fn old_replica_sets_lose_unhealthy_pods_first() {
    let deployment = deployment(10);
    let new = replica_set("new", "v1", 5, 0);
    let old = [Rc::new(replica_set("a", "v0", 4, 2)), Rc::new(replica_set("b", "v0", 6, 6))];
    let all: Vec<_> = old.iter().cloned().chain([Rc::new(new.clone())]).collect();
    // 15 pods in spec - (10 - 2) that must be available - 5 new ones that are not = 2.
    assert_eq!(rolling::max_scaled_down(&deployment, &all, &new), 2);
    assert_eq!(rolling::unhealthy_cleanup(&old, 2), [(0, 2)]);
    assert_eq!(rolling::unhealthy_cleanup(&old, 1), [(0, 3)]);
    // 11 available, 8 needed: 3 of the oldest go.
    assert_eq!(rolling::available_scale_down(&deployment, &old, 11), [(0, 1)]);
    assert_eq!(rolling::available_scale_down(&deployment, &old, 14), [(0, 0), (1, 4)]);
    assert_eq!(rolling::available_scale_down(&deployment, &old, 8), []);
    // More available than wanted: its own scale-down is under way.
    assert_eq!(rolling::unhealthy_cleanup(&[Rc::new(replica_set("c", "v0", 2, 3))], 2), [(0, 3)]);
}

#[test]
fn progress_is_judged_by_numbers_and_by_the_clock() {
    let mut deployment = deployment(4);
    let sets = |available: i32| ReplicaSets { new: Some(Rc::new(replica_set("new", "v1", 4, available))), old: vec![] };
    let reason = |status: &DeploymentStatus| {
        find_condition(&status.conditions, condition::PROGRESSING).map(|found| found.reason.to_string())
    };
    let first = progress::rollout_status(&deployment, &sets(0), START);
    assert_eq!(reason(&first).as_deref(), Some(condition::REPLICA_SET_UPDATED));
    assert_eq!((first.unavailable_replicas, first.terminating_replicas), (4, Some(0)));
    deployment.status = first;
    // Nothing changed: 600 s after the last progress is not yet too late; 600 s and 1 ns is.
    let at_deadline = START + Span::from_seconds(600);
    assert_eq!(progress::rollout_status(&deployment, &sets(0), at_deadline), deployment.status);
    assert_eq!(progress::progress_check_after(&deployment, START), Some(Span::from_seconds(601)));
    assert_eq!(progress::progress_check_after(&deployment, at_deadline), Some(Span::from_milliseconds(5)));
    let late = progress::rollout_status(&deployment, &sets(0), at_deadline + Span(1));
    assert_eq!(reason(&late).as_deref(), Some(condition::TIMED_OUT));
    // One more available pod is progress: the update time moves, the transition does not.
    let later = START + Span::from_seconds(7);
    let more = progress::rollout_status(&deployment, &sets(1), later);
    let progressing = find_condition(&more.conditions, condition::PROGRESSING).unwrap();
    assert_eq!((progressing.last_transition, progressing.last_update), (START, Some(later)));
    let done = progress::rollout_status(&deployment, &sets(4), later);
    assert_eq!(reason(&done).as_deref(), Some(condition::NEW_REPLICA_SET_AVAILABLE));
    let available = find_condition(&done.conditions, condition::AVAILABLE).unwrap();
    assert_eq!(available.status, ConditionStatus::True);
    deployment.status = done;
    assert_eq!(progress::progress_check_after(&deployment, later), None);
}

#[test]
fn a_rollback_keeps_the_old_revision_in_the_history() {
    let own = Labels::NONE.with(util::REVISION, "1");
    let mut deployment = deployment(1);
    deployment.meta.annotations = Labels::NONE.with("team", "a").with(util::REVISION, "2");
    let first = util::new_replica_set_annotations(&deployment, &own, 3);
    assert_eq!(first, Labels::NONE.with("team", "a").with(util::REVISION, "3").with(util::REVISION_HISTORY, "1"));
    let second = util::new_replica_set_annotations(&deployment, &first, 5);
    assert_eq!(second.get_str(util::REVISION_HISTORY).unwrap(), &"1,3");
    assert_eq!(util::new_replica_set_annotations(&deployment, &second, 4), second);
}

#[test]
fn the_template_hash_ignores_the_order_of_keys_and_heeds_collisions() {
    let of = |source| PodTemplate::new(Labels::NONE, Labels::NONE, PodSpec::default(), source);
    let (a, b) = (of(json!({ "x": 1, "y": [2, 3] })), of(json!({ "y": [2, 3], "x": 1 })));
    assert_eq!(util::template_hash(&a, None), util::template_hash(&b, None));
    assert_ne!(util::template_hash(&a, None), util::template_hash(&a, Some(1)));
    assert_ne!(util::template_hash(&of(json!([1, 2])), None), util::template_hash(&of(json!([2, 1])), None));
    assert_eq!(util::template_hash(&a, None).len(), 10);
}

/// As recorded in e2e deployment-create-3: the ReplicaSet, the status with the revision, then the status with sums, which
/// conflicts because it is sent with the same version.
#[test]
fn a_first_sync_conflicts_with_itself() {
    let mut script = Script::new(DeploymentController::new(), START);
    let pushed = script.deliver(deployment(3));
    assert_eq!(pushed, [Enqueue::Now(key())]);
    let mut statuses = 0;
    let outcome = script.reconcile(&key(), |request| {
        if request.kind() != Kind::Deployment {
            return None;
        }
        statuses += 1;
        (statuses == 2).then(|| Err(ApiError::new(Reason::Conflict, "the object has been modified")))
    });
    assert_eq!(outcome, Outcome::error("the object has been modified"));
    let name = format!("web-{}", util::template_hash(&template("v1"), None));
    let expected = [
        format!("create replicaset/{name}"),
        format!("event ScalingReplicaSet: Scaled up replica set {name} from 0 to 3"),
        "status deployment/web".to_string(),
        "status deployment/web -> Conflict".to_string(),
    ];
    assert_eq!(script.log, expected);
}

/// The cache has not shown the ReplicaSet that exists: AlreadyExists, then an error that is retried.
#[test]
fn a_name_that_the_cache_does_not_know_is_an_error() {
    let mut script = Script::new(DeploymentController::new(), START);
    script.deliver(deployment(3));
    let taken = |request: &crate::model::Request| {
        (request.kind() == Kind::ReplicaSet).then(|| Err(ApiError::new(Reason::AlreadyExists, "already exists")))
    };
    let outcome = script.reconcile(&key(), taken);
    assert!(matches!(outcome, Outcome::Error { message, .. } if message.ends_with("not found")));
    // A stranger of that name in the cache is a collision: counted in the status, and an error too.
    let name = format!("web-{}", util::template_hash(&template("v1"), None));
    let stranger = ReplicaSet { meta: Meta::named("default", name.as_str()), ..replica_set("x", "v1", 1, 1) };
    script.log.clear();
    script.deliver(stranger);
    let outcome = script.reconcile(&key(), taken);
    assert_eq!(outcome, Outcome::error("already exists"));
    assert_eq!(script.log, [format!("create replicaset/{name} -> AlreadyExists"), "status deployment/web".into()]);
}

#[test]
fn a_scaling_event_scales_without_a_rollout() {
    let mut script = Script::new(DeploymentController::new(), START);
    let mut scaled = deployment(6);
    scaled.meta.annotations = Labels::NONE.with(util::REVISION, "1");
    let progressing = util::new_condition(condition::PROGRESSING, ConditionStatus::True, "x", "", START);
    scaled.status.conditions = vec![progressing];
    script.deliver(scaled);
    let pushed = script.deliver(annotated(replica_set("web-1", "v1", 4, 4), 1, 4, 5));
    assert_eq!(pushed, [Enqueue::Now(key())]);
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    let expected = [
        "update replicaset/web-1",
        "event ScalingReplicaSet: Scaled up replica set web-1 from 4 to 6",
        "status deployment/web",
    ];
    assert_eq!(script.log, expected);
}

/// 4 pods of v0, all available; v1 may have 1 more, 1 may lack. The new one is made with 1 (5 in all); next sync, as soon
/// as it shows, 5 - 3 - 1 = 1 old pod goes.
#[test]
fn a_rollout_goes_step_by_step() {
    let mut script = Script::new(DeploymentController::new(), START);
    script.deliver(deployment(4));
    script.deliver(annotated(replica_set("web-old", "v0", 4, 4), 1, 4, 5));
    script.reconcile(&key(), |_| None);
    let name = format!("web-{}", util::template_hash(&template("v1"), None));
    assert_eq!(script.log[1], format!("event ScalingReplicaSet: Scaled up replica set {name} from 0 to 1"));
    script.log.clear();
    script.deliver(annotated(replica_set(&name, "v1", 1, 0), 2, 4, 5));
    script.reconcile(&key(), |_| None);
    let expected = [
        // The Deployment in this cache has neither revision nor condition yet.
        "status deployment/web",
        "update replicaset/web-old",
        "event ScalingReplicaSet: Scaled down replica set web-old from 4 to 3",
        "status deployment/web",
    ];
    assert_eq!(script.log, expected);
}

#[test]
fn history_beyond_the_limit_is_deleted_oldest_revision_first() {
    let mut script = Script::new(DeploymentController::new(), START);
    let mut complete = deployment(1);
    complete.spec.revision_history_limit = Some(1);
    complete.meta.annotations = Labels::NONE.with(util::REVISION, "4");
    let sets = ReplicaSets { new: Some(Rc::new(replica_set("web-4", "v1", 1, 1))), old: vec![] };
    complete.status = progress::rollout_status(&complete, &sets, START);
    script.deliver(complete);
    script.deliver(annotated(replica_set("web-4", "v1", 1, 1), 4, 1, 2));
    for (name, revision, replicas) in [("web-a", 3, 0), ("web-b", 1, 0), ("web-c", 2, 0)] {
        script.deliver(annotated(replica_set(name, "v0", replicas, 0), revision, 1, 2));
    }
    assert_eq!(script.reconcile(&key(), |_| None), Outcome::DONE);
    assert_eq!(script.log, ["delete replicaset/web-b", "delete replicaset/web-c"]);
}

#[test]
fn recreate_waits_for_old_pods() {
    let mut script = Script::new(DeploymentController::new(), START);
    let mut recreate = deployment(2);
    recreate.spec.strategy = DeploymentStrategy::Recreate;
    script.deliver(recreate);
    let old = annotated(replica_set("web-old", "v0", 2, 2), 1, 2, 2);
    script.deliver(old.clone());
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log[0], "update replicaset/web-old");
    assert_eq!(script.log[1], "event ScalingReplicaSet: Scaled down replica set web-old from 2 to 0");
    // Scaled down, its pods no longer counted, but one is still there.
    let mut pod = crate::controllers::replica_set::decide::new_pod(&Rc::new(old));
    pod.meta.name = "web-old-1".into();
    let pod_key = Key::new(Kind::Pod, "default", "web-old-1");
    script.deliver(annotated(replica_set("web-old", "v0", 0, 0), 1, 2, 2));
    script.deliver(pod);
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert_eq!(script.log, ["status deployment/web"]);
    assert_eq!(script.remove(&pod_key), [Enqueue::Now(key())]);
    script.log.clear();
    script.reconcile(&key(), |_| None);
    assert!(script.log[0].starts_with("create replicaset/web-"), "{:?}", script.log);
}
