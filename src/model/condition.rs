//! Conditions of an object's status.

use super::{Name, Time};

/// Status of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConditionStatus {
    /// `"True"`
    True,
    /// `"False"`
    False,
    /// `"Unknown"`
    Unknown,
}

impl ConditionStatus {
    /// As objects write it.
    pub fn as_str(self) -> &'static str {
        match self {
            ConditionStatus::True => "True",
            ConditionStatus::False => "False",
            ConditionStatus::Unknown => "Unknown",
        }
    }
}

/// One condition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    /// `type`, e.g. `Ready`.
    pub condition_type: Name,
    /// `status`.
    pub status: ConditionStatus,
    /// `reason`.
    pub reason: Name,
    /// `message`.
    pub message: Name,
    /// `lastTransitionTime`, whole seconds.
    pub last_transition: Time,
    /// `lastUpdateTime` (Deployments only), whole seconds.
    pub last_update: Option<Time>,
}

/// The condition of this type, if the list has one.
pub fn find_condition<'a>(conditions: &'a [Condition], condition_type: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.condition_type.as_str() == condition_type)
}
