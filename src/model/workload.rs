//! Workload objects: ReplicaSet and Deployment.

use std::rc::Rc;

use super::{Condition, IntOrPercent, Meta, PodTemplate, Selector, Source};

/// A ReplicaSet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaSet {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: ReplicaSetSpec,
    /// Status.
    pub status: ReplicaSetStatus,
    /// The manifest, if it was applied by a user.
    pub source: Source,
}

/// `spec` of a ReplicaSet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaSetSpec {
    /// Pods wanted.
    pub replicas: i32,
    /// Seconds a pod must be Ready to count as available.
    pub min_ready_seconds: i32,
    /// Which pods are its own.
    pub selector: Rc<Selector>,
    /// What pods are made from.
    pub template: Rc<PodTemplate>,
}

/// `status` of a ReplicaSet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReplicaSetStatus {
    /// Pods that exist and are active.
    pub replicas: i32,
    /// Of these, with all labels of the template.
    pub fully_labeled_replicas: i32,
    /// Of these, Ready.
    pub ready_replicas: i32,
    /// Of these, Ready for `minReadySeconds`.
    pub available_replicas: i32,
    /// Pods being deleted; `None` before the first sync.
    pub terminating_replicas: Option<i32>,
    /// The generation this status is of.
    pub observed_generation: i64,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

/// A Deployment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deployment {
    /// Metadata.
    pub meta: Meta,
    /// Spec.
    pub spec: DeploymentSpec,
    /// Status.
    pub status: DeploymentStatus,
    /// The manifest.
    pub source: Source,
}

/// How a Deployment replaces pods.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeploymentStrategy {
    /// All old pods go before new ones come.
    Recreate,
    /// Step by step.
    RollingUpdate {
        /// Pods above the wanted number.
        max_surge: IntOrPercent,
        /// Pods that may be missing.
        max_unavailable: IntOrPercent,
    },
}

/// `spec` of a Deployment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeploymentSpec {
    /// Pods wanted.
    pub replicas: i32,
    /// Seconds a pod must be Ready to count as available.
    pub min_ready_seconds: i32,
    /// Which ReplicaSets and pods are its own.
    pub selector: Rc<Selector>,
    /// What pods are made from.
    pub template: Rc<PodTemplate>,
    /// How pods are replaced.
    pub strategy: DeploymentStrategy,
    /// Old ReplicaSets kept.
    pub revision_history_limit: Option<i32>,
    /// Rollout paused.
    pub paused: bool,
    /// Seconds without progress until the rollout counts as failed.
    pub progress_deadline_seconds: Option<i32>,
}

/// `status` of a Deployment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeploymentStatus {
    /// The generation this status is of.
    pub observed_generation: i64,
    /// Pods of all its ReplicaSets.
    pub replicas: i32,
    /// Pods of the newest template.
    pub updated_replicas: i32,
    /// Ready pods.
    pub ready_replicas: i32,
    /// Available pods.
    pub available_replicas: i32,
    /// Pods missing to the wanted number of available ones.
    pub unavailable_replicas: i32,
    /// Pods being deleted; `None` before the first sync.
    pub terminating_replicas: Option<i32>,
    /// How often a name collision changed the template hash.
    pub collision_count: Option<i32>,
    /// Conditions.
    pub conditions: Vec<Condition>,
}
