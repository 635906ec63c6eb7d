//! Deployments and ReplicaSets.

use std::rc::Rc;

use k8s_openapi::api::apps::v1 as api;
use serde_json::Value;

use super::meta::{condition, condition_parts, int_or_percent, meta, selector};
use super::{Problems, pod};
use crate::model::{
    Deployment, DeploymentSpec, DeploymentStatus, DeploymentStrategy, Kind, ReplicaSet, ReplicaSetSpec,
    ReplicaSetStatus, Source,
};

/// A Deployment; `None` without a spec.
pub fn deployment(
    typed: &api::Deployment,
    manifest: &Value,
    source: Source,
    problems: &mut Problems,
) -> Option<Deployment> {
    let spec = required(typed.spec.as_ref(), problems)?;
    Some(Deployment {
        meta: meta(Kind::Deployment, &typed.metadata, problems),
        spec: DeploymentSpec {
            replicas: spec.replicas.unwrap_or(1),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0),
            selector: Rc::new(selector(&spec.selector, "spec.selector", problems)),
            template: Rc::new(pod::template(manifest, problems)),
            strategy: strategy(spec.strategy.clone().unwrap_or_default(), problems),
            revision_history_limit: spec.revision_history_limit,
            paused: spec.paused.unwrap_or(false),
            progress_deadline_seconds: spec.progress_deadline_seconds,
        },
        status: deployment_status(&typed.status.clone().unwrap_or_default(), problems),
        source,
    })
}

fn strategy(typed: api::DeploymentStrategy, problems: &mut Problems) -> DeploymentStrategy {
    match typed.type_.as_deref().unwrap_or("RollingUpdate") {
        "Recreate" => return DeploymentStrategy::Recreate,
        "RollingUpdate" => {}
        other => problems.add("spec.strategy.type", format!("{other:?} is not one of Recreate, RollingUpdate")),
    }
    let rolling = typed.rolling_update.unwrap_or_default();
    let mut field = |value, name: &str| int_or_percent(value, &format!("spec.strategy.rollingUpdate.{name}"), problems);
    DeploymentStrategy::RollingUpdate {
        max_surge: field(rolling.max_surge.as_ref(), "maxSurge"),
        max_unavailable: field(rolling.max_unavailable.as_ref(), "maxUnavailable"),
    }
}

fn deployment_status(typed: &api::DeploymentStatus, problems: &mut Problems) -> DeploymentStatus {
    let mut one = |typed: &api::DeploymentCondition| {
        condition(&condition_parts!(typed, typed.last_update_time.as_ref()), problems)
    };
    DeploymentStatus {
        observed_generation: typed.observed_generation.unwrap_or(0),
        replicas: typed.replicas.unwrap_or(0),
        updated_replicas: typed.updated_replicas.unwrap_or(0),
        ready_replicas: typed.ready_replicas.unwrap_or(0),
        available_replicas: typed.available_replicas.unwrap_or(0),
        unavailable_replicas: typed.unavailable_replicas.unwrap_or(0),
        terminating_replicas: typed.terminating_replicas,
        collision_count: typed.collision_count,
        conditions: typed.conditions.iter().flatten().map(&mut one).collect(),
    }
}

/// A ReplicaSet; `None` without a spec.
pub fn replica_set(
    typed: &api::ReplicaSet,
    manifest: &Value,
    source: Source,
    problems: &mut Problems,
) -> Option<ReplicaSet> {
    let spec = required(typed.spec.as_ref(), problems)?;
    Some(ReplicaSet {
        meta: meta(Kind::ReplicaSet, &typed.metadata, problems),
        spec: ReplicaSetSpec {
            replicas: spec.replicas.unwrap_or(1),
            min_ready_seconds: spec.min_ready_seconds.unwrap_or(0),
            selector: Rc::new(selector(&spec.selector, "spec.selector", problems)),
            template: Rc::new(pod::template(manifest, problems)),
        },
        status: replica_set_status(&typed.status.clone().unwrap_or_default(), problems),
        source,
    })
}

fn replica_set_status(typed: &api::ReplicaSetStatus, problems: &mut Problems) -> ReplicaSetStatus {
    let mut one = |typed: &api::ReplicaSetCondition| condition(&condition_parts!(typed, None), problems);
    ReplicaSetStatus {
        replicas: typed.replicas,
        fully_labeled_replicas: typed.fully_labeled_replicas.unwrap_or(0),
        ready_replicas: typed.ready_replicas.unwrap_or(0),
        available_replicas: typed.available_replicas.unwrap_or(0),
        terminating_replicas: typed.terminating_replicas,
        observed_generation: typed.observed_generation.unwrap_or(0),
        conditions: typed.conditions.iter().flatten().map(&mut one).collect(),
    }
}

fn required<'a, T>(spec: Option<&'a T>, problems: &mut Problems) -> Option<&'a T> {
    if spec.is_none() {
        problems.add("spec", "is required");
    }
    spec
}
