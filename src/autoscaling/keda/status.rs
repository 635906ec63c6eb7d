//! The status of a ScaledObject: what KEDA remembers from one poll to the next, in the object itself.
//!
//! Upstream: kedacore/keda apis/keda/v1alpha1/{condition_types,scaledobject_types}.go.

use crate::model::{ConditionStatus, Name, Time};

/// A condition; its type is the field of [`Status`] it stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// True, False or Unknown.
    pub status: ConditionStatus,
    /// Why, in one word; may be empty.
    pub reason: Name,
}

impl Condition {
    /// A condition with a reason.
    pub fn new(status: ConditionStatus, reason: impl AsRef<str>) -> Condition {
        Condition { status, reason: Name::new(reason) }
    }

    /// Whether it is True.
    pub fn is_true(&self) -> bool {
        self.status == ConditionStatus::True
    }
}

/// What KEDA writes down about a ScaledObject.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// `lastActiveTime`, whole seconds: when a poll last found it active.
    pub last_active: Option<Time>,
    /// `Ready`: whether its triggers answer.
    pub ready: Condition,
    /// `Active`
    pub active: Condition,
    /// `Fallback`: whether a metric is replaced because its source fails.
    pub fallback: Condition,
    /// `Paused`
    pub paused: Condition,
    /// `HPAActive`: what its HPA says of itself; absent until the HPA has said something.
    pub hpa_active: Option<Condition>,
    /// `health`: failures in a row of each trigger, in the order of the spec.
    pub failures: Vec<u32>,
}

impl Status {
    /// The status before the first poll of an object with so many triggers.
    pub fn new(triggers: usize) -> Status {
        let unknown = Condition::new(ConditionStatus::Unknown, "");
        Status {
            last_active: None,
            ready: unknown.clone(),
            active: unknown.clone(),
            fallback: unknown,
            paused: Condition::new(ConditionStatus::False, ""),
            hpa_active: None,
            failures: vec![0; triggers],
        }
    }

    /// Takes over what the HPA's condition `ScalingActive` says. An HPA that is off because there are no replicas is as it
    /// should be.
    pub fn observe_hpa(&mut self, scaling_active: &Condition) {
        let seen = match (scaling_active.status, scaling_active.reason.as_str()) {
            (ConditionStatus::True, _) => Condition::new(ConditionStatus::True, "HPAActive"),
            (_, "ScalingDisabled") => Condition::new(ConditionStatus::True, "ScalingDisabled"),
            (status, reason) => Condition::new(status, reason),
        };
        self.hpa_active = Some(seen);
    }
}
