//! Rules about pods that other objects carry: disruption budgets and priority classes.

use super::{Condition, IntOrPercent, Meta, Name, Selector, Source, Time};

/// How many pods of a set may be missing on purpose.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PodDisruptionBudget {
    /// Metadata.
    pub meta: Meta,
    /// `spec.selector`; `None` selects no pod, an empty one every pod of the namespace.
    pub selector: Option<Selector>,
    /// `spec.minAvailable`.
    pub min_available: Option<IntOrPercent>,
    /// `spec.maxUnavailable`.
    pub max_unavailable: Option<IntOrPercent>,
    /// `status`.
    pub status: DisruptionStatus,
    /// The manifest.
    pub source: Source,
}

/// `status` of a PodDisruptionBudget.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DisruptionStatus {
    /// `disruptionsAllowed`.
    pub disruptions_allowed: i32,
    /// `currentHealthy`.
    pub current_healthy: i32,
    /// `desiredHealthy`.
    pub desired_healthy: i32,
    /// `expectedPods`.
    pub expected_pods: i32,
    /// `observedGeneration`.
    pub observed_generation: i64,
    /// `disruptedPods`: pods whose eviction was allowed and that are still seen, with the time of it.
    pub disrupted_pods: Vec<(Name, Time)>,
    /// `conditions`.
    pub conditions: Vec<Condition>,
}

/// A named priority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PriorityClass {
    /// Metadata.
    pub meta: Meta,
    /// `value`.
    pub value: i32,
    /// `globalDefault`: pods that name no class have this one.
    pub global_default: bool,
    /// `preemptionPolicy: Never`.
    pub never_preempts: bool,
    /// The manifest.
    pub source: Source,
}
